"""The verb ``columns``: the tables, and what the columns of one mean."""

import json

from airrvec.app import cli
from airrvec.app.columns import table_named
from airrvec.core.errors import InputError
from airrvec.core.schema import TABLES

import pytest


@pytest.mark.parametrize("name", TABLES)
def test_every_column_is_printed(name, capsys):
    cli.main(["columns", name])
    blocks = capsys.readouterr().out.split("\n\n")
    assert blocks[0].startswith(TABLES[name].file)
    for block, column in zip(blocks[1:], TABLES[name].columns, strict=False):
        title, *lines = block.splitlines()
        unit = f", {column.unit}" if column.unit else ""
        assert title == f"{column.name}  ({column.type_name}{unit})"
        said = " ".join(line.strip() for line in lines)
        assert said.startswith(column.text)
        assert (" Null: " in said) == (column.null != "never")
        assert max(map(len, lines)) <= 110


def test_tables_are_listed_with_their_files(capsys):
    cli.main(["columns"])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert dict(lines) == {name: table.file for name, table in TABLES.items()}


def test_json_has_all_that_is_known(capsys):
    cli.main(["columns", "cells", "--json"])
    table = json.loads(capsys.readouterr().out)
    assert [column["name"] for column in table["columns"][:-1]] == TABLES["cells"].schema.names
    assert table["columns"][7] == {
        "name": "abundance",
        "type": "int64",
        "unit": "`count_unit`",
        "meaning": TABLES["cells"]["abundance"].text,
        "null": TABLES["cells"]["abundance"].null,
    }
    cli.main(["columns", "--json"])
    assert {table["name"] for table in json.loads(capsys.readouterr().out)} == {*TABLES}


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("clones", "clones"),
        ("clones/clones.tsv", "clones"),
        ("samples/largest_clones.tsv", "largest_clones"),
        ("/data/results/comparison/tests.parquet", "condition_tests"),
        ("comparison/told", "condition_told"),
    ],
)
def test_a_table_is_found_by_its_name_or_file(word, name):
    assert table_named(word) is TABLES[name]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("clone", "The nearest names are clones, "),
        ("members.tsv", "Name one of members, clone_members"),
        ("\x1b[1m", "`airrvec columns` lists all tables"),
    ],
)
def test_an_unknown_table_is_refused_with_the_nearest_names(word, said):
    with pytest.raises(InputError, match=said):
        table_named(word)
