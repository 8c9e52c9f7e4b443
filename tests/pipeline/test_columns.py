"""The tables of a real run have the columns of the schemas; other runs are checked with their results."""

from airrvec.core.schema import TABLES

from columns_written import check_columns


def test_a_real_run_writes_the_columns_of_the_schemas(real_run):
    assert check_columns(real_run.results) > {"receptors", "cells", "chains", "rejects", "embeddings", "map"}


def test_the_text_tables_of_a_real_run_have_these_columns(real_run):
    for name in ("checked", "manifest"):
        with (real_run.results / TABLES[name].file).open() as lines:
            assert next(lines).rstrip("\n").split("\t") == TABLES[name].schema.names
