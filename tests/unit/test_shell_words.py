"""The scripts of tasks hold no word of the user that a shell would read as more than a word."""

import json
import re
import string
from pathlib import Path

from airrvec.core.errors import InputError
from airrvec.input.mhc_names import checked_typing
from airrvec.input.samplesheet.names import name_problem

import pytest

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "nextflow_schema.json").read_text())
PARAMETERS = {
    name: given for group in SCHEMA["$defs"].values() for name, given in group["properties"].items()
}
MODULES = sorted((ROOT / "modules/local").glob("*/main.nf"))
PLAIN = set(string.ascii_letters + string.digits + "_./:@+~,%-")  # a shell reads these as they are
HARMFUL = [sign for sign in map(chr, range(1, 127)) if sign not in PLAIN]
# In a task only through Nextflow, which escapes paths, or through none of them.
PATHS = {
    *("model", "pretrain", "finetune_preset", "hub_cache", "background", "encoders"),
    *("pretrain_loss", "finetune_loss", "train_callbacks"),
}


def is_path(name: str) -> bool:
    return name in PATHS or "path" in PARAMETERS[name].get("format", "")


def signs(name: str) -> set[str]:
    """Return the signs that the check of a parameter lets through and a shell would read."""
    given = PARAMETERS[name]
    if given["type"] != "string" or "enum" in given:
        return set()
    pattern = given.get("pattern", "")
    words = {sign: [f"a{sign}b", f"a{sign}", f"{sign}a", sign, f"1{sign}2"] for sign in HARMFUL}
    return {
        sign
        for sign, tried in words.items()
        if ord(sign) > 31
        and any(re.search(pattern, word) for word in tried)  # control characters are refused
    }


def interpolations(module: Path) -> list[tuple[str, str]]:
    """Return each `${…}` of the scripts of a module, and the text of its line before it."""
    text = module.read_text().split("    script:\n")[1]
    found = []
    for start in re.finditer(r"(?<!\\)\$\{", text):
        depth, end = 1, start.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        found.append((text[start.end() : end - 1], text[: start.start()].rpartition("\n")[2]))
    return found


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.parent.name)
def test_settings_are_plain_or_quoted(module):
    """A setting whose check lets a blank through stands in quotation marks, which no check lets through."""
    for inner, before in interpolations(module):
        for name in re.findall(r"\bsettings\.(\w+)", inner):
            if name not in PARAMETERS or is_path(name):
                continue
            left = signs(name)
            assert left <= {" ", "(", ")"}, (
                f"--{name} lets {left} through to the script of {module.parent.name}"
            )
            quoted = before.count("'") % 2 == 1 or f"'${{settings.{name}}}'" in inner
            used = inner == f"settings.{name}" or f"${{settings.{name}}}" in inner
            assert not left or not used or quoted, f"{module.parent.name}: {inner}"


def test_paths_are_no_settings_of_a_script():
    """They are inputs of type `path`, whose names Nextflow escapes."""
    written = {
        (module.parent.name, name)
        for module in MODULES
        for inner, _ in interpolations(module)
        for name in re.findall(r"\bsettings\.(\w+)", inner)
        if name in PARAMETERS and is_path(name)
    }
    assert written == set()


def test_free_text_reaches_no_module():
    free = {name for name in PARAMETERS if signs(name) - {" ", "(", ")"} and not is_path(name)}
    assert free == {
        *("custom_config_base", "custom_config_version", "config_profile_name", "config_profile_description"),
        *("config_profile_contact", "config_profile_url"),
    }
    scripts = "".join(module.read_text() for module in MODULES)
    assert [name for name in free if name in scripts] == []


def test_words_in_a_heredoc_are_json_behind_a_quoted_end():
    found = 0
    for module in MODULES:
        text = module.read_text()
        for end, inner in re.findall(r"<<(\S+)\n *\$\{(.*)\}\n", text):
            assert re.fullmatch(r"'\w+'", end), module
            assert inner.startswith("groovy.json.JsonOutput.toJson("), module
            found += 1
        assert text.count("<<") == len(re.findall(r"<<'\w+'\n", text)), module
    assert found == sum(module.read_text().count("<<") for module in MODULES) > 0


def test_the_environment_of_tasks_holds_no_plain_word_of_the_user():
    """Nextflow writes the values of the scope env between double quotation marks, as they are."""
    for path in [ROOT / "nextflow.config", *(ROOT / "conf").glob("*.config")]:
        for scope in re.findall(r"^ *env \{\n(.*?)^ *\}", path.read_text(), re.S | re.M):
            for name, value in re.findall(r"^ *(\w+) += (.*)$", scope, re.M):
                assert "params" not in value or value.startswith("URLEncoder.encode("), name


@pytest.mark.parametrize("sign", HARMFUL)
def test_names_and_typings_of_the_samplesheet_are_plain(sign):
    for word in (f"a{sign}b", f"{sign}a", f"a{sign}"):
        assert name_problem(word) is not None
        assert name_problem(f"-{word}") is not None
    for word in (f"A*02:01{sign}", f"{sign}A*02:01", f"A*02:01{sign}B*07:02"):
        try:
            typing = checked_typing(word)
        except (InputError, ValueError):
            continue
        assert set(typing) <= PLAIN | {"*", ";", " "}, typing
