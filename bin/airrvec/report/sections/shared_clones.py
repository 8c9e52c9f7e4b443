"""
Clones of a donor in two samples and over time in the MultiQC report: scatter and alluvial drawings.

What is compared are the steps of ``compare_conditions.py``, from all samples of a donor with one value to
those with the next one; without steps, each two samples of a donor that share clones, without a test.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from typing import NamedTuple

from airrvec.core import schema, tables
from airrvec.core.chains import receptor_names
from airrvec.core.terminal import counted, shortened
from airrvec.figures.palette import COLOURS, OTHER_COLOUR
from airrvec.report import svg
from airrvec.report.page import counted_in, escaped, per_cent, section
from airrvec.stats.designs import SIGNIFICANT

import pandas as pd
import pyarrow.compute as pc

MOST_PAIRS = 6  # drawings of two samples
MOST_POINTS = 300  # of a drawing
MOST_DONORS = 4  # drawings over time
MOST_CLONES = len(COLOURS)  # of a donor over time: each has a colour of its own
MORE, LESS, ALIKE = "larger", "smaller", "no significant change"
KINDS = {"expanded": MORE, "new": MORE, "contracted": LESS, "lost": LESS}
COLOUR_OF_KIND = {ALIKE: OTHER_COLOUR, LESS: COLOURS[0], MORE: COLOURS[1]}
_SIZE, _LEFT, _TOP, _BOTTOM, _ZERO = 300.0, 50.0, 8.0, 44.0, 20.0
_WIDTH = 380.0  # of a drawing over time
_CLONE = ["clone_id", *schema.RECEPTOR_FIELDS, "call_epitope"]


class Side(NamedTuple):
    """Samples of a donor that are added up: with one value of the condition, or a single one."""

    value: str
    samples: tuple[str, ...]


class Pair(NamedTuple):
    """Two sides of a donor; ``rank`` orders the pairs, the largest first; ``reason``: why it is not drawn."""

    donor: str
    before: Side
    after: Side
    rank: tuple[int, int]
    reason: str | None = None


@dataclass(frozen=True)
class Shared:
    """
    What the drawings need.

    Attributes
    ----------
    condition : str or None
        Column whose values are compared; None if samples are, without a test.
    pairs : list of Pair
    counts : DataFrame
        ``clone_id``, ``sample_id``, ``n_cells`` of clones with known chains, of the samples that are drawn.
    changes : DataFrame
        Significant `airrvec.core.schema.CHANGES` of clones.
    names : DataFrame, index ``clone_id``
        ``name`` and ``call`` of the clones that may be named.
    units : dict of str
        What each sample counts.
    """

    condition: str | None
    pairs: list[Pair]
    counts: pd.DataFrame
    changes: pd.DataFrame
    names: pd.DataFrame
    units: dict[str, str]


def read_shared(clones: Path | None, comparison: Path | None) -> Shared | None:
    """
    Return what the drawings need; None if no donor has two samples that can be drawn.

    Parameters
    ----------
    clones, comparison : Path or None
        Folders written by ``describe_clones.py`` (with counts) and ``compare_conditions.py``.
    """
    if clones is None or not all((clones / f"{name}.parquet").exists() for name in ("clones", "counts")):
        return None
    changes = pd.DataFrame(columns=["donor", "before", "after", "feature", "change", "fdr"])
    condition, pairs = None, []
    if comparison is not None and (comparison / "steps.parquet").exists():
        steps = tables.read(comparison / "steps.parquet").to_pandas()
        pairs = _stepped(steps[steps["kind"] == "clone"])
        if pairs:
            condition = steps["condition"].iloc[0]
            significant = (pc.field("kind") == "clone") & (pc.field("fdr") <= SIGNIFICANT)
            path = comparison / "changes.parquet"
            changes = tables.read_filtered(path, significant, changes.columns.tolist()).to_pandas()
    pairs = pairs or _sharing(clones / "clones.parquet")
    if not pairs:
        return None
    counts, units = _counts(clones, drawn_pairs(pairs), drawn_donors(pairs) if condition else {})
    return Shared(condition, pairs, counts, changes, _names(clones, counts), units)


def _stepped(steps: pd.DataFrame) -> list[Pair]:
    """Return the pairs of the steps: those with most significant changes, then most persistent clones."""
    pairs = []
    for row in tables.named_rows(steps):
        before = Side(row.before, tuple(row.samples_before.split(";")))
        after = Side(row.after, tuple(row.samples_after.split(";")))
        rank = (0, 0)
        if row.reason is None:
            changed = row.n_expanded + row.n_new + row.n_contracted + row.n_lost
            rank = (int(changed), int(row.n_persistent))
        pairs.append(Pair(row.donor, before, after, rank, row.reason))
    return pairs


def _sharing(path: Path) -> list[Pair]:
    """Return each two samples of a donor that share a clone, with the number of these clones."""
    is_shared = (pc.field("n_samples") > 1) & pc.field("chains").is_valid()
    several = tables.read_filtered(path, is_shared, ["donor", "samples"]).to_pandas()
    numbers = Counter(
        (donor, *pair)
        for donor, samples in several.itertuples(index=False)
        for pair in combinations(sorted(samples.split(";")), 2)
    )
    return [
        Pair(donor, Side(one, (one,)), Side(other, (other,)), (0, n))
        for (donor, one, other), n in sorted(numbers.items())
    ]


def drawn_pairs(pairs: list[Pair]) -> list[Pair]:
    """Return the pairs that are drawn: those with clones in both or with significant changes."""
    ordered = sorted((pair for pair in pairs if any(pair.rank)), key=lambda pair: pair.rank, reverse=True)
    return ordered[:MOST_PAIRS]


def drawn_donors(pairs: list[Pair]) -> dict[str, list[Side]]:
    """Return the sides of the donors that are drawn over time, in their order: those with most values."""
    steps: dict[str, list[Pair]] = {}
    for pair in pairs:
        steps.setdefault(pair.donor, []).append(pair)
    usable = [own for own in steps.values() if not any(pair.reason for pair in own)]
    usable.sort(key=lambda own: (len(own), *map(sum, zip(*(pair.rank for pair in own), strict=True))))
    return {
        own[0].donor: [own[0].before, *(pair.after for pair in own)] for own in usable[::-1][:MOST_DONORS]
    }


def _counts(
    clones: Path, pairs: list[Pair], donors: dict[str, list[Side]]
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return the counts of the samples that are drawn, and what each sample counts."""
    sides = [side for pair in pairs for side in (pair.before, pair.after)]
    sides += [side for own in donors.values() for side in own]
    chosen = tables.is_one_of("sample_id", sorted({name for side in sides for name in side.samples}))
    columns = ["clone_id", "sample_id", "n_cells", "count_unit"]
    counts = tables.read_filtered(clones / "counts.parquet", chosen, columns).to_pandas()
    is_own = tables.is_one_of("donor", sorted({*donors, *(pair.donor for pair in pairs)}))
    known = tables.read_filtered(
        clones / "clones.parquet", is_own & pc.field("chains").is_valid(), ["clone_id"]
    )
    units = dict(zip(counts["sample_id"], counts["count_unit"], strict=True))
    return counts[counts["clone_id"].isin(known["clone_id"].to_pandas())].drop(columns="count_unit"), units


