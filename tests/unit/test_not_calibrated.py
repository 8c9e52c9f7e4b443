"""Receptors of a class that cannot be calibrated: no calls, but scores, nearest references and the reason."""

import json
from pathlib import Path

from airrvec.core import tables
from airrvec.synthetic.synthesis import synthesise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from inputs import labelled_cells

import annotate_receptors
import calibrate_annotation


def test_a_class_that_cannot_be_calibrated_has_its_reason(tmp_path, capsys):
    receptors = tables.distinct_receptors(synthesise(30, seed=1))
    tables.write(receptors, tmp_path / "receptors.in.parquet")
    tables.write(labelled_cells(receptors, ["a"] * 30, [None] * 30), tmp_path / "cells.parquet")
    given = [f"--cells={tmp_path}/cells.parquet", f"--receptors={tmp_path}/receptors.in.parquet"]
    calibrate_annotation.main(
        [*given, "--background-receptors", "1000", "--annotation-references", "31", "--outdir", str(tmp_path)]
    )
    qc = json.loads((tmp_path / "calibration.qc.json").read_text())
    assert qc["groups"][0]["not_calibrated"] == "no epitope has 31 references"
    annotate(tmp_path)
    calls = tables.read(tmp_path / "x.parquet").to_pandas()
    assert set(calls["not_calibrated"]) == {"no epitope has 31 references"}
    check_not_calibrated(calls)
    assert (calls["exact_epitope"] == "a").all()
    known = tables.read(tmp_path / "receptors.parquet").to_pandas()
    assert set(calls["nearest_1_id"]) == set(known["receptor_id"])
    reason = "not calibrated (no epitope has 31 references); scores, best epitopes and nearest references"
    assert (
        f"WARNING: 30 receptors of homosapiens, α and β chains: no calls, because this class is {reason}"
        in (capsys.readouterr().err)
    )


def annotate(folder: Path) -> None:
    """Annotate the receptors of the reference themselves."""
    tables_of_sample = [f"--cells={folder}/cells.parquet", f"--receptors={folder}/receptors.in.parquet"]
    reference = ["--reference", str(folder / "reference")]
    annotate_receptors.main([*tables_of_sample, "--sample", "x", *reference, "--outdir", str(folder)])


def check_not_calibrated(calls: pd.DataFrame) -> None:
    assert (calls["call"] == "not calibrated").all()
    assert (calls["nearest_1_distance"] < 0.001).all()
    assert (calls["best_epitope"] == "a").all()
    assert np.isfinite(calls["score"]).all()
    assert calls[["epitope", "probability", "fdr"]].isna().all().all()


@pytest.mark.parametrize("case", ["one study each", "small background", "no background"])
def test_scores_and_nearest_references_do_not_need_a_calibration(tmp_path, case, capsys):
    """Also of a class without enough labelled receptors in several studies, or without a background."""
    receptors = tables.distinct_receptors(synthesise(12, seed=1))
    if case == "no background":  # of this species; there is one of the other
        mouse = tables.distinct_receptors(synthesise(12, seed=1, species="musmusculus"))
        receptors = pa.concat_tables([receptors, mouse])
    tables.write(receptors, tmp_path / "receptors.in.parquet")
    cells = labelled_cells(receptors, ["a"] * len(receptors), ["PMID:1"] * len(receptors))
    tables.write(cells, tmp_path / "cells.parquet")
    n = 100 if case == "small background" else 1000
    tables.write(synthesise(n, seed=2), tmp_path / "background.parquet")
    given = [f"--cells={tmp_path}/cells.parquet", f"--receptors={tmp_path}/receptors.in.parquet"]
    species = ["--species", "homosapiens", *(["musmusculus"] if case == "no background" else [])]
    background = ["--background", str(tmp_path / "background.parquet")]
    calibrate_annotation.main([*given, *species, *background, "--outdir", str(tmp_path)])
    annotate(tmp_path)
    calls = tables.read(tmp_path / "x.parquet").to_pandas()
    check_not_calibrated(calls)
    groups = json.loads((tmp_path / "calibration.qc.json").read_text())["groups"]
    reasons = {group["species"]: group["not_calibrated"] for group in groups if group["chains"] == "paired"}
    for species, select_species in calls.groupby("species"):
        assert set(select_species["not_calibrated"]) == {reasons[species]}
    qc = json.loads((tmp_path / "x.annotation.qc.json").read_text())
    assert qc["calls"] == {"not calibrated": len(receptors)}
    assert qc["groups"] == []
