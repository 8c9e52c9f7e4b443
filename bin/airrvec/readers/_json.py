"""
JSON: contigs of 10x, records of AIRR, or any list of flat records, to Arrow tables of strings.

The text is read piece by piece, as 10x's file of all contigs may have some gigabytes; what is kept of it
are the fields of the records that are words or numbers.
"""

import io
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from airrvec.errors import InputError
from airrvec.readers._container import TextBatch, damaged, first_line, open_bytes, strings

CHUNK = 1 << 20  # characters
_RECORDS = 10_000  # held as Python objects at a time

# The fields of 10x's contigs that its CSV has too; the sequences are of no use here.
_CONTIG = ("barcode", "is_cell", "contig_name", "high_confidence", "full_length", "productive", "cdr3")

_BLANK = re.compile(r"[ \t\r\n]*")
_AFTER_A_VALUE = tuple(" \t\r\n,:]}")
_decode = json.JSONDecoder().raw_decode


@dataclass(frozen=True)
class Records:
    """
    Records of a JSON file.

    Attributes
    ----------
    table : pyarrow.Table
        A record a row, as strings, and its number ``row``, from 1.
    """

    table: pa.Table
    delimiter = None

    def names(self, header_rows: int = 1) -> list[str]:
        """Names of the fields that occur in any record."""
        return [name for name in self.table.column_names if name != "row"]

    def batches(self, columns: list[str], header_rows: int = 1) -> Iterator[TextBatch]:
        """All records at once."""
        wanted = [name for name in columns if name in self.names()]
        yield TextBatch(self.table.select([*wanted, "row"]), len(self.table), [])


def read_json(path: str | Path) -> Records:
    """
    Read the records of a JSON file.

    A list holds 10x's contigs (``annotations``), which get the columns of 10x's CSV, or flat records. An
    object is an AIRR data file: its ``Rearrangement`` is read, or its ``Clone`` if it has none. Where a
    rearrangement names no cell, the ``Cell`` that lists it in ``rearrangements`` does (AIRR 1.4).

    Raises
    ------
    InputError
        If the file is damaged, is no valid JSON, or holds no such records.
    """
    try:
        with open_bytes(path) as handle:
            text = _Json(io.TextIOWrapper(handle, "utf-8-sig"))
            table = _table(text.items(), path) if text.peek() == "[" else _airr(text, path)
            if text.peek():
                raise ValueError("more text behind its end")
    except (EOFError, OSError, zlib.error) as error:
        raise damaged(path) from error
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"the file is no valid JSON ({first_line(error)})",
            file=path,
            fix="It may be truncated: copy or download it again",
        ) from error
    if not len(table):
        raise InputError("the file holds no records", file=path)
    return Records(table)


def _airr(text: "_Json", path) -> pa.Table:
    """The rearrangements of an AIRR data file, or else its clones."""
    rearrangements, clones, cell_of = _table(iter(()), path), _table(iter(()), path), {}
    for name in text.members():
        if name == "Rearrangement" and text.peek() == "[":
            rearrangements = _table(text.items(), path)
        elif name == "Clone" and text.peek() == "[":
            clones = _table(text.items(), path)
        elif name == "Cell" and text.peek() == "[":
            cell_of = _cells(text.items())
        else:
            text.value()
    if len(rearrangements):
        return _with_cells(rearrangements, cell_of)
    if not len(clones):
        raise InputError(
            "the JSON object has no records in 'Rearrangement' or 'Clone'",
            file=path,
            fix="airrvec reads AIRR data files, 10x's all_contig_annotations.json, and lists of flat records",
        )
    if "clone_count" in clones.column_names and "duplicate_count" not in clones.column_names:
        clones = clones.append_column("duplicate_count", clones["clone_count"])
    return clones


def _cells(items: Iterator) -> dict[str, str]:
    """The cell of each sequence_id that a cell lists."""
    return {
        str(sequence): str(cell["cell_id"])
        for cell in items
        if isinstance(cell, dict) and cell.get("cell_id")
        for sequence in _listed(cell.get("rearrangements"))
    }


