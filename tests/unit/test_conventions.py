"""Places that have to say the same: registries, schema, configuration, documents."""

import ast
import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

import airrvec
from airrvec import encoders
from airrvec.benchmark import test_sets
from airrvec.benchmark.rules import RULES
from airrvec.core import schema
from airrvec.input import reading
from airrvec.model import transformer
from airrvec.model.variants import VARIANTS
from airrvec.training import presets

ROOT = Path(__file__).parents[2]
GROUPS = json.loads((ROOT / "nextflow_schema.json").read_text())["$defs"].values()
PARAMETERS = {name: definition for group in GROUPS for name, definition in group["properties"].items()}
PAGES = "\n".join(path.read_text() for path in (ROOT / "docs").glob("*.md"))
PROCESSES = sorted(path.parent.name for path in (ROOT / "modules/local").glob("*/main.nf"))
TABLES = (
    schema.COLLECTED_RECEPTORS,
    schema.MAP,
    schema.CELLS,
    schema.REJECTS,
    schema.AUROC,
    schema.AUROC_SUMMARY,
    schema.COMPARISONS,
    schema.ROC,
    schema.NOT_EVALUATED,
    schema.GENERATION,
    schema.NOT_DONE,
    schema.SPLIT,
    schema.SPECIFICITY,
    schema.TRAINING,
    schema.CLUSTERS,
    schema.CLUSTER_MEMBERS,
    schema.CLUSTER_MOTIFS,
    schema.CLUSTER_CONDITIONS,
    schema.DIVERSITY,
    schema.SAMPLE_PAIRS,
    schema.SAMPLES_PCA,
    schema.SAMPLE_CONDITIONS,
)
# A run goes on without them.
OPTIONAL = {
    *(
        "analyse_generation",
        "analyse_receptors",
        "analyse_results",
        "annotate_receptors",
        "benchmark_fewshot",
    ),
    *("calibrate_annotation", "cluster_receptors", "compare_samples", "export_airr", "export_anndata"),
    *("export_sce", "map_receptors", "summarise_fewshot"),
}
PRESETS = sorted(path.stem for path in (ROOT / "conf/models").glob("*.json"))


def test_schema_lists_what_the_registries_hold():
    assert PARAMETERS["model"]["variants"] == list(VARIANTS)
    assert PARAMETERS["encoders"]["choices"] == list(encoders.ENCODERS)
    assert PARAMETERS["benchmark_rules"]["choices"] == list(RULES)
    assert PARAMETERS["benchmark_test_sets"]["choices"] == list(test_sets.TEST_SETS)
    assert PARAMETERS["benchmark_chains"]["choices"] == ["paired", "alpha", "beta"]
    assert PARAMETERS["labelled_format"]["enum"] == list(reading.FORMATS)
    assert PARAMETERS["species"]["enum"] == list(schema.SPECIES)
    samplesheet = json.loads((ROOT / "assets/schema_input.json").read_text())["items"]["properties"]
    assert samplesheet["format"]["enum"] == ["", *reading.FORMATS]


def test_json_never_holds_a_bare_nan():
    """`json.dumps` writes NaN, which is no JSON, unless it is told not to."""
    calls = [
        (path.name, node)
        for path in (ROOT / "bin").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("json.dumps", "json.dump")
    ]
    assert {name for name, _ in calls} >= {"tables.py"}
    careless = [
        (name, node.lineno)
        for name, node in calls
        if not any(word.arg == "allow_nan" and ast.unparse(word.value) == "False" for word in node.keywords)
    ]
    assert careless == []


def test_one_version_everywhere():
    version = airrvec.__version__
    config = (ROOT / "nextflow.config").read_text()
    assert f'version = "{version}"' in (ROOT / "pyproject.toml").read_text()
    assert re.search(rf"\n    version +(=) '{re.escape(version)}'", config)
    assert f'"airrvec:{version}"' in config
    assert f'"airrvec-r:{version}"' in config
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text()


def test_every_published_file_is_written_anew_and_its_folder_known():
    config = (ROOT / "conf/modules.config").read_text()
    rules = re.findall(r"\[path: \{ \"\$\{params\.outdir\}/?([^\"]*)\" \}(.*)\]", config)
    assert len(rules) == config.count("publish_dir_mode") > 20
    assert all("overwrite: true" in rule for _folder, rule in rules)
    conclude = (ROOT / "subworkflows/local/conclude/main.nf").read_text()
    listed = re.search(r"def resultFolders\(\) \{\s+return \[(.*?)\]", conclude, re.DOTALL).group(1)
    folders = {folder.split("/")[0] for folder, _rule in rules}
    assert folders - {"", "pipeline_info"} == set(re.findall(r"'(\w+)'", listed))


@pytest.mark.parametrize("name", PROCESSES)
def test_what_a_run_goes_on_without_says_why_it_is_missing(name):
    module = (ROOT / f"modules/local/{name}/main.nf").read_text()
    optional = "label 'process_optional'" in module
    assert optional == (name in OPTIONAL)
    assert optional == ("emit: ended" in module)
    if name != "export_sce":  # its R knows no errors of the input
        script = ROOT / f"bin/{name}.py"
        assert optional == ("--missing missing/" in module)
        assert optional == (script.exists() and "@optional_part(" in script.read_text())


@pytest.mark.parametrize("name", PROCESSES)
def test_one_name_in_three_places(name):
    module = (ROOT / f"modules/local/{name}/main.nf").read_text()
    assert f"process {name.upper()} {{" in module
    script = "export_sce.R" if name in ("check_r", "export_sce") else f"{name}.py"
    assert f"    {script} " in module
    assert (ROOT / "bin" / script).stat().st_mode & 0o111
    assert "    stub:" in module
    assert "params." not in module
    workflows = [ROOT / "main.nf", *(ROOT / "subworkflows").rglob("main.nf")]
    assert any(f"include {{ {name.upper()}" in path.read_text() for path in workflows)


@pytest.mark.parametrize("name", sorted(PARAMETERS))
def test_every_parameter_is_documented(name):
    assert f"`--{name}`" in PAGES


@pytest.mark.parametrize("column", sorted({name for table in TABLES for name in table.names}))
def test_every_column_is_documented(column):
    assert f"`{column}`" in (ROOT / "docs/output.md").read_text()


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_documented(name):
    assert f"`{name}`" in (ROOT / "docs/reference/models.md").read_text()
    presets.load(ROOT / f"conf/models/{name}.json")


@pytest.mark.parametrize(
    "part", [presets.Preset, presets.Objective, presets.Schedule, transformer.ModelConfig]
)
def test_every_field_of_a_preset_is_documented(part):
    page = (ROOT / "docs/reference/models.md").read_text()
    assert [field.name for field in fields(part) if f"`{field.name}`" not in page] == []


def test_no_path_is_a_pattern():
    """A name of the user's may hold * or [: Nextflow's `file` would look for other files."""
    sources = [
        ROOT / "main.nf",
        *(ROOT / "modules/local").rglob("*.nf"),
        *(ROOT / "subworkflows").rglob("*.nf"),
    ]
    calls = re.compile(r"(?<![\w.])(?:files?|fromPath)\(")
    lines = [line for path in sources for line in path.read_text().splitlines() if calls.search(line)]
    assert len(lines) > 10
    assert [line for line in lines if len(calls.findall(line)) > line.count("glob: false")] == []
