"""The card of a trained model, as Hugging Face's own library and a browser read it."""

import json
import os
import re
import runpy
import shutil
from types import SimpleNamespace

import airrvec
from airrvec.core import schema
from airrvec.model import weights
from airrvec.training import model_folder
from airrvec.training.presets import Preset

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import yaml
from inputs import ALPHA, BETA

HOSTILE = 'a|b <script>alert(1)</script> `x` [l](javascript:1) "q" \\ & # ---\n- y: é 細\x85'


def history() -> pa.Table:
    rows = [(1, "train", 2.5), (2, "validation", 2.25), (2, "train", 1.5), (4, "validation", 3.0)]
    parts = [dict(zip(("step", "part", "loss"), row, strict=True)) for row in rows]
    return pa.Table.from_pylist(parts, schema.TRAINING)


def trained(**changes) -> SimpleNamespace:
    return SimpleNamespace(history=history(), step=2, notes=["a note"], **changes)


def specificity(rows) -> pa.Table:
    names = ("encoder", "rule", "test_set", "epitope", "auroc")
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], schema.SPECIFICITY)


MEASURED = specificity(
    [
        ("sceptr", "nearest_neighbour", "all", "mean", 0.71234),
        ("own", "nearest_neighbour", "all", "E1", 0.5),
        ("own", "nearest_neighbour", "all", "mean", 0.81234),
        ("own", "average_distance", "below_90", "mean", None),
        ("own", "logistic_regression", "all", "mean", 0.99),
        ("own+tcrdist", "nearest_neighbour", "all", "mean", 0.98),
    ]
)


def card_of(name="own", title="Own", start="sceptr", data=None, **options) -> str:
    data = {"Data": "7 receptors", "Digest": "0123"} if data is None else data
    preset = Preset(name=name, title=title)
    return model_folder.card(trained(), preset, name=name, start=start, data=data, **options)


def header_of(card: str) -> dict:
    return yaml.safe_load(card.split("\n---\n")[0].removeprefix("---\n"))


def test_metadata_are_those_of_the_model():
    header = header_of(card_of(measured=MEASURED))
    assert (header["license"], header["library_name"]) == ("mit", "airrvec")
    assert header["datasets"] == ["7 receptors, 0123"]
    assert header["metrics"] == ["roc_auc", "loss"]
    (model,) = header["model-index"]
    assert model["name"] == "own"
    found = [(r["dataset"]["split"], m["type"], m["value"]) for r in model["results"] for m in r["metrics"]]
    # Of the step that was kept; rules that are not shown, and other encoders, are left out.
    assert found == [("test: all held-out receptors", "roc_auc", 0.8123), ("validation", "loss", 2.25)]


def test_hugging_face_reads_the_card():
    hub = pytest.importorskip("huggingface_hub")
    data = hub.ModelCard(card_of(name=HOSTILE, title=HOSTILE, measured=MEASURED)).data
    assert (data.license, data.library_name, data.pipeline_tag) == ("mit", "airrvec", "feature-extraction")
    assert data.model_name == HOSTILE
    assert [result.metric_type for result in data.eval_results] == ["loss"]
    assert set(model_folder.TAGS) == set(data.tags)


def test_evaluation_is_a_table_before_and_after():
    card = card_of(measured=MEASURED)
    assert "| train | 2 | 1.5000 |\n| validation | 2 | 2.2500 |\n" in card
    assert "| Rule | Split | AUROC, sceptr | AUROC, own |" in card
    assert "| test: all held-out receptors | 0.712 | 0.812 |" in card
    assert len(re.findall(r"^\| .* \| test: ", card, re.MULTILINE)) == 1
    assert "AUROC" not in card_of()


def test_text_of_a_user_is_no_markup():
    card = card_of(name=HOSTILE, title=HOSTILE, start=HOSTILE, data={"Data": HOSTILE}, measured=MEASURED)
    body = card.split("\n---\n", 1)[1]
    assert "<script" not in body
    assert not re.search(r"(?<!\\)\]\(javascript", body)
    assert header_of(card)["model-index"][0]["name"] == HOSTILE
    rows = [line for line in body.splitlines() if line.startswith("| Start")]
    assert len(rows) == 1
    assert len(re.findall(r"(?<!\\)\|", rows[0])) == 3


def test_the_line_of_the_card_loads_the_folder(tmp_path, monkeypatch):
    folder = tmp_path / "model"
    loaded = weights.load("sceptr_tiny")
    loaded.save(folder)
    config = json.loads((folder / "config.json").read_text())
    assert (config["model_type"], config["architectures"]) == ("sceptr", ["ReceptorEncoder"])
    card = card_of(labelled=True)
    assert "training_labels.parquet" in card
    (code,) = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    names = ("tra_v_call", "tra_j_call", "tra_junction_aa", "trb_v_call", "trb_j_call", "trb_junction_aa")
    receptors = pd.DataFrame([(*ALPHA, *BETA)], columns=names)
    monkeypatch.chdir(folder)
    receptors.to_parquet("receptors.parquet")
    opened = "import pandas\nreceptors = pandas.read_parquet('receptors.parquet')\n"
    (tmp_path / "notebook.py").write_text(opened + code)
    scope = runpy.run_path(str(tmp_path / "notebook.py"))
    expected = airrvec.embed(receptors, model="sceptr_tiny")
    assert scope["vectors"].equals(expected)
    assert np.isfinite(scope["vectors"]["dim_01"]).all()


def test_folders_of_earlier_versions_are_read(tmp_path):
    folder = tmp_path / "old"
    shutil.copytree(weights.PUBLISHED / "sceptr_tiny", folder)
    config = json.loads((folder / "config.json").read_text())
    for name in ("model_type", "architectures"):
        config.pop(name, None)
    (folder / "config.json").write_text(json.dumps(config))
    assert os.listdir(folder) == os.listdir(weights.PUBLISHED / "sceptr_tiny")
    found, expected = weights.load(str(folder)), weights.load("sceptr_tiny")
    assert (found.config, found.checksum) == (expected.config, expected.checksum)
