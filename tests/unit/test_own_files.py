"""The list of the files that the command wrote into a folder: whole, or refused; right after a kill."""

import os
import threading
from contextlib import suppress

from airrvec.app import own_files
from airrvec.app.outputs import Outputs
from airrvec.core.errors import InputError

import pytest
from small_outputs import NAMES, content, message, write, written

import bystanders


@pytest.mark.parametrize("text", ["not JSON", "{}", "[]", '{"format": 1, "files": {}, "sha256": "0"}'])
def test_a_foreign_or_damaged_list_is_not_replaced(tmp_path, text):
    (tmp_path / own_files.PLACE).mkdir()
    (tmp_path / own_files.LIST).write_text(text)
    before = bystanders.seen(tmp_path)
    for overwrite in (False, True):
        said = message(lambda overwrite=overwrite: write(tmp_path, overwrite=overwrite))
        assert own_files.LIST in said
        assert "Move it away" in said
    assert bystanders.changes(before) == []


@pytest.mark.parametrize("kind", ["a file", "a link"])
def test_a_place_of_the_list_that_is_no_folder(tmp_path, kind):
    bystanders.plant(tmp_path)
    if kind == "a file":
        (tmp_path / own_files.PLACE).write_text("mine")
    else:
        (tmp_path / own_files.PLACE).symlink_to("samples")
    before = bystanders.seen(tmp_path)
    assert f"'{tmp_path / own_files.PLACE}' is no folder" in message(lambda: write(tmp_path))
    assert bystanders.changes(before) == []


def test_every_changed_byte_of_the_list_is_noticed(tmp_path):
    write(tmp_path)
    path = tmp_path / own_files.LIST
    whole = path.read_bytes()
    states = own_files.read(tmp_path)
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with suppress(InputError):
            assert own_files.read(tmp_path) == states  # white space
    for size in range(1, len(whole) - 1):
        path.write_bytes(whole[:size])
        message(lambda: own_files.read(tmp_path))


def test_a_kill_at_any_moment_leaves_files_that_the_next_run_may_replace(tmp_path, monkeypatch):
    """The first and the second run into a folder, before each file or list gets its name."""
    replace = os.replace
    for text, earlier in (("1", {}), ("2", written("1"))):
        for n in range(1, 100):
            folder, count = tmp_path / f"{text}.{n}", 0
            if earlier:
                write(folder)

            def die(source, target, n=n, **options):
                nonlocal count
                count += 1
                if count >= n:  # a dead process does nothing more
                    raise KeyboardInterrupt
                return replace(source, target, **options)

            with monkeypatch.context() as patch:
                patch.setattr(os, "replace", die)
                try:
                    write(folder, text)
                except KeyboardInterrupt:
                    pass
                else:
                    break
            new = written(text)
            assert {name: words for name, words in content(folder).items() if words != new[name]}.items() <= (
                earlier.items()
            )
            write(folder, "3")
            assert content(folder) == written("3")
        assert n > len(NAMES)


def test_several_processes_may_write_into_one_folder(tmp_path):
    """Each its own files; the list names all."""

    def add(number: int) -> None:
        for text in ("1", "2"):
            with Outputs(tmp_path / "out", ((f"{number}.tsv",),)).written() as staged:
                (staged / f"{number}.tsv").write_text(text)

    together = [threading.Thread(target=add, args=(number,)) for number in range(8)]
    for thread in together:
        thread.start()
    for thread in together:
        thread.join()
    names = {f"{number}.tsv" for number in range(8)}
    assert own_files.read(tmp_path / "out").keys() == names
    assert content(tmp_path / "out") == dict.fromkeys(names, "2")
