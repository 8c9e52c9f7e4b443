"""The report of 300 samples in a browser: order, search, contrast, width, size."""

import json
from contextlib import chdir
from pathlib import Path

from airrvec.app.verbs import work
from airrvec.core import schema
from airrvec.figures.palette import COLOURS
from airrvec.report import chapters
from airrvec.report.page import section
from airrvec.report.sections import clones

import pandas as pd
import pytest
from test_report import EMBEDDINGS, RECEPTORS, SAMPLE

import browser

ROOT = Path(__file__).parents[2]
N = 300
CDR3 = "CASSIRSSYEQYF"
LEAST_CONTRAST = 4.5  # of text, level AA of the Web Content Accessibility Guidelines


def clones_of_samples() -> dict:
    """The section of as many clones as the report shows; clone n has n + 1 cells, in two samples."""
    n = clones.MAX_SHOWN
    rows = pd.DataFrame(None, range(n), schema.CLONES.names, object)
    names = [f"{number:024x}" for number in range(n)]
    rows = rows.assign(
        clone_id=names,
        donor=[f"donor {number % N}" for number in range(n)],
        samples=[f"s{number % N:03d};s{(number + 1) % N:03d}" for number in range(n)],
        trb_v_call="TRBV19*01",
        trb_junction_aa=[f"CASS{'ADG'[number % 3]}RSSYEQYF" for number in range(n)],
        trb_j_call="TRBJ2-7*01",
        n_cells=[number + 1 for number in range(n)],
        count_unit="cells",
        largest_share=[(number + 1) / n for number in range(n)],
        n_donors=1,
        evidence=[{0: "called", 1: "one chain"}.get(number % 10) for number in range(n)],
        call_fdr=[0.05 if number % 10 == 0 else None for number in range(n)],
        evidence_epitope=[{0: "GILGFVFTL", 1: "<b>"}.get(number % 10) for number in range(n)],
        next_step=["Type the donor's HLA; then confirm" if number % 10 == 0 else None for number in range(n)],
        cluster=[f"{number % 7:03d}" for number in range(n)],
    )
    counts = pd.DataFrame(
        {
            "clone_id": names * 2,
            "sample_id": [f"s{number % N:03d}" for number in [*range(n), *range(1, n + 1)]],
            "n_cells": 1,
            "count_unit": "cells",
        }
    )
    nothing = pd.DataFrame()
    tiers = {"called": n // 10, "one chain": n // 10}
    return clones.clones_section(clones.Clones(rows, counts, nothing, n + 5, tiers, nothing), "", {})


def extra_sections() -> list[dict]:
    """Sections of the kinds that need a whole run: a table of calls, lines, named points, a picture."""
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    calls = {f"s{n:03d}, r{n}": {"epitope": "M1", "cdr3": CDR3 if n == 150 else "CASS"} for n in range(200)}
    lines = {f"a line with a long name, number {n}": {"0.0": 0, "1.0": n} for n in range(7)}
    tabs = [{"name": f"a tab with a long name, number {n}"} for n in range(6)]
    points = {f"s{n}": {"x": n, "y": n % 3, "group": f"g{n % 2}", "color": COLOURS[n % 2]} for n in range(8)}
    made = [
        clones_of_samples(),
        section(
            "airrvec_annotation_top",
            "Calls",
            "FDR",
            "table",
            calls,
            headers={"epitope": {"title": "Epitope"}, "cdr3": {"title": "CDR3"}},
        ),
        section(
            "airrvec_annotation_reliability",
            "Reliability",
            "",
            "linegraph",
            [lines] * len(tabs),
            pconfig={"xlab": "x", "ylab": "y", "showlegend": True, "data_labels": tabs},
        ),
        section(
            "airrvec_comparison_pca",
            "Principal components of the samples, with a long title",
            "",
            "scatter",
            [points],
            pconfig={"xlab": "PC 1", "ylab": "PC 2", "showlegend": True},
        ),
        section(
            "airrvec_clusters_logos",
            "Logos",
            "",
            "html",
            f'<div class="airrvec-scroll"><img class="airrvec-picture airrvec-logos" alt="x"'
            f' src="data:image/png;base64,{pixel}" /></div>',
        ),
    ]
    return chapters.placed(made)


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    """The page that the scripts of REPORT and RENDER_REPORT make, of 300 samples."""
    folder = tmp_path_factory.mktemp("report")
    for n in range(N):
        qc = {**SAMPLE, "sample_id": f"s{n:03d}", "rows_in": 1000, "cells": 5 + n, "abundance": 5 + n}
        (folder / f"s{n:03d}.qc.json").write_text(json.dumps(qc))
    for name, qc in (("receptors", RECEPTORS), ("embeddings", EMBEDDINGS)):
        (folder / f"{name}.json").write_text(json.dumps(qc))
    options = {"collected": "receptors.json", "embedded": "embeddings.json", "outdir": "content"}
    work.script("report").main(
        [
            *("--normalised", *(str(path) for path in sorted(folder.glob("s*.qc.json")))),
            *(word for option, name in options.items() for word in (f"--{option}", str(folder / name))),
        ]
    )
    for part in extra_sections():
        (folder / f"content/{part['id']}_mqc.json").write_text(json.dumps(part))
    options = ["--multiqc", "--strict", "--config", str(ROOT / "assets/multiqc_config.yml")]
    with chdir(folder):
        work.script("render_report").main(["--content", "content", "--handover", *options])
    return folder / "multiqc_report.html"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    if browser.CHROMIUM is None:
        pytest.skip("no chromium or chrome on the path")
    with browser.opened(tmp_path_factory.mktemp("browser")) as page:
        yield page


def texts(page, selector: str) -> list[str]:
    return page.value(f"[...document.querySelectorAll({selector!r})].map(e => e.textContent.trim())")


def open_report(page, report: Path, width: int, theme: str = "light"):
    page.prefer(theme)
    page.open(report.as_uri(), width)
    page.rest()


def test_the_report_that_is_handed_over_is_the_same_but_for_the_map(report):
    page, handed_over = (path.read_text() for path in (report, report.parent / "handover/report.html"))
    assert page.replace('href="../map/map.html"', 'href="#airrvec_map"') == handed_over


def test_300_samples_make_a_small_report(report):
    assert report.stat().st_size < 5e6
    html = report.read_text()
    assert 'aiReportMetadataBase64 = "bnVsbA=="' in html
    assert "http" not in "".join(
        line for line in html.splitlines() if "<link" in line or "src=" in line[:200]
    )


def test_chapters_stand_in_order_and_empty_ones_are_absent(report, page):
    open_report(page, report, 1280)
    assert page.errors == []
    assert texts(page, ".mainpage h2") == [
        "In brief", "Clones", "Samples", "What they recognise", "Which belong together", "What differs",
        "Model and benchmark", "Methods",
    ]  # fmt: skip
    headings = [words for words in texts(page, ".mainpage h3") if words]
    assert headings == [
        "Chain pairing", "2,000 of 2,005 clones", "Quality", "Chain pairing", "Rejected chains", "Other loci",
        "Calls", "Reliability", "Logos", "Principal components of the samples, with a long title",
        "Embeddings", "Methods paragraph", "Works to cite", "Software versions",
    ]  # fmt: skip
    assert page.value("document.querySelector('details').open") is False


def test_samples_are_sorted_and_all_there(report, page):
    open_report(page, report, 1280)
    rows = texts(page, "#mqc-section-wrapper-airrvec_samples tbody th")
    assert rows == [f"s{n:03d}" for n in range(N)]


def test_a_cdr3_is_found_by_the_search_of_the_page(report, page):
    open_report(page, report, 1280)
    visible = (
        "[...document.querySelectorAll('#mqc-section-wrapper-airrvec_annotation_top tbody tr')]"
        ".filter(e => e.getClientRects().length).map(e => e.textContent)"
    )
    assert len(page.value(visible)) == 200
    page.type("#airrvec-search", CDR3.lower())
    (row,) = page.value(visible)
    assert CDR3 in row
    assert "s150" in row
    assert texts(page, ".airrvec-search output a") == ["Calls: 1 row"]
    page.value(
        "(e => { e.value = 'CASSNOBODYHASIT'; e.oninput(); })(document.getElementById('airrvec-search'))"
    )
    assert texts(page, ".airrvec-search output") == ["No row of a table has these words."]
    page.value("(e => { e.value = ''; e.oninput(); })(document.getElementById('airrvec-search'))")
    assert len(page.value(visible)) == 200


CELLS = "#airrvec-clones td.airrvec-cells"
COUNT = "#airrvec-clones output"


def choose(page, selector: str, value: str):
    """Set a field of the table of clones as a person would."""
    page.value(
        f"(e => {{ e.value = {value!r};"
        " for (const kind of ['input', 'change']) e.dispatchEvent(new Event(kind)); })"
        f"(document.querySelector('#airrvec-clones {selector}'))"
    )


def cells_shown(page) -> list[int]:
    return [int(text.replace(",", "")) for text in texts(page, CELLS)]


def test_clones_are_sorted_chosen_and_searched(report, page):
    open_report(page, report, 1280)
    assert texts(page, COUNT) == ["1 to 25 of 2,000 clones"]
    assert cells_shown(page) == [*range(2000, 1975, -1)]
    place = texts(page, "#airrvec-clones th").index("Cells ▼") + 1
    page.click(f"#airrvec-clones th:nth-child({place}) button")
    assert (
        page.value(f"document.querySelector('#airrvec-clones th:nth-child({place})').ariaSort") == "ascending"
    )
    assert cells_shown(page) == [*range(1, 26)]
    page.click("#airrvec-clones .airrvec-count button:last-of-type")
    assert cells_shown(page)[0] == 26
    choose(page, "select[aria-label=Evidence]", "one chain")
    assert cells_shown(page) == [*range(2, 252, 10)]
    assert texts(page, COUNT) == ["1 to 25 of 200 clones"]
    assert set(texts(page, "#airrvec-clones td.airrvec-epitope")) == {"<b>"}  # as text
    choose(page, "select[aria-label=Evidence]", "call")
    assert cells_shown(page) == [*range(1, 251, 10)]
    choose(page, "select[aria-label=Evidence]", "")
    choose(page, "select[aria-label=Sample]", "s007")  # that of clones 7, 307, … and of those before them
    assert cells_shown(page) == sorted(n for n in range(1, 2001) if (n - 1) % N in (6, 7))
    choose(page, "input[type=search]", "nobody has it")
    assert "No clone of this table has all of this" in texts(page, COUNT)[0]


def test_a_link_chooses_clones_and_chapters_fold(report, page):
    open_report(page, report, 1280)
    folded = "[...document.querySelectorAll('.airrvec-fold')].map(e => e.ariaExpanded === 'false')"
    assert page.value(folded) == [False, False, *[True] * 6]
    assert page.value("document.documentElement.scrollHeight") < 8000
    page.value(
        "(a => { a.href = '#airrvec_clones?cluster=003&evidence=called';"
        " document.body.append(a); a.click(); })"
        "(document.createElement('a'))"
    )
    chosen = [n for n in range(2000, 0, -1) if (n - 1) % 7 == 3 and (n - 1) % 10 == 0]
    assert cells_shown(page) == chosen[:25]
    assert texts(page, COUNT) == [f"1 to 25 of {len(chosen)} clones"]
    page.click(".airrvec-contents a[href='#airrvec_samples']")
    assert page.value(folded) == [False, False, False, *[True] * 5]
    page.click(".airrvec-unfold-all")
    assert not any(page.value(folded))


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_text_can_be_read_in_both_themes(report, page, theme):
    open_report(page, report, 1280, theme)
    assert page.value("document.documentElement.dataset.bsTheme") == theme
    found = page.contrasts(f"{browser.LEGENDS}, {browser.POINTS}", "fill")
    assert len(found) >= 7 + 2 + 8  # lines, groups of points, names of points
    found += page.contrasts(browser.WORDS, "color") + page.contrasts(browser.AXES, "fill")
    assert [words for contrast, words in found if contrast < LEAST_CONTRAST] == []


def test_points_have_names(report, page):
    open_report(page, report, 1280)
    shown = texts(page, "#mqc-section-wrapper-airrvec_comparison_pca .textpoint text")
    assert shown == [f"s{n}" for n in range(8)]


@pytest.mark.parametrize("width", [1280, 400])
def test_the_report_fits_the_window(report, page, width):
    open_report(page, report, width)
    assert page.errors == []
    assert page.value("document.documentElement.scrollWidth") <= width
    inside = page.value(
        "[...document.querySelectorAll('.js-plotly-plot .legend, .js-plotly-plot .gtitle')].map(e => {"
        " const [own, plot] = [e, e.closest('.js-plotly-plot')].map(part => part.getBoundingClientRect());"
        " const [left, right] = [own.left >= plot.left - 1, own.right <= plot.right + 1];"
        " return left && right && own.bottom <= plot.bottom + 1; })"
    )
    assert len(inside) >= 4
    assert all(inside)
    title, logo = page.value(
        "['.mainpage h1:not(#page_title)', '.side-nav-logo svg']"
        ".map(s => document.querySelector(s).getBoundingClientRect().height)"
    )
    assert logo < title


def test_a_term_is_explained_without_a_mouse(report, page):
    open_report(page, report, 400)
    page.value("document.querySelector('.mainpage abbr').focus()")
    words = page.value("getComputedStyle(document.querySelector('.mainpage abbr'), '::after').content")
    assert len(words) > 20
