"""Wrong, weighted and grouped labels of the benchmarks of labels."""

from airrvec.annotation import evidence
from airrvec.annotation.reference_set import ReferenceSet

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

from label_changes import (
    confidence_weights,
    derangement,
    group_labels,
    group_numbers,
    receptors_of_studies,
    relabelled,
    shifted_distances,
    wrong_cells,
    wrong_labels,
)

N, N_EPITOPES, N_STUDIES = 400, 12, 9


def reference(seed=0) -> ReferenceSet:
    """Return receptors of unequal epitopes; every tenth has two epitopes, every seventh two studies."""
    rng = np.random.default_rng(seed)
    labels, studies = np.zeros((N, N_EPITOPES), np.float32), np.zeros((N, N_STUDIES), np.float32)
    rows = np.arange(N)
    labels[rows, np.minimum(rng.geometric(0.3, N) - 1, N_EPITOPES - 1)] = 1
    labels[rows[::10], rng.integers(N_EPITOPES, size=len(rows[::10]))] = 1
    studies[rows, rng.integers(N_STUDIES, size=N)] = 1
    studies[rows[::7], rng.integers(N_STUDIES, size=len(rows[::7]))] = 1
    epitopes = pd.DataFrame({"epitope": [f"E{number}" for number in range(N_EPITOPES)]})
    names = [f"s{number}" for number in range(N_STUDIES)]
    receptors = pa.table({"receptor_id": [f"r{row}" for row in rows]})
    made = ReferenceSet(receptors, epitopes, *map(sparse.csr_array, (labels, studies)), names)
    return relabelled(made, made.labels)


def with_wrong_labels(true: ReferenceSet, share: float, kind: str, rng) -> tuple[ReferenceSet, np.ndarray]:
    labels, wrong = wrong_labels(true.labels, true.studies, share, kind, rng)
    return relabelled(true, labels), wrong


def epitopes_of(labels) -> list[frozenset]:
    return [frozenset(np.flatnonzero(row).tolist()) for row in labels.toarray()]


@pytest.mark.parametrize("seed", range(5))
def test_a_derangement_leaves_no_row_an_epitope_of_its_own(seed):
    labels = reference(seed).labels
    place = derangement(labels, np.random.default_rng(seed))
    assert sorted(place) == list(range(N))
    assert all(not a & b for a, b in zip(epitopes_of(labels), epitopes_of(labels[place]), strict=True))


def test_rows_that_cannot_all_move_stay_a_permutation():
    labels = sparse.csr_array(np.array([[1, 0]] * 8 + [[0, 1]] * 2, np.float32))
    place = derangement(labels, np.random.default_rng(0))
    assert sorted(place) == list(range(10))
    same = np.argmax(labels.toarray(), axis=1) == np.argmax(labels[place].toarray(), axis=1)
    assert same.sum() == 6  # at best the two others change with two of the eight


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5])
def test_labels_wrong_at_random_are_as_many_as_asked_and_the_epitopes_as_frequent(share):
    true = reference()
    changed, wrong = with_wrong_labels(true, share, "random", np.random.default_rng(1))
    assert wrong.sum() == share * N
    before, after = epitopes_of(true.labels), epitopes_of(changed.labels)
    assert [a == b for a, b in zip(before, after, strict=True)] == (~wrong).tolist()
    assert sorted(map(sorted, before)) == sorted(map(sorted, after))
    assert changed.epitopes["n_references"].tolist() == true.epitopes["n_references"].tolist()
    assert (changed.studies != true.studies).nnz == 0


@pytest.mark.parametrize("n", [0, 1, 100, 200])
def test_studies_are_drawn_whole_until_there_are_enough_receptors(n):
    studies = reference().studies
    rows = receptors_of_studies(studies, n, np.random.default_rng(2))
    drawn, expected = np.random.default_rng(2).permutation(N_STUDIES), set()
    for study in drawn:
        if len(expected) < n:
            expected |= set(np.flatnonzero(studies.toarray()[:, study]).tolist())
    assert rows.tolist() == sorted(expected)
    assert n <= len(rows) <= max(n - 1, 0) + 80 * (n > 0)  # the largest study has fewer than 80


