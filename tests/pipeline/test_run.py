"""A whole run on real receptors: what comes out is what went in, and the numbers are right."""

import gzip
import io
import json
import re
import shutil
from collections import Counter

from airrvec.core import schema, tables
from airrvec.core.vectors import read_description
from airrvec.model.tokens import token_counts

import airr
import anndata
import numpy as np
import pandas as pd
import pyarrow as pa
import pypdf
import pytest
import sceptr
from pipeline_runs import ROOT, run_pipeline
from sklearn.metrics import roc_auc_score

PROCESSES = {
    "CHECK_SAMPLES",
    "NORMALISE_RECEPTORS",
    "COLLECT_RECEPTORS",
    "COUNT_CLONES",
    "DESCRIBE_CLONES",
    "DESCRIBE_SAMPLES",
    "EMBED_RECEPTORS",
    "MERGE_EMBEDDINGS",
    "DESCRIBE_CELLS",
    "EXPORT_AIRR",
    "EXPORT_ANNDATA",
    "BENCHMARK_FEWSHOT",
    "SUMMARISE_FEWSHOT",
    "PLACE_RECEPTORS",
    "MAP_RECEPTORS",
    "REPORT",
    "RENDER_REPORT",
    "HANDOVER",
}
SAMPLES = {"a": 200, "b": 200, "labelled": 415}  # rows of each table, by `wc -l` less the header


def table(run, name):
    return pd.read_parquet(run.results / name)


def test_every_process_ran_and_nothing_warned(real_run):
    assert real_run.processes == PROCESSES
    assert {task["status"] for task in real_run.tasks} == {"COMPLETED"}
    assert real_run.warnings == []


@pytest.mark.parametrize(("sample", "n_rows"), SAMPLES.items())
def test_rows_in_are_rows_out_plus_rejects(real_run, sample, n_rows):
    cells, rejects = table(real_run, f"cells/{sample}.parquet"), table(real_run, f"rejects/{sample}.parquet")
    lost = rejects.loc[~rejects["row_kept"], "row"]
    assert cells["input_rows"].sum() + lost.nunique() == n_rows
    assert set(cells["sample_id"]) == {sample}
    assert set(lost) <= set(range(1, n_rows + 1))


def test_cells_carry_the_metadata_of_their_sample(real_run):
    assert set(table(real_run, "cells/a.parquet")["condition"]) == {"before"}
    assert set(table(real_run, "cells/b.parquet")["condition"]) == {"after"}


def test_tables_of_cells_are_one_table(real_run):
    """The labelled one too, which has no metadata: a folder read as one table loses nothing."""
    schemas = [tables.arrow_schema(real_run.results / f"cells/{sample}.parquet") for sample in SAMPLES]
    assert all(found == schemas[0] for found in schemas)
    cells = pd.read_parquet(real_run.results / "cells")
    of_samples = cells.groupby("sample_id")["condition"].unique().map(list).to_dict()
    assert of_samples == {"a": ["before"], "b": ["after"], "labelled": [None]}


def test_tables_are_looked_at_before_the_first_task(real_run):
    seen = pd.read_csv(real_run.results / "pipeline_info/samples.tsv", sep="\t").set_index("sample_id")
    assert seen["rows"].to_dict() == SAMPLES
    assert seen["format"].to_dict() == {"a": "10x", "b": "10x", "labelled": "tcrdist"}
    started = {task["process"].split(":")[-1]: task["submit"] for task in reversed(real_run.tasks)}
    assert min(started, key=lambda process: int(started[process])) == "CHECK_SAMPLES"


def test_cells_are_the_barcodes_with_a_productive_chain(real_run):
    with gzip.open(ROOT / "assets/test/pbmc_a.csv.gz", "rt") as handle:
        contigs = pd.read_csv(io.StringIO(handle.read()))
    productive = contigs[
        (contigs["productive"].astype(str) == "True") & contigs["chain"].isin(["TRA", "TRB"])
    ]
    cells = table(real_run, "cells/a.parquet")
    rejects = table(real_run, "rejects/a.parquet")
    not_functional = set(rejects.loc[rejects["reason"].str.contains("is a pseudogene"), "cell_id"])
    assert list(cells["cell_id"]) == [
        barcode
        for barcode in contigs["barcode"].unique()
        if barcode in set(productive["barcode"]) and barcode in set(cells["cell_id"])
    ]
    assert set(productive["barcode"]) - set(cells["cell_id"]) <= not_functional


