"""An index beside foreign files, after kills, on a disk that refuses, and of results that were moved."""

import errno
import os
import shutil
import signal
from pathlib import Path

from airrvec.app import cli, folders
from airrvec.core import tables

import pyarrow as pa
import pytest
import results_folder
from finished_runs import found, problem, write_run
from inputs import DATA
from verbs_at_work import KILL, TO_ITS_PLACE, Place

import bystanders


@pytest.fixture
def index(made, tmp_path) -> Path:
    shutil.copytree(made, tmp_path / "index")
    return tmp_path / "index"


def add(results, index, capsys, *words: str) -> str:
    capsys.readouterr()
    cli.main(["index", str(results), "--index", str(index), "--threads", "1", *words])
    return capsys.readouterr().out


def listed(index, capsys) -> tuple[list[str], list[str]]:
    """Return the lines on the runs of an index, and the notes."""
    capsys.readouterr()
    cli.main(["index", "--index", str(index)])
    said = capsys.readouterr()
    return said.out.splitlines(), said.err.splitlines()


def plant(index: Path) -> bystanders.State:
    """Write foreign files and folders into all folders of an index, and what an earlier version left."""
    before = {}
    for folder in (index, index / "runs", index / "classes"):
        before |= bystanders.plant(folder)
    for path in (index / "runs/mine", index / "classes/mine", index / "runs/.old.4242-abcdef01.tmp"):
        path.mkdir()
        (path / "about.json").write_text("{}")
        before |= bystanders.seen(path)
    return before


def test_foreign_files_stay_and_are_named(runs, index, tmp_path, capsys):
    before = plant(index)
    lines, notes = listed(index, capsys)
    assert len(lines) == 2
    told = [note for note in notes if note.startswith("NOTE: ")]
    for name in ("runs/mine", "classes/mine", "runs/notes.txt"):
        assert f"NOTE: {index / name} stays: it is not of airrvec" in told
    assert f"NOTE: {index / 'runs/.old.4242-abcdef01.tmp'} stays: a killed process may have left it" in (
        "\n".join(told)
    )
    results = write_run(tmp_path / "run", {"a": DATA / "10x.csv"})
    add(results, index, capsys)
    assert len(found(index, tmp_path / "out.parquet", DATA / "10x.csv", "--k", 1)) > 0
    cli.main(["index", "--index", str(index), "--check"])
    cli.main(["index", "--index", str(index), "--remove", str(results)])
    assert len(listed(index, capsys)[0]) == 2
    assert bystanders.changes(before) == []


@pytest.mark.parametrize("n", [1, 2, 5])
def test_what_a_killed_process_left_is_removed(runs, n, tmp_path, capsys):
    """It is killed before the index, one of its classes, or the run has its name."""
    place = Place(tmp_path, bystanders.plant(tmp_path / "out"))
    few = ("--background", "200")
    words = ("index", runs["flu"], "--index", "out/index", *few, "--threads", "1")
    code = KILL.format(n=n, condition=TO_ITS_PLACE)
    assert place.process(*words, code=code).returncode == -signal.SIGKILL
    assert [name for name in place.content() if ".tmp/airrvec.lock" in name]
    add(runs["flu"], tmp_path / "out/index", capsys, *(few if n == 1 else ()))  # no index yet
    listed(tmp_path / "out/index", capsys)
    assert [name for name in place.content() if "airrvec.lock" in name] == []
    assert place.changes() == []


def test_a_process_that_is_killed_while_it_removes_a_run(runs, index, tmp_path, capsys):
    code = "import os, shutil, signal\nshutil.rmtree = lambda *_: os.kill(os.getpid(), signal.SIGKILL)"
    words = ("index", "--index", index, "--remove", runs["flu"])
    assert Place(tmp_path, {}).process(*words, code=code).returncode == -signal.SIGKILL
    assert len([path for path in (index / "runs").iterdir() if folders.is_named(path)]) == 1
    assert len(listed(index, capsys)[0]) == 1
    assert len([*(index / "runs").iterdir()]) == 1


@pytest.mark.parametrize("part", ["runs", "classes"])
def test_a_part_that_is_a_link_is_not_written_through(runs, index, part, tmp_path, capsys):
    (index / part).rename(tmp_path / "elsewhere")
    (index / part).symlink_to(tmp_path / "elsewhere")
    if part == "classes":
        shutil.rmtree(tmp_path / "elsewhere/homosapiens.paired")
    before = bystanders.seen(tmp_path)
    results = write_run(tmp_path / "run", {"a": DATA / "10x.csv"})
    assert "is a link out of the index" in problem(capsys, "index", results, "--index", index)
    if part == "runs":
        said = problem(capsys, "index", "--index", index, "--remove", runs["flu"])
        assert "is a link out of the index" in said
    assert [line for line in bystanders.changes(before) if "['run']" not in line] == []


