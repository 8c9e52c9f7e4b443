"""
Few-shot prediction of specificity (paper, Results, "Benchmarking PLM embeddings", and Methods).

For each epitope, ``k`` of its receptors are the references. All other receptors of the table are ranked by
their distance to the references. The AUROC compares the epitope's remaining receptors with all others. The
splits depend only on the table and the seed, so all encoders share them.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from airrvec.core import identity, schema, tables
from airrvec.core.antigens import from_study
from airrvec.core.seeds import generator
from airrvec.core.terminal import counted
from airrvec.evaluation.training_labels import TrainingLabels
from airrvec.input.calls import has_open_reading_frame

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

TRAINED_ON = "a model of this run has been trained on it"
OPEN_READING_FRAME = "a gene that is an open reading frame"


def _no_sources() -> pa.Table:
    return pa.schema(
        [(name, pa.string()) for name in ("receptor_id", "epitope", "reference_id")]
    ).empty_table()


@dataclass(frozen=True)
class LabelledReceptors:
    """
    Labelled receptors, the same for every encoder.

    Attributes
    ----------
    receptors : pyarrow.Table
        Distinct, complete receptors, sorted by ``receptor_id``.
    epitopes : dict of str to ndarray
        Epitope → sorted row numbers of its receptors; a receptor may have several epitopes.
    removed : dict
        Reason → number of excluded labelled cells.
    sources : pyarrow.Table
        Distinct ``receptor_id``, ``epitope``, ``reference_id`` and, if the cells have it, ``split``.
    excluded : str
        Text in the ``reference_id`` of excluded cells, or ``none``.
    """

    receptors: pa.Table
    epitopes: dict[str, np.ndarray]
    removed: dict[str, int]
    sources: pa.Table = field(default_factory=_no_sources)
    excluded: str = "none"


@dataclass(frozen=True)
class Splits:
    """Reference sets of one epitope and k: row numbers, shape (n_splits, k)."""

    epitope: str
    k: int
    references: np.ndarray


def select_labelled(
    cells: pa.Table,
    receptors: pa.Table,
    *,
    species: str,
    exclude_references: str | None = None,
    leave_out: TrainingLabels | None = None,
) -> LabelledReceptors:
    """
    Return the receptors of the benchmark: labelled, of one species, both chains complete, genes functional.

    A complete chain has V gene, J gene and junction, so that models of whole chains and models of loops are
    measured on the same receptors. Open reading frames are excluded, as by the paper. Receptors with equal
    junctions stay: without the one that VDJdb 2023-06 has, all splits of the paper's table would differ.

    Parameters
    ----------
    cells : pyarrow.Table
        ``cells`` with ``epitope``, ``reference_id`` and, if the user defines the split, ``split``.
    receptors : pyarrow.Table
        ``receptors``.
    species : str
        Species to measure.
    exclude_references : str, optional
        Cells whose ``reference_id`` contains this text, in either case, are excluded.
    leave_out : TrainingLabels, optional
        Training receptors of models, which are excluded.

    Notes
    -----
    An epitope named ``mean`` is renamed, because the mean over epitopes has that name.
    """
    receptors = tables.distinct_receptors(receptors)
    is_mean = pc.equal(cells["epitope"], schema.MEAN)
    epitope = pc.if_else(is_mean, f"{schema.MEAN} (epitope)", cells["epitope"])
    cells = cells.set_column(cells.schema.get_field_index("epitope"), "epitope", epitope)
    removed = {}

    def keep(table: pa.Table, mask, reason: str) -> pa.Table:
        kept = table.filter(pc.fill_null(mask, False))
        removed[reason] = len(table) - len(kept)
        return kept

    cells = keep(cells, pc.is_valid(cells["epitope"]), "without an epitope")
    if exclude_references:
        excluded = from_study(cells["reference_id"], exclude_references)
        cells = keep(cells, pc.invert(excluded), f"reference contains '{exclude_references}'")
    source = ["receptor_id", "epitope", "reference_id", *({"split"} & {*cells.column_names})]
    joined = cells.select(source).join(receptors, "receptor_id")
    joined = keep(joined, pc.equal(joined["species"], species), f"not {species}")
    complete = pc.is_valid(joined[schema.RECEPTOR_FIELDS[0]])
    for name in schema.RECEPTOR_FIELDS[1:]:
        complete = pc.and_(complete, pc.is_valid(joined[name]))
    joined = keep(joined, complete, "incomplete: V, J or junction of a chain missing")
    joined = keep(joined, pa.array(~has_open_reading_frame(joined)), OPEN_READING_FRAME)
    trained_on = leave_out.include(joined) if leave_out else np.zeros(len(joined), bool)
    if trained_on.any():
        joined = keep(joined, pa.array(~trained_on), TRAINED_ON)
    n_cells = len(joined)
    pairs = joined.group_by(["receptor_id", "epitope"]).aggregate([]).sort_by("receptor_id")
    removed["the same receptor and epitope again"] = n_cells - len(pairs)

    kept = receptors.filter(pc.is_in(receptors["receptor_id"], pairs["receptor_id"].combine_chunks()))
    row = pc.index_in(pairs["receptor_id"], kept["receptor_id"].combine_chunks()).to_numpy()
    labels = np.array(pairs["epitope"].to_pylist(), dtype=object)
    epitopes = {name: np.unique(row[labels == name]) for name in sorted(set(labels))}
    sources = joined.group_by(source).aggregate([]).sort_by([(name, "ascending") for name in source])
    return LabelledReceptors(kept, epitopes, removed, sources, exclude_references or "none")


def one_per_clonotype(labelled: LabelledReceptors) -> LabelledReceptors:
    """
    Return one receptor per clonotype, the first, with the epitopes and studies of all receptors of it.

    Whether a call has an allele depends on the study. A receptor that one study reports with alleles and
    another without must not be in training and in test.
    """
    number, first = identity.number_clonotypes(labelled.receptors)
    receptors, sources = labelled.receptors.take(first), labelled.sources
    row = pc.index_in(sources["receptor_id"], labelled.receptors["receptor_id"].combine_chunks())
    merged = receptors["receptor_id"].take(pa.array(number).take(row.combine_chunks()))
    sources = sources.set_column(0, "receptor_id", merged).group_by(sources.column_names).aggregate([])
    return replace(
        labelled,
        receptors=receptors,
        epitopes={epitope: np.unique(number[rows]) for epitope, rows in labelled.epitopes.items()},
        sources=sources.sort_by([(name, "ascending") for name in sources.column_names]),
    )


def plan_splits(
    labelled: LabelledReceptors, *, ks: list[int], n_splits: int, min_positives: int, seed: int
) -> tuple[list[Splits], pa.Table]:
    """
    Return the reference sets of every epitope and k.

    Parameters
    ----------
    labelled : LabelledReceptors
        Receptors to draw from.
    ks : list of int
        Numbers of references. For ``k`` = 1 every receptor of the epitope is the reference once.
    n_splits : int
        Number of random reference sets for each larger ``k``.
    min_positives : int
        Smallest number of the epitope's receptors that remain for testing.
    seed : int
        Seed of the random choice.

    Returns
    -------
    list of Splits
        In the order of epitopes and ``ks``.
    pyarrow.Table
        `airrvec.core.schema.NOT_EVALUATED`: epitopes with fewer than ``k + min_positives`` receptors.
    """
    planned, not_evaluated = [], []
    n_total = len(labelled.receptors)
    for epitope, rows in labelled.epitopes.items():
        for k in ks:
            if len(rows) < k + min_positives or len(rows) == n_total:
                reason = (
                    f"{counted(len(rows), 'receptor')} of {k + min_positives} needed:"
                    f" {counted(k, 'reference')} and {min_positives} to test"
                    if len(rows) < n_total
                    else "all receptors of the table bind it"
                )
                not_evaluated.append(
                    {
                        "excluded": labelled.excluded,
                        "epitope": epitope,
                        "k": k,
                        "n_receptors": len(rows),
                        "reason": reason,
                    }
                )
            elif k == 1:
                planned.append(Splits(epitope, k, rows[:, None]))
            else:
                rng = generator(seed, epitope, k)
                chosen = [rng.choice(rows, k, replace=False) for _ in range(n_splits)]
                planned.append(Splits(epitope, k, np.stack(chosen)))
    return planned, pa.Table.from_pylist(not_evaluated, schema.NOT_EVALUATED)


def splits_table(labelled: LabelledReceptors, splits: list[Splits]) -> pa.Table:
    """Return `airrvec.core.schema.SPLITS`: the references of every split."""
    ids = labelled.receptors["receptor_id"].combine_chunks()
    parts = [schema.SPLITS.empty_table()]
    for split in splits:
        n, k = split.references.shape
        columns = {
            "excluded": pa.repeat(labelled.excluded, n * k),
            "epitope": pa.repeat(split.epitope, n * k),
            "k": pa.array(np.full(n * k, split.k, np.int32)),
            "split": pa.array(np.repeat(np.arange(n, dtype=np.int32), k)),
            "receptor_id": ids.take(pa.array(split.references.ravel())),
        }
        parts.append(pa.table(columns, schema=schema.SPLITS))
    return pa.concat_tables(parts)


def receptors_table(labelled: LabelledReceptors) -> pa.Table:
    """Return `airrvec.core.schema.BENCHMARK_RECEPTORS`: the labelled receptors and their epitopes."""
    parts = [schema.BENCHMARK_RECEPTORS.empty_table()]
    for epitope, rows in labelled.epitopes.items():
        part = labelled.receptors.take(pa.array(rows)).append_column("epitope", pa.repeat(epitope, len(rows)))
        part = part.append_column("excluded", pa.repeat(labelled.excluded, len(rows)))
        parts.append(part.select(schema.BENCHMARK_RECEPTORS.names).cast(schema.BENCHMARK_RECEPTORS))
    return pa.concat_tables(parts)


def digest(labelled: LabelledReceptors, splits: list[Splits]) -> str:
    """Return a short hash of receptors and splits; results with equal digests are comparable."""
    state = hashlib.sha256("".join(labelled.receptors["receptor_id"].to_pylist()).encode())
    for split in splits:
        state.update(f"{split.epitope}|{split.k}".encode())
        state.update(np.ascontiguousarray(split.references, np.int64).tobytes())
    return state.hexdigest()[:16]


def summarise(aurocs: pa.Table) -> pa.Table:
    """
    Return mean, standard deviation and standard error over splits, and the mean over epitopes.

    The mean over epitopes (``epitope`` = ``mean``) includes only epitopes evaluated at every k, so that all
    points of the curve are comparable. Its standard error is that of a mean of independent means.

    Parameters
    ----------
    aurocs : pyarrow.Table
        `airrvec.core.schema.AUROC`.

    Returns
    -------
    pyarrow.Table
        `airrvec.core.schema.AUROC_SUMMARY`.
    """
    return with_means([per_epitope(aurocs)])


def per_epitope(aurocs: pa.Table) -> pd.DataFrame:
    """Return mean, standard deviation and standard error over splits: `summarise` without its means."""
    keys = [*schema.SETTING, "epitope", "k"]
    measured = {
        f"{name}_{part}": (name, function)
        for name in schema.METRICS
        for part, function in (("mean", "mean"), ("std", "std"), ("se", "sem"))
    }
    groups = aurocs.to_pandas().groupby(keys, sort=False)
    return groups.agg(n_splits=("split", "size"), **measured).reset_index()


def with_means(parts: list[pd.DataFrame]) -> pa.Table:
    """Return the summary of some encoders, one part of `per_epitope` each, with the means over epitopes."""
    per_epitope = pd.concat(parts, ignore_index=True)
    measured = [f"{name}_{part}" for name in schema.METRICS for part in ("mean", "std", "se")]
    complete = [
        group[group["epitope"].isin(complete_epitopes(group["epitope"], group["k"]))]
        for _, group in per_epitope.groupby([*schema.RULE_SETTING], sort=False)
    ]
    averaged = {name: (name, _error_of_mean if name.endswith("_se") else "mean") for name in measured}
    means = (
        pd.concat([per_epitope.iloc[:0], *complete])
        .groupby([*schema.SETTING, "k"], sort=False)
        .agg(n_splits=("n_splits", "min"), **averaged)
        .reset_index()
        .assign(epitope=schema.MEAN, **{f"{name}_std": np.nan for name in schema.METRICS})
    )
    rows = pd.concat([per_epitope, means]) if len(means) else per_epitope
    return pa.Table.from_pandas(rows, schema.AUROC_SUMMARY, preserve_index=False).replace_schema_metadata()


def _error_of_mean(errors: pd.Series) -> float:
    """Return the standard error of the mean of independent means; NaN if one error is unknown."""
    return float(np.sqrt(np.sum(np.square(errors.to_numpy()))) / len(errors))


def complete_epitopes(epitopes: Iterable[str], ks: Iterable[int]) -> list[str]:
    """Return the epitopes evaluated at every k; the arguments are epitope and k of each evaluation."""
    evaluated: dict[str, set] = {}
    for epitope, k in zip(epitopes, ks, strict=True):
        evaluated.setdefault(epitope, set()).add(k)
    all_ks = set().union(*evaluated.values())
    return sorted(epitope for epitope, epitope_ks in evaluated.items() if epitope_ks == all_ks)