def test_receptors_are_those_of_all_cells_once(real_run):
    receptors = table(real_run, "receptors/receptors.parquet")
    of_cells = set().union(*(table(real_run, f"cells/{sample}.parquet")["receptor_id"] for sample in SAMPLES))
    assert sorted(receptors["receptor_id"]) == sorted(of_cells)
    order = ["clonotype_id", "receptor_id"]
    assert receptors[order].equals(receptors[order].sort_values(order, ignore_index=True))
    assert list(receptors.columns) == schema.COLLECTED_RECEPTORS.names
    # The two excerpts share 50 rows: their receptors are public, and collected once. The labelled table
    # is no sample.
    in_samples = Counter(
        clonotype
        for sample in ("a", "b")
        for clonotype in set(table(real_run, f"cells/{sample}.parquet")["clonotype_id"])
    )
    assert list(receptors["n_samples"]) == [in_samples[clonotype] for clonotype in receptors["clonotype_id"]]
    n_public = receptors.loc[receptors["n_samples"] == 2, "clonotype_id"].nunique()
    assert n_public >= 15
    assert f"{n_public} clonotypes occur in two or more samples" in real_run.output


@pytest.mark.parametrize("sample", SAMPLES)
def test_exported_chains_are_those_of_the_cells(real_run, sample):
    path = real_run.results / f"airr/{sample}.tsv"
    assert airr.validate_rearrangement(str(path))
    chains = pd.read_csv(path, sep="\t", keep_default_na=False)
    cells = table(real_run, f"cells/{sample}.parquet").merge(
        table(real_run, "receptors/receptors.parquet"), on="receptor_id"
    )
    junctions = [cells[["receptor_id", f"{locus}_junction_aa"]].dropna() for locus in ("tra", "trb")]
    expected = Counter(pair for part in junctions for pair in part.itertuples(index=False, name=None))
    assert Counter(zip(chains["receptor_id"], chains["junction_aa"], strict=True)) == expected
    assert pd.to_numeric(chains["umi_count"]).sum() == cells["umi_count"].sum()


@pytest.mark.parametrize("sample", SAMPLES)
def test_anndata_of_a_sample_is_its_tables(real_run, sample):
    data = anndata.read_h5ad(real_run.results / f"anndata/{sample}.h5ad")
    cells = table(real_run, f"cells/{sample}.parquet")
    receptors = table(real_run, "receptors/receptors.parquet").set_index("receptor_id")
    embeddings = table(real_run, "embeddings/sceptr.parquet").set_index("receptor_id")
    assert list(data.obs_names) == list(cells["cell_id"])
    for name in cells:
        assert data.obs[name].astype(object).fillna("").tolist() == cells[name].fillna("").tolist()
    for name in receptors.columns.difference(cells.columns):
        expected = receptors.loc[cells["receptor_id"], name].fillna("").tolist()
        assert data.obs[name].astype(object).fillna("").tolist() == expected
    vectors = embeddings.loc[cells["receptor_id"]].to_numpy()
    assert vectors.dtype == data.obsm["X_sceptr"].dtype == np.float32
    np.testing.assert_array_equal(data.obsm["X_sceptr"], vectors)
    assert data.uns["airrvec"] == read_description(real_run.results / "embeddings/sceptr.parquet")


def test_anndata_of_all_samples_is_theirs_together(real_run):
    together = anndata.read_h5ad(real_run.results / "anndata/all_samples.h5ad")
    parts = {name: anndata.read_h5ad(real_run.results / f"anndata/{name}.h5ad") for name in ("a", "b")}
    names = [f"{name}_{cell}" for name, part in parts.items() for cell in part.obs_names]
    assert list(together.obs_names) == names
    vectors = np.concatenate([part.obsm["X_sceptr"] for part in parts.values()])
    np.testing.assert_array_equal(together.obsm["X_sceptr"], vectors)
    chains = [chain for part in parts.values() for chain in part.obsm["airr"].to_list()]
    assert together.obsm["airr"].to_list() == chains
    sizes = [size for part in parts.values() for size in part.obs["clone_size"]]
    assert list(together.obs["clone_size"]) == sizes
    for name, part in parts.items():
        cells = table(real_run, f"cells/{name}.parquet")
        expected = cells.groupby("clonotype_id")["clonotype_id"].transform("size")
        assert list(part.obs["clone_size"]) == list(expected)


