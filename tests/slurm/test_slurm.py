"""The profile `slurm` on a real Slurm: every task is a job, and whatever befalls jobs is mended."""

import os
import shutil
import signal
import subprocess
import time

import numpy as np
import pandas as pd
import pytest
import torch
from cluster import Cluster, wait
from jobs import (
    PRESET,
    QUICK,
    assert_complete,
    assert_nothing_again,
    ended,
    finished_tasks,
    hash_of,
    head,
    is_script,
    kill,
    prepare,
    process_of,
    programs_of,
    run,
    running,
    state_of,
)
from pipeline_runs import ROOT, Run, environment
from safetensors.numpy import load_file

# The samples of the profile `test` in several shards, without what no job of another kind needs.
TEST = (
    *("-profile", "slurm", "--input", ROOT / "assets/test/samplesheet.csv"),
    *("--shard_tokens", "6000", "--skip_map"),
)
SAMPLE = ("--input", "samples.csv", "--skip_map")
PRETRAIN = ("--pretrain", "tiny_own.json", "--synthetic_receptors", "300")
needs_no_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")


@pytest.fixture(scope="module")
def slurm():
    with Cluster() as cluster:
        yield cluster


@pytest.fixture
def folder(tmp_path, slurm):
    """A launch folder; its jobs are gone in the end, and both nodes serve."""
    prepare(tmp_path)
    yield tmp_path
    for job in slurm.jobs(tmp_path):
        if job["JobState"] in ("PENDING", "RUNNING"):
            slurm.command("scancel", job["JobId"])
    for node, state in slurm.states().items():
        if state.startswith(("drain", "down")):
            slurm.resume_node(node)


@pytest.fixture(scope="module")
def undisturbed(slurm, tmp_path_factory) -> Run:
    folder = tmp_path_factory.mktemp("undisturbed")
    prepare(folder)
    return run(slurm, folder, *TEST)


def test_every_task_is_a_job(slurm, undisturbed):
    assert undisturbed.status == 0, undisturbed.output
    assert undisturbed.warnings == []
    jobs = {job["JobId"]: job for job in slurm.jobs(undisturbed.folder)}
    assert {task["native_id"]: task["hash"] for task in undisturbed.tasks} == {
        number: hash_of(job) for number, job in jobs.items()
    }
    assert {job["JobState"] for job in jobs.values()} == {"COMPLETED"}
    # What conf/base.config says of the labels, within the test's limits.
    asked = {process_of(job): job["TRES"] for job in jobs.values()}
    assert asked["COLLECT_RECEPTORS"].startswith("cpu=1,mem=4G,")
    assert asked["EMBED_RECEPTORS"].startswith("cpu=1,mem=6G,")
    # Without -profile gpu nothing asks for one.
    assert all("TresPerNode" not in job for job in jobs.values())


def test_a_task_killed_for_memory_gets_more(slurm, folder):
    # Its imports alone take more than 60 MB.
    more = "process { withName: EMBED_RECEPTORS { memory = { task.attempt == 1 ? 60.MB : 2.GB } } }\n"
    (folder / "quick.config").write_text(QUICK + more)
    done = run(slurm, folder, "-profile", "slurm", *SAMPLE)
    assert done.status == 0, done.output
    tasks = [task for task in done.tasks if "EMBED_RECEPTORS" in task["name"]]
    assert [(task["status"], task["exit"]) for task in tasks] == [("FAILED", "137"), ("COMPLETED", "0")]
    jobs = [job for job in slurm.jobs(folder) if process_of(job) == "EMBED_RECEPTORS"]
    jobs.sort(key=lambda job: int(job["JobId"]))
    assert [job["JobState"] for job in jobs] == ["OUT_OF_MEMORY", "COMPLETED"]
    assert ["mem=60M" in jobs[0]["TRES"], "mem=2G" in jobs[1]["TRES"]] == [True, True]
    assert (done.results / "embeddings/sceptr.parquet").exists()


