"""Annotator of one chain class: sources, scorer and calibration."""

from dataclasses import dataclass, fields
from functools import cached_property

from airrvec.annotation import evidence
from airrvec.annotation.evidence import CHUNK, N_REPORTED, Candidates, Sources
from airrvec.annotation.reference_set import DESCRIPTION, NO_STUDY, ReferenceSet, join_words
from airrvec.annotation.scorer import Calibration, CalibrationScores, Scorer
from airrvec.core import chains, hla, schema
from airrvec.core.chains import CHAIN_LOCI
from airrvec.core.tables import contiguous, named_rows

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

# An epitope is restricted by the alleles of this share of its references, or of this number of studies. Fewer
# are taken as mistakes.
MIN_SHARE = 0.05
MIN_STUDIES = 2


def epitope_molecules(alleles: pd.DataFrame) -> dict[str, list[hla.Alleles]]:
    """
    Return the MHC molecules that present each epitope.

    Labels are compared at two fields. Of those, the ones with at least `MIN_SHARE` of the references that
    name an MHC, or with `MIN_STUDIES` studies, are kept, or the most frequent one if there is none. A label
    at lower resolution (``A*02``) is left out where a finer one (``A*02:01``) is kept.

    Parameters
    ----------
    alleles : DataFrame
        ``epitope``, ``mhc``, ``n_references``, ``n_studies``, as made by
        `airrvec.annotation.reference_set.count_alleles`.

    Returns
    -------
    dict
        Epitope → molecules as made by `airrvec.core.hla.parse_mhc`; epitopes without a known MHC are missing.
    """
    return {
        epitope: molecules for epitope, rows in alleles.groupby("epitope") if (molecules := _molecules(rows))
    }


def _molecules(rows: pd.DataFrame) -> list[hla.Alleles]:
    molecules, n_references, n_studies = {}, {}, {}
    for row in named_rows(rows):
        for molecule in hla.parse_mhc(row.mhc):
            name = hla.molecule_text(molecule)
            molecules[name] = molecule
            n_references[name] = n_references.get(name, 0) + row.n_references
            n_studies[name] = max(n_studies.get(name, 0), row.n_studies)  # spellings may share studies
    total = sum(n_references.values())
    kept = [
        name
        for name in molecules
        if n_references[name] >= MIN_SHARE * total or n_studies[name] >= MIN_STUDIES
    ] or sorted(molecules, key=n_references.__getitem__)[-1:]
    return [
        molecules[name]
        for name in sorted(kept)
        if not any(hla.is_coarser(molecules[name], molecules[other]) for other in kept)
    ]


