"""ROC curves of the few-shot benchmark."""

from airrvec.encoders import Titles
from airrvec.figures import benchmark
from airrvec.figures.benchmark_settings import default_view
from airrvec.figures.run.material import NotDrawn, Results

import pandas as pd

TITLE = "ROC curves"
LEGEND = "Mean ROC curve of every encoder, one panel per epitope. Bands are standard deviations."


def table(results: Results) -> pd.DataFrame:
    """Return the drawn rows of `airrvec.core.schema.ROC`, with the title of the encoder."""
    roc = default_view(results.read("roc"), one_rule=True)
    if roc.empty:
        raise NotDrawn("no encoder was measured")
    titles = Titles(results.json("benchmark/benchmark.json").get("titles", {}))
    return roc.assign(title=[titles[name] for name in roc["encoder"]]).reset_index(drop=True)


def draw(table: pd.DataFrame):
    """Draw the benchmark's own figure."""
    return benchmark.roc_figure(table, Titles(zip(table["encoder"], table["title"], strict=True)))
