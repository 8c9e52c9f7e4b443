"""
References and calibrations that runs share.

They are taken if all is equal and nothing is damaged, and are never a reason to fail. Nothing in their folder
changes but what is airrvec's.
"""

import os
import threading
from pathlib import Path
from urllib.parse import quote

from airrvec.core import kept_results, records, tables

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import bystanders
import merge_references
import normalise_receptors

KEY = "0" * 64
ROOT = Path(__file__).parents[2]
MARKER = kept_results.MARKER


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
    assert not kept_results.take(kept, KEY, tmp_path / "taken")
    kept_results.keep(kept, KEY, made)
    records.begin()
    assert kept_results.take(kept, KEY, tmp_path / "taken")
    expected = {name: content for name, content in contents(made).items() if name != "other.txt"}
    assert contents(tmp_path / "taken") == expected
    noted = {str(path.relative_to(tmp_path / "taken")) for path in records.noted()}
    assert noted == expected.keys()  # and not the kept file itself
    assert capsys.readouterr().err == f"calibration: taken from {kept / KEY}.tar.zst\n"
    assert not kept_results.take(kept, "1" * 64, tmp_path / "another")


def test_equal_calibrations_are_equal_files(made, tmp_path):
    for name in ("one", "two"):
        kept_results.keep(tmp_path / name, KEY, made)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def refused_by_take(folder: Path, outdir: Path, capsys) -> None:
    assert not kept_results.take(folder, KEY, outdir)
    assert not outdir.exists()
    (line,) = capsys.readouterr().err.splitlines()
    assert "is damaged" in line
    assert "made again" in line


@pytest.mark.parametrize("damage", ["a byte", "broken archive", "no archive"])
def test_a_damaged_one_is_replaced(made, tmp_path, capsys, damage):
    kept = tmp_path / "kept"
    kept_results.keep(kept, KEY, made)
    path = kept / f"{KEY}.tar.zst"
    whole = path.read_bytes()
    middle = len(whole) // 2
    if damage == "a byte":
        path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
    else:
        path.write_bytes(whole[:middle] if damage == "broken archive" else b"words")
        records.seal(path)
    refused_by_take(kept, tmp_path / "taken", capsys)
    kept_results.keep(kept, KEY, made)
    assert path.read_bytes() == whole
    assert kept_results.take(kept, KEY, tmp_path / "taken")


@pytest.mark.parametrize("what", ["the end is missing", "empty", "no seal", "pipe", "link", "folder"])
def test_what_is_not_of_airrvec_stays_under_the_name_of_a_calibration(made, tmp_path, capsys, what):
    kept = tmp_path / "kept"
    kept_results.keep(kept, KEY, made)
    path = kept / f"{KEY}.tar.zst"
    whole = path.read_bytes()
    path.unlink()
    match what:
        case "pipe":
            os.mkfifo(path)
        case "link":
            (tmp_path / "whole").write_bytes(whole)
            path.symlink_to("../whole")
        case "folder":
            path.mkdir()
        case _:
            path.write_bytes({"the end is missing": whole[:-1], "empty": b"", "no seal": whole[:-48]}[what])
    before = bystanders.seen(tmp_path)
    refused_by_take(kept, tmp_path / "taken", capsys)
    kept_results.keep(kept, KEY, made)
    assert capsys.readouterr().err.endswith(
        f"{path.name} is not of airrvec: move it away); other runs make it again\n"
    )
    assert bystanders.changes(before) == []


def test_files_of_others_stay(made, tmp_path):
    """Those of other names though they have a seal, and that of a calibration's name without a seal."""
    kept = tmp_path / "kept"
    before = bystanders.plant(kept)
    names = (f"{KEY[1:]}.tar.zst", f"{KEY}.damaged", f"{KEY}.tar", f".{KEY}.tmp", "mine.tar.zst")
    for name in (*names, f"{'f' * 64}.tar.zst"):
        (kept / name).write_text("of the user")
        if name in names:
            records.seal(kept / name)
        os.utime(kept / name, (1, 1))
        before |= bystanders.seen(kept / name)
    keys = [f"{number:064}" for number in range(kept_results.N_KEPT + 2)]
    for number, key in enumerate(keys):
        kept_results.keep(kept, key, made)
        os.utime(kept / f"{key}.tar.zst", (number + 2, number + 2))
    assert bystanders.changes(before) == []
    assert [key for key in keys if (kept / f"{key}.tar.zst").exists()] == keys[2:]


