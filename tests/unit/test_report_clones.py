"""Clones with their calls in the report: in its first sentences, and in the table of the largest clones."""

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
    said = pd.DataFrame(None, table.index, clones.SAID, object)
    counts = tables.read(made / "counts.parquet").to_pandas()
    clone_of_size = dict(zip(counts["n_cells"], counts["clone_id"], strict=True))
    said.loc[clone_of_size[30]] = ["GILGFVFTL", "InfluenzaA", 0.02, None]
    said.loc[clone_of_size[10]] = ["GILGFVFTL", "InfluenzaA", 0.05, "GILGFVFTL"]
    said.loc[clone_of_size[5]] = ["<b>", None, 0.1, None]
    said.loc[clone_of_size[4]] = [None, None, None, "NLVPMVATV"]
    table = table.join(said.astype({"call_fdr": float})).assign(cluster_id=None)
    table.loc[[clone_of_size[30], clone_of_size[4]], "cluster_id"] = ["small", "large"]
    (folder / "clusters").mkdir()
    clusters = pa.table({"cluster_id": ["small", "large"], "n_receptors": [2, 9]})
    pq.write_table(clusters, folder / "clusters/clusters.parquet")
    columns = [field for field in schema.CLONES if field.name in {"clone_id", *table.columns}]
    tables.write(
        pa.Table.from_pandas(table.reset_index(), pa.schema(columns), preserve_index=False),
        made / "clones.parquet",
    )
    return folder, made


def test_called_cells_and_clones_are_counted_by_organism(found):
    """Of 100 cells each; an epitope stands where no organism is known."""
    _, made = found
    assert clones.called_words(clones.read_clones(made, [])) == (
        "40 cells in 2 clones (40 % of lung) called for InfluenzaA, the largest of 30 cells;"
        " 5 cells in 1 clone (5 % of blood) called for &lt;b&gt;"
    )


def test_samples_of_several_units_are_not_added(found):
    _, made = found
    said = clones.read_clones(made, [])
    said.cells.loc[said.cells["n_cells"] == 10, "count_unit"] = "UMIs"
    words = clones.called_words(said)
    assert words.startswith("2 clones (40 % of lung) called for InfluenzaA; 5 cells")


def test_the_largest_clones_have_their_calls(found):
    folder, made = found
    described = samples.read_described(folder / "out", made, folder / "clusters")
    section = next(
        one for one in samples.described_sections(described) if one["id"] == "airrvec_repertoire_clones"
    )
    assert set(section["headers"]) >= {"call", "organism", "fdr", "exact", "cluster"}
    lines = list(section["data"].values())
    assert all(set(line) == set(section["headers"]) for line in lines)
    assert {line["cells"]: line["cluster"] for line in lines if line["cluster"]} == {30: '"2"', 4: '"1"'}
    calls = {(line["cells"], line["call"], line["fdr"], line["exact"]) for line in lines}
    assert calls == {
        (30, "GILGFVFTL", 0.02, ""),
        (20, "", "", ""),
        (10, "GILGFVFTL", 0.05, "GILGFVFTL"),
        (5, "&lt;b&gt;", 0.1, ""),
        (4, "", "", "NLVPMVATV"),
    }


def test_a_share_is_written_in_two_digits_and_as_100_per_cent():
    assert [page.per_cent(share) for share in (1, 0.996, 0.42, 0.0461, 0.0012)] == [
        *("100 %", "100 %", "42 %", "4.6 %", "0.12 %")
    ]


def test_clones_without_a_call_have_their_exact_matches(found, tmp_path):
    """Of a run that calls nothing."""
    made = shutil.copytree(found[1], tmp_path / "clones")
    table = tables.read(made / "clones.parquet")
    for name in ("call_epitope", "call_antigen_species", "call_fdr"):
        place = table.schema.get_field_index(name)
        table = table.set_column(place, table.field(name), pa.nulls(len(table), table.field(name).type))
    tables.write(table, made / "clones.parquet")
    said = clones.read_clones(made, [])
    assert sorted(said.said["exact_epitope"].dropna()) == ["GILGFVFTL", "NLVPMVATV"]
    assert not len(said.cells)
    assert clones.called_words(said) is None


def test_without_annotation_nothing_is_said(found):
    folder, _ = found
    assert clones.read_clones(None, []) is clones.read_clones(folder / "none", []) is None
    described = samples.read_described(folder / "out")
    (section, *_) = samples.described_sections(described)
    assert "call" not in section["headers"]
