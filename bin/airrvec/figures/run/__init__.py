"""
Figures of a run, one module each, drawn from the published tables of its results.

A module has ``TITLE``, ``LEGEND`` (what is drawn, in one or two sentences), and two functions:

- ``table(results)`` of `airrvec.figures.run.material.Results` → DataFrame: the numbers of the figure. It
  raises `airrvec.figures.run.material.NotDrawn` with the reason if the run has none;
- ``draw(table)`` → matplotlib figure, of this table alone.
"""

from importlib import import_module
from types import ModuleType

# In the order of a reader.
FIGURES = (
    "clonal_expansion",
    "called_cells",
    "diversity",
    "overlap",
    "v_usage",
    "rarefaction",
    "cluster_logos",
    "auroc_against_k",
    "roc_curves",
)


def load(name: str) -> ModuleType:
    """Return the module of a figure; ``name`` is one of `FIGURES`."""
    return import_module(f"{__name__}.{name}")