def _names(clones: Path, counts: pd.DataFrame) -> pd.DataFrame:
    """Return name and call of the clones that were counted more than once, the largest of many."""
    sizes = counts.groupby("clone_id")["n_cells"].sum()
    ids = sizes[sizes > 1].nlargest(MOST_PAIRS * MOST_POINTS).index.tolist()
    table = tables.read_filtered(clones / "clones.parquet", tables.is_one_of("clone_id", ids), _CLONE)
    names = receptor_names({name: table[name].to_pylist() for name in schema.RECEPTOR_FIELDS})
    frame = pd.DataFrame({"name": names.to_pylist(), "call": table["call_epitope"].to_pandas()})
    return frame.set_axis(table["clone_id"].to_pylist())


def shared_sections(results: Shared) -> list[dict]:
    """Return the drawings of two samples, and those over time."""
    made = [_pairs_section(results), _time_section(results)]
    return [part for part in made if part is not None]


# --- Two samples


def points(results: Shared, pair: Pair) -> pd.DataFrame:
    """
    Return the points of a pair: clones with the same two counts and the same kind of change are one.

    Returns
    -------
    DataFrame
        ``before``, ``after`` (counts), ``kind`` (`MORE`, `LESS` or `ALIKE`), ``clones`` (their ids), ``fdr``.
    """
    wide = pd.DataFrame(
        {
            name: results.counts[results.counts["sample_id"].isin(side.samples)]
            .groupby("clone_id")["n_cells"]
            .sum()
            for name, side in (("before", pair.before), ("after", pair.after))
        }
    )
    wide = wide.fillna(0).astype(int)
    own = results.changes
    own = own[(own["donor"] == pair.donor) & (own["before"] == pair.before.value)]
    own = own[own["after"] == pair.after.value].set_index("feature")
    wide["kind"] = own["change"].reindex(wide.index).map(KINDS).fillna(ALIKE)
    wide["fdr"] = own["fdr"].reindex(wide.index)
    grouped = wide.rename_axis("clone_id").reset_index().groupby(["before", "after", "kind"], sort=True)
    return grouped.agg(clones=("clone_id", list), fdr=("fdr", "max")).reset_index()


