"""Labels of a reference set for `annotation_labels`: set wrong, weighted, in groups of epitopes."""

from dataclasses import replace

import numpy as np
import pandas as pd
from scipy import sparse

from airrvec.annotation.reference_set import ReferenceSet
from airrvec.core.epitopes import epitope_groups

KINDS = ("random", "study", "renamed")


def with_wrong_labels(
    reference: ReferenceSet, share: float, kind: str, rng: np.random.Generator
) -> tuple[ReferenceSet, np.ndarray]:
    """
    Return the reference set with a share of its labels set wrong, and the receptors whose labels are wrong.

    Parameters
    ----------
    share : float
        Share of the receptors whose labels change, from 0 to 1.
    kind : {"random", "study", "renamed"}
        ``random``: receptors are chosen at random, and their labels permuted. ``study``: all receptors of
        studies chosen at random, one after the other, until the share is reached; their labels are permuted.
        ``renamed``: the same receptors, but each of their epitopes becomes another one of theirs, the same
        for all receptors. Such errors agree with each other.

    Returns
    -------
    ReferenceSet
        With the same receptors and studies.
    wrong : ndarray of bool, shape (n_receptors,)
        Receptors that share no epitope with their true labels.
    """
    n_wrong = round(share * len(reference))
    if kind == "random":
        rows = np.sort(rng.permutation(len(reference))[:n_wrong])
    else:
        rows = receptors_of_studies(reference.studies, n_wrong, rng)
    if kind == "renamed":
        labels = _renamed(reference.labels, rows, rng)
    else:
        place = np.arange(len(reference))
        place[rows] = rows[derangement(reference.labels[rows], rng)]
        labels = reference.labels[place]
    return relabelled(reference, labels), ~_share_an_epitope(reference.labels, labels)


def receptors_of_studies(studies: sparse.csr_array, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return the rows of the receptors of studies in random order, until there are at least ``n``."""
    order, chosen = rng.permutation(studies.shape[1]), np.zeros(studies.shape[0], bool)
    by_study = studies.tocsc()
    for study in order:
        if chosen.sum() >= n:
            break
        chosen[by_study.indices[by_study.indptr[study] : by_study.indptr[study + 1]]] = True
    return np.flatnonzero(chosen)


def derangement(labels: sparse.csr_array, rng: np.random.Generator, rounds: int = 20) -> np.ndarray:
    """
    Return a random permutation of rows, after which no row shares a label with the row of its place.

    Where labels are so unequal that there is none, some rows keep a label of theirs: those that ``rounds``
    of exchanges with random rows do not separate.
    """
    binds = labels.toarray() > 0
    place = rng.permutation(len(binds))
    for _ in range(rounds):
        same = np.flatnonzero((binds & binds[place]).any(axis=1))
        if not len(same):
            break
        for row in same:
            both = np.array([row, rng.integers(len(binds))])
            exchanged = place[both[::-1]]
            if not (binds[both] & binds[exchanged]).any():
                place[both] = exchanged
    return place


def _renamed(labels: sparse.csr_array, rows: np.ndarray, rng: np.random.Generator) -> sparse.csr_array:
    """Return the labels, with the epitopes of ``rows`` moved by one place in a random circle of them."""
    columns = rng.permutation(np.unique(labels[rows].indices))
    other = np.arange(labels.shape[1])
    other[columns] = np.roll(columns, 1)
    entries = labels.tocoo()
    row, column = entries.coords
    column = np.where(np.isin(row, rows), other[column], column)
    return sparse.csr_array((entries.data, (row, column)), labels.shape)


def _share_an_epitope(labels: sparse.csr_array, others: sparse.csr_array) -> np.ndarray:
    return np.asarray(labels.multiply(others).sum(axis=1)).ravel() > 0


def relabelled(reference: ReferenceSet, labels: sparse.csr_array) -> ReferenceSet:
    """Return the reference set with other labels of its receptors."""
    return replace(reference, labels=labels).take(np.arange(len(reference)))  # `take` counts again


def shifted_distances(distances: np.ndarray, weights: np.ndarray, kernel: float) -> np.ndarray:
    """
    Return distances d − kernel · log w, so that a reference counts w · exp(−d / kernel) in a density.

    Parameters
    ----------
    distances, weights : ndarray, shape (n, k)
        Distances of neighbours, and their weights, greater than 0.
    """
    return distances - kernel * np.log(weights)


def confidence_weights(confidence: np.ndarray, weights: tuple[float, ...]) -> np.ndarray:
    """Return the weight of each receptor, ``weights`` of the scores 0 to 3; 1 where there is no score."""
    known = np.isfinite(confidence)
    return np.where(known, np.asarray(weights)[np.where(known, confidence, 0).astype(int)], 1.0)


def group_numbers(epitopes: pd.DataFrame) -> np.ndarray:
    """Return the group of each epitope, from `airrvec.core.epitopes.epitope_groups`."""
    species = epitopes["antigen_species"].astype(object)
    return epitope_groups(epitopes["epitope"].tolist(), species.where(species.notna(), None).tolist())


def group_labels(labels: sparse.csr_array, group: np.ndarray) -> sparse.csr_array:
    """Return the labels with all epitopes of a group for a receptor that has one of them."""
    members = sparse.csr_array(group[:, None] == np.arange(group.max(initial=-1) + 1), dtype=np.float32)
    expanded = sparse.csr_array((labels @ members) @ members.T)
    expanded.data = np.ones_like(expanded.data)
    return expanded
