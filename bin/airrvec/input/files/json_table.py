"""
JSON files as Arrow tables of strings: 10x contigs, AIRR records, or any list of flat records.

The text is read in pieces, because 10x's file of all contigs may have several gigabytes. Only record
fields that are not lists or objects are kept.
"""

import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from airrvec.core.errors import InputError
from airrvec.input.files.container import (
    DAMAGED,
    MAX_UNPACKED,
    TextBatch,
    damaged,
    first_line,
    open_bytes,
    strings,
    too_large,
)
from airrvec.input.role_names import SAMPLE

import pyarrow as pa
import pyarrow.compute as pc

CHUNK = 1 << 20  # characters read at a time
VALUE_LIMIT = 64 << 20  # characters of one record or other value

_BLANK = re.compile(r"[ \t\r\n]+")
_AFTER_A_VALUE = tuple(" \t\r\n,:]}")
# Integers stay text, so that they may have any length.
_decode = json.JSONDecoder(parse_int=str).raw_decode


class JsonText:
    """Parts of a JSON text, in order."""

    def __init__(self, handle: io.TextIOBase, path):
        self._handle, self._path, self._text, self._at = handle, path, "", 0

    def peek(self) -> str:
        """Return the next character that is not blank; empty at the end."""
        while True:
            if blanks := _BLANK.match(self._text, self._at):
                self._at = blanks.end()
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def take(self, characters: str) -> str:
        """Consume and return the next character, which must be one of ``characters``."""
        character = self.peek()
        if not character or character not in characters:
            raise ValueError(f"{' or '.join(characters)} expected, found {character or 'the end'}")
        self._at += 1
        return character

    def value(self):
        """Return the next value."""
        self.peek()
        while True:
            try:
                value, end = _decode(self._text, self._at)
                length = end - self._at
                # A number may continue after the end of the text read so far.
                if self._text[end : end + 1] in _AFTER_A_VALUE or not self._more():
                    self._at += length
                    return value
            except json.JSONDecodeError:
                if len(self._text) - self._at > VALUE_LIMIT:
                    raise self._too_long() from None
                if not self._more():
                    raise

    def skip(self) -> None:
        """Skip the next value; skip a list item by item."""
        if self.peek() != "[":
            self.value()
            return
        for _ in self.items():
            pass

    def items(self) -> Iterator:
        """Yield the values of a list."""
        self.take("[")
        more = self.peek() != "]"
        while more:
            yield self.value()
            more = self.peek() != "]"
            if more:
                self.take(",")
        self.take("]")

    def members(self) -> Iterator[str]:
        """Yield the names in an object; the caller must read or skip the value of each."""
        self.take("{")
        more = self.peek() != "}"
        while more:
            name = self.value()
            self.take(":")
            yield name
            more = self.peek() != "}"
            if more:
                self.take(",")
        self.take("}")

    def _too_long(self) -> InputError:
        return InputError(
            f"a record is longer than {VALUE_LIMIT >> 20} MB",
            file=self._path,
            fix="Check that the file is a list of records of chains, receptors or cells",
        )

    def _more(self) -> bool:
        # Doubles the text at hand, so that a long value is decoded only a few times.
        chunk = self._handle.read(max(CHUNK, len(self._text) - self._at))
        self._text, self._at = self._text[self._at :] + chunk, 0
        return bool(chunk)


# --- The table

_RECORDS = 10_000  # records held as Python objects at a time

# Fields of 10x contigs that 10x's CSV has too; the sequences are not used.
_CONTIG = ("barcode", "is_cell", "high_confidence", "full_length", "productive", "cdr3")

_CELL_FIELDS = ("cell_id", *SAMPLE)  # fields that a rearrangement can take from its AIRR cell


@dataclass(frozen=True)
class Records:
    """
    Records of a JSON file.

    Attributes
    ----------
    table : pyarrow.Table
        One record per row, as strings, and its number ``row``, from 1.
    """

    table: pa.Table
    delimiter = None

    def names(self, header_rows: int = 1) -> list[str]:
        """Return the names of the fields that occur in any record."""
        return [name for name in self.table.column_names if name != "row"]

    def batches(
        self, columns: list[str], header_rows: int = 1, needed: tuple[str, ...] = ()
    ) -> Iterator[TextBatch]:
        """Yield all records in one batch."""
        wanted = [name for name in columns if name in self.names()]
        yield TextBatch(self.table.select([*wanted, "row"]), len(self.table), [])