@pytest.mark.parametrize("sample", ["a", "b"])
def test_nucleotides_reach_every_export(real_run, sample):
    chains = table(real_run, f"chains/{sample}.parquet")
    assert chains["junction"].notna().all()
    assert (chains["junction"].str.len() == 3 * chains["junction_aa"].str.len()).all()
    exported = pd.read_csv(real_run.results / f"airr/{sample}.tsv", sep="\t")
    assert list(exported["junction"]) == list(chains["junction"])
    data = anndata.read_h5ad(real_run.results / f"anndata/{sample}.h5ad")
    in_cells = [chain for cell in data.obsm["airr"].to_list() for chain in cell]
    assert [chain["junction"] for chain in in_cells] == list(chains["junction"])
    assert [chain["c_call"] for chain in in_cells] == list(chains["c_call"])


def test_embeddings_are_sceptrs_own(real_run):
    receptors = table(real_run, "receptors/receptors.parquet")
    embeddings = table(real_run, "embeddings/sceptr.parquet")
    n_tokens = token_counts(pa.Table.from_pandas(receptors)).sum()
    assert sum(task["process"].endswith("EMBED_RECEPTORS") for task in real_run.tasks) == -(
        -n_tokens // 16000
    )
    assert list(embeddings["receptor_id"]) == list(receptors["receptor_id"])
    plain = receptors.rename(
        columns={
            "tra_v_call": "TRAV",
            "tra_junction_aa": "CDR3A",
            "trb_v_call": "TRBV",
            "trb_junction_aa": "CDR3B",
        }
    )[["TRAV", "CDR3A", "TRBV", "CDR3B"]]
    expected = sceptr.calc_vector_representations(plain)
    np.testing.assert_allclose(embeddings.drop(columns="receptor_id"), expected, atol=1e-5)


def test_auroc_at_k_1_is_scikit_learns(real_run):
    """Every receptor of the smallest epitope is the reference once: recomputed from the vectors."""
    auroc = table(real_run, "benchmark/auroc.parquet")
    cells = table(real_run, "cells/labelled.parquet")
    receptors = table(real_run, "receptors/receptors.parquet").dropna(subset=list(schema.RECEPTOR_FIELDS))
    complete = receptors[receptors["receptor_id"].isin(cells["receptor_id"])]["receptor_id"].sort_values()
    vectors = table(real_run, "embeddings/sceptr.parquet").set_index("receptor_id").loc[complete].to_numpy()
    binds = complete.isin(cells.loc[cells["epitope"] == "pp65", "receptor_id"]).to_numpy()
    expected = []
    for reference in np.flatnonzero(binds):
        others = np.arange(len(complete)) != reference
        distance = np.linalg.norm(vectors[others] - vectors[reference], axis=1)
        expected.append(roc_auc_score(binds[others], -distance))
    measured = auroc.query(
        "encoder == 'sceptr' and epitope == 'pp65' and k == 1 and rule == 'nearest_neighbour'"
    )
    # Vectors are compared in float64 here: a tie in float32 may fall the other way.
    np.testing.assert_allclose(measured["auroc"], expected, atol=2e-4)
    assert set(measured["n_positive"]) == {binds.sum() - 1}
    assert set(measured["n_negative"]) == {(~binds).sum()}


def test_benchmark_tables_are_complete(real_run):
    auroc = table(real_run, "benchmark/auroc.parquet")
    assert list(auroc.columns) == schema.AUROC.names
    counts = auroc.groupby(["encoder", "rule", "epitope", "k"]).size()
    assert set(counts.xs(5, level="k")) == {10}
    assert set(auroc["encoder"]) == {"sceptr", "cdr3_levenshtein"}
    assert auroc["auroc"].between(0, 1).all()
    summary = table(real_run, "benchmark/auroc_summary.parquet")
    row = summary.query(
        "encoder == 'sceptr' and rule == 'average_distance' and epitope == 'M1' and k == 5"
    ).iloc[0]
    values = auroc.query("encoder == 'sceptr' and rule == 'average_distance' and epitope == 'M1' and k == 5")[
        "auroc"
    ]
    assert row["auroc_mean"] == pytest.approx(values.mean())
    assert row["auroc_se"] == pytest.approx(values.std() / len(values) ** 0.5)
    as_text = pd.read_csv(real_run.results / "benchmark/auroc.tsv", sep="\t")
    pd.testing.assert_frame_equal(as_text, auroc, check_dtype=False)