def test_a_drained_node_ends_its_jobs_and_gets_no_more(slurm, folder, undisturbed):
    slurm.set_node(slurm.cpu, "drain")  # else Slurm may give the first jobs to either node
    with head(slurm, folder, *TEST) as process:
        running(slurm, folder, "NORMALISE_RECEPTORS", "EMBED_RECEPTORS", on=slurm.gpu)
        slurm.resume_node(slurm.cpu)
        slurm.set_node(slurm.gpu, "drain")
        drained = time.strftime("%Y-%m-%dT%H:%M:%S")
        done = ended(process, folder)
    assert_complete(done, undisturbed)
    assert slurm.states()[slurm.gpu] == "drained"
    jobs = slurm.jobs(folder)
    assert {job["NodeList"] for job in jobs if job["StartTime"] > drained} == {slurm.cpu}
    assert {job["JobState"] for job in jobs} == {"COMPLETED"}
    slurm.resume_node(slurm.gpu)
    again = run(slurm, folder, *TEST, "-resume")
    assert_complete(again, undisturbed)
    assert_nothing_again(slurm, done.tasks, again)
    assert len(slurm.jobs(folder)) == len(jobs)


def test_lost_jobs_are_tried_again(slurm, folder, undisturbed):
    """One is cancelled, one is gone without an exit status, and one's node goes down."""
    with head(slurm, folder, *TEST) as process:
        cancelled = running(slurm, folder, "NORMALISE_RECEPTORS")
        # Before its script runs, Nextflow 24.10's wrapper stumbles over the signal, and exits with 1.
        programs_of(cancelled)
        slurm.command("scancel", cancelled["JobId"])
        gone = running(slurm, folder, "EMBED_RECEPTORS")
        kill(programs_of(gone))
        lost = running(slurm, folder, "REPORT")
        programs_of(lost)
        slurm.set_node(lost["NodeList"], "down")
        wait(lambda: state_of(slurm, lost) == "NODE_FAIL", "the job of a node that is down to be given up")
        slurm.resume_node(lost["NodeList"])
        done = ended(process, folder)
    assert_complete(done, undisturbed)
    states = {job["JobId"]: job["JobState"] for job in slurm.jobs(folder)}
    assert [states[job["JobId"]] for job in (cancelled, lost)] == ["CANCELLED", "NODE_FAIL"]
    failed = {task["native_id"]: task["exit"] for task in done.tasks if task["status"] == "FAILED"}
    assert set(failed) == {job["JobId"] for job in (cancelled, gone, lost)}
    assert failed[gone["JobId"]] == "-"  # how the trace writes 2147483647
    again = run(slurm, folder, *TEST, "-resume")
    assert_complete(again, undisturbed)
    assert {task["status"] for task in again.tasks} == {"CACHED"}
    assert len(slurm.jobs(folder)) == len(states)


def test_a_killed_head_job_goes_on_with_resume(slurm, folder, undisturbed):
    with head(slurm, folder, *TEST) as process:
        running(slurm, folder, "EMBED_RECEPTORS")
        process.send_signal(signal.SIGKILL)
        process.wait()
    finished = finished_tasks(folder)
    assert {"COLLECT_RECEPTORS", "NORMALISE_RECEPTORS"} <= {
        task["process"].split(":")[-1] for task in finished
    }
    again = run(slurm, folder, *TEST, "-resume")
    assert_complete(again, undisturbed)
    assert_nothing_again(slurm, finished, again)


