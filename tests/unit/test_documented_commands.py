"""Commands of the pages: their parameters, options, verbs and targets exist."""

import re
import shlex

from airrvec.app import cli

import pytest
from inputs import ROOT
from test_conventions import PARAMETERS

PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
PROFILES = set(re.findall(r"^    (\w+) *\{", (ROOT / "nextflow.config").read_text(), re.MULTILINE))
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def commands(program: str) -> list[tuple[str, list[str]]]:
    """Return page and words of each command in a block of a page that starts with a program."""
    found = []
    for path in PAGES:
        for block in re.findall(r"```bash\n(.*?)```", path.read_text(), re.DOTALL):
            for line in block.replace("\\\n", " ").splitlines():
                words = shlex.split(line, comments=True)
                if words and words[0] == program:
                    found.append((path.name, [word for word in words[1:] if word != "…"]))
    assert len(found) > 10, program
    return found


@pytest.mark.parametrize(("page", "words"), commands("nextflow"))
def test_parameters_and_profiles_exist(page, words):
    named = [word.removeprefix("--") for word in words if word.startswith("--")]
    assert set(named) <= set(PARAMETERS)
    for option, values in zip(words, [*words[1:], ""], strict=True):
        if option == "-profile":
            assert set(values.split(",")) <= PROFILES
        elif option.startswith("--") and (choices := PARAMETERS[option[2:]].get("enum")):
            assert values in choices


@pytest.mark.parametrize(("page", "words"), commands("airrvec"))
def test_verbs_and_options_exist(page, words):
    assert cli.parser().parse_args(words).verb in cli.VERBS


@pytest.mark.parametrize(("page", "words"), commands("make"))
def test_targets_exist(page, words):
    assert {word for word in words if "=" not in word} <= TARGETS
