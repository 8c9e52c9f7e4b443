"""Estimate of a run's tasks, time, memory and disk, from the beginning of each input."""

import tempfile
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from airrvec.core.errors import InputError
from airrvec.core.terminal import counted
from airrvec.input import reading
from airrvec.input.normalise import Normaliser
from airrvec.model.tokens import token_counts

import pyarrow as pa

# Seconds and rates per second of one core, and bytes of zstd Parquet, measured as in
# docs/benchmarks/speed.md, "Planning".
START = 2.0  # seconds to load a task's libraries
ROWS_NORMALISED = 110_000  # per second, as the next four
RECEPTORS_COLLECTED = 235_000
RECEPTORS_MERGED = 350_000
CELLS_EXPORTED = {"EXPORT_AIRR": 330_000, "EXPORT_ANNDATA": 30_000}
CELLS_ANNOTATED = 5_600
RECEPTORS_CALIBRATED = 1_900  # references and background receptors, per second of one core
BYTES_ANNOTATED = 8e6  # of cells, in a task of several samples
TOGETHER = ("DESCRIBE_CELLS", "EXPORT_ANNDATA", "EXPORT_SCE")  # one more task, for all samples
TOKENS_EMBEDDED = {16: 1_800_000, 32: 1_170_000, 64: 570_000, 128: 130_000}  # by model dimensions
BYTES_PER_CELL = 45
BYTES_PER_RECEPTOR = 33
BYTES_PER_DIMENSION = 3.7  # per vector

# Vector dimensions of published variants; 64 for those not listed.
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
class TableEstimate:
    """
    Estimated content of a table, extrapolated from its beginning.

    Attributes
    ----------
    rows, cells, receptors, tokens : float
        Receptors are an upper bound: only repeats within the beginning are removed. Tokens are the residues
        of the receptors' loops.
    share : float
        Share of the table that was read, from 0 to 1.
    """

    rows: float
    cells: float
    receptors: float
    tokens: float
    share: float


def estimate_table(
    table: Path,
    format: str | None,
    columns: dict[str, str] | None,
    species: str,
    multichain: str,
    max_unpacked: int = reading.MAX_UNPACKED,
) -> TableEstimate:
    """
    Estimate the content of a table; its beginning is read as the run would read all of it.

    Parameters
    ----------
    table : Path
        As for `airrvec.input.reading.open_chains`; also ``format``, ``columns`` and ``max_unpacked``.
    species, multichain : str
        As for `airrvec.input.normalise.Normaliser`.

    Raises
    ------
    InputError
        If the beginning cannot be read, or the whole table was read and holds no receptor.
    """
    with tempfile.TemporaryDirectory() as folder:
        part, share = reading.beginning(table, Path(folder), max_unpacked=max_unpacked)
        source = reading.open_chains(part, format, columns, max_unpacked)
        normaliser = Normaliser(
            sample_id=table.name, species=species, multichain=multichain, gamma_delta=True
        )
        tokens = 0
        try:
            for batch in normaliser.parts(source):
                tokens += int(token_counts(batch.receptors).sum())
        except InputError:
            if share == 1 or not normaliser.counts.rows_in:
                raise
    counts = normaliser.counts
    return TableEstimate(
        rows=counts.rows_in / share,
        cells=counts.cells / share,
        receptors=counts.receptors / share,
        tokens=tokens / share,
        share=share,
    )


def _export(name: str, n_tasks: int, cells: float, together: bool) -> tuple:
    """Return the step that writes a file of each sample, and one of all of them ``together``."""
    tasks, work = (n_tasks + 1, 2 * cells) if together else (n_tasks, cells)
    return name, tasks, work, "cells", CELLS_EXPORTED.get(name), None


def _annotation(references: list[TableEstimate], cells: float, n_samples: int, request: dict) -> list[tuple]:
    """Return the steps of annotation: tables of references, their calibration, and the samples."""
    rows, receptors = (sum(getattr(table, name) for table in references) for name in ("rows", "receptors"))
    n_tables = request["tables"]
    calibrated = receptors + request["background_receptors"]
    tasks = min(n_samples, max(1, ceil(cells * BYTES_PER_CELL / BYTES_ANNOTATED)))
    size = receptors * (BYTES_PER_CELL + BYTES_PER_RECEPTOR)
    read = [
        ("NORMALISE_REFERENCE", n_tables, rows, "rows", ROWS_NORMALISED, size),
        ("MERGE_REFERENCES", 1, None, None, None, None),
    ]
    return [
        *(read if n_tables else []),
        ("CALIBRATE_ANNOTATION", 1, calibrated, "receptors", RECEPTORS_CALIBRATED, None),
        ("ANNOTATE_RECEPTORS", tasks, cells, "cells", CELLS_ANNOTATED, None),
    ]


