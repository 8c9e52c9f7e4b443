"""No verb changes a foreign file, a link or its input: when it ends well, fails, is refused or is killed."""

import os
import shutil
import signal
from pathlib import Path

from airrvec.app import cli, finding, folders
from airrvec.app.verbs import work
from airrvec.core.errors import InputError
from airrvec.model import weights

import pandas as pd
import pytest
from verbs_at_work import ANYWHERE, KILL, LAST, NOTHING_WRITTEN, REFERENCE, TO_ITS_PLACE, VERBS, prepare

import bystanders


@pytest.fixture
def place(runs, tmp_path, monkeypatch):
    """A working folder, in which the process is."""
    made = prepare(tmp_path / "work", runs["flu"])
    monkeypatch.chdir(made.folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(made.folder / "cache"))
    return made


def refused(*words, status: int = 1) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main([*map(str, words)])
    assert ended.value.code == status


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_that_ends_well(place, verb):
    before = place.content()
    cli.main([verb, *VERBS[verb]])
    assert place.changes() == []
    first = place.content()
    assert (len(first) > len(before)) == (verb not in NOTHING_WRITTEN)
    cli.main([verb, *VERBS[verb]])  # into its own results
    assert place.changes() == []
    assert place.content() == first


@pytest.mark.parametrize("verb", LAST)
def test_a_verb_whose_last_script_fails(place, verb, monkeypatch):
    before, run = place.content(), work.run

    def fail(name, *words):
        if name == LAST[verb]:
            raise InputError("in the middle")
        run(name, *words)

    monkeypatch.setattr(work, "run", fail)
    refused(verb, *VERBS[verb])
    assert place.changes() == []
    made = place.content() - before
    assert {name for name in made if "checkpoints" not in name and ".airrvec" not in name} == set()
    assert bool(made) == (verb in ("finetune", "pretrain"))


@pytest.mark.parametrize(("verb", "part"), [("index", (folders, "seal")), ("find", (finding, "write"))])
def test_a_verb_without_scripts_that_fails(place, verb, part, monkeypatch):
    before = place.content()

    def fail(*_):
        raise InputError("in the middle")

    monkeypatch.setattr(*part, fail)
    refused(verb, *VERBS[verb])
    assert place.changes() == []
    assert place.content() == before


# All verbs write in the same way, but for those of one file, of an index, of checkpoints and of calibrations.
KILLED = [
    *(
        pytest.param(verb, ANYWHERE, id=f"{verb} at work")
        for verb in ("normalise", "embed", "annotate", "finetune", "index", "find")
    ),
    *(pytest.param(verb, TO_ITS_PLACE, id=f"{verb} at its end") for verb in ("embed", "finetune", "find")),
]


@pytest.mark.parametrize(("verb", "condition"), KILLED)
def test_a_verb_that_is_killed(place, verb, condition):
    before = place.content()
    done = place.process(verb, *VERBS[verb], code=KILL.format(n=2, condition=condition))
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert place.changes() == []
    cli.main([verb, *VERBS[verb]])
    assert place.changes() == []
    left = [name for name in place.content() - before if ".tmp" in name]
    assert [name for name in left if "checkpoints" not in name] == []  # removed after an hour


# What is read → what is written over it. Tables of receptors have one of these names in `in`.
OVER = {
    "annotate, TSV": ("annotate", "in/my.tsv", *REFERENCE, "--outdir", "in"),
    "annotate, Parquet": ("annotate", "in/my.parquet", *REFERENCE, "--outdir", "in"),
    "annotate, here": ("annotate", "my.tsv", *REFERENCE, "--outdir", "."),
    "annotate, table of a samplesheet": ("annotate", "in/names.csv", *REFERENCE, "--outdir", "in"),
    "annotate, reference": (
        *("annotate", "in/ref.csv", "--reference", "in/ref.tsv", "--outdir", "in"),
        *("--background-receptors", "3000", "--calibrations", "none"),
    ),
    "annotate, reference in a folder": (
        *("annotate", "in/merged.csv", "--reference", "in/folder", "--outdir", "in/folder"),
        *("--background-receptors", "3000", "--calibrations", "none"),
    ),
    "reference": ("reference", "in/merged.tsv", "in/dash.csv", "--outdir", "in"),
    "cluster": ("cluster", "in/clusters.tsv", "--outdir", "in"),
    "cluster, background": ("cluster", "in/my.tsv", "--background", "in/members.parquet", "--outdir", "in"),
    "cluster, background with =": (
        *("cluster", "in/my.tsv", "--background=in/members.parquet", "--outdir", "in"),
    ),
    "cluster, other case": ("cluster", "in/Motifs.TSV", "--outdir", "in"),
    "cluster, hard link": ("cluster", "in/hard.tsv", "--outdir", "in/links"),
    "cluster, link": ("cluster", "in/soft.tsv", "--outdir", "in/links"),
    "compare, samplesheet": ("compare", "in/pairs.tsv", "--outdir", "in"),
    "benchmark, column map": (
        *("benchmark", "in/dash.csv", "--column-map", "in/benchmark.json", "--outdir", "in"),
    ),
    "finetune, model": ("finetune", "in/dash.csv", "--model", "in/neighbour", "--outdir", "in"),
    "embed": ("embed", "in/v.csv", "--out", "in/v.csv"),
    "embed, samplesheet": ("embed", "in/sheet.csv", "--out", "in/sheet.csv"),
    "embed, link": ("embed", "in/soft.csv", "--out", "in/v.csv"),
    "find": ("find", "in/my.tsv", "--index", "results", "--out", "in/my.tsv"),
    "find, rejects": ("find", "in/my.rejects.tsv", "--index", "results", "--out", "in/my.tsv"),
    "find, the run": ("find", "in/my.tsv", "--index", "results", "--out", "results/cells/flu_1.parquet"),
}


