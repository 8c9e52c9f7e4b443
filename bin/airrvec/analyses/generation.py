"""
Distances and co-specificity against the generation probability of receptors.

The paper's figure "SCEPTR embedding distances weight sequence similarity with respect to recombination
biases", panels b and c, and its supplementary figure "TCRdist and recombination probabilities are
negatively correlated when conditioning on different SCEPTR bins". As there, the probability of a
pair is the smaller probability of its two receptors. The probability of a receptor is the product over its
α and β chain, each with its V and J gene (`airrvec.synthetic.generation`).
"""

from airrvec.analyses import EACH_ENCODER, AnalysisSkipped
from airrvec.analyses.material import Material, co_specific, pair_distances, tcrdist
from airrvec.core import schema
from airrvec.core.terminal import counted
from airrvec.synthetic.generation import log10_probabilities

import numpy as np
import pyarrow as pa
from scipy import stats

SCOPE = EACH_ENCODER
SCHEMA = schema.GENERATION_ANALYSIS
# Bin edges as shares of all pairs, nearest first: finer for similar pairs, which the paper examines.
_DISTANCE_SHARES = (0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)
_PROBABILITY_SHARES = np.linspace(0, 1, 11)
MIN_PAIRS = 20  # per bin; with fewer pairs, no correlation is computed


def measure(material: Material) -> pa.Table:
    """Return means and correlations in bins of pairs, by encoder distance and by generation probability."""
    if material.generation is None or not len(material.generation):
        raise AnalysisSkipped("OLGA has no models of both chains of this species")
    sample = material.sample
    log_probability = log10_probabilities(material.generation)
    i, j = material.pairs(sample)
    columns = {
        "distance": pair_distances(material.encoder, sample.receptors, i, j),
        "tcrdist": tcrdist(sample.receptors, i, j),
        "log10_probability": np.minimum(log_probability[i], log_probability[j]),
        "co_specific": co_specific(sample, i, j).astype(float),
    }
    known = np.isfinite(columns["distance"]) & np.isfinite(columns["log10_probability"])
    columns = {name: values[known] for name, values in columns.items()}
    if known.sum() < MIN_PAIRS:
        n = counted(known.sum(), "pair has", "pairs have")
        raise AnalysisSkipped(f"only {n} a generation probability and a distance")
    rows = [
        {"encoder": material.name, "binned_by": words, **row}
        for words, name, shares in (
            ("distance", "distance", _DISTANCE_SHARES),
            ("probability", "log10_probability", _PROBABILITY_SHARES),
        )
        for row in _bins(columns, name, np.unique(np.quantile(columns[name], shares)))
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


def _bins(columns: dict[str, np.ndarray], name: str, edges: np.ndarray) -> list[dict]:
    """Return means per bin; a bin includes its lower edge, the last bin both edges."""
    number = np.clip(np.searchsorted(edges, columns[name], side="right") - 1, 0, max(len(edges) - 2, 0))
    rows = []
    for index in np.unique(number):
        in_bin = {column: values[number == index] for column, values in columns.items()}
        rows.append(
            {
                "low": edges[index],
                "high": edges[min(index + 1, len(edges) - 1)],
                "n_pairs": len(in_bin[name]),
                "mean_distance": in_bin["distance"].mean(),
                "mean_tcrdist": in_bin["tcrdist"].mean(),
                "mean_log10_probability": in_bin["log10_probability"].mean(),
                "co_specific": in_bin["co_specific"].mean(),
                **_correlation(in_bin["tcrdist"], in_bin["log10_probability"]),
            }
        )
    return rows


def _correlation(a: np.ndarray, b: np.ndarray) -> dict:
    """Return Pearson's r and its 95 % interval by Fisher's z, as if pairs shared no receptors."""
    if len(a) < MIN_PAIRS or np.ptp(a) == 0 or np.ptp(b) == 0:
        return {}
    result = stats.pearsonr(a, b)
    interval = result.confidence_interval(0.95)
    return {"pearson": result.statistic, "pearson_low": interval.low, "pearson_high": interval.high}
