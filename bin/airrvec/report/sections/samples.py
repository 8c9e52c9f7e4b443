"""Each sample by itself in the MultiQC report: largest clones, clone sizes, genes, lengths, diversity."""

import json
from dataclasses import dataclass
from pathlib import Path

from airrvec.core import schema, tables
from airrvec.core.chains import receptor_names
from airrvec.core.schema.samples import CLONE_SIZES_LIMITS, NO_REPEATS, SAMPLE_TABLES, TOO_FEW, TOO_LOW
from airrvec.core.terminal import counted
from airrvec.report.page import (
    COUNT,
    NUMBER,
    SHARE,
    counted_in,
    escaped,
    group_titles,
    meaning,
    per_cent,
    section,
    unit_words,
    units_of,
    units_sentence,
    units_title,
    with_group_titles,
    with_units,
)
from airrvec.report.sections import sample_genes
from airrvec.report.sections.clones import Clones, read_clones, sections_of
from airrvec.report.sections.quality import FEW_CELLS
from airrvec.report.sections.rarefaction import ORDERS, rarefaction_sections

import pandas as pd

MAX_ROWS = 200  # samples of all classes of chains in the table
FEW_RAREFIED = 20  # below, a rarefied sample shows little


def diversity_section(diversity: pd.DataFrame) -> dict:
    """Return the table of Hill numbers at equal coverage."""
    shown, words = diversity, ""
    if len(diversity) > MAX_ROWS:
        shown = diversity.sort_values("n_cells", ascending=False, kind="stable").head(MAX_ROWS)
        words = f" The table has the {MAX_ROWS} rows with most cells of {len(diversity):,}."
    data = {
        f"{escaped(row.sample_id)}, {row.group}": {
            "cells": row.n_cells,
            "clones": row.n_clones,
            "coverage": 100 * row.coverage,
            "depth": row.depth if pd.notna(row.depth) else None,
            "method": row.method,
            **{
                f"hill_{order}": value if pd.notna(value) else None
                for order in ORDERS
                for value in [getattr(row, f"hill_{order}_at_coverage")]
            },
            "coincidence": row.coincidence if pd.notna(row.coincidence) else None,
        }
        for row in tables.named_rows(shown)
    }
    data, headers = with_units(
        data, _diversity_headers(units_title(shown["count_unit"])), shown["count_unit"]
    )
    return section(
        "airrvec_repertoire_diversity",
        "Diversity",
        "Number of clones, and how evenly the cells are distributed over them (Hill numbers of order 0, 1 and"
        " 2): the effective number of clones is that of equally large clones that would be as diverse; that"
        " of large clones counts mostly these. All at"
        " equal coverage, the estimated share of a repertoire's cells whose clone was seen:"
        f" {_references(diversity)}. Compare samples by the three numbers"
        " at equal coverage. If the effective number of large clones is far below the number of clones, the"
        f" sample has a few large clones. {_not_comparable(diversity)}{words}{_units(diversity)}",
        "table",
        data,
        headers=headers,
        pconfig={"col1_header": "Sample", "sort_rows": False},
    )


def _diversity_headers(unit: str) -> dict[str, dict]:
    effective = {"format": "{:,.1f}", "scale": False}
    return {
        "cells": {"title": unit, **COUNT, **meaning("diversity", "n_cells")},
        "clones": {"title": "Clones", **COUNT, **meaning("diversity", "n_clones")},
        "coverage": {"title": "Coverage", **SHARE, **meaning("diversity", "coverage")},
        "depth": {"title": f"{unit} at equal coverage", **COUNT, **meaning("diversity", "depth")},
        "method": {"title": "Method", **meaning("diversity", "method")},
        **{
            f"hill_{order}": {
                "title": title if order else f"{title} at equal coverage",
                **effective,
                **meaning("diversity", f"hill_{order}_at_coverage"),
            }
            for order, title in ORDERS.items()
        },
        "coincidence": {"title": "Two cells of one clone", **NUMBER, **meaning("diversity", "coincidence")},
    }


def _units(diversity: pd.DataFrame) -> str:
    """Return the samples of each count unit; each unit has a reference coverage of its own."""
    words = units_sentence(units_of(diversity))
    return f"{words} Each unit has a reference coverage of its own." if _several(diversity) else words


def _several(diversity: pd.DataFrame) -> bool:
    return len(set(diversity["count_unit"])) > 1


def _references(diversity: pd.DataFrame) -> str:
    """Return the reference coverage of each group, and of each unit if there are several."""
    keys = ["group", "count_unit"] if _several(diversity) else ["group"]
    coverage = diversity.groupby(keys, sort=False)["reference_coverage"].first()
    coverage.index = [" in ".join(key) if isinstance(key, tuple) else key for key in coverage.index]
    return "; ".join(
        f"{group} {f'{100 * value:.3g} %' if pd.notna(value) else 'not known, no clone has two cells'}"
        for group, value in coverage.items()
    )


