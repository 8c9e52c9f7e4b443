"""The loss and the callbacks that docs/guides/training.md shows, beside a preset and as an option."""

import hashlib
import json
import re

import pandas as pd
import pytest
from pipeline_runs import ROOT, run_pipeline

ARGS = (
    *("--labelled", str(ROOT / "assets/demo/dash_human.csv"), "--model", "sceptr_tiny", "--finetune"),
    *("--finetune_preset", "mine.json", "--finetune_split", "random", "--finetune_min_receptors", "50"),
    *("--encoders", "random", "--benchmark_k", "1", "--benchmark_splits", "2"),
    *("--skip_map", "--handover", "false", "-resume"),
)
PRESET = {
    "objective": {"contrastive": "triplets.py", "masked_language": False},
    "callbacks": "watch.py",
    "schedule": {"steps": 3, "batch_size": 32, "warmup_steps": 2, "validate_every": 2},
}


def digest(path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files of the page, and a preset that names them."""
    folder = tmp_path_factory.mktemp("loss")
    page = (ROOT / "docs/guides/training.md").read_text()
    for name in ("triplets.py", "watch.py"):
        code = re.search(rf"{name}.*?```python\n(.*?)```", page, re.DOTALL)[1]
        (folder / name).write_text(code)
    (folder / "mine.json").write_text(json.dumps(PRESET))
    return folder


@pytest.fixture(scope="module")
def first(folder):
    run = run_pipeline(folder, *ARGS)
    assert run.status == 0, run.output
    return run


def test_the_model_names_its_files(first, folder):
    settings = json.loads((first.results / "models/mine/config.json").read_text())["preset"]
    assert settings["objective"]["contrastive"] == "triplets.py"
    assert settings["objective"]["contrastive_sha256"] == digest(folder / "triplets.py")
    assert (settings["callbacks"], settings["callbacks_sha256"]) == ("watch.py", digest(folder / "watch.py"))
    assert "Hard triplets: triplets.py" in (first.results / "models/mine/README.md").read_text()


def test_another_loss_trains_again_and_is_an_input_of_the_run(first, folder):
    changed = folder / "wide.py"
    changed.write_text((folder / "triplets.py").read_text().replace("margin=0.2", "margin=0.5"))
    run = run_pipeline(folder, *ARGS, "--finetune_loss", "wide.py")
    assert run.status == 0, run.output
    ran = {task["name"].split(":")[-1] for task in run.tasks if task["status"] == "COMPLETED"}
    assert "FINETUNE (mine)" in ran
    assert not {"NORMALISE_RECEPTORS", "COLLECT_RECEPTORS"} & {name.split(" ")[0] for name in ran}
    settings = json.loads((run.results / "models/mine/config.json").read_text())["preset"]
    assert settings["objective"]["contrastive_sha256"] == digest(changed)
    manifest = pd.read_csv(run.results / "pipeline_info/manifest.tsv", sep="\t", comment="#")
    inputs = manifest[manifest["kind"] == "input"].set_index("path")["sha256"]
    assert inputs["wide.py"] == digest(changed)
