"""What differs between conditions and samples: all tests of a run in one table, with what limits them."""

from math import comb

from airrvec.core.terminal import counted
from airrvec.report.page import escaped, section
from airrvec.report.sections.clusters import Clusters
from airrvec.report.sections.comparison import Comparison

import pandas as pd

SIGNIFICANT = 0.05  # false discovery rate


def smallest_p(first: int, second: int) -> float:
    """
    Return the smallest p that an exact two-sided test of samples can give.

    Of all divisions of the samples into groups of these sizes, one is the observed one; with groups of equal
    size, its mirror image is as extreme.
    """
    return min(1.0, (2 if first == second else 1) / comb(first + second, first))


def difference_rows(clusters: Clusters | None, comparison: Comparison | None) -> list[dict]:
    """
    Return one row per kind of test.

    Returns
    -------
    list of dict
        ``title``, ``units`` (samples or receptors), ``place`` (id of the section), ``tests``,
        ``significant`` (at a false discovery rate of 5 %), ``lowest_p`` and ``smallest_p`` (None if it does
        not depend on the number of samples).
    """
    rows = []
    if clusters is not None and len(clusters.conditions):
        for title, name in (
            ("Clusters: samples that carry them (Fisher's exact test)", "fisher"),
            ("Clusters: share of cells in them (Mann–Whitney test)", "rank"),
        ):
            rows.append(
                _row(title, clusters.conditions, f"{name}_p", f"{name}_fdr", "airrvec_clusters_conditions")
            )
    if comparison is not None and len(comparison.conditions):
        tests = comparison.conditions
        diversity = tests["measure"].str.startswith("hill_")
        place = "airrvec_comparison_conditions"
        rows.append(_row("Diversity: Hill numbers (permutation test)", tests[diversity], "p", "fdr", place))
        rows.append(
            _row(
                "Vectors: mean distance of receptors, MMD² (permutation test)",
                tests[~diversity],
                "p",
                "fdr",
                place,
            )
        )
    if comparison is not None and len(comparison.pairs):
        place = "airrvec_comparison_pairs"
        rows.append(
            _row(
                "Pairs of samples: vectors, MMD² (permutation test)",
                comparison.pairs,
                "mmd_p",
                "mmd_fdr",
                place,
            )
        )
    return [row for row in rows if row["tests"]]


def _row(title: str, tests: pd.DataFrame, p: str, fdr: str, place: str) -> dict:
    units_are_samples = "n_samples_1" in tests.columns
    tests = tests[tests[fdr].notna()]
    sizes = tests[["n_samples_1", "n_samples_2"]].drop_duplicates() if units_are_samples else pd.DataFrame()
    return {
        "what": title,
        "units": "samples" if units_are_samples else "receptors",
        "place": place,
        "tests": len(tests),
        "significant": int((tests[fdr] <= SIGNIFICANT).sum()),
        "lowest_p": float(tests[p].min()) if len(tests) else None,
        "smallest_p": min((smallest_p(*map(int, size)) for size in sizes.to_numpy()), default=None),
    }


def differences_section(clusters: Clusters | None, comparison: Comparison | None) -> dict | None:
    """Return the table of all tests, with sentences that reconcile them; None without tests."""
    rows = difference_rows(clusters, comparison)
    if not rows:
        return None
    lines = "".join(
        f'<tr><td><a href="#{row["place"]}">{escaped(row["what"])}</a></td><td>{row["units"]}</td>'
        f"<td>{row['significant']:,} of {row['tests']:,}</td><td>{_number(row['lowest_p'])}</td>"
        f"<td>{_number(row['smallest_p'])}</td></tr>"
        for row in rows
    )
    heads = ("What is compared", "Units", "Significant", "Lowest p", "Smallest possible p")
    return section(
        "airrvec_differences",
        "All tests together",
        f"Significant: at a false discovery rate of {100 * SIGNIFICANT:g} %. {' '.join(explanations(rows))}",
        "html",
        '<div class="airrvec-scroll"><table class="table table-sm"><thead><tr>'
        f"{''.join(f'<th>{head}</th>' for head in heads)}</tr></thead><tbody>{lines}</tbody></table></div>",
    )


def explanations(rows: list[dict]) -> list[str]:
    """Return sentences that explain why the tests of a run may seem to disagree."""
    sentences = [
        "These tests answer different questions: particular clusters may differ between conditions although"
        " diversity does not."
    ]
    if powerless := [row for row in rows if row["smallest_p"] and row["smallest_p"] > SIGNIFICANT]:
        which = {row["what"].split(":")[0].lower() for row in powerless}
        sentences.append(
            f"With these numbers of samples, no p can be below {powerless[0]['smallest_p']:.2g}"
            f" ({', '.join(sorted(which))}): a lack of significance there says nothing."
        )
    units = {row["units"] for row in rows}
    if units == {"samples", "receptors"}:
        sentences.append(
            "Where receptors are the units, almost any two samples differ, also two tubes of one person. Only"
            " tests whose units are samples support a statement about a condition."
        )
    return sentences


def difference_answer(clusters: Clusters | None, comparison: Comparison | None) -> str | None:
    """Return the main differences in a sentence or two; None without tests."""
    rows = difference_rows(clusters, comparison)
    sample_rows = [row for row in rows if row["units"] == "samples"]
    if not rows:
        return None
    if not sample_rows:
        (pairs,) = rows
        return (
            f"{pairs['significant']:,} of {counted(pairs['tests'], 'pair')} of samples differ in their"
            " receptors. No condition was tested."
        )
    tested = comparison if comparison is not None and len(comparison.conditions) else clusters
    assert tested is not None  # it holds these tests
    frame = tested.conditions
    column = escaped(tested.counts["condition"])
    values = sorted({*frame["value_1"], *frame["value_2"]})
    which = f" ({escaped(values[0])} and {escaped(values[1])})" if len(values) == 2 else ""
    parts = ", ".join(
        f"{row['significant']:,} of {row['tests']:,} for {_short(row['what'])}" for row in sample_rows
    )
    words = f"Tests by {column}{which} that are significant: {parts}."
    if all(row["smallest_p"] > SIGNIFICANT for row in sample_rows):
        words += " There are too few samples for any significant difference."
    return words


def _short(title: str) -> str:
    kind, _, rest = title.partition(":")
    kind = kind.lower()
    if kind == "clusters":
        return f"clusters ({'Fisher' if 'Fisher' in rest else 'ranks'})"
    return kind


def _number(value: float | None) -> str:
    return "" if value is None or pd.isna(value) else f"{value:.2g}"
