"""A reference and its calibration as one file for each class of chains, and what they say of a sample."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from airrvec.annotation.calibration import Calibration
from airrvec.annotation.reference_set import Reference, joined_words
from airrvec.annotation.search import N_SHOWN, Found, search
from airrvec.core import schema, tables

_IDS = ("receptor_id", "clonotype_id")

# What became of a receptor.
CALLED = "called"
NO_CALL = "no call"
NO_VECTOR = "no vector"
NOT_CALIBRATED = "not calibrated"


@dataclass(frozen=True)
class Annotator:
    """
    What is needed to annotate receptors of some chains.

    Attributes
    ----------
    chains : {"paired", "alpha", "beta"}
    reference : Reference
        Of its receptors the receptor_id and clonotype_id alone.
    vectors : ndarray of float32, shape (n_references, d)
    background : ndarray of float32, shape (n_background, d)
        Vectors of the background in the density.
    calibration : Calibration
    min_references : int
    """

    chains: str
    reference: Reference
    vectors: np.ndarray
    background: np.ndarray
    calibration: Calibration
    min_references: int

    def save(self, path: Path) -> None:
        """Write it as arrays, without pickled objects."""
        reference, calibration = self.reference, self.calibration
        arrays = {
            **{name: reference.receptors[name].to_numpy().astype(str) for name in _IDS},
            **{f"epitopes_{name}": _plain(values) for name, values in reference.epitopes.items()},
            "labels": np.stack(reference.labels.nonzero()),
            "studies": np.stack(reference.studies.nonzero()),
            "study_names": np.array(reference.study_names, str),
            "vectors": self.vectors,
            "background": self.background,
            "labelled_scores": calibration.labelled,
            "right": calibration.right,
            "background_scores": calibration.background,
            "min_references": np.array(self.min_references),
        }
        with tables.written(path) as temporary, temporary.open("wb") as handle:
            np.savez(handle, **arrays)

    @classmethod
    def load(cls, path: Path) -> "Annotator":
        """Read what `save` has written; the file's name ends with the chains."""
        with np.load(path, allow_pickle=False) as arrays:
            of = {name: arrays[name] for name in arrays.files}
        epitopes = pd.DataFrame(
            {name.removeprefix("epitopes_"): of[name] for name in of if name.startswith("epitopes_")}
        ).replace("", None)
        n = len(of["receptor_id"])
        reference = Reference(
            pa.table({name: of[name] for name in _IDS}),
            epitopes,
            _matrix(of["labels"], (n, len(epitopes))),
            _matrix(of["studies"], (n, len(of["study_names"]))),
            of["study_names"].tolist(),
        )
        return cls(
            Path(path).stem.split("_")[-1],
            reference,
            of["vectors"],
            of["background"],
            Calibration(of["labelled_scores"], of["right"], of["background_scores"]),
            int(of["min_references"]),
        )

    def annotate(self, vectors: np.ndarray, *, fdr: float, threads: int = 1) -> tuple[pd.DataFrame, float]:
        """
        Calls of the receptors of a sample that have these chains.

        Parameters
        ----------
        vectors : ndarray of float32, shape (n, d)
            Each receptor once; NaN where it has no vector.
        fdr : float
            Expected share of false ones among the calls.
        threads : int
            Of the processor.

        Returns
        -------
        DataFrame of n rows
            The columns of `airrvec.core.schema.ANNOTATION` from ``call`` on, but for ``exact_epitope``.
        float
            The estimated share of receptors that are like the reference's.
        """
        found = search(
            vectors,
            self.reference,
            self.vectors,
            self.background,
            min_references=self.min_references,
            threads=threads,
        )
        known = np.isfinite(found.score)
        rates, probabilities = np.full(len(vectors), np.nan), np.full(len(vectors), np.nan)
        prevalence = self.calibration.prevalence(found.score[known])
        rates[known] = self.calibration.fdr(found.score[known], prevalence)
        probabilities[known] = self.calibration.probability(found.score[known], prevalence)
        called = known & (rates <= fdr)
        of_epitope = self.reference.epitopes.iloc[found.epitope].reset_index(drop=True)
        calls = pd.DataFrame(
            {
                "call": np.select([called, known], [CALLED, NO_CALL], NO_VECTOR),
                **{name: of_epitope[name].where(called, None) for name in _OF_EPITOPE},
                "best_epitope": of_epitope["epitope"].where(known, None),
                "score": found.score,
                "probability": probabilities,
                "fdr": rates,
            }
        )
        return pd.concat([calls, self._nearest(found)], axis=1), prevalence

    def exact(self, clonotype_ids: pa.ChunkedArray) -> np.ndarray:
        """The epitopes of the reference of each clonotype, joined by ``;``, None where there is none."""
        known = pa.array(self.reference.receptors["clonotype_id"].to_pylist(), pa.string())
        rows = pc.fill_null(pc.index_in(clonotype_ids, known), len(known)).to_numpy()
        words = joined_words(self.reference.labels, self.reference.epitopes["epitope"].tolist())
        return np.append(words, None)[rows]

    def _nearest(self, found: Found) -> pd.DataFrame:
        """Ids, distances, epitopes and studies of the nearest references."""
        reference = self.reference
        words = {
            "id": reference.receptors["receptor_id"].to_numpy(zero_copy_only=False),
            "epitope": joined_words(reference.labels, reference.epitopes["epitope"].tolist()),
            "study": joined_words(reference.studies, reference.study_names),
        }
        columns = {}
        for place in range(N_SHOWN):
            rows, there = found.rows[:, place], found.rows[:, place] >= 0
            columns[f"nearest_{place + 1}_distance"] = np.where(there, found.distances[:, place], np.nan)
            for name, of_reference in words.items():
                columns[f"nearest_{place + 1}_{name}"] = np.where(there, of_reference[rows], None)
        return pd.DataFrame(columns)


_OF_EPITOPE = ("epitope", "antigen_species", "mhc_a")


def without_calls(n: int, call: str) -> pd.DataFrame:
    """Rows of receptors that could not be compared with anything."""
    return pd.DataFrame({"call": [call] * n}, columns=schema.ANNOTATION.names[schema.ANNOTATION_CALLS])


def _plain(values: pd.Series) -> np.ndarray:
    return values.fillna("").to_numpy(str) if values.dtype == object else values.to_numpy()


def _matrix(indices: np.ndarray, shape: tuple[int, int]) -> sparse.csr_array:
    return sparse.csr_array((np.ones(indices.shape[1], np.float32), tuple(indices)), shape)
