"""Input in AnnData and MuData."""

import gzip
import shutil

from airrvec.core.errors import InputError

import numpy as np
import pandas as pd
import pytest
from format_tables import columns_of
from inputs import (
    ALPHA,
    BETA,
    BETA_2,
    DATA,
    NO_CHAIN,
    PAIR,
    SHARED,
    assert_conserved,
    cells_with_chains,
    chains_of,
    needs_shared,
    normalised,
    normalised_text,
    rejected,
)
from outcomes import BMMNC, chains_in


def as_old_scirpy(path, name_twice: bool = False) -> None:
    """Two cells and one without chains, laid out as scirpy did before version 0.13."""
    import anndata

    chains = {
        "VJ_1": [ALPHA, None, None],
        "VJ_2": [None] * 3,
        "VDJ_1": [BETA, BETA_2, None],
        "VDJ_2": [None] * 3,
    }
    obs = {}
    for arm, cells in chains.items():
        locus = "TRA" if arm.startswith("VJ") else "TRB"
        for number, field in enumerate(("v_call", "j_call", "junction_aa")):
            obs[f"IR_{arm}_{field}"] = ["nan" if chain is None else chain[number] for chain in cells]
        obs[f"IR_{arm}_locus"] = ["nan" if chain is None else locus for chain in cells]
        obs[f"IR_{arm}_duplicate_count"] = [np.nan if chain is None else 3.0 for chain in cells]
    names = ["a", "a" if name_twice else "b", "c"]
    anndata.AnnData(obs=pd.DataFrame(obs, index=names)).write_h5ad(path)


def test_cells_of_scirpy():
    result, of_csv = normalised(DATA / "scirpy.h5ad"), normalised(DATA / "10x.csv")
    assert result.counts["format"] == "scirpy"
    by_cell, by_cell_csv = (
        {cell["cell_id"]: {**cell, "input_rows": 1, "epitope": None} for cell in cells_with_chains(one)}
        for one in (result, of_csv)
    )
    assert by_cell == by_cell_csv
    assert set(result.cells["epitope"].to_pylist()) == {"GILGFVFTL"}
    assert (6, None, None, "the row holds no chain") in rejected(result)
    assert_conserved(result, 6)


@needs_shared
@pytest.mark.parametrize("kind", ["h5ad", "h5mu"])
@pytest.mark.parametrize("pack", [False, True])
def test_what_scirpy_reads_and_writes_is_what_we_read(kind, pack, tmp_path):
    mudata, scirpy = pytest.importorskip("mudata"), pytest.importorskip("scirpy")
    cells = scirpy.io.read_10x_vdj(SHARED / f"{BMMNC}.csv", filtered=False)
    path = tmp_path / "x"
    cells.write_h5ad(path) if kind == "h5ad" else mudata.MuData({"gex": cells[:1, :], "airr": cells}).write(
        path
    )
    if pack:
        with path.open("rb") as plain, gzip.open(tmp_path / "packed", "wb") as packed:
            shutil.copyfileobj(plain, packed)
        path = tmp_path / "packed"
    of_cells = ["row", "cell_key", "from_cdr3", "consensus_count", "clone_id"]
    from_scirpy, from_csv = chains_in(path), chains_in(SHARED / f"{BMMNC}.csv")
    assert from_scirpy["row"].to_pylist() == [1, 2, 3, 3, 4]
    assert from_scirpy.drop_columns(of_cells).equals(from_csv.drop_columns(of_cells))
    assert cells_with_chains(normalised(path)) == [
        {**cell, "input_rows": 1} for cell in cells_with_chains(normalised(SHARED / f"{BMMNC}.csv"))
    ]


@needs_shared
def test_airr_table_by_way_of_scirpy(tmp_path):
    scirpy = pytest.importorskip("scirpy")
    table = DATA / "airr_single_cell.tsv"
    cells = scirpy.io.read_airr(table)
    cells.write_h5ad(tmp_path / "x")
    found = {chain[:6] for chain in chains_of(normalised(tmp_path / "x"))}
    assert found == set(chains_of(normalised(table)))


@pytest.mark.parametrize("name_twice", [False, True])
def test_scirpy_before_0_13(name_twice, tmp_path):
    as_old_scirpy(tmp_path / "x", name_twice)
    result = normalised(tmp_path / "x")
    assert chains_of(result) == [PAIR, (*NO_CHAIN, *BETA_2)]
    assert result.cells["cell_id"].to_pylist() == ["a", "a" if name_twice else "b"]
    assert result.cells["duplicate_count"].to_pylist() == [6, 3]
    assert rejected(result) == [(3, None, None, "the row holds no chain")]
    assert_conserved(result, 3)


def test_anndata_without_chains_or_damaged_is_refused(tmp_path):
    import anndata

    anndata.AnnData(obs=pd.DataFrame({"tissue": ["blood"]}, index=["a"])).write_h5ad(tmp_path / "x")
    with pytest.raises(InputError, match=r"^x: its columns \(obs_names, obs/tissue\) match no known format"):
        normalised(tmp_path / "x")
    whole = (DATA / "scirpy.h5ad").read_bytes()
    with pytest.raises(InputError, match=r"^x: the AnnData file is damaged"):
        normalised_text(tmp_path / "x", whole[:5_000])


def test_column_map_of_anndata(tmp_path):
    columns = {"junction_aa": "obsm/airr/junction_aa", "cell_id": "obs_names", "locus": "obsm/airr/locus"}
    assert chains_in(DATA / "scirpy.h5ad", columns=columns)["junction_aa"].null_count == 1


def test_iggytop_as_anndata(tmp_path):
    import anndata

    chains = {"VJ_1": [ALPHA, None], "VDJ_1": [BETA, BETA_2]}
    obs = {
        f"IR_{arm}_{field}": [chain[at] if chain else None for chain in given]
        for arm, given in chains.items()
        for at, field in enumerate(("v_call", "j_call", "junction_aa"))
    }
    obs |= {f"IR_{arm}_locus": ["TRA" if arm == "VJ_1" else "TRB"] * 2 for arm in chains}
    obs |= {
        "epitope_sequence": ["GILGFVFTL", "NLVPMVATV"],
        "antigen_name": ["M1", "pp65"],
        "antigen_species": ["Influenza A virus", "Human herpesvirus 5"],
        "MHC_gene_1": ["HLA-A*02:01"] * 2,
        "PMID": ["12345", "23456|34567"],
        "source_organism": ["Homo sapiens"] * 2,
    }
    anndata.AnnData(obs=pd.DataFrame(obs, index=["a", "b"])).write_h5ad(tmp_path / "x.h5ad")
    result = normalised(tmp_path / "x.h5ad")
    assert chains_of(result) == [PAIR, (*NO_CHAIN, *BETA_2)]
    assert columns_of(result, "epitope", "antigen_gene", "mhc_a", "reference_id", "species") == [
        ("GILGFVFTL", "M1", "HLA-A*02:01", "PMID:12345", "homosapiens"),
        ("NLVPMVATV", "pp65", "HLA-A*02:01", "PMID:23456;PMID:34567", "homosapiens"),
    ]
