"""Rejected rows in the MultiQC report: grey, unless a reason is unusual."""

from html import escape

from airrvec.figures.style import COLOURS
from airrvec.input.pairing import EXTRA_CHAIN, MULTIPLE_CHAINS
from airrvec.input.standardise import OTHER_LOCUS

USUAL = (
    "the chain is not productive",
    EXTRA_CHAIN,
    MULTIPLE_CHAINS,
    OTHER_LOCUS,
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
