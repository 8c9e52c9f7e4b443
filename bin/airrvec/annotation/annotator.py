"""Annotator of one chain class: sources, scorer and calibration."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from airrvec.annotation import evidence
from airrvec.annotation.calibration import Calibration, CalibrationScores
from airrvec.annotation.reference_set import DESCRIPTION, NO_STUDY, ReferenceSet, join_words
from airrvec.annotation.restriction import epitope_molecules
from airrvec.annotation.scorer import Scorer
from airrvec.annotation.search import N_REPORTED
from airrvec.annotation.sources import Sources
from airrvec.core import hla, names, schema
from airrvec.core.chains import CHAIN_LOCI

# Words of the column ``call``.
CALLED = "called"
NO_CALL = "no call"
NO_VECTOR = "no vector"
NOT_CALIBRATED = "not calibrated"
INNATE_LIKE = "innate-like"

# Column of `airrvec.core.schema.EVIDENCE` → kinds of evidence whose weights it sums.
_COLUMNS_OF = {
    "evidence_sceptr": ("sceptr",),
    "evidence_tcrdist": ("tcrdist",),
    "evidence_alpha": ("alpha",),
    "evidence_beta": ("beta",),
    "evidence_genes": ("alpha_genes", "beta_genes"),
}


class _Found(NamedTuple):
    """
    Best epitope, evidence and nearest references of n receptors.

    `epitope` is a row of `ReferenceSet.epitopes` or -1, `score` NaN without a vector; `allowed_…` are those
    of allowed epitopes. `weights`, shape (n, n_names): what each kind of evidence adds to the score of the
    allowed epitope; NaN for receptors that were not looked at again. `distances`, `rows`: (n, N_REPORTED).
    """

    epitope: np.ndarray
    score: np.ndarray
    allowed_epitope: np.ndarray
    allowed_score: np.ndarray
    weights: np.ndarray
    distances: np.ndarray
    rows: np.ndarray


@dataclass(frozen=True)
class Annotator:
    """
    Everything that is needed to annotate receptors of one chain class.

    Attributes
    ----------
    sources : Sources
        The ``receptors`` of its reference hold only ids, species, the fields of both chains, and
        `airrvec.annotation.reference_set.DESCRIPTION`.
    scorer : Scorer
    scores : CalibrationScores
        What `calibration` is fitted to.
    """

    sources: Sources
    scorer: Scorer
    scores: CalibrationScores

    @property
    def chains(self) -> str:
        """The chain class: paired, alpha or beta."""
        return self.sources.chains

    @property
    def reference(self) -> ReferenceSet:
        """References of the chain class."""
        return self.sources.reference

    @property
    def min_references(self) -> int:
        """An epitope with fewer references is not called."""
        return self.sources.min_references

    @cached_property
    def calibration(self) -> Calibration:
        """The calibration for a donor who may present any epitope."""
        return self.scores.calibration()

    @cached_property
    def molecules(self) -> dict[str, list[hla.Alleles]]:
        """The MHC molecules that present each epitope, by its references."""
        return epitope_molecules(self.reference.alleles)

    def annotate(
        self, receptors: pa.Table, vectors: np.ndarray, *, fdr: float, allowed: np.ndarray | None = None
    ) -> tuple[pd.DataFrame, float]:
        """
        Return epitope calls for the receptors of a sample that have these chains.

        Parameters
        ----------
        receptors : pyarrow.Table
            ``receptors``, each once, shape (n,).
        vectors : ndarray of float32, shape (n, d)
            Their vectors; NaN for a receptor without a vector.
        fdr : float
            Highest accepted false discovery rate of the calls.
        allowed : ndarray of bool, shape (n_epitopes,), optional
            Epitopes that may be called, in the order of `ReferenceSet.epitopes`.

        Returns
        -------
        DataFrame of n rows
            `airrvec.core.schema.ANNOTATION_CALLS`, except ``exact_epitope``.
        float
            Estimated prevalence: the share of receptors that are like the reference receptors.
        """
        found = self._search(receptors, vectors, allowed)
        known = np.isfinite(found.score)
        calibration = self.calibration if allowed is None else self.scores.calibration(allowed)
        rates, probabilities, prevalence = _rates(calibration, found.allowed_score)
        possible = known & (found.allowed_epitope >= 0)
        called = possible & (rates <= fdr)
        best = self.reference.epitopes.iloc[np.maximum(found.allowed_epitope, 0)].reset_index(drop=True)
        calls = pd.DataFrame(
            {
                "call": np.select([called, known], [CALLED, NO_CALL], NO_VECTOR),
                **{name: best[name].where(called, None) for name in schema.ANTIGEN},
                "excluded_epitope": self._excluded(found, allowed, fdr),
                "best_epitope": best["epitope"].where(possible, None),
                "score": found.allowed_score,
                "probability": probabilities,
                "fdr": rates,
                **self._evidence(found),
            }
        )
        return pd.concat([calls, self._nearest(found)], axis=1), prevalence

    def _search(self, receptors: pa.Table, vectors: np.ndarray, allowed: np.ndarray | None) -> _Found:
        parts, start = [], 0
        for first, distances, rows in evidence.first_looks(self.sources, vectors):
            chunk = receptors.slice(start, len(first))
            start += len(first)
            again = evidence.second_look(self.sources, chunk, first, self.scorer.threshold)
            candidates = self.scorer.candidates(again)
            best = candidates.best()
            of_allowed = best if allowed is None else candidates.best(allowed)
            weights = np.full((len(first), again.measures.shape[1]), np.nan)
            used = np.flatnonzero(of_allowed[0][again.receptor] == again.epitope)
            weights[again.receptor[used]] = self.scorer.weights_of_evidence(again.measures[used])
            parts.append((*best, *of_allowed, weights, distances[:, :N_REPORTED], rows[:, :N_REPORTED]))
        return _Found(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def _evidence(self, found: _Found) -> dict[str, np.ndarray]:
        """Return the columns `schema.EVIDENCE`; NaN where a class has no such evidence."""
        kinds = evidence.NAMES[self.chains]
        columns = {}
        for column, parts in _COLUMNS_OF.items():
            present = [kinds.index(part) for part in parts if part in kinds]
            nothing = np.full(len(found.score), np.nan)
            columns[column] = found.weights[:, present].sum(axis=1) if present else nothing
        return columns

    def _excluded(self, found: _Found, allowed: np.ndarray | None, fdr: float) -> np.ndarray:
        """Return the epitopes that would be called if all were allowed, and are not; else None."""
        epitopes = self.reference.epitopes["epitope"].to_numpy(object)
        if allowed is None:
            return np.full(len(found.epitope), None)
        rates, _, _ = _rates(self.calibration, found.score)
        excluded = (rates <= fdr) & (found.epitope >= 0) & ~allowed[found.epitope]
        return np.where(excluded, epitopes[found.epitope], None)

    def exact(self, clonotype_ids: pa.ChunkedArray) -> np.ndarray:
        """Return the reference epitopes of each clonotype, joined by ``;``; None if it is not a reference."""
        known = pa.array(self.reference.receptors["clonotype_id"].to_pylist(), pa.string())
        rows = pc.fill_null(pc.index_in(clonotype_ids, known), len(known)).to_numpy()
        words = join_words(self.reference.labels, self.reference.epitopes["epitope"].tolist())
        return np.append(words, None)[rows]

    def _nearest(self, found: _Found) -> pd.DataFrame:
        """Return names, labels, studies, distances and ids of the nearest references."""
        reference = self.reference
        columns = {
            "receptor": names.receptor_names(reference.receptors, loci=CHAIN_LOCI[self.chains]),
            "id": reference.receptors["receptor_id"],
            **{name: reference.receptors[name] for name in DESCRIPTION},
        }
        named = [number for number, name in enumerate(reference.study_names) if name != NO_STUDY]
        studies = join_words(reference.studies[:, named], [reference.study_names[number] for number in named])
        words = {
            **{name: values.to_numpy(zero_copy_only=False) for name, values in columns.items()},
            "epitope": join_words(reference.labels, reference.epitopes["epitope"].tolist()),
            "study": np.where(studies == "", None, studies),
        }
        columns = {}
        for place in range(N_REPORTED):
            rows, exists = found.rows[:, place], found.rows[:, place] >= 0
            columns[f"nearest_{place + 1}_distance"] = np.where(exists, found.distances[:, place], np.nan)
            for name, values in words.items():
                columns[f"nearest_{place + 1}_{name}"] = np.where(exists, values[rows], None)
        return pd.DataFrame(columns)


def _rates(calibration: Calibration, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return false discovery rates and probabilities, NaN where the score is, and the prevalence."""
    known = np.isfinite(scores)
    rates, probabilities = np.full(len(scores), np.nan), np.full(len(scores), np.nan)
    prevalence = calibration.prevalence(scores[known])
    rates[known] = calibration.fdr(scores[known], prevalence)
    probabilities[known] = calibration.probability(scores[known], prevalence)
    return rates, probabilities, prevalence


def without_calls(n: int, call: str) -> pd.DataFrame:
    """Return annotation rows of ``n`` receptors that could not be compared with references."""
    fields = [schema.ANNOTATION.field(name) for name in schema.ANNOTATION_CALLS]
    empty = pa.table({field.name: pa.nulls(n, field.type) for field in fields}).to_pandas()
    return empty.assign(call=call)
