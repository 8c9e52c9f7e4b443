"""Several tables of --reference: their names, rows of the samplesheet, and what the command takes."""

import json
import shutil
from pathlib import Path

from airrvec.app.verb_files import listed_paths
from airrvec.core.errors import InputError
from airrvec.input.samplesheet import sheet as samplesheet
from airrvec.input.samplesheet.names import unique_names

import pytest
from inputs import DATA

import check_samples


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["vdjdb.txt.gz", "iedb.csv"], ["vdjdb", "iedb"]),
        (["a/vdjdb.txt", "b/VDJdb.tsv", "vdjdb_2.csv"], ["vdjdb", "VDJdb_2", "vdjdb_2_2"]),
        (["reference.csv", "Reference.tsv"], ["reference_2", "Reference_3"]),
        (["my table (1).csv", "-.csv"], ["my_table__1_", "table"]),
    ],
)
def test_references_are_named_after_their_files(paths, names):
    assert unique_names([Path(path) for path in paths]) == names


def test_a_samplesheet_may_have_several_references_but_one_labelled_table(tmp_path):
    rows = ["p1,a.csv,", "x,r.csv,reference", ",q.csv,reference", ",l.csv,labelled", ",m.csv,labelled"]
    (tmp_path / "s.csv").write_text("\n".join(["sample,path,role", *rows]))
    sheet = samplesheet.read(tmp_path / "s.csv", "homosapiens")
    assert [sample.role for sample in sheet.samples] == ["sample", "reference", "reference", "labelled"]
    (problem,) = sheet.problems
    assert "row 4 has the role labelled too; a run has one such table" in str(problem.error)


def checked(folder, entries, sheet=None) -> dict:
    """What check_samples.py leaves; entries: part, file, line or None, and whether it can be read."""
    tables = []
    for number, (part, name, line, readable) in enumerate(entries, start=1):
        staged = folder / f"tables/{number}"
        staged.mkdir(parents=True)
        shutil.copy(DATA / name, staged) if readable else (staged / name).write_text("a,b\n1,2\n")
        entry = {
            "part": part,
            "path": name,
            "line": line,
            "table": number,
            "column_map": None,
            "problem": None,
        }
        tables.append(entry if line else entry | {"format": None, "species": "homosapiens"})
    request = {
        "species": "homosapiens",
        "compare_by": None,
        "compare_within": None,
        "max_unpacked": 2,
        "tables": tables,
    }
    (folder / "request.json").write_text(json.dumps(request))
    (folder / "s.csv").write_text("\n".join(["sample,path,role", *(sheet or [])]))
    check_samples.main(
        [
            *(("--sheet", str(folder / "s.csv")) if sheet else ()),
            *("--request", str(folder / "request.json"), "--tables", str(folder / "tables")),
            *("--out", str(folder / "o.json"), "--seen", str(folder / "t.tsv")),
            *("--missing", str(folder / "m.missing.json")),
        ]
    )
    return json.loads((folder / "o.json").read_text())


def test_one_reference_is_called_reference_and_several_after_their_files(tmp_path):
    (tmp_path / "one").mkdir()
    one = checked(tmp_path / "one", [("reference", "iedb.csv", None, True)])
    assert [table["id"] for table in one["tables"]] == ["reference"]
    (tmp_path / "three").mkdir()
    entries = [
        ("sample", "10x.csv", 2, False),
        ("reference", "mcpas.csv", 3, True),
        ("reference", "iedb.csv", None, True),
        ("reference", "vdjdb_full.tsv", None, True),
    ]
    three = checked(tmp_path / "three", entries, ["iedb,10x.csv,", ",mcpas.csv,reference"])
    # The sample that fails has the name of a reference, which stays.
    assert [problem["sample"] for problem in three["problems"]] == ["iedb"]
    assert [(table["number"], table["id"]) for table in three["tables"]] == [
        (1, "mcpas"),
        (2, "iedb"),
        (3, "vdjdb_full"),
    ]


def test_a_message_names_the_reference_that_fails(tmp_path):
    entries = [("reference", "mcpas.csv", None, True), ("reference", "iedb.csv", None, False)]
    (problem,) = checked(tmp_path, entries)["problems"]
    assert problem["sample"] is None  # the run ends
    assert problem["reason"].startswith("--reference iedb.csv: iedb.csv: its columns (a, b) match no known")


def test_paths_of_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/merged.parquet").touch()
    (tmp_path / "a,b.csv").touch()
    assert listed_paths("x.csv") == [Path("x.csv")]
    assert listed_paths("x.csv, y.tsv") == [Path("x.csv"), Path("y.tsv")]
    assert listed_paths("a,b.csv") == [Path("a,b.csv")]
    assert listed_paths("folder") == [Path("folder/merged.parquet")]
    Path("tables").mkdir()
    with pytest.raises(InputError, match="the folder 'tables' holds no table"):
        listed_paths("tables")
    for name in ("b.csv.gz", "a.TSV", "README.txt", "LICENSE.txt", ".hidden.csv", "notes.md"):
        Path("tables", name).touch()
    assert listed_paths("tables,x.csv") == [Path("tables/a.TSV"), Path("tables/b.csv.gz"), Path("x.csv")]
    for name in ("vdjdb.txt", "vdjdb_full.txt", "vdjdb.slim.txt"):
        Path("tables", name).touch()
    assert listed_paths("tables") == [Path("tables/vdjdb_full.txt")]
    with pytest.raises(InputError, match="names one of them twice"):
        listed_paths("folder,folder/merged.parquet")
