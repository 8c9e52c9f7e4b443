r"""
How an encoder combines the distances of α and β.

The paper's supplementary figure "SCEPTR distances do not average α and β chain similarity arithmetically":
the correlation of an encoder's distances with the power mean of the two chains' TCRdist,

.. math:: M_p = \left(\frac{d_\alpha^p + d_\beta^p}{2}\right)^{1/p}

p = -∞ is the smaller of the two, 0 the geometric, 1 the arithmetic mean, ∞ the larger. The paper asks whether
that helps prediction: `auroc` is that of co-specific against other pairs by :math:`M_p` itself.
"""

import numpy as np
import pyarrow as pa
from matplotlib import pyplot as plt
from scipy import stats

from airrvec.analyses import EACH_ENCODER
from airrvec.analyses.material import Material, co_specific, pair_distances, tcrdist
from airrvec.encoders import title
from airrvec.report.figures import style
from airrvec.stats.metrics import auroc

TITLE = "Means of α and β distances"
SCOPE = EACH_ENCODER
SCHEMA = pa.schema(
    [
        ("encoder", pa.string()),
        ("exponent", pa.float64()),
        ("n_pairs", pa.int64()),
        ("pearson", pa.float64()),
        ("auroc", pa.float64()),
    ]
)
EXPONENTS = (-np.inf, -16.0, -8.0, -4.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, np.inf)


def power_mean(a: np.ndarray, b: np.ndarray, exponent: float) -> np.ndarray:
    """
    Power mean of two arrays of numbers, none negative; its limits where the exponent is 0 or infinite.

    With an exponent of 0 or less it is 0 where one of the two is.
    """
    low, high = np.minimum(a, b), np.maximum(a, b)
    if np.isinf(exponent):
        return low if exponent < 0 else high
    # Relative to one of the two, so that no power overflows: 0 < ratio <= 1.
    ratio = np.divide(low, high, out=np.ones_like(high, float), where=high > 0)
    if exponent == 0:
        return high * np.sqrt(ratio)
    if exponent > 0:
        return high * ((1 + ratio**exponent) / 2) ** (1 / exponent)
    inverse = np.divide(1, ratio, out=np.full_like(ratio, np.inf), where=ratio > 0)
    return low * ((1 + inverse**exponent) / 2) ** (1 / exponent)


def measure(material: Material) -> pa.Table:
    """Correlation with the power means of the chains' TCRdist, over pairs of random receptors."""
    sample = material.sample
    i, j = material.pairs(sample)
    distances = pair_distances(material.encoder, sample.receptors, i, j)
    alpha, beta = (tcrdist(sample.receptors, i, j, chain) for chain in ("alpha", "beta"))
    same = co_specific(sample, i, j)
    seen = np.isfinite(distances)
    varies = seen.sum() > 1 and np.ptp(distances[seen]) > 0
    rows = []
    for exponent in EXPONENTS:
        mean = power_mean(alpha, beta, exponent)
        rows.append(
            {
                "encoder": material.name,
                "exponent": exponent,
                "n_pairs": int(seen.sum()),
                "pearson": float(stats.pearsonr(mean[seen], distances[seen])[0]) if varies else None,
                "auroc": auroc(mean[same], mean[~same]) if 0 < same.sum() < len(same) else None,
            }
        )
    return pa.Table.from_pylist(rows, SCHEMA)


def label(exponent: float) -> str:
    """An exponent in words."""
    words = {-np.inf: "min", 0.0: "0 (geometric)", 1.0: "1 (arithmetic)", np.inf: "max"}
    return words.get(exponent, f"{exponent:g}")


def draw(table: pa.Table):
    """Correlation and AUROC against the exponent."""
    data = table.to_pandas()
    ticks = [label(exponent) for exponent in EXPONENTS]
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for index, (name, line) in enumerate(data.groupby("encoder", sort=False)):
        left.plot(ticks, line["pearson"], label=title(name), markersize=4, **style(index))
    right.plot(ticks, data.groupby("exponent")["auroc"].first(), color="black", marker="o", markersize=4)
    left.set_ylabel("Pearson's r with the encoder's distance")
    right.set_ylabel("AUROC of co-specific pairs")
    left.legend(frameon=False, fontsize=9)
    for axis in (left, right):
        axis.set_xlabel("Exponent of the mean of α and β TCRdist")
        plt.setp(axis.get_xticklabels(), rotation=45, ha="right", rotation_mode="anchor")
        axis.grid(alpha=0.3)
    return figure


def plot(table: pa.Table) -> dict:
    data = table.to_pandas().dropna(subset=["pearson"])
    aurocs = table.to_pandas().groupby("exponent")["auroc"].first().dropna()
    datasets = [
        {
            title(name): {label(row.exponent): round(row.pearson, 4) for row in line.itertuples()}
            for name, line in data.groupby("encoder", sort=False)
        }
    ]
    labels = [{"name": "Correlation", "ylab": "Pearson's r"}]
    if len(aurocs):
        datasets.append({"TCRdist": {label(p): round(value, 4) for p, value in aurocs.items()}})
        labels.append({"name": "Co-specific pairs", "ylab": "AUROC"})
    return {
        "kind": "linegraph",
        "data": datasets,
        "pconfig": {
            "xlab": "Exponent of the mean of α and β TCRdist",
            "ylab": "Pearson's r",
            "categories": True,
            "tt_decimals": 3,
            "style": "lines+markers",
            "showlegend": True,
            "data_labels": labels,
        },
    }


def reading(table: pa.Table) -> str:
    data = table.to_pandas().dropna(subset=["pearson"])
    best = data.loc[data.groupby("encoder", sort=False)["pearson"].idxmax()]
    found = ", ".join(f"{title(row.encoder)} {label(row.exponent)}" for row in best.itertuples())
    aurocs = table.to_pandas().groupby("exponent")["auroc"].first().dropna()
    words = f"The exponent that fits each encoder's distances best: {found}."
    if len(aurocs):
        words += (
            f" Co-specific pairs are told from others best by the mean of exponent {label(aurocs.idxmax())}"
            f" (AUROC {aurocs.max():.3f}; arithmetic {aurocs[1.0]:.3f})."
        )
    return words + (
        " The paper found exponents below 1 for SCEPTR, nearer to the smaller of the two distances than to"
        " their average, as which TCRdist is defined."
    )
