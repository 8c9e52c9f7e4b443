"""Cells as AnnData, opened by anndata, scanpy, scirpy and our own reader."""

from airrvec.core import schema, tables
from airrvec.core.errors import InputError
from airrvec.core.vectors import read_receptor_rows
from airrvec.input import cells

import anndata
import numpy as np
import pyarrow as pa
import pytest
from cells_for_export import (
    ALPHA_ALONE,
    BETA_ALONE,
    METADATA,
    PAIR,
    RECEPTORS,
    VECTORS,
    cells_table,
    described,
    exported,
    obs_values,
    run_tables,
    write_inputs,
)
from inputs import (
    ALPHA,
    ALPHA_2,
    BETA,
    DATA,
    ROOT,
    cells_with_chains,
    chains_table,
    normalised,
)
from test_export_airr import TABLES

import describe_cells
import export_anndata

pytestmark = pytest.mark.filterwarnings("ignore::anndata.ExperimentalFeatureWarning")


@pytest.mark.parametrize("name", TABLES)
def test_every_table_comes_back(name, tmp_path):
    result = normalised(DATA / name)
    embeddings = tables.embeddings_table(
        result.receptors["receptor_id"], np.zeros((len(result.receptors), 2), np.float32)
    )
    receptors = result.receptors.append_column("n_samples", pa.array([1] * len(result.receptors), pa.int32()))
    data = exported(tmp_path, result.cells, receptors, embeddings, result.chains)
    again = normalised(tmp_path / "s.h5ad", "scirpy", species="homosapiens")
    kept = ["receptor_id", "duplicate_count", "umi_count", *schema.LABELS]
    assert again.cells.select(kept).equals(result.cells.select(kept))
    assert list(data.obs_names) == again.cells["cell_id"].to_pylist()
    fields = ("species", *schema.RECEPTOR_FIELDS, *schema.CELLS.names)
    expected = cells_with_chains(result)
    for field in fields:
        assert obs_values(data, field) == [cell[field] for cell in expected], field


def test_vectors_are_those_of_the_table(tmp_path):
    ids = [BETA_ALONE, PAIR, ALPHA_ALONE, PAIR]
    data = exported(tmp_path, cells_table([{"cell_id": str(n), "receptor_id": r} for n, r in enumerate(ids)]))
    assert data.obsm["X_sceptr"].dtype == np.float32
    np.testing.assert_array_equal(data.obsm["X_sceptr"], VECTORS[[2, 0, 1, 0]])
    assert data.uns["airrvec"] == {**METADATA, "dimensions": 3}
    assert obs_values(data, "n_samples") == [2] * 4


def test_chains_are_where_scirpy_looks_for_them(tmp_path):
    rows = [
        {"receptor_id": PAIR, "umi_count": 7, "duplicate_count": 10**12},
        {"receptor_id": BETA_ALONE, "umi_count": 3},
        {"receptor_id": ALPHA_ALONE},
    ]
    airr = exported(tmp_path, cells_table(rows)).obsm["airr"].to_list()
    assert [[chain["locus"] for chain in chains] for chains in airr] == [["TRA", "TRB"], ["TRB"], ["TRA"]]
    fields = [[tuple(chain[name] for name in schema.CHAIN_FIELDS) for chain in chains] for chains in airr]
    assert fields == [[ALPHA, BETA], [(None, None, BETA[2])], [ALPHA_2]]
    assert [[chain["umi_count"] for chain in chains] for chains in airr] == [[7, None], [3], [None]]
    assert airr[0][0]["duplicate_count"] == 10**12
    assert all(chain["productive"] is True for chains in airr for chain in chains)


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (["a", "a", "b", None], ["a", "a_2", "b", "s_4"]),
        (["zellé", "細胞-1", "a/b", "細胞-1"], ["zellé", "細胞-1", "a/b", "細胞-1_2"]),
    ],
)
def test_names_are_unique_and_the_barcodes_untouched(ids, expected, tmp_path):
    data = exported(tmp_path, cells_table([{"cell_id": name, "receptor_id": PAIR} for name in ids]))
    assert list(data.obs_names) == expected
    assert obs_values(data, "cell_id") == ids


def test_metadata_never_hides_a_column(tmp_path):
    names = ("n_samples", "clone_size", "n_samples_sample", "dose/day", "", "_index", "Ärm")
    metadata = {name: ["x", None] for name in names}
    rows = [{"cell_id": "a", "receptor_id": PAIR}, {"cell_id": "b", "receptor_id": PAIR}]
    data = exported(tmp_path, cells_table(rows, metadata))
    assert obs_values(data, "n_samples") == [2, 2]
    renamed = (
        "n_samples_sample_sample",
        "clone_size_sample",
        "n_samples_sample",
        "dose_day",
        "_sample",
        "_index_sample",
        "Ärm",
    )
    for name in renamed:
        assert obs_values(data, name) == ["x", None]
    assert obs_values(data, "clone_size") == [2, 2]
    own = {*schema.CELLS.names, *schema.COLLECTED_RECEPTORS.names, *schema.CELL_CLONES.names}
    assert len(data.obs.columns) == len(own) + len(renamed)


