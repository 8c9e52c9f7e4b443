"""Which runs of an index are the same results in an earlier state, and which have samples in common."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from airrvec.app import manifest
from airrvec.app.run_index import Run, open_index
from airrvec.core import records, tables
from airrvec.core.plural import counted

CONTENT = "content.json"  # of a run: sample → digest of the receptors of its cells
SHOWN = 5  # samples in a sentence


def manifest_digest(folder: Path) -> str | None:
    """Return the SHA-256 of the manifest of results; None if there is none."""
    path = folder / manifest.MANIFEST
    return records.sha256(path) if path.is_file() else None


def already_there(index: Path, folder: Path) -> str | None:
    """Return a sentence if a run is in an index, by the digest of its manifest; else None."""
    digest = manifest_digest(folder)
    for run in open_index(index).runs():
        if run.about["manifest"] == digest:
            return f"{folder} is in the index already, from {run.about['results']}: nothing to do"
    return None


def write_content(results: Path, folder: Path) -> None:
    """Write a digest of the receptors of each sample of results, cell by cell, into the folder of a run."""
    content = {}
    for path in sorted(results.glob("cells/*.parquet")):
        cells = tables.read(path, ["sample_id", "receptor_id"])
        if len(cells):
            ids = "\n".join(cells["receptor_id"].to_pylist())
            content[cells["sample_id"][0].as_py()] = hashlib.sha256(ids.encode()).hexdigest()
    tables.write_json(content, folder / CONTENT)


def read_content(folder: Path) -> dict[str, str]:
    """Return what `write_content` wrote; nothing of a run that was indexed by an earlier version."""
    path = folder / CONTENT
    return json.loads(path.read_bytes()) if path.is_file() else {}


def is_earlier(run: Run, path: str, content: dict[str, str]) -> bool:
    """
    Return whether a run of an index is an earlier state of results.

    It is one if it came from the same folder, ``path``. Results that were moved and changed are recognised by
    a sample with the same receptors, if the folder that they came from no longer holds them, and no sample is
    lost.
    """
    if run.about["results"] == path:
        return True
    is_gone = manifest_digest(Path(run.about["results"])) != run.about["manifest"]
    return is_gone and bool(_shared(run, content)) and run.about["samples"].keys() <= content.keys()


def _shared(run: Run, content: dict[str, str]) -> list[str]:
    """Return the samples that a run has with the same receptors."""
    return sorted(name for name, _ in read_content(run.folder).items() & content.items())


def samples_twice(runs: Iterable[Run], content: dict[str, str]) -> list[str]:
    """Return a sentence on each run of an index that has some of the same samples."""
    sentences = []
    for run in runs:
        if names := _shared(run, content):
            shown = ", ".join(names[:SHOWN]) + (" …" if len(names) > SHOWN else "")
            n = counted(len(names), "sample")
            sentences.append(f"{n} ({shown}) also in {run.about['results']}, and counted twice")
    return sentences
