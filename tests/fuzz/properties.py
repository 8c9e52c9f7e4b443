"""What has to be true of every input: it is read and nothing is lost, or it is refused in one sentence."""

import contextlib
import hashlib
import io
import json
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from airrvec.app.verbs import work
from airrvec.core import schema
from airrvec.core.schema.gamma_delta import FOLDER

import pyarrow as pa
import pyarrow.parquet as pq

_GENE = {
    name: re.compile(rf"TR[ABGD]{name[0].upper()}[0-9A-Z/-]+(\*[0-9]+)?") for name in ("v_call", "j_call")
}
_JUNCTION = re.compile("[ACDEFGHIKLMNPQRSTVWY]{1,60}")


class Refused(Exception):
    """The input was refused, as it should be: by one sentence, exit status 1, nothing left behind."""


@dataclass(frozen=True)
class Result:
    """Tables and counts of one sample; ``apart``: its γδ cells."""

    cells: pa.Table
    apart: pa.Table
    receptors: pa.Table
    rejects: pa.Table
    counts: dict


@cache
def script(name: str):
    """The module of a script in ``bin``."""
    return work.script(name)


def called(main, argv: list, outdir: Path) -> None:
    """
    Call a script's ``main`` in this process.

    Raises
    ------
    Refused
        If it ends with exit status 1 and a sentence, having left nothing in ``outdir``.
    """
    written = io.StringIO()
    try:
        with contextlib.redirect_stderr(written):
            main([str(word) for word in argv])
        return
    except SystemExit as end:
        status = end.code
    *_, message = written.getvalue().removesuffix("\n").split("\n")
    assert status == 1, f"the exit status is {status}: {message}"
    check_sentence(message.removeprefix("ERROR: "))
    assert message.startswith("ERROR: "), f"the last line is no error: {message}"
    left = sorted(str(path.relative_to(outdir)) for path in outdir.rglob("*") if path.is_file())
    assert not left, f"refused, but it left {left}"
    raise Refused(message)


def check_sentence(message: str) -> None:
    """A message of an `InputError` is a line that a person can read."""
    assert "\n" not in message, f"more than one line: {message!r}"
    assert message.isprintable(), f"holds what cannot be printed: {message!r}"
    assert 20 < len(message) < 2_000, f"{len(message)} characters: {message[:300]!r} …"
    assert "Traceback" not in message, message


def normalised(path: Path, outdir: Path, options: dict) -> Result:
    """
    Normalise a table by the pipeline's script, and check what it leaves.

    Parameters
    ----------
    path, outdir : Path
        The table, and a folder that is empty.
    options : dict
        ``sample``, ``species``, ``multichain``, ``partitions``; ``format``, ``column_map``,
        ``max_rejected``, and ``n_rows``, where that is known.

    Raises
    ------
    Refused
        If the input is refused.
    """
    argv = [path, "--outdir", outdir, "--sample", options["sample"]]
    for name in ("species", "multichain", "partitions", "format", "max_rejected"):
        if options.get(name) is not None:
            argv += [f"--{name.replace('_', '-')}", options[name]]
    if options.get("column_map"):
        argv += ["--column-map", path.parent / options["column_map"]]
    called(script("normalise_receptors").main, argv, outdir)
    n_partitions = options.get("partitions", 1)
    stem = options["sample"]
    counts = json.loads((outdir / f"{stem}.qc.json").read_text(), parse_constant=_no_number)
    receptors = [f"{stem}.receptors_{number:04d}.parquet" for number in range(n_partitions)]
    cells, chains = f"{stem}.cells.parquet", f"{stem}.chains.parquet"
    expected = {f"{stem}.rejects.parquet", f"{stem}.qc.json"}
    if counts["cells"]:
        expected |= {cells, chains, *receptors}
    if counts["gamma_delta"]["cells"]:
        expected |= {FOLDER, f"{FOLDER}/{cells}", f"{FOLDER}/{chains}"}
    found = {str(file.relative_to(outdir)) for file in outdir.rglob("*")}
    assert found == expected, f"the files are {sorted(found)}, not {sorted(expected)}"
    parts = [_table(outdir / name, schema.RECEPTORS) for name in receptors]
    result = Result(
        _table(outdir / cells, schema.CELLS),
        _table(outdir / FOLDER / cells, schema.GAMMA_DELTA_CELLS),
        pa.concat_tables(parts),
        _table(outdir / f"{stem}.rejects.parquet", schema.REJECTS),
        counts,
    )
    check_conserved(result, options.get("n_rows"))
    check_receptors(result)
    check_tables(result, stem)
    for number, part in enumerate(parts):
        for name in part["clonotype_id"].to_pylist():
            assert int(name[:4], 16) * n_partitions >> 16 == number, f"{name} is in partition {number}"
    return result


def _table(path: Path, columns: pa.Schema) -> pa.Table:
    """A table; without rows if there is no such file, as of a sample without cells of the lineage."""
    if not path.exists():
        return columns.empty_table()
    with pq.ParquetFile(path) as file:
        return file.read(use_threads=False)


def _no_number(word: str):
    raise AssertionError(f"the JSON holds {word}")


