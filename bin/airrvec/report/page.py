"""Sections of every report, as custom content of MultiQC."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from html import escape
from importlib.metadata import version
from importlib.resources import files

from airrvec.core import schema, tables
from airrvec.core.chains import CHAIN_TITLES
from airrvec.core.records import without_records
from airrvec.core.schema import COUNT_UNITS, NEVER, TABLES
from airrvec.core.schema.published import without_links
from airrvec.core.terminal import counted
from airrvec.core.version import __version__
from airrvec.encoders import Titles
from airrvec.figures.style import COLOURS
from airrvec.input import species_names
from airrvec.input.pairing import EXTRA_CHAIN, MULTIPLE_CHAINS, OTHER_LINEAGE
from airrvec.input.standardise import NO_T_CELL, OTHER_LOCUS
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


# --- Rejected rows in the MultiQC report: grey, unless a reason is unusual

USUAL = (
    "the chain is not productive",
    EXTRA_CHAIN,
    MULTIPLE_CHAINS,
    *(OTHER_LOCUS, NO_T_CELL, *OTHER_LINEAGE.values()),
    "the barcode was not called a cell",
    "the contig is of low confidence",
)
MOST_WARNINGS = 12  # more are folded
UNUSUAL_SHARE = 0.01  # of the rows of a sample; a rarer reason stays grey
_REJECTED = "of the rows rejected"  # in the warning of `airrvec.input.normalise`
_GREYS = ("#757575", "#8F8F8F", "#A3A3A3", "#B5B5B5", "#C6C6C6", "#D6D6D6")


def unusual_reasons(sample: dict) -> set[str]:
    """Return the reasons that are unusual in single-cell data and reject a share of the sample's rows."""
    least = UNUSUAL_SHARE * sample["rows_in"]
    return {word for word, n in sample["reject_reasons"].items() if word not in USUAL and n >= least}


def unusual_warnings(sample: dict) -> list[str]:
    """Return the warnings of a sample, without that on rejected rows if all main reasons are usual."""
    usual = not unusual_reasons(sample)
    return [warning for warning in sample["warnings"] if not (usual and _REJECTED in warning)]


def warnings_text(samples: list[dict]) -> str:
    """Return all warnings as HTML, unusual ones in bold; more than a few are folded."""
    lines = []
    for sample in samples:
        unusual = unusual_warnings(sample)
        for warning in sample["warnings"]:
            words = f"{escape(sample['sample_id'])}: {escape(warning)}"
            look = "<strong>{}</strong>" if warning in unusual else '<span class="text-muted">{}</span>'
            lines.append(look.format(words))
    if len(lines) <= MOST_WARNINGS:
        return "".join(f"<br>{line}" for line in lines)
    return f"<details><summary>{len(lines):,} warnings</summary>{'<br>'.join(lines)}</details>"


def reject_colours(samples: list[dict], key: str) -> dict[str, str]:
    """
    Return the colour of each reason: a colour if it is unusual, else a grey; most frequent first.

    Parameters
    ----------
    samples : list of dict
        QC of ``normalise_receptors.py``.
    key : {"reject_reasons", "other_loci"}
        Loci are never unusual.
    """
    totals: dict[str, int] = {}
    for sample in samples:
        for word, n in sample[key].items():
            totals[word] = totals.get(word, 0) + n
    unusual = set().union(*map(unusual_reasons, samples)) if key == "reject_reasons" else set()
    ordered = sorted(totals, key=lambda word: (-totals[word], word))
    coloured = dict(zip([word for word in ordered if word in unusual], COLOURS * len(ordered), strict=False))
    greys = dict(zip([word for word in ordered if word not in unusual], _GREYS * len(ordered), strict=False))
    return {word: coloured.get(word) or greys[word] for word in ordered}


# --- Sections of every report, as custom content of MultiQC

