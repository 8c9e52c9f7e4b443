"""Places that have to say the same: registries, schema, configuration, documents."""

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

import airrvec
from airrvec import encoders, model, presets, readers, schema, scoring
from airrvec.rules import RULES
from airrvec.variants import VARIANTS

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
PRESETS = sorted(path.stem for path in (ROOT / "conf/models").glob("*.json"))


def test_schema_lists_what_the_registries_hold():
    assert PARAMETERS["model"]["variants"] == list(VARIANTS)
    assert PARAMETERS["encoders"]["choices"] == list(encoders.ENCODERS)
    assert PARAMETERS["benchmark_rules"]["choices"] == list(RULES)
    assert PARAMETERS["benchmark_test_sets"]["choices"] == list(scoring.TEST_SETS)
    assert PARAMETERS["benchmark_chains"]["choices"] == ["paired", "alpha", "beta"]
    assert PARAMETERS["labelled_format"]["enum"] == list(readers.FORMATS)
    assert PARAMETERS["species"]["enum"] == list(schema.SPECIES)
    samplesheet = json.loads((ROOT / "assets/schema_input.json").read_text())["items"]["properties"]
    assert samplesheet["format"]["enum"] == ["", *readers.FORMATS]


def test_reserved_columns_are_those_of_cells():
    source = (ROOT / "subworkflows/local/initialise/main.nf").read_text()
    reserved = re.search(r"def reservedColumns\(\) \{\s+return \[(.*?)\]", source, re.DOTALL).group(1)
    assert re.findall(r"'(\w+)'", reserved) == schema.CELLS.names


def test_one_version_everywhere():
    version = airrvec.__version__
    config = (ROOT / "nextflow.config").read_text()
    assert f'version = "{version}"' in (ROOT / "pyproject.toml").read_text()
    assert re.search(rf"\n    version +(=) '{re.escape(version)}'", config)
    assert f'"airrvec:{version}"' in config
    assert f'"airrvec-r:{version}"' in config
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("name", PROCESSES)
def test_one_name_in_three_places(name):
    module = (ROOT / f"modules/local/{name}/main.nf").read_text()
    assert f"process {name.upper()} {{" in module
    script = "export_sce.R" if name == "export_sce" else f"{name}.py"
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
    assert f"`{name}`" in (ROOT / "docs/models.md").read_text()
    presets.load(ROOT / f"conf/models/{name}.json")


@pytest.mark.parametrize("part", [presets.Preset, presets.Objective, presets.Schedule, model.ModelConfig])
def test_every_field_of_a_preset_is_documented(part):
    page = (ROOT / "docs/models.md").read_text()
    assert [field.name for field in fields(part) if f"`{field.name}`" not in page] == []
