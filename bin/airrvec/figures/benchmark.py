"""Figures of the few-shot benchmark."""

from pathlib import Path

from airrvec.core.schema import MEAN
from airrvec.encoders import Titles
from airrvec.figures.benchmark_settings import RULE_TITLES, default_view, ordered_settings
from airrvec.figures.style import escape_mathtext, panels, save, style

import pandas as pd
import pyarrow as pa


def auroc_against_k(summary: pa.Table, titles: Titles, stem: str | Path) -> None:
    """
    Draw mean AUROC over epitopes against the number of references, one panel per rule, default setting.

    Bars are standard errors.

    Parameters
    ----------
    summary : pyarrow.Table
        `airrvec.core.schema.AUROC_SUMMARY`.
    titles : Titles
        Titles of the encoders.
    stem : str or Path
        Path without suffix; ``.svg`` and ``.png`` are written.
    """
    data = default_view(summary.to_pandas())
    save(auroc_figure(data[data["epitope"] == MEAN], titles), stem)


def auroc_figure(data: pd.DataFrame, titles: Titles):
    """Return the figure of `auroc_against_k`, of the means over epitopes in one setting."""
    rules = ordered_settings(data["rule"])
    figure, axes = panels(len(rules), 5.2, 4.2, sharey=True)
    for axis, rule in zip(axes.flat, rules, strict=False):
        rule_rows = data[data["rule"] == rule]
        for index, encoder in enumerate(rule_rows["encoder"].unique()):
            line = rule_rows[rule_rows["encoder"] == encoder].sort_values("k")
            axis.errorbar(
                line["k"],
                line["auroc_mean"],
                yerr=line["auroc_se"].fillna(0),
                label=titles[encoder],
                markersize=5,
                capsize=2,
                **style(index),
            )
        ks = sorted(rule_rows["k"].unique())
        axis.set_xscale("log")
        axis.set_xticks(ks, [str(k) for k in ks])
        axis.minorticks_off()
        axis.set_xlabel("Reference receptors per epitope (k)")
        axis.set_title(f"Rule: {RULE_TITLES[rule]}", fontsize=11)
        axis.grid(alpha=0.3)
    axes[0, 0].set_ylabel("AUROC, mean over epitopes")
    _legend(figure, axes[0, 0])
    return figure


def _legend(figure, axis) -> None:
    """Put the legend into the panel for up to 6 lines, next to the panels for more."""
    handles, labels = axis.get_legend_handles_labels()
    if len(labels) > 6:
        figure.legend(handles, labels, frameon=False, fontsize=8, loc="outside right upper")
    elif labels:
        axis.legend(frameon=False, fontsize=8)


def roc_curves(roc: pa.Table, titles: Titles, stem: str | Path) -> None:
    """
    Draw the mean ROC curve of every encoder, one panel per epitope, for one rule and setting.

    Bands are standard deviations.

    Parameters
    ----------
    roc : pyarrow.Table
        `airrvec.core.schema.ROC`.
    titles : Titles
        Titles of the encoders.
    stem : str or Path
        Path without suffix; ``.svg`` and ``.png`` are written.
    """
    save(roc_figure(default_view(roc.to_pandas(), one_rule=True), titles), stem)


def roc_figure(data: pd.DataFrame, titles: Titles):
    """Return the figure of `roc_curves`, of the curves of one rule and setting."""
    epitopes = list(data.sort_values(["k", "epitope"], ascending=[False, True])["epitope"].unique())
    figure, axes = panels(len(epitopes), 3.6, 3.6, sharex=True, sharey=True)
    for axis, epitope in zip(axes.flat, epitopes, strict=False):
        epitope_rows = data[data["epitope"] == epitope]
        for index, encoder in enumerate(epitope_rows["encoder"].unique()):
            line = epitope_rows[epitope_rows["encoder"] == encoder]
            _draw_roc(axis, line, titles[encoder], style(index))
        axis.plot([0, 1], [0, 1], color="grey", linewidth=0.8, linestyle=":")
        axis.set_title(f"{escape_mathtext(epitope)} (k = {epitope_rows['k'].iloc[0]})", fontsize=10)
        axis.set_aspect("equal")
        axis.set_xlabel("False-positive rate")
        axis.set_ylabel("True-positive rate")
        axis.label_outer()
    _legend(figure, axes[0, 0])
    return figure


def _draw_roc(axis, line: pd.DataFrame, label: str, look: dict) -> None:
    colour, dash = look["color"], look["linestyle"]
    axis.plot(line["fpr"], line["tpr_mean"], label=label, color=colour, linestyle=dash, linewidth=1.4)
    low, high = (line["tpr_mean"] + sign * line["tpr_std"] for sign in (-1, 1))
    axis.fill_between(line["fpr"], low.clip(0, 1), high.clip(0, 1), color=colour, alpha=0.15)
