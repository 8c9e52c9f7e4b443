"""Sections of every report, as custom content of MultiQC."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from html import escape
from importlib.metadata import version
from importlib.resources import files
from urllib.parse import quote, urlencode

from airrvec.core import tables
from airrvec.core.chains import CHAIN_TITLES
from airrvec.core.records import without_records
from airrvec.core.schema import COUNT_UNITS, NEVER, TABLES
from airrvec.core.schema.published import without_links
from airrvec.core.terminal import counted
from airrvec.core.version import __version__
from airrvec.encoders import Titles
from airrvec.input import species_names
from airrvec.input.units import read_as

import pandas as pd

NO_SUM = "Of all samples; empty if they are counted in several units, whose numbers have no sum"
_ONE = {"copies": "copy"}
_NAMED = 5  # samples of a unit


def counted_in(n: int, unit: str) -> str:
    """Return a number with its unit, such as "1 cell" or "1,200 UMIs"."""
    return counted(n, _ONE.get(unit, unit.removesuffix("s")), unit)


def per_cent(share: float) -> str:
    """Return a share in per cent, to two digits, such as "0.12 %" or "100 %"."""
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"


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
    """Return the count unit of each sample of a table, by its columns ``sample_id`` and ``count_unit``."""
    return dict(zip(frame["sample_id"], frame["count_unit"], strict=True))


def units_sentence(units: Mapping[str, str]) -> str:
    """Return the samples of each count unit, with a blank before; an empty text if all count cells."""
    samples_of_unit = {unit: [name for name in units if units[name] == unit] for unit in COUNT_UNITS}
    samples_of_unit = {unit: names for unit, names in samples_of_unit.items() if names}
    if set(samples_of_unit) <= {COUNT_UNITS[0]}:
        return ""
    if len(samples_of_unit) == 1:
        return f" All samples are counted in {next(iter(samples_of_unit))}."
    parts = "; ".join(f"{unit}: {escape(first_names(names))}" for unit, names in samples_of_unit.items())
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


# --- Sections of the page

_CODE = re.compile("`([^`]*)`")


def meaning(table: str, column: str) -> dict[str, str]:
    """
    Return the tooltip of a column's header: the meaning of the column, and when it is empty.

    Parameters
    ----------
    table, column : str
        Names in `airrvec.core.schema.TABLES`.

    Examples
    --------
    >>> meaning("training_times", "seconds")
    {'description': 'Time since training started, without pauses'}
    """
    shown = TABLES[table][column]
    words = shown.text
    if shown.null != NEVER:
        words = f"{words.removesuffix('.')}. Empty: {without_links(shown.null)}."
    return {"description": _CODE.sub(r"<code>\1</code>", escape(words))}


# --- Sections of every report, as custom content of MultiQC

# Formats of columns.
COUNT = {"format": "{:,.0f}", "scale": False}
NUMBER = {"format": "{:,.3g}", "scale": False}
SHARE = {"suffix": " %", "min": 0, "max": 100, "format": "{:,.2f}", "scale": "Blues"}


def group_titles(groups: list[dict]) -> dict[tuple[str, str], str]:
    """Return the title of each group by ``species`` and ``chains``; with several species, it names them."""
    several = len({group["species"] for group in groups}) > 1
    return {
        (group["species"], group["chains"]): CHAIN_TITLES[group["chains"]]
        + (f", {species_names.TITLES[group['species']]}" if several else "")
        for group in groups
    }


def with_group_titles(frame: pd.DataFrame, titles: dict[tuple[str, str], str]) -> pd.DataFrame:
    """Return the table with the title of each row's group in the column ``group``."""
    pairs = zip(frame["species"], frame["chains"], strict=True)
    return frame.assign(group=pd.Series([titles[pair] for pair in pairs], frame.index, dtype=object))


def not_compared_text(counts: dict) -> str:
    """Return a sentence on each species that was not compared; an empty text if all were."""
    reasons = counts.get("without_background") or {}
    return "".join(
        f" <strong>Not compared, {species_names.TITLES[species]}: {escaped(reason)}</strong>"
        for species, reason in reasons.items()
    )


def merge_partitions(partitions: list[dict], counts: tuple[str, ...]) -> dict:
    """
    Merge the QC of the partitions of a table: sum ``counts``; all other values are equal.

    Only the devices may differ: the result names all of them.
    """
    devices = tables.merge_metadata([{"device": qc["device"]} for qc in partitions if "device" in qc])
    return {**partitions[0], **devices, **{name: sum(qc[name] for qc in partitions) for name in counts}}


