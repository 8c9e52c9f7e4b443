"""Losses in float32 and half precision, in any order and in slices; their gradients, and what is refused."""

from itertools import pairwise

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
from hypothesis import given
from hypothesis import strategies as st
from plain_losses import SEARCH, copies_of, labels_of, seeds, views_of


@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_float32_neither_overflows_nor_loses_digits(scale):
    """Exponents of up to 1,000 and more, where exp() alone is infinite."""
    exact = views_of(64) * scale**0.5
    labels = labels_of(64, 6)
    for temperature in (0.001, 0.05):
        for loss in (
            lambda views, t: autocontrastive_loss(views, t),
            lambda views, t: supervised_contrastive_loss(views, labels, t),
            *([lambda views, t: neighbour_loss(views, labels, t)] if scale == 1 else []),
        ):
            single = exact.float().requires_grad_()
            value = loss(single, temperature)
            value.backward()
            assert value.item() == pytest.approx(loss(exact, temperature).item(), rel=1e-5)
            assert single.grad.isfinite().all()


def test_half_precision_is_left_outside():
    views, labels = views_of(20, dtype=torch.float32), labels_of(20, 3)
    logits, targets = torch.randn(20, 20), labels
    outside = (
        autocontrastive_loss(views),
        supervised_contrastive_loss(views, labels),
        neighbour_loss(views, labels),
        masked_language_loss(logits, targets),
    )
    with torch.autocast("cpu", torch.bfloat16):
        inside = (
            autocontrastive_loss(views),
            supervised_contrastive_loss(views, labels),
            neighbour_loss(views, labels),
            masked_language_loss(logits, targets),
        )
    assert inside == outside
    assert autocontrastive_loss(views.bfloat16()).dtype == torch.float32


@SEARCH
@given(seed=seeds)
def test_neither_order_nor_the_names_of_labels_matter(seed):
    views, labels = views_of(12, seed=seed), labels_of(12, 3, seed)
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(12, generator=generator)
    names = torch.randperm(100, generator=generator)
    moved = views[order].flip(1)
    close = {"rtol": 1e-12, "atol": 1e-12}
    torch.testing.assert_close(autocontrastive_loss(moved), autocontrastive_loss(views), **close)
    torch.testing.assert_close(
        supervised_contrastive_loss(moved, names[labels[order]]),
        supervised_contrastive_loss(views, labels),
        **close,
    )
    torch.testing.assert_close(
        neighbour_loss(moved, names[labels[order]]), neighbour_loss(views, labels), **close
    )
    flat, moved_flat = views.flatten(0, 1), moved.flatten(0, 1)
    torch.testing.assert_close(uniformity(moved_flat), uniformity(flat), **close)
    torch.testing.assert_close(alignment(*moved.unbind(1)), alignment(*views.unbind(1)), **close)


@pytest.mark.parametrize("of_labels", [None, supervised_contrastive_loss, neighbour_loss])
@SEARCH
@given(cuts=st.lists(st.integers(0, 10), max_size=3).map(sorted), seed=seeds)
def test_losses_of_slices_add_up(of_labels, cuts, seed):
    """As do their gradients: what several devices compute is what one would."""
    views, (receptors, labels, known) = views_of(10, seed=seed).requires_grad_(), copies_of(10, seed)

    def loss(anchors=None):
        if of_labels:
            return of_labels(views, labels, anchors=anchors, receptors=receptors, known_labels=known)
        return autocontrastive_loss(views, anchors=anchors, receptors=receptors)

    bounds = [0, *cuts, 10]
    parts = [loss(slice(start, stop)) for start, stop in pairwise(bounds)]
    whole = loss()
    torch.testing.assert_close(sum(parts), whole, rtol=1e-12, atol=0)
    (of_parts,), (of_whole,) = torch.autograd.grad(sum(parts), views), torch.autograd.grad(whole, views)
    torch.testing.assert_close(of_parts, of_whole, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("anchors", [None, slice(1, 3), slice(-1, None)])
def test_gradients_of_contrastive_losses(anchors):
    views, labels = views_of(4, d=3).requires_grad_(), torch.tensor([0, 1, 0, 2])
    assert torch.autograd.gradcheck(lambda v: autocontrastive_loss(v, 0.5, anchors), views)
    assert torch.autograd.gradcheck(lambda v: supervised_contrastive_loss(v, labels, 0.5, anchors), views)
    copies = torch.tensor([0, 1, 0, 2])
    for loss in (supervised_contrastive_loss, neighbour_loss):
        assert torch.autograd.gradcheck(lambda v, loss=loss: loss(v, labels, 0.5, anchors, copies), views)


def test_other_gradients():
    logits = torch.randn(2, 3, 20, dtype=torch.float64, requires_grad=True)
    targets = torch.tensor([[-100, 3, 19], [0, -100, -100]])
    assert torch.autograd.gradcheck(lambda x: masked_language_loss(x, targets, 0.1), logits)
    a, b = views_of(5, d=3).unbind(1)
    a, b = a.clone().requires_grad_(), b.clone().requires_grad_()
    assert torch.autograd.gradcheck(alignment, (a, b))
    assert torch.autograd.gradcheck(uniformity, a)


@pytest.mark.parametrize("views", [torch.zeros(4, 8), torch.zeros(2, 4, 8)])
def test_views_of_another_shape_are_refused(views):
    with pytest.raises(ValueError, match=r"views have the shape \(N, 2, d\), not \("):
        autocontrastive_loss(views)


def test_labels_of_views_are_refused():
    with pytest.raises(ValueError, match=r"4 receptors need as many labels, not \(8,\)"):
        supervised_contrastive_loss(views_of(4), torch.zeros(8))


def test_anchors_with_gaps_are_refused():
    with pytest.raises(ValueError, match="step of 2"):
        autocontrastive_loss(views_of(4), anchors=slice(0, 4, 2))
