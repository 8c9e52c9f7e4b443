"""The folder that is handed over: numbers as in the tables, no other file needed, text stays text."""

import json
import math
import re
import shutil
import zipfile

from airrvec.core import schema, tables
from airrvec.figures import run as figures
from airrvec.figures.run.material import NotDrawn, Results
from airrvec.report.handover import report_page, sheets, summary, words, workbook

import openpyxl
import pandas as pd
import pyarrow as pa
import pypdf
import pytest
import results_to_hand_over
from openpyxl.utils.escape import unescape
from results_to_hand_over import EPITOPES, FORMULA, SIZES

import handover

DRAWN = {"clonal_expansion", "called_cells", "diversity", "overlap", "v_usage", "rarefaction"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The results of a run, and what was made of them in ``out/handover``."""
    folder = results_to_hand_over.write_results(tmp_path_factory.mktemp("run"))
    missing = folder / "out/missing/all_samples.missing.json"
    handover.main(results_to_hand_over.options(folder, folder / "out", "--missing", str(missing)))
    assert not missing.parent.exists()
    return folder


def sheet_rows(path, name: str) -> list[tuple]:
    return list(openpyxl.load_workbook(path)[name].iter_rows(values_only=True))


def plain_values(frame: pd.DataFrame) -> list[tuple]:
    """Return the rows of a table as a spreadsheet gives them back."""
    lines = pa.Table.from_pandas(frame, preserve_index=False).to_pylist()
    return [
        tuple(None if isinstance(v, float) and math.isnan(v) else v for v in line.values()) for line in lines
    ]


def test_the_folder_has_all_files(run):
    names = {
        path.relative_to(run / "out/handover").as_posix() for path in (run / "out/handover").rglob("*.*")
    }
    drawn = {f"figures/{name}.{ending}" for name in DRAWN for ending in ("svg", "pdf", "tsv")}
    assert names == {"summary.pdf", "clones.xlsx", "calls.xlsx", "README.txt", *drawn}


def test_the_readme_names_each_file_and_what_is_not_there(run):
    text = (run / "out/handover/README.txt").read_text()
    for path in set((run / "out/handover").iterdir()) - {run / "out/handover/README.txt"}:
        assert f"\n{path.name}" in text
    for name in DRAWN:
        assert f"\nfigures/{name} " in text
    words_of = " ".join(text.split())
    assert "figures/cluster_logos there is no clusters/clusters.parquet, which --cluster makes." in words_of
    assert "Someone et al. A work. doi:1" in words_of
    assert max(map(len, text.splitlines())) <= 88


def test_the_sheet_of_clones_is_the_table_of_clones(run):
    table = tables.read(run / "results/clones/clones.parquet")
    header, *rows = sheet_rows(run / "out/handover/clones.xlsx", "Clones")
    assert list(header) == table.column_names
    expected = plain_values(table.to_pandas())
    assert len(rows) == len(expected) == sum(map(len, SIZES.values()))
    for row, line in zip(rows, expected, strict=True):
        for value, number in zip(row, line, strict=True):
            assert value == (pytest.approx(number, rel=1e-14) if isinstance(number, float) else number)


def test_text_never_becomes_a_formula(run):
    for name in ("clones", "calls"):
        book = openpyxl.load_workbook(run / f"out/handover/{name}.xlsx")
        cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row]
        assert {cell.data_type for cell in cells} <= {"s", "n", "inlineStr", "b"}
        assert FORMULA in {cell.value for cell in cells}
        with zipfile.ZipFile(run / f"out/handover/{name}.xlsx") as archive:
            content = [archive.read(part).decode() for part in archive.namelist() if part.endswith(".xml")]
        assert not any(re.search("<f>|<hyperlink|externalLink", text) for text in content)


def test_headers_explain_their_columns(run):
    book = openpyxl.load_workbook(run / "out/handover/clones.xlsx")
    sheet, explained = book["Clones"], list(book["Columns"].iter_rows(min_row=2, values_only=True))
    assert sheet.freeze_panes == "A2"
    n_rows = sum(map(len, SIZES.values()))
    assert re.fullmatch(rf"A1:[A-Z]+{n_rows + 1}", sheet.auto_filter.ref)
    columns = schema.TABLES["clones"].columns
    assert [row[0] for row in explained] == [column.name for column in columns]
    for cell, row, column in zip(sheet[1], explained, columns, strict=True):
        meaning = column.text.replace("`", "")
        assert row[1] == meaning
        assert (row[3] or schema.NEVER) == schema.described(pa.schema([column.field]), "x").field(0).metadata[
            b"null"
        ].decode().replace("`", "")
        assert cell.comment.text.startswith(meaning.removesuffix("."))


def test_calls_of_all_samples_are_one_table(run):
    paths = sorted((run / "results/annotation").glob("*.parquet"))
    cells = pd.concat(pd.read_parquet(path) for path in paths)
    told = cells[(cells["call"] == "called") | cells["exact_epitope"].notna()]
    header, *rows = sheet_rows(run / "out/handover/calls.xlsx", "Calls")
    assert list(header) == [name for name in schema.ANNOTATION.names if name != "cell_id"]
    shown = pd.DataFrame(rows, columns=header)
    assert shown["sample_id"].tolist() == sorted(shown["sample_id"])
    expected = told.groupby(["sample_id", "receptor_id"])["abundance"].sum().to_dict()
    assert shown.set_index(["sample_id", "receptor_id"])["abundance"].to_dict() == expected
    assert sorted(shown.loc[shown["call"] == "called", "abundance"]) == sorted(EPITOPES)
    assert set(shown["exact_epitope"].dropna()) == {"-2+3"}
    about = dict(sheet_rows(run / "out/handover/calls.xlsx", "About"))
    assert about["Left out"].startswith(f"{len(cells) - len(told)} of {len(cells)} rows ")
    for path in paths:
        one = pd.read_parquet(path)
        counts = one["call"].value_counts()
        words_of = f"called: {counts['called']}, no call: {counts['no call']}"
        kept = (one["call"].eq("called") | one["exact_epitope"].notna()).sum()
        assert about[path.stem] == f"{kept} of {len(one)} in this file ({words_of})"


def test_a_sheet_ends_where_it_should(tmp_path):
    parts = [pa.table({"n": [1, 2, 3, 4]}), pa.table({"n": [5, 6, 7]})]
    written = workbook.write(
        tmp_path / "a.xlsx", workbook.Sheet("A", parts, 5), lambda made: [("Rows", str(made))]
    )
    assert (written.rows, written.left_out) == (5, 2)
    assert [row[0] for row in sheet_rows(tmp_path / "a.xlsx", "A")] == ["n", 1, 2, 3, 4, 5]
    assert sheets._limits(written, "the last rows", 5)[1][1].startswith(
        "2 rows, the last rows: a sheet holds 5 "
    )


def test_odd_cells_are_told_or_kept(tmp_path):
    texts = ["x" * 40_000, "=1", "a\x1b[31m\nb", "_x0041_", "\ufffe", "β", None]
    numbers = [1.5, float("nan"), float("inf"), None, -0.0, 1e-300, 2.0]
    flags = [True, False, None, True, True, True, True]
    table = pa.table({"text": texts, "number": pa.array(numbers), "flag": flags})
    path = tmp_path / "a.xlsx"
    written = workbook.write(path, workbook.Sheet("A", [table]), lambda made: [])
    assert written.cut == 1
    rows = sheet_rows(path, "A")[1:]
    # openpyxl leaves the escapes of a spreadsheet, _xHHHH_, to its users.
    assert [row[0] and unescape(row[0]) for row in rows[1:]] == [
        "=1",
        "a\\x1b[31m\\nb",
        "_x0041_",
        "\\ufffe",
        "β",
        None,
    ]
    assert rows[0][0] == "x" * workbook.LONGEST
    assert [row[1] for row in rows] == [1.5, None, None, None, 0, 1e-300, 2.0]
    assert [row[2] for row in rows] == flags


def test_the_summary_says_what_the_report_says(run):
    reader = pypdf.PdfReader(run / "out/handover/summary.pdf")
    assert 1 <= len(reader.pages) <= summary.PAGES
    for page in reader.pages:
        assert [float(side) for side in page.mediabox[2:]] == pytest.approx([595.28, 841.89], abs=0.1)
    text = " ".join(" ".join(page.extract_text() for page in reader.pages).split())
    for sentence in (
        "3 tables were read; β & α chains.",
        "47 cells are called.",
        "T-cell receptors were analysed with airrvec (Someone et al. 2020).",
        f"3 samples · {sum(map(sum, SIZES.values()))} cells · {sum(map(len, SIZES.values()))} clones",
        "Clonal expansion",
        "Called cells by organism",
        "Someone et al. A work. doi:1",
    ):
        assert sentence in text
    assert "More" not in text
    assert "silent" not in text


def test_all_fonts_are_in_the_summary(run):
    reader = pypdf.PdfReader(run / "out/handover/summary.pdf")
    fonts = {}
    for page in reader.pages:
        for font in page["/Resources"]["/Font"].values():
            for kind in font.get_object()["/DescendantFonts"]:
                fonts[font.get_object()["/BaseFont"]] = kind.get_object()["/FontDescriptor"]
    assert {re.sub(".*[+]", "", name) for name in fonts} == {"DejaVuSansBook", "DejaVuSansBold"}
    assert all("/FontFile2" in descriptor for descriptor in fonts.values())
    assert all("/URI" not in str(page.get("/Annots", "")) for page in reader.pages)


@pytest.mark.parametrize("n", [1, 8, 40])
def test_the_summary_fits_two_pages(run, tmp_path, n):
    svg = run / "out/handover/figures/v_usage.svg"
    content = summary.Content(
        title="T-cell receptors", subtitle="3 samples", ending="End",
        answers=[[words.Run(f"Sample {one} has many cells, its largest clone 30. " * 3)] for one in range(n)],
        figures=[summary.Figure("V genes", "Shares. " * 20, svg)] * 6,
        methods=[[words.Run("Receptors were compared. " * 80)]], works=[[words.Run("A work.")]] * 12,
    )  # fmt: skip
    shown = summary.write(content, tmp_path / "a.pdf")
    reader = pypdf.PdfReader(tmp_path / "a.pdf")
    assert len(reader.pages) <= summary.PAGES
    text = " ".join(" ".join(page.extract_text() for page in reader.pages).split())
    assert text.count("V genes") == len(shown) >= (2 if n < 40 else 0)
    assert text.count("Receptors were") == 80


def test_a_sign_that_the_font_lacks_is_a_box(tmp_path):
    answers = [[words.Run("試料 β ** [a](b)")]]
    summary.write(summary.Content("T", "s", answers, [], [], [], "e"), tmp_path / "a.pdf")
    assert "□□ β ** [a](b)" in pypdf.PdfReader(tmp_path / "a.pdf").pages[0].extract_text()


def test_two_runs_write_the_same_bytes(run, tmp_path):
    handover.main(results_to_hand_over.options(run, tmp_path))
    paths = [path for path in (run / "out/handover").rglob("*") if path.is_file()]
    assert len(paths) == 4 + 3 * len(DRAWN)
    for path in paths:
        other = tmp_path / "handover" / path.relative_to(run / "out/handover")
        assert other.read_bytes() == path.read_bytes(), path.name


def test_the_report_links_to_the_map_beside_it(tmp_path):
    page = '<html><a class="btn" href="../map/map.html">Open the map</a><a href="#airrvec_map">x</a></html>'
    for name, text in (("report", page), ("map", "<html>map</html>")):
        (tmp_path / f"{name}.html").write_text(text)
    targets = {"with": "map.html", "without": "#airrvec_map"}
    for name, target in targets.items():
        map_page = tmp_path / target if name == "with" else None
        report_page.copy_report(tmp_path / "report.html", map_page, tmp_path / name)
        assert (tmp_path / name / "report.html").read_text() == page.replace("../map/map.html", target)
    assert (tmp_path / "with/map.html").read_text() == "<html>map</html>"
    assert not (tmp_path / "without/map.html").exists()


def test_the_readme_names_a_map_that_is_there(run, tmp_path):
    options = results_to_hand_over.options(run, tmp_path)
    handover.main([word for word in options if word != "--has-map"])
    told = [(out / "handover/README.txt").read_text() for out in (run / "out", tmp_path)]
    assert ["map.html" in text for text in told] == [True, False]
    assert all("report.html" in text for text in told)


def test_a_part_that_fails_is_told_and_costs_no_other(run, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    path = folder / "results/comparison/pairs.parquet"
    path.write_bytes(path.read_bytes()[:-50])
    missing = tmp_path / "missing/all_samples.missing.json"
    handover.main(results_to_hand_over.options(folder, tmp_path, "--missing", str(missing)))
    (entry,) = json.loads((tmp_path / "missing/files.missing.json").read_text())
    assert (entry["part"], entry["name"]) == ("handover", "figures/overlap")
    assert "pairs.parquet" in entry["reason"]
    assert not (tmp_path / "handover/figures/overlap.svg").exists()
    text = " ".join((tmp_path / "handover/README.txt").read_text().split())
    assert "figures/overlap could not be made: an error, of which the run's log has the reason" in text
    assert str(tmp_path) not in text
    for name in ("summary.pdf", "clones.xlsx", "figures/rarefaction.tsv"):
        assert (tmp_path / "handover" / name).stat().st_size > 100


def test_a_run_without_samples_hands_over_what_it_has(run, tmp_path):
    (tmp_path / "results").mkdir()
    options = results_to_hand_over.options(run, tmp_path)
    options[1] = str(tmp_path / "results")
    handover.main(options)
    made = {path.name for path in (tmp_path / "handover").iterdir()}
    assert made == {"summary.pdf", "README.txt"}
    assert "clones.xlsx there is no" in " ".join((tmp_path / "handover/README.txt").read_text().split())


# --- Figures: their numbers are those of the tables


@pytest.fixture(scope="module")
def drawn(run) -> dict[str, pd.DataFrame]:
    return {name: pd.read_csv(run / f"out/handover/figures/{name}.tsv", sep="\t") for name in DRAWN}


def test_expansion_counts_single_cells_apart(drawn):
    rows = drawn["clonal_expansion"]
    for name, sizes in SIZES.items():
        shares = rows[rows["sample_id"] == name].set_index("clone_size")["share"]
        total = sum(sizes)
        assert shares["seen once"] == pytest.approx(sizes.count(1) / total)
        assert shares["Hyperexpanded"] == pytest.approx(sum(n for n in sizes if n > 0.1 * total) / total)
        assert shares["Large"] == pytest.approx(
            sum(n for n in sizes if n > 1 and 0.01 * total < n <= 0.1 * total) / total
        )
        assert shares.sum() == pytest.approx(1)


def test_called_cells_are_those_of_called_clones(drawn):
    rows = drawn["called_cells"].set_index("sample_id")
    assert rows["n_cells"].to_dict() == {"lung": 30, "lymph": 12, "blood": 5}
    assert rows["share"].to_dict() == pytest.approx(
        {name: n / sum(SIZES[name]) for name, n in rows["n_cells"].items()}
    )
    assert rows["organism"].to_dict() == {"lung": "InfluenzaA", "lymph": "'@SUM(A1)", "blood": f"'{FORMULA}"}
    assert rows["condition"].dropna().to_dict() == results_to_hand_over.CONDITIONS


@pytest.mark.parametrize(("name", "source"), [("diversity", "diversity"), ("rarefaction", "rarefaction")])
def test_curves_and_diversity_are_those_of_the_samples(drawn, run, name, source):
    expected = pd.read_parquet(run / f"results/samples/{source}.parquet")
    rows = drawn[name].drop(columns="condition")
    merged = rows.merge(expected, on=[c for c in expected if expected[c].dtype == object] + (
        ["n_drawn"] if name == "rarefaction" else []
    ), suffixes=("", "_table"))  # fmt: skip
    assert len(merged) == len(rows) == len(expected)
    numbers = [column for column in merged if f"{column}_table" in merged]
    assert numbers
    for column in numbers:
        assert merged[column].to_numpy() == pytest.approx(merged[f"{column}_table"].to_numpy(), nan_ok=True)


def test_v_genes_and_overlap_are_those_of_the_tables(drawn, run):
    usage = pd.read_parquet(run / "results/samples/gene_usage.parquet")
    usage = usage[(usage["locus"] == "TRB") & (usage["segment"] == "V")]
    keys = ["sample_id", "gene"]
    assert drawn["v_usage"].set_index(keys)["clone_share"].to_dict() == pytest.approx(
        usage.set_index(keys)["clone_share"].to_dict()
    )
    pairs = pd.read_parquet(run / "results/comparison/pairs.parquet")
    keys = ["sample_1", "sample_2"]
    assert drawn["overlap"].set_index(keys)["morisita_horn"].to_dict() == pytest.approx(
        pairs.set_index(keys)["morisita_horn"].to_dict()
    )


def test_a_figure_without_numbers_says_why(run):
    results = Results(run / "results")
    with pytest.raises(NotDrawn, match="which --labelled makes"):
        figures.load("auroc_against_k").table(results)
    with pytest.raises(NotDrawn, match="which --cluster makes"):
        figures.load("cluster_logos").table(results)


@pytest.mark.parametrize("name", sorted(DRAWN))
def test_figures_of_many_samples_show_some_and_say_so(run, name):
    """300 samples: the figure stays small, and its table has all."""
    table = figures.load(name).table(Results(run / "results"))
    columns = [column for column in ("sample_id", "sample_1", "sample_2") if column in table]
    many = pd.concat(
        [table.assign(**{one: table[one] + f"$_{n}" for one in columns}) for n in range(100)],
        ignore_index=True,
    )
    figure = figures.load(name).draw(many)
    figure.canvas.draw()
    width, height = figure.get_size_inches()
    assert width < 6
    assert height < 8


# --- Words of the report


@pytest.mark.parametrize(
    ("html", "texts"),
    [
        ("<p>a <abbr title='x'>b</abbr>s, c</p>", ["a bs, c"]),
        ("<li>one</li><li>two <a href='#x'>More</a></li>", ["one", "two"]),
        ("<p>Failed: <a href='#m'>why</a>.</p>", ["Failed: see the report."]),
        ("<p>1 &lt; 2</p><script>no()</script><style>no</style>", ["1 < 2"]),
        ("text alone", ["text alone"]),
        ("<ul><li>a<ul><li>b</li></ul></li></ul>", ["a", "b"]),
        ("", []),
    ],
)
def test_words_lose_their_markup_alone(html, texts):
    assert [words.plain(paragraph) for paragraph in words.paragraphs(html)] == texts
