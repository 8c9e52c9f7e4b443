"""Many small tables share tasks: their results are those that each has alone."""

import json
import re

import pytest
from pipeline_runs import ROOT, project_of, run_pipeline

import export_airr
import normalise_receptors

N_SAMPLES = 28  # more than 16, and than the 25 of a task
COLUMNS = {"v_call": "v gene", "j_call": "j gene", "junction_aa": "junction"}


@pytest.fixture(scope="module")
def sheet(tmp_path_factory):
    """Tables of 10x, one that is broken, and two that need a column map."""
    folder = tmp_path_factory.mktemp("batches")
    header, *rows = (ROOT / "assets/test/pbmc_b.csv").read_text().splitlines()
    lines = ["sample,path,column_map,donor"]
    for number in range(N_SAMPLES):
        (folder / f"{number}").mkdir()
        table = folder / f"{number}" / "with blank.csv"  # the same name in each folder
        table.write_text("\n".join([header, *rows[number : number + 60]]) + "\n")
        lines.append(f"s{number:02d},{table},,$(touch CANARY){number}")
    (folder / "broken.csv").write_text("neither,nor\n1,2\n")
    (folder / "map.json").write_text(json.dumps(COLUMNS))
    lines.append(f"broken,{folder}/broken.csv,,")
    for name, junction in (("m1", "CASSIRSSYEQYF"), ("m2", "CASSLGQAYEQYF")):
        (folder / f"{name}.tsv").write_text(
            "v gene\tj gene\tjunction\n" + f"TRBV19*01\tTRBJ2-7*01\t{junction}\n" * 3
        )
        lines.append(f"{name},{folder}/{name}.tsv,{folder}/map.json,")
    path = folder / "samples.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def runs(sheet):
    args = ("--input", sheet, "--skip_map", "--max_rejected", "100", "--export_airr", "--export_anndata")
    args += ("--failed_samples", "skip")
    first = run_pipeline(sheet.parent, *args)
    return first, run_pipeline(sheet.parent, *args, "-resume")


def normalised(run) -> list[dict]:
    return [task for task in run.tasks if "NORMALISE_RECEPTORS" in task["name"]]


def test_tasks_are_shared_and_come_from_the_cache(runs):
    first, again = runs
    assert first.status == 0, first.output
    names = sorted(task["name"].split(":")[-1] for task in normalised(first))
    assert names == [
        "NORMALISE_RECEPTORS (2 tables)",
        "NORMALISE_RECEPTORS (25 tables)",
        "NORMALISE_RECEPTORS (3 tables)",
    ]
    assert again.status == 0, again.output
    assert {task["status"] for task in again.tasks} == {"CACHED"}


def test_each_table_gives_the_bytes_that_it_gives_alone(runs, sheet, tmp_path):
    for name in ("s00", "s24", "s25", f"s{N_SAMPLES - 1}", "m1", "m2"):
        mapped = name.startswith("m")
        table = sheet.parent / (f"{name}.tsv" if mapped else f"{int(name[1:])}/with blank.csv")
        donor = None if mapped else f"$(touch CANARY){int(name[1:])}"
        options = ["--sample", name, "--metadata", json.dumps({"donor": donor}), "--outdir", str(tmp_path)]
        options += ["--column-map", str(sheet.parent / "map.json")] if mapped else []
        normalise_receptors.main([str(table), *options])
        for kind in ("cells", "chains", "rejects"):
            found = (runs[0].results / kind / f"{name}.parquet").read_bytes()
            assert found == (tmp_path / f"{name}.{kind}.parquet").read_bytes(), (name, kind)
    assert not list(sheet.parent.rglob("CANARY*"))


def test_no_sample_is_lost_but_the_broken_one(runs):
    cells = {path.stem for path in (runs[0].results / "cells").iterdir()}
    assert cells == {f"s{number:02d}" for number in range(N_SAMPLES)} | {"m1", "m2"}
    assert "MISSING" in (runs[0].results / "summary.txt").read_text().splitlines()[0]


def test_exports_share_batches(runs, tmp_path):
    run = runs[0]
    names = [task["name"].split(":")[-1] for task in run.tasks]
    for process in ("EXPORT_AIRR", "DESCRIBE_CELLS", "EXPORT_ANNDATA"):
        made = sorted(name.split("(")[1] for name in names if name.startswith(process))
        # The last two read the receptors of the run: half a million cells share a task.
        larger = ["30 samples)", "all_samples)"]
        assert made == (["2 samples)", "25 samples)", "3 samples)"] if process == "EXPORT_AIRR" else larger)
    samples = {path.stem for path in (run.results / "cells").iterdir()}
    assert {path.stem for path in (run.results / "airr").iterdir()} == samples
    assert {path.stem for path in (run.results / "anndata").iterdir()} == samples | {"all_samples"}
    for name in ("s00", "s27", "m2"):
        cells, chains = (str(run.results / kind / f"{name}.parquet") for kind in ("cells", "chains"))
        alone = tmp_path / f"{name}.tsv"
        export_airr.main(["--cells", cells, "--chains", chains, "--out", str(alone)])
        assert alone.read_bytes() == (run.results / f"airr/{name}.tsv").read_bytes()


def test_large_tables_and_those_of_native_libraries_have_a_task_each(tmp_path):
    few = {"0.tsv": 1 << 20, "1.tsv": 2 << 20, "2.tsv": 1 << 20, "3.tsv": 5 << 20, "4.parquet": 10}
    sizes = {f"{number:02d}.tsv": 1 << 20 for number in range(12)}
    sizes |= {"20.tsv": 60 << 20, "21.tsv": 2 << 20, "22.tsv.gz": 5 << 20, "23.tsv.gz": 4 << 20}
    sizes |= {"30.h5ad": 10, "31.parquet": 10, "40.tsv": 10, "41_mapped.tsv": 10, "42.tsv": 10}
    alone = {"one large": {"0.tsv": 5 << 20}, "one small": {"0.tsv": 1 << 20}}
    for folder, tables in {"few": few, "many": sizes, **alone}.items():
        (tmp_path / "tables" / folder).mkdir(parents=True)
        for name, size in tables.items():
            with (tmp_path / "tables" / folder / name).open("wb") as handle:
                handle.truncate(size)
    run = run_pipeline(tmp_path, "--tables", tmp_path / "tables", project=project_of(tmp_path, "batches.nf"))
    assert run.status == 0, run.output

    def printed(word: str) -> list:
        return [json.loads(made) for made in re.findall(rf"^{word} (.*)$", run.output, re.MULTILINE)]

    of_few, of_many, *_ = printed("BATCHES")
    # Samples of an annotated run: a single large one takes more cores.
    assert printed("CORES")[0] == [[3, 1], [2, 1]]
    assert {cores for _, cores in printed("CORES")[1]} == {1}
    assert printed("CORES")[2:] == [[[1, 4]], [[1, 1]]]
    assert of_few == [[["0.tsv", "1.tsv"], 0], [["2.tsv"], 0], [["3.tsv"], 0], [["4.parquet"], 0]]
    assert of_many == [
        [[f"{number:02d}.tsv" for number in range(12)], 0],
        [["20.tsv"], 0],
        [["21.tsv", "22.tsv.gz"], 0],  # 2 + 8 · 5 MB
        [["23.tsv.gz"], 0],
        [["30.h5ad"], 0],
        [["31.parquet"], 0],
        [["41_mapped.tsv"], 1],
        [["40.tsv", "42.tsv"], 0],
    ]