def allowed_epitopes(
    donor: hla.Alleles, epitopes: pd.Series, molecules: dict[str, list[hla.Alleles]]
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return which epitopes a donor can present.

    Parameters
    ----------
    donor : dict
        From `airrvec.core.hla.parse_typing`.
    epitopes : Series of str, shape (n_epitopes,)
    molecules : dict
        From `epitope_molecules`.

    Returns
    -------
    allowed : ndarray of bool, shape (n_epitopes,)
        False for an epitope that the donor's HLA excludes.
    verdicts : ndarray of str, shape (n_epitopes,)
        ``allowed``, ``excluded`` or ``unknown`` (`airrvec.core.hla.allows`).

    Examples
    --------
    >>> molecules = {"GILGFVFTL": hla.parse_mhc("HLA-A*02:01")}
    >>> epitopes = pd.Series(["GILGFVFTL", "NLVPMVATV"])
    >>> allowed, verdicts = allowed_epitopes(hla.parse_typing("A*11:01"), epitopes, molecules)
    >>> allowed.tolist(), verdicts.tolist()
    ([False, True], ['excluded', 'unknown'])
    """
    verdicts = np.array([hla.allows(donor, molecules.get(epitope, [])) for epitope in epitopes], str)
    return verdicts != hla.EXCLUDED, verdicts


# --- Hits of receptors, as arrays: 100 bytes of each receptor


@dataclass(frozen=True)
class Hits:
    """
    Best epitope, evidence and nearest references of n receptors.

    Attributes
    ----------
    epitope, allowed_epitope : ndarray of int32, shape (n,)
        Row of `ReferenceSet.epitopes`, -1 if there is none: of all, and of those that the donor can present.
    score, allowed_score : ndarray of float64, shape (n,)
        Their scores; NaN without a vector.
    weights : ndarray of float64, shape (n, n_names)
        What each kind of evidence adds to the score of the allowed epitope; NaN for receptors that were not
        rescored.
    distances, rows : ndarray of float32 and int32, shape (n, N_REPORTED)
        The nearest references; -1 where there is none.
    chosen : ndarray of float64, shape (n, n_chosen)
        Scores of the chosen epitopes (`Annotator.epitopes`); NaN for one that is no candidate.
    """

    epitope: np.ndarray
    score: np.ndarray
    allowed_epitope: np.ndarray
    allowed_score: np.ndarray
    weights: np.ndarray
    distances: np.ndarray
    rows: np.ndarray
    chosen: np.ndarray

    @classmethod
    def empty(cls, n: int, n_names: int, n_chosen: int = 0) -> "Hits":
        """Return the hits of ``n`` receptors before the search: no epitope, no reference."""
        epitopes = (np.full(n, -1, np.int32) for _ in range(2))
        scores = (np.full(n, np.nan) for _ in range(2))
        first, second = zip(epitopes, scores, strict=True)
        nearest = np.full((n, N_REPORTED), np.inf, np.float32), np.full((n, N_REPORTED), -1, np.int32)
        weights, chosen = (np.full((n, width), np.nan) for width in (n_names, n_chosen))
        return cls(*first, *second, weights, *nearest, chosen)

    def put(self, rows: np.ndarray, part: "Hits") -> None:
        """Store the hits of the receptors of these rows."""
        for field in fields(self):
            getattr(self, field.name)[rows] = getattr(part, field.name)

    def take(self, rows: np.ndarray | slice) -> "Hits":
        """Return the hits of some receptors."""
        return Hits(*(getattr(self, field.name)[rows] for field in fields(self)))


@dataclass(frozen=True)
class Rated:
    """
    Hits of the receptors of a sample with error rates, which depend on all its receptors.

    Attributes
    ----------
    hits : Hits
    is_called, excluded : ndarray of bool, shape (n,)
        Whether the allowed epitope is called; whether the best one would be, and the donor cannot present it.
    probability, fdr : ndarray of float64, shape (n,)
    """

    hits: Hits
    is_called: np.ndarray
    excluded: np.ndarray
    probability: np.ndarray
    fdr: np.ndarray

    def take(self, rows: np.ndarray | slice) -> "Rated":
        """Return the rated hits of some receptors."""
        rest = (getattr(self, field.name)[rows] for field in fields(self)[1:])
        return Rated(self.hits.take(rows), *rest)


# --- Annotator of one chain class: sources, scorer and calibration

# Words of the column ``call``, beside `airrvec.core.schema.HAS_CALL`.
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
    "evidence_classifier": ("classifier",),
}


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
    scores : CalibrationScores or None
        What `calibration` is fitted to. None if the class cannot be calibrated: nothing is called, but scores
        and nearest references are found.
    epitopes : tuple of str
        Epitopes that are scored for every receptor.
    """

    sources: Sources
    scorer: Scorer
    scores: CalibrationScores | None
    epitopes: tuple[str, ...] = ()

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
        assert self.scores is not None  # requested only where there are scores
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
        hits = Hits.empty(len(vectors), len(evidence.NAMES[self.chains]), len(self.epitopes))
        for start in range(0, len(vectors), CHUNK):
            part = receptors.slice(start, CHUNK)
            rows = np.arange(len(part))
            hits.put(rows + start, *self.search(part, vectors[rows + start], [(rows, allowed)]))
        rated, prevalence = self.rate(hits, fdr=fdr, allowed=allowed)
        return self.calls(rated), prevalence

    def search(
        self, receptors: pa.Table, vectors: np.ndarray, subsets: list[tuple[np.ndarray, np.ndarray | None]]
    ) -> list[Hits]:
        """
        Return the hits of up to `CHUNK` receptors.

        Parameters
        ----------
        receptors : pyarrow.Table
            ``receptors`` that have these chains, shape (n,).
        vectors : ndarray of float32, shape (n, d)
        subsets : list of (ndarray of int64, ndarray of bool or None)
            Rows of the receptors of a sample, ascending, and the epitopes that its donor can present: all, if
            None.

        Returns
        -------
        list of Hits
            One for each of ``subsets``, of its rows.
        """
        ((first, distances, rows),) = evidence.first_candidates_in_chunks(self.sources, vectors)
        again = evidence.rescore(self.sources, receptors, first, self.scorer.threshold)
        candidates = self.scorer.candidates(again)
        epitope, score = candidates.best()
        nearest = distances[:, :N_REPORTED], rows[:, :N_REPORTED].astype(np.int32)
        chosen = self._chosen(receptors, first)
        weights = np.full((len(first), again.measures.shape[1]), np.nan)
        results = []
        for members, allowed in subsets:
            allowed_best = epitope, score
            if allowed is not None:
                allowed_best = np.full(len(first), -1), np.full(len(first), np.nan)
                for whole, part in zip(allowed_best, candidates.take(members).best(allowed), strict=True):
                    whole[members] = part
            is_member = np.zeros(len(first), bool)
            is_member[members] = True
            used = is_member[again.receptor] & (allowed_best[0][again.receptor] == again.epitope)
            weights[members] = np.nan
            weights[again.receptor[used]] = self.scorer.weights_of_evidence(again.measures[used])
            best = epitope.astype(np.int32), score, allowed_best[0].astype(np.int32), allowed_best[1]
            results.append(Hits(*(values[members] for values in (*best, weights, *nearest, chosen))))
        return results

    def _chosen(self, receptors: pa.Table, first: Candidates) -> np.ndarray:
        """Return the scores of the chosen epitopes, shape (n, n_chosen)."""
        scores = np.full((len(first), len(self.epitopes)), np.nan)
        candidates = self.reference.epitopes["epitope"].to_numpy()[self.sources.candidates]
        column, place = np.nonzero(np.array(self.epitopes, object)[:, None] == candidates)
        known = np.flatnonzero(np.isfinite(first.floor)) if len(column) else np.empty(0, np.int64)
        for start in range(0, len(known), evidence.BLOCK):
            rows = known[start : start + evidence.BLOCK]
            measures = evidence.all_measures(self.sources, receptors.take(pa.array(rows)), first.take(rows))
            values = measures[:, place].reshape(-1, measures.shape[2])
            scores[np.ix_(rows, column)] = self.scorer.score(values).reshape(len(rows), -1)
        return scores

    def rate(self, hits: Hits, *, fdr: float, allowed: np.ndarray | None = None) -> tuple[Rated, float]:
        """
        Return error rates of all receptors of a sample, and the prevalence; parameters of `annotate`.

        Both are NaN if the class is not calibrated.
        """
        if self.scores is None:
            unknown, nothing = np.full(len(hits.score), np.nan), np.zeros(len(hits.score), bool)
            return Rated(hits, nothing, nothing, unknown, unknown), np.nan
        calibration = self.calibration if allowed is None else self.scores.calibration(allowed)
        rates, probabilities, prevalence = _rates(calibration, hits.allowed_score)
        is_called = np.isfinite(hits.score) & (hits.allowed_epitope >= 0) & (rates <= fdr)
        excluded = np.zeros(len(rates), bool)
        if allowed is not None:
            unrestricted_fdr, _, _ = _rates(self.calibration, hits.score)
            excluded = (unrestricted_fdr <= fdr) & (hits.epitope >= 0) & ~allowed[hits.epitope]
        return Rated(hits, is_called, excluded, probabilities, rates), prevalence

    def calls(self, rated: Rated) -> pd.DataFrame:
        """Return the calls of some receptors of a sample, as `annotate` does."""
        hits = rated.hits
        possible = np.isfinite(hits.score) & (hits.allowed_epitope >= 0)
        best = self.reference.epitopes.iloc[np.maximum(hits.allowed_epitope, 0)].reset_index(drop=True)
        calls = pd.DataFrame(
            {
                "call": self.call_words(rated),
                **{name: best[name].where(rated.is_called, None) for name in schema.ANTIGEN},
                "excluded_epitope": self.excluded_words(rated),
                "best_epitope": best["epitope"].where(possible, None),
                "score": hits.allowed_score,
                "probability": rated.probability,
                "fdr": rated.fdr,
                **self._evidence(hits),
            }
        )
        chosen = pd.DataFrame(hits.chosen, columns=[*map(schema.score_column, self.epitopes)])
        return pd.concat([calls, self._nearest(hits), chosen], axis=1)

    def call_words(self, rated: Rated) -> np.ndarray:
        """Return the column ``call``, shape (n,)."""
        known = np.isfinite(rated.hits.score)
        without = NO_CALL if self.scores else NOT_CALIBRATED
        return np.select([rated.is_called, known], [schema.HAS_CALL, without], NO_VECTOR)

    def excluded_words(self, rated: Rated) -> np.ndarray:
        """Return the column ``excluded_epitope``, shape (n,)."""
        epitopes = self.reference.epitopes["epitope"].to_numpy(object)
        words = epitopes[rated.hits.epitope]
        words[~rated.excluded] = None
        return words

    def _evidence(self, hits: Hits) -> dict[str, np.ndarray]:
        """Return the columns `schema.EVIDENCE`; NaN where a class has no such evidence."""
        kinds = evidence.NAMES[self.chains]
        columns = {}
        for column, parts in _COLUMNS_OF.items():
            present = [kinds.index(part) for part in parts if part in kinds]
            nothing = np.full(len(hits.score), np.nan)
            columns[column] = hits.weights[:, present].sum(axis=1) if present else nothing
        return columns

    def exact(self, clonotype_ids: pa.ChunkedArray) -> np.ndarray:
        """Return the reference epitopes of each clonotype, joined by ``;``; None if it is not a reference."""
        rows = pc.fill_null(pc.index_in(clonotype_ids, self._clonotype_ids), -1).to_numpy()
        return np.append(self._epitope_words, None)[rows]

    def is_reference(self, clonotype_ids: pa.ChunkedArray) -> np.ndarray:
        """Return whether each clonotype is a reference."""
        return pc.is_in(clonotype_ids, self._clonotype_ids).to_numpy()

    @cached_property
    def _clonotype_ids(self) -> pa.Array:
        return contiguous(self.reference.receptors["clonotype_id"])

    @cached_property
    def _epitope_words(self) -> np.ndarray:
        """Epitopes of each reference, joined by ``;``."""
        return join_words(self.reference.labels, self.reference.epitopes["epitope"].tolist())

    @cached_property
    def _reference_words(self) -> dict[str, np.ndarray]:
        """Name, id, description, epitopes and studies of each reference."""
        reference = self.reference
        columns = {
            "receptor": chains.receptor_names(reference.receptors, loci=CHAIN_LOCI[self.chains]),
            "id": reference.receptors["receptor_id"],
            **{name: reference.receptors[name] for name in DESCRIPTION},
        }
        named = [number for number, name in enumerate(reference.study_names) if name != NO_STUDY]
        studies = join_words(reference.studies[:, named], [reference.study_names[number] for number in named])
        return {
            **{name: values.to_numpy(zero_copy_only=False) for name, values in columns.items()},
            "epitope": self._epitope_words,
            "study": np.where(studies == "", None, studies),
        }

    def _nearest(self, hits: Hits) -> pd.DataFrame:
        """Return names, labels, studies, distances and ids of the nearest references."""
        columns = {}
        for place in range(N_REPORTED):
            rows, exists = hits.rows[:, place], hits.rows[:, place] >= 0
            columns[f"nearest_{place + 1}_distance"] = np.where(exists, hits.distances[:, place], np.nan)
            for name, values in self._reference_words.items():
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
