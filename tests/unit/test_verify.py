"""The verb ``verify``: one line for each difference from the manifest and each broken relation of tables."""

import hashlib
import re
import shutil
from pathlib import Path

from airrvec.app import cli, manifest
from airrvec.core import records, schema, tables
from airrvec.core.schema.published import TABLES

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import results_folder
from damaged_files import flipped, in_column
from inputs import DATA, ROOT
from results_folder import write_manifest


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    return results_folder.write_results(tmp_path_factory.mktemp("made"))


@pytest.fixture
def results(made, tmp_path) -> Path:
    shutil.copytree(made, tmp_path / "results")
    return tmp_path / "results"


def said(results, capsys) -> list[str]:
    """The lines of the verb, which ends with status 1."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        cli.main(["verify", str(results)])
    assert ended.value.code == 1
    return capsys.readouterr().out.splitlines()


def test_results_as_the_run_wrote_them_are_one_line(results, capsys):
    cli.main(["verify", str(results)])
    printed = capsys.readouterr()
    (line,) = printed.out.splitlines()
    # Rows, chains and AIRR of two tables; receptors by themselves and beside cells; vectors.
    assert re.fullmatch(
        rf"{results}: 10 files and 2 inputs are as the run wrote and read them \(0\.\d MB\);"
        r" 9 relations between the tables hold",
        line,
    )
    assert "9 of 9 relations checked (100 %)" in printed.err


def test_a_changed_byte_is_named_with_the_pages_that_fail(results, capsys):
    path = results / "cells/a.parquet"
    flipped(path, in_column(path), 0, path)
    (results / "airr/a.tsv").write_text((results / "airr/a.tsv").read_text() + "x")
    lines = said(results, capsys)
    assert "cells/a.parquet: differs from what the run wrote (of the same size)" in lines
    assert any(line.startswith("cells/a.parquet: the Parquet file is damaged: ") for line in lines)
    size = (results / "airr/a.tsv").stat().st_size
    assert f"airr/a.tsv: differs from what the run wrote ({size - 1:,} bytes, now {size:,})" in lines
    assert len(lines) == 3


def test_missing_and_left_over_files_are_named(results, capsys):
    (results / "chains/a.parquet").unlink()
    (results / "clusters").mkdir()
    (results / "clusters/members.parquet").write_bytes(b"")
    (results / "models").mkdir()
    (results / "models/old").symlink_to("nowhere")
    (results / "models/older").symlink_to(results / "cells")
    (results / "notes.txt").write_text("a user's own, in no folder of results")
    assert said(results, capsys) == [
        "chains/a.parquet: missing",
        "clusters/members.parquet: left over: not in pipeline_info/manifest.tsv",
        "models/old: left over: not in pipeline_info/manifest.tsv",
        "models/older: left over: not in pipeline_info/manifest.tsv",
    ]


def test_an_input_is_found_beside_another_and_may_be_elsewhere(results, capsys, tmp_path, monkeypatch):
    """As a samplesheet names its tables."""
    shutil.copy(DATA / "10x.csv", tmp_path / "10x.csv")
    text = (results / manifest.MANIFEST).read_text()
    changed = text.replace(f"{DATA}/10x.csv", "10x.csv").replace(f"{DATA}/vdjdb", f"{tmp_path}/none/vdjdb")
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("sample,path\na,10x.csv\n")
    record = records.measure(sheet)
    changed += f"{sheet}\tinput\t{record.sha256}\t{record.size}\t\t\t\t\t\n"
    (results / manifest.MANIFEST).write_text(changed)
    digest = hashlib.sha256(changed.encode()).hexdigest()
    (results / manifest.CHECKSUM).write_text(f"{digest}  manifest.tsv\n")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    cli.main(["verify", str(results)])
    assert "3 inputs (1 of them not on this machine, not compared) are as" in capsys.readouterr().out
    (tmp_path / "10x.csv").write_text("other")
    (line,) = said(results, capsys)
    assert line.startswith("10x.csv: differs from what the run read (")


def test_a_changed_manifest_or_checksum_is_a_problem(results, capsys):
    for path in (results / manifest.MANIFEST, results / manifest.CHECKSUM):
        content = path.read_bytes()
        path.write_bytes(content[:-1] + b" ")
        assert any(line.startswith("pipeline_info/manifest.tsv: ") for line in said(results, capsys))
        path.write_bytes(content)
    (results / manifest.CHECKSUM).unlink()
    assert said(results, capsys) == ["pipeline_info/manifest.tsv.sha256: missing"]


def test_a_folder_without_a_manifest_is_an_error(tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["verify", str(tmp_path)])
    assert ended.value.code == 1
    assert "Give the --outdir of a run that got as far as its report" in capsys.readouterr().err


def test_a_link_to_a_folder_is_a_result_too(results, capsys, tmp_path):
    """As --publish_dir_mode symlink publishes a model."""
    (tmp_path / "work/model").mkdir(parents=True)
    (tmp_path / "work/model/config.json").write_text("{}")
    (results / "models").mkdir()
    (results / "models/own").symlink_to(tmp_path / "work/model")
    record = records.measure(tmp_path / "work/model/config.json")
    text = (results / manifest.MANIFEST).read_text()
    text += f"models/own/config.json\tresult\t{record.sha256}\t{record.size}\t\t\t\t\t\n"
    (results / manifest.MANIFEST).write_text(text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    (results / manifest.CHECKSUM).write_text(f"{digest}  manifest.tsv\n")
    cli.main(["verify", str(results)])
    assert "11 files and 2 inputs are as" in capsys.readouterr().out


@pytest.mark.parametrize("path", ["../outside.txt", "/etc/hostname", "cells/../../outside.txt"])
def test_a_manifest_names_no_file_outside_the_results(results, capsys, path):
    with (results / manifest.MANIFEST).open("a") as handle:
        handle.write(f"{path}\tresult\t{'0' * 64}\t1\t\t\t\t\t\n")
    assert any(re.fullmatch(r"pipeline_info/manifest\.tsv: row \d+ cannot be read", line)
               for line in said(results, capsys))  # fmt: skip


def test_paths_with_signs_of_the_table_are_read_as_they_were(tmp_path):
    (tmp_path / "pipeline_info").mkdir()
    line = "in\\tput\\\\n.csv\tinput\t" + "0" * 64 + "\t1\t\t\t\t\t\n"
    (tmp_path / manifest.MANIFEST).write_text("\t".join(manifest.COLUMNS) + "\n" + line)
    ((row,), _) = manifest.read_manifest(tmp_path)
    assert row.path == "in\tput\\n.csv"
    assert row.rows is None


def without(table: pa.Table, row: int) -> pa.Table:
    return pa.concat_tables([table.slice(0, row), table.slice(row + 1)])


def with_column(table: pa.Table, name: str, values) -> pa.Table:
    number = table.column_names.index(name)
    return table.set_column(number, table.schema.field(number), pa.chunked_array([values]))


def reversed_ids(table: pa.Table) -> pa.Table:
    return with_column(table, "receptor_id", table["receptor_id"].combine_chunks()[::-1])


def next_rows(table: pa.Table) -> pa.Table:
    return with_column(table, "cell_row", pc.add(table["cell_row"], 100).combine_chunks())


def other_v_gene(table: pa.Table) -> pa.Table:
    values = ["TRBV1", *table["trb_v_call"].to_pylist()[1:]]
    return with_column(table, "trb_v_call", pa.array(values))


BROKEN = {
    "a rejected row is lost": (
        "rejects/a.parquet",
        lambda table: table.slice(0, 0),
        r"cells/a\.parquet: 9 rows were read, but \d are in the cells and 0 in the rejects",
    ),
    "a cell is lost": (
        "cells/a.parquet",
        lambda table: without(table, 0),
        r"cells/a\.parquet: 9 rows were read, but \d are in the cells and \d in the rejects",
    ),
    "chains of other cells": (
        "chains/a.parquet",
        reversed_ids,
        r"chains/a\.parquet: its receptors are not those of the cells in cells/a\.parquet",
    ),
    "chains of no cells": (
        "chains/a.parquet",
        next_rows,
        r"chains/a\.parquet: cell_row names rows that cells/a\.parquet does not have",
    ),
    "a chain is lost": (
        "chains/a.parquet",
        lambda table: without(table, 0),
        r"airr/a\.tsv: has \d rows, chains/a\.parquet \d",
    ),
    "a receptor is lost": (
        "receptors/receptors.parquet",
        lambda table: without(table, 1),
        r"receptors/receptors\.parquet: 1 receptor of the cells is missing",
    ),
    "a receptor is there twice": (
        "receptors/receptors.parquet",
        lambda table: pa.concat_tables([table.slice(0, 1), table]),
        r"receptors/receptors\.parquet: a receptor_id occurs twice",
    ),
    "a receptor has another gene": (
        "receptors/receptors.parquet",
        other_v_gene,
        r"receptors/receptors\.parquet: 1 receptor_id is not that of the receptor's fields",
    ),
    "vectors of other receptors": (
        "embeddings/sceptr.parquet",
        reversed_ids,
        r"embeddings/sceptr\.parquet: its receptors are not those of .*, row by row",
    ),
    "no column of ids": (
        "embeddings/sceptr.parquet",
        lambda table: table.drop_columns("receptor_id"),
        r"embeddings/sceptr\.parquet: cannot be compared with other tables .*receptor_id.*",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_relation_is_named_although_all_checksums_agree(results, capsys, name):
    path, change, expected = BROKEN[name]
    table = tables.read(results / path)
    tables.write(change(table), results / path, tables.metadata(results / path))
    write_manifest(results)
    assert any(re.fullmatch(expected, line) for line in said(results, capsys))


@pytest.mark.parametrize(
    ("path", "table", "expected"),
    [
        ("map/map.parquet", {"receptor_id": ["none"]}, "1 receptor is not in the receptors of the run"),
        ("clusters/members.parquet", {"receptor_id": ["x", "y"]}, "2 receptors are not in the receptors"),
        ("comparison/public.parquet", {"receptor_id": ["none"]}, "1 receptor is not in the receptors"),
        ("annotation/a.parquet", {"receptor_id": ["none"]}, "its rows are not the cells of cells/a.parquet"),
    ],
)
def test_tables_of_optional_parts_are_joined_too(results, capsys, path, table, expected):
    tables.write(pa.table(table), results / path)
    write_manifest(results)
    (line,) = said(results, capsys)
    assert line.startswith(f"{path}: {expected}")


def test_both_forms_of_a_table_have_the_same_rows(results, capsys):
    tables.write_both(pa.table({"a": [1, 2]}), results / "samples/largest_clones")
    (results / "samples/largest_clones.tsv").write_text("a\n1\n")
    write_manifest(results)
    assert said(results, capsys) == [
        "samples/largest_clones.tsv: has 1 rows, samples/largest_clones.parquet 2"
    ]


def test_folders_are_those_of_the_pipeline():
    source = (ROOT / "subworkflows/local/outputs/main.nf").read_text()
    announced = {name.split("/")[0] for name in re.findall(r"'(\w+(?:/\w+)?)'", source)}
    assert set(manifest.FOLDERS) <= announced


def test_every_published_table_is_announced_and_no_other():
    """Else it is in no manifest, and no run knows it as its own."""
    source = (ROOT / "subworkflows/local/outputs/main.nf").read_text()
    source = re.sub("(?m)^ *//.*", "", source)
    announced = set(re.findall(r"'([^']+)'", source))
    one_of_a_run = {table.file: Path(table.file) for table in TABLES.values() if "<" not in table.file}
    published = {file: path for file, path in one_of_a_run.items() if path.parts[0] in manifest.FOLDERS}
    published = {
        file: path for file, path in published.items() if path.parts[0] != "analyses"
    }  # by their names
    assert len(published) > 30
    assert [file for file, path in published.items() if not announced & {path.stem, path.name, file}] == []
    stems = {Path(table.file).stem for table in TABLES.values()}
    listed = re.findall(r"tablesIn\('[^']+', \[([^\]]+)\]", source)
    assert {name for names in listed for name in re.findall(r"'([^']+)'", names)} <= stems


def test_a_cell_that_joined_has_the_call_of_its_clone(results, capsys):
    ids = tables.read(results / "cells/a.parquet")["receptor_id"].to_pylist()
    other = next(number for number, name in enumerate(ids) if name != ids[0])
    rows = [
        {"sample_id": "a", "cell_row": row + 1, "clone_id": "c", "receptor_id": ids[row], "joined": row == 0}
        for row in (0, other)
    ]
    tables.write(pa.Table.from_pylist(rows, schema.CLONE_MEMBERS), results / "clones/members.parquet")
    tables.write(pa.table({"receptor_id": [ids[other], *ids[1:]]}), results / "annotation/a.parquet")
    write_manifest(results)
    cli.main(["verify", str(results)])
    tables.write(pa.table({"receptor_id": ids}), results / "annotation/a.parquet")
    write_manifest(results)
    assert said(results, capsys) == ["annotation/a.parquet: its rows are not the cells of cells/a.parquet"]
