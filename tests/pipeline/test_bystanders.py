"""No branch of the pipeline changes a foreign file or link: if it ends well, fails, is stubbed or killed."""

import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from pipeline_runs import NEXTFLOW, ROOT, environment, run_pipeline

import bystanders

DEMO = ROOT / "assets/demo"
FILES = [name for name in bystanders.FILES if name != "summary.txt"]  # this name is a run's
BESIDE = [
    *FILES,
    "airr/mine.tsv",
    "annotation/reference/mine.csv",
    "clusters/mine.parquet",
    "multiqc/mine.html",
]
LINKS = ("samples/link to a folder", "r/link to a folder", "airr/link to a folder", "previous/link")
# What writes outside of its folder: calibrations that are kept, checkpoints, and what is published.
REAL = (
    "--labelled", "in/dash.csv", "--encoders", "cdr3_levenshtein", "--skip_map", "--export_airr",
    "--benchmark_k", "5", "--benchmark_splits", "2", "--benchmark_min_positives", "50",
    "--annotate", "--background_receptors", "3000",
    "--finetune", "--finetune_split", "random", "--finetune_min_receptors", "50", "--train_steps", "2",
)  # fmt: skip
STUBS = (
    *REAL, "--labelled", "../in/dash.csv", "--skip_map", "false", "--export_anndata", "--export_sce",
    "--cluster", "--compare", "--compare_by", "tissue", "--analyses", "entropy", "--partitions", "2",
    "--pretrain", "synthetic", "--synthetic_receptors", "100",
)  # fmt: skip


@dataclass(frozen=True)
class Place:
    """A folder with inputs, and with foreign files wherever a run writes."""

    folder: Path
    before: bystanders.State

    def run(self, *args: str):
        kept = self.folder / "kept"
        return run_pipeline(self.folder, "--input", "in/sheet.csv", "--calibrations", str(kept), *args)

    def changes(self) -> list[str]:
        return bystanders.changes(self.before)


def prepared(folder: Path) -> Place:
    (folder / "in").mkdir(parents=True)
    shutil.copy(DEMO / "donors/flu_4.csv", folder / "in")
    shutil.copy(ROOT / "assets/test/pbmc_b.csv", folder / "in")
    shutil.copy(DEMO / "dash_human.csv", folder / "in/dash.csv")
    (folder / "in/sheet.csv").write_text("sample,path,tissue\nflu,flu_4.csv,a\nb,pbmc_b.csv,b\n")
    before = {}
    for name, files in {".": FILES, "in": FILES[:9], "kept": FILES[:10], "results": BESIDE}.items():
        before |= bystanders.plant(folder / name if name != "." else folder / "project", files)
    for link in LINKS:
        path = bystanders.link_file(folder / "results" / link, folder / "results.elsewhere/shared")
        before |= bystanders.seen(path)
        before.pop(path.parent, None)
    (folder / "results/samples/empty").mkdir()
    before |= bystanders.seen(folder / "results/samples/empty")
    return Place(folder, before | bystanders.seen(*(folder / "in").rglob("*")))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """After a run whose tasks are real."""
    place = prepared(tmp_path_factory.mktemp("real"))
    run = place.run(*REAL)
    assert run.status == 0, run.output
    return place


def test_a_run_of_real_tasks(finished):
    assert finished.changes() == []
    made = {path.name for path in (finished.folder / "results").iterdir() if path.is_dir()}
    assert {"airr", "annotation", "benchmark", "models"} < made


