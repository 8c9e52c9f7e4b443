"""
Figures and report texts of the paper's analyses: one module each, named as in `airrvec.analyses`.

A module has ``TITLE`` and these functions of the analysis table and `airrvec.encoders.Titles`:

- ``draw(table, titles)`` → matplotlib figure;
- ``reading(table, titles)`` → one to three sentences: the result here, and the result in the paper;
- ``plot(table, titles)`` → dict of ``kind``, ``data`` and other arguments of
  `airrvec.report.page.section`, if MultiQC has such a plot; otherwise the report shows the figure.
"""

from importlib import import_module
from types import ModuleType


def load(name: str) -> ModuleType:
    """Return the figure module of an analysis; ``name`` is one of `airrvec.analyses.ANALYSES`."""
    return import_module(f"{__name__}.{name}")