@pytest.mark.parametrize("what", ["file", "folder", "link"])
def test_nothing_is_kept_where_the_marker_is_of_others(made, tmp_path, capsys, what):
    marker = tmp_path / "kept" / MARKER
    before = bystanders.plant(tmp_path / "kept")
    match what:
        case "file":
            marker.write_text("of the user")
        case "folder":
            marker.mkdir()
        case "link":
            marker.symlink_to("notes.txt")
    before |= bystanders.seen(tmp_path / "kept")
    kept_results.keep(tmp_path / "kept", KEY, made)
    assert f"{MARKER} is not of airrvec: move it away" in capsys.readouterr().err
    assert bystanders.changes(before) == []


def test_a_name_that_no_calibration_has_is_refused(made, tmp_path, monkeypatch):
    monkeypatch.setattr(kept_results, "_RESULTS", {"other.txt"})
    kept_results.keep(tmp_path / "kept", KEY, made)
    monkeypatch.undo()
    assert not kept_results.take(tmp_path / "kept", KEY, tmp_path / "taken")
    assert not (tmp_path / "taken").exists()


@pytest.mark.parametrize("problem", [PermissionError(13, "Permission denied"), OSError(28, "No space left")])
def test_a_folder_that_cannot_be_written_fails_nothing(made, tmp_path, capsys, monkeypatch, problem):
    def refuse(*_):
        raise problem

    monkeypatch.setattr(os, "replace", refuse)
    kept_results.keep(tmp_path / "kept", KEY, made)
    (line,) = capsys.readouterr().err.splitlines()
    assert (
        line == f"calibration: not kept in {tmp_path / 'kept'} ({problem.strerror}); other runs make it again"
    )
    assert [path.name for path in (tmp_path / "kept").iterdir()] == [MARKER]


def test_a_file_in_place_of_the_folder_fails_nothing(made, tmp_path, capsys):
    (tmp_path / "kept").write_text("")
    assert not kept_results.take(tmp_path / "kept", KEY, tmp_path / "taken")
    kept_results.keep(tmp_path / "kept", KEY, made)
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_a_read_only_folder_is_read(made, tmp_path, monkeypatch):
    kept_results.keep(tmp_path / "kept", KEY, made)

    def refuse(*_):
        raise PermissionError(30, "Read-only file system")

    monkeypatch.setattr(os, "utime", refuse)
    assert kept_results.take(tmp_path / "kept", KEY, tmp_path / "taken")


def test_several_runs_at_once(made, tmp_path):
    """All write the same file, while others read it: each reads a whole one or none."""
    taken, writers = (
        [],
        [threading.Thread(target=keep_often, args=(tmp_path / "kept", made)) for _ in range(3)],
    )
    (made / "other.txt").unlink()
    for thread in writers:
        thread.start()
    while any(thread.is_alive() for thread in writers) or not taken:
        if kept_results.take(tmp_path / "kept", KEY, tmp_path / "taken"):
            taken.append(contents(tmp_path / "taken"))
    for thread in writers:
        thread.join()
    assert all(one == taken[0] for one in taken)
    assert [path.name for path in (tmp_path / "kept").iterdir()] == [f"{KEY}.tar.zst"]


def keep_often(folder: Path, made: Path) -> None:
    results = sorted(contents(made).items())
    for _ in range(10):
        kept_results._write_sealed(folder / f"{KEY}.tar.zst", results)


def test_the_ones_not_used_for_longest_and_what_a_killed_run_left_are_deleted(made, tmp_path):
    kept = tmp_path / "kept"
    for number in range(kept_results.N_KEPT):
        kept_results.keep(kept, f"{number:064}", made)
        os.utime(kept / f"{number:064}.tar.zst", (number, number))
    abandoned, young = (kept / f".{KEY}.tar.zst.42-{digits}.tmp" for digits in ("abcdef01", "abcdef02"))
    for path, age in ((abandoned, 0), (young, 2**40)):
        path.touch()
        os.utime(path, (age, age))
    assert kept_results.take(kept, f"{0:064}", tmp_path / "taken")  # used now
    kept_results.keep(kept, "a" * 64, made)
    left = {path.name for path in kept.iterdir()}
    numbers = [0, *range(2, kept_results.N_KEPT)]
    names = {*(f"{number:064}.tar.zst" for number in numbers), f"{'a' * 64}.tar.zst"}
    assert left == names | {young.name, MARKER}


