"""What the command may replace in a folder: its own files, in a state that it knows, and nothing else."""

import json
import os
from pathlib import Path

from airrvec.app import cli, own_files, verb_files
from airrvec.app.outputs import Outputs, sentences_of_the_disk
from airrvec.core.errors import InputError

import pytest
from inputs import ROOT
from small_outputs import NAMES, content, message, outputs, write, written
from verbs_at_work import LAST, VERBS, prepare

import bystanders

FLU = ROOT / "assets/demo/donors/flu_4.csv"


def test_own_files_are_replaced(tmp_path):
    for text in ("1", "2", "2"):
        write(tmp_path / "new/out", text)
        assert content(tmp_path / "new/out") == written(text)
    assert [path.name for path in (tmp_path / "new/out").glob(".*")] == [own_files.PLACE]


def make_file(path: Path, elsewhere: Path) -> None:
    path.write_text("mine")


def make_link(path: Path, elsewhere: Path) -> None:
    path.symlink_to(elsewhere / "one.txt")


def make_dangling_link(path: Path, elsewhere: Path) -> None:
    path.symlink_to(elsewhere / "nothing")


def make_hard_link(path: Path, elsewhere: Path) -> None:
    os.link(elsewhere / "one.txt", path)


def make_folder(path: Path, elsewhere: Path) -> None:
    path.mkdir()


def make_pipe(path: Path, elsewhere: Path) -> None:
    os.mkfifo(path)


REPLACED = (make_file, make_link, make_dangling_link, make_hard_link)


@pytest.mark.parametrize("make", [*REPLACED, make_folder, make_pipe])
@pytest.mark.parametrize("name", NAMES)
def test_a_foreign_file_is_refused_and_stays(tmp_path, name, make):
    before = bystanders.plant(tmp_path / "out")
    elsewhere = tmp_path / "out.elsewhere"
    path = tmp_path / "out" / name
    path.parent.mkdir(exist_ok=True)
    make(path, elsewhere)
    before |= bystanders.seen(tmp_path / "out")
    said = message(lambda: write(tmp_path / "out"))
    assert str(path) in said
    assert "Move it away" in said
    assert bystanders.changes(before) == []
    if make in REPLACED:  # the name; what links lead to stays
        shared = bystanders.seen(elsewhere)
        write(tmp_path / "out", overwrite=True)
        assert path.read_text() == f"{name} 1"
        assert not path.is_symlink()
        assert bystanders.changes(shared) == []
    else:
        assert str(path) in message(lambda: write(tmp_path / "out", overwrite=True))
        assert bystanders.changes(before) == []


@pytest.mark.parametrize("name", NAMES)
def test_an_own_file_that_somebody_changed_is_not_replaced(tmp_path, name):
    write(tmp_path)
    (tmp_path / name).write_text("edited by hand")
    said = message(lambda: write(tmp_path, "2"))
    assert f"'{tmp_path / name}' is there already and has been changed since airrvec wrote it" in said
    assert content(tmp_path) == written("1") | {name: "edited by hand"}
    write(tmp_path, "2", overwrite=True)
    assert content(tmp_path) == written("2")
    write(tmp_path, "3")


def test_what_an_earlier_run_wrote_of_the_same_unit_is_deleted_if_it_is_unchanged(tmp_path):
    write(tmp_path)
    write(tmp_path, "2", names=("a.parquet",))
    assert content(tmp_path) == {"a.parquet": "a.parquet 2", "deep/b.txt": "deep/b.txt 1"}
    write(tmp_path, "3")
    (tmp_path / "a.tsv").write_text("edited by hand")
    write(tmp_path, "4", names=("a.parquet",), overwrite=True)
    assert content(tmp_path)["a.tsv"] == "edited by hand"


def test_a_block_that_fails_leaves_nothing(tmp_path):
    def fail():
        with outputs(tmp_path / "new/out").written() as staged:
            (staged / "a.tsv").write_text("x")
            raise InputError("no")

    assert message(fail) == "no."
    assert list(tmp_path.iterdir()) == []
    write(tmp_path / "new/out")
    assert message(fail) == "no."
    assert content(tmp_path / "new/out") == written("1")
    assert [path.name for path in (tmp_path / "new/out").glob(".*")] == [own_files.PLACE]


