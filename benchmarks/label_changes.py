"""Labels for the benchmarks of labels: set wrong, weighted, in groups of epitopes."""

from dataclasses import replace

from airrvec.annotation.merged_reference import epitope_groups
from airrvec.annotation.reference_set import NO_STUDY, ReferenceSet
from airrvec.core.antigens import study_ids

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy import sparse

KINDS = ("random", "study", "renamed")


def wrong_labels(
    labels: sparse.csr_array, studies: sparse.csr_array, share: float, kind: str, rng: np.random.Generator
) -> tuple[sparse.csr_array, np.ndarray]:
    """
    Return labels of receptors with a share set wrong, and the receptors whose labels are wrong.

    Parameters
    ----------
    labels, studies : csr_array, shape (n_receptors, n_epitopes) and (n_receptors, n_studies)
    share : float
        Share of the receptors whose labels change, from 0 to 1.
    kind : {"random", "study", "renamed"}
        ``random``: receptors are chosen at random, and their labels permuted. ``study``: all receptors of
        studies chosen at random, one after the other, until the share is reached; their labels are permuted.
        ``renamed``: the same receptors, but each of their epitopes becomes another one of theirs, the same
        for all receptors. Such errors agree with each other.

    Returns
    -------
    labels : csr_array, shape (n_receptors, n_epitopes)
    wrong : ndarray of bool, shape (n_receptors,)
        Receptors that share no epitope with their true labels.
    """
    n = labels.shape[0]
    if kind == "random":
        rows = np.sort(rng.permutation(n)[: round(share * n)])
    else:
        rows = receptors_of_studies(studies, round(share * n), rng)
    if kind == "renamed":
        changed = _renamed(labels, rows, rng)
    else:
        place = np.arange(n)
        place[rows] = rows[derangement(labels[rows], rng)]
        changed = labels[place]
    return changed, ~_share_an_epitope(labels, changed)


def wrong_cells(
    cells: pa.Table, share: float, kind: str, rng: np.random.Generator
) -> tuple[pa.Table, np.ndarray]:
    """
    Return labelled cells of which a share of the receptors has `wrong_labels`, and which receptors these are.

    Each receptor keeps its studies, which report all its labels. Other fields of the labels are null.
    """
    frame = cells.select(["receptor_id", "epitope"]).to_pandas()
    frame["reference_id"] = study_ids(cells["reference_id"]).to_pandas().fillna(NO_STUDY).to_numpy()
    codes, words = {}, {}
    for name in frame:
        codes[name], words[name] = pd.factorize(frame[name], sort=True)
    n = len(words["receptor_id"])
    labels, studies = (
        sparse.csr_array(
            (np.ones(len(frame), np.float32), (codes["receptor_id"], codes[name])), (n, len(words[name]))
        )
        for name in ("epitope", "reference_id")
    )
    changed, wrong = wrong_labels(labels, studies, share, kind, rng)
    labelled, reported = (
        pd.DataFrame(dict(zip(("receptor_id", name), matrix.tocoo().coords, strict=True)))
        for name, matrix in (("epitope", changed), ("reference_id", studies))
    )
    joined = labelled.merge(reported, on="receptor_id").drop_duplicates()
    columns = {name: pa.array(words[name][joined[name]], pa.string()) for name in joined}
    found = [
        columns.get(field.name, pa.nulls(len(joined), field.type)).cast(field.type) for field in cells.schema
    ]
    return pa.table(found, cells.schema), wrong


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
    """Return the group of each epitope, from `airrvec.annotation.merged_reference.epitope_groups`."""
    species = epitopes["antigen_species"].astype(object)
    return epitope_groups(epitopes["epitope"].tolist(), species.where(species.notna(), None).tolist())


def group_labels(labels: sparse.csr_array, group: np.ndarray) -> sparse.csr_array:
    """Return the labels with all epitopes of a group for a receptor that has one of them."""
    members = sparse.csr_array(group[:, None] == np.arange(group.max(initial=-1) + 1), dtype=np.float32)
    expanded = sparse.csr_array((labels @ members) @ members.T)
    expanded.data = np.ones_like(expanded.data)
    return expanded
