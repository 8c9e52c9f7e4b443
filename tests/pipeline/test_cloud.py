"""The profiles of clouds, as far as a machine without one can tell; a run out of a bucket and into it."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from airrvec.model import weights

import pandas as pd
import pytest
from pipeline_runs import NEXTFLOW, ROOT, environment, run_pipeline

SHEET = ROOT / "assets/test/samplesheet.csv"
REGISTRY = "registry.example/lab"
# As `-profile` with the executor replaced, so that no plugin is needed.
HERE = ("-process.executor=local",)
OFFLINE = {"NXF_OFFLINE": "true"}
BUCKET = os.environ.get("AIRRVEC_TEST_BUCKET", "")


def nextflow(folder: Path, *args: str) -> str:
    done = subprocess.run(
        [str(NEXTFLOW), *map(str, args)], cwd=folder, env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def refusal(run) -> str:
    """What a refused run says, less Nextflow's hint at its log."""
    assert run.status == 1, run.output
    assert "Submitted process" not in run.output
    said = run.output.partition("revision: ")[2].splitlines()[1:]
    sentences = [line for line in said if line and not line.startswith((" -- Check", "WARN"))]
    assert len(sentences) == 1, run.output
    return sentences[0]


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ("awsbatch", ["process.executor = 'awsbatch'", "aws.batch.maxSpotAttempts = 5"]),
        (
            "googlebatch",
            [
                "process.executor = 'google-batch'",
                "google.batch.spot = true",
                "google.batch.maxSpotAttempts = 5",
                "google.batch.bootDiskSize = '50 GB'",
            ],
        ),
        (
            "azurebatch",
            [
                "process.executor = 'azurebatch'",
                "azure.batch.allowPoolCreation = true",
                "azure.batch.pools.airrvec = [vmType:'Standard_E4s_v3', autoScale:true, ",
                "azure.batch.pools.airrvec_gpu = [vmType:'Standard_NC4as_T4_v3', autoScale:true, ",
            ],
        ),
        ("k8s", ["process.executor = 'k8s'"]),
    ],
)
def test_profile_resolves(tmp_path, profile, expected):
    shown = nextflow(tmp_path, "config", "-flat", "-profile", profile, ROOT).splitlines()
    for setting in [
        *expected,
        "process.resourceLabels = [pipeline:'airrvec']",
        "process.container = 'ghcr.io/airrvec/airrvec:",
    ]:
        assert any(line.startswith(setting) for line in shown), setting


# Two tasks that say what they would ask of a cloud.
ASKING = """
process PLAIN {
    output: stdout
    script: "echo 'PLAIN ${task.queue} ${task.machineType} ${task.accelerator} ${task.containerOptions}'"
}
process TRAINS {
    label 'process_gpu'
    output: stdout
    script:
    def gpus = "${task.accelerator?.request} ${task.accelerator?.type}"
    "echo 'TRAINS ${task.queue} ${task.machineType} ${gpus} ${task.containerOptions}'"
}
workflow {
    PLAIN().mix(TRAINS()).view()
}
"""


@pytest.mark.parametrize(
    ("profiles", "plain", "trains"),
    [
        ("gpu,awsbatch", "null null null --user root", "null null 2 null --user root"),
        (
            "gpu,googlebatch",
            "null null null --user root",
            "null n1-standard-8 2 nvidia-tesla-t4 --user root",
        ),
        (
            "gpu,azurebatch",
            "airrvec null null --user root",
            "airrvec_gpu null 2 null --user root --gpus all",
        ),
        ("azurebatch", "airrvec null null --user root", "airrvec null null null --user root"),
        ("gpu,k8s", "null null null --user root", "null null 2 null --user root"),
    ],
)
def test_what_tasks_ask_of_a_cloud(tmp_path, profiles, plain, trains):
    """By the directives that a task sees: only training asks for GPUs, and only with profile gpu."""
    (tmp_path / "main.nf").write_text(ASKING)
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    known = re.search(r"^profiles \{.*?^\}", (ROOT / "nextflow.config").read_text(), re.S | re.M).group()
    given = "params { registry = 'x/y'; train_devices = 2; checkpoint_dir = null }\n"
    (tmp_path / "nextflow.config").write_text(given + known)
    said = nextflow(tmp_path, "run", tmp_path, "-profile", profiles, *HERE).splitlines()
    assert f"PLAIN {plain}" in said
    assert f"TRAINS {trains}" in said


