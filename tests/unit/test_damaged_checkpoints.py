"""Damaged checkpoints, kills in the middle of one and two processes in one folder change no weight."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from multiprocessing.process import BaseProcess
from pathlib import Path

from airrvec.core import tables
from airrvec.core.errors import InputError
from airrvec.model.tokens import tokenise
from airrvec.synthetic import synthesis
from airrvec.training.trainer import Checkpoints, DamagedError, Receptors, read

import numpy as np
import pytest
import torch
from inputs import ROOT
from processes_that_train import start, status
from short_training import SHORT, run, tiny_encoder


def trained(folder, steps=SHORT.steps, **options) -> tuple[dict, int]:
    """The weights after a training, and the steps that it did."""
    done = []
    data = Receptors(tokenise(synthesis.synthesise(100, seed=1)))
    result = run(
        tiny_encoder(), data, folder, schedule=replace(SHORT, steps=steps, batch_size=16), checkpoint_every=2,
        progress=done.append, **options,
    )  # fmt: skip
    return result.encoder.state_dict(), sum(done[1:])  # the first number is that of the checkpoint


def same(one: dict, two: dict) -> bool:
    """Whether both are the same, bit by bit."""
    if isinstance(one, dict):
        return isinstance(two, dict) and one.keys() == two.keys() and all(same(one[k], two[k]) for k in one)
    if isinstance(one, list | tuple):
        return type(one) is type(two) and len(one) == len(two) and all(map(same, one, two))
    return torch.equal(one, two) if isinstance(one, torch.Tensor) else one == two


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> dict:
    weights, steps = trained(tmp_path_factory.mktemp("undisturbed"))
    assert steps == SHORT.steps
    return weights


@pytest.fixture(scope="module")
def after_eight(tmp_path_factory):
    """A folder with the checkpoints of the steps 6 and 8."""
    folder = tmp_path_factory.mktemp("interrupted")
    trained(folder, 8)
    assert [read(folder / f"{name}.ckpt")["global_step"] for name in ("previous", "last")] == [6, 8]
    return folder


@pytest.fixture
def folder(after_eight, tmp_path):
    return shutil.copytree(after_eight, tmp_path / "checkpoints")


def flip(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :]


DAMAGES = {
    "empty": lambda content: b"",
    "one byte": lambda content: content[:1],
    "100 bytes": lambda content: content[:100],
    "half": lambda content: content[: len(content) // 2],
    "all but the last byte": lambda content: content[:-1],
    "a byte of the head": lambda content: flip(content, 2),
    "a byte of the pickle": lambda content: flip(content, 200),
    "a byte of the weights": lambda content: flip(content, len(content) // 2),
    "zeros": lambda content: bytes(len(content)),
    "another file": lambda content: b"a\tb\n1\t2\n",
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_training_resumes_from_the_checkpoint_before(damage, folder, undisturbed, caplog):
    damaged = damage((folder / "last.ckpt").read_bytes())
    (folder / "last.ckpt").write_bytes(damaged)
    weights, steps = trained(folder)
    assert steps == SHORT.steps - 6
    assert same(weights, undisturbed)
    assert f"{folder}/last.ckpt is damaged (" in caplog.text
    assert f"and now named last.damaged: training resumes from {folder}/previous.ckpt" in caplog.text
    assert (folder / "last.damaged").read_bytes() == damaged
    assert [read(folder / f"{name}.ckpt")["global_step"] for name in ("previous", "last")] == [10, 12]


def test_training_starts_again_if_both_checkpoints_are_damaged(folder, undisturbed, caplog):
    for name in ("last", "previous"):
        with (folder / f"{name}.ckpt").open("r+b") as file:
            file.truncate(1000)
    weights, steps = trained(folder)
    assert steps == SHORT.steps
    assert same(weights, undisturbed)
    assert caplog.text.count("training starts from step 0") == 2
    assert {path.name for path in folder.glob("*.damaged")} == {"last.damaged", "previous.damaged"}
    caplog.clear()
    trained(folder)
    assert not caplog.text  # the next start finds sound files


def test_a_missing_last_checkpoint_is_no_loss_of_the_one_before(folder, undisturbed):
    (folder / "last.ckpt").unlink()
    weights, steps = trained(folder)
    assert (steps, same(weights, undisturbed)) == (SHORT.steps - 6, True)


def test_every_changed_byte_is_found(folder):
    path, numbers = folder / "last.ckpt", np.random.default_rng(20)
    content, expected = path.read_bytes(), read(path)
    ends = [*range(200), *range(len(content) - 200, len(content))]
    for place in [*ends, *map(int, numbers.integers(len(content), size=600))]:
        path.write_bytes(flip(content, place))
        with pytest.raises(DamagedError):
            read(path)
    path.write_bytes(content)
    assert same(read(path), expected)


def test_every_length_but_the_whole_is_found(folder):
    path = folder / "last.ckpt"
    content = path.read_bytes()
    for length in [*range(100), *range(100, len(content), 997), *range(len(content) - 100, len(content))]:
        path.write_bytes(content[:length])
        with pytest.raises(DamagedError):
            read(path)


def test_a_checkpoint_that_may_not_be_read_is_not_taken_for_damaged(folder, monkeypatch):
    def refused(path, size):
        raise PermissionError(path)

    monkeypatch.setattr("airrvec.core.records._sha256", refused)
    with pytest.raises(PermissionError):
        Checkpoints(folder, 2, " fp32").last()
    assert (folder / "last.ckpt").exists()


def test_a_checkpoint_of_another_training_that_came_in_between_is_refused(folder, monkeypatch):
    monkeypatch.setattr(Checkpoints, "last", lambda self: self.path)
    with pytest.raises(InputError, match="another training has just written a checkpoint into this folder"):
        trained(folder, fingerprint="other")


def test_a_file_system_without_hard_links_keeps_the_one_before_too(tmp_path, undisturbed, monkeypatch):
    def unsupported(*_):
        raise PermissionError("Operation not permitted")

    monkeypatch.setattr(os, "link", unsupported)
    weights, _ = trained(tmp_path)
    assert same(weights, undisturbed)
    assert read(tmp_path / "previous.ckpt")["global_step"] == SHORT.steps - 2


def test_files_of_killed_processes_are_removed_and_those_of_living_ones_kept(folder):
    old, new = folder / ".last.ckpt.7-0000abcd.tmp", folder / ".last.ckpt.8-0000abcd.tmp"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    Checkpoints(folder, 2, " fp32").last()
    assert (old.exists(), new.exists()) == (False, True)


def train_in(folder: Path, name: str, killed_at: int) -> None:
    """Train, and save the weights; be killed before the last checkpoint has its name for the given time."""
    renamed, calls = os.replace, []

    def rename(source, target):
        calls.extend([1] if Path(target).name == "last.ckpt" else [])
        if len(calls) == killed_at:
            os.kill(os.getpid(), signal.SIGKILL)
        renamed(source, target)

    os.replace = rename
    torch.save(trained(folder / "checkpoints"), folder / f"{name}.pt")


def started(folder: Path, name: str, killed_at: int = -1) -> BaseProcess:
    return start(train_in, folder, name, killed_at)


def outcome(tmp_path, name: str) -> tuple[dict, int]:
    """What `trained` returned in a process of its own."""
    return torch.load(tmp_path / f"{name}.pt", weights_only=True)


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> dict:
    """The weights of an undisturbed training in a process of its own, whose sums may differ from ours."""
    folder = tmp_path_factory.mktemp("alone")
    assert status(started(folder, "alone")) == 0
    weights, steps = outcome(folder, "alone")
    assert steps == SHORT.steps
    return weights


def test_a_kill_between_writing_and_renaming_loses_one_checkpoint(tmp_path, alone):
    process = started(tmp_path, "killed", killed_at=4)
    assert status(process) == -signal.SIGKILL
    folder = tmp_path / "checkpoints"
    assert read(folder / "last.ckpt")["global_step"] == 6
    assert len(list(folder.glob(".last.ckpt.*.tmp"))) == 1  # complete, but without its name
    assert status(started(tmp_path, "resumed")) == 0
    weights, steps = outcome(tmp_path, "resumed")
    assert (steps, same(weights, alone)) == (SHORT.steps - 6, True)


def test_two_trainings_in_one_folder_at_once_lose_nothing(tmp_path, alone):
    processes = [started(tmp_path, name) for name in ("one", "two")]
    assert [status(process) for process in processes] == [0, 0]
    for name in ("one", "two"):
        assert same(outcome(tmp_path, name)[0], alone)
    assert {path.name for path in (tmp_path / "checkpoints").iterdir()} == {
        "last.ckpt",
        "previous.ckpt",
        "log.tsv",
    }


WRITER = """
    import os, sys
    from pathlib import Path
    from airrvec.core import tables
    os.getpid = lambda: 7  # as in two containers
    for _ in range(200):
        with tables.atomic_path(sys.argv[1]) as temporary:
            temporary.write_text(sys.argv[2] * 50_000)
