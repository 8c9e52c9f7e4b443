"""Figure, table and text of the analysis ``entropy``."""

from airrvec.analyses.entropy import FEATURES
from airrvec.core.terminal import counted
from airrvec.encoders import Titles
from airrvec.figures.style import style

import pandas as pd
import pyarrow as pa
from matplotlib import pyplot as plt

TITLE = "Diversity of an epitope's receptors"


def draw(table: pa.Table, titles: Titles):
    """Draw AUROC against entropy, one panel per feature; without any AUROC, draw the entropies as bars."""
    data = table.to_pandas()
    measured = data["auroc"].notna().any()
    figure, axes = plt.subplots(2, 3, figsize=(12, 7), layout="constrained", sharey=True)
    epitopes = sorted(data["epitope"].unique())
    for axis, (feature, words) in zip(axes.T.flat, FEATURES.items(), strict=True):
        feature_rows = data[data["feature"] == feature]
        if measured:
            for index, (name, points) in enumerate(feature_rows.dropna(subset=["auroc"]).groupby("encoder")):
                look = {**style(index), "linestyle": ""}
                axis.errorbar(
                    points["entropy_bits"], points["auroc"], xerr=points["entropy_std"], label=titles[name],
                    markersize=4, elinewidth=0.6, **look,
                )  # fmt: skip
        else:
            points = feature_rows.drop_duplicates("epitope").set_index("epitope").reindex(epitopes)
            axis.barh(epitopes, points["entropy_bits"], xerr=points["entropy_std"], color=style(0)["color"])
        axis.set_title(words, fontsize=10)
        axis.set_xlabel("Entropy (bits)")
        axis.grid(alpha=0.3)
    if measured:
        for axis in axes[:, 0]:
            axis.set_ylabel(f"AUROC, k = {data['k'].max():.0f}")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right upper", frameon=False, fontsize=8)
    return figure


def plot(table: pa.Table, titles: Titles) -> dict:
    data = table.to_pandas()
    once = data.drop_duplicates(["epitope", "feature"])
    rows = {}
    for row in once.itertuples():
        cells = rows.setdefault(row.epitope, {"n": row.n_receptors})
        cells[row.feature] = None if pd.isna(row.entropy_bits) else row.entropy_bits
    aurocs = data.dropna(subset=["auroc"]).drop_duplicates(["epitope", "encoder"])
    for row in aurocs.itertuples():
        rows[row.epitope][row.encoder] = row.auroc
    entropy = {"format": "{:,.1f}", "suffix": " bits", "scale": "Oranges"}
    return {
        "kind": "table",
        "data": rows,
        "headers": {
            "n": {"title": "Receptors", "format": "{:,.0f}", "scale": False},
            **{name: {"title": words, **entropy} for name, words in FEATURES.items()},
            **{
                name: {"title": titles[name], "format": "{:,.3f}", "min": 0.5, "max": 1, "scale": "Blues"}
                for name in aurocs["encoder"].unique()
            },
        },
        "pconfig": {"col1_header": "Epitope", "sort_rows": False},
    }


def reading(table: pa.Table, titles: Titles) -> str:
    data = table.to_pandas().dropna(subset=["spearman"])
    words = "Entropy is low if many receptors of an epitope share the same gene or junction."
    if len(data):
        mean = data.drop_duplicates(["encoder", "feature"]).groupby("feature")["spearman"].mean()
        n = data["epitope"].nunique()
        rhos = ", ".join(f"{title_} {mean[name]:.2f}" for name, title_ in FEATURES.items() if name in mean)
        words += f" Spearman's ρ with AUROC over {counted(n, 'epitope')}, mean over encoders: {rhos}."
    return words + " In the paper, epitopes that are easier to predict have less diverse V and J genes."
