"""Losses are their equations: against plain loops, another library, hand values and finite differences."""

from itertools import pairwise
from math import dist, exp, log

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from pytorch_metric_learning.losses import NTXentLoss, SupConLoss

from airrvec.training.objectives import (
    alignment,
    autocontrastive_loss,
    masked_language_loss,
    neighbour_loss,
    supervised_contrastive_loss,
    uniformity,
)

SEARCH = settings(max_examples=60, deadline=None, derandomize=True)
PRECISIONS = [(torch.float64, 1e-10), (torch.float32, 1e-5)]


def views_of(n: int, d: int = 8, seed: int = 0, dtype=torch.float64) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return F.normalize(torch.randn(n, 2, d, generator=generator, dtype=torch.float64), dim=-1).to(dtype)


def labels_of(n: int, n_labels: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(n_labels, (n,), generator=torch.Generator().manual_seed(seed))


def dot(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def contrastive_by_loops(views, labels: list[int], temperature: float, receptors=None, known=None) -> float:
    """
    eq:supervised_contrastive_loss term by term; with a label for each, eq:autocontrastive_loss.

    Views of the own receptor are left out but for the other one of the same row.
    """
    r = views.double().flatten(0, 1).tolist()
    receptors = receptors or list(range(len(views)))
    known = known or [{label} for label in labels]
    total = 0.0
    for k in range(len(r)):
        own = receptors[k // 2]
        others = [n for n in range(len(r)) if receptors[n // 2] != own] + [k ^ 1]
        denominator = sum(exp(dot(r[k], r[n]) / temperature) for n in others)
        positives = [p for p in others if labels[k // 2] in known[p // 2] or p == k ^ 1]
        terms = [-log(exp(dot(r[k], r[p]) / temperature) / denominator) for p in positives]
        total += sum(terms) / len(positives)
    return total / len(r)


def neighbours_by_loops(views, labels: list[int], temperature: float, receptors=None, known=None) -> float:
    """The share of the own label in the density about each view, without views of its own receptor."""
    r = views.double().flatten(0, 1).tolist()
    receptors = receptors or list(range(len(views)))
    known = known or [{label} for label in labels]
    total = 0.0
    for k in range(len(r)):
        others = [n for n in range(len(r)) if receptors[n // 2] != receptors[k // 2]]
        densities = {n: exp(-dist(r[k], r[n]) / temperature) for n in others}
        near = sum(densities[n] for n in others if labels[k // 2] in known[n // 2])
        total -= log(near / sum(densities.values())) if near else 0.0
    return total / len(r)


sizes = st.integers(1, 7)
temperatures = st.sampled_from([0.05, 0.5, 1.0])
seeds = st.integers(0, 10_000)


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


# --- Copies of a receptor in a batch

LABELLED = [(supervised_contrastive_loss, contrastive_by_loops), (neighbour_loss, neighbours_by_loops)]


def copies_of(n: int, seed: int, n_labels: int = 3):
    """Rows of fewer receptors than rows, the labels of the rows, and all labels of each row's receptor."""
    generator = torch.Generator().manual_seed(seed)
    receptors = torch.randint(max(n // 2, 1), (n,), generator=generator)
    labels = torch.randint(n_labels, (n,), generator=generator)
    known = torch.zeros(n, n_labels, dtype=torch.bool)
    for row in range(n):
        known[row, labels[receptors == receptors[row]]] = True
    return receptors, labels, known


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
