"""Conditions in the MultiQC report: designs, tests, clones that change, what else tells the values."""

import json
import math
from dataclasses import dataclass
from pathlib import Path

from airrvec.core import tables
from airrvec.core.terminal import counted
from airrvec.report.page import COUNT, NUMBER, SHARE, escaped, first_names, meaning, section
from airrvec.report.receptor_cells import chain_cells, text_cell, text_header
from airrvec.stats.designs import DONORS, SIGNIFICANT, TREND, TWO_GROUPS

import pandas as pd

N_TOP = 50  # tests, and changes, in a table
N_STEPS = 12  # steps that are named
TITLES = {
    "hill_0_at_coverage": "Number of clones",
    "hill_1_at_coverage": "Effective number of clones",
    "hill_2_at_coverage": "Effective number of large clones",
    "coincidence": "Two cells of one clone",
    "large_clones": "Cells in large clones",
    "v_gene": "V gene",
    "j_gene": "J gene",
    "cdr3_length": "CDR3 length",
    "cluster": "Cells in a cluster",
    "pathogen": "Cells called for an organism",
    "overlap": "Overlap of samples",
    "mmd": "Similarity of vectors",
}
# Their tables hold logarithms: a mean is shown as a number of clones, a difference as a ratio.
LOGS = ("hill_0_at_coverage", "hill_1_at_coverage", "hill_2_at_coverage")
SHARES = ("coincidence", "large_clones", "v_gene", "j_gene", "cluster", "pathogen")
TOLD_TITLES = {
    "cells": "Number of cells and clones",
    "umis": "UMIs of a cell",
    "reads": "Reads of a cell",
    "chains": "Chains that were read",
    "v_genes": "V genes",
    "j_genes": "J genes",
    "clonality": "Sizes of clones",
    "k-mers": "Short motifs of the CDR3",
    "mean_vector": "Mean vector",
    "mean_kernel": "Similarity of vectors (mean kernel)",
}
# What should not tell a condition: the sheet's columns, depth, and what was read.
CONFOUNDERS = ("sheet", "cells", "umis", "reads", "chains")


@dataclass(frozen=True)
class Conditions:
    """Results of ``compare_conditions.py``: counts, and its tables; names of clusters."""

    counts: dict
    tests: pd.DataFrame
    told: pd.DataFrame
    centres: dict[str, str]
    steps: pd.DataFrame
    changes: pd.DataFrame
    measures: pd.DataFrame


def read_conditions(comparison: Path | None, clusters: Path | None) -> Conditions | None:
    """Return the results; None if the folder has none."""
    if comparison is None or not (comparison / "conditions.qc.json").exists():
        return None
    centres: dict[str, str] = {}
    if clusters is not None and (clusters / "clusters.parquet").exists():
        table = tables.read(clusters / "clusters.parquet", ["cluster_id", "centre"])
        centres = dict(zip(*(column.to_pylist() for column in table.columns), strict=True))
    tests, told, steps, changes, measures = (
        tables.read(comparison / f"{name}.parquet").to_pandas()
        for name in ("tests", "told", "steps", "changes", "measures")
    )
    counts = json.loads((comparison / "conditions.qc.json").read_text())
    return Conditions(counts, tests, told, centres, steps, changes, measures)


def condition_sections(results: Conditions) -> list[dict]:
    """Return the sections of the report."""
    sections = [_designs(results)]
    if len(results.tests):
        sections.append(
            tests_section(
                results.tests,
                results.centres,
                "airrvec_conditions_tests",
                f"Tests by {escaped(results.counts['condition'])}",
                "comparison/tests.tsv",
            )
        )
    if len(results.steps):
        sections.append(_changes(results))
    if len(results.told):
        sections.append(_told(results))
    return sections


