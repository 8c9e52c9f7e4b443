"""A folder of results holds one run's results: what others left there is replaced or put aside, not lost."""

import shutil

import pandas as pd
import pytest
from pipeline_runs import ROOT, run_pipeline

PBMC = ROOT / "assets/test/pbmc_b.csv"
TABLES = ("cdr3_lengths", "clone_sizes", "diversity", "gene_usage", "rarefaction", "vj_pairing")
LISTS = ("counts", "members", "receptors")


@pytest.fixture
def sheet(tmp_path):
    path = tmp_path / "samples.csv"
    path.write_text(f"sample,path\nb,{PBMC}\n")
    return path


# What tells of the run itself.
OF_THE_RUN = ("pipeline_info", "previous", "ro-crate-metadata.json")


def published(results) -> set[str]:
    """What the pipeline publishes, with the content of links."""
    paths = {path.relative_to(results) for path in results.rglob("*") if not path.is_dir()}
    assert all((results / path).exists() for path in paths), "a link leads nowhere"
    return {str(path) for path in paths if path.parts[0] not in OF_THE_RUN}


def put_aside(results) -> set[str]:
    (folder,) = (results / "previous").iterdir()
    paths = {path.relative_to(folder) for path in folder.rglob("*") if not path.is_dir()}
    assert all((folder / path).exists() for path in paths), "a link leads nowhere"
    return {str(path) for path in paths}


def test_results_are_those_of_the_last_run(tmp_path, sheet):
    def run(multichain):
        done = run_pipeline(tmp_path, "--input", sheet, "--skip_map", "--multichain", multichain, "-resume")
        assert done.status == 0, done.output
        return done.results

    def files(results):
        names = ("cells/b.parquet", "chains/b.parquet", "rejects/b.parquet", "receptors/receptors.parquet")
        names += ("embeddings/sceptr.parquet", "summary.txt", "multiqc/multiqc_report.html")
        return {name: (results / name).read_bytes() for name in names}

    of_top = files(run("top"))
    of_drop = files(run("drop"))
    assert all(of_top[name] != of_drop[name] for name in of_top)
    for path in ("cells/b.parquet", "receptors/receptors.parquet", "multiqc/multiqc_report.html"):
        with (tmp_path / "results" / path).open("r+b") as damaged:
            damaged.truncate(100)
    results = run("top")
    assert files(results) == of_top
    assert len(pd.read_parquet(results / "cells/b.parquet")) == 79
    assert not (results / "previous").exists()


def test_files_of_options_no_longer_asked_for_are_put_aside(tmp_path, sheet):
    args = ("--input", sheet, "--publish_dir_mode", "symlink", "-stub", "-resume")
    more = ("--export_airr", "--export_anndata", "--cluster", "--partitions", "2")
    first = run_pipeline(tmp_path, *args, *more)
    assert first.status == 0, first.output
    of_more = published(first.results)
    checkpoint = first.results / "checkpoints/sceptr/last.ckpt"
    checkpoint.parent.mkdir(parents=True)
    checkpoint.touch()

    second = run_pipeline(tmp_path, *args)
    assert second.status == 0, second.output
    assert {task["status"] for task in second.tasks if "EXPORT" in task["name"]} == set()
    of_one = {
        *("cells/b.parquet", "chains/b.parquet", "rejects/b.parquet", "receptors/receptors.parquet"),
        *("embeddings/sceptr.parquet", "map/map.parquet", "map/map.html"),
        *("multiqc/multiqc_report.html", "summary.txt"),
        *(f"clones/{name}.parquet" for name in ("clones", "counts", "members")),
        *(f"clones/{name}.tsv" for name in ("clones", "clones_by_sample")),
        *(f"samples/{name}.{kind}" for name in (*TABLES, "largest_clones") for kind in ("parquet", "tsv")),
        *(f"gamma_delta/{name}.{kind}" for name in (*TABLES, "clones") for kind in ("parquet", "tsv")),
        *(
            f"gamma_delta/{name}.parquet"
            for name in ("cells/b", "chains/b", "counts", "members", "receptors")
        ),
    }
    assert published(second.results) == {*of_one, "checkpoints/sceptr/last.ckpt"}
    assert not (second.results / "airr").exists()
    aside = of_more - of_one
    assert put_aside(second.results) == aside
    assert {"airr/b.tsv", "anndata/b.h5ad", "receptors/receptors_0001.parquet"} < aside
    (folder,) = (second.results / "previous").iterdir()
    assert f"{len(aside)} files of earlier runs, which this run did not make, are now in {folder}" in (
        second.output
    )

    # All from the cache: nothing is taken for another run's.
    third = run_pipeline(tmp_path, *args)
    assert {task["status"] for task in third.tasks} == {"CACHED"}
    assert published(third.results) == {*of_one, "checkpoints/sceptr/last.ckpt"}
    assert put_aside(third.results) == aside
    assert "earlier runs" not in third.output


def test_runs_that_make_no_results_move_nothing(tmp_path, sheet):
    args = ("--input", sheet, "-stub", "-resume")
    first = run_pipeline(tmp_path, *args, "--export_airr")
    of_first = published(first.results)
    (tmp_path / "fails.config").write_text(
        "process { withName: RENDER_REPORT { beforeScript = 'exit 1' } }\n"
    )

    for more, status in ((("--dry_run",), 0), (("-preview",), 0), (("-c", "fails.config"), 1)):
        run = run_pipeline(tmp_path, *args, "--multiqc_title", "other", *more)
        assert run.status == status, run.output
        assert published(run.results) == of_first
        assert not (run.results / "previous").exists()
    assert f"{run.results} also holds " in run.output


def test_what_a_run_reads_or_did_not_make_stays_where_it_is(tmp_path, sheet):
    folder = tmp_path / "results/models/own"
    folder.mkdir(parents=True)
    for name in ("config.json", "model.safetensors"):
        (folder / name).write_text("{}")
    shutil.copytree(folder, folder.parent / "other")
    run = run_pipeline(tmp_path, "--input", sheet, "--model", "results/models/own", "-stub")
    assert run.status == 0, run.output
    assert {path.name for path in folder.iterdir()} == {"config.json", "model.safetensors"}
    assert len(list((folder.parent / "other").iterdir())) == 2  # no run made these
    assert not (run.results / "previous").exists()
