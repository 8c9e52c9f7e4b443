"""The spreadsheets: all clones of the run, and the calls of all samples in one table."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from airrvec.core import schema, tables
from airrvec.core.schema import HAS_CALL
from airrvec.core.schema.published import without_links
from airrvec.core.terminal import counted
from airrvec.figures.run.material import NotDrawn, Results
from airrvec.report.handover import workbook
from airrvec.report.handover.workbook import Sheet, Written

import pyarrow as pa
import pyarrow.compute as pc

CLONES = 100_000  # rows of clones.xlsx, at most: a million take minutes to write and to open
_BATCH = 2**13  # rows in memory at once, as Python's objects
_CALLS = "annotation/<sample>.parquet"
# Of a cell, not of its receptor: cells of a receptor are one row.
_CELL_COLUMNS = ("cell_id", "abundance")


def write_clones(results: Results, path: Path) -> Written:
    """Write the clones of a run, as ``clones/clones.parquet``, largest share first."""
    source = results.path("clones")

    def about(written: Written) -> list[tuple[str, str]]:
        rows = without_links(schema.TABLES["clones"].about)
        return [
            ("What this is", f"The clones of the run, those of the largest shares first. {rows}"),
            ("Source", "clones/clones.parquet in the results, which has all clones"),
            *_limits(written, "the clones with the smallest shares", CLONES),
            ("Not in here", "γδ T cells, which are counted apart: gamma_delta/ in the results"),
            ("Not in here", "Cells of each clone in each sample: clones/clones_by_sample.tsv in the results"),
        ]

    return workbook.write(path, Sheet("Clones", tables.read_batches(source, _BATCH), CLONES), about)


def calls_of(results: Results) -> list[Path]:
    """
    Return the calls of each sample.

    Raises
    ------
    NotDrawn
        If no sample was annotated.
    """
    paths = sorted((results.folder / "annotation").glob("*.parquet"))
    if not paths:
        raise NotDrawn("no sample was annotated, which --annotate does")
    return paths


@dataclass
class _Kept:
    """Cells of a sample by their call, and how many of them are in the table."""

    cells: dict[str, int] = field(default_factory=dict)
    rows: int = 0


def write_calls(paths: list[Path], path: Path) -> Written:
    """
    Write the called and exactly matching receptors of all samples as one table.

    Parameters
    ----------
    paths : list of Path
        Calls of each sample, ``airrvec.core.schema.ANNOTATION``.
    path : Path
        Of the spreadsheet.
    """
    kept: dict[str, _Kept] = {}

    def about(written: Written) -> list[tuple[str, str]]:
        return [
            (
                "What this is",
                "Receptors that are called for an epitope, or have the same V genes, J genes and junctions as"
                " a reference (exact_epitope), of all samples: one row per sample and receptor, called ones"
                " first, then those of most cells. abundance is the sum of its cells.",
            ),
            ("Source", f"{_CALLS} in the results, which have a row per cell, with its barcode"),
            *_limits(written, "the last rows", tables.SPREADSHEET),
            *_left_out(kept),
        ]

    return workbook.write(path, Sheet("Calls", _calls(paths, kept)), about)


def _calls(paths: list[Path], kept: dict[str, _Kept]) -> Iterator[pa.Table]:
    """Yield the rows of each sample, and note what is left out."""
    told = (pc.field("call") == HAS_CALL) | pc.field("exact_epitope").is_valid()
    for path in paths:
        rows = tables.read_filtered(path, told)
        rows = pa.Table.from_arrays(rows.columns, schema=schema.described(rows.schema, path))
        sample = kept.setdefault(tables.sample_name(path), _Kept())
        counts = tables.read(path, ["call"]).group_by("call").aggregate([([], "count_all")])
        words = zip(counts["call"].to_pylist(), counts["count_all"].to_pylist(), strict=True)
        sample.cells = {str(word): n for word, n in words}
        receptors = _receptors(rows)
        sample.rows = len(rows)
        yield from (receptors.slice(start, _BATCH) for start in range(0, max(len(receptors), 1), _BATCH))


def _receptors(rows: pa.Table) -> pa.Table:
    """Return a row for each receptor, with the sum of its cells."""
    names = [name for name in rows.column_names if name not in _CELL_COLUMNS]
    sums = rows.group_by(names, use_threads=False).aggregate([("abundance", "sum")])
    sums = sums.rename_columns([*names, "abundance"])
    called_first = pc.if_else(pc.equal(sums["call"], HAS_CALL), 0, 1)
    order = [("first", "ascending"), ("abundance", "descending"), ("receptor_id", "ascending")]
    ordered = sums.append_column("first", called_first).sort_by(order)
    kept = [one for one in rows.schema if one.name != "cell_id"]
    return ordered.select([one.name for one in kept]).cast(pa.schema(kept))


def _limits(written: Written, last: str, most: int) -> list[tuple[str, str]]:
    lines = [("Rows", f"{written.rows:,}")]
    if written.left_out:
        words = f"{counted(written.left_out, 'row')}, {last}: a sheet holds {most:,} rows"
        lines.append(("Left out", words))
    if written.cut:
        words = f"{counted(written.cut, 'text')} longer than {workbook.LONGEST:,} letters, without their ends"
        lines.append(("Cut", words))
    return lines


def _left_out(kept: dict[str, _Kept]) -> list[tuple[str, str]]:
    """Return what each sample has, and how much of it is in the table."""
    total = sum(sum(sample.cells.values()) for sample in kept.values())
    rows = sum(sample.rows for sample in kept.values())
    lines = [
        (
            "Left out",
            f"{total - rows:,} of {counted(total, 'row')} (cells or clonotypes of the samples) without a"
            " call and without an exact match, by sample below. They are in annotation/ in the results.",
        )
    ]
    for name, sample in kept.items():
        words = ", ".join(f"{word}: {n:,}" for word, n in sorted(sample.cells.items()))
        lines.append((name, f"{sample.rows:,} of {sum(sample.cells.values()):,} in this file ({words})"))
    return lines