def write_tables(folder: Path) -> None:
    """Write a table, a reference, a model and a background under the names of results."""
    table = pd.read_csv(folder / "flu_4.csv")
    names = ("my.tsv", "merged.tsv", "clusters.tsv", "Motifs.TSV", "hard.tsv", "my.rejects.tsv", "../my.tsv")
    for name in names:
        table.to_csv(folder / name, sep="\t", index=False)
    for name in ("v.csv", "ref.csv", "merged.csv"):
        table.to_csv(folder / name, index=False)
    table.to_parquet(folder / "my.parquet")
    shutil.copy(folder / "vdjdb.tsv", folder / "ref.tsv")
    shutil.copy(folder / "my.tsv", folder / "b.tsv")
    (folder / "names.csv").write_text("sample,path\nb,b.tsv\n")
    (folder / "pairs.tsv").write_text("sample,path\nb,b.tsv\n")
    shutil.copy(folder / "other_donors.json", folder / "benchmark.json")
    cli.main(["reference", str(folder / "ref.tsv"), "--outdir", str(folder / "folder")])
    cli.main(["normalise", str(folder / "my.tsv"), "--outdir", str(folder / "made")])
    shutil.copy(folder / "made/my.receptors_0000.parquet", folder / "members.parquet")
    weights.load("sceptr_tiny").save(folder / "neighbour")
    (folder / "links").mkdir()
    os.link(folder / "hard.tsv", folder / "links/clusters.tsv")
    (folder / "soft.tsv").symlink_to("my.tsv")
    (folder / "links/motifs.tsv").symlink_to("../my.tsv")
    (folder / "soft.csv").symlink_to("v.csv")


@pytest.fixture(scope="module")
def tables_to_lose(runs, tmp_path_factory):
    """A working folder whose inputs have the names of results; no test may change it."""
    made = prepare(tmp_path_factory.mktemp("inputs") / "work", runs["flu"])
    write_tables(made.folder / "in")
    return made


@pytest.mark.parametrize("further", [(), ("--overwrite",)], ids=["", "overwrite"])
@pytest.mark.parametrize("case", OVER)
def test_an_input_is_never_written_over(tables_to_lose, case, further, tmp_path, monkeypatch, capsys):
    folder = shutil.copytree(tables_to_lose.folder, tmp_path / "work", symlinks=True)
    if case == "cluster, hard link":
        (folder / "in/links/clusters.tsv").unlink()
        os.link(folder / "in/hard.tsv", folder / "in/links/clusters.tsv")
    monkeypatch.chdir(folder)
    before = bystanders.seen(folder)
    refused(*OVER[case], *further)
    assert bystanders.changes(before) == []
    said = capsys.readouterr().err
    assert said.startswith("ERROR: '")
    assert "is an input of this command" in said
    assert "Give another --out" in said


@pytest.mark.parametrize(
    ("verb", "name"),
    [
        ("embed", "vectors_tables"),
        ("reference", "rejects"),
        ("finetune", "neighbour"),
        ("finetune", "checkpoints"),
    ],
)
def test_a_link_below_the_folder_of_the_results_is_not_followed(place, verb, name, capsys):
    link, elsewhere = place.folder / "out" / name, place.folder / "out.elsewhere"
    shutil.rmtree(link, ignore_errors=True)
    link.symlink_to(elsewhere)
    before = bystanders.seen(place.folder)
    refused(verb, *VERBS[verb], "--overwrite")
    assert "is a link" in capsys.readouterr().err
    assert bystanders.changes(before) == []