def _pairs_section(results: Shared) -> dict | None:
    pairs = drawn_pairs(results.pairs)
    if not pairs:
        return None
    boxes, left_out = [], 0
    for pair in pairs:
        rows = points(results, pair)
        kept = rows.assign(size=rows["before"] + rows["after"], grey=rows["kind"] == ALIKE)
        kept = kept.sort_values(["grey", "size"], ascending=[True, False], kind="stable").head(MOST_POINTS)
        left_out += rows["clones"].map(len).sum() - kept["clones"].map(len).sum()
        heading = f"{pair.donor}: {pair.before.value} and {pair.after.value}"
        lines = _numbers(rows, pair, results)
        boxes.append(svg.box(_SIZE, _strong(heading), scatter(results, pair, kept), lines))
    tested = results.condition is not None
    colours = "".join(
        f'<span style="white-space:nowrap;margin-right:1rem">{_swatch(COLOUR_OF_KIND[kind])} {words}</span>'
        for kind, words in (
            (MORE, "significantly larger in the second (FDR ≤ 5 %)"),
            (LESS, "significantly smaller"),
            (ALIKE, "no significant change" if tested else "not tested"),
        )
        if tested or kind == ALIKE
    )
    order = "with most significant changes, then most shared clones" if tested else "with most shared clones"
    how = (
        f"from one {escaped(results.condition)} to the next"
        if results.condition
        else "in each two samples; without <code>--compare_by</code> they are not tested"
    )
    more = f" {counted(left_out, 'small clone')} are left out." if left_out else ""
    return section(
        "airrvec_conditions_shared",
        "Clones in two samples of a donor",
        f"Each point is a clone's share of the two samples of its donor, {how}; clones with the same two"
        " counts are one point, which is larger. On the diagonal both shares are equal; at the edge marked 0"
        f" a clone is in one of them alone. {counted(len(pairs), 'pair')} of {len(results.pairs):,}, those"
        f" {order}.{more}{_not_drawn(results)} All numbers are in <code>comparison/changes.tsv</code> and"
        " <code>clones/counts.parquet</code>.",
        "html",
        f"<p>{colours}</p>{svg.side_by_side(boxes)}",
    )


