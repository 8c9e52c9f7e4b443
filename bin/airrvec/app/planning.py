"""Estimate of a run's tasks, time, memory and disk, from the beginning of each input."""

import tempfile
from dataclasses import dataclass
from itertools import combinations
from math import ceil
from pathlib import Path

from airrvec.app import costs
from airrvec.app.costs import Work
from airrvec.core.chains import chain_classes
from airrvec.core.errors import InputError
from airrvec.core.terminal import counted
from airrvec.input import reading
from airrvec.input.normalise import Normaliser
from airrvec.model.tokens import token_counts

import pyarrow as pa

# Bytes of zstd Parquet, measured as in docs/benchmarks/speed.md, "Planning".
BYTES_ANNOTATED = 8e6  # of cells, in a task of several samples
BYTES_EXPORTED = 25e6  # the same, in a task of `LARGER`
LARGER = ("DESCRIBE_CELLS", "EXPORT_ANNDATA")
TOGETHER = ("DESCRIBE_CELLS", "EXPORT_ANNDATA", "EXPORT_SCE")  # one more task, for all samples
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
    paired : float
        Of the receptors, those with both chains.
    groups : frozenset of (str, str)
        Species and chain classes that are compared apart.
    gamma_delta : float
        γδ cells.
    """

    rows: float
    cells: float
    receptors: float
    tokens: float
    share: float
    paired: float = 0
    groups: frozenset[tuple[str, str]] = frozenset({("homosapiens", "paired")})
    gamma_delta: float = 0


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
        tokens, paired, groups = 0, 0, set()
        try:
            for batch in normaliser.parts(source):
                tokens += int(token_counts(batch.receptors).sum())
                classes = chain_classes(batch.receptors)
                paired += int((classes == "paired").sum())
                pairs = zip(batch.receptors["species"].to_pylist(), classes.tolist(), strict=True)
                groups |= {pair for pair in pairs if pair[1]}
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
        paired=paired / share,
        groups=frozenset(groups),
        gamma_delta=counts.gamma_delta.cells / share,
    )


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
        `PLAN`: one row per process, in the order of the run. ``work`` is the number of ``unit`` in all tasks,
        ``seconds_each`` are those of one core. Times are null for processes without a cost in
        `airrvec.app.costs`: training and the paper's analyses depend on their settings.
    """
    unlabelled = samples[: len(samples) - bool(encoders)]
    work = _work(samples, unlabelled, list(references) or samples[-1:], annotation)
    dimensions = model if isinstance(model, int) else DIMENSIONS.get(model, 64)
    shards = partitions * max(1, ceil(work["tokens"] / partitions / shard_tokens))
    work["tokens"] = costs.tokens_at_64_dimensions(work["tokens"], dimensions)
    vector_bytes = work["receptors"] * (BYTES_PER_DIMENSION * dimensions + 13)
    receptor_bytes = work["receptors"] * BYTES_PER_RECEPTOR
    sample_bytes = work["cells"] * BYTES_PER_CELL + receptor_bytes
    annotating = _batches(unlabelled, BYTES_ANNOTATED)
    work["references of all tasks"] = work["references"] * annotating

    def exporting(name: str) -> int:
        if name in LARGER:
            return _batches(samples, BYTES_EXPORTED)
        return len(samples) if name == "EXPORT_SCE" else normalising

    report = {"REPORT": 1, "RENDER_REPORT": 1}
    ordered = sorted({**further, **report}.items(), key=lambda process: process[0] == "HANDOVER")
    # Process, tasks, bytes written.
    steps: list[tuple[str, int, float | None]] = [
        ("CHECK_SAMPLES", 1, None),
        ("NORMALISE_RECEPTORS", normalising, sample_bytes),
        ("COLLECT_RECEPTORS", partitions, 2 * receptor_bytes),
        *((name, 1, None) for name in trained),
        ("EMBED_RECEPTORS", shards, vector_bytes),
        *([("MERGE_EMBEDDINGS", partitions, vector_bytes)] if shards > partitions else []),
        *((name, exporting(name) + (name in TOGETHER and bool(unlabelled)), None) for name in exports),
        *([("BENCHMARK_FEWSHOT", encoders, None), ("SUMMARISE_FEWSHOT", 1, None)] if encoders else []),
        *(_annotation(annotation["tables"], work, annotating) if annotation else []),
        *([("DESCRIBE_GAMMA_DELTA", 1, None)] if work["γδ cells"] else []),
        *((name, tasks, None) for name, tasks in ordered),
    ]
    lines = [_line(name, tasks, size, work, resources[name]) for name, tasks, size in steps]
    return pa.Table.from_pylist(lines, schema=PLAN)


