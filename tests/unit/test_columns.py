"""Columns of published tables: said once, in the schemas, and shown wherever a table is."""

import re
import runpy
from dataclasses import replace

from airrvec.core import schema, table_parts, tables
from airrvec.core.schema import TABLES
from airrvec.core.schema.published import without_links
from airrvec.report.page import meaning

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from inputs import ROOT

PAGES = runpy.run_path(str(ROOT / "docs/column_tables.py"))
TEXTS = {page: page.read_text() for page in PAGES["PAGES"]}
COLUMNS = [
    (table.name, column)
    for table in TABLES.values()
    for column in (*table.columns, *([table.further] if table.further else []))
]


@pytest.mark.parametrize("page", PAGES["PAGES"], ids=lambda page: page.stem)
def test_pages_hold_the_tables_of_the_schemas(page):
    assert TEXTS[page] == PAGES["with_tables"](TEXTS[page], page), "run `make generated`"


def test_every_table_is_on_one_page():
    named = [name for text in TEXTS.values() for name in re.findall(r"<!-- columns: (\w+) -->", text)]
    assert sorted(named) == sorted(TABLES)


def test_no_column_is_described_by_hand():
    for page, text in TEXTS.items():
        by_hand = re.sub(r"<!-- columns: .*?<!-- end -->", "", text, flags=re.DOTALL)
        assert not re.search(r"^\| *Column *\|", by_hand, re.MULTILINE), page


@pytest.mark.parametrize("name", TABLES)
def test_every_column_has_a_meaning(name):
    columns = [column for of, column in COLUMNS if of == name]
    assert len({column.name for column in columns}) == len(columns)
    for column in columns:
        assert len(column.text) > 1, column.name
        assert column.meaning == column.meaning.strip()
        assert column.null, column.name
        assert not column.unit or not pa.types.is_string(column.type)


def test_links_of_meanings_are_left_out_of_texts():
    assert without_links("a [b](c.md#d), e ([f](g.md)).") == "a b, e."
    assert not any("](" in column.text for _, column in COLUMNS)


def test_a_column_with_another_rule_is_another_column():
    column = TABLES["cells"]["abundance"]
    assert column.but(null="never") == replace(column, null="never") != column
    assert column == TABLES["annotation"]["abundance"]


@pytest.mark.parametrize("name", TABLES)
def test_fields_of_a_published_table_carry_what_columns_mean(name, tmp_path):
    table = TABLES[name]
    folder = tmp_path / table.file.partition("/")[0]
    path = folder / f"{table.file.rpartition('/')[2].partition('.')[0].strip('<>')}.parquet"
    tables.write(table.schema.empty_table(), path, {"key": "value"})
    written = pq.read_schema(path)
    assert written.metadata == {b"key": b"value"}
    for field, column in zip(written, table.columns, strict=True):
        expected = {"description": column.text, "null": without_links(column.null)}
        expected |= {"unit": column.unit} if column.unit else {}
        assert {key.decode(): value.decode() for key, value in field.metadata.items()} == expected


def test_further_columns_are_described_too(tmp_path):
    tables.write(schema.embeddings(3).empty_table(), tmp_path / "a.parquet")
    cells = schema.CELLS.append(pa.field("treatment", pa.string()))
    with tables.writer(tmp_path / "b.parquet", cells) as writer:
        writer.write_table(cells.empty_table())
    with table_parts.writer_of_both(tmp_path / "c", cells):
        pass
    for name, field in (("a", "dim_03"), ("b", "treatment"), ("c", "treatment")):
        assert b"description" in pq.read_schema(tmp_path / f"{name}.parquet").field(field).metadata


def test_tables_of_the_first_columns_are_described(tmp_path):
    """Receptors that are not counted yet."""
    tables.write(schema.RECEPTORS.empty_table(), tmp_path / "a.parquet")
    assert all(field.metadata for field in pq.read_schema(tmp_path / "a.parquet"))


@pytest.mark.parametrize("names", [["x", "y"], ["receptor_id"], ["receptor_id", "x"]])
def test_other_tables_are_written_as_they_are(tmp_path, names):
    tables.write(pa.table({name: ["a"] for name in names}), tmp_path / "a.parquet")
    assert [field.metadata for field in pq.read_schema(tmp_path / "a.parquet")] == [None] * len(names)


def test_descriptions_disturb_no_reader(tmp_path):
    rows = [dict.fromkeys(schema.REJECTS.names) | {"sample_id": "a", "row": 1}]
    table = pa.Table.from_pylist(rows, schema.REJECTS)
    tables.write(table, tmp_path / "a.parquet")
    read = tables.read(tmp_path / "a.parquet")
    assert read.schema.field("row").metadata
    assert read.schema == table.schema
    assert read.equals(table)
    assert pa.concat_tables([read, table]).num_rows == pa.concat_tables([table, read]).num_rows == 2
    assert read.cast(schema.REJECTS).equals(table)
    assert pl.read_parquet(tmp_path / "a.parquet")["row"].to_list() == [1]
    assert read.to_pandas()["row"].tolist() == [1]


def test_the_report_explains_columns_in_html():
    assert meaning("embeddings", "dim_01") == {
        "description": "First dimension of the vector, which has length 1. Empty: no loop for the model."
    }
    assert meaning("cells", "sample_id")["description"] == (
        "<code>sample</code> of the samplesheet, or <code>labelled</code>"
    )
    for table, column in COLUMNS:
        if column in TABLES[table].columns:
            words = meaning(table, column.name)["description"]
            assert not set(re.sub("</?code>", "", words)) & {"<", ">", '"', "`"}, column.name


def test_columns_that_the_report_shows_exist():
    """Also those of sections that no small run has."""
    sources = [path.read_text() for path in (ROOT / "bin/airrvec/report").rglob("*.py")]
    shown = re.findall(r'\*\*meaning\("(\w+)", "(\w+)"\)', "".join(sources))
    assert len(shown) > 50
    assert [pair for pair in shown if pair[1] not in TABLES[pair[0]].schema.names] == []
