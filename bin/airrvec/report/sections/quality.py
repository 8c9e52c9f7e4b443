"""Quality of each sample in the MultiQC report: a verdict, what was read and kept, pairing, rejects."""

from airrvec.core import schema
from airrvec.core.schema import COUNT_UNITS, MULTICHAIN
from airrvec.core.terminal import counted
from airrvec.figures.palette import COLOURS
from airrvec.input.pairing import EXTRA_CHAIN, MULTIPLE_CHAINS, OTHER_LINEAGE
from airrvec.input.standardise import NO_T_CELL, OTHER_LOCUS
from airrvec.report.page import counted_in, escaped, meaning, per_cent, read_alike, section
from airrvec.report.receptor_cells import text_cell, text_header

GOOD = "good"
FEW_CELLS = 100  # a smaller sample says little about clones and diversity
MIN_PAIRED = 0.5  # share of cells with both chains
MOST_MULTICHAIN = 0.05  # share of cells with more than two chains of a locus
_NAMED = 5  # samples of a sentence
RULES = (
    f"A sample is {GOOD} if it has {FEW_CELLS} cells (or UMIs, reads, copies) or more, no warning in bold"
    f" below, and, if its rows are cells, both chains in at least {per_cent(MIN_PAIRED)} and more than two α"
    f" or β chains in at most {per_cent(MOST_MULTICHAIN)} of them."
)

_PAIRING_COLOURS = dict(
    zip(
        schema.CHAIN_PAIRINGS,
        ("#0072B2", "#56B4E9", "#009E73", "#B8A800", "#E69F00", "#D55E00", "#CC79A7"),
        strict=True,
    )
)

# --- Rejected rows: grey, unless a reason is unusual

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
    """Return all warnings as HTML: unusual ones in bold, more than a few folded; usual ones always folded."""
    unusual, usual = [], []
    for sample in samples:
        bold = unusual_warnings(sample)
        for warning in sample["warnings"]:
            words = f"{escaped(sample['sample_id'])}: {escaped(warning)}"
            if warning in bold:
                unusual.append(f"<strong>{words}</strong>")
            else:
                usual.append(words)
    shown = len(unusual) <= MOST_WARNINGS
    told = "".join(f"<br>{line}" for line in unusual) if shown else _folded(unusual, "warning")
    return told + (_folded(usual, "note on usual rejects", "notes on usual rejects") if usual else "")


def _folded(lines: list[str], noun: str, plural: str | None = None) -> str:
    return f"<details><summary>{counted(len(lines), noun, plural)}</summary>{'<br>'.join(lines)}</details>"


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


# --- Verdicts


def doubts(sample: dict) -> list[str]:
    """
    Return what speaks against a sample, in a few words each; an empty list if nothing does.

    Parameters
    ----------
    sample : dict
        QC of ``normalise_receptors.py``.
    """
    if not sample["cells"]:
        return ["no receptors"]
    words = []
    if sample["abundance"] < FEW_CELLS:
        words.append(f"only {counted_in(sample['abundance'], sample['count_unit'])}")
    if is_of_cells(sample):
        paired = n_paired(sample) / sample["cells"]
        multichain = sample["pairing"].get(MULTICHAIN, 0) / sample["cells"]
        if paired < MIN_PAIRED:
            words.append(f"{per_cent(paired)} paired")
        if multichain > MOST_MULTICHAIN:
            words.append(f"{per_cent(multichain)} probably doublets")
    if warnings := unusual_warnings(sample):
        words.append(counted(len(warnings), "warning"))
    return words


def is_of_cells(sample: dict) -> bool:
    """Return whether a sample has cells; clonotypes of bulk sequencing are never paired."""
    return sample["cells"] > 0 and sample["count_unit"] == COUNT_UNITS[0]


def verdict(sample: dict) -> str:
    """Return the verdict of a sample."""
    return ", ".join(doubts(sample)) or GOOD


def verdicts_sentence(samples: list[dict]) -> str:
    """Return how many samples are good, and the doubtful ones with their reasons, as HTML."""
    doubtful = [sample for sample in samples if doubts(sample)]
    if not doubtful:
        return "It is good." if len(samples) == 1 else f"All {len(samples):,} are good."
    named = [f"{escaped(sample['sample_id'])} ({verdict(sample)})" for sample in doubtful[:_NAMED]]
    more = f"; and {len(doubtful) - _NAMED:,} more" if len(doubtful) > _NAMED else ""
    n_good = len(samples) - len(doubtful)
    begin = f"{n_good:,} of {len(samples):,} are good, but look at " if n_good else "Look at "
    return f"{begin}{'; '.join(named)}{more}."


def n_paired(sample: dict) -> int:
    """Return the number of a sample's cells with both chains, by its QC."""
    single = sum(sample["pairing"].get(word, 0) for word in (schema.ORPHAN_VJ, schema.ORPHAN_VDJ))
    return sample["cells"] - single


# --- Sections

_NUMBERS = {
    "rows_in": "Rows read",
    "rows_out": "Rows kept",
    "rows_rejected": "Rows rejected",
    "cells": "Cells or clonotypes",
    "receptors": "Receptors",
}
_QUALITY_HEADERS = {
    "verdict": text_header("Verdict", description=RULES),
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
            "verdict": text_cell(verdict(sample)),
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
        f"{RULES} The rows read are the rows kept plus the rows rejected."
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


# What each class of cells has, before scirpy's word for it.
_PAIRING_WORDS = {
    word: f"{chains} ({word})"
    for word, chains in {
        "single pair": "α and β",
        "orphan VJ": "α alone",
        "orphan VDJ": "β alone",
        "extra VJ": "two α, one β",
        "extra VDJ": "one α, two β",
        "two full chains": "two α, two β",
        "multichain": "three or more of one",
    }.items()
}


def _pairing_section(samples: list[dict]) -> dict:
    pairing = {
        escaped(sample["sample_id"]): {word: sample["pairing"].get(word, 0) for word in schema.CHAIN_PAIRINGS}
        for sample in samples
    }
    return section(
        "airrvec_chain_pairing",
        "Chain pairing",
        "Cells by their chains, with scirpy's words, which the tables have, in brackets. If a cell has"
        " extra chains, the chain with the most UMIs is kept.",
        "bargraph",
        pairing,
        categories={
            word: {"name": _PAIRING_WORDS.get(word, word), "color": _PAIRING_COLOURS[word]}
            for word in schema.CHAIN_PAIRINGS
        },
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


def public_sentence(receptors: dict) -> list[str]:
    """Return a sentence on the clonotypes that samples share; an empty list for fewer than two samples."""
    if receptors["samples"] < 2:
        return []
    n = counted(receptors["public_clonotypes"], "clonotype occurs", "clonotypes occur")
    return [f"{n} in two or more samples"]


def _readings(samples: list[dict]) -> str:
    lines = "<br>".join(map(escaped, read_alike(samples)))
    return f"<details><summary>What the columns and rows were read as</summary>{lines}</details>"