def test_sample_without_cells(tmp_path):
    data = exported(tmp_path, cells_table([], {"tissue": []}))
    assert data.shape == (0, 0)
    assert data.obsm["X_sceptr"].shape == (0, 3)
    assert "tissue" in data.obs


def test_receptor_that_is_missing_is_said(tmp_path, capsys):
    arguments = write_inputs(tmp_path, cells_table([{"receptor_id": PAIR}, {"receptor_id": "0" * 24}]))
    capsys.readouterr()
    with pytest.raises(SystemExit):
        export_anndata.main([*arguments, *described(tmp_path), "--out", str(tmp_path / "s.h5ad")])
    message = "ERROR: receptors.parquet: 1 of 2 cells have a receptor that is missing here.\n"
    assert capsys.readouterr().err == message
    assert not (tmp_path / "s.h5ad").exists()


def test_rows_of_receptors_come_in_the_order_asked_for(tmp_path):
    receptors, _ = run_tables()
    tables.write(receptors, tmp_path / "a=b.parquet")
    ids = pa.chunked_array([[BETA_ALONE, PAIR], [PAIR]])
    found = read_receptor_rows(tmp_path / "a=b.parquet", ids)
    assert found["receptor_id"].to_pylist() == ids.to_pylist()
    assert found.schema == schema.COLLECTED_RECEPTORS
    with pytest.raises(InputError, match="1 of 1 cells"):
        read_receptor_rows(tmp_path / "a=b.parquet", pa.chunked_array([["0" * 24]]))


def test_free_names():
    taken = {"a", "a_sample"}
    assert [cells.free_name(name, taken) for name in ("a", "b", "b", "")] == [
        "a_sample_sample",
        "b",
        "b_sample",
        "_sample",
    ]


def test_scanpy_and_scirpy_work_with_it(tmp_path):
    """Neighbours by the vectors, and scirpy's own view of the same cells."""
    scanpy, scirpy = pytest.importorskip("scanpy"), pytest.importorskip("scirpy")
    result = normalised(DATA / "10x.csv")
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(len(result.receptors), 4)).astype(np.float32)
    receptors = result.receptors.append_column("n_samples", pa.array([1] * len(result.receptors), pa.int32()))
    data = exported(
        tmp_path, result.cells, receptors, tables.embeddings_table(receptors["receptor_id"], vectors)
    )
    scirpy.pp.index_chains(data)
    scirpy.tl.chain_qc(data)
    expected = cells_with_chains(result)
    assert list(scirpy.get.airr(data, "junction_aa", "VDJ_1")) == [c["trb_junction_aa"] for c in expected]
    assert list(scirpy.get.airr(data, "v_call", "VJ_1")) == [c["tra_v_call"] for c in expected]
    pairing = dict(
        zip(receptors["receptor_id"].to_pylist(), receptors["chain_pairing"].to_pylist(), strict=True)
    )
    assert list(data.obs["chain_pairing"]) == [pairing[receptor] for receptor in data.obs["receptor_id"]]
    scirpy.pp.ir_dist(data, sequence="aa")
    scirpy.tl.define_clonotype_clusters(data, sequence="aa", receptor_arms="all", dual_ir="primary_only")
    assert data.obs["cc_aa_identity"].nunique() == len(result.receptors)
    scanpy.pp.neighbors(data, use_rep="X_sceptr", n_neighbors=3)
    nearest = data.obsp["distances"].toarray()
    exact = np.linalg.norm(data.obsm["X_sceptr"][:, None] - data.obsm["X_sceptr"][None], axis=2)
    np.testing.assert_allclose(nearest[nearest > 0], exact[nearest > 0], rtol=1e-4)
    data.write_h5ad(tmp_path / "again.h5ad")


def labelled_by_scirpy(data: anndata.AnnData, **options) -> list[set[str]]:
    """Clonotypes of scirpy's `define_clonotypes`, by the nucleotides of the junctions: sets of cells."""
    scirpy = pytest.importorskip("scirpy")
    scirpy.pp.index_chains(data)
    scirpy.tl.chain_qc(data)
    scirpy.pp.ir_dist(data, metric="identity", sequence="nt")
    scirpy.tl.define_clonotypes(data, receptor_arms="all", dual_ir="primary_only", **options)
    groups = data.obs.groupby("clone_id", observed=True).groups.values()
    return sorted((set(names) for names in groups), key=min)


