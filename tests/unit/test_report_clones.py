"""Clones in the report: in its first sentences, and in the table that other sections link into."""

import json
import re
import shutil

from airrvec.core import schema, tables
from airrvec.report import page
from airrvec.report.sections import clones, samples

import clone_tables
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_describe_samples import write_sample
from test_report_samples import receptors

import describe_samples

# Sample → cells of its clones.
SIZES = {"lung": [30, 20, 10, *[1] * 40], "blood": [5, 4, *[1] * 91]}


SAID = ["call_epitope", "call_antigen_species", "call_fdr", "exact_epitope"]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Two clones of the lung and one of the blood are called; another one of the blood has an exact match."""
    folder = tmp_path_factory.mktemp("samples")
    for name, sizes in SIZES.items():
        write_sample(folder, name, receptors(sizes, end="AS"[name == "lung"]))
    made = clone_tables.count(folder, [folder / f"{name}.cells.parquet" for name in SIZES], folder)
    describe_samples.main(["--clones", str(made), "--outdir", str(folder / "out")])
    shutil.copy(made / "clones.qc.json", folder / "out")
    table = tables.read(made / "clones.parquet").to_pandas().set_index("clone_id")
    columns = [*SAID, *schema.EVIDENCE_OF_CLONE, "cluster_id"]
    said = pd.DataFrame(None, table.index, columns, object)
    counts = tables.read(made / "counts.parquet").to_pandas()
    clone_of_size = dict(zip(counts["n_cells"], counts["clone_id"], strict=True))
    said.loc[clone_of_size[30], SAID] = ["GILGFVFTL", "InfluenzaA", 0.02, None]
    said.loc[clone_of_size[10], SAID] = ["GILGFVFTL", "InfluenzaA", 0.05, "GILGFVFTL"]
    said.loc[clone_of_size[5], SAID] = ["<b>", None, 0.1, None]
    said.loc[clone_of_size[4], SAID] = [None, None, None, "NLVPMVATV"]
    evidence = ["evidence", "evidence_epitope", "evidence_against"]
    said.loc[clone_of_size[30], evidence] = ["called", "GILGFVFTL", "one study"]
    said.loc[clone_of_size[10], evidence] = ["identical", "GILGFVFTL", None]
    said.loc[clone_of_size[5], evidence] = ["called", "</script>", None]
    said.loc[clone_of_size[4], evidence] = ["identical", "NLVPMVATV", None]
    said.loc[[clone_of_size[30], clone_of_size[4]], "cluster_id"] = ["small", "large"]
    table = table.join(said.astype({"call_fdr": float}))
    (folder / "clusters").mkdir()
    clusters = pa.table({"cluster_id": ["small", "large"], "n_receptors": [2, 9]})
    pq.write_table(clusters, folder / "clusters/clusters.parquet")
    whole = {"call": "no call", "call_probability": None, "next_step": None}
    table = table.assign(**{name: text for name, text in whole.items() if name not in table})
    tables.write(
        pa.Table.from_pandas(table.reset_index(), schema.CLONES, preserve_index=False),
        made / "clones.parquet",
    )
    return folder, made


def read_rows(section: dict) -> list[dict]:
    """The rows that the page's script draws."""
    (text,) = re.findall('id="airrvec-clones-data">(.*?)</script>', section["data"])
    data = json.loads(text)
    names = [name for name, *_ in data["columns"]]
    return [dict(zip(names, row, strict=True)) for row in data["rows"]]


@pytest.fixture
def section(found) -> dict:
    folder, made = found
    described = samples.read_described(folder / "out", made, folder / "clusters")
    return next(one for one in samples.described_sections(described) if one["id"] == "airrvec_clones")


def test_called_cells_and_clones_are_counted_by_organism(found):
    """Of 100 cells each; an epitope stands where no organism is known."""
    words = clones.called_words(clones.read_clones(found[1]))
    assert re.sub("<a [^>]*>|</a>", "", words) == (
        "40 cells in 2 clones (40 % of lung) called for InfluenzaA, the largest of 30 cells;"
        " 5 cells in 1 clone (5 % of blood) called for &lt;b&gt;"
    )
    assert "<a href='#airrvec_clones?search=InfluenzaA&amp;evidence=call'>2 clones</a>" in words
    assert "search=%3Cb%3E&amp;evidence=call'>1 clone</a>" in words