def condition_lines(results: Conditions) -> list[str]:
    """Return what the tests say, for the terminal."""
    if not len(results.tests):
        return [f"No test by {results.counts['condition']} was possible"]
    n = int((results.tests["fdr"] <= SIGNIFICANT).sum())
    return [
        f"By {results.counts['condition']}: {n:,} of {counted(len(results.tests), 'test')} significant at a"
        " false discovery rate of 5 %"
    ]


def confounder_sentences(results: Conditions) -> list[str]:
    """Return a warning for each confounder that tells the condition, as HTML."""
    rows = results.told[results.told["told_by"].isin(CONFOUNDERS)]
    rows = rows[(rows["tells_all"] == True) | (rows["p"] <= SIGNIFICANT)]  # noqa: E712 - may be null
    column = escaped(results.counts["condition"])
    sentences = []
    for row in tables.named_rows(rows.drop_duplicates(["among", "told_by", "column", "species"])):
        name = f"<code>{escaped(row.column)}</code>" if row.column else TOLD_TITLES[row.told_by].lower()
        if row.tells_all is True:
            words = f"each value of {name} occurs with one {column} alone: the two cannot be told apart"
        else:
            words = (
                f"{name} alone tells {100 * row.accuracy:.0f} % of left-out donors right (p = {row.p:.2g})"
            )
        sentences.append(f"{escaped(', '.join(row.among.split(';')))}: {words}.")
    return sentences


def _design_words(design: dict, column: str) -> str:
    """Return a design in a sentence, in HTML."""
    values = escaped(", ".join(design["values"]))
    if design["kind"] == TREND:
        units = f"a trend over {counted(len(design['values']), 'value')} of {column}"
    else:
        units = values
    within = design["within"]
    if within == DONORS:
        units += f", within {counted(design['n_donors'], 'donor')}"
    else:
        numbers = " and ".join(f"{n:,}" for n in design["n_units"])
        units += f": {numbers} donors" + (
            f", within values of <code>{escaped(within)}</code>" if within else ""
        )
    words = f"{units}; the smallest possible p is {design['least_p']:.2g}"
    if design["least_p"] > SIGNIFICANT:
        words += ", so that nothing can be significant"
    reasons: dict[str, list[str]] = {}
    for sample, reason in design["left_out"].items():
        reasons.setdefault(reason, []).append(sample)
    left_out = "; ".join(f"{escaped(first_names(names))} ({escaped(why)})" for why, names in reasons.items())
    return f"<li>{words}.{f' Left out: {left_out}.' if left_out else ''}</li>"


def _designs(results: Conditions) -> dict:
    counts = results.counts
    column = escaped(counts["condition"])
    if not counts["designs"]:
        sizes = ", ".join(f"{escaped(value)} {n}" for value, n in counts["values"].items())
        body = (
            "<p>No test was possible: two values need at least two donors each, or two donors with both"
            f" (samples per value: {sizes or 'none'}).</p>"
        )
    else:
        body = f"<ul>{''.join(_design_words(design, column) for design in counts['designs'])}</ul>"
        compared = {value for design in counts["designs"] for value in design["values"]}
        few = [f"{escaped(value)} ({n})" for value, n in counts["values"].items() if value not in compared]
        body += f"<p>Values with too few donors, and their samples: {', '.join(few)}.</p>" if few else ""
    if not counts["donors_named"]:
        body += "<p>The samplesheet names no donors: each sample is taken for a donor of its own.</p>"
    few = sorted({name for row in counts["not_measured"] for name in row["samples"]})
    if few:
        body += (
            f"<p>Of {escaped(first_names(few))}, some measures are not known, because the sample has too few"
            " cells or clones, or lacks the chains: it is left out of these tests.</p>"
        )
    warnings = "".join(f"<li>{words}</li>" for words in confounder_sentences(results))
    if warnings:
        body += f'<p class="airrvec-caution"><strong>Confounded:</strong></p><ul>{warnings}</ul>'
    return section(
        "airrvec_conditions_designs",
        f"What is compared by {column}",
        "Donors are the units: several samples of a donor with one value count once. Where donors have"
        " several values, these are compared within donors.",
        "html",
        body,
    )