def test_a_run_with_a_file_of_the_user_is_not_removed(runs, index, capsys):
    (name,) = [line.split()[0] for line in listed(index, capsys)[0] if str(runs["flu"]) in line]
    note = index / "runs" / name / "receptors/notes.txt"
    note.write_text("mine")
    before = bystanders.seen(index)
    assert f"'{note}' is not of airrvec" in problem(capsys, "index", "--index", index, "--remove", name)
    assert bystanders.changes(before) == []


def test_a_folder_that_is_no_index_is_not_called_a_damaged_one(runs, tmp_path, capsys):
    """No advice may lead to the loss of a project's folder."""
    project = tmp_path / "project"
    before = bystanders.plant(project)
    for words in ((runs["flu"],), ("--remove", "x"), ("--check",)):
        said = problem(capsys, "index", *words, "--index", project)
        assert "Remove" not in said
    (project / "about.json").write_text('{"title": "my project"}')
    before |= bystanders.seen(project)
    said = problem(capsys, "index", runs["flu"], "--index", project)
    assert "if not, give another --index" in said
    assert "Remove" not in said
    assert bystanders.changes(before) == []


def test_a_disk_that_refuses_is_a_sentence(runs, index, tmp_path, capsys, monkeypatch):
    before = bystanders.seen(index)

    def refuse(path, target=None, **_):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path), None, target and str(target))

    results = write_run(tmp_path / "run", {"a": DATA / "10x.csv"})
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", refuse)
        said = problem(capsys, "index", "--index", index, "--remove", runs["flu"])
    assert "Read-only file system. airrvec reads and writes there" in said
    with monkeypatch.context() as patch:
        patch.setattr(os, "mkdir", refuse)
        said = problem(capsys, "index", results, "--index", index)
    assert "Read-only file system. airrvec reads and writes there" in said
    assert bystanders.changes(before) == []


def test_results_that_were_moved_and_changed_replace_their_earlier_state(index, tmp_path, capsys):
    results = write_run(tmp_path / "run", {"a": DATA / "10x.csv", "b": DATA / "bd.csv"})
    add(results, index, capsys)
    n = len(listed(index, capsys)[0])
    moved = results.rename(tmp_path / "moved")
    assert "is in the index already" in add(moved, index, capsys)
    shutil.rmtree(tmp_path / "run")
    samples = {"a": DATA / "10x.csv", "b": DATA / "mixcr.tsv", "c": DATA / "trust4.tsv"}
    changed = write_run(tmp_path / "run", samples).rename(tmp_path / "changed")
    said = add(changed, index, capsys)
    assert f"in place of its earlier state from {results}" in said
    assert "twice" not in said
    lines, _ = listed(index, capsys)
    assert len(lines) == n
    assert [line for line in lines if line.endswith(str(changed))]
    answers = found(index, tmp_path / "out.parquet", DATA / "10x.csv", "--radius", 0)
    assert str(changed) in set(answers["run"])
    assert str(results) not in set(answers["run"])


def relabelled(results: Path) -> Path:
    """Give all cells a metadata column more, as a samplesheet with it would."""
    for path in (results / "cells").glob("*.parquet"):
        cells = tables.read(path)
        tables.write(cells.append_column("tissue", pa.array(["blood"] * len(cells))), path)
    results_folder.write_manifest(results)
    return results


def test_a_sample_is_known_by_its_receptors_whatever_is_said_of_it(index, tmp_path, capsys):
    results = write_run(tmp_path / "run", {"a": DATA / "10x.csv"})
    add(results, index, capsys)
    moved = relabelled(results.rename(tmp_path / "moved"))
    assert f"in place of its earlier state from {results}" in add(moved, index, capsys)


def test_samples_that_are_in_two_runs_are_named(index, tmp_path, capsys):
    """The other run is still where it was, or has a sample that these results lack: nothing is removed."""
    first = write_run(tmp_path / "first", {"a": DATA / "10x.csv", "b": DATA / "bd.csv"})
    add(first, index, capsys)
    n = len(listed(index, capsys)[0])
    second = write_run(
        tmp_path / "second", {"a": DATA / "10x.csv", "b": DATA / "bd.csv", "c": DATA / "mixcr.tsv"}
    )
    assert f"2 samples (a, b) also in {first}, and counted twice" in add(second, index, capsys)
    assert len(listed(index, capsys)[0]) == n + 1
    shutil.rmtree(tmp_path / "first")
    third = write_run(tmp_path / "third", {"a": DATA / "10x.csv"})
    said = add(third, index, capsys)
    assert f"1 sample (a) also in {first}, and counted twice" in said
    assert f"1 sample (a) also in {second}, and counted twice" in said
    assert len(listed(index, capsys)[0]) == n + 2


def test_another_number_of_background_receptors_is_refused(runs, index, tmp_path, capsys):
    results = write_run(tmp_path / "run", {"a": DATA / "10x.csv"})
    said = problem(capsys, "index", results, "--index", index, "--background", "5")
    assert "has 400 background receptors, not 5" in said
    for number in ("-5", "0", "many"):
        with pytest.raises(SystemExit) as ended:
            cli.main(["index", str(results), "--index", str(tmp_path / "new"), "--background", number])
        assert ended.value.code == 2
    assert "--background: 0 is less than 1" in capsys.readouterr().err
