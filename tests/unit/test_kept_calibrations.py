"""Calibrations that runs share: taken if all is equal and nothing is damaged, and never a reason to fail."""

import os
import threading
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pytest

from airrvec.annotation import kept_calibrations
from airrvec.core import records, tables

KEY = "0" * 64


@pytest.fixture
def made(tmp_path) -> Path:
    """A folder of results, as the script writes them."""
    records.begin()
    outdir = tmp_path / "made"
    tables.write_both(pa.table({"x": [1, 2]}), outdir / "receptors")
    tables.write_json({"groups": []}, outdir / "calibration.qc.json")
    with (
        tables.atomic_path(outdir / "reference/homosapiens_beta.npz") as temporary,
        temporary.open("wb") as file,
    ):
        np.savez(file, vectors=np.arange(6.0))
    tables.write_text("not of the calibration", outdir / "other.txt")
    return outdir


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_is_kept_is_taken_byte_by_byte_and_recorded(made, tmp_path, capsys):
    kept = tmp_path / "a" / "kept"
    assert not kept_calibrations.take(kept, KEY, tmp_path / "taken")
    kept_calibrations.keep(kept, KEY, made)
    records.begin()
    assert kept_calibrations.take(kept, KEY, tmp_path / "taken")
    expected = {name: content for name, content in contents(made).items() if name != "other.txt"}
    assert contents(tmp_path / "taken") == expected
    noted = {str(path.relative_to(tmp_path / "taken")) for path in records.noted()}
    assert noted == expected.keys()  # and not the kept file itself
    assert capsys.readouterr().err == f"calibration: taken from {kept / KEY}.tar.zst\n"
    assert not kept_calibrations.take(kept, "1" * 64, tmp_path / "another")


def test_equal_calibrations_are_equal_files(made, tmp_path):
    for name in ("one", "two"):
        kept_calibrations.keep(tmp_path / name, KEY, made)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


@pytest.mark.parametrize("damage", ["a byte", "the end", "all", "no seal"])
def test_a_damaged_one_is_set_aside_and_made_again(made, tmp_path, capsys, damage):
    kept_calibrations.keep(tmp_path / "kept", KEY, made)
    (path,) = (tmp_path / "kept").iterdir()
    whole = path.read_bytes()
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    path.write_bytes({"a byte": flipped, "the end": whole[:-1], "all": b"", "no seal": whole[:-48]}[damage])
    assert not kept_calibrations.take(tmp_path / "kept", KEY, tmp_path / "taken")
    assert not (tmp_path / "taken").exists()
    assert [found.name for found in (tmp_path / "kept").iterdir()] == [f"{KEY}.damaged"]
    (line,) = capsys.readouterr().err.splitlines()
    assert "is damaged" in line
    assert "made again" in line
    kept_calibrations.keep(tmp_path / "kept", KEY, made)
    assert kept_calibrations.take(tmp_path / "kept", KEY, tmp_path / "taken")


def test_a_name_that_no_calibration_has_is_refused(made, tmp_path, monkeypatch):
    monkeypatch.setattr(kept_calibrations, "_RESULTS", {"other.txt"})
    kept_calibrations.keep(tmp_path / "kept", KEY, made)
    monkeypatch.undo()
    assert not kept_calibrations.take(tmp_path / "kept", KEY, tmp_path / "taken")
    assert not (tmp_path / "taken").exists()


@pytest.mark.parametrize("problem", [PermissionError(13, "Permission denied"), OSError(28, "No space left")])
def test_a_folder_that_cannot_be_written_fails_nothing(made, tmp_path, capsys, monkeypatch, problem):
    def refuse(*_):
        raise problem

    monkeypatch.setattr(os, "replace", refuse)
    kept_calibrations.keep(tmp_path / "kept", KEY, made)
    (line,) = capsys.readouterr().err.splitlines()
    assert (
        line == f"calibration: not kept in {tmp_path / 'kept'} ({problem.strerror}); other runs make it again"
    )
    assert [*(tmp_path / "kept").iterdir()] == []


