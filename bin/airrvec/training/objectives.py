"""
What training minimises: contrastive and masked-language losses, and two measures of their success.

The contrastive losses take views of shape (N, 2, d), the two views of receptor ``i`` in row ``i``, so that
batches of several devices are gathered by concatenation. Each device may then compute the terms of its own
receptors, ``anchors``, against all; the devices' losses add up to the loss of the whole batch:

    gathered = differentiable_all_gather(own_views)
    loss = autocontrastive_loss(gathered, anchors=slice(rank * n, (rank + 1) * n))

Where gradients are averaged over the devices (DDP), multiply this by their number.

A batch may hold a receptor several times, as ``receptors`` numbers them. Copies are anchors like other
rows, and are compared with every other receptor. A receptor is never compared with copies of itself:
they are neither its positives nor its negatives. So a term of the loss does not depend on copies of its
own receptor.
"""

import math

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
    Autocontrastive loss (paper, Methods, ``eq:autocontrastive_loss``).

    .. math:: \frac{1}{2N} \sum_k -\log \frac{e^{r_k \cdot r_{p(k)} / \tau}}
        {e^{r_k \cdot r_{p(k)} / \tau} + \sum_{n \in A(k)} e^{r_k \cdot r_n / \tau}}

    where :math:`p(k)` is the other view in the row of ``k`` and :math:`A(k)` are the views of all
    receptors but that of ``k``. Without copies this is the paper's equation.

    Parameters
    ----------
    views : Tensor, shape (N, 2, d)
        l2-normalised vectors of two views of each receptor.
    temperature : float
        τ.
    anchors : slice, optional
        The rows whose views are the anchors ``k``, all by default; the sum is divided by 2N all
        the same, so that the losses of slices that make up the batch add up to the batch's.
    receptors : Tensor of int, shape (N,), optional
        The same number for all copies of a receptor; without it no row is a copy.

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
    Supervised contrastive loss (paper, Methods, ``eq:supervised_contrastive_loss``; Khosla et al. 2020).

    .. math:: \frac{1}{2N} \sum_k \frac{1}{|P(k)|} \sum_{p \in P(k)} -\log \frac{e^{r_k \cdot r_p / \tau}}
        {e^{r_k \cdot r_{p(k)} / \tau} + \sum_{n \in A(k)} e^{r_k \cdot r_n / \tau}}

    where :math:`p(k)` is the other view in the row of ``k``, :math:`A(k)` are the views of all
    receptors but that of ``k``, and :math:`P(k)` are :math:`p(k)` and those of :math:`A(k)` that have
    the label of ``k``. Without copies this is the paper's equation. A receptor that shares its label
    with no other adds its autocontrastive loss.

    Parameters
    ----------
    views : Tensor, shape (N, 2, d)
        l2-normalised vectors of two views of each receptor.
    labels : Tensor of int, shape (N,)
        Number of each row's label.
    temperature : float
        τ.
    anchors, receptors
        As in `autocontrastive_loss`.
    known_labels : Tensor of bool, shape (N, number of labels), optional
        True at all labels of a row's receptor, which is a positive of each; without it a receptor has
        the labels of its own row alone.

    Returns
    -------
    Tensor, shape ()
        In nats.
    """
    similarities, is_own, other_view = _similarities(views, temperature, anchors, receptors)
    is_other_view = _at(other_view, is_own)
    is_positive = _share_label(views, labels, anchors, known_labels) & ~is_own | is_other_view
    of_positives = similarities.masked_fill(~is_positive, 0).sum(1) / is_positive.sum(1)
    similarities = similarities.masked_fill(is_own & ~is_other_view, -torch.inf)
    return (similarities.logsumexp(1) - of_positives).sum() / (2 * len(views))


def neighbour_loss(
    views: Tensor,
    labels: Tensor,
    temperature: float = 0.05,
    anchors: slice | None = None,
    receptors: Tensor | None = None,
    known_labels: Tensor | None = None,
) -> Tensor:
    r"""
    Neighbourhood components loss (Goldberger et al. 2004, as the log of each probability).

    .. math:: \frac{1}{2N} \sum_k -\log
        \frac{\sum_{p \in P(k)} e^{-|r_k - r_p| / \tau}}{\sum_{n \in A(k)} e^{-|r_k - r_n| / \tau}}

    where :math:`A(k)` are the views of all receptors but that of ``k``, and :math:`P(k)` those of
    them that have its label. It is the density that `airrvec.benchmark.rules.contrast` ranks by. The
    logarithm is outside of the sum over positives (Khosla et al. 2020, their :math:`L_{in}`): some neighbours
    of the label have to be near, not all, so that an epitope may keep several groups of receptors.

    Parameters
    ----------
    views : Tensor, shape (N, 2, d)
        l2-normalised vectors of two views of each receptor.
    labels : Tensor of int, shape (N,)
        Number of each row's label. A receptor that shares its label with no other adds nothing.
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
    # Of unit vectors; the root has no gradient at 0.
    distances = (2 - 2 * similarities).clamp(min=1e-6).sqrt()
    closeness = (-distances / temperature).masked_fill(is_own, -torch.inf)
    counts = is_positive.any(1)
    closeness, is_positive = closeness[counts], is_positive[counts]
    of_positives = closeness.masked_fill(~is_positive, -torch.inf).logsumexp(1)
    return (closeness.logsumexp(1) - of_positives).sum() / (2 * len(views))


