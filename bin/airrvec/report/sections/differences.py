"""What differs between conditions and samples: all tests of a run in one table, with what limits them."""

from airrvec.core.terminal import counted
from airrvec.report.page import escaped, section
from airrvec.report.sections.comparison import Comparison
from airrvec.report.sections.conditions import TITLES, Conditions
from airrvec.stats.designs import SIGNIFICANT

import pandas as pd

_PAIRS = "Pairs of samples: distance of their vectors"


def difference_rows(conditions: Conditions | None, comparison: Comparison | None) -> list[dict]:
    """
    Return one row per kind of test.

    Returns
    -------
    list of dict
        ``what``, ``units`` (donors or receptors), ``place`` (id of the section), ``tests``, ``significant``
        (at a false discovery rate of 5 %), ``lowest_p`` and ``least_p`` (None if it does not depend on the
        number of samples).
    """
    rows = []
    if conditions is not None and len(conditions.tests):
        for measure, tests in conditions.tests.groupby("measure", sort=False):
            place = "airrvec_conditions_tests"
            rows.append(
                _row(TITLES[str(measure)], "donors", place, tests["p"], tests["fdr"], tests["least_p"].min())
            )
    if comparison is not None and (tested := comparison.pairs[comparison.pairs["mmd_fdr"].notna()]).size:
        place = "airrvec_comparison_pairs"
        rows.append(_row(_PAIRS, "receptors", place, tested["mmd_p"], tested["mmd_fdr"], None))
    return rows


def _row(title: str, units: str, place: str, p: pd.Series, fdr: pd.Series, least_p: float | None) -> dict:
    significant = int((fdr <= SIGNIFICANT).sum())
    return {
        **{"what": title, "units": units, "place": place, "tests": len(p), "significant": significant},
        **{"lowest_p": float(p.min()), "least_p": least_p},
    }


def differences_section(conditions: Conditions | None, comparison: Comparison | None) -> dict | None:
    """Return the table of all tests, with sentences that reconcile them; None without tests."""
    rows = difference_rows(conditions, comparison)
    if not rows:
        return None
    lines = "".join(
        f'<tr><td><a href="#{row["place"]}">{escaped(row["what"])}</a></td><td>{row["units"]}</td>'
        f"<td>{row['significant']:,} of {row['tests']:,}</td><td>{_number(row['lowest_p'])}</td>"
        f"<td>{_number(row['least_p'])}</td></tr>"
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
    if powerless := [row["least_p"] for row in rows if row["least_p"] and row["least_p"] > SIGNIFICANT]:
        sentences.append(f"With so few donors, no p can be below {min(powerless):.2g}: this shows nothing.")
    if {row["units"] for row in rows} == {"donors", "receptors"}:
        sentences.append(
            "Where receptors are the units, almost any two samples differ, also two tubes of one person. Only"
            " tests whose units are donors support a statement about a condition."
        )
    return sentences


def difference_answer(conditions: Conditions | None, comparison: Comparison | None) -> str | None:
    """Return the main differences in a sentence or two; None without tests."""
    rows = difference_rows(conditions, comparison)
    tested = [row for row in rows if row["units"] == "donors"]
    if not rows:
        return None
    if conditions is None or not tested:
        (pairs,) = rows
        return (
            f"{pairs['significant']:,} of {counted(pairs['tests'], 'pair')} of samples differ in their"
            " receptors. No condition was tested."
        )
    column = escaped(conditions.counts["condition"])
    parts = ", ".join(
        f"{row['significant']:,} of {row['tests']:,} for {row['what'][0].lower()}{row['what'][1:]}"
        for row in tested
        if row["significant"]
    )
    compared = conditions.tests[["value_1", "value_2"]].drop_duplicates().to_numpy().tolist()
    if len(compared) == 1 and pd.notna(compared[0]).all():
        column += f" ({escaped(' and '.join(compared[0]))})"
    n_tests = sum(row["tests"] for row in tested)
    words = f"Tests by {column} that are significant: {parts or f'none of {n_tests:,}'}."
    if all(row["least_p"] > SIGNIFICANT for row in tested):
        words += " There are too few donors for any significant difference."
    return words


def _number(value: float | None) -> str:
    return "" if value is None or pd.isna(value) else f"{value:.2g}"