def read_json(path: str | Path, limit: int = MAX_UNPACKED) -> Records:
    """
    Read the records of a JSON file.

    A list contains 10x contigs (``annotations``), which get the columns of 10x's CSV, or flat records. An
    object is an AIRR data file: its ``Rearrangement`` is read, or its ``Clone`` if it has none. A
    rearrangement without a cell gets the ``Cell`` that lists it in ``rearrangements`` (AIRR 1.4).

    Parameters
    ----------
    path : str or Path
        Path of the file.
    limit : int
        Maximum number of bytes of the fields of all records.

    Raises
    ------
    InputError
        If the file is damaged, is not valid JSON, or contains no such records or too many.
    """
    try:
        with open_bytes(path) as handle:
            decoded = io.TextIOWrapper(handle, "utf-8-sig")  # type: ignore[type-var]  # its stub needs a name
            text = JsonText(decoded, path)
            table = _table(text.items(), path, limit) if text.peek() == "[" else _airr(text, path, limit)
            if text.peek():
                raise ValueError("text after its end")
    except UnicodeDecodeError as error:
        raise InputError(
            "holds bytes that are not UTF-8 text",
            file=path,
            fix="Convert the file, e.g. `iconv -f latin1 -t utf-8`",
        ) from error
    except UnicodeEncodeError as error:
        raise _no_character(path) from error
    except DAMAGED as error:
        raise damaged(path, error) from error
    except RecursionError as error:
        raise InputError(
            "its lists or objects are nested too deeply",
            file=path,
            fix="Give a list of flat records, an AIRR data file, or 10x's all_contig_annotations.json",
        ) from error
    except ValueError as error:
        raise InputError(
            f"the file is not valid JSON ({first_line(error)})",
            file=path,
            fix="It may be truncated: copy or download it again",
        ) from error
    if not len(table):
        raise InputError("the file holds no records", file=path)
    return Records(table)


def _airr(text: JsonText, path, limit: int) -> pa.Table:
    """Return the rearrangements of an AIRR data file, or its clones if there are none."""
    rearrangements, clones, cells = _table(iter(()), path, limit), _table(iter(()), path, limit), {}
    for name in text.members():
        if name == "Rearrangement" and text.peek() == "[":
            rearrangements = _table(text.items(), path, limit)
        elif name == "Clone" and text.peek() == "[":
            clones = _table(text.items(), path, limit)
        elif name == "Cell" and text.peek() == "[":
            cells = _cells(text.items())
        else:
            text.skip()
    if len(rearrangements):
        return _with_cells(rearrangements, cells)
    if not len(clones):
        raise InputError(
            "the JSON object has no records in 'Rearrangement' or 'Clone'",
            file=path,
            fix="airrvec reads AIRR data files, 10x's all_contig_annotations.json, and lists of flat records",
        )
    if "clone_count" in clones.column_names and "duplicate_count" not in clones.column_names:
        clones = clones.append_column("duplicate_count", clones["clone_count"])
    return clones


def _cells(items: Iterator) -> dict[str, list[dict]]:
    """Return the cells that list each sequence_id, each with its ``cell_id`` and sample."""
    cells: dict[str, list[dict]] = {}
    for item in items:
        if not isinstance(item, dict) or not item.get("cell_id"):
            continue
        cell = {name: text for name in _CELL_FIELDS if (text := _scalar_text(item.get(name)))}
        for sequence in _listed(item.get("rearrangements")):
            cells.setdefault(str(sequence), []).append(cell)
    return cells


def _with_cells(rearrangements: pa.Table, cells: dict[str, list[dict]]) -> pa.Table:
    """Fill empty ``cell_id`` and sample fields of rearrangements from the cell that lists them."""
    if not cells or "sequence_id" not in rearrangements.column_names:
        return rearrangements
    present = ["sequence_id", *(name for name in _CELL_FIELDS if name in rearrangements.column_names)]
    matches = [_cell(row, cells) for row in rearrangements.select(present).to_pylist()]
    for name in (name for name in _CELL_FIELDS if any(name in cell for cell in matches)):
        values = pa.array([cell.get(name) for cell in matches], pa.string())
        if name in present:
            values = pc.coalesce(rearrangements[name], values)
            rearrangements = rearrangements.drop_columns(name)
        rearrangements = rearrangements.append_column(name, values)
    return rearrangements


