"""The rules of a samplesheet: one row breaks each of them, and all that is broken is told at once."""

import gzip
import re
from pathlib import Path

from airrvec.core import schema
from airrvec.input.samplesheet import checks
from airrvec.input.samplesheet import sheet as samplesheet
from airrvec.input.samplesheet import sheet as sheet_text
from airrvec.input.samplesheet.checks import condition_notes
from airrvec.input.samplesheet.names import LONGEST_NAME, RESERVED_COLUMNS, name_of

import pytest
from inputs import ROOT


def read(folder: Path, content: str | bytes, species: str = "homosapiens") -> samplesheet.Sheet:
    path = folder / "s.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return samplesheet.read(path, species)


def told(folder: Path, content: str | bytes) -> list[str]:
    return [str(problem.error) for problem in read(folder, content).problems]


def test_a_sheet_becomes_its_samples(tmp_path):
    content = (
        "\ufeffsample,path,format,species,tissue,note\r\n"
        'p1, "a, b.csv" ,10x,Mouse,blood,"x ""y"""\r\n'
        "\r\n,,,,,\r\n"
        'p-2.x,c.tsv,,,,5" tube\r\n'
    )
    sheet = read(tmp_path, content)
    assert sheet.problems == []
    assert sheet.metadata == ["tissue", "note"]
    assert sheet.samples == [
        samplesheet.Sample(
            "p1", "sample", "a, b.csv", "10x", None, "musmusculus", {"tissue": "blood", "note": 'x "y"'}, 1, 2
        ),
        samplesheet.Sample(
            "p-2.x", "sample", "c.tsv", None, None, "homosapiens", {"tissue": None, "note": '5" tube'}, 2, 5
        ),
    ]


def test_a_row_may_be_the_labelled_or_the_reference_table(tmp_path):
    """Its name is its role, whatever the sheet calls it; it is no sample."""
    rows = ("p1,a.csv,sample,", "vdjdb,v.tsv,labelled,vdjdb", ",r.csv,reference,")
    sheet = read(tmp_path, "sample,path,role,format\n" + "\n".join(rows))
    assert sheet.problems == []
    found = [(row.name, row.role, row.path, row.format) for row in sheet.samples]
    assert found == [
        ("p1", "sample", "a.csv", None),
        ("labelled", "labelled", "v.tsv", "vdjdb"),
        ("reference", "reference", "r.csv", None),
    ]
    assert [table.part for table in checks.tables_of(sheet, None)] == ["sample", "labelled", "reference"]


def test_the_hla_of_a_donor_has_one_spelling(tmp_path):
    rows = 'a,b,,HLA-A*02:01:01:01;A24\nc,d,,"A*0201, B7"\ne,f,,\ng,h,reference,nobody\n'
    sheet = read(tmp_path, f"sample,path,role,hla\n{rows}")
    assert (sheet.problems, sheet.metadata) == ([], [])
    assert [sample.hla for sample in sheet.samples] == ["A*02:01;A*24", "A*02:01;B*07", "", ""]
    assert [table.hla for table in checks.tables_of(sheet, None)] == ["A*02:01;A*24", "A*02:01;B*07", "", ""]


def test_a_donor_without_an_allele_leaves_the_sample_out(tmp_path):
    sheet = read(tmp_path, "sample,path,hla\na,b,A2\nc,d,nobody\n")
    assert [(problem.row, problem.sample) for problem in sheet.problems] == [(2, "c")]


