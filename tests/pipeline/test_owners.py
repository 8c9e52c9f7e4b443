"""A run that would write over an input, or over a file of others, is refused before its first task."""

import os
import shutil

import pytest
from pipeline_runs import ROOT, checked_cases, run_pipeline

import bystanders

PBMC = ROOT / "assets/test/pbmc_b.csv"
DASH = ROOT / "assets/demo/dash_human.csv"
ADVICE = "is an input of this run, which would write '{}"

# What stands in results → what the run says of it, with further parameters.
INPUTS = {
    "table": ("airr/b.tsv", {"input": "own.csv", "export_airr": True}),
    "table of a link": ("airr/b.tsv", {"input": "soft.csv", "export_airr": True}),
    "table of a hard link": ("airr/b.tsv", {"input": "hard.csv", "export_airr": True}),
    "link in the results": ("anndata/b.h5ad", {"input": "pbmc.csv", "export_anndata": True}),
    "samplesheet": ("samples/largest_clones.tsv", {"input": "results/samples/largest_clones.tsv"}),
    "labelled": ("cells/b.parquet", {"labelled": "results/cells/b.parquet"}),
    "reference": (
        "annotation/b.tsv",
        {"annotate": True, "reference": f"{DASH},results/annotation/b.tsv"},
    ),
    "column map": ("pipeline_info/plan.tsv", {"column_map": "results/pipeline_info/plan.tsv"}),
    "background": ("receptors/receptors.parquet", {"background": "results/receptors/receptors.parquet"}),
    "folder of backgrounds": ("receptors/receptors.parquet", {"background": "results/receptors"}),
    "configuration of the report": ("summary.txt", {"multiqc_config": "results/summary.txt"}),
    "model": (
        "models/neighbour/config.json",
        {"model": "results/models/neighbour", "finetune": True, "labelled": str(DASH)},
    ),
    "hub": ("map/map.html", {"hub_cache": "results/map", "encoders": "sceptr,esm2"}),
}
FOREIGN = {
    "file": ("samples/largest_clones.tsv", {}),
    "of an option": ("clusters/logos.svg", {"cluster": True}),
    "in a folder that is replaced": ("multiqc/multiqc_report_data/notes.txt", {}),
    "in the folder of a model": ("models/neighbour/notes.txt", {"finetune": True, "labelled": str(DASH)}),
    "checkpoint": (
        "checkpoints/neighbour/last.ckpt",
        {"finetune": True, "labelled": str(DASH), "checkpoint_dir": "results/checkpoints"},
    ),
    "manifest of another program": ("pipeline_info/manifest.tsv", {}),
    "partition": ("embeddings/sceptr/sceptr_0001.parquet", {"partitions": 3}),
}
# They stand beside what is written.
SPARED = {
    "another sample": ("airr/c.tsv", {"input": "other.csv", "export_airr": True}),
    "an option that is not given": ("airr/b.tsv", {"input": "own.csv"}),
    "the model beside": ("models/mine/config.json", {"model": "results/models/mine"}),
    "ordinary names": ("r/analysis.R", {"export_sce": True}),
    "a dry run": ("samples/largest_clones.tsv", {"dry_run": True}),
}
LINKS = ("samples", "multiqc", "pipeline_info", "previous", "annotation/reference")


def prepare(folder, name: str) -> None:
    path = folder / "results" / name
    path.parent.mkdir(parents=True)
    shutil.copy(PBMC, path)
    if path.parent.name in ("neighbour", "mine"):
        for part in ("config.json", "model.safetensors"):
            (path.parent / part).write_text('{"name": "other"}')
    for table in ("own", "other", "soft", "hard", "pbmc"):
        file = {"own": path, "other": path, "pbmc": folder / "pbmc.csv"}.get(table, folder / f"{table}.tsv")
        (folder / f"{table}.csv").write_text(f"sample,path\nb,{file}\n")
    os.link(path, folder / "hard.tsv")
    (folder / "soft.tsv").symlink_to(path)
    if "h5ad" in name:
        path.unlink()
        shutil.copy(PBMC, folder / "table.csv")
        path.symlink_to("../../table.csv")
        (folder / "pbmc.csv").write_text(f"sample,path\nb,{folder}/table.csv\n")


@pytest.fixture(scope="module")
def said(tmp_path_factory) -> dict[str, str | None]:
    """What the check says to each case, all of which run in one JVM; nothing changes."""
    root = tmp_path_factory.mktemp("owners")
    cases = {}
    for name, (path, given) in (INPUTS | FOREIGN | SPARED).items():
        folder = root / name
        prepare(folder, path)
        words = {
            key: str(folder / value) if isinstance(value, str) and (folder / value).exists() else value
            for key, value in given.items()
        }
        if name == "reference":
            words["reference"] = f"{DASH},{folder}/results/annotation/b.tsv"
        sheet = {} if "input" in given else {"input": f"{folder}/plain.csv"}
        (folder / "plain.csv").write_text(f"sample,path\nb,{PBMC}\n")
        cases[name] = {"outdir": f"{folder}/results", **sheet, **words}
    for number, link in enumerate(LINKS):
        folder = root / f"link {number}"
        bystanders.plant(folder / "elsewhere")
        bystanders.link_file(folder / "results" / link, folder / "elsewhere/samples")
        (folder / "plain.csv").write_text(f"sample,path\nb,{PBMC}\n")
        words = {"annotate": True, "reference": str(DASH), "input": f"{folder}/plain.csv"}
        cases[link] = {"outdir": f"{folder}/results", **words}
    before = bystanders.seen(*(root / name for name in INPUTS | FOREIGN | SPARED))
    answers = checked_cases(tmp_path_factory.mktemp("project"), list(cases.values()), "owners.nf")
    assert bystanders.changes(before) == []
    return dict(zip(cases, answers, strict=True))


@pytest.mark.parametrize("name", INPUTS)
def test_no_input_is_written_over(said, name):
    assert ADVICE.format(INPUTS[name][0].rpartition("/")[0]) in (said[name] or "")


@pytest.mark.parametrize("name", FOREIGN)
def test_no_file_of_others_is_written_over(said, name):
    assert f"'{FOREIGN[name][0].rpartition('/')[0]}" in (said[name] or "")
    assert "was not made by an earlier run of airrvec, and this run would replace it; move it" in said[name]


@pytest.mark.parametrize("name", SPARED)
def test_files_beside_those_that_a_run_writes_are_no_obstacle(said, name):
    assert said[name] is None


@pytest.mark.parametrize("link", LINKS)
def test_no_folder_of_results_is_a_link(said, link):
    assert f"'{link}' in --outdir" in (said[link] or "")
    assert "is a link to '" in said[link]


@pytest.mark.parametrize("stub", [("-stub-run", "-resume")], ids=["stub"])
def test_a_refused_run_changes_no_input(tmp_path, stub):
    table = tmp_path / "results/airr/b.tsv"
    table.parent.mkdir(parents=True)
    shutil.copy(PBMC, table)
    (tmp_path / "samples.csv").write_text("sample,path\nb,results/airr/b.tsv\n")
    before = bystanders.seen(table, tmp_path / "samples.csv")
    run = run_pipeline(tmp_path, "--input", "samples.csv", "--export_airr", *stub)
    assert run.status == 1
    assert "Submitted process" not in run.output
    last = [line for line in run.output.splitlines() if line][-1]
    assert last.startswith(f"'{table}' is an input of this run, which would write 'airr/b.tsv' in --outdir")
    assert bystanders.changes(before) == []
