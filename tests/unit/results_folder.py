"""A folder of results with its manifest, made by the scripts without Nextflow."""

import hashlib
import shutil
from pathlib import Path

from airrvec.app import manifest
from airrvec.core import records

from inputs import DATA

import collect_receptors
import embed_receptors
import export_airr
import merge_embeddings
import normalise_receptors

INPUTS = {"a": ("10x.csv", 9), "labelled": ("vdjdb_full.tsv", 5)}


def run(script, *options) -> None:
    script.main([*map(str, options)])


def cell(value) -> str:
    return "" if value is None else str(value)


def write_manifest(results: Path) -> None:
    """As the end of a run does, of all files that are in the folder now."""
    found = []
    for path in results.rglob("*"):
        if path.is_file() and "manifest" not in path.name:
            record = records.measure(path)
            row = {"path": path.relative_to(results), "kind": "result", **vars(record), "process": "MADE"}
            found.append(row)
    for sample, (name, n_rows) in INPUTS.items():
        row = {"path": DATA / name, "kind": "input", **vars(records.measure(DATA / name)), "sample": sample}
        found.append({**row, "rows": n_rows})
    lines = ["\t".join(manifest.COLUMNS)]
    lines += ["\t".join(cell(row.get(name)) for name in manifest.COLUMNS) for row in found]
    content = "\n".join(lines) + "\n"
    (results / "pipeline_info").mkdir(exist_ok=True)
    (results / manifest.MANIFEST).write_text(content)
    digest = hashlib.sha256(content.encode()).hexdigest()
    (results / manifest.CHECKSUM).write_text(f"{digest}  manifest.tsv\n")


def write_results(folder: Path) -> Path:
    """Write the results of two tables, as a run publishes them; return their folder."""
    work, results = folder / "work", folder / "results"
    for sample, (name, _) in INPUTS.items():
        run(normalise_receptors, DATA / name, "--sample", sample, "--outdir", work)
        for kind in ("cells", "chains", "rejects"):
            (results / kind).mkdir(parents=True, exist_ok=True)
            shutil.copy(work / f"{sample}.{kind}.parquet", results / kind / f"{sample}.parquet")
        (results / "airr").mkdir(exist_ok=True)
        given = ("--cells", work / f"{sample}.cells.parquet", "--chains", work / f"{sample}.chains.parquet")
        run(export_airr, *given, "--out", results / f"airr/{sample}.tsv")
    of_labelled = ("--labelled", work / "labelled.receptors_0000.parquet")
    run(collect_receptors, work / "a.receptors_0000.parquet", *of_labelled, "--outdir", work)
    run(embed_receptors, work / "receptors.parquet", "--out", work / "vectors.parquet")
    given = (work / "vectors.parquet", "--receptors", work / "receptors.parquet", "--qc", work / "qc.json")
    run(merge_embeddings, *given, "--out", results / "embeddings/sceptr.parquet")
    (results / "receptors").mkdir()
    shutil.copy(work / "receptors.parquet", results / "receptors")
    write_manifest(results)
    return results
