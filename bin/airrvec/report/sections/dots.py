"""Dots by condition in the MultiQC report: what was measured of each sample or donor, beside its tests."""

import math
from dataclasses import dataclass

from airrvec.core import tables
from airrvec.core.chains import CHAIN_TITLES
from airrvec.core.terminal import counted, shortened
from airrvec.figures.palette import COLOURS
from airrvec.input import species_names
from airrvec.report import svg
from airrvec.report.page import escaped, first_names, section
from airrvec.report.sections.conditions import LOGS, SHARES, TITLES, Conditions
from airrvec.stats.designs import DONORS, SIGNIFICANT, TREND, TWO_GROUPS, as_numbers

import pandas as pd

MOST_PANELS = 9
MOST_VALUES = 12  # of the condition that are drawn; of more, those with most samples
MOST_TESTS = 3  # of a panel that are told
KEYS = ["measure", "feature", "species", "chains"]
_UNITS = {
    "coincidence": "% of pairs of cells",
    "large_clones": "% of cells",
    "v_gene": "% of clones",
    "j_gene": "% of clones",
    "cdr3_length": "residues, mean",
    "cluster": "% of cells",
    "pathogen": "% of cells",
}
HEADLINE = ("hill_1_at_coverage", "large_clones")  # always drawn, if anything is known
_ONE_OF_EACH = ("v_gene", "pathogen")  # their feature with the smallest FDR is always drawn
_WIDTH, _HEIGHT, _RADIUS = 300.0, 210.0, 4.0
_LEFT, _TOP, _LABELS = 46.0, 8.0, 24.0


@dataclass(frozen=True)
class Panel:
    """A measure's feature: ``units`` has a row per dot, with ``value``, ``donor``, ``names``, ``number``."""

    key: tuple
    heading: str
    units: pd.DataFrame
    unknown: list[str]  # samples of which it is not known
    tests: pd.DataFrame

    @property
    def log(self) -> bool:
        """Whether the table has logarithms, which are drawn as numbers on a logarithmic axis."""
        return self.key[0] in LOGS


def dots_section(results: Conditions) -> dict | None:
    """Return the figures of what differs most, and of diversity and expansion; None without numbers."""
    panels, sentences = chosen_panels(results)
    if not panels:
        return None
    column = escaped(results.counts["condition"])
    values, left_out = shown_values(results.measures)
    within = bool((results.tests["within"] == DONORS).any())
    drawn = [_figure(panel, values, within) for panel in panels]
    n_known = len(results.tests[~results.tests["measure"].isin(("overlap", "mmd"))][KEYS].drop_duplicates())
    lines = " Lines join the dots of a donor." if within else ""
    more = f" Left out, with fewer samples: {escaped(first_names(left_out))}." if left_out else ""
    return section(
        "airrvec_conditions_dots",
        f"Samples by {column}",
        "Each dot is a sample; several samples of a donor with one value are one dot, their mean, as in the"
        f" tests.{lines} The bar is the median. Diversity and expansion are always drawn, then the V gene"
        f" and the organism of calls with the smallest false discovery rate (FDR), then what has the"
        f" smallest FDR: {counted(len(panels), 'figure')} of {counted(n_known, 'tested number')}."
        f"{more}{''.join(f' {words}' for words in sentences)} All numbers are in"
        " <code>comparison/measures.tsv</code>.",
        "html",
        svg.side_by_side(drawn),
    )


