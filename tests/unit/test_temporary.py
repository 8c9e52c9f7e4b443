"""Temporary folders: those of dead processes are removed, all others stay."""

import os
import signal
import subprocess
import sys

from airrvec.app import folders

import pytest
from inputs import ROOT

import bystanders

DIE = """
import os, signal, sys
from pathlib import Path
from airrvec.app import folders
with folders.new(Path(sys.argv[1])) as folder:
    (folder / "deep").mkdir()
    (folder / "deep/half").write_text("x")
    print(folder, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def killed(target) -> str:
    """Return the folder of a process that was killed."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT / "bin")}
    given = [sys.executable, "-c", DIE, str(target)]
    done = subprocess.run(given, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL
    return done.stdout.strip()


def test_a_folder_is_there_while_its_block_runs(tmp_path):
    with folders.new(tmp_path / "x") as folder:
        assert folder.parent == tmp_path
        assert folders.is_named(folder)
        assert folders.remove_abandoned(tmp_path) == []
        assert folder.is_dir()
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_a_killed_process_is_removed(tmp_path):
    before = bystanders.plant(tmp_path)
    left = killed(tmp_path / "x")
    assert os.path.isdir(left)
    assert folders.remove_abandoned(tmp_path, "y") == []
    assert os.path.isdir(left)
    with folders.new(tmp_path / "x") as other:
        assert folders.remove_abandoned(tmp_path, "x") == []
        assert not os.path.exists(left)
        assert other.is_dir()
    assert bystanders.changes(before) == []


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_what_is_only_named_so_stays(tmp_path, kind):
    path = tmp_path / ".x.1-abcdef01.tmp"
    if kind == "file":
        path.write_text("mine")
    elif kind == "link":
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / folders.LOCK).touch()
        path.symlink_to("mine")
    else:
        path.mkdir()
        (path / "mine.txt").write_text("mine")
    before = bystanders.seen(tmp_path)
    assert folders.remove_abandoned(tmp_path) == ([path] if kind == "folder" else [])
    assert bystanders.changes(before) == []


def test_an_empty_one_is_of_a_process_that_was_killed_at_its_start(tmp_path):
    (tmp_path / ".x.1-abcdef01.tmp").mkdir()
    (tmp_path / ".notes.tmp").mkdir()
    assert folders.remove_abandoned(tmp_path) == []
    assert [path.name for path in tmp_path.iterdir()] == [".notes.tmp"]


def test_a_lock_that_somebody_deletes_meanwhile_is_taken_again(tmp_path, monkeypatch):
    """Another process took the new folder for an abandoned one, before its lock was there."""
    flock, deleted = folders.fcntl.flock, []

    def slow(descriptor, operation):
        if not deleted:
            (folder,) = tmp_path.iterdir()
            deleted.append(folder)
            folders.remove(folder)
        return flock(descriptor, operation)

    monkeypatch.setattr(folders.fcntl, "flock", slow)
    with folders.new(tmp_path / "x") as folder:
        assert folder.is_dir()
        assert folder != deleted[0]
