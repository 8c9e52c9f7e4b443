"""Annotator of one chain class: reference set, background set and calibration, saved as one file."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from airrvec.annotation.calibration import Calibration
from airrvec.annotation.reference_set import DESCRIPTION, NO_STUDY, ReferenceSet, join_words
from airrvec.annotation.search import N_REPORTED, SearchResult, search
from airrvec.core import names, schema, tables
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
    calibration : Calibration
    min_references : int
    """

    chains: str
    reference: ReferenceSet
    vectors: np.ndarray
    background: np.ndarray
    calibration: Calibration
    min_references: int

    def save(self, path: Path) -> None:
        """Write the annotator as NumPy arrays, without pickled objects."""
        reference, calibration = self.reference, self.calibration
        arrays = {
            **{name: _plain(reference.receptors[name].to_pandas()) for name in _COLUMNS},
            **{f"epitopes_{name}": _plain(values) for name, values in reference.epitopes.items()},
            "labels": np.stack(reference.labels.nonzero()),
            "studies": np.stack(reference.studies.nonzero()),
            "study_names": np.array(reference.study_names, str),
            **{f"alleles_{name}": _plain(values) for name, values in reference.alleles.items()},
            "vectors": self.vectors,
            "background": self.background,
            "labelled_scores": calibration.labelled,
            "right": calibration.right,
            "background_scores": calibration.background,
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
            Calibration(values["labelled_scores"], values["right"], values["background_scores"]),
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
        rates, probabilities = np.full(len(vectors), np.nan), np.full(len(vectors), np.nan)
        prevalence = self.calibration.prevalence(found.score[known])
        rates[known] = self.calibration.fdr(found.score[known], prevalence)
        probabilities[known] = self.calibration.probability(found.score[known], prevalence)
        possible = known if allowed is None else known & allowed[found.epitope]
        called = possible & (rates <= fdr)
        best = self.reference.epitopes.iloc[found.epitope].reset_index(drop=True)
        calls = pd.DataFrame(
            {
                "call": np.select([called, known], [CALLED, NO_CALL], NO_VECTOR),
                **{name: best[name].where(called, None) for name in schema.ANTIGEN},
                "best_epitope": best["epitope"].where(possible, None),
                "score": found.score,
                "probability": probabilities,
                "fdr": rates,
            }
        )
        return pd.concat([calls, self._nearest(found)], axis=1), prevalence

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