def test_training_goes_on_from_its_checkpoint(slurm, folder):
    """Killed twice, a training task ends with the weights, and the first steps, of an undisturbed one."""
    small = "process { withName: PRETRAIN { cpus = 1\n memory = 2.GB } }\n"
    (folder / "quick.config").write_text(QUICK + small)
    args = ("-profile", "slurm,gpu", "--device", "auto", *PRETRAIN, *SAMPLE)
    log = folder / "results/checkpoints/tiny_own/log.tsv"
    with head(slurm, folder, *args, SBATCH_ACCOUNT="immunology") as process:
        first = running(slurm, folder, "PRETRAIN")
        wait(log.exists, "the first checkpoint", every=0.02)
        slurm.command("scancel", first["JobId"])
        kept = pd.read_csv(log, sep="\t")
        second = running(slurm, folder, "PRETRAIN", but=(first["JobId"],))
        wait(lambda: len(pd.read_csv(log, sep="\t")) > len(kept), "a further one", every=0.02)
        # As the kernel does where memory is short.
        kill(number for number, arguments in programs_of(second).items() if is_script(arguments))
        done = ended(process, folder)
    assert done.status == 0, done.output
    tasks = [task for task in done.tasks if "PRETRAIN" in task["name"]]
    assert [task["exit"] for task in tasks] == ["143", "137", "0"]
    assert "WARN: a GPU was asked for, but torch sees no CUDA device" in done.output

    model = done.results / "models/tiny_own"
    history = pd.read_parquet(model / "training.parquet")
    trained = history.query("part == 'train'")
    assert list(trained["step"]) == list(range(1, PRESET["schedule"]["steps"] + 1))
    # No two trainings take the same time for a step: these rows are the first attempt's.
    seconds = pd.read_parquet(model / "training_times.parquet")["seconds"]
    np.testing.assert_allclose(seconds[: len(kept)], kept["seconds"], rtol=1e-12)

    # The same command where nothing has been trained yet, and undisturbed.
    last = next(job for job in slurm.jobs(folder) if hash_of(job) == tasks[-1]["hash"])
    alone = shutil.copytree(last["WorkDir"], folder / "alone", symlinks=True)
    shutil.rmtree(alone / "tiny_own")
    env = environment(AIRRVEC_CHECKPOINTS=str(alone / "checkpoints"))
    env["PATH"] = f"{ROOT / 'bin'}{os.pathsep}{env['PATH']}"
    subprocess.run(["bash", "-eu", ".command.sh"], cwd=alone, env=env, check=True, capture_output=True)
    expected, weights = (load_file(path / "model.safetensors") for path in (alone / "tiny_own", model))
    assert weights.keys() == expected.keys()
    for name in expected:
        np.testing.assert_array_equal(weights[name], expected[name])

    jobs = slurm.jobs(folder)
    with_gpu = {process_of(job) for job in jobs if job.get("TresPerNode") == "gres:gpu:1"}
    assert with_gpu == {"CHECK_DEVICE", "PRETRAIN", "EMBED_RECEPTORS"}
    assert {job["NodeList"] for job in jobs if process_of(job) in with_gpu} == {slurm.gpu}
    assert {job["Account"] for job in jobs} == {"immunology"}
    check = next(job for job in jobs if process_of(job) == "CHECK_DEVICE")
    assert first["SubmitTime"] >= check["EndTime"]


@needs_no_gpu
def test_without_a_gpu_nothing_is_trained(slurm, folder):
    done = run(slurm, folder, "-profile", "slurm,gpu", "--input", "samples.csv", *PRETRAIN)
    assert done.status == 1
    assert (
        "ERROR: a GPU was asked for, but torch sees no CUDA device in this task. See that the task runs with"
        " -profile gpu, on a node with a GPU and NVIDIA's driver, in a partition with GPUs (process.queue),"
        " with --gres in process.clusterOptions; or give --device auto" in done.output
    )
    assert "CHECK_DEVICE" in {process_of(job) for job in slurm.jobs(folder)}
    assert not {"PRETRAIN", "SYNTHESISE_RECEPTORS"} & {process_of(job) for job in slurm.jobs(folder)}


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (
            ["-profile", "slurm", "-process.queue=nope"],
            "ERROR ~ Slurm has no partition 'nope': give one that `sinfo` lists with -process.queue",
        ),
        (
            ["-profile", "slurm,gpu", "-process.queue=cpu"],
            "ERROR ~ no node of the Slurm partition has the cores, memory or GPUs that the task asks for",
        ),
    ],
    ids=["no such partition", "no GPU in the partition"],
)
def test_a_refused_job_ends_the_run_with_one_sentence(slurm, folder, args, sentence):
    done = run(slurm, folder, "--input", "samples.csv", *args)
    assert done.status == 1
    assert done.output.count(sentence) == 1
    assert "Traceback" not in done.output
