"""What a model was trained on, in the calibration of annotation."""

import importlib
import json
from pathlib import Path
from types import SimpleNamespace

from airrvec.core import tables
from airrvec.evaluation.training_labels import TRAINED_ON_MARK
from airrvec.report.sections import annotation
from airrvec.synthetic import synthesis

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from inputs import ROOT, normalised
from trained_models import labels_of, model


@pytest.fixture(scope="module")
def demo():
    return normalised(ROOT / "assets/demo/dash_human.csv", sample_id="labelled")


def test_the_calibration_leaves_out_queries_of_training(script, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "bin")
    calibrate = importlib.import_module("calibrate_annotation")
    queries = pd.DataFrame({"row": np.repeat(np.arange(30), 2), "reachable": True})
    for n_seen, left_out, n_left in ((0, False, 60), (15, True, 30), (29, False, 60)):
        seen = np.arange(30) < n_seen
        untrained, counts = calibrate._untrained_queries(queries, seen)
        assert counts == {"queries": 2 * n_seen, "left_out": left_out}
        assert untrained.sum() == n_left
        if left_out:
            assert not seen[queries["row"][untrained]].any()


def reference_of(**counts) -> SimpleNamespace:
    of_chains = {"not_calibrated": None, "excluded_labels": 0, "references": 9, "candidates": 1,
                 "epitopes": 2, "studies": 3}  # fmt: skip
    group = {"species": "homosapiens", "chains": "paired", **of_chains}
    reference = {"background": "OLGA", "not_recorded": counts.pop("not_recorded", [])}
    return SimpleNamespace(
        samples=[],
        reference={**reference, "groups": [{**group, **counts}]},
        titles={("homosapiens", "paired"): "Paired chains"},
    )


@pytest.mark.parametrize(
    ("counts", "words", "marked"),
    [
        ({}, None, False),
        ({"trained_on": {"queries": 0, "left_out": False}}, None, False),
        ({"trained_on": {"queries": 1200, "left_out": True}}, "1,200 of the receptors held out", False),
        ({"trained_on": {"queries": 9, "left_out": False}}, "error rates are underestimated", True),
        ({"not_recorded": ["sceptr_finetuned"]}, "sceptr_finetuned has been trained on labelled", True),
    ],
)
def test_the_report_tells_what_the_calibration_rests_on(counts, words, marked):
    found = reference_of(**counts)
    section = annotation._counts(found)
    text = "\n".join([section["description"], *annotation.annotation_lines(found)])
    assert text.count(words) == 2 if words else "trained" not in text
    assert section["headers"]["expected_false"]["title"].endswith(TRAINED_ON_MARK) == marked


def test_a_calibration_with_a_tuned_model(script, tmp_path, demo):
    """Of the labelled receptors those of training are no queries, and remain references."""
    at = demo.cells.schema.get_field_index("reference_id")
    studies = pa.array([f"study {row % 4}" for row in range(len(demo.cells))])
    tables.write(demo.cells.set_column(at, "reference_id", studies), tmp_path / "cells.parquet")
    tables.write(demo.receptors, tmp_path / "receptors.parquet")
    tables.write(synthesis.synthesise(900, seed=3), tmp_path / "background.parquet")
    tuned = model(tmp_path / "tuned", labels_of(demo.receptors.slice(0, 100)))
    found = {}
    for name in ("sceptr_tiny", tuned):
        script(
            "calibrate_annotation", "--cells", "cells.parquet", "--receptors", "receptors.parquet",
            "--background", "background.parquet", "--model", name, "--outdir", Path(name).name,
            "--versions", "v.yml",
        )  # fmt: skip
        found[Path(name).name] = json.loads(Path(Path(name).name, "calibration.qc.json").read_text())
    before, after = (found[name]["groups"][0] for name in ("sceptr_tiny", "tuned"))
    assert before["references"] == after["references"]
    assert before["trained_on"] == {"queries": 0, "left_out": False}
    assert after["trained_on"]["left_out"]
    assert 0 < after["trained_on"]["queries"] <= 100
    assert before["tested"] > after["tested"] > 0
    assert found["tuned"]["not_recorded"] == []
