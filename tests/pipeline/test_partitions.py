"""A run by partitions, with two cores a task, ends in the same tables, and the dry run names its tasks."""

from collections import Counter

from airrvec.app.manifest import CHECKSUM, MANIFEST

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pipeline_runs import differences, digests, run_pipeline

ARGS = ("-profile", "test", "--partitions", "3", "--shard_tokens", "7000")


@pytest.fixture(scope="module")
def divided(tmp_path_factory):
    folder = tmp_path_factory.mktemp("divided")
    (folder / "cores.config").write_text("process { withName: '.*' { cpus = 2 } }\n")
    run = run_pipeline(folder, *ARGS, "-c", "cores.config")
    assert run.status == 0, run.output
    return run


def test_partitions_and_cores_change_no_byte(divided, real_run):
    """Tables that are divided have the rows and vectors of the whole ones, all other files the same bytes."""
    parts = {
        "receptors/receptors.parquet": "receptors/receptors_{:04d}.parquet",
        "embeddings/sceptr.parquet": "embeddings/sceptr/sceptr_{:04d}.parquet",
    }
    left_out = {str(MANIFEST), str(CHECKSUM), *parts}
    left_out |= {name.format(n) for name in parts.values() for n in range(3)}
    found, expected = (digests(run.results) for run in (divided, real_run))
    assert left_out <= found.keys() | expected.keys()
    found, expected = (
        {name: digest for name, digest in each.items() if name not in left_out} for each in (found, expected)
    )
    assert differences(found, expected) == []
    for whole, part in parts.items():
        tables = [pq.read_table(divided.results / part.format(number)) for number in range(3)]
        assert pa.concat_tables(tables).equals(pq.read_table(real_run.results / whole))
    assert divided.warnings == []


def test_the_plan_names_the_tasks_of_the_run(divided, tmp_path):
    (tmp_path / "more.config").write_text(
        "process { withName: 'EMBED_.*' { cpus = 8; memory = { 3.GB * task.attempt } } }\n"
    )
    run = run_pipeline(tmp_path, *ARGS, "--dry_run", "-c", "more.config")
    assert run.status == 0, run.output
    assert run.processes == {"CHECK_SAMPLES", "PLAN"}
    plan = pd.read_csv(run.results / "pipeline_info/plan.tsv", sep="\t").set_index("process")
    ran = Counter(task["process"].split(":")[-1] for task in divided.tasks)
    # A receptor of two samples is counted twice, which may make shards of its own.
    n_shards = plan["tasks"].pop("EMBED_RECEPTORS"), ran.pop("EMBED_RECEPTORS")
    assert n_shards[1] <= n_shards[0] <= n_shards[1] + 3
    assert plan["tasks"].to_dict() == ran
    assert plan.loc["NORMALISE_RECEPTORS", ["work", "unit", "memory_gb"]].to_list() == [815, "rows", 4]
    # More cores than the profile's limit, and a memory that a selector gives.
    assert plan.loc["EMBED_RECEPTORS", ["cpus", "memory_gb"]].to_list() == [2, 3]
    assert "3 tables, 815 rows" in run.output
    for name, row in plan.iterrows():
        assert f"{name:<22}{row['tasks']:>7}" in run.output


@pytest.mark.parametrize(("background", "cpus"), [("9999", 1), ("10000", 2)])
def test_resources_that_depend_on_parameters_are_planned(tmp_path, background, cpus):
    run = run_pipeline(tmp_path, "-profile", "demo", "--dry_run", "--background_receptors", background)
    assert run.status == 0, run.output
    plan = pd.read_csv(run.results / "pipeline_info/plan.tsv", sep="\t").set_index("process")
    assert plan.loc["CALIBRATE_ANNOTATION", "cpus"] == cpus
