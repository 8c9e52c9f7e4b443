"""The bystanders themselves: whatever happens to a foreign file is noticed."""

import os
import shutil

import pytest

import bystanders


def test_nothing_has_changed(tmp_path):
    before = bystanders.plant(tmp_path / "out")
    (tmp_path / "out/new.txt").write_text("of airrvec")
    (tmp_path / "out/samples/new.txt").write_text("of airrvec")
    assert bystanders.changes(before) == []


def rewritten(path):
    """Return a function that puts a file with the same content, permissions and time in its place."""
    copy = path.with_name("copy")
    shutil.copy2(path, copy)
    copy.rename(path)


@pytest.mark.parametrize(
    ("name", "harm", "words"),
    [
        ("notes.txt", lambda path: path.write_text("x"), "content"),
        ("notes.txt", lambda path: path.unlink(), "gone"),
        ("notes.txt", lambda path: path.rename(path.with_name("moved")), "gone"),
        ("notes.txt", lambda path: path.chmod(0o600), "permissions"),
        ("notes.txt", lambda path: os.utime(path), "time of change"),
        ("notes.txt", rewritten, "identity"),
        ("link to a file", lambda path: path.unlink() or path.write_text("x"), "was a link, is a file"),
        ("link to a file", lambda path: path.write_text("x"), "one.txt: time of change, content"),
        ("link to a folder", lambda path: (path / "new").write_text("x"), "added ['new']"),
        ("link to nothing", lambda path: path.write_text("x"), "added ['nothing']"),
        ("hard link", lambda path: path.write_text("x"), "three.txt: time of change, content"),
        ("samples/freezer", shutil.rmtree, "gone"),
    ],
)
def test_every_harm_is_noticed(tmp_path, name, harm, words):
    before = bystanders.plant(tmp_path / "out")
    harm(tmp_path / "out" / name)
    assert words in "\n".join(bystanders.changes(before))


def test_a_folder_that_was_seen_gets_no_new_member(tmp_path):
    (tmp_path / "in/deep").mkdir(parents=True)
    (tmp_path / "in/deep/a.csv").write_text("a")
    before = bystanders.seen(tmp_path / "in")
    assert bystanders.changes(before) == []
    (tmp_path / "in/deep/b.csv").write_text("b")
    assert "added ['b.csv']" in "\n".join(bystanders.changes(before))
