"""Diversity and rarefaction of samples in the MultiQC report."""

from airrvec.core.chains import CHAIN_TITLES
from airrvec.core.schema.samples import NO_REPEATS, TOO_LOW
from airrvec.core.terminal import counted
from airrvec.figures.style import COLOURS
from airrvec.report.columns import meaning
from airrvec.report.page import COUNT, NUMBER, SHARE, escaped, section
from airrvec.report.units import units_of, units_sentence, units_title, with_units

import pandas as pd

MAX_LINES = 12  # samples in the graph
MAX_ROWS = 200  # samples of all classes of chains in the table
FEW_CELLS = 20  # below, a rarefied sample shows little
_ORDERS = {0: "Receptors", 1: "Effective number, order 1", 2: "Effective number, order 2"}


def rarefaction_section(curves: pd.DataFrame, diversity: pd.DataFrame, groups: list[dict]) -> dict:
    """
    Return the rarefaction curves of the class of chains that most samples have, one tab per order and axis.

    Parameters
    ----------
    curves, diversity : DataFrame
        `airrvec.core.schema.RAREFACTION` and `DIVERSITY`, with the column ``group``.
    groups : list of dict
        ``species`` and ``chains``, those with most clonotypes first.
    """
    rows = _main_group(diversity, groups)
    names, words = _names(rows)
    curves = curves[(curves["group"] == rows["group"].iloc[0]) & curves["sample_id"].isin(names)]
    drawn = units_title(curves["count_unit"])
    data, labels = [], []
    colours = {escaped(name): COLOURS[number % len(COLOURS)] for number, name in enumerate(names)}
    for axis, title in (("n_drawn", ""), ("coverage", " by coverage")):
        scale = 100 if axis == "coverage" else 1
        for order, heading in _ORDERS.items():
            lines = {}
            for sample, points in curves.groupby("sample_id", sort=False):
                for suffix, part in (
                    ("", points[points["method"] != "extrapolated"]),
                    (", predicted", points[points["method"] != "rarefied"]),
                ):
                    if len(part) > 1:
                        pairs = zip(scale * part[axis], part[f"hill_{order}"], strict=True)
                        lines[escaped(sample) + suffix] = [[float(x), float(y)] for x, y in pairs]
            data.append(lines)
            labels.append(
                {
                    "name": heading.removeprefix("Effective number, ").capitalize() + title,
                    "xlab": "Coverage, %" if axis == "coverage" else drawn,
                    "ylab": heading,
                }
            )
    predicted = {f"{name}, predicted": colour for name, colour in colours.items()}
    return section(
        "airrvec_repertoire_rarefaction",
        "Rarefaction",
        "Expected number of receptors among fewer cells than the sample has, and, dashed, predicted for up to"
        f" twice as many; {CHAIN_TITLES[rows['chains'].iloc[0]]}. A curve that flattens has shown most of its"
        " repertoire; compare samples at the same coverage (tabs <em>by coverage</em>), not at the ends of"
        " their curves. Do not believe the dashed part of a sample in which few receptors occur twice: the"
        " prediction rests on these."
        f"{words}{units_sentence(units_of(rows))} All curves are in <code>samples/rarefaction.tsv</code>.",
        "linegraph",
        data,
        pconfig={
            "xlab": drawn,
            "ylab": "Receptors",
            "ymin": 0,
            "xmin": 0,
            "colors": colours | predicted,
            "showlegend": True,
            "dash_styles": dict.fromkeys(predicted, "dash"),
            "data_labels": labels,
        },
    )


def _main_group(diversity: pd.DataFrame, groups: list[dict]) -> pd.DataFrame:
    """Return the rows of the group with most samples; of those with as many, the first."""
    order = [(group["species"], group["chains"]) for group in groups]
    parts = dict(list(diversity.groupby(["species", "chains"], sort=False)))
    return parts[max(order, key=lambda key: (len(parts[key]), -order.index(key)))]


def _names(rows: pd.DataFrame) -> tuple[list[str], str]:
    """Return the samples whose curves are shown, and a sentence if these are not all."""
    names = rows["sample_id"].tolist()
    if len(names) <= MAX_LINES:
        return names, ""
    by_diversity = rows.sort_values(["hill_1_at_coverage", "hill_1"], kind="stable")["sample_id"].tolist()
    half = MAX_LINES // 2
    words = f" Of {len(names):,} samples, the {half} least and the {half} most diverse are shown."
    return [*by_diversity[:half], *by_diversity[-half:]], words