def test_a_normalised_reference_and_its_merge_are_taken(tmp_path, capsys):
    """Once for each table, and never for one that has changed or is no reference."""
    table, kept, made = tmp_path / "known.csv", tmp_path / "kept", []

    def run(name: str, *options: str) -> list[bool]:
        """Return whether the normalised table and its merge are taken."""
        outdir = tmp_path / name
        words = (table, "--sample", "one", "--format", "tcrdist", "--outdir", outdir, *options)
        normalise_receptors.main([*map(str, words), "--calibrations", str(kept)])
        words = ("--sources", "one", "--tables", outdir, "--outdir", outdir / "merged")
        merge_references.main([*map(str, words), "--calibrations", str(kept)])
        said = capsys.readouterr().err.splitlines()
        assert said[-1].endswith("and counts as one with it: PMID:2 = PMID:1")
        assert "one: count = count (copies) · a row is a clonotype; counted in cells" in said
        made.append(contents(outdir))
        return [
            f"{what}: taken from" in "".join(said) for what in ("normalised reference", "merged reference")
        ]

    rows = pd.read_csv(ROOT / "assets/demo/dash_human.csv").head(30)
    pd.concat([rows.assign(reference_id="PMID:1"), rows.assign(reference_id="PMID:2")]).to_csv(
        table, index=False
    )
    assert [run("first", "--part", "reference"), run("second", "--part", "reference")] == [
        [False] * 2,
        [True] * 2,
    ]
    assert made[0] == made[1]
    assert {"one.cells.parquet", "one.rejects.parquet", "merged/sources.tsv"} < made[0].keys()
    assert run("sample") == [False, True]
    assert len([*kept.glob("*.tar.zst")]) == 2
    pd.read_csv(table).tail(59).to_csv(table, index=False)
    assert run("changed", "--part", "reference") == [False] * 2


def test_the_digest_depends_on_all_that_the_results_do(tmp_path, monkeypatch):
    model, script = tmp_path / "model", tmp_path / "script.py"
    model.mkdir()
    paths = [model / "weights", script, tmp_path / "cells.parquet"]
    for path in paths:
        path.write_text(path.name)

    def found(settings=None):
        inputs = {"cells": tmp_path / "cells.parquet", "background": None}
        return kept_results.digest(script, model, inputs, settings or {"seed": 1})

    digests = [found(), found({"seed": 2})]
    for path in paths:
        path.write_text("changed")
        digests.append(found())
    monkeypatch.setattr(kept_results, "version", lambda _name: "99")
    digests.append(found())
    monkeypatch.setattr(kept_results.platform, "machine", lambda: "other")
    digests.append(found())
    library = tmp_path / "library"
    library.mkdir()
    monkeypatch.setattr(kept_results, "_LIBRARY", library)
    digests.append(found())
    (library / "new.py").write_text("")
    digests.append(found())
    assert len(set(digests)) == len(digests)
    assert found() == digests[-1]


def test_the_folder_of_the_environment_and_of_the_user(monkeypatch):
    for name in ("/a/$(touch x) 'b'", "/50 %/ä"):
        monkeypatch.setenv("AIRRVEC_CALIBRATIONS", quote(name))
        assert kept_results.user_folder() == kept_results.shared_folder() == name
        assert kept_results.folder(name) == Path(name)
    monkeypatch.setenv("AIRRVEC_CALIBRATIONS", "none")
    assert kept_results.folder(kept_results.shared_folder()) is None
    monkeypatch.delenv("AIRRVEC_CALIBRATIONS")
    assert kept_results.folder(kept_results.shared_folder()) is None
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert kept_results.user_folder() == "/cache/airrvec/calibrations"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert kept_results.user_folder() == "/home/me/.cache/airrvec/calibrations"
