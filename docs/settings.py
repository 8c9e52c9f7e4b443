"""Write the settings of `airrvec.core.settings` into ``nextflow_schema.json``: ``make generated``."""

import json
from pathlib import Path

from airrvec.core.settings import SETTINGS, Setting

SCHEMA = Path(__file__).parents[1] / "nextflow_schema.json"
_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


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


def with_settings(schema: dict) -> dict:
    """Return the schema with these settings; what it says beside them stays."""
    written = json.loads(json.dumps(schema))
    for group in written["$defs"].values():
        for name, known in group["properties"].items():
            if name in SETTINGS:
                stale = {"default", "enum", "minimum", "maximum"} - {*properties(SETTINGS[name])}
                known.update(properties(SETTINGS[name]))
                for key in stale & {*known}:
                    del known[key]
    return written


if __name__ == "__main__":
    text = json.dumps(with_settings(json.loads(SCHEMA.read_text())), indent=4, ensure_ascii=False)
    SCHEMA.write_text(text + "\n")