def test_a_problem_of_the_labelled_table_ends_the_run(tmp_path):
    sheet = read(tmp_path, "sample,path,role,format\nvdjdb,v.tsv,labelled,11x\n")
    assert [problem.sample for problem in sheet.problems] == [None]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            "sample,path,role\na,b,label\n",
            "column 'role': 'label' is not one of sample, labelled, reference;",
        ),
        (
            "sample,path,role\na,b,labelled\nc,d,labelled\n",
            "row 2, column 'role': row 1 has the role labelled too",
        ),
        ("", "s.csv: the samplesheet is empty"),
        ("\n,,\n", "s.csv: the samplesheet is empty"),
        ("sample,path\n", "s.csv: the samplesheet has a header and no rows"),
        ("name,path\na,b\n", "s.csv: the column 'sample' is missing; the samplesheet has: name, path"),
        ("sample;path\na;b\n", "s.csv: its columns are separated by semicolons, not by commas"),
        ("sample\tpath\na\tb\n", "s.csv: its columns are separated by tabs, not by commas"),
        ("sample,path,x,X\na,b,1,2\n", "s.csv: the column 'X' occurs twice, once as 'x'"),
        ("sample,path,x,x\na,b,1,2\n", "s.csv: the column 'x' occurs twice."),
        ("sample,path,\na,b,1\n", "s.csv: column 3 has no name"),
        ("sample,path,a\tb\na,b,1\n", "s.csv: the name of column 3, 'a\ufffdb', holds a control character"),
        (
            "sample,path,Species\na,b,mouse\n",
            "the column 'Species' is one of airrvec's own. Write it 'species'",
        ),
        ("sample,path,dim_01\na,b,1\n", "the column 'dim_01' is one of airrvec's own"),
        ("sample,path\na,b,c\n", "s.csv, row 1: holds 3 cells, the header 2"),
        ("sample,path\na\n", "s.csv, row 1: holds 1 cell, the header 2"),
        ('sample,path,note\na,b,"x\n', "s.csv, row 1: a quotation mark is not closed on its line"),
        ("sample,path\n,b\n", "s.csv, row 1, column 'sample': the sample has no name"),
        ("sample,path\na,\n", "s.csv, row 1, column 'path': the row names no file"),
        ("sample,path\na,b\na,c\n", "s.csv, row 2, column 'sample': 'a' is also the name of row 1."),
        (
            "sample,path\nA,b\na,c\n",
            "row 2, column 'sample': 'a' is also the name of row 1 ('A'); case",
        ),
        ("sample,path,format\na,b,11x\n", "row 1, column 'format': '11x' is not one of airr, 10x, "),
        (
            "sample,path,format,column_map\na,b,10x,m.json\n",
            "row 1, column 'column_map': a table with a column map",
        ),
        ("sample,path,species\na,b,rat\n", "column 'species': 'rat' is not one of homosapiens, musmusculus"),
        (
            "sample,path,hla\na,b,A*02:01;who\n",
            "s.csv, row 1, column 'hla': 'who' is not an HLA allele, a serotype or an H-2 haplotype. Write",
        ),
        ("sample,path,hla\na,b,A*99:01\n", "column 'hla': 'A*99:01' is not an allele that tidytcells lists"),
        ("sample,path,HLA\na,b,A2\n", "the column 'HLA' is one of airrvec's own. Write it 'hla'"),
        (
            "sample,path,row_unit\na,b,well\n",
            "column 'row_unit': 'well' is not one of chain, cell, clonotype",
        ),
        ("sample,path,count_unit\na,b,kg\n", "column 'count_unit': 'kg' is not one of cells, UMIs, reads"),
        ("sample,path\nlabelled,b\n", "the name 'labelled' is reserved for --labelled"),
        ("sample,path\nReference,b\n", "the name 'reference' is reserved for --reference"),
        ("sample,path\nall_samples,b\n", "the name 'all_samples' is reserved for the exports"),
        (f"sample,path\n{'a' * 101},b\n", "has 101 characters, more than 100"),
        ("sample,path\na,b\n".encode("utf-16"), "s.csv: this is a binary file or text in UTF-16"),
        (b"PK\x03\x04 a spreadsheet", "s.csv: this is a binary file or text in UTF-16"),
        (b"sample,path\na,caf\xe9.csv\n", "s.csv: line 2 holds bytes that are not UTF-8 text"),
        (gzip.compress(b"sample,path\na,b\n" * 9, mtime=0)[:30], "s.csv: the compressed file is truncated"),
    ],
)
def test_a_broken_rule_is_told(tmp_path, content, sentence):
    (found,) = told(tmp_path, content)
    assert sentence in found


@pytest.mark.parametrize(
    "name",
    [
        "_a",
        ".a",
        "-a",
        "a b",
        "../../escaped",
        "a/b",
        "a\\b",
        "a\x01b",
        "é",
        "a,b",
        "$(x)",
        "a*",
        "CON:",
        "..",
        "-",
    ],
)
def test_a_name_that_is_no_name_of_a_file_is_refused(tmp_path, name):
    (found,) = told(tmp_path, f'sample,path\n"{name}",b\n')
    assert "may hold letters, digits, '.', '_' and '-' alone, and begins with a letter or a digit" in found
    assert "\x01" not in found


def test_all_broken_rules_are_told_at_once(tmp_path):
    content = "sample,path,format,species\n_x,,,\nb,,11x,rat\nc,d,,\nc,d\n"
    sheet = read(tmp_path, content)
    assert [(problem.row, problem.sample) for problem in sheet.problems] == [
        *((1, None), (1, "_x"), (2, "b"), (2, "b"), (2, "b")),
        (4, None),
    ]
    assert [sample.name for sample in sheet.samples] == ["c"]


def test_no_column_of_a_table_that_cells_are_joined_with_is_metadata(tmp_path):
    own = {
        *schema.CELLS.names,
        *schema.RECEPTORS.names,
        *schema.ANNOTATION.names,
        "clonotype_id",
        "n_samples",
    }
    assert own <= RESERVED_COLUMNS
    for name in sorted(own - {"species", "count_unit"}):
        for spelled in (name, name.upper()):
            (found,) = told(tmp_path, f"sample,path,{spelled}\na,b,x\n")
            assert f"the column '{spelled}' is one of airrvec's own; give it another name" in found


def test_units_are_read_in_any_case(tmp_path):
    (sample,) = read(tmp_path, "sample,path,row_unit,count_unit\na,b,Clonotype,umis\n").samples
    assert sample.unit.options == ["--row-unit", "clonotype", "--count-unit", "UMIs"]
    assert read(tmp_path, "sample,path,row_unit\na,b,\n").samples[0].unit.options == []


