"""Receptors of several samples: the table, and what the report shows of it."""

from dataclasses import replace

from airrvec.core import schema, tables
from airrvec.core.chains import chain_classes
from airrvec.repertoire.repertoires import Repertoires
from airrvec.repertoire.sample_comparison import public_table
from airrvec.report.sections import comparison as sections
from airrvec.synthetic.synthesis import synthesise

import pandas as pd
import pyarrow as pa
import pytest


@pytest.fixture
def repertoires(tmp_path) -> Repertoires:
    """Receptor 0 in three samples, 1 and 2 in two, 3 in one."""
    receptors, path = synthesise(4, seed=3), tmp_path / "receptors.parquet"
    tables.write(receptors, path)
    counts = [("a", 0, 1), ("b", 0, 1), ("c", 0, 1), ("b", 1, 2), ("a", 1, 3), ("a", 2, 9), ("c", 2, 1)]
    frame = pd.DataFrame([*counts, ("c", 3, 50)], columns=["sample_id", "receptor", "n"])
    samples = pd.DataFrame({"donor": ["a", "b", "c"]}, index=pd.Index(["a", "b", "c"], name="sample_id"))
    chains, units = chain_classes(receptors), pd.Series("cells", samples.index)
    return Repertoires(receptors, path, None, None, chains, frame, samples, None, units)


def test_the_table_counts_samples_and_cells_and_names_them(repertoires):
    table = public_table(repertoires)
    assert table.schema.equals(schema.PUBLIC_RECEPTORS)
    assert table.select(["samples", "n_samples", "n_cells"]).to_pylist() == [
        {"samples": "a;b;c", "n_samples": 3, "n_cells": 3},
        {"samples": "a;c", "n_samples": 2, "n_cells": 10},
        {"samples": "a;b", "n_samples": 2, "n_cells": 5},
    ]
    fields = [*schema.RECEPTOR_FIELDS, "receptor_id", "clonotype_id"]
    expected = repertoires.receptors.take(pa.array([0, 2, 1])).select(fields)
    assert table.select(fields).to_pylist() == expected.to_pylist()
    assert table["chains"].to_pylist() == ["paired"] * 3


def test_numbers_of_several_units_have_no_sum(repertoires):
    units = pd.Series({"a": "cells", "b": "UMIs", "c": "cells"})
    table = public_table(replace(repertoires, units=units))
    assert table.select(["samples", "n_cells", "count_unit"]).to_pylist() == [
        {"samples": "a;b;c", "n_cells": None, "count_unit": None},
        {"samples": "a;c", "n_cells": 10, "count_unit": "cells"},
        {"samples": "a;b", "n_cells": None, "count_unit": None},
    ]
    tables.write(table, repertoires.path.with_name("public.parquet"))
    section = sections.public_section(*sections.read_public(repertoires.path.with_name("public.parquet")))
    assert [row["n_cells"] for row in section["data"].values()] == [None, 10, None]


def test_the_report_shows_their_cdr3s_and_counts_further_samples(repertoires, tmp_path, monkeypatch):
    tables.write(public_table(repertoires), tmp_path / "public.parquet")
    monkeypatch.setattr(sections, "N_TOP", 2)
    public, n = sections.read_public(tmp_path / "public.parquet")
    assert (len(public), n) == (2, 3)
    public.loc[0, "samples"] = ";".join(f"s{number}" for number in range(7))
    section = sections.public_section(public, n)
    first = section["data"]["1"]
    assert public["tra_junction_aa"][0] in first["tra"]
    assert public["trb_junction_aa"][0] in first["trb"]
    assert (first["n_samples"], first["n_cells"]) == (3, 3)
    assert first["samples"] == "s0; s1; s2; s3; s4; 2 more"
    assert (first["n_donors"], first["donors"]) == (3, "a; b; c")
    assert list(section["headers"])[-1] == "id"
    assert "2 of 3 public receptors" in section["description"]


def test_samples_that_share_nothing_have_no_public_receptors(repertoires):
    clones = repertoires.clones
    found = replace(repertoires, clones=clones[clones["sample_id"] == "a"])
    assert public_table(found).equals(schema.PUBLIC_RECEPTORS.empty_table())


def test_what_samples_of_one_donor_share_is_not_public(repertoires):
    found = replace(repertoires, samples=repertoires.samples.assign(donor=["x", "x", "y"]))
    assert public_table(found).select(["donors", "n_donors", "samples", "n_samples"]).to_pylist() == [
        {"donors": "x;y", "n_donors": 2, "samples": "a;b;c", "n_samples": 3},
        {"donors": "x;y", "n_donors": 2, "samples": "a;c", "n_samples": 2},
    ]
