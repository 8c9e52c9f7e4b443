"""Words that are a command where a shell reads them, for all parameters and columns of the samplesheet."""

import csv
import itertools
import json
import re
import shutil
from pathlib import Path

from pipeline_runs import ROOT

CANARY = "CANARY"  # the file that appears where a word was run as code
# What a word breaks out of; `>CANARY` makes the file without a blank, which some patterns refuse.
KINDS = {
    "option": "-x;touch CANARY;",
    "variable": "$(touch CANARY)",
    "variable, no blank": "$(>CANARY)",
    "backtick": "`touch CANARY`",
    "backtick, no blank": "`>CANARY`",
    "single quote": "';touch CANARY;'",
    "double quote": '";touch CANARY;"',
    "semicolon": ";touch CANARY;",
    "pipe": "|touch CANARY",
    "line break": "\ntouch CANARY\n",
}
# Several kinds at once, so that a run drives as many as a parameter takes.
MIXED = [
    [kind for kind in KINDS if kind != "line break"],
    ["backtick", "backtick, no blank", "single quote", "double quote", "semicolon", "pipe"],
    ["variable, no blank", "backtick, no blank"],
]
PAYLOADS = [*MIXED, *([kind] for kind in KINDS)]
SCHEMA = json.loads((ROOT / "nextflow_schema.json").read_text())
PARAMETERS = {
    name: given for group in SCHEMA["$defs"].values() for name, given in group["properties"].items()
}
SHEET = json.loads((ROOT / "assets/schema_input.json").read_text())["items"]
COLUMNS = [*SHEET["properties"], "metadata"]

_PRESET = {
    "data": "synthetic",
    "model": {"n_layers": 1, "d_model": 8, "n_heads": 1, "d_feedforward": 8},
    "schedule": {"steps": 1, "batch_size": 8},
}
_LOSS = "TITLE = 'x'\n\n\ndef loss(views{labels}):\n    return views.mean()\n"
# What a parameter that is a path names: suffix and content; a dictionary for a folder, None for a new folder.
# Another parameter that the schema calls a path names an empty file, or a new folder.
MATERIAL = {
    "input": (".csv", ""),  # its content is `good_sheet`
    "labelled": (".csv", (ROOT / "assets/demo/dash_human.csv").read_text()),
    "reference": (".csv", (ROOT / "assets/demo/dash_human.csv").read_text()),
    "column_map": (".json", json.dumps({"trb_junction_aa": "cdr3"})),
    "multiqc_config": (".yml", "{}\n"),
    "model": ("", {"config.json": '{"name": "own"}', "model.safetensors": ""}),
    "pretrain": (".json", json.dumps(_PRESET)),
    "finetune_preset": (
        ".json",
        json.dumps({**_PRESET, "data": None, "objective": {"contrastive": "neighbour"}}),
    ),
    "pretrain_loss": (".py", _LOSS.format(labels="")),
    "finetune_loss": (".py", _LOSS.format(labels=", labels")),
    "train_callbacks": (".py", "def callbacks():\n    return []\n"),
    "hub_cache": ("", {"models": "x"}),
    "encoders": (".py", "TITLE = 'x'\n"),
    "background": (".parquet", "x"),
    "custom_config_base": ("", {"nfcore_custom.config": ""}),
}
MAPPED = "cdr3\nCASSIRSSYEQYF\n"


def payload(kinds: list[str]) -> str:
    return "".join(KINDS[kind] for kind in kinds)


def values(name: str, folder: Path) -> list[tuple[list[str], object]]:
    """Values of a parameter, each with the kinds of words in it; the files that they name are made."""
    given = PARAMETERS[name]
    found = []
    exact = given["type"] != "string" or "enum" in given  # compared as a whole: one word stands for all
    for number, kinds in enumerate(PAYLOADS[:1] if exact else PAYLOADS):
        word = payload(kinds)
        if name in MATERIAL or "path" in given.get("format", ""):
            found += [(kinds, path) for path in _paths(name, folder / name, number)]
        else:
            usual = str(given.get("default") or (given.get("enum") or given.get("choices") or ["x"])[0])
            found += [(kinds, word), (kinds, usual + word)]
    return found


