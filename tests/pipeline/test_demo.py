"""What the README says of the demonstration: its questions, their sections, and calls that are right."""

import html
import re
import subprocess
import sys
from fnmatch import fnmatchcase

import pandas as pd
import pypdf
import pytest
from columns_written import check_columns
from pipeline_runs import ROOT, environment, run_pipeline

import browser
from benchmarks.report import questions

# The numbers of the benchmark and of permutations alone are smaller than those of `make demo`.
QUICK = ("--encoders", "cdr3_levenshtein", "--benchmark_splits", "2", "--compare_permutations", "99")
QUICK += ("--export_anndata",)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    run = run_pipeline(tmp_path_factory.mktemp("demo"), "-profile", "demo", *QUICK, timeout=1800)
    assert run.status == 0, run.output
    assert run.warnings == []
    assert "MISSING" not in run.output
    return run


def test_its_tables_have_the_columns_of_the_schemas(run):
    assert check_columns(run.results) >= {"annotation", "clusters", "pairs"}


def test_the_results_are_verified(run):
    """Every file that is published is in the manifest, and its tables fit together."""
    command = [sys.executable, ROOT / "bin/airrvec", "verify", run.results]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_report_has_the_sections_that_the_readme_names(run):
    readme = (ROOT / "README.md").read_text()
    report = (run.results / "multiqc/multiqc_report.html").read_text()
    named = set(re.findall(r"[Ss]ection \*(\w[\w ]*)\*", readme)) | {"In brief"}
    assert named == {"In brief", "What they recognise", "Which belong together", "What differs"}
    for section in named:
        assert f">{section}</h2>" in report
    for words in (
        "an epitope</abbr> is called for",
        "The largest cluster has",
        "Tests by stain (M1 and BMLF) that are significant: 1 of 1 for overlap",
    ):
        assert words.replace("an epitope</abbr>", "") in re.sub("</?abbr[^>]*>", "", report)
    assert "Not requested" not in report


def test_what_donors_are_called_is_what_their_cells_were_sorted_by(run):
    """A reference of other donors; at most 10 % of the calls may be false, and blood has none or few."""
    table = pd.read_csv(ROOT / "assets/demo/samplesheet.csv")
    sheet = table[table["role"].isna()].set_index("sample")["stain"]
    calls = pd.concat(
        [pd.read_parquet(run.results / "annotation" / f"{sample}.parquet") for sample in sheet.index]
    )
    calls = calls[calls["call"] == "called"]
    stain = calls["sample_id"].map(sheet)
    of_sorted = calls[stain.notna()]
    assert len(of_sorted) > 100
    assert (of_sorted["epitope"] == stain[stain.notna()]).mean() > 0.9
    assert stain.isna().sum() <= 5


def test_what_is_handed_over_has_all_calls_and_the_sentences_of_the_report(run):
    cells = pd.concat(map(pd.read_parquet, sorted((run.results / "annotation").glob("*.parquet"))))
    told = cells[(cells["call"] == "called") | cells["exact_epitope"].notna()]
    expected = told.groupby(["sample_id", "receptor_id"])["abundance"].sum()
    sheet = pd.read_excel(run.results / "handover/calls.xlsx", sheet_name="Calls")
    assert len(sheet) == len(expected) > 100
    assert sheet.set_index(["sample_id", "receptor_id"])["abundance"].to_dict() == expected.to_dict()
    figures = {path.stem for path in (run.results / "handover/figures").iterdir()}
    assert figures >= {"called_cells", "overlap", "cluster_logos", "roc_curves"}
    pages = pypdf.PdfReader(run.results / "handover/summary.pdf").pages
    assert len(pages) <= 2
    text = " ".join(" ".join(page.extract_text() for page in pages).split())
    report = (run.results / "multiqc/multiqc_report.html").read_text()
    brief = report.partition('<ul class="airrvec-brief">')[2].partition("</ul>")[0]
    items = [
        html.unescape(re.sub("<a [^>]*>More</a>|<[^>]+>", "", item)) for item in brief.split("</li>") if item
    ]
    assert len(items) >= 4
    assert [item for item in items if " ".join(item.split()) not in text] == []


def test_the_readme_gives_the_numbers_of_the_run(run):
    """Totals are the same on every machine; a call or two may hang on the last digit of a vector."""
    numbers = re.search(
        r"(\d+) of (\d+) receptors of donors .*\((\d+) were expected to be false\), but none of the (\d+)"
        r" sorted by CMV\. Of ([\d,]+) other receptors",
        (ROOT / "README.md").read_text(),
    ).groups()
    called, sorted_by_epitope, expected_false, sorted_by_cmv, others = (
        int(number.replace(",", "")) for number in numbers
    )
    table = pd.read_csv(ROOT / "assets/demo/samplesheet.csv")
    sheet = table[table["role"].isna()].set_index("sample")["stain"]
    tables = {name: pd.read_parquet(run.results / f"annotation/{name}.parquet") for name in sheet.index}
    receptors = pd.Series({name: table["receptor_id"].nunique() for name, table in tables.items()})
    assert receptors[sheet.notna()].sum() == sorted_by_epitope
    assert receptors[sheet == "pp65"].sum() == sorted_by_cmv
    assert receptors[sheet.isna()].sum() == others
    calls = pd.concat(tables.values()).query("call == 'called'").drop_duplicates(["sample_id", "receptor_id"])
    assert len(calls) == pytest.approx(called, abs=5)
    fdr = calls.groupby("sample_id")["fdr"].agg(["max", "size"])
    assert (fdr["max"] * fdr["size"]).sum() == pytest.approx(expected_false, abs=1.5)


