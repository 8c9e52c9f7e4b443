"""What a run would take, from a beginning of each input: tasks, time, memory, disk."""

import tempfile
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import pyarrow as pa

from airrvec.core.errors import InputError
from airrvec.input import reading
from airrvec.input.normalise import Normaliser
from airrvec.model.tokens import token_counts

# Seconds of one core, and bytes of zstd Parquet; docs/benchmark.md, "Planning", says how they were measured.
START = 2.0  # seconds until a task's libraries are there
ROWS_NORMALISED = 110_000  # a second
RECEPTORS_COLLECTED = 235_000
RECEPTORS_MERGED = 350_000
CELLS_EXPORTED = {"EXPORT_AIRR": 330_000, "EXPORT_ANNDATA": 30_000}
TOKENS_EMBEDDED = {16: 1_800_000, 32: 1_170_000, 64: 570_000, 128: 130_000}  # by the dimensions of the model
BYTES_PER_CELL = 45
BYTES_PER_RECEPTOR = 33
BYTES_PER_DIMENSION = 3.7  # of a receptor's vector

# Of the vectors of the published variants; of those that are not named, 64.
DIMENSIONS = {"sceptr_tiny": 16, "sceptr_small": 32, "sceptr_large": 128}

PLAN = pa.schema(
    [
        ("process", pa.string()),
        ("tasks", pa.int64()),
        ("work", pa.int64()),
        ("unit", pa.string()),
        ("cpus", pa.int64()),
        ("memory_gb", pa.float64()),
        ("seconds_each", pa.float64()),
        ("hours_in_all", pa.float64()),
        ("disk_gb", pa.float64()),
    ]
)


@dataclass(frozen=True)
class Expected:
    """
    What a table holds, or would hold if all of it were as its beginning.

    Attributes
    ----------
    rows, cells, receptors, tokens : float
        Receptors are those that the beginning tells apart: repeats further down make them fewer. Tokens
        are the receptors' residues of loops.
    share : float
        Of the table that was read, from 0 to 1.
    """

    rows: float
    cells: float
    receptors: float
    tokens: float
    share: float


def expected(
    table: Path,
    format: str | None,
    columns: dict[str, str] | None,
    species: str,
    multichain: str,
    max_unpacked: int = reading.MAX_UNPACKED,
) -> Expected:
    """
    Read the beginning of a table as the run would read the whole.

    Parameters
    ----------
    table : Path
        As for `airrvec.input.reading.open_chains`, and so are ``format``, ``columns`` and ``max_unpacked``.
    species, multichain : str
        As for `airrvec.input.normalise.Normaliser`.

    Raises
    ------
    InputError
        If the beginning cannot be read, or the whole was read and holds no receptor.
    """
    with tempfile.TemporaryDirectory() as folder:
        part, share = reading.beginning(table, Path(folder), max_unpacked=max_unpacked)
        source = reading.open_chains(part, format, columns, max_unpacked)
        normaliser = Normaliser(sample_id=table.name, species=species, multichain=multichain)
        tokens = 0
        try:
            for made in normaliser.parts(source):
                tokens += int(token_counts(made.receptors).sum())
        except InputError:
            if share == 1 or not normaliser.counts.rows_in:
                raise
    counts = normaliser.counts
    return Expected(*(n / share for n in (counts.rows_in, counts.cells, counts.receptors, tokens)), share)


