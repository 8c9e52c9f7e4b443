"""
JSON: contigs of 10x, records of AIRR, or any list of flat records, to Arrow tables of strings.

The text is read piece by piece, as 10x's file of all contigs may have some gigabytes; what is kept of it
are the fields of the records that are words or numbers.
"""

import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from airrvec.core.errors import InputError
from airrvec.input.files.container import (
    MAX_UNPACKED,
    TextBatch,
    damaged,
    first_line,
    open_bytes,
    strings,
    too_large,
)
from airrvec.input.files.json_text import JsonText
from airrvec.input.formats.chains import SAMPLES

_RECORDS = 10_000  # held as Python objects at a time

# The fields of 10x's contigs that its CSV has too; the sequences are of no use here.
_CONTIG = ("barcode", "is_cell", "high_confidence", "full_length", "productive", "cdr3")

_OF_CELL = ("cell_id", *SAMPLES)  # what an AIRR cell may say of its rearrangements


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

    def batches(
        self, columns: list[str], header_rows: int = 1, needed: tuple[str, ...] = ()
    ) -> Iterator[TextBatch]:
        """All records at once."""
        wanted = [name for name in columns if name in self.names()]
        yield TextBatch(self.table.select([*wanted, "row"]), len(self.table), [])


def read_json(path: str | Path, limit: int = MAX_UNPACKED) -> Records:
    """
    Read the records of a JSON file.

    A list holds 10x's contigs (``annotations``), which get the columns of 10x's CSV, or flat records. An
    object is an AIRR data file: its ``Rearrangement`` is read, or its ``Clone`` if it has none. Where a
    rearrangement names no cell, the ``Cell`` that lists it in ``rearrangements`` does (AIRR 1.4).

    Parameters
    ----------
    path : str or Path
        The file.
    limit : int
        Bytes that the fields of all records may take.

    Raises
    ------
    InputError
        If the file is damaged, is no valid JSON, holds no such records or too many.
    """
    try:
        with open_bytes(path) as handle:
            text = JsonText(io.TextIOWrapper(handle, "utf-8-sig"), path)
            table = _table(text.items(), path, limit) if text.peek() == "[" else _airr(text, path, limit)
            if text.peek():
                raise ValueError("more text behind its end")
    except (EOFError, OSError, zlib.error) as error:
        raise damaged(path) from error
    except UnicodeDecodeError as error:
        raise InputError(
            "holds bytes that are not UTF-8 text",
            file=path,
            fix="Convert the file, e.g. `iconv -f latin1 -t utf-8`",
        ) from error
    except UnicodeEncodeError as error:
        raise _no_character(path) from error
    except RecursionError as error:
        raise InputError(
            "its lists or objects lie in each other, more deeply than airrvec reads",
            file=path,
            fix="Give a list of flat records, an AIRR data file, or 10x's all_contig_annotations.json",
        ) from error
    except ValueError as error:
        raise InputError(
            f"the file is no valid JSON ({first_line(error)})",
            file=path,
            fix="It may be truncated: copy or download it again",
        ) from error
    if not len(table):
        raise InputError("the file holds no records", file=path)
    return Records(table)


def _airr(text: JsonText, path, limit: int) -> pa.Table:
    """The rearrangements of an AIRR data file, or else its clones."""
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
    """The cells that list each sequence_id: their ``cell_id``, and the sample that they are of."""
    cells: dict[str, list[dict]] = {}
    for item in items:
        if not isinstance(item, dict) or not item.get("cell_id"):
            continue
        cell = {name: word for name in _OF_CELL if (word := _word(item.get(name)))}
        for sequence in _listed(item.get("rearrangements")):
            cells.setdefault(str(sequence), []).append(cell)
    return cells


def _with_cells(rearrangements: pa.Table, cells: dict[str, list[dict]]) -> pa.Table:
    """Rearrangements with the ``cell_id`` and sample of the cell that lists them, where theirs are empty."""
    if not cells or "sequence_id" not in rearrangements.column_names:
        return rearrangements
    known = ["sequence_id", *(name for name in _OF_CELL if name in rearrangements.column_names)]
    found = [_cell(row, cells) for row in rearrangements.select(known).to_pylist()]
    for name in _OF_CELL:
        values = pa.array([cell.get(name) for cell in found], pa.string())
        if name in known:
            values = pc.coalesce(rearrangements[name], values)
            rearrangements = rearrangements.drop_columns(name)
        rearrangements = rearrangements.append_column(name, values)
    return rearrangements


def _cell(rearrangement: dict, cells: dict[str, list[dict]]) -> dict:
    """The one cell that lists a rearrangement and contradicts it in nothing; empty if none or several do."""
    fitting = [
        cell
        for cell in cells.get(rearrangement["sequence_id"], ())
        if all(rearrangement.get(name) in (None, value) for name, value in cell.items())
    ]
    return fitting[0] if fitting and all(cell == fitting[0] for cell in fitting) else {}


def _table(items: Iterator, path, limit: int) -> pa.Table:
    """Records to a table of strings; a field called ``row`` is left out."""
    parts = [pa.table({"row": pa.array([], pa.int64())})]
    records = _flat(items, path)
    while chunk := list(islice(records, _RECORDS)):
        parts.append(_part(chunk, sum(map(len, parts)) + 1, path))
        if sum(part.nbytes for part in parts) > limit:
            raise too_large(path, limit)
    return pa.concat_tables(parts, promote_options="default")


def _part(records: list[dict], first_row: int, path) -> pa.Table:
    """Some records, numbered from ``first_row``."""
    columns = {"row": pa.array(range(first_row, first_row + len(records)), pa.int64())}
    for name in dict.fromkeys(name for record in records for name in record if name != "row"):
        values = [_word(record.get(name)) for record in records]
        try:
            name.encode()
            columns[name] = strings(pa.array(values, pa.string()))
        except UnicodeEncodeError as error:
            row = first_row + next((at for at, value in enumerate(values) if _is_broken(value)), 0)
            raise _no_character(path, row, name.encode(errors="replace").decode()) from error
    return pa.table(columns)


def _is_broken(word: str | None) -> bool:
    """Whether a text holds half of a surrogate pair."""
    return bool(word) and any("\ud800" <= character <= "\udfff" for character in word)


def _no_character(path, row: int | None = None, column: str | None = None) -> InputError:
    return InputError(
        "holds half of a surrogate pair (such as \\ud800), which is no character",
        file=path,
        row=row,
        column=column,
        fix="Remove it, or write the file anew as UTF-8",
    )


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
        "contig_id": contig.get("contig_name"),
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
