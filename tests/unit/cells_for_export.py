"""Cells, receptors, chains and vectors of a small run, as the exports read them."""

from pathlib import Path

from airrvec.core import schema, tables

import anndata
import clone_tables
import numpy as np
import pandas as pd
import pyarrow as pa
from inputs import ALPHA, ALPHA_2, BETA, NO_CHAIN, chains_table, receptor_id

import describe_cells
import export_anndata

OWN = {"sample_id": "s", "abundance": 1, "count_unit": "cells"}  # of every cell
METADATA = {"model": "sceptr", "weights_sha256": "0123", "airrvec_version": "0.1.0"}
# Chains of three receptors, of which the last has no vector.
RECEPTORS = {
    receptor_id("homosapiens", *fields): fields
    for fields in ((*ALPHA, *BETA), (*ALPHA_2, *NO_CHAIN), (*NO_CHAIN, None, None, BETA[2]))
}
PAIR, ALPHA_ALONE, BETA_ALONE = RECEPTORS
# Numbers that tell float32 from a neighbour, or from float64.
VECTORS = np.array(
    [[0.1, -1 / 3, 1e-38], [np.float32(1) - np.float32(2**-24), 0, -0.7], [np.nan] * 3], np.float32
)


def cells_table(rows: list[dict], metadata: dict[str, list] | None = None) -> pa.Table:
    table = pa.Table.from_pylist([{**OWN, **row} for row in rows], schema.CELLS)
    for name, values in (metadata or {}).items():
        table = table.append_column(name, pa.array(values, pa.string()))
    return table


def run_tables() -> tuple[pa.Table, pa.Table]:
    """Receptors of a run and their vectors, among them some that the sample lacks."""
    fields = ("species", *schema.RECEPTOR_FIELDS)
    receptors = [
        {"receptor_id": key, **dict(zip(fields, ("homosapiens", *values), strict=True)), "n_samples": 2}
        for key, values in RECEPTORS.items()
    ]
    other = {"receptor_id": "f" * 24, "species": "musmusculus", "n_samples": 1}
    receptors = pa.Table.from_pylist([other, *receptors], schema.COLLECTED_RECEPTORS)
    vectors = np.vstack([np.ones((1, 3), np.float32), VECTORS])
    return receptors, tables.embeddings_table(receptors["receptor_id"], vectors)


def write_inputs(
    folder: Path, cells_of_sample: pa.Table, receptors=None, embeddings=None, chains=None
) -> list[str]:
    """Write the inputs of the exports of sample ``s``; return cells, receptors and embeddings as options."""
    if receptors is None:
        receptors, embeddings = run_tables()
    path = folder / "s.cells.parquet"
    tables.write(cells_of_sample, path)
    known = set(receptors["receptor_id"].to_pylist())
    if chains is None and known.issuperset(cells_of_sample["receptor_id"].to_pylist()):
        chains = chains_table(cells_of_sample, receptors)
    tables.write(schema.CHAINS.empty_table() if chains is None else chains, folder / "s.chains.parquet")
    tables.write(receptors, folder / "receptors.parquet")
    clones = clone_tables.count(folder, [path], folder / "receptors.parquet")
    describe_cells.main([str(path), "--clones", str(clones), "--out", str(folder / "s.description.parquet")])
    tables.write(embeddings, folder / "sceptr.parquet", METADATA)
    options = {"cells": "s.cells", "receptors": "receptors", "embeddings": "sceptr"}
    return [text for key, name in options.items() for text in (f"--{key}", str(folder / f"{name}.parquet"))]


def described(folder: Path) -> list[str]:
    parts = {"chains": "s.chains.parquet", "description": "s.description.parquet"}
    return [text for key, name in parts.items() for text in (f"--{key}", str(folder / name))]


def exported(folder: Path, *inputs) -> anndata.AnnData:
    out = folder / "s.h5ad"
    export_anndata.main([*write_inputs(folder, *inputs), *described(folder), "--out", str(out)])
    return anndata.read_h5ad(out)


def obs_values(data: anndata.AnnData, name: str) -> list:
    return [None if pd.isna(value) else value for value in data.obs[name].astype(object)]