@pytest.mark.parametrize(
    ("profile", "registry", "sentence"),
    [
        (
            "googlebatch",
            "localhost:5000/lab",
            "Google Batch could not fetch images from 'localhost:5000/lab'",
        ),
        ("azurebatch", "/shared/images", "Azure Batch could not fetch images from '/shared/images'"),
    ],
)
def test_an_image_of_this_machine_is_refused(tmp_path, profile, registry, sentence):
    run = run_pipeline(tmp_path, "-profile", profile, *HERE, "--input", str(SHEET), "--registry", registry)
    assert f"--registry: {sentence}" in refusal(run)


def test_without_the_plugin_a_url_is_refused(tmp_path):
    url = "gs://bucket/samplesheet.csv"
    run = run_pipeline(tmp_path, "--input", url, NXF_PLUGINS_DIR=str(tmp_path / "none"), **OFFLINE)
    assert refusal(run) == f"ERROR ~ Missing plugin 'nf-google' required to read file: {url}"


def test_what_is_there_and_cannot_be_read_is_refused(tmp_path):
    """As a bucket's file without credentials; here, a folder."""
    run = run_pipeline(tmp_path, "--input", str(SHEET.parent))
    assert refusal(run).startswith(f"--input: '{SHEET.parent}' could not be read; may you read it")


def test_training_needs_no_folder_of_the_launcher_in_a_cloud(tmp_path):
    """Whole pipeline with a cloud's settings, and a path for checkpoints that the tasks alone have to see."""
    folder = tmp_path / "checkpoints"
    run = run_pipeline(
        tmp_path,
        "-profile",
        "test,awsbatch",
        *HERE,
        "-stub",
        "--registry",
        REGISTRY,
        "--checkpoint_dir",
        str(folder),
    )
    assert run.status == 0, run.output
    assert run.warnings == []
    assert not folder.exists()


@pytest.mark.skipif(not BUCKET, reason="AIRRVEC_TEST_BUCKET names no bucket, such as s3://mine/tests")
def test_run_out_of_a_bucket_and_into_it(tmp_path):
    """Samplesheet, table and model come from it. AIRRVEC_TEST_CONFIG: a file with its settings."""
    common = ("-c", os.environ["AIRRVEC_TEST_CONFIG"]) if "AIRRVEC_TEST_CONFIG" in os.environ else ()
    start = weights.load("sceptr")
    weights.save(start.encoder, "own", tmp_path / "own")
    (tmp_path / "samples.csv").write_text("sample,path\na,pbmc_b.csv\n")
    shutil.copy(ROOT / "assets/test/pbmc_b.csv", tmp_path)
    for name in ("samples.csv", "pbmc_b.csv", "own/config.json", "own/model.safetensors"):
        nextflow(tmp_path, *common, "fs", "cp", tmp_path / name, f"{BUCKET}/in/{name}")
    nextflow(
        tmp_path, *common, "run", ROOT, "--input", f"{BUCKET}/in/samples.csv",
        "--model", f"{BUCKET}/in/own", "--outdir", f"{BUCKET}/out",
    )  # fmt: skip
    for name in ("embeddings/own.parquet", "summary.txt"):
        nextflow(tmp_path, *common, "fs", "cp", f"{BUCKET}/out/{name}", tmp_path / Path(name).name)
    here = run_pipeline(tmp_path, "--input", str(tmp_path / "samples.csv"), "--model", str(tmp_path / "own"))
    pd.testing.assert_frame_equal(
        pd.read_parquet(tmp_path / "own.parquet"), pd.read_parquet(here.results / "embeddings/own.parquet")
    )
    assert (tmp_path / "summary.txt").read_text() == (here.results / "summary.txt").read_text()
