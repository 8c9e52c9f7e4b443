"""What the report shows of the analysis ``entropy``."""

import pandas as pd
import pyarrow as pa
from matplotlib import pyplot as plt

from airrvec.analyses.entropy import FEATURES
from airrvec.encoders import title
from airrvec.figures.style import style

TITLE = "Diversity of an epitope's receptors"


def draw(table: pa.Table):
    """A panel a feature: AUROC of an encoder against entropy; entropies alone where there is no AUROC."""
    data = table.to_pandas()
    measured = data["auroc"].notna().any()
    figure, axes = plt.subplots(2, 3, figsize=(12, 7), layout="constrained", sharey=True)
    epitopes = sorted(data["epitope"].unique())
    for axis, (feature, words) in zip(axes.T.flat, FEATURES.items(), strict=True):
        of_feature = data[data["feature"] == feature]
        if measured:
            for index, (name, points) in enumerate(of_feature.dropna(subset=["auroc"]).groupby("encoder")):
                look = {**style(index), "linestyle": ""}
                axis.errorbar(
                    points["entropy_bits"], points["auroc"], xerr=points["entropy_std"], label=title(name),
                    markersize=4, elinewidth=0.6, **look,
                )  # fmt: skip
        else:
            points = of_feature.drop_duplicates("epitope").set_index("epitope").reindex(epitopes)
            axis.barh(epitopes, points["entropy_bits"], xerr=points["entropy_std"], color=style(0)["color"])
        axis.set_title(words, fontsize=10)
        axis.set_xlabel("Entropy, bits")
        axis.grid(alpha=0.3)
    if measured:
        for axis in axes[:, 0]:
            axis.set_ylabel(f"AUROC, k = {data['k'].max():.0f}")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right upper", frameon=False, fontsize=8)
    return figure


def plot(table: pa.Table) -> dict:
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
                name: {"title": title(name), "format": "{:,.3f}", "min": 0.5, "max": 1, "scale": "Blues"}
                for name in aurocs["encoder"].unique()
            },
        },
        "pconfig": {"col1_header": "Epitope", "sort_rows": False},
    }


def reading(table: pa.Table) -> str:
    data = table.to_pandas().dropna(subset=["spearman"])
    words = "The more receptors share a gene or junction, the lower its entropy."
    if len(data):
        mean = data.drop_duplicates(["encoder", "feature"]).groupby("feature")["spearman"].mean()
        n = data["epitope"].nunique()
        found = ", ".join(f"{title_} {mean[name]:.2f}" for name, title_ in FEATURES.items() if name in mean)
        words += f" Spearman's ρ with AUROC over {n} epitopes, mean of the encoders: {found}."
    return words + " The paper found the easier epitopes to have less diverse V and J genes."