def _annotation(tables: int, work: Work, annotating: int) -> list[tuple]:
    """Return the steps of annotation: tables of references, their calibration, and tasks of samples."""
    size = work["references"] * (BYTES_PER_CELL + BYTES_PER_RECEPTOR)
    read = [("NORMALISE_REFERENCE", tables, size), ("MERGE_REFERENCES", 1, None)]
    return [
        *(read if tables else []),
        ("CALIBRATE_ANNOTATION", 1, None),
        ("ANNOTATE_RECEPTORS", annotating, None),
    ]


def _batches(samples: list[TableEstimate], most: float) -> int:
    """Return the tasks of samples, in their order, of at most so many bytes of cells, or one sample."""
    tasks, filled = 0, most
    for sample in samples:
        size = sample.cells * BYTES_PER_CELL
        if filled + size > most:
            tasks, filled = tasks + 1, 0.0
        filled += size
    return tasks


def _work(
    samples: list[TableEstimate],
    unlabelled: list[TableEstimate],
    references: list[TableEstimate],
    annotation: dict | None,
) -> dict[str, float]:
    """Return how much there is of what the processes work on, by the units of `airrvec.app.costs`."""

    def total(tables: list[TableEstimate], name: str) -> float:
        return sum(getattr(table, name) for table in tables)

    groups = len(frozenset().union(*(table.groups for table in samples)))
    calibrated = total(references, "receptors") + (annotation or {}).get("background_receptors", 0)
    return {
        "tables": len(samples),
        **{name: total(samples, name) for name in ("rows", "cells", "receptors", "tokens")},
        "paired receptors": total(samples, "paired"),
        "γδ cells": total(samples, "gamma_delta"),
        "cells of samples": total(unlabelled, "cells"),
        "labelled receptors": total(samples[len(unlabelled) :], "receptors"),
        "rows of references": total(references, "rows"),
        "references": total(references, "receptors"),
        "calibrated receptors": calibrated,
        "classes of chains": groups,
        "pairs of samples": _pairs([table.receptors for table in unlabelled]),
        "points of the map": min(total(samples, "receptors"), costs.MOST_POINTS),
        "rows of the spreadsheet": min(total(samples, "cells"), costs.MOST_CLONES),
    }


def _pairs(sizes: list[float]) -> float:
    """Return the pairs of samples that are tested, as many as take the time of pairs of `DRAWN` receptors."""
    pairs = list(combinations([min(size, costs.DRAWN) for size in sizes], 2))
    if len(pairs) > costs.MOST_TESTED:
        return 0
    return sum(((one + other) / (2 * costs.DRAWN)) ** 2 for one, other in pairs)


def _line(process: str, tasks: int, size: float | None, work: Work, request: dict) -> dict:
    """Return the row of `PLAN`; ``size``: bytes written."""
    cost = costs.COSTS.get(process)
    seconds = cost.seconds(tasks, work) if cost else None
    unit = next(iter(cost.rates), None) if cost else None
    return {
        "process": process,
        "tasks": tasks,
        "work": None if unit is None else round(work[unit]),
        "unit": unit,
        "cpus": request["cpus"],
        "memory_gb": round(request["memory"] / 2**30, 2),
        "seconds_each": seconds and round(seconds / tasks, 1),
        "hours_in_all": seconds and round(seconds / 3600, 4),
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
