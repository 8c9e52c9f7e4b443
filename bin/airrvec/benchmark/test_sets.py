"""Test sets of the benchmark: the receptors that some references exclude from testing."""

from collections.abc import Callable

from airrvec.benchmark import similarity
from airrvec.benchmark.fewshot import LabelledReceptors, Splits

import numpy as np
import pyarrow as pa
from scipy import sparse

OTHER_CLONOTYPES = "other_clonotypes"
OTHER_STUDIES = "other_studies"
TEST_SETS = (*similarity.TEST_SETS, OTHER_CLONOTYPES, OTHER_STUDIES)


def fixed_exclusion(left_out: np.ndarray, references: np.ndarray) -> np.ndarray:
    """Return the same exclusions for every reference set, shape (s, n)."""
    return np.broadcast_to(left_out, (len(references), len(left_out)))


def exclusion_filter(
    test_set: str, receptors: pa.Table, labelled: LabelledReceptors, splits: list[Splits]
) -> Callable:
    """Return a function: references, shape (s, k) → excluded test receptors, bool of shape (s, n)."""
    n = len(receptors)

    def chosen(references: np.ndarray) -> sparse.csr_array:
        rows = np.repeat(np.arange(len(references)), references.shape[1])
        return sparse.csr_array(
            (np.ones(references.size, np.int32), (rows, references.ravel())), shape=(len(references), n)
        )

    if test_set == "all":
        return lambda references: np.zeros((len(references), n), bool)
    if test_set == OTHER_CLONOTYPES:
        clonotypes = similarity.clonotype_matrix(receptors)
        return lambda references: (chosen(references) @ clonotypes @ clonotypes.T).toarray() > 0
    if test_set == OTHER_STUDIES:
        studies = similarity.study_matrix(labelled.receptors, labelled.sources)
        unknown = np.diff(studies.indptr) == 0
        return lambda references: ((chosen(references) @ studies @ studies.T).toarray() > 0) | unknown
    rows = np.unique(np.concatenate([split.references.ravel() for split in splits]))
    similar = similarity.similar_pairs(receptors, rows, np.arange(n), similarity.TEST_SETS[test_set])
    columns = sparse.csr_array((np.ones(len(rows), np.int32), (rows, np.arange(len(rows)))), (n, len(rows)))
    return lambda references: (chosen(references) @ columns @ similar).toarray() > 0