def diversity_section(diversity: pd.DataFrame) -> dict:
    """Return the table of Hill numbers at equal coverage."""
    shown, words = diversity, ""
    if len(diversity) > MAX_ROWS:
        shown = diversity.sort_values("n_cells", ascending=False, kind="stable").head(MAX_ROWS)
        words = f" The table has the {MAX_ROWS} rows with most cells of {len(diversity):,}."
    data = {
        f"{escaped(row.sample_id)}, {row.group}": {
            "cells": row.n_cells,
            "receptors": row.n_receptors,
            "coverage": 100 * row.coverage,
            "depth": row.depth if pd.notna(row.depth) else None,
            "method": row.method,
            **{
                f"hill_{order}": value if pd.notna(value) else None
                for order in _ORDERS
                for value in [getattr(row, f"hill_{order}_at_coverage")]
            },
            "coincidence": row.coincidence if pd.notna(row.coincidence) else None,
        }
        for row in shown.itertuples()
    }
    effective = {"format": "{:,.1f}", "scale": False}
    headers = {
        "cells": {
            "title": units_title(shown["count_unit"]),
            **COUNT,
            **meaning("diversity", "n_cells"),
        },
        "receptors": {"title": "Receptors", **COUNT, **meaning("diversity", "n_receptors")},
        "coverage": {
            "title": "Coverage",
            **SHARE,
            **meaning("diversity", "coverage"),
        },
        "depth": {
            "title": f"{units_title(shown['count_unit'])} at equal coverage",
            **COUNT,
            **meaning("diversity", "depth"),
        },
        "method": {"title": "Method", **meaning("diversity", "method")},
        "hill_0": {
            "title": "Receptors at equal coverage",
            **effective,
            **meaning("diversity", "hill_0_at_coverage"),
        },
        "hill_1": {
            "title": "Effective number, order 1",
            **effective,
            **meaning("diversity", "hill_1_at_coverage"),
        },
        "hill_2": {
            "title": "Effective number, order 2",
            **effective,
            **meaning("diversity", "hill_2_at_coverage"),
        },
        "coincidence": {
            "title": "Coincidence",
            **NUMBER,
            **meaning("diversity", "coincidence"),
        },
    }
    data, headers = with_units(data, headers, shown["count_unit"])
    return section(
        "airrvec_repertoire_diversity",
        "Diversity",
        "Number of distinct receptors, and how evenly the cells are distributed over them (Hill numbers), at"
        " equal coverage, the estimated share of a repertoire's cells whose receptor was seen:"
        f" {_references(diversity)}. Compare samples by the three numbers"
        " at equal coverage. If the effective number of order 2 is far below the number of receptors, the"
        f" sample has a few large clones. {_not_comparable(diversity)}{words}{_units(diversity)} Receptors"
        " that differ only in alleles count as one.",
        "table",
        data,
        headers=headers,
        pconfig={"col1_header": "Sample", "sort_rows": False},
    )


def _units(diversity: pd.DataFrame) -> str:
    """Return which samples count what, and that other units have other reference coverages."""
    words = units_sentence(units_of(diversity))
    return f"{words} Each unit has a reference coverage of its own." if _several(diversity) else words


def _several(diversity: pd.DataFrame) -> bool:
    return len(set(diversity["count_unit"])) > 1


def _references(diversity: pd.DataFrame) -> str:
    """Return the reference coverage of each group, and of each unit if there are several."""
    by = ["group", "count_unit"] if _several(diversity) else ["group"]
    found = diversity.groupby(by, sort=False)["reference_coverage"].first()
    found.index = [" in ".join(key) if isinstance(key, tuple) else key for key in found.index]
    return "; ".join(
        f"{group} {f'{100 * value:.3g} %' if pd.notna(value) else 'not known, no receptor occurs twice'}"
        for group, value in found.items()
    )


def _not_comparable(diversity: pd.DataFrame) -> str:
    """Return which samples must not be compared, and why."""
    sentences = []
    for method, reason in (
        (TOO_LOW, "would need more than twice {its} cells for this coverage"),
        (NO_REPEATS, "{has} no receptor twice, so that {its} coverage is not known"),
    ):
        rows = diversity[diversity["method"] == method]
        if len(rows):
            words = {"its": "its", "has": "has"} if len(rows) == 1 else {"its": "their", "has": "have"}
            sentences.append(f"<strong>Not comparable: {_few(rows)} {reason.format(**words)}.</strong>")
    rows = diversity[diversity["depth"] < FEW_CELLS]
    if len(rows):
        sentences.append(
            f"<strong>Do not rely on {_few(rows)}: at this coverage fewer than {FEW_CELLS} cells are left,"
            " because the samples differ too much in coverage.</strong>"
        )
    return " ".join(sentences) or "Do not believe small differences: no confidence interval is given."


def _few(rows: pd.DataFrame) -> str:
    """Return the names of at most five rows, and the number of others."""
    names = [f"{escaped(row.sample_id)} ({row.group})" for row in rows.head(5).itertuples()]
    more = len(rows) - len(names)
    return ", ".join(names) + (f" and {counted(more, 'other')}" if more else "")
