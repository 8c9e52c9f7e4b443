"""
The paper's analyses: one file each, one registry.

An analysis is a module with

- ``SCHEMA`` (of its table) and ``SCOPE``: measured once (`ONCE`), once for each encoder of the run
  (`EACH_ENCODER`), or with a model before and after fine-tuning (`BEFORE_AND_AFTER`);
- ``measure(material)`` → table: what is measured with one encoder, or with none; raises `NotDone`;
- ``conclude(measured, auroc)`` → table of ``SCHEMA``, where it is not the measured one: ``measured`` holds
  the tables of all encoders, ``auroc`` their few-shot AUROC (`airrvec.analyses.material.auroc_of_encoders`).

`airrvec.figures.analyses` draws them.
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
# Labelled receptors below which no analysis says anything.
MIN_RECEPTORS = 20


class NotDone(Exception):
    """An analysis cannot be done; the message is the reason, a clause without a full stop."""


def load(name: str) -> ModuleType:
    """The analysis of a name."""
    return import_module(f"{__name__}.{name}")
