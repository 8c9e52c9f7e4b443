"""Figures as SVG and PNG, readable in grey and by the colour-blind."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pandas as pd
import pyarrow as pa

from airrvec.encoders import title
from airrvec.rules import RULES
from airrvec.tables import written

# Okabe and Ito's colours, and a marker and a dash with each.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = "osD^vPX"

RULE_TITLES = {name: RULES[name].title for name in ("nearest_neighbour", "average_distance")}


def style(index: int) -> dict:
    """Colour and marker of the encoder at a position."""
    return {
        "color": COLOURS[index % len(COLOURS)],
        "marker": _MARKERS[index % len(_MARKERS)],
        "linestyle": "-" if index < len(COLOURS) else "--",
    }


def auroc_against_k(summary: pa.Table, stem: str | Path) -> None:
    """
    Mean AUROC over epitopes against the number of references, a panel for each rule.

    Parameters
    ----------
    summary : pyarrow.Table
        `airrvec.schema.AUROC_SUMMARY`.
    stem : str or Path
        Path without its suffix; ``.svg`` and ``.png`` are written. Bars are standard errors.
    """
    data = summary.to_pandas()
    data = data[data["epitope"] == "mean"]
    rules = [rule for rule in RULE_TITLES if rule in set(data["rule"])]
    figure, axes = plt.subplots(
        1,
        len(rules),
        figsize=(5.2 * len(rules), 4.2),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for axis, rule in zip(axes[0], rules, strict=True):
        of_rule = data[data["rule"] == rule]
        for index, encoder in enumerate(of_rule["encoder"].unique()):
            line = of_rule[of_rule["encoder"] == encoder].sort_values("k")
            axis.errorbar(
                line["k"],
                line["auroc_mean"],
                yerr=line["auroc_se"].fillna(0),
                label=title(encoder),
                markersize=5,
                capsize=2,
                **style(index),
            )
        ks = sorted(of_rule["k"].unique())
        axis.set_xscale("log")
        axis.set_xticks(ks, [str(k) for k in ks])
        axis.minorticks_off()
        axis.set_xlabel("Reference receptors of the epitope (k)")
        axis.set_title(f"By {RULE_TITLES[rule]}", fontsize=11)
        axis.grid(alpha=0.3)
    axes[0, 0].set_ylabel("AUROC, mean of the epitopes")
    axes[0, 0].legend(frameon=False, fontsize=9)
    _save(figure, stem)


def roc_curves(roc: pa.Table, stem: str | Path, rule: str = "nearest_neighbour") -> None:
    """
    Mean ROC curve of every encoder, a panel for each epitope; bands are standard deviations.

    Parameters
    ----------
    roc : pyarrow.Table
        `airrvec.schema.ROC`.
    stem : str or Path
        Path without its suffix; ``.svg`` and ``.png`` are written.
    rule : str
        The rule to draw.
    """
    data = roc.to_pandas()
    data = data[data["rule"] == rule]
    epitopes = list(data.sort_values(["k", "epitope"], ascending=[False, True])["epitope"].unique())
    n_columns = min(3, len(epitopes))
    n_rows = -(-len(epitopes) // n_columns)
    figure, axes = plt.subplots(
        n_rows,
        n_columns,
        figsize=(3.6 * n_columns, 3.6 * n_rows),
        squeeze=False,
        sharex=True,
        sharey=True,
        layout="constrained",
    )
    for axis in axes.flat[len(epitopes) :]:
        axis.set_visible(False)
    for axis, epitope in zip(axes.flat, epitopes, strict=False):
        of_epitope = data[data["epitope"] == epitope]
        for index, encoder in enumerate(of_epitope["encoder"].unique()):
            line = of_epitope[of_epitope["encoder"] == encoder]
            _draw_roc(axis, line, title(encoder), style(index))
        axis.plot([0, 1], [0, 1], color="grey", linewidth=0.8, linestyle=":")
        axis.set_title(f"{_plain(epitope)} (k = {of_epitope['k'].iloc[0]})", fontsize=10)
        axis.set_aspect("equal")
        axis.set_xlabel("False-positive rate")
        axis.set_ylabel("True-positive rate")
        axis.label_outer()
    axes[0, 0].legend(frameon=False, fontsize=8, loc="lower right")
    _save(figure, stem)


def _draw_roc(axis, line: pd.DataFrame, label: str, look: dict) -> None:
    colour, dash = look["color"], look["linestyle"]
    axis.plot(line["fpr"], line["tpr_mean"], label=label, color=colour, linestyle=dash, linewidth=1.4)
    low, high = (line["tpr_mean"] + sign * line["tpr_std"] for sign in (-1, 1))
    axis.fill_between(line["fpr"], low.clip(0, 1), high.clip(0, 1), color=colour, alpha=0.15)


def _plain(text: str) -> str:
    """Text of the user's that matplotlib must not read as mathematics."""
    return text.replace("$", r"\$")


def _save(figure, stem: str | Path) -> None:
    for suffix in (".svg", ".png"):
        with written(Path(f"{stem}{suffix}")) as temporary:
            figure.savefig(
                temporary,
                format=suffix[1:],
                dpi=150,
                metadata={"Date": None} if suffix == ".svg" else None,
            )
    plt.close(figure)


def training_curves(history: pa.Table, stem: str | Path) -> None:
    """
    Losses, alignment and uniformity against the step, of training and validation.

    Parameters
    ----------
    history : pyarrow.Table
        `airrvec.schema.TRAINING`.
    stem : str or Path
        Path without its suffix; ``.svg`` and ``.png`` are written. Training is a mean over a
        hundredth of the steps.
    """
    data = history.to_pandas()
    titles = {
        "contrastive_loss": "contrastive loss",
        "mlm_loss": "masked-language loss",
        "alignment": "alignment",
        "uniformity": "uniformity",
    }
    shown = [name for name in titles if data[name].notna().any()]
    figure, axes = plt.subplots(
        1, len(shown), figsize=(3.6 * len(shown), 3.2), squeeze=False, layout="constrained"
    )
    for axis, name in zip(axes[0], shown, strict=True):
        for index, part in enumerate(("train", "validation")):
            of_part = data[data["part"] == part]
            if of_part.empty:
                continue
            values = of_part[name]
            if part == "train":
                values = values.rolling(max(len(values) // 100, 1), min_periods=1).mean()
            axis.plot(
                of_part["step"], values, color=COLOURS[index], linestyle="-" if index else "--", label=part
            )
        axis.set_title(titles[name])
        axis.set_xlabel("step")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0][0].legend(frameon=False)
    _save(figure, stem)
