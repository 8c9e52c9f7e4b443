"""
Rules that score a receptor against the references of an epitope; lower is nearer.

A distance rule takes the distances of n receptors to the k references of one epitope, shape (..., n, k), and
to the m references of all epitopes, shape (..., n, m); only ``contrast`` uses the latter. A vector rule takes
the vectors of all receptors, the references and a background set.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

# Suits Euclidean distances of unit vectors; equals the temperature of SCEPTR's losses.
KERNEL = 0.05
# For other distances, in their standard deviations: SCEPTR's 0.05 in those of VDJdb of June 2023, 0.112.
KERNEL_IN_SPREADS = 0.45


def nearest_neighbour(to_epitope: np.ndarray, to_all: np.ndarray | None = None) -> np.ndarray:
    """
    Return the distance to the nearest reference (paper, Results, "Benchmarking PLM embeddings").

    Examples
    --------
    >>> nearest_neighbour(np.array([[0.1, 0.5], [0.7, 0.9]]), None)  # two receptors, two references
    array([0.1, 0.7])
    """
    return to_epitope.min(axis=-1)


def average_distance(to_epitope: np.ndarray, to_all: np.ndarray | None = None) -> np.ndarray:
    """Return the mean distance to the references (paper, Results, "Supervised contrastive learning as …")."""
    return to_epitope.mean(axis=-1)


def mean_of_nearest(to_epitope: np.ndarray, to_all: np.ndarray | None = None, *, m: int = 5) -> np.ndarray:
    """
    Return the mean distance to the ``m`` nearest references, or to all if there are fewer.

    Examples
    --------
    >>> mean_of_nearest(np.array([[0.1, 0.5, 0.9]]), None, m=2)
    array([0.3])
    """
    m = min(m, to_epitope.shape[-1])
    return np.partition(to_epitope, m - 1, axis=-1)[..., :m].mean(axis=-1)


def soft_nearest_neighbour(
    to_epitope: np.ndarray, to_all: np.ndarray | None = None, *, kernel: float = KERNEL
) -> np.ndarray:
    """
    Return a smooth minimum of the distances: −kernel · log Σ exp(−d / kernel).

    This is the negative log density of the references around the receptor: several near references count
    more than one.

    Parameters
    ----------
    to_epitope : ndarray, shape (..., n, k)
        Distances to the references.
    to_all : ndarray, shape (..., n, m), optional
        Not used.
    kernel : float
        Kernel width, in the unit of the distances. If it is much smaller than their differences, the rule
        equals the nearest neighbour.

    Returns
    -------
    ndarray, shape (..., n)
    """
    nearest = to_epitope.min(axis=-1, keepdims=True)
    excess = (nearest - to_epitope) / kernel
    return nearest[..., 0] - kernel * np.log(np.exp(excess, out=excess).sum(axis=-1))


def contrast(to_epitope: np.ndarray, to_all: np.ndarray, *, kernel: float = KERNEL) -> np.ndarray:
    """
    Return `soft_nearest_neighbour` to the epitope's references minus that to all epitopes' references.

    This is −kernel times the log of the epitope's share of the density around the receptor: near references
    of other epitopes are evidence against this one.

    Parameters
    ----------
    to_epitope : ndarray, shape (..., n, k)
        Distances to the epitope's references.
    to_all : ndarray, shape (..., n, m)
        Distances to the references of all epitopes, this one included.
    kernel : float
        Kernel width, in the unit of the distances.

    Returns
    -------
    ndarray, shape (..., n)
    """
    return soft_nearest_neighbour(to_epitope, kernel=kernel) - soft_nearest_neighbour(to_all, kernel=kernel)


def linear_svc(vectors: np.ndarray, references: np.ndarray, background: np.ndarray) -> np.ndarray:
    """
    Return the score of a linear support vector classifier of references against background receptors.

    Class weights are inversely proportional to class sizes (paper, Appendix "Learning features within
    embedding spaces").

    Parameters
    ----------
    vectors : ndarray, shape (n, d)
        Vectors of all receptors.
    references : ndarray of int, shape (k,)
        Rows of ``vectors`` that are the positives.
    background : ndarray, shape (b, d)
        Vectors of the negatives.

    Returns
    -------
    ndarray, shape (n,)
        Signed score relative to the separating plane; negative on the side of the references.
    """
    examples = np.concatenate([vectors[references], background])
    labels = np.arange(len(examples)) < len(references)
    from sklearn.svm import LinearSVC  # takes a second, and other rules need none of it

    classifier = LinearSVC(class_weight="balanced", random_state=0).fit(examples, labels)
    return -classifier.decision_function(vectors)


class Rule(NamedTuple):
    """A rule, its title, and its input: distances to the ``epitope`` or to ``all``, or ``vectors``."""

    score: Callable[..., np.ndarray]
    title: str
    takes: str = "epitope"


RULES = {
    "nearest_neighbour": Rule(nearest_neighbour, "nearest neighbour"),
    "average_distance": Rule(average_distance, "average distance"),
    "mean_of_nearest": Rule(mean_of_nearest, "mean of the 5 nearest"),
    "soft_nearest_neighbour": Rule(soft_nearest_neighbour, "soft nearest neighbour"),
    "contrast": Rule(contrast, "contrast with the other epitopes", "all"),
    "linear_svc": Rule(linear_svc, "linear support vector classifier", "vectors"),
}
DISTANCE_RULES = {name: rule for name, rule in RULES.items() if rule.takes != "vectors"}
