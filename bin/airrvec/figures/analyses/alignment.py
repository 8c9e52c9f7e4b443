"""Figure, table and text of the analysis ``alignment``."""

from airrvec.encoders import Titles
from airrvec.figures.style import style

import pandas as pd
import pyarrow as pa
from matplotlib import pyplot as plt

TITLE = "Alignment and uniformity"


def draw(table: pa.Table, titles: Titles):
    """Draw uniformity against alignment; the legend gives the AUROC of each encoder."""
    figure, axis = plt.subplots(figsize=(7, 5), layout="constrained")
    for index, row in enumerate(table.to_pandas().itertuples()):
        look = {**style(index), "linestyle": ""}
        label = f"{titles[row.encoder]}" + ("" if pd.isna(row.auroc) else f" ({row.auroc:.3f})")
        axis.plot(row.alignment, row.uniformity, label=label, markersize=8, **look)
    axis.set_xlabel("Alignment: mean distance of co-specific pairs")
    axis.set_ylabel("Uniformity: log mean exp(−d²) over all pairs")
    axis.legend(
        frameon=False, fontsize=8, title="Encoder (AUROC)", loc="center left", bbox_to_anchor=(1, 0.5)
    )
    axis.grid(alpha=0.3)
    return figure


def plot(table: pa.Table, titles: Titles) -> dict:
    data = table.to_pandas().astype({"auroc": float, "k": float})
    columns = {
        "auroc": {"title": "AUROC", "format": "{:,.3f}", "min": 0.5, "max": 1, "scale": "Blues"},
        "alignment": {"title": "Alignment", "format": "{:,.3f}", "scale": "Oranges"},
        "uniformity": {"title": "Uniformity", "format": "{:,.3f}", "scale": "Greens"},
        "n_dimensions": {"title": "Dimensions", "format": "{:,.0f}", "scale": False},
    }
    return {
        "kind": "table",
        "data": {
            titles[row["encoder"]]: {name: None if pd.isna(row[name]) else row[name] for name in columns}
            for row in data.to_dict("records")
        },
        "headers": columns,
        "pconfig": {"col1_header": "Encoder", "sort_rows": False},
    }


def reading(table: pa.Table, titles: Titles) -> str:
    data = table.to_pandas().astype({"auroc": float})
    known = data.dropna(subset=["auroc"])
    words = (
        "Alignment is the mean distance between receptors that share an epitope. Uniformity measures how"
        " evenly all vectors are spread. Lower is better for both."
    )
    if len(known) > 3:
        rho = {
            name: known["auroc"].corr(known[name], method="spearman") for name in ("alignment", "uniformity")
        }
        words += (
            f" Spearman's ρ with AUROC over {len(known)} encoders: alignment {rho['alignment']:.2f},"
            f" uniformity {rho['uniformity']:.2f}."
        )
    return words + (
        " The paper names uniformity as a key benefit of contrastive learning: it counteracts the biases of"
        " V(D)J recombination."
    )
