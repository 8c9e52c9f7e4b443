"""The image of each task."""

import os
import re

import pytest
from pipeline_runs import ROOT, run_pipeline
from test_learning import write_presets

ARGS = (
    "-stub", "--input", "samples.csv", "--labelled", f"{ROOT}/assets/demo/dash_human.csv", "--export_sce",
    "--pretrain", "tiny_own.json", "--synthetic_receptors", "300",
    "--encoders", "sceptr,esm2", "--hub_cache", "hub", "--analyses", "distances",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    """An engine that runs here what should run in an image."""
    write_presets(tmp_path)
    (tmp_path / "samples.csv").write_text(f"sample,path\nb,{ROOT}/assets/test/pbmc_b.csv\n")
    (tmp_path / "hub").mkdir()
    (tmp_path / "hub/weights").write_text("of a language model")
    docker = tmp_path / "programs/docker"
    docker.parent.mkdir()
    docker.write_text(
        '#!/bin/bash\nwhile [[ $# -gt 0 && $1 != */airrvec* ]]; do shift; done\nshift && exec "$@"\n'
    )
    docker.chmod(0o755)
    return tmp_path


def test_who_needs_torch_gets_it(folder):
    run = run_pipeline(
        folder, "-profile", "docker", *ARGS, PATH=f"{folder}/programs{os.pathsep}{os.environ['PATH']}"
    )
    assert run.status == 0, run.output
    assert run.warnings == []
    images = {}
    for path in (folder / "work").glob("*/*/.command.run"):
        text = path.read_text()
        name = re.search(r"### name: '(?:\S*:)?(\w+(?: \(.*\))?)'", text)[1]
        images.setdefault(re.search(r" ghcr\.io/airrvec/(\S+):\d\S+ ", text)[1], set()).add(name)
    exports = {f"EXPORT_SCE ({sample})" for sample in ("b", "labelled", "all_samples")}
    assert images["airrvec-r"] == {"CHECK_R", *exports}
    models = {"BENCHMARK_FEWSHOT (esm2)", "ANALYSE_RECEPTORS (distances esm2)"}
    assert images["airrvec-learn"] == {"CHECK_DEVICE", "PRETRAIN (tiny_own)", *models}
    assert {"BENCHMARK_FEWSHOT (sceptr)", "CHECK_SAMPLES", "REPORT"} < images["airrvec"]
    assert any(name.startswith("EMBED_RECEPTORS") for name in images["airrvec"])