def test_a_file_in_place_of_the_folder_fails_nothing(made, tmp_path, capsys):
    (tmp_path / "kept").write_text("")
    assert not kept_calibrations.take(tmp_path / "kept", KEY, tmp_path / "taken")
    kept_calibrations.keep(tmp_path / "kept", KEY, made)
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_a_read_only_folder_is_read(made, tmp_path, monkeypatch):
    kept_calibrations.keep(tmp_path / "kept", KEY, made)

    def refuse(*_):
        raise PermissionError(30, "Read-only file system")

    monkeypatch.setattr(os, "utime", refuse)
    assert kept_calibrations.take(tmp_path / "kept", KEY, tmp_path / "taken")


def test_several_runs_at_once(made, tmp_path):
    """All write the same file, while others read it: each reads a whole one or none."""
    taken, writers = (
        [],
        [threading.Thread(target=keep_often, args=(tmp_path / "kept", made)) for _ in range(3)],
    )
    for thread in writers:
        thread.start()
    while any(thread.is_alive() for thread in writers) or not taken:
        if kept_calibrations.take(tmp_path / "kept", KEY, tmp_path / "taken"):
            taken.append(contents(tmp_path / "taken"))
    for thread in writers:
        thread.join()
    assert all(one == taken[0] for one in taken)
    assert [path.name for path in (tmp_path / "kept").iterdir()] == [f"{KEY}.tar.zst"]


def keep_often(folder: Path, made: Path) -> None:
    for _ in range(10):
        kept_calibrations._write_sealed(
            folder, KEY, made, [path for path in made.rglob("*") if path.is_file()]
        )


def test_the_ones_not_used_for_longest_and_what_a_killed_run_left_are_deleted(made, tmp_path):
    kept = tmp_path / "kept"
    for number in range(kept_calibrations.N_KEPT):
        kept_calibrations.keep(kept, f"{number:064}", made)
        os.utime(kept / f"{number:064}.tar.zst", (number, number))
    for name, age in ((".old.tmp", 0), (".new.tmp", 2**40)):
        (kept / name).touch()
        os.utime(kept / name, (age, age))
    assert kept_calibrations.take(kept, f"{0:064}", tmp_path / "taken")  # used now
    kept_calibrations.keep(kept, "new", made)
    left = {path.name for path in kept.iterdir()}
    numbers = [0, *range(2, kept_calibrations.N_KEPT)]
    assert left == {*(f"{number:064}.tar.zst" for number in numbers), "new.tar.zst", ".new.tmp"}


def test_the_digest_depends_on_all_that_the_results_do(tmp_path, monkeypatch):
    model, script = tmp_path / "model", tmp_path / "script.py"
    model.mkdir()
    paths = [model / "weights", script, tmp_path / "cells.parquet"]
    for path in paths:
        path.write_text(path.name)

    def found(settings=None):
        inputs = {"cells": tmp_path / "cells.parquet", "background": None}
        return kept_calibrations.digest(script, model, inputs, settings or {"seed": 1})

    digests = [found(), found({"seed": 2})]
    for path in paths:
        path.write_text("changed")
        digests.append(found())
    monkeypatch.setattr(kept_calibrations, "version", lambda _name: "99")
    digests.append(found())
    monkeypatch.setattr(kept_calibrations.platform, "machine", lambda: "other")
    digests.append(found())
    library = tmp_path / "library"
    library.mkdir()
    monkeypatch.setattr(kept_calibrations, "_LIBRARY", library)
    digests.append(found())
    (library / "new.py").write_text("")
    digests.append(found())
    assert len(set(digests)) == len(digests)
    assert found() == digests[-1]


def test_the_folder_of_the_environment_and_of_the_user(monkeypatch):
    for name in ("/a/$(touch x) 'b'", "/50 %/ä"):
        monkeypatch.setenv("AIRRVEC_CALIBRATIONS", quote(name))
        assert kept_calibrations.user_folder() == kept_calibrations.shared_folder() == name
        assert kept_calibrations.folder(name) == Path(name)
    monkeypatch.setenv("AIRRVEC_CALIBRATIONS", "none")
    assert kept_calibrations.folder(kept_calibrations.shared_folder()) is None
    monkeypatch.delenv("AIRRVEC_CALIBRATIONS")
    assert kept_calibrations.folder(kept_calibrations.shared_folder()) is None
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert kept_calibrations.user_folder() == "/cache/airrvec/calibrations"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert kept_calibrations.user_folder() == "/home/me/.cache/airrvec/calibrations"