def _with_cells(rearrangements: pa.Table, cell_of: dict[str, str]) -> pa.Table:
    if not cell_of or "sequence_id" not in rearrangements.column_names:
        return rearrangements
    number = pc.index_in(rearrangements["sequence_id"], pa.array(list(cell_of)))
    cells = pc.take(pa.array(list(cell_of.values())), number)
    if "cell_id" not in rearrangements.column_names:
        return rearrangements.append_column("cell_id", cells)
    cells = pc.coalesce(rearrangements["cell_id"], cells)
    return rearrangements.set_column(rearrangements.column_names.index("cell_id"), "cell_id", cells)


def _table(items: Iterator, path) -> pa.Table:
    """Records to a table of strings; a field called ``row`` is left out."""
    parts = [pa.table({"row": pa.array([], pa.int64())})]
    records = _flat(items, path)
    while chunk := list(islice(records, _RECORDS)):
        n_before = sum(map(len, parts))
        columns = {"row": pa.array(range(n_before + 1, n_before + len(chunk) + 1), pa.int64())}
        for name in dict.fromkeys(name for record in chunk for name in record if name != "row"):
            columns[name] = strings(pa.array([_word(record.get(name)) for record in chunk], pa.string()))
        parts.append(pa.table(columns))
    return pa.concat_tables(parts, promote_options="default")


def _flat(items: Iterator, path) -> Iterator[dict]:
    for number, item in enumerate(items, start=1):
        if not isinstance(item, dict):
            raise InputError(
                "the record is no JSON object",
                file=path,
                row=number,
                fix="airrvec reads lists of objects, each with the fields of a contig, chain or receptor",
            )
        yield _contig(item) if "annotations" in item else item


def _contig(contig: dict) -> dict:
    """A contig of 10x's JSON, with the columns of 10x's CSV."""
    features = [
        feature
        for annotation in _listed(contig["annotations"])
        if isinstance(annotation, dict) and isinstance(feature := annotation.get("feature"), dict)
    ]
    chains = list(dict.fromkeys(filter(None, (_word(feature.get("chain")) for feature in features))))

    def gene(region: str):
        of_region = (f.get("gene_name") for f in features if str(f.get("region_type")).endswith(region))
        return next(of_region, None)

    return {
        **{name: contig.get(name) for name in _CONTIG},
        "chain": chains[0] if len(chains) == 1 else "Multi" if chains else None,
        "v_gene": gene("V-REGION"),
        "j_gene": gene("J-REGION"),
        "reads": contig.get("read_count"),
        "umis": contig.get("umi_count"),
    }


def _listed(value) -> list:
    return value if isinstance(value, list) else []


def _word(value) -> str | None:
    return None if value is None or isinstance(value, list | dict) else str(value)


class _Json:
    """The parts of a JSON text, one after the other."""

    def __init__(self, handle: io.TextIOBase):
        self._handle, self._text, self._at = handle, "", 0

    def peek(self) -> str:
        """The next character that is not blank; empty at the end."""
        while True:
            self._at = _BLANK.match(self._text, self._at).end()
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def take(self, characters: str) -> str:
        """Go past the next character, which must be one of these."""
        found = self.peek()
        if not found or found not in characters:
            raise ValueError(f"{' or '.join(characters)} expected, found {found or 'the end'}")
        self._at += 1
        return found

    def value(self):
        """The next value, whole."""
        self.peek()
        while True:
            try:
                value, end = _decode(self._text, self._at)
                length = end - self._at
                # A number may go on where the text at hand ends.
                if self._text[end : end + 1] in _AFTER_A_VALUE or not self._more():
                    self._at += length
                    return value
            except json.JSONDecodeError:
                if not self._more():
                    raise

    def items(self) -> Iterator:
        """The values of a list."""
        self.take("[")
        more = self.peek() != "]"
        while more:
            yield self.value()
            more = self.peek() != "]"
            if more:
                self.take(",")
        self.take("]")

    def members(self) -> Iterator[str]:
        """The names in an object; the caller has to take the value of each."""
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

    def _more(self) -> bool:
        # As much again as there is, so that a long value is not decoded too often.
        chunk = self._handle.read(max(CHUNK, len(self._text) - self._at))
        self._text, self._at = self._text[self._at :] + chunk, 0
        return bool(chunk)
