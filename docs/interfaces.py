"""
Write the table of verbs, by Python, command, pipeline and R, into its page: ``make generated``.

A verb has a function or a command of its name, unless `REASONS` says why not.
"""

import json
import re
from pathlib import Path

import airrvec
from airrvec.app.cli import VERBS

DOCS = Path(__file__).parent
PAGE = DOCS / "reference/interfaces.md"
PARAMETERS = DOCS.parent / "nextflow_schema.json"
HEADER = "| To | Python | Command | Pipeline | R (`airrvecr`) |\n|---|---|---|---|---|\n"
# Verb → what it does, parameters of the pipeline, and functions of the R package.
ROWS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "read": ("read and standardise tables", ("input",), ("read_airrvec",)),
    "embed": ("compute vectors", ("model",), ("embeddings",)),
    "nearest": ("find the nearest receptors of other tables", (), ("nearest",)),
    "annotate": ("call epitopes", ("annotate",), ("calls",)),
    "reference": ("merge labelled tables into a reference", ("reference",), ()),
    "clones": ("count clones", ("clone_by",), ("clones",)),
    "cluster": ("cluster receptors", ("cluster",), ("clusters",)),
    "compare": ("compare samples and conditions", ("compare", "compare_by"), ()),
    "benchmark": ("benchmark encoders", ("labelled", "encoders"), ("auroc",)),
    "finetune": ("fine-tune a model", ("finetune",), ()),
    "pretrain": ("pre-train a model", ("pretrain",), ()),
    "load": ("load a model as a module of PyTorch", (), ()),
    "match_barcodes": ("join cells with gene expression", (), ("add_airrvec",)),
    "index": ("add finished runs to an index", (), ()),
    "find": ("find a receptor in all runs", (), ()),
    "verify": ("compare results with their manifest", (), ()),
    "columns": ("show what columns mean", (), ()),
}
SAME = {"read": "normalise"}  # verb of Python → of the command
_NOT_IN_R = "Python or command: R reads results, and computes none"
_READS = "of finished runs; the pipeline makes them"
# (verb, column) → why there is none.
REASONS = {
    ("nearest", "pipeline"): "of two sets of tables; a run has one",
    ("load", "command"): "a module in memory",
    ("load", "pipeline"): "a module in memory",
    ("load", "r"): "of PyTorch",
    ("match_barcodes", "command"): "of objects in memory",
    ("match_barcodes", "pipeline"): "of objects in memory; `--export_anndata` writes cells by barcode",
    ("index", "python"): "`airrvec index`, once per run",
    **{(verb, "pipeline"): _READS for verb in ("index", "find", "verify")},
    ("verify", "python"): "`airrvec verify`, whose exit status scripts use",
    ("columns", "python"): "`airrvec columns --json`; Parquet files carry the same",
    ("columns", "pipeline"): "the report's headers say it",
    **{(verb, "r"): _NOT_IN_R for verb in ("finetune", "pretrain", "index", "find", "verify")},
    ("reference", "r"): "`read.delim` of `reference/merged.tsv`",
    ("compare", "r"): "`read.delim` of `comparison/tests.tsv`",
    ("columns", "r"): "`airrvec columns`",
}


def cells(verb: str) -> dict[str, str]:
    """Return the cell of each column: a name, or the reason why there is none."""
    _, parameters, functions = ROWS[verb]
    command = SAME.get(verb, verb)
    names = {
        "python": f"[`airrvec.{verb}`](python.md)" if verb in airrvec.__all__ else "",
        "command": f"[`airrvec {command}`](command_line.md)" if command in VERBS else "",
        "pipeline": ", ".join(f"`--{name}`" for name in parameters),
        "r": ", ".join(f"`{name}()`" for name in functions),
    }
    reasons = {column: REASONS[verb, column] for column, name in names.items() if not name}
    return {column: f"– ({reasons[column]})" if column in reasons else name for column, name in names.items()}


def with_table(page: str) -> str:
    """Return the page with the table of today."""
    rows = [f"| {ROWS[verb][0]} | {' | '.join(cells(verb).values())} |" for verb in ROWS]
    return re.sub(
        re.escape(HEADER) + r"(?:\|.*\n)*", lambda _: HEADER + "\n".join(rows) + "\n", page, count=1
    )


def problems() -> list[str]:
    """Return what the table lacks, or names though there is no such thing."""
    groups = json.loads(PARAMETERS.read_text())["$defs"].values()
    parameters = {name for group in groups for name in group["properties"]}
    python = {*airrvec.__all__} - {"__version__"}
    missing = [f"no row for airrvec.{name}" for name in sorted(python - {*ROWS})]
    missing += [f"no row for airrvec {name}" for name in VERBS if name not in {SAME.get(v, v) for v in ROWS}]
    unknown = [
        f"no parameter {name}" for _, names, _ in ROWS.values() for name in names if name not in parameters
    ]
    unused = [
        f"a reason for {place}, which has a name" for place in REASONS if "(" not in cells(place[0])[place[1]]
    ]
    return missing + unknown + unused


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text()))
