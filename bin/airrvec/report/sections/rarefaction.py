"""Rarefaction curves of samples in the MultiQC report, each by the class of chains that it mostly has."""

from airrvec.core.chains import CHAIN_TITLES
from airrvec.core.terminal import counted
from airrvec.figures.samples import main_class
from airrvec.report.looks import broken_words, looks
from airrvec.report.page import (
    escaped,
    first_names,
    group_titles,
    section,
    unit_words,
    units_of,
    units_sentence,
    units_title,
)

import pandas as pd

MAX_LINES = 12  # samples in a graph
ORDERS = {0: "Clones", 1: "Effective number of clones", 2: "Effective number of large clones"}
_TABS = {0: "Clones", 1: "Effective number", 2: "Large clones"}
_PREDICTED = ", predicted"
_DASHES = {"solid": "dash", "dashdot": "dot"}  # of a curve → of its predicted part
_ID = "airrvec_repertoire_rarefaction"
_KEYS = ["species", "chains", "count_unit"]


def rarefaction_sections(curves: pd.DataFrame, diversity: pd.DataFrame, groups: list[dict]) -> list[dict]:
    """
    Return a figure for each species, class of chains and count unit that samples mostly have.

    Each sample is drawn once, by the class in which it has most cells, so that a bulk sample of β chains does
    not stand beside the few β chains without a partner of single-cell samples.

    Parameters
    ----------
    curves, diversity : DataFrame
        `airrvec.core.schema.RAREFACTION` and `DIVERSITY`.
    groups : list of dict
        ``species`` and ``chains``, those with most clonotypes first.
    """
    main = main_class(diversity, list(group_titles(groups)))
    own = curves.merge(main[["sample_id", *_KEYS]])
    has_curve = main["sample_id"].map(own.groupby("sample_id").size()).fillna(0) > 1
    without = main.loc[~has_curve, "sample_id"].tolist()
    words = f" No curve, because of a single count: {escaped(first_names(without))}." if without else ""
    main = main[has_curve]
    order = list(group_titles(groups))
    classes = [(tuple(map(str, key)), rows) for key, rows in main.groupby(_KEYS, sort=False)]
    parts = sorted(classes, key=lambda part: (-len(part[1]), order.index((part[0][0], part[0][1])), part[0]))
    titles = {key: _title(key, main, group_titles(groups)) for key, _ in parts}
    sections = []
    for key, rows in parts:
        apart = [title for other, title in titles.items() if other != key]
        part = own[own["sample_id"].isin(rows["sample_id"])]
        id = "_".join([_ID, *key]).lower() if sections else _ID
        sections.append(_figure(id, titles[key], part, rows, words + _not_comparable(rows, apart)))
        words = ""  # once
    return sections


def _title(key: tuple, main: pd.DataFrame, titles: dict[tuple[str, str], str]) -> str:
    """Return what the samples of a figure have in common, as far as apart differ in it."""
    species, chains, unit = key
    words = []
    if len({*main["chains"]}) > 1 or len({*main["species"]}) > 1:
        words.append(titles[species, chains])
    if len({*main["count_unit"]}) > 1:
        words.append(unit)
    return ", ".join(words)


def _not_comparable(rows: pd.DataFrame, apart: list[str]) -> str:
    """Return which samples a figure has, and that curves of other figures are not comparable."""
    if not apart:
        return ""
    return (
        f" {counted(len(rows), 'sample')}, by the class of chains that most of"
        f" {'its' if len(rows) == 1 else 'their'} {unit_words(rows['count_unit'])} have."
        f" <strong>Not comparable with the curves of {escaped('; '.join(apart))}</strong>, which have"
        f" {'a figure' if len(apart) == 1 else 'figures'} of their own."
    )


def _figure(id: str, title: str, curves: pd.DataFrame, rows: pd.DataFrame, words: str) -> dict:
    """Return the figure of some samples, one tab per order and axis."""
    names, left_out = _names(rows)
    curves = curves[curves["sample_id"].isin(names)]
    drawn = units_title(rows["count_unit"])
    data, labels = [], []
    for axis, suffix in (("n_drawn", ""), ("coverage", " by coverage")):
        for order, heading in ORDERS.items():
            data.append(_lines(curves, axis, order))
            labels.append(
                {
                    "name": _TABS[order] + suffix,
                    "xlab": "Coverage, %" if axis == "coverage" else drawn,
                    "ylab": heading,
                }
            )
    chosen = looks([[escaped(name) for name in names]], list(_DASHES))
    colours = {name: colour for name, (colour, _) in chosen.items()}
    colours |= {name + _PREDICTED: colour for name, (colour, _) in chosen.items()}
    dashes = {name: dash for name, (_, dash) in chosen.items()}
    dashes |= {name + _PREDICTED: _DASHES[dash] for name, (_, dash) in chosen.items()}
    words += broken_words(chosen, "solid", "Of samples with broken lines, the predicted part is dotted.")
    return section(
        id,
        ", ".join(filter(None, ["Rarefaction", title])),
        f"Expected number of clones among fewer {unit_words(rows['count_unit'])} than the sample has,"
        " and, dashed, predicted for up to twice as many;"
        f" {CHAIN_TITLES[rows['chains'].iloc[0]]}. A curve that"
        " flattens has shown most of its repertoire; compare samples at the same coverage (tabs"
        " <em>by coverage</em>), not at the ends of their curves. The dashed part is doubtful where few"
        " clones of a sample were seen twice: the prediction rests on these."
        " The effective number of clones is that of equally large clones that would be as diverse (Hill"
        " number of order 1); that of large clones counts mostly these (order 2)."
        f"{left_out}{words}{units_sentence(units_of(rows))} All curves, also of other chains, are in"
        " <code>samples/rarefaction.tsv</code>.",
        "linegraph",
        data,
        pconfig={
            "xlab": drawn,
            "ylab": "Clones",
            "ymin": 0,
            "xmin": 0,
            "colors": colours,
            "showlegend": True,
            "dash_styles": dashes,
            "data_labels": labels,
        },
    )


def _lines(curves: pd.DataFrame, axis: str, order: int) -> dict[str, list[list[float]]]:
    """Return the curve of each sample, and its prediction apart."""
    scale = 100 if axis == "coverage" else 1
    lines = {}
    for sample, points in curves.groupby("sample_id", sort=False):
        for suffix, part in (
            ("", points[points["method"] != "extrapolated"]),
            (_PREDICTED, points[points["method"] != "rarefied"]),
        ):
            if len(part) > 1:
                pairs = zip(scale * part[axis], part[f"hill_{order}"], strict=True)
                lines[escaped(sample) + suffix] = [[float(x), float(y)] for x, y in pairs]
    return lines


def _names(rows: pd.DataFrame) -> tuple[list[str], str]:
    """Return the samples whose curves are shown, and a sentence if these are not all."""
    names = rows["sample_id"].tolist()
    if len(names) <= MAX_LINES:
        return names, ""
    ordered = rows.sort_values(["hill_1_at_coverage", "hill_1"], kind="stable")["sample_id"].tolist()
    half = MAX_LINES // 2
    words = f" Of {len(names):,} samples, the {half} least and the {half} most diverse are shown."
    return [*ordered[:half], *ordered[-half:]], words