def embedding_section(embeddings: dict, titles: Titles) -> dict:
    """Return the section on the model and the number of embedded receptors."""
    row = {
        "receptors": embeddings["receptors"],
        "without_vector": embeddings["without_vector"],
        "dimensions": embeddings["dimensions"],
        "device": embeddings["device"].upper().replace(",", " and "),
        "precision": embeddings["precision"],
        "weights": embeddings["weights_sha256"][:16],
        "airrvec": embeddings["airrvec_version"],
    }
    headers = {
        "receptors": {"title": "Distinct receptors", "format": "{:,.0f}", "scale": False},
        "without_vector": {
            "title": "Without a vector",
            "format": "{:,.0f}",
            "scale": False,
            "description": "Receptors without any loop that the model uses, e.g. α chains for a β model",
        },
        "dimensions": {"title": "Dimensions", "format": "{:,.0f}", "scale": False},
        "device": {"title": "Device"},
        "precision": {"title": "Precision"},
        "weights": {"title": "Weights (SHA-256)"},
        "airrvec": {"title": "airrvec"},
    }
    return section(
        "airrvec_embeddings",
        "Embeddings",
        "Each distinct receptor is embedded once, even if many cells and samples carry it.",
        "table",
        {titles[embeddings["model"]]: row},
        headers=headers,
        pconfig={"col1_header": "Model"},
    )


def merged_versions(documents: list[str], nextflow: str) -> str:
    """Return one YAML with the versions of all tasks, once per process, and of the workflow."""
    own = f'"RENDER_REPORT":\n    multiqc: "{version("multiqc")}"\n'
    workflow = f'"Workflow":\n    airrvec: "{__version__}"\n    nextflow: "{nextflow}"\n'
    texts = [without_records(document).strip() for document in [*documents, own]]
    blocks = {text + "\n" for text in texts if text}
    return "".join([*sorted(blocks), workflow])


def style() -> str:
    """Return the style of the report, which MultiQC adds to its own."""
    return (files("airrvec.report") / "look" / "report.css").read_text("utf-8")


def escaped(value) -> str:
    """Return user text escaped for HTML."""
    return escape(str(value))


def clones_link(words: str, **chosen: str) -> str:
    """
    Return a link into the table of clones, as HTML.

    Parameters
    ----------
    words : str
        HTML.
    chosen
        What the table then shows: ``search``, ``sample``, ``evidence``, ``cluster``, ``expanded`` (``1``).
    """
    # Single quotes, because MultiQC also puts the cell of a table between the double quotes of an attribute.
    return f"<a href='#airrvec_clones?{escape(urlencode(chosen, quote_via=quote))}'>{words}</a>"


def section(name: str, heading: str, description: str, kind: str, data, **more) -> dict:
    pconfig = {"id": f"{name}_plot", "title": heading, **more.pop("pconfig", {})}
    return {
        "id": name,
        "section_name": heading,
        "description": description,
        "plot_type": kind,
        "pconfig": pconfig,
        **more,
        "data": data,
    }


def nothing(name: str, heading: str, sentence: str) -> dict:
    """Return a section without a finding: one line, without a reading; ``sentence`` is HTML."""
    return {**section(name, heading, "", "html", f"<p>{sentence}</p>"), "read_as": None}


def heatmap(name: str, heading: str, description: str, values: pd.DataFrame, **pconfig) -> dict:
    """
    Return a heat map of a table from 0 on, darker where it is larger, as wide as the window.

    Parameters
    ----------
    name, heading, description : str
    values : DataFrame
        NaN is blank; the labels are escaped here.
    pconfig
        Settings of MultiQC: ``xlab``, ``ylab``, ``zlab`` …
    """
    common = {
        "min": 0,
        "xcats_samples": False,
        "square": False,
        "display_values": False,
        "cluster_rows": False,
        "cluster_cols": False,
        "colstops": [[0, "#F7FBFF"], [0.5, "#6BAED6"], [1, "#08306B"]],
    }
    return section(
        name,
        heading,
        description,
        "heatmap",
        values.to_numpy().tolist(),
        xcats=[escaped(label) for label in values.columns],
        ycats=[escaped(label) for label in values.index],
        pconfig={**common, **pconfig},
    )
