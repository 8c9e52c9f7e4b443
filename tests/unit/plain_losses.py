"""Contrastive losses by plain loops, and views to compute them of."""

from math import dist, exp, log

import torch
import torch.nn.functional as F
from hypothesis import settings
from hypothesis import strategies as st

SEARCH = settings(max_examples=60, deadline=None, derandomize=True)


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


def copies_of(n: int, seed: int, n_labels: int = 3):
    """Rows of fewer receptors than rows, the labels of the rows, and all labels of each row's receptor."""
    generator = torch.Generator().manual_seed(seed)
    receptors = torch.randint(max(n // 2, 1), (n,), generator=generator)
    labels = torch.randint(n_labels, (n,), generator=generator)
    known = torch.zeros(n, n_labels, dtype=torch.bool)
    for row in range(n):
        known[row, labels[receptors == receptors[row]]] = True
    return receptors, labels, known