def _not_drawn(results: Shared) -> str:
    reasons = [
        f"{escaped(pair.donor)}, {escaped(pair.before.value)} → {escaped(pair.after.value)}"
        f" ({escaped(pair.reason)})"
        for pair in results.pairs
        if pair.reason
    ]
    more = f" and {counted(len(reasons) - 5, 'other')}" if len(reasons) > 5 else ""
    return f" Not comparable: {'; '.join(reasons[:5])}{more}." if reasons else ""


def _swatch(colour: str) -> str:
    style = f"display:inline-block;width:.8em;height:.8em;border-radius:50%;background:{colour}"
    return f'<span style="{style}"></span>'


def _strong(words: str) -> str:
    return f"<strong>{escaped(words)}</strong>"


def _numbers(rows: pd.DataFrame, pair: Pair, results: Shared) -> list[str]:
    """Return how many clones are in both, and how many changed."""
    n = rows["clones"].map(len)
    both = int(n[(rows["before"] > 0) & (rows["after"] > 0)].sum())
    words = f"{counted(both, 'clone')} of {int(n.sum()):,} in both"
    if results.condition is not None:
        more, less = (int(n[rows["kind"] == kind].sum()) for kind in (MORE, LESS))
        words += f"; {more:,} significantly larger, {less:,} smaller"
    return [words]


def totals(results: Shared, side: Side) -> int:
    """Return the counts of all clones of a side."""
    return int(results.counts.loc[results.counts["sample_id"].isin(side.samples), "n_cells"].sum())


def scatter(results: Shared, pair: Pair, rows: pd.DataFrame) -> str:
    """Return a drawing of the shares in two samples on logarithmic axes, zero at the edge."""
    sums = totals(results, pair.before), totals(results, pair.after)
    shares = [100 * rows[name] / total for name, total in zip(("before", "after"), sums, strict=True)]
    positive = [share for part in shares for share in part if share > 0]
    x_axis = svg.axis(positive, _LEFT + _ZERO, _SIZE - 4, log=True)
    y_axis = svg.axis(positive, _SIZE - _BOTTOM - _ZERO, _TOP, log=True)
    unit = results.units[pair.before.samples[0]]
    zeros = _LEFT + _ZERO / 2, _SIZE - _BOTTOM - _ZERO / 2
    circles: dict[str, list[str]] = {kind: [] for kind in COLOUR_OF_KIND}
    for row, x, y in zip(tables.named_rows(rows), *shares, strict=True):
        circles[row.kind].append(
            svg.tag(
                "circle",
                svg.title(_point_words(row, (x, y), unit, results)),
                cx=x_axis.place(x) if x else zeros[0],
                cy=y_axis.place(y) if y else zeros[1],
                r=min(3 + len(row.clones) ** 0.25 - 1, 8.0),
            )
        )
    dots = [
        svg.tag("g", *parts, fill=COLOUR_OF_KIND[kind], fill_opacity="0.8")
        for kind, parts in circles.items()
        if parts
    ]
    before = f"{results.condition} " if results.condition else ""
    names = [f"{before}{side.value}, % of {unit}" for side in (pair.before, pair.after)]
    frame = _scatter_frame(x_axis, y_axis, names)
    label = f"Shares of clones of {pair.donor} in {pair.before.value} and {pair.after.value}"
    return svg.picture(_SIZE, _SIZE, label, frame, *dots)


def _point_words(row, shares: tuple[float, float], unit: str, results: Shared) -> str:
    """Return the clone, or the number of clones, its counts, shares, and its change."""
    numbers = " and ".join(
        f"{counted_in(n, unit)} ({svg.number_words(share)} %)"
        for n, share in zip((row.before, row.after), shares, strict=True)
    )
    change = "" if row.kind == ALIKE else f"; {row.kind}, FDR {row.fdr:.2g}"
    if len(row.clones) == 1 and row.clones[0] in results.names.index:
        return f"{_clone_words(row.clones[0], results)}: {numbers}{change}"
    n = counted(len(row.clones), "clone")
    return f"{n}{' each' if len(row.clones) > 1 else ''} of {numbers}{change}"