def _paths(name: str, folder: Path, number: int) -> list[str]:
    """Return a path with a word in the names of file and folder; of mixed words also in either alone."""
    folder, word = folder / str(number), payload(PAYLOADS[number])
    new_folder = PARAMETERS[name].get("format") == "directory-path"
    suffix, content = MATERIAL.get(name, ("", None if new_folder else ""))
    path, plain = folder / f"of_{name}{word}" / f"{name}{word}{suffix}", f"plain_{name}{suffix}"
    paths = [path, path.with_name(plain), folder / f"{word}{suffix}"] if number < len(MIXED) else [path]
    if word == KINDS["option"]:
        paths = [folder / f"{word}{suffix}"]
    for path in paths:
        make(path, content)
    before = "sceptr," if name == "encoders" else ""
    return [f"{before}{path}" for path in paths]


def make(path: Path, content: str | dict | None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, dict):
        for name, text in content.items():
            make(path / name, text)
    elif content is not None:
        path.write_text(content)


def sheet_rows(folder: Path) -> list[tuple[str, list[str], dict]]:
    """Rows of a samplesheet: column, kinds that its value drives, the row. Line breaks come last."""
    rows = []
    columns = [name for name in COLUMNS if name != "metadata"]
    for (number, kinds), column in itertools.product(enumerate(PAYLOADS), columns):
        word = payload(kinds)
        usual = SHEET["properties"][column].get("enum", ["", "x"])[1]
        if column in ("path", "column_map"):
            suffix, content = (".csv", MAPPED) if column == "path" else MATERIAL["column_map"]
            cell = folder / column / str(number) / f"of {word}" / f"x{word}{suffix}"
            if word == KINDS["option"]:
                cell = folder / column / str(number) / f"{word}{suffix}"
            make(cell, content)
            cells = [str(cell)]
        else:
            cells = [word, usual + word]
        rows += [(column, kinds, {column: cell}) for cell in cells]
    make(folder / "table.csv", MAPPED)
    make(folder / "map.json", MATERIAL["column_map"][1])
    plain = {"path": str(folder / "table.csv"), "column_map": str(folder / "map.json"), "condition": "x"}
    rows.sort(key=lambda row: "line break" in row[1])
    named = [
        (column, kinds, {"sample": f"s{n}", **plain, **row}) for n, (column, kinds, row) in enumerate(rows)
    ]
    for _, _, row in named:
        if row.get("format"):
            row["column_map"] = ""
    return named


def write_sheet(path: Path, rows: list[dict], metadata: tuple[str, ...] = ("condition",)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as handle:
        table = csv.DictWriter(handle, [*SHEET["properties"], *metadata], restval="", lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


# --- A project whose tasks run the real scripts of the modules, with programs that only keep their arguments


def project_of_stand_ins(folder: Path) -> Path:
    """This project, with a stand-in for each program of ``bin/`` except the check of the samplesheet."""
    project = folder / "project"
    (project / "bin").mkdir(parents=True)
    for name in ("assets", "conf", "containers", "uv.lock", "nextflow.config", "nextflow_schema.json"):
        (project / name).symlink_to(ROOT / name)
    # Copies: what they include is looked for beside the file that a link leads to.
    shutil.copy(ROOT / "main.nf", project)
    shutil.copytree(ROOT / "subworkflows", project / "subworkflows")
    shutil.copytree(
        ROOT / "bin/airrvec", project / "bin/airrvec", ignore=shutil.ignore_patterns("__pycache__")
    )
    for script in (ROOT / "bin").glob("*.*"):
        if script.stem == "check_samples":
            shutil.copy(script, project / "bin")
        else:
            stand_in(project / "bin" / script.name, "content/summary.txt content/software_versions.yml")
    shutil.copytree(ROOT / "modules", project / "modules")
    for module in project.glob("modules/local/*/main.nf"):
        module.write_text(script_then_stub(module.read_text()))
    return project


def stand_in(path: Path, made: str) -> None:
    """A program that keeps its arguments, each in a line, and makes files."""
    path.write_text(
        "#!/usr/bin/env bash\n"
        f"printf '%s\\n' {path.name} \"$@\" >> arguments.txt\nmkdir -p content\ntouch {made}\n"
    )
    path.chmod(0o755)


def script_then_stub(module: str) -> str:
    """Return a module whose script also does what its stub does, and which has no stub."""
    text, stub = module.split("    stub:\n")
    made = re.search(r'"""\n(.*?)    """', stub, re.S).group(1).replace("mkdir ", "mkdir -p ")
    if "check_samples.py" in made:
        made = ""
    start, _, end = text.rpartition('    """\n')
    return f'{start}{made}    """\n{end}}}\n'
