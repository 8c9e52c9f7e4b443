"""The script that writes synthetic receptors."""

import importlib

from airrvec.core import tables
from airrvec.synthetic.synthesis import synthesise

import pyarrow as pa
import pytest
from inputs import ROOT

SEED = 420
N = 20_000


@pytest.fixture(scope="module")
def receptors():
    return synthesise(N, seed=SEED)


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "bin")

    def run(*arguments) -> None:
        importlib.import_module("synthesise_receptors").main([str(argument) for argument in arguments])

    return run


def test_script_writes_shards_of_one_whole(script, receptors, tmp_path):
    for shard in (2, 0, 1):
        script(
            "--receptors", 1_000, "--shard", shard, "--shards", 3, "--seed", SEED,
            "--out", tmp_path / f"{shard}", "--versions", tmp_path / "versions.yml", "--process", "P",
        )  # fmt: skip
    parts = [tables.read(tmp_path / f"{shard}") for shard in range(3)]
    assert [len(part) for part in parts] == [333, 333, 334]
    assert pa.concat_tables(parts).equals(receptors.slice(0, 1_000))
    assert "    olga: " in (tmp_path / "versions.yml").read_text()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--shard", 2, "--shards", 2], "there is no shard 2 of 2. Shards are numbered from 0."),
        (["--shard", -1], "there is no shard -1 of 1. Shards are numbered from 0."),
        (["--shards", 11], "10 receptors cannot be divided into 11 shards. Ask for more receptors."),
        (["--seed", -1], "the seed -1 is negative."),
    ],
)
def test_script_says_what_is_wrong(script, capsys, tmp_path, arguments, error):
    with pytest.raises(SystemExit) as stop:
        script("--receptors", 10, "--out", tmp_path / "x.parquet", *arguments)
    assert stop.value.code == 1
    assert capsys.readouterr().err == f"ERROR: {error}\n"
    assert not (tmp_path / "x.parquet").exists()