def test_a_packed_sheet_is_read(tmp_path):
    assert read(tmp_path, gzip.compress(b"sample,path\na,b\n")).samples[0].path == "b"


def test_empty_columns_of_a_spreadsheet_are_no_metadata(tmp_path):
    sheet = read(tmp_path, "sample,path,x,,\na,b,1,,\n")
    assert (sheet.problems, sheet.metadata) == ([], ["x"])


def test_a_table_is_no_samplesheet(tmp_path):
    assert samplesheet.is_samplesheet(ROOT / "assets/test/samplesheet.csv")
    assert not samplesheet.is_samplesheet(ROOT / "assets/test/pbmc_b.csv")
    assert not samplesheet.is_samplesheet(tmp_path / "nowhere.csv")
    path = tmp_path / "large.csv"
    path.write_bytes(b"sample,path\n" + b"a,b\n" * 100)
    with pytest.raises(Exception, match="the samplesheet is larger than 0 MB"):
        sheet_text.lines(path, 200)


@pytest.mark.parametrize(
    ("file", "name"),
    [("my table.v2.tsv.gz", "my_table"), ("_x.csv", "x"), ("--.csv", ""), ("a" * 200, "a" * LONGEST_NAME)],
)
def test_a_file_gives_its_sample_a_name(file, name):
    assert name_of(Path(file)) == name


def test_a_condition_is_a_metadata_column(tmp_path):
    sheet = read(tmp_path, "sample,path,tissue\na,b,x\n")
    assert samplesheet.condition_problems({"compare_by": "tissue", "compare_within": None}, sheet) == []
    (found,) = samplesheet.condition_problems({"compare_by": "stain"}, sheet)
    assert "--compare_by: the samplesheet has no metadata column 'stain'; it has: tissue" in str(found.error)
    (found,) = samplesheet.condition_problems({"compare_within": "stain"}, None)
    assert str(found.error).startswith("--compare_within: ")
    assert "it has: none" in str(found.error)


@pytest.mark.parametrize(
    ("values", "failed", "words"),
    [
        ("xxxxyyyy", "", None),
        ("xxxxyyyyz", "", None),
        ("xxxyyyy", "", None),
        ("xxyy", "", "the smallest p that 2 and 2 donors can give is 0.33"),
        ("xxxy", "", "samples per value: x 3, y 1"),
        ("xxyy", "d", "samples per value: x 2, y 1"),
        ("xy-", "", "samples per value: x 1, y 1"),
        ("--", "", "samples per value: none"),
        ("abcdefghijkl", "", "i 1, j 1 and 2 other values"),
    ],
)
def test_a_condition_that_cannot_be_tested_is_told(tmp_path, values, failed, words):
    rows = "".join(
        f"{name},{name}.csv,{'' if value == '-' else value}\n"
        for name, value in zip("abcdefghijkl", values, strict=False)
    )
    sheet = read(tmp_path, f"sample,path,tissue\n{rows}")
    asked = {"compare_by": "tissue", "compare_within": None}
    notes = condition_notes(asked, sheet, set(failed))
    if words is None:
        assert notes == []
    else:
        (note,) = notes
        assert note.startswith("--compare_by tissue: nothing ")
        assert words in note
    for column in (None, "stain"):
        assert condition_notes({**asked, "compare_by": column}, sheet, set()) == []
    assert condition_notes(asked, None, set()) == []


def test_what_pairs_and_batches_can_show_is_told(tmp_path):
    rows = "".join(f"{d}{t},{d}{t}.csv,{t},{d},{n}\n" for n, d in enumerate("abcd") for t in "xy")
    sheet = read(tmp_path, f"sample,path,tissue,donor,batch\n{rows}")
    (note,) = condition_notes({"compare_by": "tissue", "compare_within": "batch"}, sheet, set())
    assert note == (
        "--compare_by tissue: nothing can be significant, because the smallest p that 4 donors with several"
        " values can give is 0.12"
    )
    rows = "".join(
        f"{name},{name}.csv,{name[0]},{name[1]}\n" for name in ("x1", "x2", "y1", "y2", "x3", "y4")
    )
    sheet = read(tmp_path, f"sample,path,tissue,batch\n{rows}")
    (note,) = condition_notes({"compare_by": "tissue", "compare_within": "batch"}, sheet, set())
    assert note.endswith("2 and 2 donors can give is 0.5")


def test_groovy_and_python_split_lines_alike():
    """The launcher finds the tables by the expression that the check reads them by."""
    text = (ROOT / "subworkflows/local/samplesheet/main.nf").read_text()
    assert sheet_text._CELL.pattern in text
    assert sheet_text._QUOTED.pattern in text


def test_the_schema_says_the_same():
    schema_text = (ROOT / "assets/schema_input.json").read_text()
    pattern = re.search(r'"pattern": "\^(.*)\$"', schema_text).group(1)
    assert pattern == "(?!(labelled|reference|all_samples)$)[A-Za-z0-9][A-Za-z0-9_.-]{0,99}"
    for word in samplesheet.OWN_COLUMNS:
        assert f'"{word}": {{' in schema_text
