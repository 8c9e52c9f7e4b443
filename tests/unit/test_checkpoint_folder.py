"""The folder of checkpoints reaches a task through its environment, percent-encoded by nextflow.config."""

from pathlib import Path
from urllib.parse import quote

from airrvec.app.verbs import work
from airrvec.training.presets import checkpoint_folder

import pytest


@pytest.mark.parametrize(
    "folder",
    ["/a/run 1", "/a/$(touch x)", "/a/`id`", "/a/\"b'c\\d", "/50 %/a+b", "/ä/\N{GREEK SMALL LETTER ALPHA}"],
)
def test_any_folder_is_found_again(folder, monkeypatch):
    monkeypatch.setenv("AIRRVEC_CHECKPOINTS", quote(folder))
    assert checkpoint_folder() == Path(folder)


def test_a_plain_name_and_none(monkeypatch):
    monkeypatch.setenv("AIRRVEC_CHECKPOINTS", "/data/checkpoints")
    assert checkpoint_folder() == Path("/data/checkpoints")
    monkeypatch.delenv("AIRRVEC_CHECKPOINTS")
    assert checkpoint_folder() == Path("checkpoints")


def test_a_script_that_trains_takes_it_unless_told_otherwise(monkeypatch):
    monkeypatch.setenv("AIRRVEC_CHECKPOINTS", quote("/a b/$(x)"))
    args = ["receptors.parquet", "--preset", "x.json", "--process", "P", "--versions", "v.yml"]
    parse = work.script("pretrain").parse_args
    assert parse(args).checkpoints == Path("/a b/$(x)")
    assert parse([*args, "--checkpoints", "50%25"]).checkpoints == Path("50%25")
