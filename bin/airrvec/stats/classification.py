"""
Whether something that samples have tells the values of a design apart: classification of left-out donors.

Ridge regression on the values (optimal scoring: Hastie, Tibshirani and Buja 1994, Journal of the American
Statistical Association 89, 1255), each group left out in turn; the penalty is chosen by leaving out single
units of the others, in closed form. The same with exchanged values shows what chance alone tells.
"""

from dataclasses import dataclass

from airrvec.stats.designs import Design
from airrvec.stats.significance import permutation_p

import numpy as np

PENALTIES = 10.0 ** np.arange(-2, 4)  # times the mean eigenvalue


@dataclass(frozen=True)
class Told:
    """
    Result of a classification.

    Attributes
    ----------
    accuracy : float
        Balanced accuracy: mean share of the units of each value that are told right, 0 to 1.
    chance : float
        Its mean over exchanged values.
    p : float
        Share of exchanges with at least this accuracy.
    """

    accuracy: float
    chance: float
    p: float


def gram(features: np.ndarray) -> np.ndarray:
    """Return the inner products of units with standardised features of shape (n, d), shape (n, n)."""
    centred = features - features.mean(axis=0)
    spread = centred.std(axis=0)
    scaled = centred[:, spread > 0] / spread[spread > 0]
    return scaled @ scaled.T / max(1, scaled.shape[1])


def within_donors(products: np.ndarray, design: Design) -> np.ndarray:
    """Return inner products without the mean of each donor, where values are compared within donors."""
    if not design.paired:
        return products
    return design.centred(design.centred(products).T)


def told_apart(
    products: np.ndarray, design: Design, folds: np.ndarray, n_permutations: int, rng: np.random.Generator
) -> Told:
    """
    Return how well the values of units are told from their similarity to units of other folds.

    Parameters
    ----------
    products : ndarray, shape (n_units, n_units)
        Inner products, of `gram` or of kernel means, and `within_donors`.
    design : Design
        Of two or several values.
    folds : ndarray, shape (n_units,)
        What is left out at once, such as donors; a donor is in one fold.
    n_permutations : int
    rng : numpy.random.Generator
    """
    labels = design.arrangements(n_permutations, rng)  # (n_units, n_arrangements)
    told = np.empty_like(labels)
    for fold in dict.fromkeys(folds.tolist()):
        test = folds == fold
        told[test] = _told(products, labels, test, len(design.groups))
    right = told == labels
    recalls = [
        (right & (labels == place)).sum(axis=0) / (labels == place).sum(axis=0)
        for place in range(len(design.groups))
    ]
    accuracies = np.mean(recalls, axis=0)
    chance = accuracies[1:].mean() if len(accuracies) > 1 else np.nan
    return Told(float(accuracies[0]), float(chance), permutation_p(accuracies))


def _told(products: np.ndarray, labels: np.ndarray, test: np.ndarray, n_values: int) -> np.ndarray:
    """Return the values told of the units of ``test`` in each arrangement, shape (n_test, n_arrangements)."""
    train = ~test
    within, across = products[np.ix_(train, train)], products[np.ix_(test, train)]
    means = within.mean(axis=0)
    across = across - across.mean(axis=1, keepdims=True) - means + within.mean()
    within = within - means - means[:, None] + within.mean()
    is_value = labels[train][:, :, None] == np.arange(n_values)  # (n_train, n_arrangements, n_values)
    n_of_value = is_value.sum(axis=0)
    targets = is_value / np.maximum(n_of_value, 1)
    targets = targets - targets.mean(axis=0)
    sizes, axes = np.linalg.eigh(within)
    sizes = np.maximum(sizes, 0)
    rotated = np.einsum("ik,iav->kav", axes, targets)
    best = np.full(labels.shape[1], np.inf)
    fitted = np.zeros_like(targets)
    scores = np.zeros((len(across), *targets.shape[1:]))
    for penalty in PENALTIES * max(float(sizes.mean()), np.finfo(float).eps):
        # The intercept is the mean: each unit also has a leverage of one over their number.
        leverage = 1 / len(within) + (axes**2) @ (sizes / (sizes + penalty))
        fit = np.einsum("ik,k,kav->iav", axes, sizes / (sizes + penalty), rotated)
        left_out = (targets - fit) / (1 - np.minimum(leverage, 1 - 1e-9))[:, None, None]
        error = (left_out**2).sum(axis=(0, 2))
        better = error < best
        weights = np.einsum("ik,k,kav->iav", axes, 1 / (sizes + penalty), rotated)
        best[better] = error[better]
        fitted[:, better] = fit[:, better]
        scores[:, better] = np.einsum("ti,iav->tav", across, weights[:, better])
    centres = np.einsum("iav,iaw->avw", is_value / np.maximum(n_of_value, 1), fitted)  # of each value
    distances = ((scores[:, :, None, :] - centres) ** 2).sum(axis=3)
    distances[:, n_of_value == 0] = np.inf
    return distances.argmin(axis=2)
