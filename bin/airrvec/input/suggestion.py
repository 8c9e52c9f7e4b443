"""Suggested column map for a table whose standard columns contain no receptor."""

import json
import re

import pyarrow.compute as pc

from airrvec.core.errors import InputError
from airrvec.input.calls import read_call
from airrvec.input.files.container import Container
from airrvec.input.formats.column_map import CHAIN_FIELDS, MappedColumns
from airrvec.input.standardise import standardise

N_ROWS = 200

_CDR3 = re.compile("[ACDEFGHIKLMNPQRSTVWY]{5,40}", re.IGNORECASE)
_NUCLEOTIDES = re.compile("[ACGTN]+", re.IGNORECASE)


def suggest_column_map(container: Container, header_rows: int, species: str) -> str | None:
    """
    Return a column map, as JSON, that reads the first rows of a table with one chain per row.

    A column counts as V genes, J genes or CDR3s if at least half of its distinct values are. The map is
    tested on the rows before it is suggested.

    Parameters
    ----------
    container : Container
        Opened table.
    header_rows : int
        Number of header lines of a text.
    species : str
        A key of `airrvec.core.schema.SPECIES`.

    Returns
    -------
    str or None
        Column map; None if there is none.
    """
    names = [name for name in dict.fromkeys(container.names(header_rows)) if name and name != "row"]
    try:
        table = next(container.batches(names, header_rows)).table.slice(0, N_ROWS)
    except (InputError, StopIteration):
        return None
    values = {name: pc.unique(table[name].drop_null()).to_pylist() for name in names}
    required = {
        "v_call": _best(values, lambda value: _is_gene(value, "V", species)),
        "j_call": _best(values, lambda value: _is_gene(value, "J", species)),
        "junction_aa": _best(values, _is_cdr3, re.compile("junction|cdr3", re.IGNORECASE)),
    }
    if None in required.values():
        return None
    others = {field: field for field in CHAIN_FIELDS if field in names and field not in required}
    columns = {**required, **others}
    kept, _ = standardise(MappedColumns(columns).chains(table), species)
    return json.dumps(columns, allow_nan=False) if len(kept) else None


def _best(values: dict[str, list[str]], matches, preferred: re.Pattern | None = None) -> str | None:
    """Return the column with the largest share of matching values, at least half; preferred names first."""
    shares = {name: sum(map(matches, some)) / len(some) for name, some in values.items() if some}
    candidates = [name for name, share in shares.items() if share >= 0.5]
    return max(
        candidates, key=lambda name: (bool(preferred and preferred.search(name)), shares[name]), default=None
    )


def _is_gene(value: str, segment: str, species: str) -> bool:
    return value[:2].upper() in ("TR", "TC", "HO", "MU") and bool(read_call(value, segment, species).symbol)


def _is_cdr3(value: str) -> bool:
    return bool(_CDR3.fullmatch(value.strip())) and not _NUCLEOTIDES.fullmatch(value.strip())
