"""
Distances of an encoder against TCRdist.

The paper's section "Comparison of SCEPTR embeddings to alignment-based TCR similarity" and its figure "SCEPTR
embedding distances weight sequence similarity with respect to recombination biases", panel a: all pairs of a
thousand receptors. Here also the co-specific ones among them, and every encoder.
"""

import numpy as np
import pyarrow as pa
from scipy import stats

from airrvec.analyses import EACH_ENCODER, NotDone
from airrvec.analyses.material import Material, co_specific, pair_distances, tcrdist
from airrvec.encoders import title
from airrvec.report.figures import panels, style

TITLE = "Distances against TCRdist"
SCOPE = EACH_ENCODER
SCHEMA = pa.schema(
    [
        ("encoder", pa.string()),
        ("pairs", pa.string()),
        ("tcrdist", pa.int32()),
        ("n_pairs", pa.int64()),
        *((f"distance_q{q:02d}", pa.float64()) for q in (5, 25, 50, 75, 95)),
        ("spearman", pa.float64()),
        ("pearson", pa.float64()),
    ]
)
BIN = 24  # TCRdist of a bin
KINDS = {"all": "All pairs", "co_specific": "Co-specific pairs"}


def measure(material: Material) -> pa.Table:
    """Quantiles of the encoder's distance by TCRdist, and the correlation of the two over all pairs."""
    if material.name == "tcrdist":
        raise NotDone("it is what the others are compared with")
    receptors = material.sample.receptors
    i, j = material.pairs(material.sample)
    distances = pair_distances(material.encoder, receptors, i, j)
    by_tcrdist = tcrdist(receptors, i, j)
    same = co_specific(material.sample, i, j)
    seen = np.isfinite(distances)
    return pa.concat_tables(
        _quantiles(material.name, kind, by_tcrdist[of_kind & seen], distances[of_kind & seen])
        for kind, of_kind in (("all", np.ones(len(i), bool)), ("co_specific", same))
    )


def _quantiles(name: str, kind: str, by_tcrdist: np.ndarray, distances: np.ndarray) -> pa.Table:
    if len(distances) < 2:
        return SCHEMA.empty_table()
    bins = (by_tcrdist // BIN).astype(int)
    # Of a constant there is no correlation: null.
    varies = np.ptp(distances) > 0 and np.ptp(by_tcrdist) > 0
    correlations = {
        "spearman": float(stats.spearmanr(by_tcrdist, distances)[0]) if varies else None,
        "pearson": float(stats.pearsonr(by_tcrdist, distances)[0]) if varies else None,
    }
    rows = []
    for number in np.unique(bins):
        own = distances[bins == number]
        quantiles = np.quantile(own, (0.05, 0.25, 0.5, 0.75, 0.95))
        rows.append(
            {
                **{"encoder": name, "pairs": kind, "tcrdist": number * BIN, "n_pairs": len(own)},
                **dict(zip(SCHEMA.names[4:9], quantiles.tolist(), strict=True)),
                **correlations,
            }
        )
    return pa.Table.from_pylist(rows, SCHEMA)


def draw(table: pa.Table):
    """A panel an encoder: medians with the middle half and nine tenths of the pairs as bands."""
    data = table.to_pandas()
    names = list(data["encoder"].unique())
    figure, axes = panels(len(names), 4.2, 3.6, sharex=True)
    for axis, name in zip(axes.flat, names, strict=False):
        of_encoder = data[data["encoder"] == name]
        for index, (kind, words) in enumerate(KINDS.items()):
            line = of_encoder[of_encoder["pairs"] == kind]
            if line.empty:
                continue
            x, colour = line["tcrdist"] + BIN / 2, style(index)["color"]
            axis.plot(x, line["distance_q50"], label=words, markersize=4, **style(index))
            for low, high, alpha in (("05", "95", 0.12), ("25", "75", 0.22)):
                bounds = (line[f"distance_q{low}"], line[f"distance_q{high}"])
                axis.fill_between(x, *bounds, color=colour, alpha=alpha, linewidth=0)
        axis.set_title(f"{title(name)} (Spearman's ρ = {_spearman(data, name):.2f})", fontsize=10)
        axis.set_xlabel("TCRdist")
        axis.set_ylabel("Distance")
        axis.grid(alpha=0.3)
    axes[0, 0].legend(frameon=False, fontsize=9)
    return figure


def plot(table: pa.Table) -> dict:
    data = table.to_pandas()
    kinds = [kind for kind in KINDS if kind in set(data["pairs"])]
    # Each encoder has its own unit: the distance is shown relative to the median of its widest bin.
    unit = data.loc[data.groupby("encoder")["n_pairs"].idxmax()].set_index("encoder")["distance_q50"]
    return {
        "kind": "linegraph",
        "data": [
            {
                title(name): {
                    int(row.tcrdist + BIN / 2): round(row.distance_q50 / (unit[name] or 1), 4)
                    for row in group.itertuples()
                }
                for name, group in data[data["pairs"] == kind].groupby("encoder", sort=False)
            }
            for kind in kinds
        ],
        "pconfig": {
            "xlab": "TCRdist",
            "ylab": "Median distance (1: of the most frequent TCRdist)",
            "tt_decimals": 3,
            "showlegend": True,
            "data_labels": [{"name": KINDS[kind]} for kind in kinds],
        },
    }


def reading(table: pa.Table) -> str:
    data = table.to_pandas()
    found = ", ".join(f"{title(name)} {_spearman(data, name):.2f}" for name in data["encoder"].unique())
    return (
        f"Spearman's correlation with TCRdist over pairs of random labelled receptors: {found}."
        " The paper found SCEPTR's distances clearly correlated with TCRdist, with much scatter left."
    )


def _spearman(data, name: str) -> float:
    of_all = data[(data["encoder"] == name) & (data["pairs"] == "all")]
    return float(of_all["spearman"].iloc[0]) if len(of_all) else np.nan
