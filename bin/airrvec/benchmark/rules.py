"""
Rules that turn an epitope's references into one score of a receptor; lower is nearer.

A rule of distances takes those of n receptors to the k references of one epitope, shape (..., n, k), and
to the references of all epitopes together, shape (..., n, m); only ``contrast`` looks at the latter. A
rule of vectors takes those of all receptors, the references and a background.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.svm import LinearSVC

# Fits Euclidean distances of unit vectors; the temperature of SCEPTR's losses has the same value.
KERNEL = 0.05


def nearest_neighbour(to_epitope: np.ndarray, to_all: np.ndarray | None = None) -> np.ndarray:
    """Distance to the nearest reference (paper, Results, "Benchmarking PLM embeddings")."""
    return to_epitope.min(axis=-1)


def average_distance(to_epitope: np.ndarray, to_all: np.ndarray | None = None) -> np.ndarray:
    """Mean distance to the references (paper, Results, "Supervised contrastive learning as …")."""
    return to_epitope.mean(axis=-1)


def mean_of_nearest(to_epitope: np.ndarray, to_all: np.ndarray | None = None, *, m: int = 5) -> np.ndarray:
    """Mean distance to the ``m`` nearest references, or to all where there are fewer."""
    m = min(m, to_epitope.shape[-1])
    return np.partition(to_epitope, m - 1, axis=-1)[..., :m].mean(axis=-1)


def soft_nearest_neighbour(
    to_epitope: np.ndarray, to_all: np.ndarray | None = None, *, kernel: float = KERNEL
) -> np.ndarray:
    """
    Smooth minimum of the distances: −kernel · log Σ exp(−d / kernel).

    The negative log density of the references about the receptor, so that several near references
    count for more than one.

    Parameters
    ----------
    to_epitope : ndarray, shape (..., n, k)
        Distances to the references.
    to_all : ndarray, shape (..., n, m), optional
        Not used.
    kernel : float
        Width, in the distances' unit. Far below their differences the rule is the nearest neighbour.

    Returns
    -------
    ndarray, shape (..., n)
    """
    nearest = to_epitope.min(axis=-1, keepdims=True)
    excess = (nearest - to_epitope) / kernel
    return nearest[..., 0] - kernel * np.log(np.exp(excess, out=excess).sum(axis=-1))


def contrast(to_epitope: np.ndarray, to_all: np.ndarray, *, kernel: float = KERNEL) -> np.ndarray:
    """
    `soft_nearest_neighbour` to the epitope's references minus that to all epitopes' references.

    −kernel times the log of the epitope's share in the density about the receptor: near references of
    other epitopes speak against this one.

    Parameters
    ----------
    to_epitope : ndarray, shape (..., n, k)
        Distances to the epitope's references.
    to_all : ndarray, shape (..., n, m)
        Distances to the references of all epitopes, this one included.
    kernel : float
        Width, in the distances' unit.

    Returns
    -------
    ndarray, shape (..., n)
    """
    return soft_nearest_neighbour(to_epitope, kernel=kernel) - soft_nearest_neighbour(to_all, kernel=kernel)


def linear_svc(vectors: np.ndarray, references: np.ndarray, background: np.ndarray) -> np.ndarray:
    """
    Distance from the plane that a linear support vector classifier lays between references and background.

    The penalties of the two classes are weighted by their sizes (paper, Appendix "Learning features
    within embedding spaces").

    Parameters
    ----------
    vectors : ndarray, shape (n, d)
        Of all receptors.
    references : ndarray of int, shape (k,)
        Rows of ``vectors`` that are the positives.
    background : ndarray, shape (b, d)
        The negatives.

    Returns
    -------
    ndarray, shape (n,)
        Negative on the references' side.
    """
    examples = np.concatenate([vectors[references], background])
    labels = np.arange(len(examples)) < len(references)
    classifier = LinearSVC(class_weight="balanced", random_state=0).fit(examples, labels)
    return -classifier.decision_function(vectors)


class Rule(NamedTuple):
    """A rule, what people call it, and what it takes: distances to the epitope or to all, or vectors."""

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
OF_DISTANCES = {name: rule for name, rule in RULES.items() if rule.takes != "vectors"}
