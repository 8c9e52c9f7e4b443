"""Every module and subworkflow has a meta.yml that agrees with its main.nf."""

import re
from pathlib import Path

import pytest
import yaml
from nf_core.components.nfcore_component import NFCoreComponent
from nf_core.utils import unquote

ROOT = Path(__file__).parents[2]
MODULES = sorted(path.parent for path in (ROOT / "modules/local").glob("*/main.nf"))
SUBWORKFLOWS = sorted(path.parent for path in (ROOT / "subworkflows/local").glob("*/main.nf"))
FUNCTIONS = {
    "advice",
    "batches",
    "conclude",
    "crate",
    "digest",
    "files",
    "lock",
    "manifest",
    "missing",
    "models",
    "outputs",
    "ownership",
    "parameters",
    "presets",
    "published",
    "samplesheet",
    "values",
}
# nf-core's schema for modules.
TYPES = {"map", "file", "directory", "string", "integer", "float", "boolean", "list", "eval"}
# Scripts without options that a user could add.
WITHOUT_ARGS = {
    *("check_device", "check_r", "check_samples", "export_sce", "merge_embeddings", "plan"),
    "summarise_fewshot",
}
WITH_PREFIX = {
    *("embed_receptors", "export_sce", "merge_embeddings", "synthesise_receptors"),
}


def read(folder: Path) -> tuple[str, dict]:
    return (folder / "main.nf").read_text(), yaml.safe_load((folder / "meta.yml").read_text())


def names(channel) -> str | list[str]:
    """Return the name of a channel's element in meta.yml, or the names of a tuple's elements."""
    return [next(iter(element)) for element in channel] if isinstance(channel, list) else next(iter(channel))


def elements(part) -> list[dict]:
    """Return all mappings with a type and a description below inputs or outputs."""
    if isinstance(part, dict) and isinstance(part.get("type"), str):
        return [part]
    children = part.values() if isinstance(part, dict) else part
    return [element for child in children for element in elements(child)]


def declared(source: str, begin: str, end: str) -> list[str]:
    """Return the lines of a section of main.nf."""
    section = re.search(rf"^    {begin}:\n(.*?)^(?:    {end}:|}})", source, re.DOTALL | re.MULTILINE)
    lines = section.group(1).splitlines() if section else []
    return [line.strip() for line in lines if line.strip() and not line.strip().startswith("//")]


def module_channels(folder: Path) -> tuple[list, dict[str, list]]:
    """Return names of the inputs, and of the outputs by their `emit`, as nf-core's lint reads main.nf."""
    module = NFCoreComponent(folder.name, None, folder, "pipeline", ROOT, "modules", remote_component=False)
    module.get_inputs_from_main_nf()
    module.get_outputs_from_main_nf()

    def name(element: dict) -> str:
        ((text, details),) = element.items()
        return "stdout" if details.get("_keyword") == "stdout" else unquote(text)

    def named(channel):
        return [name(element) for element in channel] if isinstance(channel, list) else name(channel)

    outputs = {emit: [named(part) for part in parts] for emit, parts in module.outputs.items()}
    return [named(channel) for channel in module.inputs], outputs


def check_texts(folder: Path, meta: dict) -> None:
    assert meta["description"].strip()
    assert len(set(meta["keywords"])) >= 3
    assert meta["authors"]
    assert meta["maintainers"]
    for element in elements([meta["input"], meta["output"]]):
        assert element["description"].strip(), folder.name
        assert element["type"] in TYPES


@pytest.mark.parametrize("folder", MODULES, ids=lambda folder: folder.name)
def test_module_has_the_inputs_and_outputs_of_its_meta(folder):
    source, meta = read(folder)
    assert meta["name"] == folder.name
    check_texts(folder, meta)
    inputs, outputs = module_channels(folder)
    assert len(inputs) == len(declared(source, "input", "output"))
    assert len(outputs) == len(declared(source, "output", "script"))
    assert [names(channel) for channel in meta["input"]] == inputs
    assert {emit: [names(part) for part in parts] for emit, parts in meta["output"].items()} == outputs
    assert list(meta["output"]) == list(outputs)


