"""
What a user of the installed package writes, with the types that a type checker shows.

    python notebook.py TABLE RECEPTORS VECTORS

It writes the vectors of RECEPTORS, and prints as JSON: cells and rows of TABLE, cells that a column map
selects, the nearest other receptor of each of RECEPTORS, and the modules of torch that are loaded.
"""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, assert_type

import airrvec

import pandas as pd

table, receptors, vectors = sys.argv[1:]

cells = airrvec.read(table, species="homosapiens")
assert_type(cells, pd.DataFrame)
assert_type(airrvec.__version__, str)
embedded = airrvec.embed(pd.read_parquet(receptors), model="sceptr", device="cpu")
assert_type(embedded, pd.DataFrame)
embedded.to_parquet(vectors)
hits = airrvec.nearest(embedded, embedded, k=2, threads=1)
assert_type(hits, pd.DataFrame)
matched = airrvec.match_barcodes(
    cells["cell_id"].dropna().unique(), cells, samples={"x": cells["sample_id"][0]}
)
assert_type(matched, pd.DataFrame)
mapped = airrvec.read(
    table, column_map={"v_call": "v_b_gene", "junction_aa": "cdr3_b_aa", "only": {"epitope": "BMLF"}}
)
assert_type(mapped, pd.DataFrame)
clones = airrvec.clones({"dash": cells}, threads=1)
assert_type(clones.members, pd.DataFrame)
if TYPE_CHECKING:  # with the types of pandas-stubs
    airrvec.nearest(cells, embedded, k="3")  # type: ignore[arg-type]
    assert_type(airrvec.clones({"a": cells}).clones, pd.DataFrame)
    assert_type(airrvec.cluster("x.csv").hla, pd.DataFrame | None)
    assert_type(airrvec.finetune(cells), Path)
    assert_type(airrvec.benchmark(cells, encoders=["sceptr"]).auroc, pd.DataFrame)
    assert_type(airrvec.find(cells, "airrvec_index", k=1, chains="beta"), pd.DataFrame)

print(
    json.dumps(
        {
            "version": airrvec.__version__,
            "cells": len(cells),
            "mapped": len(mapped),
            "members": len(clones.members),
            "rows_in": cells.attrs["counts"]["rows_in"],
            "nearest": hits.loc[hits["rank"] == 2, "reference"].tolist(),
            "torch": [name for name in sys.modules if name.partition(".")[0] in ("torch", "lightning")],
        }
    )
)
