"""Input in Parquet."""

import bz2
import csv
import gzip

from airrvec.core.errors import InputError
from airrvec.input import reading
from airrvec.input.files import parquet_table

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from inputs import ALPHA, BETA, DATA, PAIR, chains_of, normalised, normalised_text, text
from outcomes import same

TEXTS = sorted(path.name for path in DATA.glob("*.[ct]sv"))


def as_parquet(name: str, path, **options) -> None:
    """A text table as Parquet, its types as pyarrow guesses them."""
    lines = [line for line in (DATA / name).read_text().splitlines() if not line.startswith("##")]
    rows = list(csv.reader(lines, delimiter="," if name.endswith(".csv") else "\t"))
    n_header = 2 if name == "iedb.csv" else 1
    header = [" ".join(cells) for cells in zip(*rows[:n_header], strict=True)]
    guessed = pyarrow.csv.read_csv(
        pa.py_buffer(text(header, rows[n_header:]).encode()),
        parse_options=pyarrow.csv.ParseOptions(delimiter="\t"),
        convert_options=pyarrow.csv.ConvertOptions(strings_can_be_null=True),
    )
    pq.write_table(guessed, path, **options)


@pytest.mark.parametrize("name", TEXTS)
def test_any_table_may_be_parquet(name, tmp_path):
    as_parquet(name, tmp_path / "table")
    same(normalised(tmp_path / "table"), normalised(DATA / name))


def test_parquet_of_the_six_columns_with_numbers_and_categories():
    schema = pq.read_schema(DATA / "sceptr.parquet")
    assert schema.field("duplicate_count").type == pa.float64()
    assert pa.types.is_dictionary(schema.field("MHCA").type)
    same(normalised(DATA / "sceptr.parquet"), normalised(DATA / "sceptr.tsv"))


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_parquet_may_be_packed(pack, tmp_path):
    content = pack((DATA / "sceptr.parquet").read_bytes())
    same(normalised_text(tmp_path / "x", content), normalised(DATA / "sceptr.tsv"))


def test_rows_of_parquet_are_numbered_across_batches(tmp_path, monkeypatch):
    as_parquet("10x.csv", tmp_path / "x", row_group_size=4)
    monkeypatch.setattr(parquet_table, "BATCH_ROWS", 3)
    batches = list(reading.open_chains(tmp_path / "x").batches)
    assert len(batches) > 2
    assert [row for batch in batches for row in batch.chains["row"].to_pylist()] == list(range(1, 10))
    same(normalised(tmp_path / "x"), normalised(DATA / "10x.csv"))


def test_damaged_parquet_is_refused(tmp_path):
    whole = (DATA / "sceptr.parquet").read_bytes()
    with pytest.raises(InputError, match=r"^x: the Parquet file is damaged.* Copy or download it again"):
        normalised_text(tmp_path / "x", whole[:-100])


def test_parquet_without_rows_or_with_lists_is_refused(tmp_path):
    columns = ("TRAV", "CDR3A", "TRAJ", "TRBV", "CDR3B", "TRBJ")
    pq.write_table(pa.table({name: pa.array([], pa.string()) for name in columns}), tmp_path / "x")
    with pytest.raises(InputError, match=r"^x: the file has columns and no rows\.$"):
        normalised(tmp_path / "x")
    pq.write_table(pa.table({name: [["CASSF"]] for name in columns}), tmp_path / "x")
    with pytest.raises(InputError, match=r"^x, column 'TRAV': holds lists, not words or numbers\.$"):
        normalised(tmp_path / "x")


def test_parquet_column_that_occurs_twice_is_read_once(tmp_path):
    columns = ["TRAV", "CDR3A", "TRAJ", "TRBV", "CDR3B", "TRBJ", "CDR3B"]
    row = [ALPHA[0], ALPHA[2], ALPHA[1], BETA[0], BETA[2], BETA[1], "CASSF"]
    pq.write_table(pa.table([pa.array([value]) for value in row], names=columns), tmp_path / "x")
    assert chains_of(normalised(tmp_path / "x")) == [PAIR]


def test_a_relative_path_is_that_of_the_working_folder_of_now(tmp_path, monkeypatch):
    """The process that reads Parquet files is started once, and a notebook may change its folder."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        as_parquet(TEXTS[0], tmp_path / name / f"{name}.parquet")
        monkeypatch.chdir(tmp_path / name)
        same(normalised(f"{name}.parquet"), normalised(DATA / TEXTS[0]))