def test_report_and_summary_say_the_same_as_the_tables(real_run):
    html = (real_run.results / "multiqc/multiqc_report.html").read_text()
    for section in (
        "airrvec_samples",
        "airrvec_chain_pairing",
        "airrvec_embeddings",
        "airrvec_auroc",
        "airrvec_roc",
    ):
        assert f'id="{section}' in html
    summary = table(real_run, "benchmark/auroc_summary.parquet")
    mean = summary.query(
        "encoder == 'sceptr' and epitope == 'mean' and k == 5 and rule == 'nearest_neighbour'"
    )
    n_receptors = len(table(real_run, "receptors/receptors.parquet"))
    assert f"{n_receptors:,} distinct receptors embedded by SCEPTR in 64 dimensions" in real_run.output
    assert f"{mean['auroc_mean'].iloc[0]:.3f}" in real_run.output
    assert f"Report: {real_run.results}/multiqc/multiqc_report.html" in real_run.output


def test_what_is_handed_over_opens_elsewhere(real_run, tmp_path):
    """From a zip, without the results: links lead to files, and the sheet has the table's rows."""
    assert f"Handover: {real_run.results}/handover\n" in real_run.output
    assert "\nTo hand over: handover/, " in (real_run.results / "summary.txt").read_text()
    packed = shutil.make_archive(tmp_path / "handover", "zip", real_run.results / "handover")
    shutil.unpack_archive(packed, tmp_path / "elsewhere")
    folder = tmp_path / "elsewhere"
    made = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    figures = ("clonal_expansion", "rarefaction", "v_usage", "auroc_against_k", "roc_curves")
    drawn = {f"figures/{name}.{ending}" for name in figures for ending in ("svg", "pdf", "tsv")}
    assert made == {"README.txt", "summary.pdf", "report.html", "map.html", "clones.xlsx", *drawn}
    assert "figures/diversity" in (folder / "README.txt").read_text().partition("Not made")[2]
    links = re.findall(r'href="([^"#:{}$+)]+)"', (folder / "report.html").read_text())
    assert "map.html" in links
    assert all((folder / link).exists() for link in links)
    clones = table(real_run, "clones/clones.parquet")
    sheet = pd.read_excel(folder / "clones.xlsx", sheet_name="Clones")
    assert list(sheet.columns) == list(clones.columns)
    assert sheet["clone_id"].tolist() == clones["clone_id"].tolist()
    assert sheet["n_cells"].tolist() == clones["n_cells"].tolist()
    text = " ".join(
        " ".join(page.extract_text() for page in pypdf.PdfReader(folder / "summary.pdf").pages).split()
    )
    n_receptors = len(table(real_run, "receptors/receptors.parquet"))
    assert f"2 samples have {n_receptors:,} distinct receptors" in text
    assert "T-cell receptors were analysed with airrvec" in text


def test_pipeline_info_names_versions_and_reports(real_run):
    info = real_run.results / "pipeline_info"
    versions = (info / "software_versions.yml").read_text()
    for name in ("tidytcells", "numba", "duckdb", "multiqc", "airrvec", "nextflow"):
        assert f'    {name}: "' in versions
    assert "torch" not in versions  # nothing of this run needs it
    for name in ("execution_report.html", "execution_timeline.html", "pipeline_dag.html"):
        assert (info / name).stat().st_size > 1000
    digest = json.loads((real_run.results / "benchmark/benchmark.json").read_text())["splits_digest"]
    assert len(digest) == 16


def test_second_run_does_nothing_again(real_run, tmp_path):
    """In a copy of its folder, as other tests read the results meanwhile."""
    work = real_run.folder / "work"
    folder = shutil.copytree(
        real_run.folder, tmp_path / "again", symlinks=True, ignore=shutil.ignore_patterns("work")
    )
    again = run_pipeline(folder, "-profile", "test", "-resume", "-work-dir", str(work))
    assert again.status == 0, again.output
    assert {task["status"] for task in again.tasks} == {"CACHED"}
