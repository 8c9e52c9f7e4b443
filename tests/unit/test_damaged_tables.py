"""A damaged Parquet file ends a task with its name and the way to recover; it never gives other values."""

import contextlib
import json
import random
import shutil
from pathlib import Path

from airrvec.core import pages, tables
from airrvec.core.errors import InputError
from airrvec.input import cells
from airrvec.repertoire import layout

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from damaged_files import flipped, in_column, page_bytes
from inputs import DATA

import collect_receptors
import export_airr
import normalise_receptors

READERS = {
    "read": tables.read,
    "read_batches": lambda path: pa.concat_tables(tables.read_batches(path, 20)),
    "read_filtered": lambda path: tables.read_filtered(path, pc.is_valid(pc.field("receptor_id"))),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """Cells, chains and receptors of a real table, in the folder of a task."""
    folder = tmp_path_factory.mktemp("3f") / "task"
    normalise_receptors.main([str(DATA / "10x.csv"), "--sample", "a", "--outdir", str(folder)])
    return folder


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", ["a.cells.parquet", "a.receptors_0000.parquet"])
def test_no_flipped_bit_of_a_page_is_read_as_another_value(made, tmp_path, name, reader):
    source, read = made / name, READERS[reader]
    expected = read(source)
    draw, named = random.Random(1), 0  # noqa: S311 - no secret
    for _ in range(400):
        path = flipped(source, draw.choice(page_bytes(source)), draw.randrange(8), tmp_path / name)
        message = None
        try:
            assert read(path).equals(expected)
        except InputError as error:
            message = str(error)
        if message:
            assert message.startswith(f"{name}: the Parquet file is damaged: ")
            assert str(tmp_path) in message
            assert "delete this folder and run again with -resume" in message
            named += 1
    assert named > 250  # the others are bits of page headers that no reader needs


def test_without_checksums_flipped_bits_are_other_values(made, tmp_path):
    """What the checksums are for."""
    table = tables.read(made / "a.cells.parquet")
    pq.write_table(table, tmp_path / "plain.parquet", compression="none", use_dictionary=False)
    source, draw, silent = tmp_path / "plain.parquet", random.Random(1), 0  # noqa: S311 - no secret
    for _ in range(100):
        path = flipped(source, draw.choice(page_bytes(source)), draw.randrange(8), tmp_path / "x.parquet")
        with contextlib.suppress(pa.ArrowException, OSError):
            silent += not pq.read_table(path).equals(table)
    assert silent > 10


def test_duckdb_reads_no_damaged_table(made, tmp_path):
    """It verifies no checksums itself."""
    path = flipped(made / "a.cells.parquet", in_column(made / "a.cells.parquet"), 0, tmp_path / "a.parquet")
    with duckdb.connect() as connection:
        with pytest.raises(InputError, match=r"a\.parquet: the Parquet file is damaged"):
            cells.with_unique_names(connection, path)
        with pytest.raises(InputError, match=r"a\.parquet: the Parquet file is damaged"):
            cells.names_across_samples(connection, [path])


def test_collecting_names_the_folder_of_the_task_that_made_a_damaged_table(made, tmp_path, capsys):
    """A task sees a link; the folder to delete is where it leads to."""
    source = made / "a.receptors_0000.parquet"
    task = tmp_path / "work" / "3f" / "abc"
    task.mkdir(parents=True)
    flipped(source, in_column(source), 3, task / source.name)
    (tmp_path / source.name).symlink_to(task / source.name)
    with pytest.raises(SystemExit):
        collect_receptors.main([str(tmp_path / source.name), "--outdir", str(tmp_path / "out")])
    said = capsys.readouterr().err
    assert f"ERROR: {source.name}: the Parquet file is damaged: a page differs from its checksum" in said
    assert f"It lies in {task.resolve()}." in said
    assert not (tmp_path / "out" / "receptors.parquet").exists()


def test_exporting_airr_reads_no_damaged_chains(made, tmp_path):
    for name in ("a.cells.parquet", "a.chains.parquet"):
        shutil.copy(made / name, tmp_path)
    source = made / "a.chains.parquet"
    flipped(source, in_column(source), 3, tmp_path / source.name)
    missing = tmp_path / "a.tsv.missing.json"
    options = ("--cells", tmp_path / "a.cells.parquet", "--chains", tmp_path / source.name)
    export_airr.main([*map(str, (*options, "--out", tmp_path / "a.tsv", "--missing", missing))])
    assert "a.chains.parquet: the Parquet file is damaged" in missing.read_text()


def test_a_damaged_sample_of_a_batch_is_missing_alone(made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runs = []
    for name in ("a", "b"):
        for kind in ("cells", "chains"):
            shutil.copy(made / f"a.{kind}.parquet", f"{name}.{kind}.parquet")
        files = ["--cells", f"{name}.cells.parquet", "--chains", f"{name}.chains.parquet"]
        runs.append([*files, "--out", f"{name}.tsv", "--missing", f"missing/{name}.tsv.missing.json"])
    source = made / "a.chains.parquet"
    flipped(source, in_column(source), 3, tmp_path / "a.chains.parquet")
    (tmp_path / "options.json").write_text(json.dumps(runs))
    export_airr.main(["--each", "options.json", "--versions", "versions.yml"])
    assert [path.name for path in tmp_path.glob("*.tsv")] == ["b.tsv"]
    (missing,) = (tmp_path / "missing").iterdir()
    (entry,) = json.loads(missing.read_text())
    assert (missing.name, entry["part"], entry["name"]) == ("a.tsv.missing.json", "export", "a.tsv")
    assert "a.chains.parquet: the Parquet file is damaged" in entry["reason"]
    assert '"name": "b.tsv"' in (tmp_path / "versions.yml").read_text()


def test_the_map_reads_no_damaged_vectors(made, tmp_path):
    vectors = pa.table({"receptor_id": ["a", "b"], "dim_01": pa.array([0.5, None], pa.float32())})
    tables.write(vectors, tmp_path / "sceptr.parquet")
    assert layout.count_vectors(tmp_path / "sceptr.parquet") == (1, 1)
    place = in_column(tmp_path / "sceptr.parquet", 1)
    path = flipped(tmp_path / "sceptr.parquet", place, 3, tmp_path / "damaged.parquet")
    with pytest.raises(InputError, match=r"damaged\.parquet: the Parquet file is damaged"):
        layout.count_vectors(path)


@pytest.mark.parametrize("keep", [0, 4, 100, -1])
def test_half_a_table_is_named(made, tmp_path, keep):
    (tmp_path / "half.parquet").write_bytes((made / "a.cells.parquet").read_bytes()[:keep])
    for reader in (*READERS.values(), tables.n_rows, tables.metadata, tables.arrow_schema, pages.check_pages):
        with pytest.raises(InputError, match=r"half\.parquet: the Parquet file is damaged"):
            reader(tmp_path / "half.parquet")


def test_a_table_that_is_not_there_is_not_called_damaged(tmp_path):
    for reader in (tables.read, tables.n_rows):
        with pytest.raises(FileNotFoundError):
            reader(tmp_path / "none.parquet")


def test_every_table_that_a_script_writes_has_checksums(made):
    """Each page's header names one: a file without them is shorter by 5 or more bytes a page."""
    for path in made.glob("*.parquet"):
        table, plain = tables.read(path), made.parent / "plain.parquet"
        options = {**tables.parquet_options(table.schema), "write_page_checksum": False}
        pq.write_table(table, plain, **options)
        assert path.stat().st_size >= plain.stat().st_size + 5 * table.num_columns
