"""
Distances and co-specificity against the probability that recombination makes a receptor.

The paper's figure "SCEPTR embedding distances weight sequence similarity with respect to recombination
biases", panels b and c, and its supplementary figure "TCRdist and recombination probabilities are
negatively correlated when conditioning on different SCEPTR bins". The probability of a pair is, as there,
the smaller of its two receptors'; a receptor's is that of its α times that of its β chain, each with its V
and J gene (`airrvec.synthetic.generation`).
"""

import numpy as np
import pyarrow as pa
from matplotlib import pyplot as plt
from scipy import stats

from airrvec.analyses import EACH_ENCODER, NotDone
from airrvec.analyses.material import Material, co_specific, pair_distances, tcrdist
from airrvec.encoders import title
from airrvec.report.figures import style
from airrvec.synthetic.generation import log10_of_receptors

TITLE = "Distances and generation probability"
SCOPE = EACH_ENCODER
SCHEMA = pa.schema(
    [
        ("encoder", pa.string()),
        ("binned_by", pa.string()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("n_pairs", pa.int64()),
        ("mean_distance", pa.float64()),
        ("mean_tcrdist", pa.float64()),
        ("mean_log10_probability", pa.float64()),
        ("co_specific", pa.float64()),
        ("pearson", pa.float64()),
        ("pearson_low", pa.float64()),
        ("pearson_high", pa.float64()),
    ]
)
# Shares of all pairs, nearest first: similar pairs are few, and what the paper looks at.
_BY_DISTANCE = (0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)
_BY_PROBABILITY = np.linspace(0, 1, 11)
MIN_PAIRS = 20  # of a bin; fewer have no correlation worth the name


def measure(material: Material) -> pa.Table:
    """Bins of pairs by the encoder's distance, and by generation probability."""
    if material.generation is None or not len(material.generation):
        raise NotDone("OLGA has no models of both chains of this species")
    sample = material.sample
    log_probability = log10_of_receptors(material.generation)
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
        raise NotDone(f"generation probabilities and distances are known of {known.sum()} pairs alone")
    rows = [
        {"encoder": material.name, "binned_by": words, **row}
        for words, name, shares in (
            ("distance", "distance", _BY_DISTANCE),
            ("probability", "log10_probability", _BY_PROBABILITY),
        )
        for row in _bins(columns, name, np.unique(np.quantile(columns[name], shares)))
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


def _bins(columns: dict[str, np.ndarray], name: str, edges: np.ndarray) -> list[dict]:
    """Means in bins, each with its lower edge, the last with both."""
    number = np.clip(np.searchsorted(edges, columns[name], side="right") - 1, 0, max(len(edges) - 2, 0))
    rows = []
    for index in np.unique(number):
        own = {column: values[number == index] for column, values in columns.items()}
        rows.append(
            {
                "low": edges[index],
                "high": edges[min(index + 1, len(edges) - 1)],
                "n_pairs": len(own[name]),
                "mean_distance": own["distance"].mean(),
                "mean_tcrdist": own["tcrdist"].mean(),
                "mean_log10_probability": own["log10_probability"].mean(),
                "co_specific": own["co_specific"].mean(),
                **_correlation(own["tcrdist"], own["log10_probability"]),
            }
        )
    return rows


def _correlation(a: np.ndarray, b: np.ndarray) -> dict:
    """Pearson's r and its 95 % interval by Fisher's z, as if pairs that share a receptor were independent."""
    if len(a) < MIN_PAIRS or np.ptp(a) == 0 or np.ptp(b) == 0:
        return {}
    result = stats.pearsonr(a, b)
    interval = result.confidence_interval(0.95)
    return {"pearson": result.statistic, "pearson_low": interval.low, "pearson_high": interval.high}


def draw(table: pa.Table):
    """Correlation of TCRdist with probability by distance; co-specific pairs by probability."""
    data = table.to_pandas()
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for index, (name, of_encoder) in enumerate(data.groupby("encoder", sort=False)):
        line = of_encoder[(of_encoder["binned_by"] == "distance") & of_encoder["pearson"].notna()]
        x = line["mean_distance"] / line["mean_distance"].max()
        left.plot(x, line["pearson"], label=title(name), markersize=4, **style(index))
        left.fill_between(
            x, line["pearson_low"], line["pearson_high"], color=style(index)["color"], alpha=0.15
        )
    share = _by_probability(data)
    right.plot(share["mean_log10_probability"], 100 * share["co_specific"], color="black", marker="o")
    left.axhline(0, color="grey", linewidth=0.8, linestyle=":")
    left.set_xlabel("Encoder's distance (1: the farthest bin)")
    left.set_ylabel("Pearson's r, TCRdist with log generation probability")
    right.set_xlabel("log10 generation probability, the smaller of the pair")
    right.set_ylabel("Co-specific pairs, %")
    right.set_ylim(0)
    left.legend(frameon=False, fontsize=9)
    for axis in (left, right):
        axis.grid(alpha=0.3)
    return figure


def _by_probability(data):
    """The bins by probability, which are the same for all encoders."""
    return data[(data["binned_by"] == "probability") & (data["encoder"] == data["encoder"].iloc[0])]


def plot(table: pa.Table) -> dict:
    data = table.to_pandas()
    by_distance = data[(data["binned_by"] == "distance") & data["pearson"].notna()]
    far = by_distance.groupby("encoder")["mean_distance"].max()
    return {
        "kind": "linegraph",
        "data": [
            {
                title(name): {
                    round(row.mean_distance / (far[name] or 1), 4): round(row.pearson, 4)
                    for row in line.itertuples()
                }
                for name, line in by_distance.groupby("encoder", sort=False)
            },
            {
                "pairs": {
                    round(row.mean_log10_probability, 3): round(100 * row.co_specific, 4)
                    for row in _by_probability(data).itertuples()
                }
            },
        ],
        "pconfig": {
            "xlab": "Encoder's distance (1: the farthest bin)",
            "ylab": "Pearson's r",
            "tt_decimals": 3,
            "style": "lines+markers",
            "showlegend": True,
            "data_labels": [
                {
                    "name": "Correlation",
                    "ylab": "Pearson's r",
                    "xlab": "Encoder's distance (1: the farthest bin)",
                },
                {
                    "name": "Co-specific pairs",
                    "ylab": "%",
                    "xlab": "log10 generation probability, the smaller of the pair",
                },
            ],
        },
    }


def reading(table: pa.Table) -> str:
    data = table.to_pandas()
    near = (
        data[(data["binned_by"] == "distance") & data["pearson"].notna()]
        .groupby("encoder", sort=False)
        .head(5)
    )
    found = ", ".join(
        f"{title(name)} {np.average(bins['pearson'], weights=bins['n_pairs']):.2f}"
        for name, bins in near.groupby("encoder", sort=False)
    )
    share = _by_probability(data)
    return (
        "Pearson's r of TCRdist with log generation probability among the tenth of the pairs that an encoder"
        f" holds nearest (mean of its bins): {found or 'too few pairs'}. Below 0, the encoder brings together"
        " receptors that differ more where recombination makes few; the paper found SCEPTR to do so."
        f" {100 * share['co_specific'].iloc[0]:.1f} % of the pairs are co-specific in the tenth of the lowest"
        f" probability, {100 * share['co_specific'].iloc[-1]:.1f} % in that of the highest."
    )