# Formats of columns.
COUNT = {"format": "{:,.0f}", "scale": False}
NUMBER = {"format": "{:,.3g}", "scale": False}
SHARE = {"suffix": " %", "min": 0, "max": 100, "format": "{:,.2f}", "scale": "Blues"}

_PAIRING_COLOURS = dict(
    zip(
        schema.CHAIN_PAIRINGS,
        ("#0072B2", "#56B4E9", "#009E73", "#B8A800", "#E69F00", "#D55E00", "#CC79A7"),
        strict=True,
    )
)


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


_NUMBERS = {
    "rows_in": "Rows read",
    "rows_out": "Rows kept",
    "rows_rejected": "Rows rejected",
    "cells": "Cells or clonotypes",
    "receptors": "Receptors",
}
_QUALITY_HEADERS = {
    "format": {"title": "Format"},
    **{name: {"title": heading, "format": "{:,.0f}", "scale": False} for name, heading in _NUMBERS.items()},
    "abundance": {
        "title": "Counted",
        "format": "{:,.0f}",
        "scale": False,
        "description": "Sum over the cells and clonotypes: a clonotype counts as often as its table says",
    },
    "unit": {
        "title": "Unit",
        **meaning("cells", "count_unit"),
    },
    "kept": {"title": "Kept", "suffix": " %", "max": 100, "min": 0, "scale": "Blues"},
    "paired": {
        "title": "Paired",
        "suffix": " %",
        "max": 100,
        "min": 0,
        "scale": "Greens",
        "description": "Cells with at least one α and one β chain",
    },
    "doublets": {
        "title": "Doublets",
        "format": "{:,.0f}",
        "scale": False,
        "description": "Cells with more than two α or two β chains (multichain): probably two cells",
    },
    "gamma_delta": {
        "title": "γδ cells",
        "format": "{:,.0f}",
        "scale": False,
        "description": "Cells with γ or δ chains, in tables of their own. Their rows are kept; no other"
        " column counts them.",
    },
    "functional": {
        "title": "Functional",
        "suffix": " %",
        "max": 100,
        "min": 0,
        "scale": "Purples",
        "description": "Chains with functional genes, among chains that have no other fault",
    },
    "orf_chains": {
        "title": "Open reading frames",
        "format": "{:,.0f}",
        "scale": False,
        "description": "Chains kept although IMGT lists their V or J gene as an open reading frame",
    },
    "uncertain_calls": {
        "title": "Uncertain calls",
        "format": "{:,.0f}",
        "scale": False,
        "description": "Chains whose V or J call names several genes; the first functional gene is used",
    },
    "mended_junctions": {
        "title": "Corrected junctions",
        "format": "{:,.0f}",
        "scale": False,
        "description": "Chains whose input junction lacked a conserved end, or had residues beyond it",
    },
}


def sample_sections(samples: list[dict], receptors: dict) -> list[dict]:
    """Return the sections on rows read, kept and rejected, with the reasons."""
    rejects = _rejects_section(
        samples,
        "airrvec_rejects",
        "Rejected chains",
        "Excluded chains and rows, by reason. All are listed in <code>rejects/</code>.",
        "reject_reasons",
    )
    other_loci = _rejects_section(
        samples,
        "airrvec_other_loci",
        "Other loci",
        "Rejected chains that are not those of a T-cell receptor, by locus.",
        "other_loci",
    )
    sections = [_quality_section(samples, receptors), _pairing_section(samples), rejects, other_loci]
    return [part for part in sections if part is not None]


