"""AnnData of several samples by one task, beside those of a task each."""

import json
from pathlib import Path

from airrvec.core import tables

import anndata
import numpy as np
import pandas as pd
import pytest
from cells_for_export import ALPHA_ALONE, BETA_ALONE, PAIR, cells_table, run_tables, write_inputs
from inputs import chains_table

import describe_cells
import export_anndata

UNKNOWN = "0" * 24  # a receptor that the run lacks
SAMPLES = {"s": [PAIR, BETA_ALONE], "t": [ALPHA_ALONE, PAIR, PAIR], "u": [UNKNOWN]}


def write_sample(folder: Path, name: str) -> list[str]:
    """Write the tables of a sample; return its options."""
    ids = SAMPLES[name]
    cells = cells_table([{"cell_id": f"{name}{i}", "receptor_id": ids[i]} for i in range(len(ids))])
    known = cells_table([]) if UNKNOWN in ids else cells
    paths = {kind: str(folder / f"{name}.{kind}.parquet") for kind in ("cells", "chains", "description")}
    tables.write(cells, paths["cells"])
    tables.write(chains_table(known, run_tables()[0]), paths["chains"])
    describe_cells.main([paths["cells"], "--out", paths["description"]])
    return [word for kind, path in paths.items() for word in (f"--{kind}", path)]


@pytest.mark.parametrize("names", ["st", "stu"])
def test_a_batch_writes_what_each_sample_writes_alone(tmp_path, names):
    of_run = write_inputs(tmp_path, cells_table([]))[2:]
    runs = {kind: [] for kind in ("alone", "batch")}
    for name in names:
        words = write_sample(tmp_path, name)
        for kind, each in runs.items():
            out = tmp_path / kind / name
            each.append([*words, "--out", f"{out}.h5ad", "--missing", f"{out}.missing.json"])
    for words in runs["alone"]:
        export_anndata.main([*words, *of_run])
    (tmp_path / "each.json").write_text(json.dumps(runs["batch"]))
    export_anndata.main([*of_run, "--each", str(tmp_path / "each.json")])
    written = {kind: sorted(path.name for path in (tmp_path / kind).iterdir()) for kind in runs}
    assert written["batch"] == written["alone"]
    assert written["batch"] == ["s.h5ad", "t.h5ad", *["u.missing.json"] * ("u" in names)]
    for name in "st":
        alone, together = (anndata.read_h5ad(tmp_path / kind / f"{name}.h5ad") for kind in runs)
        pd.testing.assert_frame_equal(alone.obs, together.obs)
        np.testing.assert_array_equal(alone.obsm["X_sceptr"], together.obsm["X_sceptr"])
        assert alone.obsm["airr"].to_list() == together.obsm["airr"].to_list()
    if "u" in names:
        missing = [(tmp_path / kind / "u.missing.json").read_text() for kind in runs]
        assert missing[0] == missing[1]
        assert "1 of 1 cells have a receptor that is missing here" in missing[0]
