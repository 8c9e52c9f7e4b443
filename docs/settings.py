"""
Write settings and registries into the schemas of parameters and samplesheet: ``make generated``.

What the schemas say beside them (patterns, icons, groups, error messages) stays.
"""

import copy
import json
from pathlib import Path

from airrvec import analyses
from airrvec.core.settings import SETTINGS, Setting
from airrvec.encoders import ENCODERS
from airrvec.evaluation.rules import RULES
from airrvec.evaluation.similarity import TEST_SETS
from airrvec.input.formats.registry import FORMATS
from airrvec.input.samplesheet.names import ROLES
from airrvec.model.variants import VARIANTS

ROOT = Path(__file__).parents[1]
PARAMETERS, SAMPLESHEET = ROOT / "nextflow_schema.json", ROOT / "assets/schema_input.json"
_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}
# Parameter → key of its schema, and the names that it lists.
_LISTS = {
    "model": ("variants", VARIANTS),
    "encoders": ("choices", ENCODERS),
    "benchmark_rules": ("choices", RULES),
    "benchmark_test_sets": ("choices", TEST_SETS),
    "analyses": ("choices", ("none", "all", *analyses.ANALYSES)),
}


def properties(setting: Setting) -> dict:
    """Return what the schema says of a setting: type, help, default, choices and limits."""
    values = {
        "type": _TYPES[setting.type],
        "default": False if setting.type is bool else setting.default,
        "enum": list(setting.choices) or None,
        "minimum": setting.least,
        "maximum": setting.most,
        "description": setting.help,
    }
    return {name: value for name, value in values.items() if value is not None}


def parameters(schema: dict) -> dict:
    """Return the schema of the parameters with the settings and registries of today."""
    written = copy.deepcopy(schema)
    for group in written["$defs"].values():
        for name, known in group["properties"].items():
            if name in SETTINGS:
                said = properties(SETTINGS[name])
                for key in ({"default", "enum", "minimum", "maximum"} - {*said}) & {*known}:
                    del known[key]
                known.update(said)
            if name in _LISTS:
                key, names = _LISTS[name]
                known[key] = list(names)
            if name == "analyses":
                known["scopes"] = {analysis: analyses.load(analysis).SCOPE for analysis in analyses.ANALYSES}
    return written


def samplesheet(schema: dict) -> dict:
    """Return the schema of the samplesheet with the formats and roles of today."""
    written = copy.deepcopy(schema)
    columns = written["items"]["properties"]
    columns["format"]["enum"] = ["", *FORMATS]
    columns["role"]["enum"] = ["", *ROLES]
    return written


if __name__ == "__main__":
    for path, written in ((PARAMETERS, parameters), (SAMPLESHEET, samplesheet)):
        text = json.dumps(written(json.loads(path.read_text())), indent=4, ensure_ascii=False)
        path.write_text(text + "\n")
