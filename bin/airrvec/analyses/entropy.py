r"""
Diversity of an epitope's receptors, against their AUROC.

The paper's supplementary figure "Sequence diversity of pMHC-specific TCRs used in benchmarking": coincidence
(second-order Rényi) entropies of V genes, J genes and junctions,

.. math:: H_2 = -\log_2 p_C, \quad p_C = \sum_i \frac{n_i (n_i - 1)}{N (N - 1)}

with the standard deviation of :math:`p_C` by the unbiased estimator of Tiffeau-Mayer (2024), as in pyrepseq.
The paper compares them with the AUROC of fine-tuned SCEPTR; here with that of every encoder.
"""

from airrvec.analyses import ONCE, AnalysisSkipped
from airrvec.analyses.material import Material
from airrvec.core import schema

import numpy as np
import pandas as pd
import pyarrow as pa

SCOPE = ONCE
SCHEMA = schema.ENTROPY
_MEASURED = SCHEMA.names[:7]
FEATURES = {
    "tra_v_call": "TRAV",
    "trb_v_call": "TRBV",
    "tra_j_call": "TRAJ",
    "trb_j_call": "TRBJ",
    "tra_junction_aa": "α junction",
    "trb_junction_aa": "β junction",
}


def coincidence(values: np.ndarray) -> tuple[float, float]:
    """
    Return the probability that two different members of a sample are equal, and its standard deviation.

    Parameters
    ----------
    values : ndarray, shape (N,)
        Values of the members; at least four.
    """
    counts = np.unique(values, return_counts=True)[1].astype(float)
    n = counts.sum()
    p2 = (counts * (counts - 1)).sum() / (n * (n - 1))
    p3 = (counts * (counts - 1) * (counts - 2)).sum() / (n * (n - 1) * (n - 2))
    beta = 2 * (2 * n - 3) / ((n - 2) * (n - 3))
    variance = (
        4 * (n - 2) / (n * (n - 1)) * (1 + beta) * p3 - beta * p2**2 + 2 / (n * (n - 1)) * (1 + beta) * p2
    )
    return p2, np.sqrt(max(variance, 0.0))


def measure(material: Material) -> pa.Table:
    """Return entropies of six features of every epitope with enough receptors; genes without alleles."""
    columns = {
        name: np.array(
            [value.split("*")[0] for value in material.labelled.receptors[name].to_pylist()], object
        )
        for name in schema.RECEPTOR_FIELDS
    }
    rows = [
        {"epitope": epitope, "feature": name, "n_receptors": len(own), **_entropy(columns[name][own])}
        for epitope, own in material.epitopes.items()
        if len(own) > 3
        for name in FEATURES
    ]
    if not rows:
        raise AnalysisSkipped(f"no epitope has {material.min_receptors} receptors")
    return pa.Table.from_pylist(rows, SCHEMA)


def _entropy(values: np.ndarray) -> dict[str, float | None]:
    """Return the entropy; null if no two values coincide, because it is then only known to be large."""
    p, deviation = coincidence(values)
    return {
        "coincidence": p,
        "coincidence_std": deviation,
        "entropy_bits": -np.log2(p) + 0.0 if p else None,
        "entropy_std": deviation / p / np.log(2) if p else None,
    }


def conclude(measured: pa.Table, auroc: pd.DataFrame) -> pa.Table:
    """Add the AUROC of each epitope and encoder to the entropies, and their correlation over epitopes."""
    data = measured.to_pandas()[_MEASURED]
    per_epitope = auroc[auroc["epitope"] != "mean"]
    data = data.merge(per_epitope, on="epitope", how="left")
    correlations = {
        key: group["entropy_bits"].corr(group["auroc"], method="spearman")
        for key, group in data.dropna(subset=["entropy_bits", "auroc"]).groupby(["encoder", "feature"])
        if len(group) > 2
    }
    keys = zip(data["encoder"], data["feature"], strict=True)
    data["spearman"] = [correlations.get(key) for key in keys]
    return pa.Table.from_pandas(data, SCHEMA, preserve_index=False)