def masked_language_loss(logits: Tensor, targets: Tensor, label_smoothing: float = 0.0) -> Tensor:
    """
    Mean cross entropy of the guesses at masked residues (paper, Methods, "SCEPTR Pre-training").

    Parameters
    ----------
    logits : Tensor, shape (..., 20)
        Unnormalised log probabilities of the amino acids.
    targets : Tensor of int64, shape (...)
        Index of the true amino acid, -100 where nothing is to be guessed; at least one is not.
    label_smoothing : float
        Share of the true distribution that is spread evenly over the 20 amino acids. The paper names
        none; the reference trained with 0.1 (its shipped configurations).

    Returns
    -------
    Tensor, shape ()
        In nats; the mean over all targets of the batch, whichever receptor they are in.
    """
    return F.cross_entropy(
        _full_precision(logits).flatten(0, -2), targets.flatten(), label_smoothing=label_smoothing
    )


def alignment(a: Tensor, b: Tensor, exponent: float = 2) -> Tensor:
    """
    Mean of the ``exponent``-th power of the distance of positive pairs; 0 is best.

    Parameters
    ----------
    a, b : Tensor, shape (N, d)
        l2-normalised vectors; rows of the same number are a pair.
    exponent : float
        α of Wang & Isola 2020, who take 2; 1 in the paper (``eq:alignment``).

    Returns
    -------
    Tensor, shape ()
        From 0 to 2 to the power of ``exponent``.
    """
    squares = (_full_precision(a) - _full_precision(b)).square().sum(-1)
    return (squares if exponent == 2 else squares.pow(exponent / 2)).mean()


def uniformity(vectors: Tensor, t: float = 2, receptors: Tensor | None = None) -> Tensor:
    """
    Log of the mean over pairs of exp(-t d²), d their distance; less is better.

    Parameters
    ----------
    vectors : Tensor, shape (N, d)
        l2-normalised vectors of at least two receptors.
    t : float
        Wang & Isola 2020 take 2; 1 in the paper (``eq:uniformity``).
    receptors : Tensor of int, shape (N,), optional
        The same number for all copies of a receptor, which are no pairs.

    Returns
    -------
    Tensor, shape ()
        From -4 t to 0, which is all vectors equal.
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
    Similarity over temperature of each anchor's views to all views, (A, 2N); whether a view is of the
    anchor's own receptor, the same shape; and the column of the anchor's other view, (A,).
    """
    if views.ndim != 3 or views.shape[1] != 2:
        raise ValueError(f"views have the shape (N, 2, d), not {tuple(views.shape)}")
    rows = _anchors(views, anchors)
    vectors = _full_precision(views).flatten(0, 1)  # (2N, d), in the paper's order
    own = slice(2 * rows.start, 2 * rows.stop)
    # Half precision has errors of 0.1 in similarities over a temperature of 0.05.
    with torch.autocast(views.device.type, enabled=False):
        similarities = vectors[own] @ vectors.T / temperature
    if receptors is None:
        receptors = torch.arange(len(views), device=views.device)
    _check_rows(views, receptors, "numbers of receptors")
    of_views = receptors.repeat_interleave(2)
    other_view = torch.arange(own.start, own.stop, device=views.device) ^ 1
    return similarities, of_views[own, None] == of_views, other_view


def _share_label(views: Tensor, labels: Tensor, anchors: slice | None, known_labels: Tensor | None) -> Tensor:
    """Whether the receptor of a view has the anchor's label, (A, 2N)."""
    _check_rows(views, labels, "labels")
    of_anchors = labels[_anchors(views, anchors)]
    if known_labels is None:
        shared = of_anchors[:, None] == labels
    else:
        _check_rows(views, known_labels[:, 0], "sets of labels")
        shared = known_labels.T[of_anchors]
    return shared.repeat_interleave(2, 0).repeat_interleave(2, 1)


def _anchors(views: Tensor, anchors: slice | None) -> slice:
    start, stop, step = (anchors or slice(None)).indices(len(views))
    if step != 1:
        raise ValueError(f"anchors are receptors in a row: {anchors} has a step of {step}")
    return slice(start, max(start, stop))


def _at(columns: Tensor, like: Tensor) -> Tensor:
    """True at one column of each row."""
    return torch.zeros_like(like).scatter_(1, columns[:, None], True)


def _check_rows(views: Tensor, values: Tensor, name: str) -> None:
    if values.shape != views.shape[:1]:
        raise ValueError(f"{len(views)} receptors need as many {name}, not {tuple(values.shape)}")


def _full_precision(values: Tensor) -> Tensor:
    return values if values.dtype == torch.float64 else values.float()