def _cell(rearrangement: dict, cells: dict[str, list[dict]]) -> dict:
    """Return the only cell that lists a rearrangement and matches its fields; empty if none or several do."""
    matches = [
        cell
        for cell in cells.get(rearrangement["sequence_id"], ())
        if all(rearrangement.get(name) in (None, value) for name, value in cell.items())
    ]
    return matches[0] if matches and all(cell == matches[0] for cell in matches) else {}


def _table(items: Iterator, path, limit: int) -> pa.Table:
    """Return records as a table of strings; a field named ``row`` is excluded."""
    parts = [pa.table({"row": pa.array([], pa.int64())})]
    records = _flat(items, path)
    while chunk := list(islice(records, _RECORDS)):
        parts.append(_part(chunk, sum(map(len, parts)) + 1, path))
        if sum(part.nbytes for part in parts) > limit:
            raise too_large(path, limit)
    return pa.concat_tables(parts, promote_options="default")


def _part(records: list[dict], first_row: int, path) -> pa.Table:
    """Return records as a table, numbered from ``first_row``."""
    columns = {"row": pa.array(range(first_row, first_row + len(records)), pa.int64())}
    for name in dict.fromkeys(name for record in records for name in record if name != "row"):
        values = [_scalar_text(record.get(name)) for record in records]
        try:
            name.encode()
            columns[name] = strings(pa.array(values, pa.string()))
        except UnicodeEncodeError as error:
            row = first_row + next((at for at, value in enumerate(values) if _is_broken(value)), 0)
            raise _no_character(path, row, name.encode(errors="replace").decode()) from error
    return pa.table(columns)


def _is_broken(text: str | None) -> bool:
    """Return True if a text contains half of a surrogate pair."""
    return any("\ud800" <= character <= "\udfff" for character in text or "")


def _no_character(path, row: int | None = None, column: str | None = None) -> InputError:
    return InputError(
        "contains half of a surrogate pair (such as \\ud800), which is not a character",
        file=path,
        row=row,
        column=column,
        fix="Remove it, or write the file again as UTF-8",
    )


def _flat(items: Iterator, path) -> Iterator[dict]:
    for number, item in enumerate(items, start=1):
        if not isinstance(item, dict):
            raise InputError(
                "the record is not a JSON object",
                file=path,
                row=number,
                fix="airrvec reads lists of objects, each with the fields of a contig, chain or receptor",
            )
        yield _contig(item) if "annotations" in item else item


def _contig(contig: dict) -> dict:
    """Return a contig of 10x's JSON with the columns of 10x's CSV."""
    features = [
        feature
        for annotation in _listed(contig["annotations"])
        if isinstance(annotation, dict) and isinstance(feature := annotation.get("feature"), dict)
    ]
    chains = list(dict.fromkeys(filter(None, (_scalar_text(feature.get("chain")) for feature in features))))

    def gene(region: str):
        genes = (f.get("gene_name") for f in features if str(f.get("region_type")).endswith(region))
        return next(genes, None)

    info = contig.get("info")
    return {
        **{name: contig.get(name) for name in _CONTIG},
        "cdr3_nt": contig.get("cdr3_seq"),
        "raw_clonotype_id": info.get("raw_clonotype_id") if isinstance(info, dict) else None,
        "contig_id": contig.get("contig_name"),
        "chain": chains[0] if len(chains) == 1 else "Multi" if chains else None,
        "v_gene": gene("V-REGION"),
        "d_gene": gene("D-REGION"),
        "j_gene": gene("J-REGION"),
        "c_gene": gene("C-REGION"),
        "reads": contig.get("read_count"),
        "umis": contig.get("umi_count"),
    }


def _listed(value) -> list:
    return value if isinstance(value, list) else []


def _scalar_text(value) -> str | None:
    return None if value is None or isinstance(value, list | dict) else str(value)