@pytest.mark.parametrize("folder", MODULES, ids=lambda folder: folder.name)
def test_module_reads_the_settings_that_its_meta_lists(folder):
    source, meta = read(folder)
    described = [channel["settings"]["description"] for channel in meta["input"] if "settings" in channel]
    words = set(re.findall(r"\w+", " ".join(described)))
    read_names = set(re.findall(r"settings\.(\w+)", source))
    prefixes = tuple(re.findall(r"all that begin with (\w+)", " ".join(described)))
    assert {name for name in read_names - words if not (prefixes and name.startswith(prefixes))} == set()


@pytest.mark.parametrize("folder", SUBWORKFLOWS, ids=lambda folder: folder.name)
def test_subworkflow_has_the_channels_and_components_of_its_meta(folder):
    source, meta = read(folder)
    workflow = re.search(r"^workflow (\w+) \{", source, re.MULTILINE)
    assert meta["name"] == (workflow.group(1).lower() if workflow else folder.name)
    check_texts(folder, meta)
    included = re.findall(r"\} from '\.\./(?:\.\./\.\./modules/local/)?(\w+)/main'", source)
    assert meta["components"] == list(dict.fromkeys(included))
    assert len(included) == source.count("include {")
    takes = [line.split()[0] for line in declared(source, "take", "main")]
    assert [names(channel) for channel in meta["input"]] == takes
    emits = declared(source, "emit", "emit")
    outputs = [names(channel) for channel in meta["output"]]
    if len(emits) == 1:  # Nextflow 26.04 warns of the name of a single output
        assert len(outputs) == 1
        assert " = " not in emits[0]
    else:  # 26.04 warns of a name alone; the pinned nf-lang loses what `emit:` computes under a new name
        assert [line.split(" // ")[0] for line in emits] == [f"{name} = {name}" for name in outputs]


def test_folders_of_functions_list_those_that_others_include():
    assert {folder.name for folder in SUBWORKFLOWS if "\nworkflow " not in read(folder)[0]} == FUNCTIONS
    included = {}
    for path in [ROOT / "main.nf", *(folder / "main.nf" for folder in SUBWORKFLOWS)]:
        for functions, folder in re.findall(r"include \{ (.+?) \} from '.*?(\w+)/main'", path.read_text()):
            included.setdefault(folder, set()).update(re.split(r" *; *", functions.strip()))
    for name in FUNCTIONS:
        meta = read(ROOT / "subworkflows/local" / name)[1]
        assert meta["input"] == meta["output"] == []
        assert set(re.findall(r"`(\w+)`", meta["description"])) == included[name], name


@pytest.mark.parametrize("folder", MODULES, ids=lambda folder: folder.name)
def test_tool_is_this_project(folder):
    ((tool, about),) = read(folder)[1]["tools"][0].items()
    assert tool == "airrvec"
    assert f"'{about['homepage']}'" in (ROOT / "nextflow.config").read_text()
    assert (ROOT / "LICENSE").read_text().startswith(f"{about['licence'][0]} License")


@pytest.mark.parametrize("folder", MODULES, ids=lambda folder: folder.name)
def test_module_takes_args_and_a_prefix(folder):
    source, _ = read(folder)
    script, stub = source.split("    script:\n")[1].split("    stub:\n")
    takes_args = folder.name not in WITHOUT_ARGS
    assert ("    def args = task.ext.args ?: ''\n" in script) == ("${args}" in script) == takes_args
    takes_prefix = folder.name in WITH_PREFIX
    defaults = [
        re.findall(r"^    prefix = task\.ext\.prefix \?: (.*)$", part, re.M) for part in (script, stub)
    ]
    assert defaults[0] == defaults[1]
    assert bool(defaults[0]) == ("${prefix}" in script) == ("${prefix}" in stub) == takes_prefix
