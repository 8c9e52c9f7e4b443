"""
Few-shot scores of one encoder in every split, by every rule, on every test set.

Distances from each epitope's receptors are computed once and reused by all splits. If they do not fit into
memory, they are recomputed for a few splits at a time. The full distance matrix is never built.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

from airrvec.core import schema
from airrvec.core.chains import on_chains
from airrvec.core.terminal import counted
from airrvec.encoders import NotMeasurable, distance_rows, has_vectors, vector_distance_rows
from airrvec.evaluation.fewshot import LabelledReceptors, Splits
from airrvec.evaluation.rules import KERNEL, KERNEL_IN_SPREADS, RULES, contrast, soft_nearest_neighbour
from airrvec.evaluation.similarity import exclusion_filter, fixed_exclusion
from airrvec.stats.metrics import FPR_GRID, Curves, Ranking

import numpy as np
import pyarrow as pa
from scipy import sparse

BATCH_BYTES = 2**24  # memory for distances computed at once
KEPT_BYTES = 2**30  # memory for distances kept for reuse, and their exponentials
SAMPLE = 1000  # receptors, evenly spaced in the table, that show the spread of the distances
MAX_EXPONENT = 80  # exp(-80) is still a normal float32


class Distances:
    """
    Vectors of the receptors, if the encoder has them, and rows of their distance matrix.

    Parameters
    ----------
    encoder
        From `airrvec.encoders.load`.
    receptors : pyarrow.Table
        n ``receptors``.
    background : pyarrow.Table, optional
        Further ``receptors``; only their vectors are computed.

    Raises
    ------
    NotMeasurable
        If a column that the encoder needs, or a vector, is missing for some receptors.
    """

    def __init__(self, encoder, receptors: pa.Table, background: pa.Table | None):
        for column in getattr(encoder, "needs", ()):
            if receptors[column].null_count:
                n = counted(receptors[column].null_count, "receptor lacks", "receptors lack")
                raise NotMeasurable(f"it needs {column}, which {n}")
        self.n = len(receptors)
        self._own_kernel = getattr(encoder, "kernel", None)
        self.has_vectors = has_vectors(encoder)
        if self.has_vectors:
            self.vectors = _complete_vectors(encoder.embed(receptors), "receptors")
            self.background = (
                None
                if background is None
                else _complete_vectors(encoder.embed(background), "background receptors")
            )
            self.rows_to_all = vector_distance_rows(self.vectors)
        else:
            self.rows_to_all = distance_rows(encoder, receptors)
        self._kept_rows, self._kept = np.array([], np.int64), np.empty((0, self.n), np.float32)
        self._terms = None

    @cached_property
    def kernel(self) -> float:
        """
        Kernel width of the rules that have one, in the unit of the distances.

        The encoder may name it as ``kernel``; otherwise it is `KERNEL_IN_SPREADS` standard deviations of the
        distances between at most `SAMPLE` receptors.
        """
        if self._own_kernel is not None:
            return self._own_kernel
        sample = np.unique(np.linspace(0, self.n - 1, SAMPLE).astype(int))
        step = max(BATCH_BYTES // (8 * self.n), 1)
        blocks = [
            self.rows_to_all(sample[start : start + step])[:, sample] for start in range(0, len(sample), step)
        ]
        distances = np.concatenate(blocks)[np.triu_indices(len(sample), 1)].astype(float)
        spread = distances.std() if len(distances) else 0.0
        return float(KERNEL_IN_SPREADS * spread) if spread > 0 else KERNEL  # equal distances need no width

    def fit(self, rows: np.ndarray) -> bool:
        """Return whether the distances of some receptors to all, and their exponentials, may be kept."""
        return len(rows) * self.n * 8 <= KEPT_BYTES

    def keep(self, rows: np.ndarray) -> None:
        """Compute and keep the distances of some receptors to all, if they fit; ``rows`` are sorted."""
        if not self.fit(rows) or np.array_equal(rows, self._kept_rows):
            return
        self._kept_rows, self._kept = rows, np.empty((len(rows), self.n), np.float32)
        step = max(BATCH_BYTES // (8 * self.n), 1)
        for start in range(0, len(rows), step):
            block = slice(start, start + step)
            self._kept[block] = _complete_distances(self.rows_to_all(rows[block]))
        self._terms = None

    def density(self, references: np.ndarray) -> np.ndarray | None:
        """
        Return Σ exp(−d / `kernel`) over references, shape (s, k), for all receptors; shape (s, n).

        None if the distances are not kept, or so large that terms underflow in float32.
        """
        if not len(self._kept) or not np.isin(references, self._kept_rows).all():
            return None
        if self._terms is None:
            if self._kept.max() >= MAX_EXPONENT * self.kernel:
                return None
            self._terms = np.exp(self._kept / np.float32(-self.kernel))
        columns = np.searchsorted(self._kept_rows, references).ravel()
        rows = np.repeat(np.arange(len(references)), references.shape[1])
        shape = (len(references), len(self._kept_rows))
        chosen = sparse.csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=shape)
        return chosen @ self._terms

    def distances(self, references: np.ndarray) -> np.ndarray:
        """Return distances, shape (s, n, k), of all receptors to the references of s splits, shape (s, k)."""
        rows, values = self._kept_rows, self._kept
        if not np.isin(references, rows).all():
            rows = np.unique(references)
            values = _complete_distances(self.rows_to_all(rows)).astype(np.float32)
        return values[np.searchsorted(rows, references)].swapaxes(1, 2)


def _complete_vectors(vectors: np.ndarray, role: str) -> np.ndarray:
    """Return the vectors, shape (n, d); raise `NotMeasurable` if one is missing."""
    missing = np.isnan(vectors).any(axis=1).sum() if vectors.dtype.kind == "f" else 0
    if missing:
        raise NotMeasurable(f"it has no vector for {missing} of {len(vectors)} {role}")
    return vectors


def _complete_distances(distances: np.ndarray) -> np.ndarray:
    """Return the distances of some receptors to all n, shape (s, n); raise `NotMeasurable` if one is NaN."""
    missing = np.isnan(distances) if distances.dtype.kind == "f" else np.zeros((1, 1), bool)
    if not missing.any():
        return distances
    partial = missing[~missing.all(axis=1)]  # a row without any distance is no evidence about its columns
    if not len(partial):
        raise NotMeasurable(f"it has no distances for {counted(len(missing), 'receptor')} or more")
    n_without = partial.all(axis=0).sum()
    if n_without:
        raise NotMeasurable(f"it has no distances for {n_without} of {missing.shape[1]} receptors")
    raise NotMeasurable(f"it has no distance for {partial.sum()} of {partial.size} pairs of receptors")


# --- Few-shot scores of one encoder in every split, by every rule, on every test set

PAPER_RULES = ("nearest_neighbour", "average_distance")
# The paper's, and the best of one epitope's references and of all epitopes' references.
DEFAULT_RULES = (*PAPER_RULES, "mean_of_nearest", "contrast")


@dataclass(frozen=True)
class Scores:
    """`airrvec.core.schema.AUROC`, `airrvec.core.schema.ROC` and `airrvec.core.schema.NOT_EVALUATED`."""

    auroc: pa.Table
    roc: pa.Table
    not_evaluated: pa.Table

    @classmethod
    def joined(cls, parts: list["Scores"]) -> "Scores":
        """Concatenate the tables of several scores."""
        names = ("auroc", "roc", "not_evaluated")
        return cls(*(pa.concat_tables([getattr(part, name) for part in parts]) for name in names))


def score(
    encoder,
    name: str,
    labelled: LabelledReceptors,
    splits: list[Splits],
    *,
    rules: tuple[str, ...] = DEFAULT_RULES,
    chains: str = "paired",
    test_sets: tuple[str, ...] = ("all",),
    background: pa.Table | None = None,
    never_tested: dict[str, np.ndarray] | None = None,
    progress: Callable[[int], None] | None = None,
    keep: Callable[[pa.Table], None] | None = None,
) -> Scores:
    """
    Return the metrics of one encoder in all splits, and ROC curves at the largest k of each epitope.

    An epitope and k are measured on a test set if a positive and a negative remain in every split. The table
    ``not_evaluated`` gives the reason for each exclusion.

    Parameters
    ----------
    encoder
        From `airrvec.encoders.load`.
    name : str
        Encoder name in the tables.
    labelled, splits
        From `airrvec.evaluation.fewshot.select_labelled` and `airrvec.evaluation.fewshot.plan_splits`.
    rules : tuple of str
        Names in `airrvec.evaluation.rules.RULES`.
    chains : {"paired", "alpha", "beta"}
        Chains that the encoder gets.
    test_sets : tuple of str
        Names in `airrvec.evaluation.similarity.TEST_SETS`.
    background : pyarrow.Table, optional
        ``receptors``, the negatives of vector rules.
    never_tested : dict of str to ndarray, optional
        Further test sets: name → rows of the receptors that it excludes.
    progress : callable, optional
        Called with the number of splits done.
    keep : callable, optional
        Called with parts of `airrvec.core.schema.SCORES`.
    """
    report = _Report({"encoder": name, "chains": chains, "excluded": labelled.excluded}, labelled, keep)
    if not splits:
        return report.scores()
    receptors = on_chains(labelled.receptors, chains)
    filters = {test_set: exclusion_filter(test_set, receptors, labelled, splits) for test_set in test_sets}
    for test_set, rows in (never_tested or {}).items():
        filters[test_set] = partial(fixed_exclusion, np.isin(np.arange(len(receptors)), rows))
    largest = {split.epitope: max(s.k for s in splits if s.epitope == split.epitope) for split in splits}
    try:
        encoded = Distances(encoder, receptors, None if background is None else on_chains(background, chains))
        if "linear_svc" in rules and not encoded.has_vectors:
            report.leave_out("the encoder gives distances, no vectors", encoder=name, rule="linear_svc")
        usable = [rule for rule in rules if RULES[rule].takes != "vectors" or encoded.has_vectors]
        binders = np.unique(np.concatenate([labelled.epitopes[epitope] for epitope in largest]))
        for epitope in largest:
            encoded.keep(binders if encoded.fit(binders) else labelled.epitopes[epitope])
            for split in (split for split in splits if split.epitope == epitope):
                with_roc = split.k == largest[epitope]
                _score_split(
                    split, _other_references(split, splits), usable, encoded, filters, with_roc, report
                )
                if progress is not None:
                    progress(len(split.references))
    except NotMeasurable as reason:
        return report.not_measurable(str(reason))
    return report.scores()


def _score_split(
    split: Splits,
    contrast: np.ndarray | None,
    rules: list[str],
    encoded: Distances,
    filters: dict[str, Callable],
    with_roc: bool,
    report: "_Report",
) -> None:
    """Score one epitope and k by all rules; ``contrast``: references of other epitopes, for ``contrast``."""
    positive = report.positive(split.epitope)
    shared: list[_Part] = []
    for rule in rules:
        takes = RULES[rule].takes
        contrasted = contrast if takes == "all" else split.references[:, :0]
        if contrasted is None:
            reason = "no other epitope is evaluated at this k, to contrast it with"
            report.leave_out(reason, rule=rule, epitope=split.epitope, k=split.k)
            continue
        # With a single reference, all rules of the distances to one epitope give the same ranking.
        same_ranking = split.k == 1 and takes == "epitope" and report.keep is None
        parts = shared if same_ranking else []
        if not parts:
            keep = None if report.keep is None else partial(report.keep_scores, rule, split, positive)
            parts = list(_measured(rule, split, contrasted, encoded, positive, filters, with_roc, keep))
            shared = parts if same_ranking else shared
        report.add(rule, split, parts)


def _other_references(split: Splits, splits: list[Splits]) -> np.ndarray | None:
    """Return the other epitopes' references at the same k, split by split; shape (n_splits, m)."""
    other_references = [
        other.references for other in splits if other.k == split.k and other.epitope != split.epitope
    ]
    if not other_references:
        return None
    numbers = np.arange(len(split.references))
    return np.hstack([references[numbers % len(references)] for references in other_references])


