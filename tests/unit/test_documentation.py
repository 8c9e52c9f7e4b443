"""The documentation: navigation, links, pictures, summaries. `make docs` checks the links within docs/."""

import re

import pytest
import yaml
from inputs import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
OTHERS = [
    *("README.md", "CHANGELOG.md", "CODE_OF_CONDUCT.md", "SECURITY.md"),
    *("assets/README.md", "assets/demo/README.md", "tests/fuzz/README.md"),
]
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"```.*?```", re.DOTALL)
PICTURE_LIMIT = 200_000  # bytes


def entries(navigation) -> list[str]:
    """Return the files of a navigation, in order."""
    if isinstance(navigation, str):
        return [navigation]
    parts = navigation.values() if isinstance(navigation, dict) else navigation
    return [entry for part in parts for entry in entries(part)]


def anchors(text: str) -> set[str]:
    """Return the anchors of the headings of a page, as a viewer of Markdown makes them."""
    headings = re.findall(r"^#+ (.*)$", CODE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_navigation_lists_every_page_once():
    navigation = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    assert sorted(entries(navigation)) == PAGES


def test_the_navigation_has_the_order_of_a_reader():
    navigation = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    assert [next(iter(part)) for part in navigation] == [
        "Overview",
        "Start here",
        "How to read your report",
        "Guides",
        "Reference",
        "Explanations",
        "Benchmarks",
        "Developing",
    ]


@pytest.mark.parametrize("page", OTHERS)
def test_links_of_pages_outside_the_site_lead_somewhere(page):
    text = CODE.sub("", (ROOT / page).read_text())
    missing = []
    for link in LINK.findall(text):
        name, _, anchor = link.partition("#")
        target = (ROOT / page).parent / name if name else ROOT / page
        if "://" in link or link.startswith("mailto:"):
            continue
        if not target.exists() or (anchor and anchor not in anchors(target.read_text())):
            missing.append(link)
    assert missing == []


def test_pictures_are_used_and_small():
    used = {
        (path.parent / link).resolve()
        for path in (ROOT / "README.md", *DOCS.rglob("*.md"))
        for link in LINK.findall(path.read_text())
        if link.endswith((".png", ".svg"))
    }
    pictures = {path for path in (DOCS / "images").rglob("*") if path.is_file()}
    assert pictures == used
    assert [path.name for path in pictures if path.stat().st_size > PICTURE_LIMIT] == []


@pytest.mark.parametrize("page", ["start.md", "report.md"])
def test_the_summary_of_a_run_is_quoted_once(page):
    """`make screenshots` replaces it."""
    assert len(re.findall(r"```\nSample +Format ", (DOCS / page).read_text())) == 1


def test_make_finds_the_commands_of_the_first_page():
    """`make screenshots` runs the lines of start.md that begin with these words."""
    text = (DOCS / "start.md").read_text()
    assert len(re.findall(r"^printf .* > samplesheet.csv$", text, re.MULTILINE)) == 1
    assert re.findall(r"^nextflow run .*", text, re.MULTILINE) == [
        "nextflow run . --input samplesheet.csv --outdir results/start"
    ]