def plan(
    samples: list[Expected],
    *,
    partitions: int,
    shard_tokens: int,
    model: str | int,
    exports: list[str],
    encoders: int,
    trained: list[str],
    others: list[str],
    resources: dict[str, dict],
) -> pa.Table:
    """
    The tasks of a run.

    Parameters
    ----------
    samples : list of Expected
        One a table, the labelled one included.
    partitions, shard_tokens : int
        As the parameters of these names.
    model : str or int
        The name of a published variant, or the dimensions of another model.
    exports, trained : list of str
        Processes that write further files of each sample, and those that train.
    encoders : int
        How many the few-shot benchmark measures; 0 without a labelled table.
    others : list of str
        Further processes of one task each: the map, clusters, comparison.
    resources : dict
        Process → ``cpus`` and ``memory`` (bytes) that a task asks for.

    Returns
    -------
    pyarrow.Table
        `PLAN`: a row a process in the order of the run. ``work`` counts the ``unit`` of all tasks together.
        Times are null where nothing was measured that would tell them: training, the few-shot
        benchmark and others depend on their settings.
    """
    rows, cells, receptors, tokens = (
        sum(getattr(sample, name) for sample in samples) for name in ("rows", "cells", "receptors", "tokens")
    )
    dimensions = model if isinstance(model, int) else DIMENSIONS.get(model, 64)
    rate = TOKENS_EMBEDDED[min(TOKENS_EMBEDDED, key=lambda known: abs(known - dimensions))]
    shards = partitions * max(1, ceil(tokens / partitions / shard_tokens))
    vectors = receptors * (BYTES_PER_DIMENSION * dimensions + 13)
    of_receptors = receptors * BYTES_PER_RECEPTOR
    of_samples = cells * BYTES_PER_CELL + of_receptors
    # Process, tasks, work, its unit, units a second, bytes written.
    steps = [
        ("CHECK_SAMPLES", 1, None, None, None, None),
        ("NORMALISE_RECEPTORS", len(samples), rows, "rows", ROWS_NORMALISED, of_samples),
        ("COLLECT_RECEPTORS", partitions, receptors, "receptors", RECEPTORS_COLLECTED, 2 * of_receptors),
        *((name, 1, None, None, None, None) for name in trained),
        *([("PREPARE_MODEL", 1, None, None, None, None)] if isinstance(model, str) else []),
        ("EMBED_RECEPTORS", shards, tokens, "tokens", rate, vectors),
        ("MERGE_EMBEDDINGS", partitions, receptors, "receptors", RECEPTORS_MERGED, vectors),
        *((name, len(samples), cells, "cells", CELLS_EXPORTED.get(name), None) for name in exports),
        *([("BENCHMARK_FEWSHOT", encoders, None, None, None, None)] if encoders else []),
        *([("SUMMARISE_FEWSHOT", 1, None, None, None, None)] if encoders else []),
        *((name, 1, None, None, None, None) for name in (*others, "REPORT")),
    ]
    lines = []
    for process, tasks, work, unit, rate, size in steps:
        seconds = START + work / tasks / rate if rate else None
        lines.append(
            {
                "process": process,
                "tasks": tasks,
                "work": None if work is None else round(work),
                "unit": unit,
                "cpus": resources[process]["cpus"],
                "memory_gb": round(resources[process]["memory"] / 2**30, 2),
                "seconds_each": seconds and round(seconds, 1),
                "hours_in_all": seconds and round(seconds * tasks / 3600, 4),
                "disk_gb": None if size is None else round(size / 1e9, 4),
            }
        )
    return pa.Table.from_pylist(lines, schema=PLAN)


def as_text(samples: list[Expected], table: pa.Table) -> str:
    """The plan for the terminal."""
    rows, receptors = (sum(getattr(sample, name) for sample in samples) for name in ("rows", "receptors"))
    in_part = sum(sample.share < 1 for sample in samples)
    about = "about " if in_part else ""
    lines = [
        f"{len(samples):,} tables, {about}{rows:,.0f} rows, at most {receptors:,.0f} distinct receptors"
        + (f" ({in_part:,} of the tables were read in part)" if in_part else ""),
        "",
        "Process                 Tasks  CPUs   Memory  Seconds each  Hours in all      Disk",
    ]
    for row in table.to_pylist():
        seconds, hours, disk = row["seconds_each"], row["hours_in_all"], row["disk_gb"]
        lines.append(
            f"{row['process']:<22}{row['tasks']:>7,}{row['cpus']:>6}{row['memory_gb']:>6.1f} GB"
            f"{'?' if seconds is None else f'{seconds:,.0f}':>14}"
            f"{'?' if hours is None else f'{hours:,.2f}':>14}"
            f"{'?' if disk is None else f'{disk:,.2f} GB':>10}"
        )
    tasks, hours, disk = (
        sum(value or 0 for value in table[name].to_pylist()) for name in ("tasks", "hours_in_all", "disk_gb")
    )
    lines += [
        f"{'all':<22}{tasks:>7,}{'':>6}{'':>9}{'':>14}{hours:>14,.2f}{f'{disk:,.2f} GB':>10}",
        "",
        "Hours of one core, without the wait for a free one. ? depends on settings and was not estimated.",
        "Disk is that of the work folder; the published tables take about half as much again.",
    ]
    return "\n".join(lines)
