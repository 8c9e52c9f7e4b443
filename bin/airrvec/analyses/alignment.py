r"""
Alignment and uniformity of an encoder's vectors, against its AUROC.

The paper's Discussion, ``eq:alignment`` and ``eq:uniformity``, after Wang & Isola 2020:

.. math:: \mathrm{Align.} = E_{(x, x^+)} |f(x) - f(x^+)|, \quad
    \mathrm{Unif.} = \log E_{x, y} e^{-|f(x) - f(y)|^2}

over co-specific pairs and over all pairs of random labelled receptors. Vectors are l2-normalised, because the
equations are for points on a sphere. All receptors that share an epitope have the same weight.
"""

from airrvec.analyses import EACH_ENCODER, AnalysisSkipped
from airrvec.analyses.material import Material, with_mean_auroc
from airrvec.core import schema
from airrvec.core.seeds import generator
from airrvec.evaluation.fewshot import LabelledReceptors

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy.spatial.distance import pdist
from scipy.special import logsumexp

SCOPE = EACH_ENCODER
SCHEMA = schema.ALIGNMENT
PARTNERS = 10  # co-specific receptors drawn for each receptor of an epitope
MAX_RECEPTORS = 4_000  # most receptors for uniformity, over all pairs: 8 million distances


def measure(material: Material) -> pa.Table:
    """Return alignment and uniformity, by the paper's equations and as logged in training."""
    vectors = np.asarray(material.embed(material.sample.receptors), np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    has_vector = np.asarray(np.isfinite(vectors).all(axis=1))
    i, j = positive_pairs(material.sample, generator(material.seed, "alignment"))
    known = has_vector[i] & has_vector[j]
    if not known.any():
        raise AnalysisSkipped("no two receptors with a vector share an epitope")
    distances = np.linalg.norm(vectors[i[known]] - vectors[j[known]], axis=1)
    squares = pdist(vectors[has_vector][:MAX_RECEPTORS], "sqeuclidean")
    row = {
        "encoder": material.name,
        "n_receptors": int(has_vector.sum()),
        "n_dimensions": vectors.shape[1],
        "alignment": distances.mean(),
        "uniformity": _uniformity(squares, 1),
        "alignment_squared": np.square(distances).mean(),
        "uniformity_t2": _uniformity(squares, 2),
    }
    return pa.Table.from_pylist([row], SCHEMA)


def _uniformity(squares: np.ndarray, t: float) -> float:
    """Return the log of the mean of exp(-t d²) over pairs with the squared distances d²."""
    return logsumexp(-t * squares) - np.log(len(squares))


def positive_pairs(labelled: LabelledReceptors, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return row numbers of pairs: `PARTNERS` random co-specific partners per receptor and epitope."""
    pairs = [(np.array([], np.int64), np.array([], np.int64))]
    for rows in labelled.epitopes.values():
        if len(rows) > 1:
            own = np.repeat(np.arange(len(rows)), PARTNERS)
            other = (own + rng.integers(1, len(rows), len(own))) % len(rows)
            pairs.append((rows[own], rows[other]))
    first, second = zip(*pairs, strict=True)
    return np.concatenate(first), np.concatenate(second)


def conclude(measured: pa.Table, auroc: pd.DataFrame) -> pa.Table:
    """Add the mean AUROC over epitopes."""
    return with_mean_auroc(measured, auroc)
