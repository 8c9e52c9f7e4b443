"""Tables of figures in the documentation are those of the result files: a figure without one is an error."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs/benchmarks").glob("*.md"))
FIGURES = runpy.run_path(str(ROOT / "docs/figures.py"))
# Page → headers of its tables whose numbers were not measured, or are those of other pages.
WITHOUT_RESULTS = {
    "annotation_peers": ["| Method | Program | Score, epitope |"],
    "index": ["| Question | Result | Command | Page |"],
}


def value_of(number: str) -> float:
    return float(number.replace(",", ""))


def tables(text: str) -> list[list[str]]:
    """Return the lines of each Markdown table."""
    return [match[0].splitlines() for match in re.finditer(r"(?:^\|.*\n)+", text, re.MULTILINE)]


def numbers(text: str) -> set[str]:
    """Return the numbers of a text, without those of code, links and pictures."""
    text = re.sub(r"`[^`]*`|!\[[^]]*\]|\]\([^)]*\)", "", text)
    return set(re.findall(r"(?<![\w.,])(?:\d[\d,]*)?\.?\d+(?![\w])", text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_figures_of_a_page_are_those_of_the_result_files(page):
    assert FIGURES["with_figures"](page.read_text()) == page.read_text(), "run `make generated`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_table_of_figures_has_a_result_file(page):
    unwritten = [
        table for table in tables(FIGURES["MARKED"].sub("", page.read_text())) if any(map(numbers, table[2:]))
    ]
    assert [table[0] for table in unwritten] == WITHOUT_RESULTS.get(page.stem, [])


def test_figures_of_the_overview_are_those_of_the_pages_that_it_links():
    overview = ROOT / "docs/benchmarks/index.md"
    for row in tables(overview.read_text())[0][2:]:
        result = row.split("|")[2]
        pages = [overview.parent / name for name in re.findall(r"\]\(([^)#]+)", row)]
        known = {value for page in pages for value in map(value_of, numbers(page.read_text()))}
        shown = {number: value_of(number) for number in numbers(result)}
        missing = [number for number, value in shown.items() if not {value, round(value / 100, 6)} & known]
        assert missing == [], row


def test_the_figure_of_the_readme_is_that_of_the_result_file():
    readme = (ROOT / "README.md").read_text()
    ((lowest, highest),) = re.findall(r"(\d+) to (\d+) times as many receptors per second", readme)
    rows = FIGURES["rows"]("embedding/processors")
    assert int(min(row["times_sceptr_lowest"] for row in rows)) == int(lowest)
    assert int(max(row["times_sceptr_highest"] for row in rows)) == int(highest)


def test_cells_have_the_formats_of_a_mark(monkeypatch):
    rows = [
        {"name": "a", "value": 0.5, "low": 0.25, "n": 1234, "change": -0.1, "bold": ["value"]},
        {"name": "b", "value": None, "low": None, "n": {"old": 1, "new": 2}, "change": None},
        {"name": "c", "value": 1, "low": None, "n": "–", "change": 0.1},
    ]
    monkeypatch.setitem(FIGURES["with_figures"].__globals__, "rows", lambda name: rows)
    mark = (
        "<!-- figures: x\n| | v | n | d |\n| {name} | {value:.2p} ({low:.2p}) | {n} MB | {change:+} |\n-->\n"
    )
    written = FIGURES["with_figures"](mark + "<!-- end -->\n")
    assert tables(written[len(mark) :]) == [
        [
            "||v|n|d|",
            "|---|---|---|---|",
            "|a|**.50 (.25)**|1,234 MB|−0.1|",
            "|b||1 (old), 2 (new) MB||",
            "|c|1.00|– MB|+0.1|",
        ]
    ]
    assert FIGURES["with_figures"](written) == written
