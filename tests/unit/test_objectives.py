"""Losses are their equations: against plain loops, another library, hand values and finite differences."""

from math import exp, log

from airrvec.training.losses import (
    alignment,
    autocontrastive_loss,
    masked_language_loss,
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
    labels_of,
    neighbours_by_loops,
    seeds,
    sizes,
    temperatures,
    views_of,
)
from pytorch_metric_learning.losses import NTXentLoss, SupConLoss

PRECISIONS = [(torch.float64, 1e-10), (torch.float32, 1e-5)]


@pytest.mark.parametrize(("dtype", "rtol"), PRECISIONS)
@SEARCH
@given(n=sizes, temperature=temperatures, seed=seeds)
def test_autocontrastive_is_the_equation(dtype, rtol, n, temperature, seed):
    views = views_of(n, seed=seed, dtype=dtype)
    loss = autocontrastive_loss(views, temperature)
    assert loss.dtype == dtype
    expected = contrastive_by_loops(views, list(range(n)), temperature)
    assert loss.item() == pytest.approx(expected, rel=rtol, abs=rtol)


@pytest.mark.parametrize(("dtype", "rtol"), PRECISIONS)
@SEARCH
@given(n=sizes, n_labels=st.integers(1, 4), temperature=temperatures, seed=seeds)
def test_supervised_is_the_equation(dtype, rtol, n, n_labels, temperature, seed):
    views, labels = views_of(n, seed=seed, dtype=dtype), labels_of(n, n_labels, seed)
    loss = supervised_contrastive_loss(views, labels, temperature)
    assert loss.dtype == dtype
    expected = contrastive_by_loops(views, labels.tolist(), temperature)
    assert loss.item() == pytest.approx(expected, rel=rtol, abs=rtol)


@pytest.mark.parametrize(("dtype", "rtol"), [(torch.float64, 1e-10), (torch.float32, 1e-4)])
@SEARCH
@given(n=sizes, n_labels=st.integers(1, 4), temperature=temperatures, seed=seeds)
def test_neighbour_is_the_equation(dtype, rtol, n, n_labels, temperature, seed):
    views, labels = views_of(n, seed=seed, dtype=dtype), labels_of(n, n_labels, seed)
    loss = neighbour_loss(views, labels, temperature)
    assert loss.dtype == dtype
    expected = neighbours_by_loops(views, labels.tolist(), temperature)
    assert loss.item() == pytest.approx(expected, rel=rtol, abs=rtol)


def test_one_near_receptor_of_the_label_is_enough_for_the_neighbour_loss():
    """Two groups of one epitope, far apart, beside another epitope: nothing is left to learn, but by the
    supervised contrastive loss."""
    places = torch.tensor([[1.0, 0, 0], [1, 0, 0], [-1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, 1, 0]])
    views, labels = places.double()[:, None].expand(6, 2, 3), torch.tensor([0, 0, 0, 0, 1, 1])
    assert neighbour_loss(views, labels).item() == pytest.approx(0, abs=1e-9)
    assert supervised_contrastive_loss(views, labels).item() > 10


def test_equal_vectors_have_a_gradient_under_the_neighbour_loss():
    views = F.normalize(torch.ones(3, 2, 4), dim=-1).requires_grad_()
    neighbour_loss(views, torch.tensor([0, 0, 1])).backward()
    assert views.grad.isfinite().all()


def test_a_label_for_each_receptor_is_autocontrastive():
    views = views_of(20)
    torch.testing.assert_close(
        supervised_contrastive_loss(views, torch.arange(20)), autocontrastive_loss(views), rtol=1e-12, atol=0
    )


def test_autocontrastive_is_ntxent():
    """With one positive each, NTXentLoss has the paper's denominator: the positive and all negatives."""
    views = views_of(30)
    expected = NTXentLoss(temperature=0.05)(views.flatten(0, 1), torch.arange(30).repeat_interleave(2))
    torch.testing.assert_close(autocontrastive_loss(views), expected, rtol=1e-10, atol=0)


