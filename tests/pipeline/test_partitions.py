"""A run by partitions ends in the same tables, and the dry run says which tasks it takes."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from conftest import run_pipeline

ARGS = ("-profile", "test", "--partitions", "3", "--shard_tokens", "7000", "--encoders", "cdr3_levenshtein")


@pytest.fixture(scope="module")
def divided(tmp_path_factory):
    run = run_pipeline(tmp_path_factory.mktemp("divided"), *ARGS)
    assert run.status == 0, run.output
    return run


def test_tables_of_partitions_are_those_of_one(divided, real_run):
    names = sorted(path.name for path in (divided.results / "receptors").iterdir())
    assert names == [f"receptors_{number:04d}.parquet" for number in range(3)]
    receptors = pd.read_parquet(divided.results / "receptors")
    pd.testing.assert_frame_equal(
        receptors, pd.read_parquet(real_run.results / "receptors/receptors.parquet")
    )
    vectors = pd.read_parquet(divided.results / "embeddings/sceptr").set_index("receptor_id")
    whole = pd.read_parquet(real_run.results / "embeddings/sceptr.parquet").set_index("receptor_id")
    assert list(vectors.index) == list(whole.index)
    np.testing.assert_allclose(vectors, whole, atol=1e-6)
    assert divided.warnings == []


def test_what_comes_after_is_the_same(divided, real_run):
    sentences = [
        line for line in real_run.output.splitlines() if "distinct receptors" in line or "occur" in line
    ]
    assert len(sentences) >= 2
    assert all(sentence in divided.output for sentence in sentences)
    for name in ("cells/a.parquet", "rejects/b.parquet", "benchmark/auroc.parquet"):
        expected = pd.read_parquet(real_run.results / name)
        if "encoder" in expected:
            expected = expected[expected["encoder"] == "cdr3_levenshtein"].reset_index(drop=True)
        pd.testing.assert_frame_equal(pd.read_parquet(divided.results / name), expected)
    for sample in ("a", "labelled"):
        texts = [(run.results / f"airr/{sample}.tsv").read_text() for run in (divided, real_run)]
        assert texts[0] == texts[1]


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