def shown_values(measures: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Return the values in the order of the figures (numbers by size), and those that are left out."""
    values = list(dict.fromkeys(measures["value"]))
    numbers = as_numbers(values)
    if numbers is not None:
        values = [value for _, value in sorted(zip(numbers, values, strict=True))]
    sizes = measures.groupby("value")["sample_id"].nunique()
    kept = set(sizes[values].sort_values(ascending=False, kind="stable").index[:MOST_VALUES])
    return [value for value in values if value in kept], [value for value in values if value not in kept]


def chosen_panels(results: Conditions) -> tuple[list[Panel], list[str]]:
    """
    Return the panels in their order, and sentences on headline measures of which too little is known.

    Of a headline measure, the class of chains is drawn that most samples have.
    """
    measures = results.measures
    known = measures[measures["number"].notna()]
    tests = results.tests.assign(doubt=_doubt(results.tests)).sort_values(["fdr", "p", "doubt"])
    keys: list[tuple] = []
    sentences = []
    for name in HEADLINE:
        sizes = known[known["measure"] == name].groupby(KEYS, dropna=False, sort=False).size()
        if not len(sizes) or sizes.max() < 2:
            sentences.append(
                f"Not drawn, because fewer than two samples have enough cells: {TITLES[name].lower()}."
            )
        else:
            keys.append(_key(sizes.idxmax()))
    ranked = [_key(key) for key in tests[KEYS].drop_duplicates().itertuples(index=False)]
    measured = {_key(key) for key in known[KEYS].drop_duplicates().itertuples(index=False)}
    ranked = [key for key in ranked if key in measured]
    for name in _ONE_OF_EACH:
        keys += [key for key in ranked if key[0] == name][:1]
    # Other orders of diversity only if they differ: they nearly repeat the first.
    clear = {_key(key) for key in tests.loc[tests["fdr"] <= SIGNIFICANT, KEYS].itertuples(index=False)}
    more = [key for key in ranked if key[0] not in HEADLINE and (key in clear or key[0] not in LOGS)]
    keys += [key for key in more if key not in keys]
    return [_panel(key, results, tests) for key in keys[:MOST_PANELS]], sentences


def _doubt(tests: pd.DataFrame) -> pd.Series:
    """Return the width of the interval over the difference: small if the difference is clear."""
    return ((tests["high"] - tests["low"]) / tests["difference"].abs()).fillna(math.inf)


def _key(parts) -> tuple:
    return tuple(None if pd.isna(part) else part for part in parts)


def _rows(frame: pd.DataFrame, key: tuple) -> pd.DataFrame:
    """Return the rows of a table that have the key."""
    chosen = pd.Series(data=True, index=frame.index)
    for name, part in zip(KEYS, key, strict=True):
        chosen &= frame[name].isna() if part is None else frame[name] == part
    return frame[chosen]


def _panel(key: tuple, results: Conditions, tests: pd.DataFrame) -> Panel:
    rows = _rows(results.measures, key)
    known = rows[rows["number"].notna()]
    units = known.groupby(["value", "donor"], sort=False).agg(
        number=("number", "mean"), names=("sample_id", list)
    )
    units = units.reset_index()
    unknown = rows.loc[rows["number"].isna(), "sample_id"].tolist()
    return Panel(key, _heading(key, results), _scaled(units, key[0]), unknown, _rows(tests, key))


def _scaled(units: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return units with numbers as drawn: shares in per cent, logarithms as numbers."""
    if measure in SHARES:
        return units.assign(number=100 * units["number"])
    return units.assign(number=units["number"].map(math.exp)) if measure in LOGS else units


def _heading(key: tuple, results: Conditions) -> str:
    """Return what is measured: a cluster by its centre, the class of chains, the species of several."""
    measure, feature, species, chains = key
    before = {"pathogen": "Cells called for", "cluster": "Cells in the cluster of"}
    words = before.get(measure, TITLES[measure])
    words += f" {results.centres.get(feature, feature)}" if feature else ""
    if chains in CHAIN_TITLES:
        words += f", {CHAIN_TITLES[chains]}"
    if species and len({*results.measures["species"].dropna()}) > 1:
        words += f", {species_names.TITLES[species]}"
    return words


def _figure(panel: Panel, values: list[str], within: bool) -> str:
    """Return a panel with its heading and what its tests say."""
    told = [_test_words(row, panel) for row in tables.named_rows(panel.tests.head(MOST_TESTS))]
    more = len(panel.tests) - len(told)
    told += [f"{counted(more, 'further test')} in the table below"] if more > 0 else []
    told = told or ["not tested: too few donors of it are known"]
    if panel.unknown:
        told.append(f"not known: {first_names(panel.unknown)}")
    unit = f" ({_UNITS[panel.key[0]]})" if panel.key[0] in _UNITS else ""
    heading = f"<strong>{escaped(panel.heading)}</strong>{unit}"
    return svg.box(_WIDTH, heading, drawing(panel, values, within=within), map(escaped, told))


def _test_words(row, panel: Panel) -> str:
    """Return what a test says, in words."""
    scale, unit = (100, " %") if panel.key[0] in SHARES else (1, "")

    def number(value: float) -> str:
        return svg.number_words(math.exp(value) if panel.log else scale * value)

    interval = f" ({number(row.low)} to {number(row.high)}){unit}" if pd.notna(row.low) else unit
    effect = f"{number(row.difference)}{interval}, " if pd.notna(row.difference) else ""
    if row.design == TWO_GROUPS:
        words = f"{row.value_1} {'÷' if panel.log else '−'} {row.value_2}: {effect}"
    elif row.design == TREND:
        per = "times per unit of" if panel.log else "per unit of"
        words = f"trend, {per} {row.condition}: {effect}"
    else:
        words = "all values: "
    if row.within == DONORS:
        n = counted(int(row.n_units_1), "donor") if pd.notna(row.n_units_1) else f"{row.n_units:,} values"
        n += ", within donors"
    else:
        n = f"{row.n_units_1:.0f} and {row.n_units_2:.0f}" if pd.notna(row.n_units_1) else f"{row.n_units:,}"
        n += " donors"
    return f"{words}p = {row.p:.2g}, FDR = {row.fdr:.2g}, {n}"


def drawing(panel: Panel, values: list[str], *, within: bool) -> str:
    """
    Return the dots of each value, their medians, and lines between the dots of a donor.

    Parameters
    ----------
    panel : Panel
    values : list of str
        Of the condition, from left to right.
    within : bool
        Whether values are compared within donors, whose dots are joined.
    """
    units = panel.units[panel.units["value"].isin(values)]
    band = (_WIDTH - _LEFT) / len(values)
    longest = max(len(shortened(value, svg.LABEL)) for value in values)
    turned = longest * 7 > band
    bottom = _HEIGHT - (_LABELS + 5.5 * longest * 0.7 if turned else _LABELS)
    scale = svg.axis(units["number"], bottom, _TOP, log=panel.log, from_zero=panel.key[0] in SHARES)
    middles = {value: _LEFT + band * (number + 0.5) for number, value in enumerate(values)}
    parts = [_frame(scale, middles, turned)]
    points: dict[str, list[tuple[float, float]]] = {}
    dots = []
    for number, value in enumerate(values):
        rows = units[units["value"] == value]
        if not len(rows):
            continue
        heights = [scale.place(y) for y in rows["number"]]
        offsets = svg.swarm(heights, _RADIUS, 0.42 * band)
        places = [(middles[value] + x, y) for x, y in zip(offsets, heights, strict=True)]
        for donor, place in zip(rows["donor"], places, strict=True):
            points.setdefault(donor, []).append(place)
        dots.append(_dots(rows, places, COLOURS[number % len(COLOURS)], panel))
        median = scale.place(rows["number"].median())
        half = min(0.36 * band, 22.0)
        dots.append(svg.line(middles[value] - half, median, middles[value] + half, median, stroke_width=2))
    if within:
        joined = [
            " ".join(f"{x:.1f},{y:.1f}" for x, y in places) for places in points.values() if len(places) > 1
        ]
        lines = "".join(svg.tag("polyline", points=places) for places in joined)
        parts.append(svg.tag("g", lines, fill="none", stroke="currentColor", stroke_opacity=0.35))
    return svg.picture(_WIDTH, _HEIGHT, panel.heading, *parts, *dots)


def _dots(rows: pd.DataFrame, places: list[tuple[float, float]], colour: str, panel: Panel) -> str:
    """Return the dots of a value, with names and numbers under the pointer."""
    unit = " %" if panel.key[0] in SHARES else ""
    circles = []
    for row, (x, y) in zip(tables.named_rows(rows), places, strict=True):
        donor = f", donor {row.donor}" if [row.donor] != row.names else ""
        text = f"{first_names(row.names)}{donor}: {svg.number_words(row.number)}{unit}"
        circles.append(svg.tag("circle", svg.title(text), cx=x, cy=y, r=_RADIUS))
    return svg.tag("g", *circles, fill=colour, fill_opacity="0.85")


def _frame(scale: svg.Axis, middles: dict[str, float], turned: bool) -> str:
    """Return the axes: ticks with numbers on the left, values below."""
    parts = []
    for tick in scale.ticks():
        y = scale.place(tick)
        parts.append(svg.line(_LEFT, y, _WIDTH, y, stroke_opacity=0.15))
        text = svg.words(svg.number_words(tick))
        parts.append(svg.tag("text", text, x=_LEFT - 6, y=y + 4, text_anchor="end"))
    parts.append(svg.line(_LEFT, scale.start, _WIDTH, scale.start, stroke_opacity=0.6))
    for value, x in middles.items():
        y = scale.start + 16
        how = {"text_anchor": "middle"}
        if turned:
            how = {"text_anchor": "end", "transform": f"rotate(-45 {x:.1f} {y - 6:.1f})"}
            y -= 4
        parts.append(
            svg.tag("text", svg.words(shortened(value, svg.LABEL)), svg.title(value), x=x, y=y, **how)
        )
    return "".join(parts)