def tests_section(tests: pd.DataFrame, centres: dict[str, str], anchor: str, title: str, place: str) -> dict:
    """Return a section with the tests of the lowest p, which are in ``place``; ``centres`` name clusters."""
    shown = tests.sort_values(["p", "fdr"], kind="stable").head(N_TOP)
    digits = len(str(len(shown)))
    rows = enumerate(tables.named_rows(shown), 1)
    data = {f"{number:0{digits}d}": _test_cells(row, centres) for number, row in rows}
    table = "condition_tests"
    headers = {
        "measure": text_header("Measure"),
        "feature": text_header("Feature", **meaning(table, "feature")),
        "values": text_header("Compared"),
        "means": text_header("Means"),
        "difference": text_header("Difference", **meaning(table, "difference")),
        "units": text_header("Units", **meaning(table, "n_units")),
        "p": {"title": "p", **NUMBER, **meaning(table, "p")},
        "fdr": {"title": "FDR", **NUMBER, **meaning(table, "fdr")},
        "chains": text_header("Chains", **meaning(table, "chains")),
    }
    return section(
        anchor,
        title,
        f"{len(shown)} of {counted(len(tests), 'test')}, those with the lowest p; all are in"
        f" <code>{place}</code>. The difference is the first value minus the second (numbers of clones: the"
        " first divided by the second), with its 95 % interval; of a trend, the slope. The effective number"
        " of clones is that of equally large clones that would be as diverse, at equal coverage; that of"
        " large clones counts mostly these.",
        "table",
        data,
        headers=headers,
        pconfig={"col1_header": "Test", "sort_rows": False},
    )


def _test_cells(row, centres: dict[str, str]) -> dict:
    """Return the cells of a test."""
    scale, unit = (100, " %") if row.measure in SHARES else (1, "")
    times = "× " if row.measure in LOGS else ""

    def number(value: float) -> str:
        shown = math.exp(value) if row.measure in LOGS else scale * value
        return "?" if pd.isna(value) else f"{shown:.3g}"

    interval = f" ({number(row.low)} to {number(row.high)}){unit}" if pd.notna(row.low) else unit
    two = row.design == TWO_GROUPS
    values = f"{row.value_1} and {row.value_2}" if two else f"{row.design} of {row.condition}"
    means = f"{number(row.mean_1)} and {number(row.mean_2)}{unit}" if pd.notna(row.mean_1) else ""
    units = f"{row.n_units_1:.0f} and {row.n_units_2:.0f}" if pd.notna(row.n_units_1) else f"{row.n_units:,}"
    return {
        "measure": TITLES[row.measure],
        "feature": text_cell(centres.get(row.feature, row.feature) or ""),
        "values": text_cell(values),
        "means": text_cell(means),
        "difference": text_cell(
            times + number(row.difference) + interval if pd.notna(row.difference) else ""
        ),
        "units": text_cell(units + (" within donors" if row.within == DONORS else "")),
        "p": row.p,
        "fdr": row.fdr,
        "chains": text_cell(row.chains or ""),
    }


def _step_words(step) -> str:
    """Return a step in a sentence, in HTML."""
    features = "clones" if step.kind == "clone" else "clusters"
    words = f"{escaped(step.donor)}, {escaped(step.before)} → {escaped(step.after)}, {features}: "
    if step.reason is not None:
        return f"<li>{words}not tested, {escaped(step.reason)}.</li>"
    numbers = ", ".join(
        f"{getattr(step, f'n_{word}'):,.0f} {word}" for word in ("expanded", "new", "contracted", "lost")
    )
    noise = "as replicates differ" if step.noise == "replicates" else "sampling alone, no replicates"
    return f"<li>{words}{numbers}; {step.n_tested:,.0f} tested (noise: {noise}).</li>"