def test_clusters_tell_apart_what_cells_were_sorted_by(run):
    """All of one stain and none of the other carry them; ebv_1, of 19 cells, is left out: four and two."""
    found = pd.read_parquet(run.results / "comparison/tests.parquet").query("measure == 'cluster'")
    apart = found[(found["mean_1"] == 0) != (found["mean_2"] == 0)].query("n_carrying in (2, 4)")
    assert sorted(apart["n_carrying"]) == [2, 4]  # one cluster of either stain
    assert apart[["mean_1", "mean_2"]].max(axis=1).min() > 0.3
    assert apart["p"].to_numpy() == pytest.approx([2 / 15] * 2)


@pytest.fixture(scope="module")
def page(run, tmp_path_factory):
    if browser.CHROMIUM is None:
        pytest.skip("no chromium or chrome on the path")
    with browser.opened(tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.mark.parametrize("width", [1280, 400])
def test_the_report_fits_the_window(run, page, width, tmp_path):
    page.open((run.results / "multiqc/multiqc_report.html").as_uri(), width)
    page.rest()
    assert page.errors == []
    assert page.value("document.documentElement.scrollWidth") <= width
    page.screenshot(tmp_path / "report.png", whole=False)
    assert (tmp_path / "report.png").stat().st_size > 20_000


def test_eight_questions_have_the_answers_of_pandas(run, page, capsys):
    """``page``: where there is a browser."""
    questions.main([str(run.results)])
    printed = capsys.readouterr().out
    assert printed.count("| True |") == 8, printed


def test_a_cdr3_of_a_called_receptor_is_found(run, page):
    """The most frequent one; a table shows only the rows that hold it."""
    calls = pd.concat(map(pd.read_parquet, sorted((run.results / "annotation").glob("*.parquet"))))
    called = calls.loc[calls["call"] == "called", "receptor_id"].drop_duplicates()
    receptors = pd.read_parquet(run.results / "receptors/receptors.parquet").set_index("receptor_id")
    cdr3 = receptors.loc[called, "trb_junction_aa"].mode()[0]
    page.open((run.results / "multiqc/multiqc_report.html").as_uri())
    page.rest()
    page.type("#airrvec-search", cdr3)
    tables = (
        ".mainpage .mqc-section table:not(#airrvec-clones table)"  # that of clones shows 25 rows at a time
    )
    rows = {
        place: page.value(
            f"[...document.querySelectorAll('{place} tbody tr:not(.airrvec-hidden)')].map(e => e.textContent)"
        )
        for place in (tables, "#mqc-section-wrapper-airrvec_annotation_top")
    }
    assert all(rows.values())
    assert all(cdr3 in row for found in rows.values() for row in found)
    clones, *links = page.value(
        "[...document.querySelectorAll('.airrvec-search output a')].map(e => e.textContent)"
    )
    n_rows = sum(int(link.split(": ")[1].split()[0]) for link in links)
    assert n_rows == len(rows[tables])
    kept = pd.read_parquet(run.results / "clones/clones.parquet")
    assert f": {(kept['trb_junction_aa'] == cdr3).sum()} row" in clones


@pytest.mark.parametrize("section", ["annotation", "clusters", "comparison"])
def test_an_answer_leads_to_its_section(run, page, section):
    page.open((run.results / "multiqc/multiqc_report.html").as_uri())
    page.rest()  # MultiQC draws its plots later, which moves what is below them
    target = f"#airrvec_{section}"
    page.click(f'#mqc-section-wrapper-airrvec_brief_findings a[href="{target}"]')
    page.rest()
    assert page.value("location.hash") == target
    top = page.value(f"document.querySelector('{target}').getBoundingClientRect().top")
    assert -5 <= top <= page.value("innerHeight")


# Pandas opens Parquet files for Arrow, whose threads may outlive the interpreter and abort the process at its
# end (one in ten; apache/arrow, issue 34314). The page's own lines have run by then.
END = "\nimport os, sys\nsys.stdout.flush()\nos._exit(0)\n"
# Page → number of its blocks, and of prints whose output it shows.
PAGES = {
    "README.md": (1, 0),
    "docs/guides/python.md": (23, 13),
    "docs/output.md": (2, 0),
    "docs/explanations/receptor_id.md": (1, 1),
}


@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_a_page_prints_what_the_page_shows(run, tmp_path, page):
    """A comment below a print is what is printed; an ellipsis stands for any words."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    code = "import pandas as pd\n" + "\nprint('next block')\n".join(blocks)
    for folder in ("results/demo", "results"):
        code = re.sub(rf'"{folder}(?=[/"])', f'"{run.results}', code)
    if page == "docs/output.md":
        code = code.replace('/sceptr"', '/sceptr.parquet"')  # its folder of partitions is one file here
    (tmp_path / "page.py").write_text(code + END)
    done = subprocess.run(
        [sys.executable, tmp_path / "page.py"],
        cwd=ROOT, env=environment(MPLBACKEND="agg"), capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    printed = done.stdout.split("next block\n")
    shown_in = [re.findall(r"^ *(?:print\(.*|\))\n# (.*)$", block, re.MULTILINE) for block in blocks]
    assert (len(blocks), sum(map(len, shown_in))) == PAGES[page]
    for block_shown, output in zip(shown_in, printed, strict=True):
        for shown in block_shown:
            pattern = shown.replace("[", "[[]").replace("…", "*")
            assert any(fnmatchcase(line, pattern) for line in output.splitlines()), (shown, output)
