"""Clusters and comparison of samples in the real pipeline."""

import json
import re
import subprocess
import sys

from airrvec.core import schema, tables
from airrvec.synthetic.synthesis import synthesise

import pandas as pd
import pytest
from columns_written import check_columns
from pipeline_runs import ROOT, run_pipeline

# A small background keeps the run short.
QUICK = ("--encoders", "cdr3_levenshtein", "--benchmark_k", "1", "--export_airr", "false")
QUICK += (
    "--handover",
    "false",
    "--export_anndata",
    "false",
    "--benchmark_splits",
    "2",
    "--cluster_chance",
    "0.02",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repertoire")
    tables.write(synthesise(1200, seed=9), folder / "background.parquet")
    (folder / "ext.config").write_text(
        "process {\n"
        "    withName: COMPARE_SAMPLES { ext.args = '--compare-permutations 99' }\n"
        "    withName: 'EMBED_RECEPTORS|MERGE_EMBEDDINGS' { ext.prefix = 'vectors' }\n"
        "    withName: RENDER_REPORT { ext.args = '--comment \"From ext.args\"' }\n"
        "}\n"
    )
    tables_of_b = [ROOT / "assets/test/pbmc_b.csv", ROOT / "tests/data/10x_gamma_delta.csv"]
    pd.concat(map(pd.read_csv, tables_of_b)).to_csv(folder / "b.csv", index=False)
    rows = (f"a,{ROOT}/assets/test/pbmc_a.csv.gz,10x,before,A*02:01", "b,b.csv,,after,A*01:01")
    (folder / "sheet.csv").write_text("\n".join(("sample,path,format,condition,hla", *rows)))
    options = (
        "--input",
        "sheet.csv",
        "--cluster",
        "--compare",
        "--compare_by",
        "condition",
        "--background",
        "background.parquet",
    )
    options += ("-c", "ext.config")
    return run_pipeline(folder, "-profile", "test", *QUICK, *options, timeout=1800)


def test_its_tables_have_the_columns_of_the_schemas(run):
    names = check_columns(run.results)
    assert names >= {"condition_tests", "condition_told", "samples_pca"}
    assert names >= {f"gamma_delta_{name}" for name in ("cells", "clones", "clusters", "condition_tests")}


def test_they_are_verified(run):
    """But for the one file to which `ext.prefix` gives another name than any run does."""
    command = [sys.executable, ROOT / "bin/airrvec", "verify", run.results]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "embeddings/vectors.parquet: left over: not in pipeline_info/manifest.tsv\n"


def test_gamma_delta_cells_are_apart(run):
    cells = pd.read_parquet(run.results / "gamma_delta/cells/b.parquet")
    clones = pd.read_parquet(run.results / "gamma_delta/clones.parquet")
    assert clones["n_cells"].sum() == len(cells) > 10
    assert not (run.results / "gamma_delta/cells/a.parquet").exists()
    assert (run.results / "gamma_delta/tests.tsv").exists()
    assert "γδ T cells</h" in (run.results / "multiqc/multiqc_report.html").read_text()


def test_clusters_and_comparison_are_published(run):
    assert run.status == 0, run.output
    assert "HLA: No cluster could be compared with an allele" in run.output
    assert {
        "ASSOCIATE_HLA",
        "CLUSTER_RECEPTORS",
        "COMPARE_CONDITIONS",
        "COMPARE_SAMPLES",
        "DESCRIBE_GAMMA_DELTA",
        "DESCRIBE_SAMPLES",
    } <= run.processes
    for name, of_name in {
        "clusters/clusters": schema.CLUSTERS,
        "clusters/members": schema.CLUSTER_MEMBERS,
        "clusters/motifs": schema.CLUSTER_MOTIFS,
        "clusters/hla": schema.HLA_ASSOCIATIONS,
        "clones/clones": schema.CLONES,
        "samples/diversity": schema.DIVERSITY,
        "samples/largest_clones": schema.LARGEST_CLONES,
        "samples/rarefaction": schema.RAREFACTION,
        "comparison/pairs": schema.SAMPLE_PAIRS,
        "comparison/samples_pca": schema.SAMPLES_PCA,
        "comparison/public": schema.PUBLIC_RECEPTORS,
        "comparison/tests": schema.CONDITION_TESTS,
        "comparison/measures": schema.CONDITION_MEASURES,
        "comparison/told": schema.CONDITION_TOLD,
    }.items():
        assert tables.arrow_schema(run.results / f"{name}.parquet") == of_name
        assert (run.results / f"{name}.tsv").read_text().startswith("\t".join(of_name.names))


def test_one_sample_a_condition_is_told_before_the_first_sample_is_read(run):
    (warning,) = run.warnings
    assert warning.endswith(
        "--compare_by condition: nothing will be tested, because this needs two values with at least 2"
        " donors each (samples per value: after 1, before 1)"
    )
    submitted = re.search(r"Submitted process > \S*NORMALISE_RECEPTORS", run.log)
    assert run.log.index(warning) < submitted.start()
    assert "No test was possible" in (run.results / "multiqc/multiqc_report.html").read_text()


def test_diversity_is_in_one_place(run):
    assert not list((run.results / "comparison").glob("diversity*"))
    diversity = pd.read_parquet(run.results / "samples/diversity.parquet")
    cells = [len(pd.read_parquet(run.results / f"cells/{name}.parquet")) for name in "ab"]
    assert diversity.groupby("sample_id")["n_cells"].sum().tolist() == cells


def test_tables_fit_the_cells(run):
    receptors = pd.read_parquet(run.results / "receptors/receptors.parquet")
    members = pd.read_parquet(run.results / "clusters/members.parquet")
    assert members["receptor_id"].tolist() == receptors["receptor_id"].tolist()
    cells = {name: pd.read_parquet(run.results / f"cells/{name}.parquet") for name in "ab"}
    pairs = pd.read_parquet(run.results / "comparison/pairs.parquet").set_index("chains")
    shared = set(cells["a"]["receptor_id"]) & set(cells["b"]["receptor_id"])
    of_chains = members.set_index("receptor_id")["chains"]
    assert pairs["n_shared"].to_dict() == {
        chains: sum(of_chains[receptor] == chains for receptor in shared) for chains in pairs.index
    }
    report = (run.results / "multiqc/multiqc_report.html").read_text()
    assert "Largest clusters" in report
    assert "Overlap and distance" in report
    assert "clusters of α and β chains hold" in run.output


def test_ext_args_and_ext_prefix_of_a_config_reach_the_tasks(run):
    (task,) = (task for task in run.tasks if task["process"].endswith("COMPARE_SAMPLES"))
    (qc,) = run.folder.glob(f"work/{task['hash']}*/comparison.qc.json")
    assert json.loads(qc.read_text())["permutations"] == 99
    assert "From ext.args" in (run.results / "multiqc/multiqc_report.html").read_text()
    assert [path.name for path in (run.results / "embeddings").iterdir()] == ["vectors.parquet"]


def test_a_mistyped_condition_is_refused_at_once(tmp_path):
    run = run_pipeline(tmp_path, "-profile", "test", "--compare", "--compare_by", "treatment")
    assert run.status != 0
    assert "the samplesheet has no metadata column 'treatment'; it has: condition" in run.output