def _changes(results: Conditions) -> dict:
    data = {}
    shown = results.changes[results.changes["fdr"] <= SIGNIFICANT].sort_values("p", kind="stable")
    for number, row in enumerate(tables.named_rows(shown.head(N_TOP)), 1):
        chains = chain_cells(row._asdict(), absent="")
        name = results.centres.get(row.feature, row.feature)
        data[f"{number:03d}"] = {
            "feature": text_cell(f"cluster of {name}") if row.kind == "cluster" else chains["trb"],
            "tra": chains["tra"],
            "donor": text_cell(row.donor),
            "step": text_cell(f"{row.before} → {row.after}"),
            "change": text_cell(row.change),
            "n_before": row.n_before,
            "n_after": row.n_after,
            "fold_change": row.fold_change if pd.notna(row.fold_change) else None,
            "fdr": row.fdr,
            "call": text_cell(row.call_epitope or ""),
        }
    table = "changes"
    headers = {
        "feature": text_header("β chain, or cluster", **meaning(table, "feature")),
        "tra": text_header("α chain"),
        "donor": text_header("Donor"),
        "step": text_header("Step"),
        "change": text_header("Change", **meaning(table, "change")),
        "n_before": {"title": "Before", **COUNT, **meaning(table, "n_before")},
        "n_after": {"title": "After", **COUNT, **meaning(table, "n_after")},
        "fold_change": {"title": "Fold", **NUMBER, **meaning(table, "fold_change")},
        "fdr": {"title": "FDR", **NUMBER, **meaning(table, "fdr")},
        "call": text_header("Call", **meaning(table, "call_epitope")),
    }
    steps = list(tables.named_rows(results.steps))
    more = f"<li>{counted(len(steps) - N_STEPS, 'further step')}.</li>" if len(steps) > N_STEPS else ""
    words = (
        f"From one {escaped(results.counts['condition'])} of a donor to the next, at a false discovery rate"
        f" of 5 %:<ul>{''.join(map(_step_words, steps[:N_STEPS]))}{more}</ul>All are in"
        " <code>comparison/changes.tsv</code> and <code>steps.tsv</code>."
    )
    if not data:
        return section("airrvec_conditions_changes", "Clones that change", words, "html", "")
    return section(
        "airrvec_conditions_changes",
        "Clones that change",
        words,
        "table",
        data,
        headers=headers,
        pconfig={"col1_header": "Rank", "sort_rows": False},
    )


def _told(results: Conditions) -> dict:
    data = {}
    for number, row in enumerate(tables.named_rows(results.told), 1):
        name = f"column {row.column}" if row.column else TOLD_TITLES[row.told_by]
        data[f"{number:03d}"] = {
            "told_by": text_cell(name),
            "values": text_cell(" and ".join(row.among.split(";"))),
            "accuracy": 100 * row.accuracy,
            "by_chance": 100 * row.by_chance if pd.notna(row.by_chance) else None,
            "p": row.p,
            "chains": text_cell(row.chains or ""),
            "left_out": text_cell(row.left_out),
        }
    table = "condition_told"
    headers = {
        "told_by": text_header("By", **meaning(table, "told_by")),
        "values": text_header("Values"),
        "accuracy": {"title": "Told right", **SHARE, **meaning(table, "accuracy")},
        "by_chance": {"title": "By chance", **SHARE, **meaning(table, "by_chance")},
        "p": {"title": "p", **NUMBER, **meaning(table, "p")},
        "chains": text_header("Chains", **meaning(table, "chains")),
        "left_out": text_header("Left out at once", **meaning(table, "left_out")),
    }
    return section(
        "airrvec_conditions_told",
        f"What tells {escaped(results.counts['condition'])}",
        "Each value is told from the samples of other donors alone. First what should not tell it: columns of"
        " the samplesheet, depth, chains; then genes, clonality and short motifs, the floor that the vectors"
        " have to beat. All are in <code>comparison/told.tsv</code>.",
        "table",
        data,
        headers=headers,
        pconfig={"col1_header": "Set", "sort_rows": False},
    )