def test_a_run_that_fails_and_one_of_fewer_branches_in_its_folder(finished):
    """What the second run does not make is moved, and nothing else."""
    results = finished.folder / "results"
    (finished.folder / "fails.config").write_text(
        "process { withName: 'REPORT|COMPARE_SAMPLES|COMPARE_CONDITIONS' { beforeScript = 'exit 1' } }\n"
    )
    run = finished.run("--export_airr", "--compare", "-stub-run", "-c", "fails.config")
    assert run.status == 1, run.output
    assert finished.changes() == []
    assert not [path for path in (results / "previous").iterdir() if path.name.startswith("20")]

    run = finished.run("--skip_map", "-stub-run")
    assert run.status == 0, run.output
    assert finished.changes() == []
    (moved,) = [path for path in (results / "previous").iterdir() if path.name.startswith("20")]
    assert (moved / "airr/b.tsv").exists()
    assert (moved / "models/neighbour/config.json").exists()
    names = {path.name for path in moved.rglob("*")}
    assert not [name for name in names if "mine" in name or "link" in name]
    assert not (results / "benchmark").exists()


def test_the_project_folder_is_the_folder_of_results(tmp_path):
    """`--outdir .`, with stubs of every branch; then without them."""
    place = prepared(tmp_path)
    folder = place.folder / "project"
    every = ("--input", "../in/sheet.csv", "--outdir", ".")
    for more in ((*every, *STUBS), every):
        done = subprocess.run(
            [str(word) for word in (NEXTFLOW, "run", ROOT, *more, "-stub-run")],
            cwd=folder, env=environment(), capture_output=True, text=True, timeout=600,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        assert place.changes() == []
        assert (folder / "map/map.html").exists()
    assert (folder / "summary.txt").exists()
    assert [*(folder / "previous").glob("20*/r/flu.rds")]


def test_a_run_that_is_killed_and_resumed(tmp_path):
    place = prepared(tmp_path)
    wait = f"until [ -e {place.folder}/go ]; do sleep 0.1; done"
    (place.folder / "wait.config").write_text(
        f"process {{ withName: MERGE_EMBEDDINGS {{ beforeScript = '{wait}' }} }}\n"
    )
    results = place.folder / "results"
    args = ("--input", "in/sheet.csv", "--export_airr", "--skip_map", "-stub-run", "-c", "wait.config")
    process = subprocess.Popen(
        [str(word) for word in (NEXTFLOW, "run", ROOT, "--outdir", results, *args)],
        cwd=place.folder, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    expected = [results / name for name in ("airr/b.tsv", "airr/flu.tsv", "samples/largest_clones.tsv")]
    try:
        while not all(path.exists() for path in expected):
            assert process.poll() is None
            time.sleep(0.1)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        (place.folder / "go").touch()  # the task that waits is no child of Nextflow's group
    assert place.changes() == []
    assert not (results / "pipeline_info/manifest.tsv").exists()

    run = place.run("--skip_map", "-stub-run", "-c", "wait.config", "-resume")  # without --export_airr
    assert run.status == 0, run.output
    assert place.changes() == []
    assert (results / "pipeline_info/manifest.tsv").exists()
    assert {path.name for path in results.glob("previous/20*/airr/*")} == {"flu.tsv", "b.tsv"}


def test_the_end_of_a_run_that_cannot_move_or_write_says_so(tmp_path):
    """The manifest is there before anything is moved, and the status tells; the next run moves the rest."""
    place = prepared(tmp_path)
    results = place.folder / "results"
    assert place.run("--skip_map", "--export_airr", "-stub-run").status == 0
    (place.folder / "full.config").write_text(  # after the first check: as if a disk were full
        f"workflow.onComplete = {{ new File('{results}/previous').renameTo(new File('{place.folder}/p'));"
        f" new File('{results}/previous').text = '' }}\n"
    )
    run = place.run("--skip_map", "-stub-run", "-resume", "-c", "full.config")
    assert run.status == 1
    assert "files of earlier runs could not be moved to previous/ (" in run.output
    manifest = (results / "pipeline_info/manifest.tsv").read_text()
    assert "cells/b.parquet" in manifest
    assert "airr/b.tsv" not in manifest
    assert (results / "airr/b.tsv").exists()
    (results / "previous").unlink()
    (place.folder / "p").rename(results / "previous")

    run = place.run("--skip_map", "-stub-run", "-resume")
    assert run.status == 0, run.output
    assert [*results.glob("previous/20*/airr/b.tsv")]
    assert place.changes() == []