def check_conserved(result: Result, n_rows: int | None = None) -> None:
    """Every row of the input is in one cell or among the rejects, and the counts say so."""
    counts, rejects = result.counts, result.rejects.to_pydict()
    n_in = counts["rows_in"]
    assert n_rows in (None, n_in), f"the file has {n_rows} rows, {n_in} were read"
    by_kept = {True: set(), False: set()}
    for row, kept in zip(rejects["row"], rejects["row_kept"], strict=True):
        by_kept[kept].add(row)
    kept, lost = by_kept[True], by_kept[False]
    assert not kept & lost, f"rows {sorted(kept & lost)} are kept and rejected"
    assert kept | lost <= set(range(1, n_in + 1)), f"rejects name rows that are not in the file's {n_in}"
    assert counts["rows_rejected"] == len(lost), (
        f"{counts['rows_rejected']} rows rejected, {len(lost)} in rejects"
    )
    assert n_in == counts["rows_out"] + len(lost), (
        f"{n_in} rows in, {counts['rows_out']} out, {len(lost)} rejected"
    )
    n_rows_of_cells = [n for table in (result.cells, result.apart) for n in table["input_rows"].to_pylist()]
    total = sum(n_rows_of_cells)
    assert total == counts["rows_out"], f"input_rows sum to {total}, {counts['rows_out']} rows are kept"
    assert min(n_rows_of_cells) >= 0
    assert all(rejects["reason"])
    assert len(n_rows_of_cells) > 0
    for table, own in ((result.cells, counts), (result.apart, counts["gamma_delta"])):
        assert own["cells"] == len(table)
        assert Counter(table["chain_pairing"].to_pylist()) == own["pairing"]
    assert Counter(rejects["reason"]) == counts["reject_reasons"]


def check_receptors(result: Result) -> None:
    """Receptors are known by their contents, well-formed, and those of the cells."""
    names = set(result.receptors["receptor_id"].to_pylist())
    assert names == set(result.cells["receptor_id"].to_pylist()), "receptors are not those of the cells"
    for lineage, table, counts in (
        (schema.ALPHA_BETA, result.receptors, result.counts),
        (schema.GAMMA_DELTA, result.apart, result.counts["gamma_delta"]),
    ):
        rows = {row["receptor_id"]: row for row in table.to_pylist()}
        assert len(rows) == counts["receptors"], f"{len(rows)} receptors, not {counts['receptors']}"
        for row in rows.values():
            _check_receptor(row, lineage)
    for table in (result.cells, result.apart):
        assert set(table["chain_pairing"].to_pylist()) <= set(schema.CHAIN_PAIRINGS)


def _check_receptor(row: dict, lineage: schema.Lineage) -> None:
    identified = ("species", *lineage.receptor_fields)
    prefix = "" if lineage == schema.ALPHA_BETA else "γδ|"
    key = prefix + "|".join(row[name] or "" for name in identified)
    genes = prefix + "|".join((row[name] or "").split("*")[0] for name in identified)
    for name, hashed in (("receptor_id", key), ("clonotype_id", genes)):
        expected = hashlib.sha256(hashed.encode()).hexdigest()[:24]
        assert row[name] == expected, f"{name} {row[name]} is not the hash of {hashed}"
    assert row["species"] in schema.SPECIES
    present = [locus for locus in lineage.loci if row[schema.field(locus, "junction_aa")]]
    assert present, f"a receptor without a junction: {key}"
    assert all(row[name] != "" for name in identified), f"an empty word in place of a null: {row}"
    for locus in lineage.loci:
        junction = row[schema.field(locus, "junction_aa")]
        calls = {name: row[schema.field(locus, name)] for name in _GENE}
        assert junction or not any(calls.values()), f"genes without a junction: {key}"
        assert junction is None or _JUNCTION.fullmatch(junction), f"the junction is {junction!r}"
        for name, gene in calls.items():
            assert gene is None or _GENE[name].fullmatch(gene), f"{name} is {gene!r}"
            also_delta = locus == "TRD" and "/DV" in (gene or "")
            assert gene is None or gene.startswith(locus) or also_delta, f"{name} is {gene!r}"


def check_tables(result: Result, sample: str) -> None:
    """Tables that were opened again have their schema, and name the sample."""
    for table, expected in (
        (result.cells.select(schema.CELLS.names), schema.CELLS),
        (result.apart.select(schema.GAMMA_DELTA_CELLS.names), schema.GAMMA_DELTA_CELLS),
        (result.receptors, schema.RECEPTORS),
        (result.rejects, schema.REJECTS),
    ):
        table.validate(full=True)
        assert table.schema.equals(expected), f"the schema is {table.schema}"
    for table in (result.cells, result.apart, result.rejects):
        assert set(table["sample_id"].to_pylist()) <= {sample}
    assert result.counts["sample_id"] == sample


def check_same(one: Result, other: Result) -> None:
    """Two spellings of one table give the same receptors, cells and rejects."""
    for name in ("receptors", "cells", "apart", "rejects"):
        left, right = (getattr(result, name).to_pylist() for result in (one, other))
        if name == "receptors":  # distinct within a part of the file
            left, right = (list({row["receptor_id"]: row for row in rows}.values()) for rows in (left, right))
        if left != right:
            pairs = zip(left, right, strict=False)
            first = next((pair for pair in pairs if pair[0] != pair[1]), "further rows")
            raise AssertionError(f"{name} differ ({len(left)} and {len(right)} rows), first in {first}")
    same = ("rows_in", "rows_out", "rows_rejected", "chains_in", "chains_out", "format")
    assert [one.counts[name] for name in same] == [other.counts[name] for name in same]