def plan(
    samples: list[TableEstimate],
    references: list[TableEstimate] = (),
    *,
    annotation: dict | None = None,
    normalising: int,
    partitions: int,
    shard_tokens: int,
    model: str | int,
    exports: list[str],
    encoders: int,
    trained: list[str],
    further: dict[str, int],
    resources: dict[str, dict],
) -> pa.Table:
    """
    Return the tasks of a run.

    Parameters
    ----------
    samples : list of TableEstimate
        One per table, including the labelled one, which is the last.
    references : list of TableEstimate
        Tables of references; without them, annotation takes the labelled table.
    annotation : dict, optional
        ``tables`` (number of tables of references) and ``background_receptors``, if receptors are annotated.
    normalising : int
        Tasks that read them: small tables share one, also in the exports but that of R.
    partitions, shard_tokens : int
        Parameters of the run with these names.
    model : str or int
        Name of a published variant, or number of dimensions of another model.
    exports, trained : list of str
        Processes that write further files of each sample, and processes that train.
    encoders : int
        Number of encoders in the few-shot benchmark; 0 without a labelled table.
    further : dict
        Further processes → number of tasks: map, clusters, comparison, analyses.
    resources : dict
        Process → ``cpus`` and ``memory`` (bytes) requested per task.

    Returns
    -------
    pyarrow.Table
        `PLAN`: one row per process, in the order of the run. ``work`` is the number of ``unit`` in all tasks.
        Times are null for processes without a measured rate: training, the few-shot benchmark and others
        depend on their settings.
    """
    rows, cells, receptors, tokens = (
        sum(getattr(sample, name) for sample in samples) for name in ("rows", "cells", "receptors", "tokens")
    )
    unlabelled = len(samples) > bool(encoders)
    dimensions = model if isinstance(model, int) else DIMENSIONS.get(model, 64)
    rate = TOKENS_EMBEDDED[min(TOKENS_EMBEDDED, key=lambda known: abs(known - dimensions))]
    shards = partitions * max(1, ceil(tokens / partitions / shard_tokens))
    vector_bytes = receptors * (BYTES_PER_DIMENSION * dimensions + 13)
    receptor_bytes = receptors * BYTES_PER_RECEPTOR
    sample_bytes = cells * BYTES_PER_CELL + receptor_bytes
    per_sample = {"EXPORT_SCE": len(samples)}
    unlabelled_cells = cells - (samples[-1].cells if encoders else 0)
    n_samples = len(samples) - bool(encoders)
    # One task goes on after the report.
    ordered = sorted({**further, "REPORT": 1}.items(), key=lambda process: process[0] == "HANDOVER")
    merging = [("MERGE_EMBEDDINGS", partitions, receptors, "receptors", RECEPTORS_MERGED, vector_bytes)]
    # Process, tasks, work, unit of work, units per second, bytes written.
    steps = [
        ("CHECK_SAMPLES", 1, None, None, None, None),
        ("NORMALISE_RECEPTORS", normalising, rows, "rows", ROWS_NORMALISED, sample_bytes),
        ("COLLECT_RECEPTORS", partitions, receptors, "receptors", RECEPTORS_COLLECTED, 2 * receptor_bytes),
        *((name, 1, None, None, None, None) for name in trained),
        ("EMBED_RECEPTORS", shards, tokens, "tokens", rate, vector_bytes),
        *(merging if shards > partitions else []),
        *(
            _export(name, per_sample.get(name, normalising), cells, name in TOGETHER and unlabelled)
            for name in exports
        ),
        *([("BENCHMARK_FEWSHOT", encoders, None, None, None, None)] if encoders else []),
        *([("SUMMARISE_FEWSHOT", 1, None, None, None, None)] if encoders else []),
        *(
            _annotation(list(references) or samples[-1:], unlabelled_cells, n_samples, annotation)
            if annotation
            else []
        ),
        *((name, tasks, None, None, None, None) for name, tasks in ordered),
    ]
    lines = [_line(*step, request=resources[step[0]]) for step in steps]
    return pa.Table.from_pylist(lines, schema=PLAN)


def _line(
    process: str,
    tasks: int,
    work: float | None,
    unit: str | None,
    rate: float | None,
    size: float | None,
    request: dict,
) -> dict:
    """Return the row of `PLAN`; ``rate``: units of work per second, ``size``: bytes written."""
    seconds = START + work / tasks / rate if rate else None
    return {
        "process": process,
        "tasks": tasks,
        "work": None if work is None else round(work),
        "unit": unit,
        "cpus": request["cpus"],
        "memory_gb": round(request["memory"] / 2**30, 2),
        "seconds_each": seconds and round(seconds, 1),
        "hours_in_all": seconds and round(seconds * tasks / 3600, 4),
        "disk_gb": None if size is None else round(size / 1e9, 4),
    }


def format_plan(samples: list[TableEstimate], table: pa.Table) -> str:
    """Return the plan as text for the terminal."""
    rows, receptors = (sum(getattr(sample, name) for sample in samples) for name in ("rows", "receptors"))
    n_partial = sum(sample.share < 1 for sample in samples)
    about = "about " if n_partial else ""
    lines = [
        f"{counted(len(samples), 'table')}, {about}{counted(round(rows), 'row')},"
        f" at most {counted(round(receptors), 'distinct receptor')}"
        + (f" ({n_partial:,} of the tables were read in part)" if n_partial else ""),
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
        "Hours of one core, without waiting for free cores. ?: not estimated, depends on settings.",
        "Disk: work folder; the published tables need about another 50 %.",
    ]
    return "\n".join(lines)
