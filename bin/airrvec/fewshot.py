"""
Few-shot prediction of specificity (paper, Results, "Benchmarking PLM embeddings", and Methods).

For each epitope, ``k`` of its receptors are the references. All other receptors of the table are
ranked by their distance to them, and the AUROC of the epitope's remaining receptors against all
others is measured. The splits depend on the table and the seed alone, so that all encoders share them.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airrvec import rules, schema, tables
from airrvec.encoders import distance_rows

# The paper's.
RULES = ("nearest_neighbour", "average_distance")
FPR_GRID = np.linspace(0, 1, 201)


@dataclass(frozen=True)
class LabelledReceptors:
    """
    The receptors that every encoder is measured on.

    Attributes
    ----------
    receptors : pyarrow.Table
        Distinct, complete receptors, sorted by ``receptor_id``.
    epitopes : dict of str to ndarray
        Sorted row numbers of each epitope's receptors; a receptor may be in several.
    removed : dict
        How many labelled cells were left out, by reason.
    sources : pyarrow.Table
        Distinct ``receptor_id``, ``epitope``, ``reference_id`` and, where the cells have it, ``split``.
    """

    receptors: pa.Table
    epitopes: dict[str, np.ndarray]
    removed: dict[str, int]
    sources: pa.Table | None = None


@dataclass(frozen=True)
class Splits:
    """Reference sets of one epitope and k: row numbers, shape (n_splits, k)."""

    epitope: str
    k: int
    references: np.ndarray


def select_labelled(
    cells: pa.Table, receptors: pa.Table, *, species: str, exclude_references: str | None = None
) -> LabelledReceptors:
    """
    Receptors fit for the benchmark: labelled, of one species, both chains complete.

    Complete means V gene, J gene and junction of both chains, so that models of whole chains can be
    measured on the same receptors as models of loops.

    Parameters
    ----------
    cells : pyarrow.Table
        ``cells`` with ``epitope``, ``reference_id`` and, if the user splits them, ``split``.
    receptors : pyarrow.Table
        ``receptors``.
    species : str
        The species to measure.
    exclude_references : str, optional
        Cells whose ``reference_id`` contains this text are left out.
    """
    receptors = tables.distinct(receptors)
    removed = {}

    def keep(table: pa.Table, mask, reason: str) -> pa.Table:
        kept = table.filter(pc.fill_null(mask, False))
        removed[reason] = len(table) - len(kept)
        return kept

    cells = keep(cells, pc.is_valid(cells["epitope"]), "without an epitope")
    if exclude_references:
        excluded = pc.match_substring(
            pc.fill_null(cells["reference_id"], ""), exclude_references, ignore_case=True
        )
        cells = keep(cells, pc.invert(excluded), f"reference contains '{exclude_references}'")
    source = ["receptor_id", "epitope", "reference_id", *({"split"} & {*cells.column_names})]
    joined = cells.select(source).join(receptors, "receptor_id")
    joined = keep(joined, pc.equal(joined["species"], species), f"not {species}")
    complete = pc.is_valid(joined[schema.RECEPTOR_FIELDS[0]])
    for name in schema.RECEPTOR_FIELDS[1:]:
        complete = pc.and_(complete, pc.is_valid(joined[name]))
    joined = keep(joined, complete, "incomplete: V, J or junction of a chain missing")
    n_cells = len(joined)
    pairs = joined.group_by(["receptor_id", "epitope"]).aggregate([]).sort_by("receptor_id")
    removed["the same receptor and epitope again"] = n_cells - len(pairs)

    kept = receptors.filter(pc.is_in(receptors["receptor_id"], pairs["receptor_id"].combine_chunks()))
    row = pc.index_in(pairs["receptor_id"], kept["receptor_id"].combine_chunks()).to_numpy()
    labels = np.array(pairs["epitope"].to_pylist(), dtype=object)
    epitopes = {name: np.unique(row[labels == name]) for name in sorted(set(labels))}
    sources = joined.group_by(source).aggregate([]).sort_by([(name, "ascending") for name in source])
    return LabelledReceptors(kept, epitopes, removed, sources)


def plan_splits(
    labelled: LabelledReceptors, *, ks: list[int], n_splits: int, min_positives: int, seed: int
) -> tuple[list[Splits], pa.Table]:
    """
    The reference sets of every epitope and k.

    Parameters
    ----------
    labelled : LabelledReceptors
        The table.
    ks : list of int
        Numbers of references. For ``k`` = 1 every receptor of the epitope is the reference once.
    n_splits : int
        Random reference sets for each larger ``k``.
    min_positives : int
        Receptors of the epitope that must remain for testing.
    seed : int
        Of the random choice.

    Returns
    -------
    list of Splits
        In the order of epitopes and ``ks``.
    pyarrow.Table
        `airrvec.schema.NOT_EVALUATED`: epitopes with fewer than ``k + min_positives`` receptors.
    """
    planned, left_out = [], []
    n_total = len(labelled.receptors)
    for epitope, rows in labelled.epitopes.items():
        for k in ks:
            if len(rows) < k + min_positives or len(rows) == n_total:
                reason = (
                    f"{len(rows)} receptors of {k + min_positives} needed: {k} references and"
                    f" {min_positives} to test"
                    if len(rows) < n_total
                    else "all receptors of the table bind it"
                )
                left_out.append({"epitope": epitope, "k": k, "n_receptors": len(rows), "reason": reason})
            elif k == 1:
                planned.append(Splits(epitope, k, rows[:, None]))
            else:
                rng = generator(seed, epitope, k)
                chosen = [rng.choice(rows, k, replace=False) for _ in range(n_splits)]
                planned.append(Splits(epitope, k, np.stack(chosen)))
    return planned, pa.Table.from_pylist(left_out, schema.NOT_EVALUATED)


def generator(seed: int, *names) -> np.random.Generator:
    """Random numbers seeded by names as well, so that adding an epitope or a k changes no other's."""
    key = hashlib.sha256("|".join(map(str, (seed, *names))).encode()).digest()
    return np.random.default_rng(np.frombuffer(key, np.uint32))


