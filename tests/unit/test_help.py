"""Every option of a script and of the command ``airrvec`` has a help text."""

import argparse

from airrvec.app import cli
from airrvec.app.verbs import work

import pytest
from inputs import ROOT

SCRIPTS = sorted(path.stem for path in (ROOT / "bin").glob("*.py"))


def without_help(parser: argparse.ArgumentParser) -> list[str]:
    """The options of a parser, and of its subcommands, that have no help text."""
    found = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found += [
                f"{name} {option}" for name, verb in action.choices.items() for option in without_help(verb)
            ]
        elif not action.help:
            found.append("/".join(action.option_strings) or action.dest)
    return found


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_option_of_a_script_has_a_help_text(name, monkeypatch):
    script = work.script(name)
    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", lambda parser, argv: parser)
    assert without_help(script.parse_args([])) == []


def test_every_option_of_the_command_has_a_help_text():
    assert without_help(cli.parser()) == []