def test_a_file_that_appears_meanwhile_stays_and_so_do_the_results(tmp_path):
    def fail():
        with outputs(tmp_path).written() as staged:
            for name in NAMES[:2]:
                (staged / name).write_text(f"{name} 1")
            (tmp_path / "a.tsv").write_text("mine")

    said = message(fail)
    assert "The results are in" in said
    (kept,) = tmp_path.glob("airrvec.*")
    assert str(kept) in said
    assert content(kept) == written("1", NAMES[:2])
    assert content(tmp_path)["a.tsv"] == "mine"
    assert not (tmp_path / "a.parquet").exists()


def test_two_results_of_one_name_are_refused(tmp_path):
    """Sample a.cells has the annotation a.cells.parquet, and so has sample a its cells."""
    (tmp_path / "s.csv").write_text(f"sample,path\na,{FLU}\na.cells,{FLU}\n")
    args = cli.parser().parse_args(["annotate", str(tmp_path / "s.csv"), "--reference", str(FLU)])
    stated = verb_files.outputs(args, [sample.name for sample in verb_files.samples(args)])
    assert "two results of this command have the same name, 'a.cells.parquet'" in message(stated.check)
    twice = Outputs(tmp_path, (("É.tsv",), ("é.tsv",)))  # composed or not, large or small
    assert "have the same name" in message(twice.check)


def test_files_that_change_while_airrvec_works_are_claimed(tmp_path):
    claimed = Outputs(tmp_path, (("run/last.ckpt",),))
    claimed.claim()
    (tmp_path / "run").mkdir()
    (tmp_path / "run/last.ckpt").write_text("1")
    claimed.check()
    (tmp_path / "run/last.ckpt").write_text("2")
    claimed.claim()
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign/last.ckpt").write_text("mine")
    said = message(Outputs(tmp_path, (("foreign/last.ckpt",),)).claim)
    assert "was not written by this command" in said


def test_the_folder_itself_may_be_a_link(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "out").symlink_to("disk")
    write(tmp_path / "out")
    assert content(tmp_path / "disk") == written("1")
    assert (tmp_path / "out").is_symlink()


@pytest.mark.parametrize("kind", ["a file", "a link to nothing"])
def test_a_folder_that_is_none(tmp_path, kind):
    if kind == "a file":
        (tmp_path / "out").write_text("mine")
    else:
        (tmp_path / "out").symlink_to("nothing")
    before = bystanders.seen(tmp_path)
    assert "is not a folder" in message(lambda: write(tmp_path / "out"))
    assert bystanders.changes(before) == []


def test_what_the_disk_refuses_is_a_sentence():
    def refuse():
        with sentences_of_the_disk():
            raise OSError(30, "Read-only file system", "/x/a", None, "/x/b")

    assert (
        message(refuse)
        == "'/x/a' → '/x/b': Read-only file system. airrvec reads and writes there: give another place."
    )
    with pytest.raises(FileNotFoundError), sentences_of_the_disk():
        raise FileNotFoundError(2, "No such file", "/x")


@pytest.mark.parametrize("verb", LAST)
def test_every_verb_states_all_that_it_writes(verb, runs, tmp_path, monkeypatch):
    monkeypatch.chdir(prepare(tmp_path / "work", runs["flu"]).folder)
    words = [word if word != "out" else "new" for word in VERBS[verb]]
    words = [word.replace("out/", "new/") for word in words]
    args = cli.parser().parse_args([verb, *words])
    found = [] if verb in ("benchmark", "finetune") else verb_files.samples(args)
    stated = {*verb_files.outputs(args, [sample.name for sample in found]).names}
    if verb in ("finetune", "pretrain"):
        stated |= {*verb_files.checkpoints(args).names}
    cli.main([verb, *words])
    files = {path.relative_to("new").as_posix() for path in Path("new").rglob("*") if path.is_file()}
    listed = json.loads(Path("new", own_files.LIST).read_text())["files"]
    files -= {own_files.LIST, own_files.LOCK}
    assert files <= stated
    assert files <= listed.keys()
    # The samples have no γδ cells, and no scores are asked for.
    unwritten = ("checkpoints/", "gamma_delta/", "scores.parquet")
    assert [name for name in stated - files if not any(folder in name for folder in unwritten)] == []


@pytest.mark.parametrize("verb", [verb for verb in LAST if verb != "embed"])
def test_results_go_to_a_folder_of_their_own_unless_told_otherwise(verb):
    words = ["x.csv", *(("--reference", "y.csv") if verb == "annotate" else ())]
    assert cli.parser().parse_args([verb, *words]).outdir == Path(f"airrvec_{verb}")