def _quality_section(samples: list[dict], receptors: dict) -> dict:
    with_gamma_delta = any(sample["gamma_delta"]["cells"] for sample in samples)
    overview = {
        escaped(sample["sample_id"]): {
            "format": escaped(sample["format"]),
            **{name: sample[name] for name in _NUMBERS},
            "abundance": sample["abundance"],
            "unit": sample["count_unit"],
            "kept": 100 * sample["rows_out"] / sample["rows_in"],
            **({"paired": 100 * n_paired(sample) / sample["cells"]} if sample["cells"] else {}),
            "doublets": sample["pairing"].get(schema.MULTICHAIN, 0),
            **({"gamma_delta": sample["gamma_delta"]["cells"]} if with_gamma_delta else {}),
            "functional": sample["per_cent_functional"],
            "orf_chains": sample["orf_chains"],
            "uncertain_calls": sample["uncertain_calls"],
            "mended_junctions": sample["mended_junctions"],
        }
        for sample in samples
    }
    return section(
        "airrvec_samples",
        "Quality",
        "In every sample, the rows read are the rows kept plus the rows rejected."
        + "".join(f" {sentence}." for sentence in public_sentence(receptors))
        + warnings_text(samples)
        + _readings(samples),
        "table",
        overview,
        headers={
            name: header
            for name, header in _QUALITY_HEADERS.items()
            if with_gamma_delta or name != "gamma_delta"
        },
        pconfig={"col1_header": "Sample"},
    )


def _pairing_section(samples: list[dict]) -> dict:
    pairing = {
        escaped(sample["sample_id"]): {word: sample["pairing"].get(word, 0) for word in schema.CHAIN_PAIRINGS}
        for sample in samples
    }
    return section(
        "airrvec_chain_pairing",
        "Chain pairing",
        "Cells by their chains, in scirpy's terms: VJ is the α chain, VDJ is the β chain. If a cell has"
        " extra chains, the chain with the most UMIs is kept.",
        "bargraph",
        pairing,
        categories={word: {"name": word, "color": _PAIRING_COLOURS[word]} for word in schema.CHAIN_PAIRINGS},
        pconfig={"ylab": "Cells"},
    )


def _rejects_section(samples: list[dict], id: str, heading: str, description: str, key: str) -> dict | None:
    """Return the bar graph of the rejected chains that ``key`` counts; None without any."""
    counts = {
        escaped(sample["sample_id"]): {escaped(word): n for word, n in sample[key].items()}
        for sample in samples
        if sample[key]
    }
    if not counts:
        return None
    categories = {
        escaped(word): {"name": escaped(word), "color": colour}
        for word, colour in reject_colours(samples, key).items()
    }
    pconfig = {"ylab": "Rejected chains"}
    return section(id, heading, description, "bargraph", counts, categories=categories, pconfig=pconfig)


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


def public_sentence(receptors: dict) -> list[str]:
    """Return a sentence on the clonotypes that samples share; an empty list for fewer than two samples."""
    if receptors["samples"] < 2:
        return []
    n = counted(receptors["public_clonotypes"], "clonotype occurs", "clonotypes occur")
    return [f"{n} in two or more samples"]


def merged_versions(documents: list[str], nextflow: str) -> str:
    """Return one YAML with the versions of all tasks, once per process, and of the workflow."""
    own = f'"REPORT":\n    multiqc: "{version("multiqc")}"\n'
    workflow = f'"Workflow":\n    airrvec: "{__version__}"\n    nextflow: "{nextflow}"\n'
    texts = [without_records(document).strip() for document in [*documents, own]]
    blocks = {text + "\n" for text in texts if text}
    return "".join([*sorted(blocks), workflow])


def n_paired(sample: dict) -> int:
    """Return the number of a sample's cells with both chains, by its QC."""
    single = sum(sample["pairing"].get(word, 0) for word in (schema.ORPHAN_VJ, schema.ORPHAN_VDJ))
    return sample["cells"] - single


def style() -> str:
    """Return the style of the report, which MultiQC adds to its own."""
    return (files("airrvec.report") / "look" / "report.css").read_text("utf-8")


def _readings(samples: list[dict]) -> str:
    lines = "<br>".join(map(escaped, read_alike(samples)))
    return f"<details><summary>What the columns and rows were read as</summary>{lines}</details>"


def escaped(value) -> str:
    """Return user text escaped for HTML."""
    return escape(str(value))


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
