"""Overlap between test receptors and references: similar sequences, or a common study."""

from collections import defaultdict
from collections.abc import Callable
from functools import reduce
from operator import add

from airrvec.core import identity, schema
from airrvec.evaluation.fewshot import LabelledReceptors, Splits

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist
from scipy import sparse

# Test set → identity to a reference at or above which a test receptor is excluded.
LEAST_IDENTITY = {"all": None, "below_90": 0.9, "below_80": 0.8}


def similar_pairs(
    receptors: pa.Table, references: np.ndarray, tests: np.ndarray, similarity: float
) -> sparse.csr_array:
    """
    Return the similar pairs of a reference and a test receptor (paper, Fig. "Supervised contrastive
    learning improves performance also when filtering highly similar TCRs from the test set").

    Two receptors are similar if the V genes of both chains match, alleles ignored, and the identity of their
    CDR3s, 1 − (d_α + d_β) / (l_α + l_β), is at least ``similarity``: d is the Levenshtein distance, l the
    length of the test receptor's CDR3, conserved residues included. If all receptors lack a chain, only the
    other one is compared.

    Parameters
    ----------
    receptors : pyarrow.Table
        ``receptors``.
    references, tests : ndarray of int
        Row numbers.
    similarity : float
        Smallest identity of a similar pair, 0 to 1.

    Returns
    -------
    csr_array of int32, shape (n_references, n_tests)
        1 for each similar pair.
    """
    loci = [
        locus
        for locus in schema.LOCI
        if pc.any(pc.is_valid(receptors[schema.field(locus, "junction_aa")])).as_py()
    ]
    v_calls = [receptors[schema.field(locus, "v_call")].to_pylist() for locus in loci]
    genes = [tuple(call.split("*")[0] for call in calls) for calls in zip(*v_calls, strict=True)]
    junctions = [
        np.array(receptors[schema.field(locus, "junction_aa")].to_pylist(), object) for locus in loci
    ]
    test_groups = defaultdict(list)
    for column, row in enumerate(tests):
        test_groups[genes[row]].append(column)
    reference_groups = defaultdict(list)
    for number, row in enumerate(references):
        if genes[row] in test_groups:
            reference_groups[genes[row]].append(number)
    pairs = [np.empty((2, 0), np.int64)]
    for v_genes, numbers in reference_groups.items():
        columns = np.array(test_groups[v_genes])
        rows = references[numbers], tests[columns]
        edits = reduce(
            add,
            (
                cdist(chain[rows[0]], chain[rows[1]], scorer=Levenshtein.distance, dtype=np.int32)
                for chain in junctions
            ),
        )
        lengths = reduce(
            add, (np.array([len(junction) for junction in chain[rows[1]]]) for chain in junctions)
        )
        first, second = np.nonzero(1 - edits / lengths >= similarity)
        pairs.append(np.stack([np.array(numbers)[first], columns[second]]))
    first, second = np.concatenate(pairs, axis=1)
    ones = np.ones(len(first), np.int32)
    return sparse.csr_array((ones, (first, second)), shape=(len(references), len(tests)))


def clonotype_matrix(receptors: pa.Table) -> sparse.csr_array:
    """Return the clonotype of each receptor as csr_array of int32, shape (n_receptors, n_clonotypes)."""
    number = pc.dictionary_encode(identity.clonotype_ids(receptors)).indices.to_numpy()
    return sparse.csr_array((np.ones(len(number), np.int32), (np.arange(len(number)), number)))


def study_matrix(receptors: pa.Table, sources: pa.Table) -> sparse.csr_array:
    """
    Return which studies report the clonotypes of which receptors, for any epitope.

    Parameters
    ----------
    receptors : pyarrow.Table
        ``receptors``.
    sources : pyarrow.Table
        `airrvec.evaluation.fewshot.LabelledReceptors.sources`.

    Returns
    -------
    csr_array of int32, shape (n_receptors, n_studies)
        Number of receptors of the same clonotype that the study reports; an empty row for a clonotype without
        a ``reference_id``.
    """
    reported = sources.filter(pc.is_valid(sources["reference_id"]))
    reported = reported.group_by(["receptor_id", "reference_id"]).aggregate([])
    rows = pc.index_in(reported["receptor_id"], receptors["receptor_id"].combine_chunks()).to_numpy()
    columns = reported["reference_id"].combine_chunks().dictionary_encode()
    shape = (len(receptors), len(columns.dictionary))
    ones = np.ones(len(rows), np.int32)
    clonotypes = clonotype_matrix(receptors)
    return clonotypes @ (clonotypes.T @ sparse.csr_array((ones, (rows, columns.indices.to_numpy())), shape))


# --- Test sets of the benchmark: the receptors that some references exclude from testing

OTHER_CLONOTYPES = "other_clonotypes"
OTHER_STUDIES = "other_studies"
TEST_SETS = (*LEAST_IDENTITY, OTHER_CLONOTYPES, OTHER_STUDIES)


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

    if test_set == OTHER_CLONOTYPES:
        clonotypes = clonotype_matrix(receptors)
        return lambda references: (chosen(references) @ clonotypes @ clonotypes.T).toarray() > 0
    if test_set == OTHER_STUDIES:
        studies = study_matrix(labelled.receptors, labelled.sources)
        unknown = np.diff(studies.indptr) == 0
        return lambda references: ((chosen(references) @ studies @ studies.T).toarray() > 0) | unknown
    similarity = LEAST_IDENTITY[test_set]
    if similarity is None:
        return lambda references: np.zeros((len(references), n), bool)
    rows = np.unique(np.concatenate([split.references.ravel() for split in splits]))
    similar = similar_pairs(receptors, rows, np.arange(n), similarity)
    columns = sparse.csr_array((np.ones(len(rows), np.int32), (rows, np.arange(len(rows)))), (n, len(rows)))
    return lambda references: (chosen(references) @ columns @ similar).toarray() > 0
