"""Cross-validation over studies: each labelled receptor is scored with references of other studies."""

import numpy as np
import pandas as pd
from scipy import sparse

from airrvec.annotation.candidates import Candidates, binds_epitope, no_candidates, stacked
from airrvec.annotation.reference_set import ReferenceSet
from airrvec.annotation.search import MIN_REFERENCES, search_candidates
from airrvec.benchmark.rules import KERNEL
from airrvec.core.seeds import generator

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


def cross_validate(
    reference: ReferenceSet,
    vectors: np.ndarray,
    background: np.ndarray,
    *,
    min_references: int = MIN_REFERENCES,
    seed: int = 420,
    kernel: float = KERNEL,
    threads: int = 1,
) -> tuple[pd.DataFrame, Candidates]:
    """
    Score each labelled receptor against references from other studies.

    Studies are divided into `assign_folds`. A receptor of the held-out fold is compared with the receptors
    that no study of this fold reports. Receptors of several folds are excluded as queries, because their
    other studies would be references.

    Returns
    -------
    queries : DataFrame
        One row per query: ``row`` in the reference, ``fold``, ``epitope`` (row of `ReferenceSet.epitopes`, -1
        if there is none), ``score``, ``right`` (the receptor binds this epitope), ``findable`` (at least one
        of its epitopes has ``min_references`` references in the other folds).
    candidates : Candidates
        Scores of all candidates of each query.
    """
    folds, _ = assign_folds(reference, seed=seed)
    in_one_fold = folds.sum(axis=1) == 1
    parts, found = [_NO_QUERIES], [no_candidates(len(reference.epitopes))]
    for fold in range(N_FOLDS):
        held_out, others = np.flatnonzero(folds[:, fold] & in_one_fold), np.flatnonzero(~folds[:, fold])
        if not len(held_out) or not len(others):
            continue
        references = reference.take(others)
        candidates = search_candidates(
            vectors[held_out],
            references,
            vectors[others],
            background,
            min_references=min_references,
            kernel=kernel,
            threads=threads,
        )
        usable = np.flatnonzero(np.isfinite(candidates.floor))
        held_out, candidates = held_out[usable], candidates.take(usable)
        epitope, score = candidates.best()
        binds = reference.labels[held_out]
        possible = (references.epitopes["n_references"] >= min_references).to_numpy(np.float32)
        columns = {
            "row": held_out,
            "fold": fold,
            "epitope": epitope,
            "score": score,
            "right": binds_epitope(binds, epitope),
            "findable": binds @ possible > 0,
        }
        parts.append(pd.DataFrame(columns))
        found.append(candidates)
    return pd.concat(parts, ignore_index=True).astype(_NO_QUERIES.dtypes), stacked(found)


_NO_QUERIES = pd.DataFrame(
    {
        "row": np.empty(0, np.int64),
        "fold": np.empty(0, np.int64),
        "epitope": np.empty(0, np.int64),
        "score": np.empty(0),
        "right": np.empty(0, bool),
        "findable": np.empty(0, bool),
    }
)