def _not_comparable(diversity: pd.DataFrame) -> str:
    """Return which samples must not be compared, and why."""
    sentences = []
    for method, reason in (
        (TOO_LOW, "would need more than twice {its} cells for this coverage"),
        (NO_REPEATS, "{has} no clone of two cells, so that {its} coverage is not known"),
        (TOO_FEW, "{has} fewer than 20 cells"),
    ):
        rows = diversity[diversity["method"] == method]
        if len(rows):
            words = {"its": "its", "has": "has"} if len(rows) == 1 else {"its": "their", "has": "have"}
            sentences.append(f"<strong>Not comparable: {_few(rows)} {reason.format(**words)}.</strong>")
    rows = diversity[diversity["depth"] < FEW_RAREFIED]
    if len(rows):
        sentences.append(
            f"<strong>Do not rely on {_few(rows)}: at this coverage fewer than {FEW_RAREFIED} cells are left,"
            " because the samples differ too much in coverage.</strong>"
        )
    return " ".join(sentences) or "Small differences mean little: no confidence interval is given."


def _few(rows: pd.DataFrame) -> str:
    """Return the names of at most five rows, and the number of others."""
    names = [f"{escaped(row.sample_id)} ({row.group})" for row in tables.named_rows(rows.head(5))]
    more = len(rows) - len(names)
    return ", ".join(names) + (f" and {counted(more, 'other')}" if more else "")


# --- Each sample by itself in the MultiQC report: largest clones, clone sizes, genes, lengths, diversity

MAX_BARS = 60

ONE = "One"  # class of the clones that were counted once, in the figure of clone sizes
_SIZE_COLOURS = dict(
    zip(
        (ONE, *CLONE_SIZES_LIMITS),
        ("#BBBBBB", "#A6D5F5", "#56B4E9", "#0072B2", "#E69F00", "#D55E00"),
        strict=True,
    )
)


@dataclass(frozen=True)
class Described:
    """Results of ``describe_samples.py``: its counts and those of the clones, its tables; calls of clones."""

    counts: dict
    cloned: dict
    tables: dict[str, pd.DataFrame]
    clones: Clones | None = None


def read_described(
    folder: Path | None, clones: Path | None = None, clusters: Path | None = None
) -> Described | None:
    """
    Return the results of ``describe_samples.py``; None if the folder has none.

    Parameters
    ----------
    folder : Path or None
    clones, clusters : Path, optional
        Folders written by ``describe_clones.py`` and ``cluster_receptors.py``.
    """
    if folder is None or not (folder / "samples.qc.json").exists():
        return None
    counts = json.loads((folder / "samples.qc.json").read_text())
    cloned = json.loads((folder / "clones.qc.json").read_text())
    frames = {name: tables.read(folder / f"{name}.parquet").to_pandas() for name in SAMPLE_TABLES}
    # Samples of a condition are neighbours: MultiQC sorts by these names.
    names = {sample: f"{condition}: {sample}" for sample, condition in counts["of_sample"].items()}
    frames["largest_clones"]["sample"] = frames["largest_clones"]["sample_id"]
    for frame in frames.values():
        frame["sample_id"] = frame["sample_id"].replace(names)
    titles = group_titles(counts["groups"])
    for name in ("diversity", "rarefaction"):
        frames[name] = with_group_titles(frames[name], titles)
    return Described(counts, cloned, frames, read_clones(clones, clusters))


def described_sections(results: Described) -> list[dict]:
    """Return the sections of the report; an empty list if the samples have no clone."""
    frames = results.tables
    if not len(frames["largest_clones"]):
        return []
    sections = [
        *sections_of(results.clones, _definition(results.cloned), results.counts["of_sample"]),
        _clone_sizes(frames["clone_sizes"]),
        *sample_genes.gene_sections(frames["gene_usage"]),
        sample_genes.lengths_section(frames["cdr3_lengths"]),
        *sample_genes.pairing_sections(frames["vj_pairing"]),
        *rarefaction_sections(frames["rarefaction"], frames["diversity"], results.counts["groups"]),
        diversity_section(frames["diversity"]),
    ]
    return sections


def described_lines(results: Described) -> list[str]:
    """Return the clone with the largest share of its sample, small samples last, for the terminal."""
    words = largest_clone(results, FEW_CELLS) or largest_clone(results)
    return [words] if words else []