def test_wrong_studies_permute_their_own_labels():
    true = reference()
    changed, wrong = with_wrong_labels(true, 0.25, "study", np.random.default_rng(3))
    rows = receptors_of_studies(true.studies, N // 4, np.random.default_rng(3))
    assert np.flatnonzero(wrong).tolist() == rows.tolist()
    before, after = epitopes_of(true.labels[rows]), epitopes_of(changed.labels[rows])
    assert sorted(map(sorted, before)) == sorted(map(sorted, after))


def test_renamed_epitopes_are_wrong_in_the_same_way_for_all_receptors_of_the_studies():
    true = reference()
    changed, wrong = with_wrong_labels(true, 0.25, "renamed", np.random.default_rng(3))
    rows = receptors_of_studies(true.studies, N // 4, np.random.default_rng(3))
    others = np.setdiff1d(np.arange(N), rows)
    assert epitopes_of(changed.labels[others]) == epitopes_of(true.labels[others])
    assert not wrong[others].any()
    before, after = epitopes_of(true.labels[rows]), epitopes_of(changed.labels[rows])
    renamed = {min(a): min(b) for a, b in zip(before, after, strict=True) if len(a) == 1}
    assert len(set(renamed.values())) == len(renamed)
    assert all(old != new for old, new in renamed.items())
    known = [(a, b) for a, b in zip(before, after, strict=True) if a <= set(renamed)]
    assert len(known) > 90
    assert all({renamed[epitope] for epitope in a} == b for a, b in known)
    assert changed.epitopes["n_references"].tolist() == changed.labels.toarray().sum(axis=0).tolist()


@pytest.mark.parametrize("kind", ["random", "study", "renamed"])
def test_cells_have_the_wrong_labels_of_their_receptors(kind):
    """Pairs of receptor and study stay; labels are those of the matrices, in the order of the words."""
    true = reference()
    rows, columns = true.labels.nonzero()
    cells = [(f"r{row:03d}", f"E{column:02d}", f"s{s}") for row, column in zip(rows, columns, strict=True)
             for s in true.studies[[row]].indices]  # fmt: skip
    columns = dict(
        zip(("receptor_id", "epitope", "reference_id"), map(list, zip(*cells, strict=True)), strict=True)
    )
    table = pa.table({**columns, "mhc_a": pa.nulls(len(cells), pa.string())})
    changed, wrong = wrong_cells(table, 0.25, kind, np.random.default_rng(7))
    expected, expected_wrong = wrong_labels(true.labels, true.studies, 0.25, kind, np.random.default_rng(7))
    assert wrong.tolist() == expected_wrong.tolist()
    assert changed.schema == table.schema
    found = changed.to_pandas()
    before = set(zip(columns["receptor_id"], columns["reference_id"], strict=True))
    assert set(zip(found["receptor_id"], found["reference_id"], strict=True)) == before
    labels = found.groupby("receptor_id")["epitope"].agg(
        lambda words: frozenset(int(word[1:]) for word in words)
    )
    assert labels.tolist() == epitopes_of(expected)


def test_a_weight_counts_a_reference_as_often():
    """A reference of weight 2 gives the scores of the same reference twice."""
    labels = np.array([[1, 0], [0, 1], [1, 0]], np.float32)
    epitopes, studies = pd.DataFrame({"epitope": ["A", "B"]}), np.ones((3, 1), np.float32)
    receptors = pa.table({"receptor_id": ["a", "b", "c"]})
    once = ReferenceSet(receptors, epitopes, *map(sparse.csr_array, (labels, studies)), ["s"])
    once = relabelled(once, once.labels)
    distances, rows = np.array([[0.1, 0.2, 0.3]], np.float32), np.array([[0, 1, 2]])
    options = {"min_references": 1, "kernel": 0.05}
    shifted = shifted_distances(distances, np.array([[1.0, 2.0, 1.0]]), 0.05)
    weighted = evidence.score_neighbours(shifted, rows, np.array([[0.15]]), once, **options)
    twice = once.take(np.array([0, 1, 2, 1]))
    repeated = evidence.score_neighbours(
        np.append(distances, [[0.2]], axis=1), np.arange(4)[None], np.array([[0.15]]), twice, **options
    )
    np.testing.assert_allclose(weighted.scores.toarray(), repeated.scores.toarray(), rtol=1e-6)
    np.testing.assert_allclose(weighted.floor, repeated.floor, rtol=1e-6)


def test_a_reference_without_a_score_has_weight_1():
    weights = confidence_weights(np.array([3, 0, np.nan, 1], np.float32), (0.5, 2, 4, 8))
    assert weights.tolist() == [8, 0.5, 1, 2]


def test_a_receptor_has_all_epitopes_of_its_group():
    names = ["AAGIGILTV", "EAAGIGILTV", "ELAGIGILTV", "GILGFVFTL", "GILGFVFTM"]
    species = ["HomoSapiens", "HomoSapiens", np.nan, "InfluenzaA", "CMV"]
    group = group_numbers(pd.DataFrame({"epitope": names, "antigen_species": species}))
    assert group.tolist() == [0, 0, 0, 1, 2]  # variants of two species are none
    labels = sparse.csr_array(np.eye(5, dtype=np.float32)[[1, 3, 4]] + np.eye(5, dtype=np.float32)[[2, 3, 0]])
    expected = [[1, 1, 1, 0, 0], [0, 0, 0, 1, 0], [1, 1, 1, 0, 1]]
    assert group_labels(labels, group).toarray().tolist() == expected
