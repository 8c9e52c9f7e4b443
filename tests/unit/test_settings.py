"""A setting has one name, default, choices and help: in the schema, the scripts and the command."""

import argparse
import importlib
import json
import runpy

from airrvec.app import cli
from airrvec.core import script, settings
from airrvec.core.settings import SETTINGS

import pytest
from inputs import ROOT

SCHEMA = json.loads((ROOT / "nextflow_schema.json").read_text())
PARAMETERS = {name for group in SCHEMA["$defs"].values() for name in group["properties"]}
SCRIPTS = sorted(path.stem for path in (ROOT / "bin").glob("*.py"))
# Files of a task, the neighbours of `find`, its chains, tables of `nearest`: no settings, though their names
# end like one's.
OWN = {"chains", "columns", "description", "k", "map", "name", "preset", "receptors", "references"}


def parser_of(name: str, monkeypatch) -> argparse.ArgumentParser:
    """Return the parser that a script makes."""
    made = []

    def parse_args(parser, *_):
        made.append(parser)
        raise StopIteration

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_args)
    with pytest.raises(StopIteration):
        importlib.import_module(name).parse_args([])
    return made[0]


def long_options(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    return {
        word.removeprefix("--").replace("-", "_"): action
        for action in parser._actions
        for word in action.option_strings
        if word.startswith("--")
    }


def test_the_schemas_have_these_settings_and_registries():
    written = runpy.run_path(str(ROOT / "docs/settings.py"))
    assert written["parameters"](SCHEMA) == SCHEMA  # else: make generated
    samplesheet = json.loads((ROOT / "assets/schema_input.json").read_text())
    assert written["samplesheet"](samplesheet) == samplesheet
    assert set(SETTINGS) <= PARAMETERS


@pytest.mark.parametrize("name", SCRIPTS)
def test_options_with_a_parameters_name_are_that_setting(name, monkeypatch):
    for option, action in long_options(parser_of(name, monkeypatch)).items():
        if option in SETTINGS and SETTINGS[option].choices:
            assert (*action.choices,) == SETTINGS[option].choices
        # The end of a parameter's name would be a second name of it.
        assert option in PARAMETERS | OWN or not [p for p in PARAMETERS if p.endswith(f"_{option}")]


def test_the_verbs_have_no_second_names_either():
    verbs = next(action for action in cli.parser()._actions if action.dest == "verb").choices
    for name, verb in verbs.items():
        for option in long_options(verb):
            second = [parameter for parameter in PARAMETERS if parameter.endswith(f"_{option}")]
            assert option in PARAMETERS | OWN or not second, (name, option)


@pytest.mark.parametrize("word", ["--train-steps", "--train_steps"])
def test_dashes_and_underscores_are_alike(word):
    parser = script.parser("")
    settings.add(parser, "train_steps", "annotate_innate")
    assert parser.parse_args([word, "5"]).train_steps == 5
    assert parser.parse_args([f"{word}=7"]).train_steps == 7
    assert parser.parse_args(["--annotate_innate"]).annotate_innate is True


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("annotation_fdr", "1.5", "1.5 is more than 1"),
        ("annotation_fdr", "nan", "nan is less than 0"),
        ("cluster_chance", "0.001", "0.001 is less than 0.002"),
        ("benchmark_splits", "1", "1 is less than 2"),
    ],
)
def test_numbers_keep_their_limits(name, text, message, capsys):
    parser = script.parser("")
    settings.add(parser, name)
    with pytest.raises(SystemExit):
        parser.parse_args([f"--{name}", text])
    assert f"{message}\n" in capsys.readouterr().err
