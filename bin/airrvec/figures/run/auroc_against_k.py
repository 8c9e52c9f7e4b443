"""AUROC of the few-shot benchmark against the number of references."""

from airrvec.core.schema import MEAN
from airrvec.encoders import Titles
from airrvec.figures import benchmark
from airrvec.figures.benchmark_settings import default_view
from airrvec.figures.run.material import NotDrawn, Results

import pandas as pd

TITLE = "AUROC against the number of references"
LEGEND = "Mean over epitopes of the few-shot benchmark, by encoder and rule. Bars are standard errors."


def table(results: Results) -> pd.DataFrame:
    """Return the drawn rows of `airrvec.core.schema.AUROC_SUMMARY`, with the title of the encoder."""
    summary = default_view(results.read("auroc_summary"))
    summary = summary[summary["epitope"] == MEAN]
    if summary.empty:
        raise NotDrawn("no encoder was measured")
    titles = Titles(results.json("benchmark/benchmark.json").get("titles", {}))
    return summary.assign(title=[titles[name] for name in summary["encoder"]]).reset_index(drop=True)


def draw(table: pd.DataFrame):
    """Draw the benchmark's own figure."""
    return benchmark.auroc_figure(table, Titles(zip(table["encoder"], table["title"], strict=True)))
