"""Published tables of a small run in the folders of its results, and sections of its report."""

import json
import shutil
from pathlib import Path

from airrvec.core import schema, tables

import clone_tables
import numpy as np
import pandas as pd
import pyarrow as pa
from test_describe_samples import write_sample
from test_report_samples import receptors

import describe_samples

# Sample → cells of its clones, and condition.
SIZES = {"lung": [30, 20, 10, *[1] * 40], "lymph": [12, 3, *[1] * 50], "blood": [5, 4, *[1] * 91]}
CONDITIONS = {"lung": "tissue", "lymph": "tissue"}
FORMULA = '=HYPERLINK("http://x","y")'
EPITOPES = {
    30: ("GILGFVFTL", "InfluenzaA"),
    12: ("+1+1", "@SUM(A1)"),
    5: (FORMULA, None),
}  # by cells of a clone
BRIEF = (
    "<ul><li>3 tables were <b>read</b>; β &amp; α chains.</li>"
    '<li>47 cells are called. <a href="#airrvec_annotation">More</a></li></ul><script>silent()</script>'
)
METHODS = "<p>T-cell receptors were analysed with airrvec (Someone et al. 2020).</p>"
WORKS = '<ol><li>Someone et al. A work. <a href="https://doi.org/1">doi:1</a></li></ol>'


def write_results(folder: Path) -> Path:
    """Write tables of samples, clones, calls and pairs; return the folder."""
    made, results = folder / "made", folder / "results"
    made.mkdir()
    for letter, (name, sizes) in zip("AST", SIZES.items(), strict=True):
        write_sample(made, name, receptors(sizes, end=letter))
    counted = clone_tables.count(made, [made / f"{name}.cells.parquet" for name in SIZES], made)
    describe_samples.main(["--clones", str(counted), "--outdir", str(results / "samples")])
    qc = json.loads((results / "samples/samples.qc.json").read_text())
    (results / "samples/samples.qc.json").write_text(json.dumps({**qc, "of_sample": CONDITIONS}))
    (results / "clones").mkdir()
    shutil.copy(counted / "counts.parquet", results / "clones")
    called = _write_clones(counted, results)
    for name in SIZES:
        _write_calls(made / f"{name}.cells.parquet", called, results / f"annotation/{name}.parquet")
    _write_pairs(results / "comparison/pairs.parquet")
    _write_sections(folder)
    return folder


def _write_clones(counted: Path, results: Path) -> dict[str, tuple]:
    """Write the table of clones with calls; return the epitope and organism of each called receptor."""
    table = tables.read(counted / "clones.parquet").to_pandas()
    counts = tables.read(counted / "counts.parquet").to_pandas().set_index("clone_id")["n_cells"]
    calls = [EPITOPES.get(counts[clone], (None, None)) for clone in table["clone_id"]]
    has_call = [epitope is not None for epitope, _ in calls]
    table = table.assign(
        call=np.where(has_call, schema.HAS_CALL, "no call"),
        call_epitope=[epitope for epitope, _ in calls],
        call_antigen_species=[organism for _, organism in calls],
        call_fdr=np.where(has_call, 0.05, np.nan),
        exact_epitope=None,
        call_probability=np.where(has_call, 0.9, np.nan),
        cluster_id=None,
        **dict.fromkeys(schema.EVIDENCE_OF_CLONE),
    )
    columns = pa.schema([(field.name, field.type) for field in schema.CLONES])
    tables.write(
        pa.Table.from_pandas(table[columns.names], columns, preserve_index=False),
        results / "clones/clones.parquet",
    )
    return {row.receptor_id: call for row, call in zip(table.itertuples(), calls, strict=True) if call[0]}


def _write_calls(cells: Path, called: dict[str, tuple], path: Path) -> None:
    """Write a row per cell; the first receptor without a call has an exact match."""
    rows = tables.read(cells).to_pandas()
    exact = next(receptor for receptor in rows["receptor_id"] if receptor not in called)
    frame = pd.DataFrame(
        {
            "sample_id": rows["sample_id"],
            "receptor_id": rows["receptor_id"],
            "cell_id": [f"-{number}" for number in range(len(rows))],
            "abundance": rows["abundance"],
            "count_unit": rows["count_unit"],
            "species": "homosapiens",
            "chains": "paired",
            "trb_junction_aa": "CASSEQYF",
            "call": ["called" if one in called else "no call" for one in rows["receptor_id"]],
            "epitope": [called.get(one, (None,))[0] for one in rows["receptor_id"]],
            "exact_epitope": np.where(rows["receptor_id"] == exact, "-2+3", None),
            "score": 1.5,
        }
    )
    columns = pa.schema([(field.name, field.type) for field in schema.ANNOTATION])
    table = pa.Table.from_pandas(frame.reindex(columns=columns.names), columns, preserve_index=False)
    tables.write(table, path)


def _write_pairs(path: Path) -> None:
    names = list(SIZES)
    rows = [
        {"species": "homosapiens", "chains": "paired", "sample_1": names[a], "sample_2": names[b],
         "n_shared": a + b, "morisita_horn": 0.1 * (a + b), "jaccard": 0.0}
        for a, b in ((0, 1), (0, 2), (1, 2))
    ]  # fmt: skip
    columns = pa.schema([(field.name, field.type) for field in schema.SAMPLE_PAIRS])
    tables.write(pa.Table.from_pylist(rows, columns), path)


def _write_sections(folder: Path) -> None:
    (folder / "sections").mkdir()
    for name, html in (("brief_findings", BRIEF), ("methods_text", METHODS), ("methods_references", WORKS)):
        path = folder / f"sections/airrvec_{name}_mqc.json"
        path.write_text(json.dumps({"data": html}))


def options(folder: Path, outdir: Path, *more: str) -> list[str]:
    """Options of handover.py for this run."""
    words = ("--results", folder / "results", "--sections", folder / "sections")
    return [*map(str, words), "--has-map", "--outdir", str(outdir), *more]