def _scatter_frame(x_axis: svg.Axis, y_axis: svg.Axis, names: list[str]) -> str:
    """Return both axes with their zeros, the diagonal and the names of the samples."""
    bottom, parts = _SIZE - _BOTTOM, []
    for tick in x_axis.ticks():
        x, text = x_axis.place(tick), svg.words(svg.number_words(tick))
        parts.append(svg.line(x, _TOP, x, bottom, stroke_opacity=0.15))
        parts.append(svg.tag("text", text, x=x, y=bottom + 15, text_anchor="middle"))
    for tick in y_axis.ticks():
        y, text = y_axis.place(tick), svg.words(svg.number_words(tick))
        parts.append(svg.line(_LEFT, y, _SIZE, y, stroke_opacity=0.15))
        parts.append(svg.tag("text", text, x=_LEFT - 5, y=y + 4, text_anchor="end"))
    parts.append(svg.tag("text", "0", x=_LEFT + _ZERO / 2, y=bottom + 15, text_anchor="middle"))
    parts.append(svg.tag("text", "0", x=_LEFT - 5, y=bottom - _ZERO / 2 + 4, text_anchor="end"))
    edge = {"stroke_dasharray": "3 3", "stroke_opacity": 0.5}
    parts.append(svg.line(_LEFT + _ZERO, _TOP, _LEFT + _ZERO, bottom, **edge))
    parts.append(svg.line(_LEFT, bottom - _ZERO, _SIZE, bottom - _ZERO, **edge))
    parts.append(
        svg.line(
            *(x_axis.place(x_axis.low), y_axis.place(x_axis.low), x_axis.place(x_axis.high)),
            y_axis.place(x_axis.high),
            stroke_opacity=0.4,
        )
    )
    below, beside = (svg.words(shortened(name, 36)) for name in names)
    middle = (_LEFT + _ZERO + _SIZE) / 2
    parts.append(svg.tag("text", below, x=middle, y=_SIZE - 8, text_anchor="middle"))
    y = (_TOP + bottom) / 2
    turned = {"text_anchor": "middle", "transform": f"rotate(-90 12 {y:.1f})"}
    parts.append(svg.tag("text", beside, x=12.0, y=y, **turned))
    return "".join(parts)


# --- Over time


def largest_shares(results: Shared, sides: list[Side]) -> pd.DataFrame:
    """
    Return the shares of the largest clones of a donor: a row per clone, a column per value.

    Clones that were counted once are not among them. The first row is the clone with the largest share.
    """
    columns = {}
    for side in sides:
        own = results.counts[results.counts["sample_id"].isin(side.samples)]
        columns[side.value] = own.groupby("clone_id")["n_cells"].sum()
    counts = pd.DataFrame(columns).fillna(0).astype(int)
    shares = counts / pd.Series({side.value: max(totals(results, side), 1) for side in sides})
    shares = shares[counts.max(axis=1) > 1]
    largest = shares.max(axis=1).sort_values(ascending=False, kind="stable").index[:MOST_CLONES]
    return shares.loc[largest]


def _time_section(results: Shared) -> dict | None:
    if results.condition is None:
        return None
    donors = drawn_donors(results.pairs)
    boxes = []
    for donor, sides in donors.items():
        shares = largest_shares(results, sides)
        if len(shares):
            lines = [
                f"{_swatch(colour)} {escaped(_clone_words(clone, results))}"
                for colour, clone in zip(COLOURS, shares.index, strict=False)
            ]
            boxes.append(svg.box(_WIDTH, _strong(donor), alluvial(results, sides, shares), lines))
    if not boxes:
        return None
    column = escaped(results.condition)
    n = len({pair.donor for pair in results.pairs})
    return section(
        "airrvec_conditions_over_time",
        f"Largest clones by {column}",
        f"The {MOST_CLONES} clones with the largest share of one of a donor's samples, followed over"
        f" {column}: the height of a band is the clone's share. Clones that were seen once, and all smaller"
        " ones, are left out; above each bar stands the share of the drawn clones."
        f" {counted(len(boxes), 'donor')} of {n:,}, those with most values of {column}, then most significant"
        " changes. All numbers are in <code>clones/counts.parquet</code>.",
        "html",
        svg.side_by_side(boxes),
    )