def test_clonotypes_of_scirpy_are_those_of_the_nucleotides(tmp_path):
    """Beside groups of equal nucleotide junctions, which are more than those of equal residues."""
    path = ROOT / "assets/test/pbmc_b.csv"
    result = normalised(path)
    receptors = result.receptors.append_column("n_samples", pa.array([1] * len(result.receptors), pa.int32()))
    vectors = tables.embeddings_table(receptors["receptor_id"], np.zeros((len(receptors), 2), np.float32))
    chains = result.chains.to_pylist()
    data = exported(tmp_path, result.cells, receptors, vectors, result.chains)
    expected: dict[tuple, set[str]] = {}
    for name, cell in zip(data.obs_names, range(1, len(result.cells) + 1), strict=True):
        own = {chain["locus"]: chain["junction"] for chain in chains if chain["cell_row"] == cell}
        expected.setdefault((own.get("TRA"), own.get("TRB")), set()).add(name)
    assert labelled_by_scirpy(data) == sorted(expected.values(), key=min)
    assert len(expected) > 50


def test_silent_differences_divide_a_clonotype(tmp_path):
    rows = [{"cell_id": name, "receptor_id": PAIR, "sample_id": "s"} for name in "abc"]
    kept = {"junction": ["TGTGCT", "TGTAGC", "TGTGCT", "TGCAGC", "TGTGCT", "TGTAGC"]}
    receptors, embeddings = run_tables()
    chains = chains_table(cells_table(rows), receptors, kept)
    data = exported(tmp_path, cells_table(rows), receptors, embeddings, chains)
    assert labelled_by_scirpy(data) == [{"a", "c"}, {"b"}]


def test_all_samples_in_one_object(tmp_path):
    """Chains, names and metadata of two samples, of which one has no cells called."""
    receptors, _ = run_tables()
    first = cells_table([{"cell_id": "x", "receptor_id": PAIR}, {"cell_id": "x", "receptor_id": BETA_ALONE}])
    second = cells_table([{"cell_id": "x", "receptor_id": ALPHA_ALONE, "umi_count": 4}], {"dose": ["1"]})
    second = second.set_column(0, "sample_id", pa.array(["t"]))
    arguments = write_inputs(tmp_path, first)[2:]
    tables.write(second, tmp_path / "t.cells.parquet")
    tables.write(chains_table(second, receptors, {"junction": ["TGT"]}), tmp_path / "t.chains.parquet")
    call = {"receptor_id": ALPHA_ALONE, "call": "called", "epitope": "E1", "probability": 0.75, "fdr": 0.1}
    tables.write(pa.Table.from_pylist([call], schema.ANNOTATION), tmp_path / "t.parquet")
    paths = {kind: [str(tmp_path / f"{s}.{kind}.parquet") for s in "st"] for kind in ("cells", "chains")}
    description = str(tmp_path / "all.parquet")
    calls = ["--annotation", str(tmp_path / "t.parquet")]
    describe_cells.main([*paths["cells"], *calls, "--out", description])
    out = tmp_path / "all.h5ad"
    options = [text for kind, names in paths.items() for text in (f"--{kind}", *names)]
    options += ["--description", description, "--names", "name", *arguments, "--out", str(out)]
    export_anndata.main(options)
    data = anndata.read_h5ad(out)
    assert list(data.obs_names) == ["s_x", "s_x_2", "t_x"]
    assert obs_values(data, "sample_id") == ["s", "s", "t"]
    assert obs_values(data, "dose") == [None, None, "1"]
    assert obs_values(data, "call_epitope") == [None, None, "E1"]
    assert obs_values(data, "call_probability") == [None, None, 0.75]
    airr = data.obsm["airr"].to_list()
    assert [[chain["junction_aa"] for chain in chains] for chains in airr] == [
        [ALPHA[2], BETA[2]],
        [BETA[2]],
        [ALPHA_2[2]],
    ]
    assert [chain["junction"] for chains in airr for chain in chains] == [None, None, None, "TGT"]
    np.testing.assert_array_equal(data.obsm["X_sceptr"], VECTORS[[0, 2, 1]])


def test_columns_that_receptors_carry_come_with_them(tmp_path):
    """Whatever columns the receptors of a run have, such as flags of innate-like cells."""
    receptors, embeddings = run_tables()
    flags = pa.array([None, "MAIT", None, "iNKT"], pa.string())
    receptors = receptors.set_column(receptors.column_names.index("innate_like"), "innate_like", flags)
    receptors = receptors.append_column("is_flagged", pa.array([None, True, None, False]))
    rows = [{"cell_id": str(n), "receptor_id": receptor} for n, receptor in enumerate(RECEPTORS)]
    data = exported(tmp_path, cells_table(rows), receptors, embeddings)
    assert obs_values(data, "innate_like") == ["MAIT", None, "iNKT"]
    assert obs_values(data, "is_flagged") == [True, None, False]