def test_supervised_is_supcon_and_not_ntxent():
    """
    SupConLoss is the paper's, where there are two labels or more (with one it returns 0).

    NTXentLoss leaves the other positives out of the denominator, and averages over pairs, not anchors.
    """
    views, labels = views_of(30), labels_of(30, 4)
    loss = supervised_contrastive_loss(views, labels)
    flat = views.flatten(0, 1), labels.repeat_interleave(2)
    torch.testing.assert_close(loss, SupConLoss(temperature=0.05)(*flat), rtol=1e-10, atol=0)
    assert abs(NTXentLoss(temperature=0.05)(*flat) - loss) > 0.01
    one_label = torch.zeros(30, dtype=torch.int64)
    assert SupConLoss(temperature=0.05)(flat[0], torch.zeros(60)) == 0
    assert supervised_contrastive_loss(views, one_label) > log(59)


@pytest.mark.parametrize("n", [1, 2, 1024])
def test_equal_vectors_leave_a_guess(n):
    """All others look alike, so the loss is the log of their number."""
    views = views_of(1, d=64, dtype=torch.float32).mean(1).expand(n, 2, 64)
    labels = torch.arange(n) // 2
    assert autocontrastive_loss(views).item() == pytest.approx(log(2 * n - 1), abs=1e-5)
    assert supervised_contrastive_loss(views, labels).item() == pytest.approx(log(2 * n - 1), abs=1e-5)


def test_hand_values():
    """Two receptors on two axes, views equal: one similarity of 1/τ and two of 0."""
    views = torch.eye(2, dtype=torch.float64)[:, None].expand(2, 2, 2)
    own = log(exp(2) + 2)  # τ = 0.5
    assert autocontrastive_loss(views, 0.5).item() == pytest.approx(own - 2)
    together = supervised_contrastive_loss(views, torch.tensor([5, 5]), 0.5)
    assert together.item() == pytest.approx(own - 2 / 3)


@pytest.mark.parametrize(("dtype", "rtol"), PRECISIONS)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_masked_language_loss_is_the_mean_over_targets(dtype, rtol, smoothing):
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(3, 5, 20, generator=generator, dtype=torch.float64).to(dtype)
    targets = torch.randint(20, (3, 5), generator=generator)
    targets[0], targets[1, ::2] = -100, -100  # receptors with none, two and five targets
    terms = []
    for row, row_targets in zip(logits.tolist(), targets.tolist(), strict=True):
        for values, target in zip(row, row_targets, strict=True):
            if target != -100:
                log_p = [value - log(sum(map(exp, values))) for value in values]
                terms.append(-(1 - smoothing) * log_p[target] - smoothing * sum(log_p) / 20)
    assert len(terms) == 7
    loss = masked_language_loss(logits, targets, smoothing)
    assert loss.item() == pytest.approx(sum(terms) / 7, rel=rtol)
    chosen = targets != -100
    of_chosen = masked_language_loss(logits[chosen], targets[chosen], smoothing)
    assert of_chosen.item() == pytest.approx(loss.item(), rel=rtol)


def test_a_guess_at_random_costs_log_20():
    assert masked_language_loss(torch.zeros(1, 2, 20), torch.tensor([[4, -100]])).item() == pytest.approx(
        log(20)
    )


@pytest.mark.parametrize(("dtype", "rtol"), PRECISIONS)
def test_alignment_and_uniformity_are_wang_and_isolas(dtype, rtol):
    a, b = views_of(9, dtype=dtype).unbind(1)
    rows, others = a.tolist(), b.tolist()
    squared = [
        sum((x - y) ** 2 for x, y in zip(p, q, strict=True)) for p, q in zip(rows, others, strict=True)
    ]
    assert alignment(a, b).item() == pytest.approx(sum(squared) / 9, rel=rtol)
    pairs = [
        exp(-2 * sum((x - y) ** 2 for x, y in zip(rows[i], rows[j], strict=True)))
        for i in range(9)
        for j in range(i)
    ]
    assert uniformity(a).item() == pytest.approx(log(sum(pairs) / 36), rel=rtol)


def test_alignment_and_uniformity_at_their_ends():
    opposite = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
    assert alignment(opposite, opposite) == 0
    assert alignment(opposite, -opposite) == 4
    assert uniformity(opposite) == -8
    equal = opposite[:1].expand(3, 2).clone().requires_grad_()
    value = uniformity(equal)
    value.backward()
    assert value == 0
    assert torch.equal(equal.grad, torch.zeros(3, 2))
