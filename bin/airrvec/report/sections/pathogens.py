"""Calls by pathogen and epitope in the MultiQC report."""

from collections import defaultdict

from airrvec.core.terminal import counted
from airrvec.figures.palette import COLOURS, OTHER_COLOUR
from airrvec.report.page import COUNT, NO_SUM, clones_link, escaped, section, units_title
from airrvec.report.receptor_cells import text_cell, text_header
from airrvec.report.sections.annotation import Annotation

N_EPITOPES = 50  # rows of the table
N_SAMPLES = 60  # bars of the figure
N_PATHOGENS = len(COLOURS)  # of the figure; the others are one group
NOT_NAMED = "pathogen not given"


def pathogens_section(annotation: Annotation) -> dict | None:
    """Return the called epitopes with their pathogen, most receptors first; None without calls."""
    counts = defaultdict(lambda: {"receptors": 0, "abundance": 0, "samples": 0})
    units = {sample["count_unit"] for sample in annotation.samples}
    for sample in annotation.samples:
        for row in sample["epitopes"]:
            totals = counts[row["antigen_species"] or "", row["epitope"]]
            totals["receptors"] += row["receptors"]
            totals["abundance"] += row["abundance"]
            totals["samples"] += 1
    if not counts:
        return None
    ordered = sorted(counts.items(), key=lambda item: (-item[1]["receptors"], item[0]))
    data = {
        f"{number:03d}": {
            "epitope": text_cell(epitope),
            "clones": clones_link("clones", search=epitope),
            "pathogen": text_cell(pathogen) or NOT_NAMED,
            **totals,
            "abundance": totals["abundance"] if len(units) == 1 else None,
        }
        for number, ((pathogen, epitope), totals) in enumerate(ordered[:N_EPITOPES], start=1)
    }
    shown = counted(len(data), "epitope")
    return section(
        "airrvec_annotation_pathogens",
        "Calls by pathogen and epitope",
        f"{shown} of {len(counts):,} with calls, those of most receptors first. A receptor counts once in"
        " each sample that has it.",
        "table",
        data,
        headers={
            "epitope": {"title": "Epitope"},
            "clones": text_header("In the table of clones"),
            "pathogen": {"title": "Pathogen or organism"},
            "receptors": {"title": "Called receptors", **COUNT},
            "abundance": {"title": units_title(units), **COUNT, "description": NO_SUM},
            "samples": {"title": "Samples", **COUNT, "description": "Samples with a call of this epitope"},
        },
        pconfig={"col1_header": "Rank", "sort_rows": False},
    )


def pathogens_figure(annotation: Annotation, name: str) -> dict | None:
    """
    Return called receptors by sample, coloured by pathogen, or by epitope if no pathogen is given.

    Parameters
    ----------
    name : str
        Id of the section.
    """
    sample_counts: dict[str, dict[str, int]] = defaultdict(dict)
    totals: dict[str, int] = defaultdict(int)
    named = any(row["antigen_species"] for sample in annotation.samples for row in sample["epitopes"])
    for sample in annotation.samples:
        for row in sample["epitopes"]:
            group = (row["antigen_species"] or NOT_NAMED) if named else row["epitope"]
            group_counts = sample_counts[sample["sample_id"]]
            group_counts[group] = group_counts.get(group, 0) + row["receptors"]
            totals[group] += row["receptors"]
    if not totals:
        return None
    ordered = sorted(totals, key=lambda group: (-totals[group], group))
    shown = ordered if len(ordered) <= N_PATHOGENS else ordered[: N_PATHOGENS - 1]
    rest_name = f"{len(ordered) - len(shown)} others"
    drawn = sorted(sample_counts, key=lambda sample: (-sum(sample_counts[sample].values()), sample))[
        :N_SAMPLES
    ]
    data = {}
    for sample_id in drawn:
        counts = {group: sample_counts[sample_id].get(group, 0) for group in shown}
        rest = sum(sample_counts[sample_id].values()) - sum(counts.values())
        data[escaped(sample_id)] = {escaped(group): n for group, n in counts.items()}
        if shown != ordered:
            data[escaped(sample_id)][rest_name] = rest
    colours = {escaped(group): COLOURS[place % len(COLOURS)] for place, group in enumerate(shown)}
    if shown != ordered:
        colours[rest_name] = OTHER_COLOUR
    without = len(annotation.samples) - len(sample_counts)
    more = (
        f" The {len(drawn)} samples with the most are drawn; the table of calls by sample has all."
        if len(sample_counts) > len(drawn)
        else ""
    )
    kind = "pathogen" if named else "epitope"
    return section(
        name,
        f"Called receptors by {kind}",
        "Distinct receptors with a called epitope, by sample."
        + (f" {counted(without, 'sample has', 'samples have')} no call and no bar." if without else "")
        + more,
        "bargraph",
        data,
        categories={group: {"name": group, "color": colour} for group, colour in colours.items()},
        pconfig={"ylab": "Called receptors", "cpswitch": False},
    )
