"""Columns of a table by the names that roles use: one column, two joined, or a part of one."""

from airrvec.input import values

import pyarrow as pa
import pyarrow.compute as pc

BARCODE = "barcode"
READS = "reads"
# Parts of a column: a contig's name before its number, if a barcode is in it, with all that is around the
# barcode and tells samples apart; the seventh field of a chain as TRUST4 writes it.
_BARCODE = r"(?:.*[^A-Za-z])?[ACGTN]{10,}(?:[^A-Za-z].*)?"
_PARTS = {
    BARCODE: rf"^(?P<part>{_BARCODE})_(?:contig|consensus)_[0-9]+(?:[|\s].*)?$",
    READS: r"^(?:[^,]*,){6}(?P<part>[^,;]*)",
}


def strings_of(table: pa.Table, name: str) -> pa.ChunkedArray:
    """
    Return a column with missing words as nulls.

    ``one+other`` is both columns joined, null if one is. ``one|PART`` is a part of a column: ``PART=…``
    between vertical bars, as pRESTO writes it, or one of `_PARTS`.
    """
    column, bar, part = name.partition("|")
    if bar and name not in table.column_names:
        pattern = _PARTS.get(part, rf"\|{part}=(?P<part>[^|]+)")
        return values.trimmed(pc.struct_field(pc.extract_regex(table[column], pattern), "part"))
    names = [name] if name in table.column_names else name.split("+")
    parts = [values.trimmed(table[part]) for part in names]
    return parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, "", null_handling="emit_null")
