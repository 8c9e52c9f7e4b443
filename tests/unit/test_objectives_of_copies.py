"""Losses of batches that hold copies of a receptor."""

from math import dist, exp, log

from airrvec.training.losses import (
    autocontrastive_loss,
    neighbour_loss,
    supervised_contrastive_loss,
    uniformity,
)

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from plain_losses import (
    SEARCH,
    contrastive_by_loops,
    copies_of,
    labels_of,
    neighbours_by_loops,
    seeds,
    sizes,
    temperatures,
    views_of,
)

LABELLED = [(supervised_contrastive_loss, contrastive_by_loops), (neighbour_loss, neighbours_by_loops)]


@SEARCH
@given(n=sizes, temperature=temperatures, seed=seeds)
def test_a_receptor_is_not_compared_with_copies_of_itself(n, temperature, seed):
    views, (receptors, labels, known) = views_of(n, seed=seed), copies_of(n, seed)
    loss = autocontrastive_loss(views, temperature, receptors=receptors)
    expected = contrastive_by_loops(views, list(range(n)), temperature, receptors.tolist())
    assert loss.item() == pytest.approx(expected, rel=1e-10, abs=1e-10)
    sets = [set(row.nonzero().flatten().tolist()) for row in known]
    for function, by_loops in LABELLED:
        for matrix, of_rows in ((None, None), (known, sets)):
            loss = function(views, labels, temperature, receptors=receptors, known_labels=matrix)
            expected = by_loops(views, labels.tolist(), temperature, receptors.tolist(), of_rows)
            assert loss.item() == pytest.approx(expected, rel=1e-10, abs=1e-10)


@SEARCH
@given(n=st.integers(2, 6), n_copies=st.integers(1, 9), seed=seeds)
def test_copies_of_a_receptor_leave_its_own_term_as_it_is(n, n_copies, seed):
    """Whatever the views of the copies are; without numbers of receptors the term changes."""
    views, labels = views_of(n, seed=seed), labels_of(n, 2, seed)
    more = torch.cat([views, views_of(n_copies, seed=seed + 1)])
    receptors = torch.cat([torch.arange(n), torch.zeros(n_copies, dtype=torch.int64)])
    of_more = torch.cat([labels, labels[:1].expand(n_copies)])
    first, weight = slice(0, 1), len(more) / n  # the sum is divided by the number of rows
    for function, arguments, with_copies in (
        (autocontrastive_loss, (views,), (more,)),
        (supervised_contrastive_loss, (views, labels), (more, of_more)),
        (neighbour_loss, (views, labels), (more, of_more)),
    ):
        alone = function(*arguments, 0.5, first)
        masked = function(*with_copies, 0.5, first, receptors) * weight
        torch.testing.assert_close(masked, alone, rtol=1e-10, atol=1e-12)
        if function is not neighbour_loss or alone:
            assert not torch.isclose(function(*with_copies, 0.5, first) * weight, alone, rtol=1e-6)


@SEARCH
@given(n=st.integers(2, 6), times=st.integers(2, 4), seed=seeds)
def test_a_batch_that_holds_every_receptor_as_often_has_the_same_neighbour_loss(n, times, seed):
    views, labels = views_of(n, seed=seed), labels_of(n, 2, seed)
    repeated = neighbour_loss(
        views.repeat(times, 1, 1), labels.repeat(times), receptors=torch.arange(n).repeat(times)
    )
    torch.testing.assert_close(repeated, neighbour_loss(views, labels), rtol=1e-9, atol=1e-9)


def test_a_receptor_alone_with_its_copies_costs_nothing():
    """There is nothing to tell it from, however unlike its views are."""
    views, receptors, labels = views_of(5), torch.zeros(5, dtype=torch.int64), torch.tensor([0, 0, 0, 1, 1])
    assert autocontrastive_loss(views, receptors=receptors) == 0
    assert supervised_contrastive_loss(views, labels, receptors=receptors) == 0
    assert neighbour_loss(views, labels, receptors=receptors) == 0


def test_a_receptor_of_two_labels_is_a_negative_of_neither():
    """It stands beside the receptors of both; only with all of its labels known is nothing left to learn."""
    places = torch.tensor([[1.0, 0], [1, 0], [0, 1], [0, 1]]).double()[:, None].expand(4, 2, 2)
    labels, receptors = torch.tensor([0, 0, 1, 1]), torch.arange(4)
    shared = torch.cat([places, places[:1]]), torch.cat([labels, torch.tensor([1])])
    copies = torch.tensor([0, 1, 2, 3, 0])
    known = F.one_hot(shared[1], 2).bool()
    known[[0, 4]] = True
    first = slice(0, 2)
    assert neighbour_loss(places, labels, anchors=first, receptors=receptors) < 1e-9
    assert neighbour_loss(*shared, anchors=slice(1, 2), receptors=copies) > 0.1
    assert neighbour_loss(*shared, anchors=first, receptors=copies, known_labels=known) < 1e-9


def test_copies_are_no_pairs_of_uniformity():
    views = views_of(4)[:, 0]
    receptors = torch.tensor([0, 1, 2, 3, 1])
    moved = torch.cat([views, views[1:2]])
    others = [exp(-2 * dist(moved[i].tolist(), moved[j].tolist()) ** 2) for i in range(5) for j in range(i)
              if receptors[i] != receptors[j]]  # fmt: skip
    assert uniformity(moved, receptors=receptors).item() == pytest.approx(log(sum(others) / 9), rel=1e-10)
    torch.testing.assert_close(uniformity(views, receptors=receptors[:4]), uniformity(views))
