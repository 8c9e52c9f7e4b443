"""An encoder from outside of the package: the one that docs/guides/adding_an_encoder.md shows."""

import json
import re

from airrvec import encoders
from airrvec.core import tables
from airrvec.core.seeds import short_hash
from airrvec.synthetic.background import negatives
from airrvec.synthetic.synthesis import synthesise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pipeline_runs import ROOT, run_pipeline
from sklearn.metrics import roc_auc_score

ARGS = (
    *("--labelled", str(ROOT / "assets/demo/dash_human.csv")),
    *("--benchmark_k", "1,5", "--benchmark_splits", "5", "--benchmark_min_positives", "50", "-resume"),
    *("--benchmark_rules", "nearest_neighbour,linear_svc", "--background", "background.parquet"),
    "--skip_map",
)
SHIPPED = "cdr3_levenshtein,random"


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """The first block of Python in the document, in a file of the name that stands before it."""
    page = (ROOT / "docs/guides/adding_an_encoder.md").read_text()
    name, code = re.search(r"`(\w+\.py)`.*?```python\n(.*?)```", page, re.DOTALL).groups()
    path = tmp_path_factory.mktemp("own") / name
    path.write_text(code)
    return path


@pytest.fixture(scope="module")
def runs(toy, tmp_path_factory):
    """A run without it, and then with it."""
    folder = tmp_path_factory.mktemp("run")
    tables.write(synthesise(1100, seed=7), folder / "background.parquet")
    first = run_pipeline(folder, *ARGS, "--encoders", SHIPPED)
    assert first.status == 0, first.output
    second = run_pipeline(folder, *ARGS, "--encoders", f"{SHIPPED},{toy}")
    assert second.status == 0, second.output
    return first, second


def test_it_is_in_tables_and_report(runs):
    _, run = runs
    summary = pd.read_parquet(run.results / "benchmark/auroc_summary.parquet")
    assert list(dict.fromkeys(summary["encoder"])) == ["cdr3_levenshtein", "random", "composition"]
    data = (run.results / "multiqc/multiqc_report_data/multiqc_data.json").read_text()
    assert "CDR3 composition" in data
    assert "CDR3 composition" in (run.results / "summary.txt").read_text()
    assert "CDR3 composition" in (run.results / "benchmark/auroc_against_k.svg").read_text()


def test_its_auroc_is_that_of_its_vectors(runs, toy):
    """For k = 1 every receptor of an epitope is the reference once, in the order of their ids."""
    _, run = runs
    receptors = pd.read_parquet(run.results / "receptors").set_index("receptor_id").sort_index()
    cells = pd.read_parquet(run.results / "cells/labelled.parquet")
    aurocs = pd.read_parquet(run.results / "benchmark/auroc.parquet")
    aurocs = aurocs.query("encoder == 'composition' and k == 1 and rule == 'nearest_neighbour'")
    fields = [f"{locus}_{name}" for locus in ("tra", "trb") for name in ("v_call", "j_call", "junction_aa")]
    labelled = receptors.loc[receptors.index.isin(cells.dropna(subset="epitope")["receptor_id"])].dropna(
        subset=fields
    )
    vectors = pd.DataFrame(
        encoders.load(str(toy)).embed(pa.Table.from_pandas(labelled)), index=labelled.index
    )
    assert len(aurocs)
    for epitope, own in aurocs.groupby("epitope"):
        binders = vectors.index.isin(cells.loc[cells["epitope"] == epitope, "receptor_id"])
        reference = vectors.index[binders][0]
        distances = np.linalg.norm(vectors - vectors.loc[reference], axis=1)
        others = vectors.index != reference
        expected = roc_auc_score(binders[others], -distances[others])
        assert own.set_index("split").loc[0, "auroc"] == pytest.approx(expected, abs=1e-6)


def test_a_classifier_learns_against_the_background_that_was_given(runs):
    _, run = runs
    counts = json.loads((run.results / "benchmark/benchmark.json").read_text())
    chosen = negatives(
        run.folder / "background.parquet",
        species="homosapiens",
        seed=420,
        leave_out=tables.read(run.results / "receptors")["clonotype_id"],
    )
    assert counts["background"] == short_hash(chosen["receptor_id"].to_pylist())
    summary = pd.read_parquet(run.results / "benchmark/auroc_summary.parquet").query("rule == 'linear_svc'")
    means = summary.groupby("encoder")["auroc_mean"].mean()
    assert set(means.index) == {"random", "composition"}
    assert means["composition"] > 0.55 > means["random"]


def test_adding_it_runs_its_own_tasks_alone(runs):
    _, run = runs
    ran = {task["name"].split(":")[-1] for task in run.tasks if task["status"] == "COMPLETED"}
    assert ran == {"BENCHMARK_FEWSHOT (composition)", "SUMMARISE_FEWSHOT", "REPORT", "RENDER_REPORT"}
