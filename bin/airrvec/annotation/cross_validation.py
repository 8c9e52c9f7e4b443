"""Cross-validation over studies: each labelled receptor is scored with references of other studies."""

from airrvec.annotation.evidence import Evidence, both_looks
from airrvec.annotation.reference_set import ReferenceSet
from airrvec.annotation.sources import Sources
from airrvec.core.progress import step
from airrvec.core.seeds import generator

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy import sparse

N_FOLDS = 5


def assign_folds(reference: ReferenceSet, *, seed: int) -> tuple[np.ndarray, bool]:
    """
    Assign studies to folds of similar size: largest study first, each into the smallest fold.

    With fewer than two studies, receptors are assigned to folds at random.

    Returns
    -------
    folds : ndarray of bool, shape (n_receptors, N_FOLDS)
        Whether a study of the fold reports the receptor.
    by_study : bool
        False if receptors were assigned at random.
    """
    if len(reference.study_names) < 2:
        fold = generator(seed, "folds").permutation(len(reference)) % N_FOLDS
        return fold[:, None] == np.arange(N_FOLDS), False
    members = sparse.csr_array(study_folds(reference)[:, None] == np.arange(N_FOLDS), dtype=np.float32)
    return (reference.studies @ members).toarray() > 0, True


def study_folds(reference: ReferenceSet, scale: np.ndarray | float = 1.0) -> np.ndarray:
    """
    Return the fold of each study, of similar sizes: largest study first, each into the smallest fold.

    ``scale``, shape (n_studies,), multiplies the sizes, for other divisions of the same studies.
    """
    sizes = np.asarray(reference.studies.sum(axis=0)).ravel() * scale
    filled, fold_of = np.zeros(N_FOLDS), np.zeros(len(sizes), np.int64)
    for study in np.argsort(-sizes, kind="stable"):
        fold_of[study] = filled.argmin()
        filled[fold_of[study]] += sizes[study]
    return fold_of


@step("comparison of labelled receptors with those of other studies")
def evidence_by_fold(
    sources: Sources, threshold: float, *, seed: int = 420
) -> tuple[pd.DataFrame, list[Evidence]]:
    """
    Collect the evidence for each labelled receptor from references of other studies.

    Studies are divided into `assign_folds`. A receptor of the held-out fold is compared with the receptors
    that no study of this fold reports. Receptors of several folds are excluded as queries, because their
    other studies would be references.

    Parameters
    ----------
    sources : Sources
    threshold : float
        As in `airrvec.annotation.evidence.second_look`.

    Returns
    -------
    queries : DataFrame
        One row per query, in the order of the folds: ``row`` in the reference, ``fold``, ``findable`` (at
        least one of its epitopes has enough references in the other folds).
    evidence : list of Evidence
        For the queries of each fold that has any.
    """
    reference = sources.reference
    vectors = sources.vectors[sources.chains]
    folds, by_study = assign_folds(reference, seed=seed)
    in_one_fold = folds.sum(axis=1) == 1
    of_studies = study_folds(reference)
    parts, found = [_NO_QUERIES], []
    for fold in range(N_FOLDS):
        held_out, others = np.flatnonzero(folds[:, fold]), np.flatnonzero(~folds[:, fold])
        asking = np.flatnonzero(folds[:, fold] & in_one_fold & np.isfinite(vectors).all(axis=1))
        if not len(asking) or not len(others):
            continue
        names = {name for name, of in zip(reference.study_names, of_studies, strict=True) if of == fold}
        left = sources.without(held_out, names if by_study else None)
        asked = reference.receptors.take(pa.array(asking))
        found.append(both_looks(left, asked, vectors[asking], threshold))
        possible = np.zeros(len(reference.epitopes), np.float32)
        possible[left.candidates] = 1
        columns = {"row": asking, "fold": fold, "findable": reference.labels[asking] @ possible > 0}
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True).astype(_NO_QUERIES.dtypes), found


_NO_QUERIES = pd.DataFrame(
    {"row": np.empty(0, np.int64), "fold": np.empty(0, np.int64), "findable": np.empty(0, bool)}
)
