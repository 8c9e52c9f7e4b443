#!/usr/bin/env python3
"""
Eight questions to a report: the number that its page gives, and the one that pandas counts in the tables.

The page is read in a headless Chromium as a person would: sentences of *In brief*, rows of tables, and the
table of clones, in which clones are chosen. The run needs --annotate, --cluster, --compare and --compare_by.

    python benchmarks/report/questions.py results
"""

import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT / "tests"), str(ROOT)]

import pandas as pd

import browser
from benchmarks.common import results

EXPANDED = 0.01  # share of a sample, with two cells or more
FEW = 100  # cells
SIGNIFICANT = 0.05
# Choose clones as a person would, and return how many the table then has.
CHOOSE = """
(() => {
    const place = document.getElementById("airrvec-clones");
    const evidence = place.querySelector("[aria-label=Evidence]");
    place.querySelector("input[type=checkbox]").click();
    evidence.value = "any";
    evidence.dispatchEvent(new Event("change"));
    return place.querySelector("output").textContent;
})()
"""


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("results", type=Path, help="folder of a finished run")
    return parser.parse_args(argv)


def main(argv=None):
    args = parse_args(argv)
    if browser.CHROMIUM is None:
        sys.exit("no Chromium on the path")
    expected = _counted(args.results)
    with tempfile.TemporaryDirectory() as folder, browser.opened(Path(folder)) as page:
        page.open((args.results / "multiqc/multiqc_report.html").resolve().as_uri(), 1280)
        page.rest()
        told = _told(page)
    table = results.Table(question="", place="", page="", pandas="", equal="")
    for (question, place), number in told.items():
        counted = expected[question]
        table.add(question=question, place=place, page=number, pandas=counted, equal=str(number == counted))
    results.write(args, {"questions": table.rows})
    if any(row["equal"] != "True" for row in table.rows):
        sys.exit("the page and the tables differ")


def _counted(folder: Path) -> dict[str, str]:
    """Return the answer to each question, from the published tables."""
    clones = pd.read_parquet(folder / "clones/clones.parquet")
    counts = pd.read_parquet(folder / "clones/counts.parquet")
    sizes = counts.groupby("sample_id")["n_cells"].sum()
    large = counts[(counts["n_cells"] > 1) & (counts["share"] >= EXPANDED)]
    calls = clones[clones["call_epitope"].notna()]
    organism = calls["call_antigen_species"].fillna(calls["call_epitope"])
    highest = counts.merge(calls.assign(organism=organism)[["clone_id", "organism"]], on="clone_id")
    shares = highest.groupby(["organism", "sample_id"])["share"].sum()
    first = str(shares.groupby(level=0).max().idxmax())
    specific = clones[
        (clones["n_cells"].fillna(2) > 1) & (clones["largest_share"] >= EXPANDED) & clones["evidence"].notna()
    ]
    tests = pd.read_parquet(folder / "comparison/tests.parquet")
    return {
        "Are the samples good?": f"{int((sizes < FEW).sum())} with few cells",
        "Who is expanded?": f"{len(large)} clones in {large['sample_id'].nunique()} samples",
        "What do they recognise?": f"{int((organism == first).sum())} clones: {first}",
        "Which expanded clones are specific?": f"{len(specific)} clones",
        "Are clusters viral?": f"{_with_references(folder)} clusters",
        "What differs?": f"{int((tests['fdr'] <= SIGNIFICANT).sum())} tests",
        "What is public?": f"{len(pd.read_parquet(folder / 'comparison/public.parquet'))} receptors",
        "What next?": f"{int(clones['next_step'].notna().sum())} clones",
    }


def _with_references(folder: Path) -> int:
    return pd.read_parquet(folder / "clusters/references.parquet")["cluster_id"].nunique()


def _told(page) -> dict[tuple[str, str], str]:
    """Return question and named place of the page → the answer."""
    sentences = page.value("[...document.querySelectorAll('.airrvec-brief li')].map(e => e.textContent)")
    brief = {text.split(".")[0].strip(): text for text in sentences}
    verdicts = page.value(
        "[...document.querySelectorAll('#mqc-section-wrapper-airrvec_samples td.verdict')]"
        ".map(e => e.textContent.trim())"
    )
    few = sum(text.startswith("only ") for text in verdicts)
    expanded = _numbers(r"([\d,]+) clones? of two cells or more .*? in ([\d,]+) of", brief["Expanded"])
    recognised = _numbers(r"in ([\d,]+) clones? \([^)]*\) called for ([^,;.]+)", brief["Recognise"])
    near = _numbers(r"References lie in ([\d,]+) clusters?", brief["Together"])
    rows = page.value(
        "[...document.querySelectorAll('#mqc-section-wrapper-airrvec_differences tbody tr')]"
        ".map(row => [...row.children].map(e => e.textContent))"
    )
    significant = sum(int(row[2].split(" of ")[0].replace(",", "")) for row in rows if row[1] == "donors")
    public = page.value(
        "document.querySelector('#mqc-section-wrapper-airrvec_comparison_public')?.textContent || ''"
    )
    steps = page.value(
        "(data => { const at = data.columns.findIndex(([name]) => name === 'next');"
        " return data.rows.filter(row => row[at]).length; })"
        "(JSON.parse(document.getElementById('airrvec-clones-data').textContent))"
    )
    specific = _numbers(r"of ([\d,]+) clones", page.value(CHOOSE))
    return {
        ("Are the samples good?", "Quality: Verdict"): f"{few} with few cells",
        ("Who is expanded?", "In brief"): f"{expanded[0]} clones in {expanded[1]} samples",
        ("What do they recognise?", "In brief"): f"{recognised[0]} clones: {recognised[1]}",
        ("Which expanded clones are specific?", "Clones: Expanded, Any evidence"): f"{specific[0]} clones",
        ("Are clusters viral?", "In brief"): f"{near[0]} clusters",
        ("What differs?", "All tests together"): f"{significant} tests",
        ("What is public?", "Public receptors"): (f"{_numbers(r'of ([0-9,]+) public', public)[0]} receptors"),
        ("What next?", "Clones: Next step"): f"{steps} clones",
    }


def _numbers(pattern: str, text: str) -> list[str]:
    """Return the groups of a pattern, numbers without commas; 0 where the text says something else."""
    match = re.search(pattern, text)
    if match is None:
        return ["0"] * re.compile(pattern).groups
    return [group.replace(",", "").strip() for group in match.groups()]


if __name__ == "__main__":
    main()