def digest(labelled: LabelledReceptors, splits: list[Splits]) -> str:
    """A short hash of receptors and splits: equal digests, comparable results."""
    state = hashlib.sha256("".join(labelled.receptors["receptor_id"].to_pylist()).encode())
    for split in splits:
        state.update(f"{split.epitope}|{split.k}".encode())
        state.update(np.ascontiguousarray(split.references, np.int64).tobytes())
    return state.hexdigest()[:16]


def score(
    encoder, name: str, labelled: LabelledReceptors, splits: list[Splits], *, progress=None
) -> tuple[pa.Table, pa.Table]:
    """
    AUROC of one encoder in all splits, and ROC curves at the largest k of each epitope.

    Parameters
    ----------
    encoder
        From `airrvec.encoders.load`.
    name : str
        Goes into the tables.
    labelled, splits
        From `select_labelled` and `plan_splits`.
    progress : callable, optional
        Called with the number of splits done.

    Returns
    -------
    auroc, roc : pyarrow.Table
        `airrvec.schema.AUROC` and `airrvec.schema.ROC`.
    """
    rows_to_all = distance_rows(encoder, labelled.receptors)
    largest_k = {split.epitope: max(s.k for s in splits if s.epitope == split.epitope) for split in splits}
    aurocs, curves = [], []
    for epitope in largest_k:
        positives = labelled.epitopes[epitope]
        negatives = np.setdiff1d(np.arange(len(labelled.receptors)), positives)
        # Columns: the epitope's receptors, then all others.
        distances = rows_to_all(positives)[:, np.concatenate([positives, negatives])]
        n = len(positives)
        for split in (split for split in splits if split.epitope == epitope):
            references = np.searchsorted(positives, split.references)  # (n_splits, k)
            tests = [np.setdiff1d(np.arange(n), chosen) for chosen in references]
            for rule in RULES:
                combined = [rules.RULES[rule].score(distances[chosen].T) for chosen in references]
                of_positives = [d[test] for d, test in zip(combined, tests, strict=True)]
                of_negatives = [d[n:] for d in combined]
                values = [auroc(p, q) for p, q in zip(of_positives, of_negatives, strict=True)]
                aurocs.append(_auroc_table(name, rule, split, values, n - split.k, len(negatives)))
                if split.k == largest_k[epitope]:
                    tprs = [roc(p, q) for p, q in zip(of_positives, of_negatives, strict=True)]
                    curves.append(_roc_table(name, rule, split, np.stack(tprs)))
            if progress is not None:
                progress(len(split.references))
    return (
        pa.concat_tables([schema.AUROC.empty_table(), *aurocs]),
        pa.concat_tables([schema.ROC.empty_table(), *curves]),
    )


def auroc(of_positives: np.ndarray, of_negatives: np.ndarray) -> float:
    """
    Probability that a positive is nearer than a negative, ties counted half.

    Parameters
    ----------
    of_positives, of_negatives : ndarray, shapes (n_positives,) and (n_negatives,)
        Distances.
    """
    sorted_negatives = np.sort(of_negatives)
    nearer_or_tied = np.searchsorted(sorted_negatives, of_positives, side="right").sum()
    nearer = np.searchsorted(sorted_negatives, of_positives, side="left").sum()
    n_pairs = len(of_positives) * len(of_negatives)
    return 1.0 - (float(nearer) + float(nearer_or_tied)) / (2 * n_pairs)