@dataclass(frozen=True)
class _Part:
    """Results of s splits of an epitope and k on one test set."""

    test_set: str
    values: dict[str, np.ndarray]  # metrics and counts, shape (s,) each
    rates: np.ndarray | None  # ROC curves, shape (s, 201)

    @classmethod
    def from_curves(cls, test_set: str, curves: Curves, with_roc: bool) -> "_Part":
        counts = {"n_positive": curves.n_positive, "n_negative": curves.n_negative}
        measurable = np.minimum(*counts.values()).all()
        return cls(
            test_set, {**counts, **curves.metrics()}, curves.roc() if with_roc and measurable else None
        )


def _measured(
    rule: str,
    split: Splits,
    contrast: np.ndarray,
    encoded: Distances,
    positive: np.ndarray,
    filters: dict,
    with_roc: bool,
    keep: Callable[[int, np.ndarray, np.ndarray], None] | None = None,
) -> Iterator[_Part]:
    """Yield the results of batches of splits, each on every test set."""
    k, m = split.k, contrast.shape[1]
    step = max(BATCH_BYTES // (4 * encoded.n * (k + m)), 1)
    for start in range(0, len(split.references), step):
        references, contrasted = (rows[start : start + step] for rows in (split.references, contrast))
        scores = _rule_scores(rule, references, contrasted, encoded)
        ranking = Ranking.from_scores(scores)
        all_references = np.hstack([references, contrasted])
        tested = np.ones(ranking.order.shape, bool)
        np.put_along_axis(tested, all_references, False, axis=1)
        if keep is not None:
            keep(start, scores, tested)
        for test_set, excluded in filters.items():
            yield _Part.from_curves(
                test_set, Curves(ranking, positive, tested & ~excluded(all_references)), with_roc
            )


def _rule_scores(rule: str, references: np.ndarray, contrasted: np.ndarray, encoded: Distances) -> np.ndarray:
    """Return the scores of all receptors in s splits, shape (s, n)."""
    combine, _, takes = RULES[rule]
    if takes == "vectors":
        return np.stack([combine(encoded.vectors, rows, encoded.background) for rows in references])
    options = {}
    if combine in (soft_nearest_neighbour, contrast):
        options["kernel"] = encoded.kernel
        # Equal to the rules, but computed from exponentials shared by all splits, if these are kept.
        terms = encoded.density(references)
        if terms is not None and takes == "epitope":
            return -encoded.kernel * np.log(terms)
        if terms is not None and (other_terms := encoded.density(contrasted)) is not None:
            return encoded.kernel * np.log1p(other_terms / terms)
    to_epitope = encoded.distances(references)
    if takes == "all":
        to_all = np.concatenate([to_epitope, encoded.distances(contrasted)], axis=2)
        return combine(to_epitope, to_all, **options)
    return combine(to_epitope, **options)


class _Report:
    """Collects the rows of the three tables."""

    def __init__(
        self,
        constant: dict[str, str],
        labelled: LabelledReceptors,
        keep: Callable[[pa.Table], None] | None = None,
    ):
        self.constant = constant
        self.labelled = labelled
        self.keep = keep
        self.aurocs, self.rocs, self.left_out = [], [], []

    def positive(self, epitope: str) -> np.ndarray:
        """Return whether each receptor binds the epitope, shape (n,)."""
        return np.isin(np.arange(len(self.labelled.receptors)), self.labelled.epitopes[epitope])

    def add(self, rule: str, split: Splits, parts: list[_Part]) -> None:
        """Add the results of one epitope and k, from all batches of its splits."""
        n = len(split.references)
        for test_set in dict.fromkeys(part.test_set for part in parts):
            batches = [part for part in parts if part.test_set == test_set]
            keys = {"rule": rule, "test_set": test_set, "epitope": split.epitope, "k": split.k}
            values = {
                name: np.concatenate([part.values[name] for part in batches]) for name in batches[0].values
            }
            n_empty = (np.minimum(values["n_positive"], values["n_negative"]) == 0).sum()
            if n_empty:
                reason = f"no positive or no negative is left to test in {n_empty} of {n} splits"
                self.leave_out(reason, **keys)
                continue
            self.aurocs.append(self._rows(schema.AUROC, **keys, split=np.arange(n), **values))
            if batches[0].rates is not None:
                rates = np.concatenate([part.rates for part in batches])
                curve = {"fpr": FPR_GRID, "tpr_mean": rates.mean(axis=0), "tpr_std": rates.std(axis=0)}
                self.rocs.append(self._rows(schema.ROC, **keys, **curve))

    def keep_scores(
        self,
        rule: str,
        split: Splits,
        positive: np.ndarray,
        first: int,
        scores: np.ndarray,
        tested: np.ndarray,
    ) -> None:
        """Pass on the scores of the tested receptors in some splits, shape (s, n); ``first``: their first."""
        assert self.keep is not None
        number, row = np.nonzero(tested)
        values = {
            "rule": rule,
            "epitope": split.epitope,
            "k": split.k,
            "split": first + number,
            "positive": positive[row],
            "score": scores[number, row],
        }
        columns = [name for name in schema.SCORES.names if name != "receptor_id"]
        ids = self.labelled.receptors["receptor_id"].take(pa.array(row))
        part = self._rows(pa.schema([schema.SCORES.field(name) for name in columns]), **values)
        self.keep(part.append_column("receptor_id", ids).select(schema.SCORES.names))

    def leave_out(self, reason: str, **keys) -> None:
        """Add a row of what is not evaluated; a missing key means all values of the key."""
        row = {name: value for name, value in self.constant.items() if name != "encoder"}
        if "epitope" in keys:
            row["n_receptors"] = len(self.labelled.epitopes[keys["epitope"]])
        self.left_out.append({**row, **keys, "reason": reason})

    def not_measurable(self, reason: str) -> Scores:
        """Return empty scores, because the encoder cannot measure these receptors."""
        self.aurocs, self.rocs, self.left_out = [], [], []
        self.leave_out(reason, encoder=self.constant["encoder"])
        return self.scores()

    def scores(self) -> Scores:
        """Return the tables."""
        return Scores(
            pa.concat_tables([schema.AUROC.empty_table(), *self.aurocs]),
            pa.concat_tables([schema.ROC.empty_table(), *self.rocs]),
            pa.Table.from_pylist(self.left_out, schema.NOT_EVALUATED),
        )

    def _rows(self, table_schema: pa.Schema, **values) -> pa.Table:
        """Return a table of arrays, and of constants repeated in each row."""
        values = {**self.constant, **values}
        n = max(len(value) for value in values.values() if isinstance(value, np.ndarray))
        return pa.table(
            [
                pa.array(values[field.name]).cast(field.type)
                if isinstance(values[field.name], np.ndarray)
                else pa.repeat(pa.scalar(values[field.name], field.type), n)
                for field in table_schema
            ],
            schema=table_schema,
        )
