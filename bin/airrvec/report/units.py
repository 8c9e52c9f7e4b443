"""Units of the report's numbers: cells, UMIs, reads and others, one for each sample."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from html import escape

from airrvec.core.schema import COUNT_UNITS
from airrvec.core.terminal import counted
from airrvec.input.units import read_as
from airrvec.report.columns import meaning

import pandas as pd

NO_SUM = "Of all samples; empty if they are counted in several units, whose numbers have no sum"
_ONE = {"copies": "copy"}
_NAMED = 5  # samples of a unit


def counted_in(n: int, unit: str) -> str:
    """Return a number with its unit, such as "1 cell" or "1,200 UMIs"."""
    return counted(n, _ONE.get(unit, unit.removesuffix("s")), unit)


def unit_words(units: Iterable[str]) -> str:
    """Return the units of some numbers, such as "cells" or "cells or UMIs"."""
    return " or ".join(unit for unit in COUNT_UNITS if unit in set(units)) or COUNT_UNITS[0]


def units_title(units: Iterable[str]) -> str:
    """Return the heading of numbers in these units, such as "Cells" or "Cells or UMIs"."""
    words = unit_words(units)
    return words[0].upper() + words[1:]


def with_units(data: Mapping[str, dict], headers: Mapping[str, dict], units: pd.Series) -> tuple:
    """Return the lines and headings of a table, with a column ``unit`` if the lines have several units."""
    if units.nunique() < 2:
        return data, headers
    words = units.fillna("")
    lines = {name: {"unit": unit, **line} for (name, line), unit in zip(data.items(), words, strict=True)}
    return lines, {"unit": {"title": "Unit", **meaning("cells", "count_unit")}, **headers}


def units_of(frame: pd.DataFrame) -> dict[str, str]:
    """Return what each sample of a table counts, by its columns ``sample_id`` and ``count_unit``."""
    return dict(zip(frame["sample_id"], frame["count_unit"], strict=True))


def units_sentence(units: Mapping[str, str]) -> str:
    """Return which samples count what, with a blank before; an empty text if all count cells."""
    found = {unit: [name for name in units if units[name] == unit] for unit in COUNT_UNITS}
    found = {unit: names for unit, names in found.items() if names}
    if set(found) <= {COUNT_UNITS[0]}:
        return ""
    if len(found) == 1:
        return f" All samples are counted in {next(iter(found))}."
    parts = "; ".join(f"{unit}: {escape(first_names(names))}" for unit, names in found.items())
    return f" Samples are counted in other units ({parts}): compare their shares, not their numbers."


def read_alike(samples: Iterable[Mapping]) -> list[str]:
    """Return what tables were read as, by their QC: a line for all that were read alike."""
    alike = defaultdict(list)
    for sample in samples:
        alike[read_as(sample)].append(sample["sample_id"])
    return [f"{first_names(names)}: {reading}" for reading, names in alike.items()]


def first_names(names: list[str]) -> str:
    """Return the first of some names, and how many more there are."""
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")