def _clone_words(clone: str, results: Shared) -> str:
    name, call = results.names.loc[clone]
    return name + (f" (call: {call})" if pd.notna(call) else "")


def alluvial(results: Shared, sides: list[Side], shares: pd.DataFrame) -> str:
    """Return a drawing of bars with the shares of clones, and bands from bar to bar."""
    width, height, bar = _WIDTH, 240.0, 14.0
    scale = svg.axis([0.0, 100 * shares.sum().max()], height - 24, 26, from_zero=True)
    step = (width - _LEFT - 2 * bar) / max(len(sides) - 1, 1)
    lefts = [_LEFT + bar / 2 + step * number for number in range(len(sides))]
    tops = 100 * shares.cumsum()
    parts = []
    for tick in scale.ticks():
        y, text = scale.place(tick), svg.words(f"{svg.number_words(tick)} %")
        parts.append(svg.line(_LEFT, y, width, y, stroke_opacity=0.15))
        parts.append(svg.tag("text", text, x=_LEFT - 5, y=y + 4, text_anchor="end"))
    for number, side in enumerate(sides):
        x = lefts[number] + bar / 2
        anchor = "end" if number == len(sides) - 1 else "start" if not number else "middle"
        x += {"end": bar / 2, "start": -bar / 2, "middle": 0}[anchor]
        total = shares[side.value].sum()
        common = {"x": x, "text_anchor": anchor}
        label = shortened(side.value, svg.LABEL)
        parts.append(svg.tag("text", svg.words(label), svg.title(side.value), y=height - 8, **common))
        y = scale.place(100 * total) - 6
        parts.append(svg.tag("text", svg.words(per_cent(total)), y=y, font_size="11", **common))
    for colour, clone in zip(COLOURS, shares.index, strict=False):
        places = [
            (scale.place(tops.loc[clone, side.value] - 100 * share), scale.place(tops.loc[clone, side.value]))
            for side, share in zip(sides, shares.loc[clone], strict=True)
        ]
        told = ", ".join(
            f"{side.value}: {per_cent(share)}" for side, share in zip(sides, shares.loc[clone], strict=True)
        )
        bars = [
            svg.tag("rect", x=left, y=top, width=bar, height=low - top)
            for left, (low, top) in zip(lefts, places, strict=True)
            if low > top
        ]
        bands = [
            svg.tag("path", d=_band(one, other, lefts[number] + bar, lefts[number + 1]), fill_opacity="0.45")
            for number, (one, other) in enumerate(pairwise(places))
            if one[0] > one[1] or other[0] > other[1]
        ]
        name = svg.title(f"{_clone_words(clone, results)}: {told}")
        parts.append(svg.tag("g", name, *bands, *bars, fill=colour))
    return svg.picture(width, height, "Shares of the largest clones", *parts)


def _band(one: tuple[float, float], other: tuple[float, float], left: float, right: float) -> str:
    """Return the path between a bar's part, from low to top, and that of the next bar."""
    middle = (left + right) / 2
    return (
        f"M{left:.1f},{one[1]:.1f} C{middle:.1f},{one[1]:.1f} {middle:.1f},{other[1]:.1f}"
        f" {right:.1f},{other[1]:.1f} L{right:.1f},{other[0]:.1f} C{middle:.1f},{other[0]:.1f}"
        f" {middle:.1f},{one[0]:.1f} {left:.1f},{one[0]:.1f} Z"
    )
