"""Folders of results of small runs, for the index of runs."""

import json
import shutil
from pathlib import Path

from airrvec.app import cli

import pandas as pd
import pytest
import results_folder
from inputs import DATA, ROOT
from results_folder import run

import collect_receptors
import embed_receptors
import merge_embeddings
import normalise_receptors

FLU = {name: ROOT / f"assets/demo/donors/{name}.csv" for name in ("flu_1", "flu_2")}
METADATA = {"flu_1": {"age": "30"}, "flu_2": {"age": "31", "sex": "f"}}
OTHER = {"labelled": DATA / "vdjdb_full.tsv", "bulk": DATA / "airr_bulk.tsv"}
BACKGROUND = 400
WORDS = "TRBV19 CASSIRSSYEQYF"


def write_run(
    folder: Path, samples: dict[str, Path], *, model: str = "sceptr", metadata: dict | None = None
) -> Path:
    """Write receptors, cells, vectors and the manifest of a run; return the folder of its results."""
    work, results = folder / "work", folder / "results"
    for sample, path in samples.items():
        given = json.dumps((metadata or {}).get(sample, {}))
        run(normalise_receptors, path, "--sample", sample, "--metadata", given, "--outdir", work)
        (results / "cells").mkdir(parents=True, exist_ok=True)
        shutil.copy(work / f"{sample}.cells.parquet", results / "cells" / f"{sample}.parquet")
    receptors = [work / f"{sample}.receptors_0000.parquet" for sample in samples]
    run(collect_receptors, *receptors, "--outdir", work)
    vectors = work / "vectors.parquet"
    run(embed_receptors, work / "receptors.parquet", "--model", model, "--out", vectors)
    given = (vectors, "--receptors", work / "receptors.parquet", "--qc", work / "qc.json")
    run(merge_embeddings, *given, "--out", results / f"embeddings/{Path(model).name}.parquet")
    (results / "receptors").mkdir()
    shutil.copy(work / "receptors.parquet", results / "receptors")
    results_folder.write_manifest(results)
    return results


def write_two(folder: Path) -> dict[str, Path]:
    """Write two samples of one run; labelled receptors, some of mouse, and β chains of another."""
    flu = write_run(folder / "flu", FLU, metadata=METADATA)
    return {"flu": flu, "other": write_run(folder / "other", OTHER)}


def write_index(folder: Path, runs: dict[str, Path]) -> Path:
    """Index runs."""
    given = ("--index", str(folder), "--background", str(BACKGROUND), "--threads", "2")
    cli.main(["index", *map(str, runs.values()), *given])
    return folder


def found(place: Path, out: Path, *options) -> pd.DataFrame:
    """What the verb ``find`` writes."""
    cli.main(["find", *map(str, options), "--index", str(place), "--out", str(out), "--threads", "2"])
    return pd.read_parquet(out)


def problem(capsys, *options) -> str:
    """What a verb says that ends with status 1."""
    with pytest.raises(SystemExit) as ended:
        cli.main([*map(str, options)])
    assert ended.value.code == 1
    return capsys.readouterr().err
