"""
Analyses of the paper: one file per analysis, one registry.

An analysis is a module with

- ``SCHEMA`` (of its table) and ``SCOPE``: measured once (`ONCE`), once per encoder of the run
  (`EACH_ENCODER`), or with a model before and after fine-tuning (`BEFORE_AND_AFTER`);
- ``measure(material)`` → table: the measurement with one encoder, or without encoder; raises
  `AnalysisSkipped`;
- ``conclude(measured, auroc)`` → table of ``SCHEMA``, if it differs from the measured table: ``measured``
  holds the tables of all encoders, ``auroc`` their few-shot AUROC
  (`airrvec.analyses.material.nearest_neighbour_auroc`).

`airrvec.figures.analyses` draws the tables.
"""

from importlib import import_module
from types import ModuleType

ONCE, EACH_ENCODER, BEFORE_AND_AFTER = "once", "each_encoder", "before_and_after"

# In the order of the report; imported when used.
ANALYSES = (
    "distances",
    "generation",
    "power_mean",
    "alignment",
    "complexity",
    "entropy",
    "coincidence",
    "fine_tuning",
    "edits",
)
# Fewest labelled receptors for an analysis.
MIN_RECEPTORS = 20


class AnalysisSkipped(Exception):
    """Raised if an analysis is impossible; the message is the reason, a clause without a full stop."""


def load(name: str) -> ModuleType:
    """Return the module of an analysis."""
    return import_module(f"{__name__}.{name}")