def roc(of_positives: np.ndarray, of_negatives: np.ndarray) -> np.ndarray:
    """True-positive rate at `FPR_GRID`, linear between thresholds; shape (201,)."""
    thresholds = np.unique(np.concatenate([of_positives, of_negatives]))
    tpr = np.searchsorted(np.sort(of_positives), thresholds, side="right") / len(of_positives)
    fpr = np.searchsorted(np.sort(of_negatives), thresholds, side="right") / len(of_negatives)
    # Of several rates at one false-positive rate, interp takes the last, which is the highest.
    return np.interp(FPR_GRID, np.concatenate([[0], fpr]), np.concatenate([[0], tpr]))


def summarise(aurocs: pa.Table) -> pa.Table:
    """
    Mean, standard deviation and standard error over splits, and the mean over epitopes.

    The mean over epitopes (``epitope`` = ``mean``) is taken over those that were evaluated at every
    k, so that it compares like with like along the curve. Its standard error is that of a mean of
    independent means.

    Returns
    -------
    pyarrow.Table
        `airrvec.schema.AUROC_SUMMARY`.
    """
    keys = ["encoder", "rule", "epitope", "k"]
    grouped = aurocs.group_by(keys, use_threads=False).aggregate(
        [("auroc", "mean"), ("auroc", "stddev", pc.VarianceOptions(ddof=1)), ("auroc", "count")]
    )
    rows = [
        {
            **{key: row[key] for key in keys},
            "n_splits": row["auroc_count"],
            "auroc_mean": row["auroc_mean"],
            "auroc_std": row["auroc_stddev"],
            "auroc_se": None
            if row["auroc_stddev"] is None
            else row["auroc_stddev"] / row["auroc_count"] ** 0.5,
        }
        for row in grouped.to_pylist()
    ]
    complete = complete_epitopes(aurocs["epitope"].to_pylist(), aurocs["k"].to_pylist())
    groups: dict[tuple, list] = {}
    for row in rows:
        if row["epitope"] in complete:
            groups.setdefault((row["encoder"], row["rule"], row["k"]), []).append(row)
    for (encoder, rule, k), group in groups.items():
        errors = [row["auroc_se"] for row in group]
        rows.append(
            {
                "encoder": encoder,
                "rule": rule,
                "epitope": "mean",
                "k": k,
                "n_splits": min(row["n_splits"] for row in group),
                "auroc_mean": float(np.mean([row["auroc_mean"] for row in group])),
                "auroc_std": None,
                "auroc_se": None
                if None in errors
                else float(np.sqrt(np.sum(np.square(errors)))) / len(group),
            }
        )
    return pa.Table.from_pylist(rows, schema.AUROC_SUMMARY)


def complete_epitopes(epitopes: Iterable[str], ks: Iterable[int]) -> list[str]:
    """Epitopes that were evaluated at every k; of each evaluation its epitope and its k."""
    seen: dict[str, set] = {}
    for epitope, k in zip(epitopes, ks, strict=True):
        seen.setdefault(epitope, set()).add(k)
    every = set().union(*seen.values())
    return sorted(epitope for epitope, own in seen.items() if own == every)


def _auroc_table(name, rule, split: Splits, values, n_positive: int, n_negative: int) -> pa.Table:
    n = len(values)
    return pa.table(
        [
            pa.repeat(name, n),
            pa.repeat(rule, n),
            pa.repeat(split.epitope, n),
            pa.repeat(pa.scalar(split.k, pa.int32()), n),
            pa.array(np.arange(n, dtype=np.int32)),
            pa.array(values, pa.float64()),
            pa.repeat(pa.scalar(n_positive, pa.int32()), n),
            pa.repeat(pa.scalar(n_negative, pa.int32()), n),
        ],
        schema=schema.AUROC,
    )


def _roc_table(name, rule, split: Splits, tprs: np.ndarray) -> pa.Table:
    n = len(FPR_GRID)
    return pa.table(
        [
            pa.repeat(name, n),
            pa.repeat(rule, n),
            pa.repeat(split.epitope, n),
            pa.repeat(pa.scalar(split.k, pa.int32()), n),
            pa.array(FPR_GRID),
            pa.array(tprs.mean(axis=0)),
            pa.array(tprs.std(axis=0)),
        ],
        schema=schema.ROC,
    )
