"""
What the report shows of the paper's analyses: a module each, named as in `airrvec.analyses`.

A module has ``TITLE``, and functions of the analysis's table:

- ``draw(table)`` → matplotlib's figure;
- ``reading(table)`` → what is seen, and what the paper saw, in a sentence or two;
- ``plot(table)`` → dict of ``kind``, ``data`` and others for `airrvec.report.page.section`, where MultiQC has
  such a plot; else the report shows the figure.
"""

from importlib import import_module
from types import ModuleType


def load(name: str) -> ModuleType:
    """Return the module of an analysis; ``name`` is one of `airrvec.analyses.ANALYSES`."""
    return import_module(f"{__name__}.{name}")
