"""The manifest of a run, read back: what `airrvec verify` compares a folder of results with."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from airrvec.core.errors import InputError
from airrvec.core.schema import MANIFEST as MANIFEST_SCHEMA

MANIFEST = Path("pipeline_info/manifest.tsv")
CHECKSUM = Path("pipeline_info/manifest.tsv.sha256")
COLUMNS = tuple(MANIFEST_SCHEMA.names)
KINDS = ("input", "result")

# Folders of results that a run fills and cleans, as in subworkflows/local/published/main.nf.
FOLDERS = (
    *("airr", "analyses", "anndata", "annotation", "benchmark", "cells", "chains", "clones", "clusters"),
    *("comparison", "embeddings", "gamma_delta", "handover", "map", "models", "multiqc", "r", "receptors"),
    *("rejects", "samples"),
)

_ESCAPES = {"\\\\": "\\", "\\t": "\t", "\\n": "\n", "\\r": "\r"}


@dataclass(frozen=True)
class Row:
    """A row of the manifest: an input, by the path that the user gave, or a file of the results."""

    path: str
    kind: str
    sha256: str
    size: int
    rows: int | None
    schema: str | None
    process: str
    code: str
    sample: str


def read_manifest(results: Path) -> tuple[list[Row], list[str]]:
    """
    Read the manifest of a folder of results.

    Returns
    -------
    list of Row
        Rows that can be read.
    list of str
        Problems of the manifest itself, one sentence each.

    Raises
    ------
    InputError
        If the folder has no manifest.
    """
    path = results / MANIFEST
    if not path.is_file():
        raise InputError(
            f"there is no {MANIFEST} in '{results}'",
            fix="Give the --outdir of a run that got as far as its report",
        )
    content = path.read_bytes()
    problems = []
    expected = f"{hashlib.sha256(content).hexdigest()}  {MANIFEST.name}\n".encode()
    if not (results / CHECKSUM).is_file():
        problems.append(f"{CHECKSUM}: missing")
    elif (results / CHECKSUM).read_bytes() != expected:
        problems.append(f"{MANIFEST}: differs from its checksum in {CHECKSUM}, or that file was changed")
    lines = content.decode("utf-8", "replace").split("\n")
    if tuple(lines[0].split("\t")) != COLUMNS:
        return [], [*problems, f"{MANIFEST}: its columns are not {', '.join(COLUMNS)}"]
    rows = []
    for number, line in enumerate(lines[1:], start=1):
        if line:
            row = _row(line)
            if row:
                rows.append(row)
            else:
                problems.append(f"{MANIFEST}: row {number} cannot be read")
    return rows, problems


def _row(line: str) -> Row | None:
    cells = [re.sub(r"\\[\\tnr]", lambda match: _ESCAPES[match[0]], cell) for cell in line.split("\t")]
    if len(cells) != len(COLUMNS):
        return None
    row = dict(zip(COLUMNS, cells, strict=True))
    numbers = (row["size"], row["rows"] or "0")
    leaves = row["kind"] == "result" and (Path(row["path"]).is_absolute() or ".." in Path(row["path"]).parts)
    if row["kind"] not in KINDS or leaves or not all(re.fullmatch(r"[0-9]{1,18}", n) for n in numbers):
        return None
    row["size"], row["rows"] = int(row["size"]), int(row["rows"]) if row["rows"] else None
    return Row(**{**row, "schema": row["schema"] or None})