def test_each_unit_is_counted_by_itself(found):
    said = clones.read_clones(found[1])
    said.calls.loc[said.calls["n_cells"] == 10, "count_unit"] = "UMIs"
    words = re.sub("<a [^>]*>|</a>", "", clones.called_words(said))
    assert words.startswith("30 cells and 10 UMIs in 2 clones (40 % of lung) called for InfluenzaA; 5 cells")


def test_expanded_clones_and_evidence_are_counted(found):
    """At least 1 % and two cells: 3 of the lung's clones and 2 of the blood's."""
    said = clones.read_clones(found[1])
    words = re.sub("<a [^>]*>|</a>", "", clones.expanded_words(said, 2))
    assert words == (
        "5 clones of two cells or more have at least 1 % of a sample, in 2 of 2 samples; most in lung,"
        " 60 % of it in 3 clones."
    )
    assert said.tiers == {"identical": 2, "called": 2}
    words = re.sub("<a [^>]*>|</a>", "", clones.evidence_words(said))
    assert words == "Clones by their strongest evidence: 2 identical to a reference, 2 called."


def test_the_table_has_each_clone_with_what_is_said_of_it(section, found):
    rows = {row["cells"]: row for row in read_rows(section) if row["cells"] > 1}
    assert [rows[n]["samples"] for n in (30, 5)] == [[["lung", 30]], [["blood", 5]]]
    assert {n: row["share"] for n, row in rows.items()} == {30: 0.3, 20: 0.2, 10: 0.1, 5: 0.05, 4: 0.04}
    shown = ["evidence", "epitope", "fdr", "exact", "cluster", "against"]
    assert {n: [row[name] for name in shown] for n, row in rows.items()} == {
        30: ["called", "GILGFVFTL", 0.02, "", "2", "one study"],
        20: ["", "", None, "", "", ""],
        10: ["identical", "GILGFVFTL", 0.05, "GILGFVFTL", "", ""],
        5: ["called", "</script>", 0.1, "", "", ""],
        4: ["identical", "NLVPMVATV", None, "NLVPMVATV", "1", ""],
    }
    assert section["data"].count("</script>") == 1  # no text of a user ends the script
    assert all("condition" not in row and "mhc" not in row for row in rows.values())


def test_several_units_have_a_column(found):
    said = clones.read_clones(found[1])
    said.table.loc[said.table["n_cells"] == 30, "count_unit"] = "UMIs"
    rows = read_rows(clones.clones_section(said, "", {}))
    assert {row["cells"]: row["unit"] for row in rows if row["cells"] > 10} == {30: "UMIs", 20: "cells"}


def test_the_report_says_what_a_clone_is(section):
    words = section["description"]
    assert "the same V gene and CDR3 in both chains; 0 cells with one chain joined" in words
    assert "not nucleotides, which 2 samples lack" in words
    assert "each sample is a donor of its own" in words


def test_of_many_clones_the_largest_of_each_sample_and_those_with_evidence_are_shown(found, monkeypatch):
    """Of three places two are for the largest of each sample; the other is the next with evidence."""
    monkeypatch.setattr(clones, "MAX_SHOWN", 3)
    said = clones.read_clones(found[1])
    assert said.n == sum(map(len, SIZES.values()))
    assert said.table["n_cells"].tolist() == [30, 10, 5]
    shown = clones.clones_section(said, "", {"lung": "tumour"})
    assert shown["section_name"] == "3 of 136 clones"
    assert [row.get("condition") for row in read_rows(shown)] == ["tumour", "tumour", ""]


def test_a_share_is_written_in_two_digits_and_as_100_per_cent():
    assert [page.per_cent(share) for share in (1, 0.996, 0.42, 0.0461, 0.0012)] == [
        *("100 %", "100 %", "42 %", "4.6 %", "0.12 %")
    ]


def test_without_a_call_or_evidence_nothing_is_said_of_them(found, tmp_path):
    made = shutil.copytree(found[1], tmp_path / "clones")
    table = tables.read(made / "clones.parquet")
    for name in ("call_epitope", "call_antigen_species", "call_fdr", "evidence"):
        place = table.schema.get_field_index(name)
        table = table.set_column(place, table.field(name), pa.nulls(len(table), table.field(name).type))
    tables.write(table, made / "clones.parquet")
    said = clones.read_clones(made)
    assert not len(said.calls)
    assert clones.called_words(said) is clones.evidence_words(said) is None


def test_without_clones_there_is_no_table(found):
    folder, _ = found
    assert clones.read_clones(None) is clones.read_clones(folder / "none") is None
    described = samples.read_described(folder / "out")
    assert "airrvec_clones" not in {one["id"] for one in samples.described_sections(described)}
