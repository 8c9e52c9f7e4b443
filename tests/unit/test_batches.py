"""Batches of training: every receptor once, labels in balance, copies of a receptor."""

from itertools import combinations, pairwise

from airrvec.model.tokens import tokenise
from airrvec.synthetic import synthesis
from airrvec.training.losses import LOSSES, autocontrastive_loss
from airrvec.training.trainer import Receptors

import numpy as np
import pyarrow as pa
import pytest
import torch
import torch.nn.functional as F
from short_training import alike


@pytest.fixture(scope="module")
def receptors() -> pa.Table:
    return synthesis.synthesise(200, seed=1)


@pytest.fixture(scope="module")
def tokens(receptors):
    return tokenise(receptors)


def test_every_receptor_comes_once_before_any_comes_again(tokens):
    data = Receptors(tokens)
    rows = np.concatenate([data.rows(step, 64, seed=3) for step in range(25)])  # 8 × 200
    assert all(sorted(rows[start : start + 200]) == list(range(200)) for start in range(0, 1600, 200))
    assert rows[:200].tolist() != rows[200:400].tolist()
    assert np.array_equal(data.rows(7, 64, seed=3), rows[7 * 64 : 8 * 64])
    assert not np.array_equal(data.rows(0, 64, seed=4), rows[:64])


def test_batches_are_balanced_over_labels(tokens):
    labels = np.array([0] * 150 + [1] * 40 + [5] * 10)
    data = Receptors(tokens, labels)
    for step in range(5):
        assert np.bincount(labels[data.rows(step, 32, seed=0)]).tolist() == [10, 10, 0, 0, 0, 10]
    own = np.concatenate([data.rows(step, 32, seed=0)[20:] for step in range(3)])
    assert sorted(own[:10]) == list(range(190, 200)) == sorted(own[10:20])


def test_receptors_with_equal_tokens_have_one_number(tokens, receptors):
    assert alike(11, 4).contents.tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2]
    assert tokens.contents.tolist() == list(range(200))
    of_v = tokenise(receptors, ("cdr1b",))
    parts = [of_v.values[i:j].tobytes() for i, j in pairwise(of_v.offsets)]
    contents = of_v.contents
    for i, j in combinations(range(200), 2):
        assert (contents[i] == contents[j]) == (parts[i] == parts[j])


def test_a_batch_for_validation_holds_no_row_twice(tokens):
    labels = np.array([0] * 150 + [1] * 40 + [5] * 10)
    for data, sizes in ((Receptors(tokens), [64]), (Receptors(tokens, labels), [21, 21, 0, 0, 0, 10])):
        batches = [data.rows(step, 64, seed=0, distinct=True) for step in range(8)]
        for rows in batches:
            assert len(np.unique(rows)) == len(rows)
            counts = np.bincount(labels[rows]).tolist() if data.labels is not None else [len(rows)]
            assert counts == sizes
    # Of one label, every receptor comes in the first batches.
    assert (
        len(
            np.unique(
                np.concatenate([Receptors(tokens).rows(step, 64, 0, distinct=True) for step in range(3)])
            )
        )
        == 192
    )
    assert len(Receptors(alike(10, 4)).rows(0, 64, seed=0)) == 10


def test_a_receptor_of_two_labels_is_known_by_both():
    data = Receptors(alike(6, 3), np.array([0, 0, 1, 2, 0, 1]))
    assert data.known_labels.tolist() == [[True, False, True], [True, False, False], [False, True, False]] * 2


@pytest.mark.parametrize(
    ("n_receptors", "labels", "comparable"),
    [
        (1, [0, 1, 0, 1], {"auto": False, "supervised": False, "neighbour": False, None: True}),
        (4, [0, 0, 0, 0], {"auto": True, "supervised": True, "neighbour": False, None: True}),
        (4, [0, 1, 2, 3], {"auto": True, "supervised": True, "neighbour": False, None: True}),
        (3, [0, 1, 2, 0], {"auto": True, "supervised": True, "neighbour": False, None: True}),
        (4, [0, 0, 1, 2], {"auto": True, "supervised": True, "neighbour": True, None: True}),
    ],
)
def test_a_loss_that_no_model_changes_is_found(n_receptors, labels, comparable):
    data = Receptors(alike(4, n_receptors), np.array(labels))
    assert {kind: data.comparable(np.arange(4), LOSSES.get(kind)) for kind in comparable} == comparable
    views = [
        F.normalize(torch.randn(4, 2, 8, generator=torch.Generator().manual_seed(s)), dim=-1) for s in (0, 1)
    ]
    copies, of_rows = torch.from_numpy(data.contents.copy()), torch.tensor(labels)
    known = torch.from_numpy(data.known_labels)
    losses = {
        "auto": [autocontrastive_loss(v, receptors=copies).item() for v in views],
        **{
            kind: [loss.function(v, of_rows, receptors=copies, known_labels=known).item() for v in views]
            for kind, loss in LOSSES.items()
            if loss.needs_labels
        },
    }
    assert {kind: len(set(found)) > 1 for kind, found in losses.items()} == {
        kind: found for kind, found in comparable.items() if kind
    }