def largest_clone(results: Described, min_cells: int = 0) -> str | None:
    """
    Return the clone with the largest share of its sample, in a sentence without a full stop.

    Parameters
    ----------
    results : Described
    min_cells : int
        Cells of a sample, below which its clones do not count.
    """
    clones = results.tables["largest_clones"]
    cells = results.tables["clone_sizes"].groupby("sample_id")["n_cells"].sum()
    clones = clones[(clones["sample_id"].map(cells) >= min_cells).to_numpy(bool)]
    repeated = clones[clones["n_cells"] > 1]
    if not len(repeated):
        return "No clone has two cells" if len(clones) else None
    largest = repeated.sort_values(["share", "n_cells"], ascending=False, kind="stable").iloc[0]
    name = receptor_names({field: [largest[field]] for field in schema.RECEPTOR_FIELDS})[0].as_py()
    kind = f", {largest['innate_like']}" if largest["innate_like"] else ""
    size = counted_in(largest["n_cells"], largest["count_unit"])
    return f"Largest clone: {size}, {per_cent(largest['share'])} of {largest['sample']} ({name}{kind})"


_JUNCTIONS = {"nt": "nucleotides of the CDR3", "aa": "CDR3"}


def _definition(cloned: dict) -> str:
    """Return what a clone is in this run, and what was done to find them."""
    without = cloned["without_nucleotides"] if cloned["clone_by"] == "aa" else []
    words = (
        f"A clone is all cells of a donor with the same V gene and {_JUNCTIONS[cloned['clone_by']]} in both"
        f" chains; {counted(cloned['joined'], 'cell')} with one chain joined the only clone of their donor"
        " that has it."
    )
    if without:
        n = counted(len(without), "sample lacks", "samples lack")
        words += f" Residues tell clones apart, not nucleotides, which {n} (<code>--clone_by</code>)."
    if not cloned["donors_named"]:
        words += " The samplesheet has no column <code>donor</code>: each sample is a donor of its own."
    return words


def _clone_sizes(sizes: pd.DataFrame) -> dict:
    names = list(dict.fromkeys(sizes["sample_id"]))
    words = ""
    if len(names) > MAX_BARS:
        cells = sizes.groupby("sample_id")[["n_singletons", "n_cells"]].sum()
        expanded = (1 - cells["n_singletons"] / cells["n_cells"]).sort_values(kind="stable")
        names = [*expanded.index[: MAX_BARS // 2], *expanded.index[-MAX_BARS // 2 :]]
        words = (
            f" Of {counted(len(expanded), 'sample')}, the {MAX_BARS // 2} with the largest and the"
            f" {MAX_BARS // 2} with the smallest share of cells in clones of several cells are shown."
        )
    shown = sizes[sizes["sample_id"].isin(names)]
    data = {escaped(sample): _size_shares(rows) for sample, rows in shown.groupby("sample_id", sort=False)}
    return section(
        "airrvec_repertoire_clone_sizes",
        "Clonal expansion",
        "Share of the cells of each sample in clones of each size. A clone of a single cell is not expanded,"
        " whatever its share: single cells are grey. Larger clones are classed by their share of the"
        " sample, with the limits of scRepertoire. The larger the orange part, the more of the sample"
        " belongs to a few clones. Do not compare samples with very different numbers of cells: in a sample"
        " of 19 cells a clone of two is already above 10 %, in one of fewer than 200 above 1 %"
        f" (<code>n_singletons</code> in <code>samples/clone_sizes.tsv</code>).{words}"
        f"{units_sentence(units_of(sizes))}",
        "bargraph",
        data,
        categories=_size_titles(sizes["count_unit"]),
        pconfig={
            "ylab": f"Share of {unit_words(sizes['count_unit'])}, %",
            "ymax": 100,
            "cpswitch": False,
            "tt_decimals": 1,
        },
    )


def _size_shares(rows: pd.DataFrame) -> dict[str, float]:
    """Return the share of a sample's cells in each class, in per cent: single cells, then the others."""
    single = rows["share"] * (rows["n_singletons"] / rows["n_cells"]).fillna(0.0)  # a class may be empty
    repeated = dict(zip(rows["clone_size"], 100 * (rows["share"] - single), strict=True))
    return {ONE: 100 * float(single.sum()), **repeated}


def _size_titles(units: pd.Series) -> dict[str, dict]:
    """Return the legend of each class, in the order of the bars."""
    once = {unit: counted_in(1, unit).removeprefix("1 ") for unit in set(units)}
    titles = {ONE: f"One {next(iter(once.values()))}" if len(once) == 1 else "Counted once"}
    smallest = 0.0
    for name, limit in CLONE_SIZES_LIMITS.items():
        words = f"up to {100 * limit:g} %" if limit < 1 else f"above {100 * smallest:g} %"
        titles[name] = f"{name} ({words})"
        smallest = limit
    return {name: {"name": title, "color": _SIZE_COLOURS[name]} for name, title in titles.items()}