"""


def test_two_processes_of_one_id_write_one_file_whole(tmp_path):
    path = tmp_path / "x.txt"
    script = tmp_path / "write.py"
    script.write_text(textwrap.dedent(WRITER))
    processes = [
        subprocess.Popen(
            [sys.executable, script, path, letter], env={**os.environ, "PYTHONPATH": f"{ROOT}/bin"}
        )
        for letter in "ab"
    ]
    seen = set()
    while any(process.poll() is None for process in processes):
        if path.exists():
            seen.add(path.read_text())
    assert [process.returncode for process in processes] == [0, 0]
    assert seen
    assert seen <= {letter * 50_000 for letter in "ab"}
    assert {file.name for file in tmp_path.iterdir()} == {"x.txt", "write.py"}


def test_file_and_folder_are_on_the_disk_in_this_order(tmp_path, monkeypatch):
    events = []
    flushed, renamed = os.fsync, os.replace

    def fsync(descriptor):
        events.append(f"flush {os.path.basename(os.readlink(f'/proc/self/fd/{descriptor}'))}")
        flushed(descriptor)

    def rename(source, target):
        events.append("rename")
        renamed(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", rename)
    tables.write_text("complete", tmp_path / "x.txt")
    assert [event.partition(".tmp")[0].partition("-")[0] for event in events] == [
        f"flush .x.txt.{os.getpid()}",
        "rename",
        f"flush {tmp_path.name}".partition("-")[0],
    ]
