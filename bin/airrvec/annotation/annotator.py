"""Annotator of one chain class: reference set, background set and calibration, saved as one file."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from airrvec.annotation.calibration import Calibration, CalibrationScores
from airrvec.annotation.candidates import Candidates
from airrvec.annotation.reference_set import DESCRIPTION, NO_STUDY, ReferenceSet, join_words
from airrvec.annotation.restriction import epitope_molecules
from airrvec.annotation.search import N_REPORTED, SearchResult, search
from airrvec.core import hla, names, schema, tables
from airrvec.core.chains import CHAIN_LOCI

_COLUMNS = ("receptor_id", "clonotype_id", *schema.RECEPTOR_FIELDS, *DESCRIPTION)

# Words of the column ``call``.
CALLED = "called"
NO_CALL = "no call"
NO_VECTOR = "no vector"
NOT_CALIBRATED = "not calibrated"
INNATE_LIKE = "innate-like"


@dataclass(frozen=True)
class Annotator:
    """
    Everything that is needed to annotate receptors of one chain class.

    Attributes
    ----------
    chains : {"paired", "alpha", "beta"}
    reference : ReferenceSet
        Its ``receptors`` hold only ids, the fields of both chains, and
        `airrvec.annotation.reference_set.DESCRIPTION`.
    vectors : ndarray of float32, shape (n_references, d)
    background : ndarray of float32, shape (n_background, d)
        Vectors of the background set, which are part of the density.
    scores : CalibrationScores
        What `calibration` is fitted to.
    min_references : int
    """

    chains: str
    reference: ReferenceSet
    vectors: np.ndarray
    background: np.ndarray
    scores: CalibrationScores
    min_references: int

    @cached_property
    def calibration(self) -> Calibration:
        """The calibration for a donor who may present any epitope."""
        return self.scores.calibration()

    @cached_property
    def molecules(self) -> dict[str, list[hla.Alleles]]:
        """The MHC molecules that present each epitope, by its references."""
        return epitope_molecules(self.reference.alleles)

    def save(self, path: Path) -> None:
        """Write the annotator as NumPy arrays, without pickled objects."""
        reference, scores = self.reference, self.scores
        arrays = {
            **{name: _plain(reference.receptors[name].to_pandas()) for name in _COLUMNS},
            **{f"epitopes_{name}": _plain(values) for name, values in reference.epitopes.items()},
            "labels": np.stack(reference.labels.nonzero()),
            "studies": np.stack(reference.studies.nonzero()),
            "study_names": np.array(reference.study_names, str),
            **{f"alleles_{name}": _plain(values) for name, values in reference.alleles.items()},
            "vectors": self.vectors,
            "background": self.background,
            **_candidate_arrays("labelled", scores.labelled),
            **_candidate_arrays("negatives", scores.background),
            "binds": np.stack(scores.binds.nonzero()),
            "min_references": np.array(self.min_references),
        }
        with tables.atomic_path(path) as temporary, temporary.open("wb") as handle:
            np.savez(handle, **arrays)

    @classmethod
    def load(cls, path: Path) -> "Annotator":
        """Read a file written by `save`; the stem of its name ends with ``_`` and the chains."""
        with np.load(path, allow_pickle=False) as arrays:
            values = {name: arrays[name] for name in arrays.files}
        epitopes = pd.DataFrame(
            {name.removeprefix("epitopes_"): values[name] for name in values if name.startswith("epitopes_")}
        ).replace("", None)
        alleles = {name: values[name] for name in values if name.startswith("alleles_")}
        n = len(values["receptor_id"])
        reference = ReferenceSet(
            pa.table({name: _nullable(values[name]) for name in _COLUMNS}),
            epitopes,
            _matrix(values["labels"], (n, len(epitopes))),
            _matrix(values["studies"], (n, len(values["study_names"]))),
            values["study_names"].tolist(),
            pd.DataFrame({name.removeprefix("alleles_"): column for name, column in alleles.items()}),
        )
        return cls(
            Path(path).stem.split("_")[-1],
            reference,
            values["vectors"],
            values["background"],
            CalibrationScores(
                *(_candidates(values, name, len(epitopes)) for name in ("labelled", "negatives")),
                _matrix(values["binds"], (len(values["labelled_floor"]), len(epitopes))),
            ),
            int(values["min_references"]),
        )

    def annotate(
        self, vectors: np.ndarray, *, fdr: float, allowed: np.ndarray | None = None, threads: int = 1
    ) -> tuple[pd.DataFrame, float]:
        """
        Return epitope calls for the receptors of a sample that have these chains.

        Parameters
        ----------
        vectors : ndarray of float32, shape (n, d)
            Each receptor once; NaN for a receptor without a vector.
        fdr : float
            Highest accepted false discovery rate of the calls.
        allowed : ndarray of bool, shape (n_epitopes,), optional
            Epitopes that may be called, in the order of `ReferenceSet.epitopes`.
        threads : int
            Number of threads.

        Returns
        -------
        DataFrame of n rows
            `airrvec.core.schema.ANNOTATION_CALLS`, except ``exact_epitope``.
        float
            Estimated prevalence: the share of receptors that are like the reference receptors.
        """
        found = search(
            vectors,
            self.reference,
            self.vectors,
            self.background,
            min_references=self.min_references,
            allowed=allowed,
            threads=threads,
        )
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
            }
        )
        return pd.concat([calls, self._nearest(found)], axis=1), prevalence

    def _excluded(self, found: SearchResult, allowed: np.ndarray | None, fdr: float) -> np.ndarray:
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

    def _nearest(self, found: SearchResult) -> pd.DataFrame:
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


def _plain(values: pd.Series) -> np.ndarray:
    return values.fillna("").to_numpy(str) if values.dtype == object else values.to_numpy()


def _nullable(values: np.ndarray) -> pa.Array:
    """Return texts, null where `_plain` wrote an empty one."""
    return pa.array(np.where(values == "", None, values.astype(object)), pa.string())


def _matrix(indices: np.ndarray, shape: tuple[int, int]) -> sparse.csr_array:
    return sparse.csr_array((np.ones(indices.shape[1], np.float32), tuple(indices)), shape)


def _candidate_arrays(name: str, candidates: Candidates) -> dict[str, np.ndarray]:
    scores = candidates.scores
    return {
        f"{name}_scores": scores.data,
        f"{name}_epitopes": scores.indices,
        f"{name}_starts": scores.indptr,
        f"{name}_floor": candidates.floor,
    }


def _candidates(values: dict[str, np.ndarray], name: str, n_epitopes: int) -> Candidates:
    """Return what `_candidate_arrays` wrote."""
    parts = tuple(values[f"{name}_{part}"] for part in ("scores", "epitopes", "starts"))
    floor = values[f"{name}_floor"]
    return Candidates(sparse.csr_array(parts, (len(floor), n_epitopes)), floor)
