"""Twelve samples of several formats and units: clones, overlap and tests of the cohort equal plain lines."""

import json

from airrvec.core import tables

import compared_samples
import pandas as pd
import plain_cohort
import pytest
from condition_runs import compare
from inputs import ROOT

DATA, DEMO = ROOT / "tests/data", ROOT / "assets/demo"
OTHERS = {
    "pbmc": (DEMO / "10x_pbmc_filtered_contig_annotations.csv.gz", "10x"),
    "lavage": (DEMO / "10x_lavage_filtered_contig_annotations.csv.gz", "10x"),
    "flu": (DEMO / "donors/flu_1.csv", "tcrdist"),
    "bulk": (DATA / "immunoseq.tsv", "immunoseq"),
}


@pytest.fixture(scope="module")
def sheet(tmp_path_factory) -> pd.DataFrame:
    """Blood and lung of four donors: a real patient's cells, dealt to them by their barcodes."""
    folder, rows = tmp_path_factory.mktemp("contigs"), []
    for tissue, name in (("blood", "P20B"), ("lung", "P20L")):
        contigs = pd.read_csv(DATA / f"screpertoire_{name}.csv.gz", keep_default_na=False)
        donors = contigs["barcode"].rank(method="dense").astype(int) % 4
        for donor, part in contigs.groupby(donors):
            path = folder / f"{tissue}_{donor}.csv"
            part.to_csv(path, index=False)
            rows.append({"sample": path.stem, "path": path, "donor": f"d{donor}", "tissue": tissue})
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def results(sheet, tmp_path_factory):
    """Clones and comparison of these samples and four more, by the scripts of a run."""
    folder = tmp_path_factory.mktemp("cohort")
    cohort = [
        (row.sample, row.path, "--metadata", json.dumps({"donor": row.donor, "tissue": row.tissue}))
        for row in sheet.itertuples()
    ]
    more = [(name, path, "--format", kind) for name, (path, kind) in OTHERS.items()]
    clones = compared_samples.compare(folder, [*cohort, *more])
    made = compare(folder, clones, "tissue", comparison=folder / "comparison")
    (made / "tests.parquet").rename(folder / "comparison/tests.parquet")
    return folder


def test_clones_overlap_and_tests_are_those_of_plain_lines(sheet, results):
    assert plain_cohort.differences(sheet, results, "tissue") == []


def test_the_cohort_has_what_is_compared(sheet, results):
    """Else the lines above would compare nothing."""
    samples = tables.read(results / "clones/samples.parquet").to_pandas()
    assert len(samples) == 12
    assert {"cells", "templates"} <= {*samples["count_unit"]}
    assert tables.read(results / "comparison/pairs.parquet")["n_shared"].to_pandas().gt(5).sum() > 5
    tests = tables.read(results / "comparison/tests.parquet").to_pandas()
    assert {"coincidence", "v_gene", "overlap"} <= {*tests["measure"]}
    assert (tests.loc[tests["measure"] == "v_gene", "within"] == "donor").all()
    plain = plain_cohort.measures(plain_cohort.with_clones(plain_cohort.read_cells(sheet), {}))
    assert len({*tests["feature"]} & {*plain.columns}) > 30


def test_umis_and_reads_of_cells_are_those_of_the_contigs(sheet, results):
    """Of the two best chains of each cell, and told as what may make the difference."""
    counts = tables.read(results / "clones/counts.parquet").to_pandas()
    sums = counts.groupby("sample_id")[["umi_count", "duplicate_count"]].sum()
    for row in sheet.itertuples():
        contigs = pd.read_csv(row.path, keep_default_na=False).query("productive and chain in ['TRA', 'TRB']")
        best = contigs.sort_values(["umis", "reads"], ascending=False, kind="stable")
        best = best.drop_duplicates(["barcode", "chain"])
        assert sums.loc[row.sample].tolist() == best[["umis", "reads"]].sum().tolist()
    told = tables.read(results / "conditions/told.parquet").to_pandas().set_index("told_by")
    assert told.loc[["cells", "umis", "reads"], "n_units"].tolist() == [8, 8, 8]


def test_a_wrong_number_is_noticed(sheet, results, tmp_path):
    columns = {"clones/counts": "n_cells", "clones/clones": "n_samples"}
    columns |= {"comparison/pairs": "jaccard", "comparison/tests": "p"}
    (tmp_path / "receptors").symlink_to(results / "receptors")
    for name, column in columns.items():
        table = pd.read_parquet(results / f"{name}.parquet")
        table[column] *= 2
        (tmp_path / name).parent.mkdir(exist_ok=True)
        table.to_parquet(tmp_path / f"{name}.parquet")
    wrong = "\n".join(plain_cohort.differences(sheet, tmp_path, "tissue"))
    for words in ("blood_0: ", "in several samples", "jaccard of", "p of coincidence"):
        assert words in wrong
