"""
Training losses, contrastive and masked-language, and two measures of the embedding space.

The contrastive losses take views of shape (N, 2, d), with the two views of receptor ``i`` in row ``i``, so
that batches of several devices can be concatenated. Each device may then compute the terms of its own
receptors, ``anchors``, against all; the losses of the devices add up to the loss of the whole batch:

    gathered = differentiable_all_gather(own_views)
    loss = autocontrastive_loss(gathered, anchors=slice(rank * n, (rank + 1) * n))

If gradients are averaged over the devices (DDP), multiply this loss by the number of devices.

A batch may contain copies of a receptor; ``receptors`` has the same number for all copies. Copies are anchors
like other rows, and are compared with all other receptors. A receptor is never compared with its own copies:
they are neither positives nor negatives. A term of the loss therefore does not depend on copies of its own
receptor.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor


def autocontrastive_loss(
    views: Tensor,
    temperature: float = 0.05,
    anchors: slice | None = None,
    receptors: Tensor | None = None,
) -> Tensor:
    r"""
    Return the autocontrastive loss (paper, Methods, ``eq:autocontrastive_loss``).

    .. math:: \frac{1}{2N} \sum_k -\log \frac{e^{r_k \cdot r_{p(k)} / \tau}}
        {e^{r_k \cdot r_{p(k)} / \tau} + \sum_{n \in A(k)} e^{r_k \cdot r_n / \tau}}

    where :math:`p(k)` is the other view in the row of ``k`` and :math:`A(k)` are the views of all other
    receptors. Without copies this is the equation of the paper.

    Parameters
    ----------
    views : Tensor, shape (N, 2, d)
        l2-normalised vectors of two views of each receptor.
    temperature : float
        τ.
    anchors : slice, optional
        Rows whose views are the anchors ``k``; all by default. The sum is always divided by 2N, so that the
        losses of the slices of a batch add up to the loss of the batch.
    receptors : Tensor of int, shape (N,), optional
        Receptor number of each row, equal for copies. Without it no row is a copy.

    Returns
    -------
    Tensor, shape ()
        In nats.
    """
    similarities, is_own, other_view = _similarities(views, temperature, anchors, receptors)
    compared = ~is_own | _at(other_view, is_own)
    similarities = similarities.masked_fill(~compared, -torch.inf)
    return F.cross_entropy(similarities, other_view, reduction="sum") / (2 * len(views))


def supervised_contrastive_loss(
    views: Tensor,
    labels: Tensor,
    temperature: float = 0.05,
    anchors: slice | None = None,
    receptors: Tensor | None = None,
    known_labels: Tensor | None = None,
) -> Tensor:
    r"""
    Return the supervised contrastive loss (paper, ``eq:supervised_contrastive_loss``; Khosla et al. 2020).

    .. math:: \frac{1}{2N} \sum_k \frac{1}{|P(k)|} \sum_{p \in P(k)} -\log \frac{e^{r_k \cdot r_p / \tau}}
        {e^{r_k \cdot r_{p(k)} / \tau} + \sum_{n \in A(k)} e^{r_k \cdot r_n / \tau}}

    where :math:`p(k)` is the other view in the row of ``k``, :math:`A(k)` are the views of all other
    receptors, and :math:`P(k)` are :math:`p(k)` and the views in :math:`A(k)` with the label of ``k``.
    Without copies this is the equation of the paper. A receptor without another receptor of its label
    contributes its autocontrastive loss.

    Parameters
    ----------
    views : Tensor, shape (N, 2, d)
        l2-normalised vectors of two views of each receptor.
    labels : Tensor of int, shape (N,)
        Label number of each row.
    temperature : float
        τ.
    anchors, receptors
        As in `autocontrastive_loss`.
    known_labels : Tensor of bool, shape (N, number of labels), optional
        True for every label of a row's receptor, which is a positive for each of them. Without it a receptor
        has only the label of its row.

    Returns
    -------
    Tensor, shape ()
        In nats.
    """
    similarities, is_own, other_view = _similarities(views, temperature, anchors, receptors)
    is_other_view = _at(other_view, is_own)
    is_positive = _share_label(views, labels, anchors, known_labels) & ~is_own | is_other_view
    positive_mean = similarities.masked_fill(~is_positive, 0).sum(1) / is_positive.sum(1)
    similarities = similarities.masked_fill(is_own & ~is_other_view, -torch.inf)
    return (similarities.logsumexp(1) - positive_mean).sum() / (2 * len(views))


def neighbour_loss(
    views: Tensor,
    labels: Tensor,
    temperature: float = 0.05,
    anchors: slice | None = None,
    receptors: Tensor | None = None,
    known_labels: Tensor | None = None,
) -> Tensor:
    r"""
    Return the neighbourhood components loss (Goldberger et al. 2004, as the log of each probability).

    .. math:: \frac{1}{2N} \sum_k -\log
        \frac{\sum_{p \in P(k)} e^{-|r_k - r_p| / \tau}}{\sum_{n \in A(k)} e^{-|r_k - r_n| / \tau}}

    where :math:`A(k)` are the views of all other receptors, and :math:`P(k)` are those in :math:`A(k)` with
    the label of ``k``. `airrvec.evaluation.rules.contrast` ranks by the same ratio of densities. The
    logarithm is outside the sum over positives (Khosla et al. 2020, their :math:`L_{in}`): only some
    receptors of the label need to be near, so that an epitope may keep several groups of receptors.

    Parameters
    ----------
    views : Tensor, shape (N, 2, d)
        l2-normalised vectors of two views of each receptor.
    labels : Tensor of int, shape (N,)
        Label number of each row. A receptor without another receptor of its label contributes 0.
    temperature : float
        τ, in the unit of the Euclidean distance.
    anchors, receptors, known_labels
        As in `supervised_contrastive_loss`.

    Returns
    -------
    Tensor, shape ()
        In nats.
    """
    similarities, is_own, _ = _similarities(views, 1.0, anchors, receptors)
    is_positive = _share_label(views, labels, anchors, known_labels) & ~is_own
    # Distances between unit vectors; clamped, because the square root has no gradient at 0.
    distances = (2 - 2 * similarities).clamp(min=1e-6).sqrt()
    closeness = (-distances / temperature).masked_fill(is_own, -torch.inf)
    has_positive = is_positive.any(1)
    closeness, is_positive = closeness[has_positive], is_positive[has_positive]
    positive_density = closeness.masked_fill(~is_positive, -torch.inf).logsumexp(1)
    return (closeness.logsumexp(1) - positive_density).sum() / (2 * len(views))


@dataclass(frozen=True)
class Loss:
    """
    A contrastive loss.

    Attributes
    ----------
    function : callable
        Views, and the keywords of `autocontrastive_loss` → the loss; with ``needs_labels`` those of
        `supervised_contrastive_loss`.
    needs_labels : bool
        Whether it learns from labels.
    needs_pairs : bool
        Whether a receptor without another receptor of its label contributes nothing.
    title : str
        Name for a person, of a user's loss; else its name in the preset serves.
    """

    function: Callable[..., Tensor]
    needs_labels: bool = False
    needs_pairs: bool = False
    title: str = ""


# Name in a preset → loss. To add one, add an entry; `airrvec.training.own` has those of users.
LOSSES = {
    "auto": Loss(autocontrastive_loss),
    "supervised": Loss(supervised_contrastive_loss, needs_labels=True),
    "neighbour": Loss(neighbour_loss, needs_labels=True, needs_pairs=True),
}


def masked_language_loss(logits: Tensor, targets: Tensor, label_smoothing: float = 0.0) -> Tensor:
    """
    Return the mean cross entropy of predictions at masked residues (paper, Methods, "SCEPTR Pre-training").

    Parameters
    ----------
    logits : Tensor, shape (..., 20)
        Unnormalised log probabilities of the amino acids.
    targets : Tensor of int64, shape (...)
        Index of the true amino acid, -100 for no target; at least one is a target.
    label_smoothing : float
        Share of the true distribution that is spread evenly over the 20 amino acids. The paper gives no
        value; the configurations of the reference implementation have 0.1.

    Returns
    -------
    Tensor, shape ()
        In nats; the mean over all targets of the batch.
    """
    return F.cross_entropy(
        _full_precision(logits).flatten(0, -2), targets.flatten(), label_smoothing=label_smoothing
    )


def alignment(a: Tensor, b: Tensor, exponent: float = 2) -> Tensor:
    """
    Return the mean of the ``exponent``-th power of the distance between positive pairs; 0 is best.

    Parameters
    ----------
    a, b : Tensor, shape (N, d)
        l2-normalised vectors; row i of ``a`` and row i of ``b`` are a pair.
    exponent : float
        α of Wang & Isola 2020, who use 2; 1 in the paper (``eq:alignment``).

    Returns
    -------
    Tensor, shape ()
        From 0 to 2 ** ``exponent``.
    """
    squares = (_full_precision(a) - _full_precision(b)).square().sum(-1)
    return (squares if exponent == 2 else squares.pow(exponent / 2)).mean()


def uniformity(vectors: Tensor, t: float = 2, receptors: Tensor | None = None) -> Tensor:
    """
    Return the log of the mean over pairs of exp(-t d²), with the distance d of a pair; lower is better.

    Parameters
    ----------
    vectors : Tensor, shape (N, d)
        l2-normalised vectors of at least two receptors.
    t : float
        2 in Wang & Isola 2020; 1 in the paper (``eq:uniformity``).
    receptors : Tensor of int, shape (N,), optional
        Receptor number of each row, equal for copies. Pairs of copies are excluded.

    Returns
    -------
    Tensor, shape ()
        From -4 t to 0; 0 if all vectors are equal.
    """
    exponents = -t * F.pdist(_full_precision(vectors)).square()  # (N (N - 1) / 2,)
    if receptors is not None:
        first, second = torch.triu_indices(len(vectors), len(vectors), 1, device=vectors.device)
        exponents = exponents[receptors[first] != receptors[second]]
    return exponents.logsumexp(0) - math.log(len(exponents))


def _similarities(
    views: Tensor, temperature: float, anchors: slice | None, receptors: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """
    Return similarities of the A anchor views to all views, divided by temperature, (A, 2N); whether a view
    belongs to the anchor's own receptor, (A, 2N); and the column of the anchor's other view, (A,).
    """
    if views.ndim != 3 or views.shape[1] != 2:
        raise ValueError(f"views have the shape (N, 2, d), not {tuple(views.shape)}")
    rows = _anchors(views, anchors)
    vectors = _full_precision(views).flatten(0, 1)  # (2N, d), in the paper's order
    own = slice(2 * rows.start, 2 * rows.stop)
    # In half precision, similarities divided by a temperature of 0.05 have errors of 0.1.
    with torch.autocast(views.device.type, enabled=False):
        similarities = vectors[own] @ vectors.T / temperature
    if receptors is None:
        receptors = torch.arange(len(views), device=views.device)
    _check_rows(views, receptors, "numbers of receptors")
    view_receptors = receptors.repeat_interleave(2)
    other_view = torch.arange(own.start, own.stop, device=views.device) ^ 1
    return similarities, view_receptors[own, None] == view_receptors, other_view


def _share_label(views: Tensor, labels: Tensor, anchors: slice | None, known_labels: Tensor | None) -> Tensor:
    """Return whether the receptor of a view has the anchor's label, (A, 2N)."""
    _check_rows(views, labels, "labels")
    anchor_labels = labels[_anchors(views, anchors)]
    if known_labels is None:
        shared = anchor_labels[:, None] == labels
    else:
        _check_rows(views, known_labels[:, 0], "sets of labels")
        shared = known_labels.T[anchor_labels]
    return shared.repeat_interleave(2, 0).repeat_interleave(2, 1)


def _anchors(views: Tensor, anchors: slice | None) -> slice:
    start, stop, step = (anchors or slice(None)).indices(len(views))
    if step != 1:
        raise ValueError(f"anchors must be consecutive receptors: {anchors} has a step of {step}")
    return slice(start, max(start, stop))


def _at(columns: Tensor, like: Tensor) -> Tensor:
    """Return True at one column of each row, in the shape of ``like``."""
    return torch.zeros_like(like).scatter_(1, columns[:, None], True)


def _check_rows(views: Tensor, values: Tensor, name: str) -> None:
    if values.shape != views.shape[:1]:
        raise ValueError(f"{len(views)} receptors need as many {name}, not {tuple(values.shape)}")


def _full_precision(values: Tensor) -> Tensor:
    return values if values.dtype == torch.float64 else values.float()
