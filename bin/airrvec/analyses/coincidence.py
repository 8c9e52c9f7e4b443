r"""
Probability of coincidence against a threshold of TCRdist.

The paper's supplementary figure "Statistics of pairwise sequence similarities between pMHC-specific TCRs
used in benchmarking": of an epitope the share of pairs of its receptors within a TCRdist,

.. math:: p_C(\Delta) = P(d(x, y) \leq \Delta)

Here also that of background pairs, random labelled receptors that share no epitope, and the ratio of the two.
"""

import numpy as np
import pyarrow as pa
from matplotlib import pyplot as plt

from airrvec.analyses import ONCE, NotDone
from airrvec.analyses.material import Material, co_specific, pairs, tcrdist
from airrvec.core.seeds import generator
from airrvec.report.figures import plain, style

TITLE = "Probability of coincidence"
SCOPE = ONCE
SCHEMA = pa.schema(
    [
        ("epitope", pa.string()),
        ("tcrdist", pa.int32()),
        ("n_pairs", pa.int64()),
        ("probability", pa.float64()),
        ("background", pa.float64()),
        ("ratio", pa.float64()),
    ]
)
THRESHOLDS = np.arange(0, 421, 12)
SHOWN = 6  # epitopes of the most receptors, in the figures


def measure(material: Material) -> pa.Table:
    """Cumulative probabilities of every epitope that has enough receptors, largest first."""
    sample = material.sample
    i, j = material.pairs(sample)
    others = ~co_specific(sample, i, j)
    if not others.any():
        raise NotDone("all pairs of receptors share an epitope: there is no background")
    background = cumulative(tcrdist(sample.receptors, i[others], j[others]))
    epitopes = sorted(material.epitopes.items(), key=lambda item: (-len(item[1]), item[0]))
    if not epitopes:
        raise NotDone(f"no epitope has {material.min_receptors} receptors")
    parts = []
    for epitope, rows in epitopes:
        receptors = material.labelled.receptors.take(pa.array(rows))
        i, j = pairs(len(rows), generator(material.seed, "coincidence", epitope))
        if not len(i):
            continue
        within = cumulative(tcrdist(receptors, i, j))
        # No background pair so near: the ratio is not known.
        ratio = np.divide(within, background, out=np.full(len(within), np.nan), where=background > 0)
        n = len(THRESHOLDS)
        columns = [
            pa.repeat(epitope, n), THRESHOLDS, np.full(n, len(i)), within, background,
            pa.array(ratio, from_pandas=True),
        ]  # fmt: skip
        parts.append(pa.table([*columns], names=SCHEMA.names).cast(SCHEMA))
    return pa.concat_tables(parts)


def cumulative(distances: np.ndarray) -> np.ndarray:
    """Share of distances not above each of `THRESHOLDS`."""
    return np.searchsorted(np.sort(distances), THRESHOLDS, side="right") / len(distances)


def draw(table: pa.Table):
    """Probabilities, and their ratio to the background's."""
    data = table.to_pandas()
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
    for index, (epitope, line) in enumerate(list(data.groupby("epitope", sort=False))[:SHOWN]):
        look = {**style(index), "markersize": 3}
        positive = line[line["probability"] > 0]
        left.plot(positive["tcrdist"], positive["probability"], label=plain(epitope), **look)
        right.plot(positive["tcrdist"], positive["ratio"], **look)
    background = data[(data["epitope"] == data["epitope"].iloc[0]) & (data["background"] > 0)]
    left.plot(
        background["tcrdist"], background["background"], color="grey", linestyle=":", label="background"
    )
    right.axhline(1, color="grey", linestyle=":")
    left.set_ylabel("Share of pairs within the TCRdist")
    right.set_ylabel("Ratio to the background")
    left.legend(frameon=False, fontsize=8)
    for axis in (left, right):
        axis.set_xlabel("TCRdist")
        axis.set_yscale("log")
        axis.grid(alpha=0.3)
    return figure


def plot(table: pa.Table) -> dict:
    data = table.to_pandas()
    shown = list(data.groupby("epitope", sort=False))[:SHOWN]
    first = shown[0][1]
    probabilities = {epitope: _line(line, "probability") for epitope, line in shown}
    probabilities["background"] = _line(first, "background")
    return {
        "kind": "linegraph",
        "data": [probabilities, {epitope: _line(line, "ratio") for epitope, line in shown}],
        "pconfig": {
            "xlab": "TCRdist",
            "ylab": "Share of pairs within the TCRdist",
            "ylog": True,
            "showlegend": True,
            "data_labels": [
                {"name": "Probability", "ylab": "Share of pairs within the TCRdist"},
                {"name": "Ratio to the background", "ylab": "Ratio"},
            ],
        },
    }


def _line(data, column: str) -> dict[int, float]:
    """Threshold → value, where there is one that a logarithm has."""
    known = data[data[column] > 0]
    return {int(x): float(f"{y:.4g}") for x, y in zip(known["tcrdist"], known[column], strict=True)}


def reading(table: pa.Table) -> str:
    data = table.to_pandas()
    near = data[data["tcrdist"] == 120].sort_values("probability", ascending=False)
    found = ", ".join(f"{row.epitope} {100 * row.probability:.1f} %" for row in near.head(SHOWN).itertuples())
    return (
        f"Share of an epitope's pairs within a TCRdist of 120: {found};"
        f" background pairs: {100 * near['background'].iloc[0]:.2f} %. In the paper the epitopes that are"
        " easiest to predict have the fewest dissimilar pairs, and TFEYVSQPFLMDLE the most alike."
    )
