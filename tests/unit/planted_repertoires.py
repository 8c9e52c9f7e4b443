"""Four samples with planted receptors, for clusters and comparisons."""

from pathlib import Path

from airrvec.core import schema, tables
from airrvec.encoders import load
from airrvec.synthetic.synthesis import synthesise

import clone_tables
import pyarrow as pa
import pyarrow.compute as pc

import normalise_receptors

ROOT = Path(__file__).parents[2]
SAMPLES = {"s1": "x", "s2": "x", "s3": "y", "s4": "y"}


def cells_table(
    sample: str, condition: str | None, ids: list[str], clonotypes: dict, epitope=None
) -> pa.Table:
    columns = {
        name: pa.nulls(len(ids), kind)
        for name, kind in zip(schema.CELLS.names, schema.CELLS.types, strict=True)
    }
    columns |= {"sample_id": [sample] * len(ids), "receptor_id": ids}
    columns["clonotype_id"] = [clonotypes[receptor] for receptor in ids]
    columns["abundance"] = pa.array([1] * len(ids), pa.int64())
    columns["count_unit"] = pa.array(["cells"] * len(ids), pa.string())
    if epitope:
        columns["epitope"] = epitope
    table = pa.table(columns, schema=schema.CELLS)
    return table.append_column("treatment", pa.array([condition] * len(ids), pa.string()))


def plant(folder: Path) -> None:
    """
    Four samples of 60 random receptors each, ten of them in two cells; those of x also carry
    receptors of GILGFVFTL (M1), two cells each; the others of M1 are labelled.
    """
    normalise_receptors.main(
        [
            f"{ROOT}/assets/demo/dash_human.csv",
            "--sample",
            "labelled",
            "--format",
            "tcrdist",
            "--outdir",
            f"{folder}",
        ]
    )
    known = tables.read(folder / "labelled.receptors_0000.parquet")
    cells = tables.read(folder / "labelled.cells.parquet")
    wanted = pc.unique(cells.filter(pc.equal(cells["epitope"], "M1"))["receptor_id"]).to_pylist()
    wanted = sorted(wanted)[:120]
    known = known.filter(pc.is_in(known["receptor_id"], pa.array(wanted))).select(schema.RECEPTORS.names)
    random = synthesise(240, seed=5)
    receptors = tables.distinct_receptors(pa.concat_tables([known, random]))
    tables.write(receptors, folder / "run" / "receptors.parquet")
    encoder = load("sceptr")
    clonotypes = dict(
        zip(*(receptors[name].to_pylist() for name in ("receptor_id", "clonotype_id")), strict=True)
    )
    vectors = tables.embeddings_table(receptors["receptor_id"], encoder.embed(receptors))
    tables.write(vectors, folder / "run/vectors.parquet", encoder.loaded.vector_model.metadata())
    for number, (sample, condition) in enumerate(SAMPLES.items()):
        ids = random["receptor_id"].to_pylist()[60 * number : 60 * number + 60]
        ids += ids[:10]
        planted = 2 * wanted[20 * number : 20 * number + 20] if condition == "x" else []
        tables.write(
            cells_table(sample, condition, ids + planted, clonotypes),
            folder / "cells" / f"{sample}.cells.parquet",
        )
    left = wanted[40:]
    labelled = cells_table("labelled", None, left, clonotypes, ["M1"] * len(left))
    tables.write(labelled, folder / "labelled.cells.parquet")
    tables.write(synthesise(1200, seed=9), folder / "background.parquet")
    clone_tables.count(folder, sorted((folder / "cells").iterdir()), folder / "run/receptors.parquet")
