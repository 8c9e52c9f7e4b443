#!/usr/bin/env python3
"""
How often a cell joins the right clone if one of its chains is not seen.

A share of the cells with both chains lose one of them, at random; the clones are counted again. A cell that
joins is right if V gene and junction of its clone's chains are those that it had before. A cell of a clone of
one cell can only be left alone, or join a wrong clone.
"""

import json
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

from airrvec.core import database, schema, tables
from airrvec.repertoire.clones import count_clones

import numpy as np
import pandas as pd
import pyarrow as pa

import collect_receptors
import normalise_receptors
from benchmarks.common import results

WORDS = {"TRA": "β alone", "TRB": "α alone"}  # hidden chain → what is left


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("tables", nargs="+", help="10x contigs of a sample, or DONOR=TABLE")
    parser.add_argument("--hide", type=float, default=0.2, help="share of the cells that lose a chain")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seed", type=int, default=420)
    return parser.parse_args(argv)


def counted(folder: Path, samples: list[str]) -> tuple[pa.Table, pa.Table]:
    """Return the clones of normalised samples, and their members."""
    paths = [folder / f"{name}.receptors_0000.parquet" for name in samples]
    collect_receptors.main([*map(str, paths), "--shard-tokens", "10000000", "--outdir", str(folder / "all")])
    cells, chains = ([folder / f"{name}.{kind}.parquet" for name in samples] for kind in ("cells", "chains"))
    with database.connect(folder, memory="2GB", threads=2) as connection:
        made = count_clones(connection, cells, chains, folder / "all/receptors.parquet", "nt")
        return made.clones.table(), made.members.table()


def normalised(
    folder: Path, frames: dict[str, pd.DataFrame], donors: dict[str, str]
) -> tuple[pa.Table, pa.Table]:
    """Return the clones, and their members, of tables of 10x contigs, by the names of samples."""
    for name, frame in frames.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
        metadata = ["--metadata", json.dumps({"donor": donors[name] or name})]
        options = [str(folder / f"{name}.csv"), "--sample", name, *metadata, "--outdir", str(folder)]
        normalise_receptors.main(options)
    return counted(folder, [*frames])


def clones_of_cells(clones: pa.Table, members: pa.Table, folder: Path) -> pd.DataFrame:
    """Return clone, its chains and whether it was joined, of each cell; index sample and barcode."""
    cells = [tables.read(path, ["sample_id", "cell_id"]).to_pandas() for path in folder.glob("*.cells.*")]
    names = pd.concat([frame.assign(cell_row=np.arange(1, len(frame) + 1)) for frame in cells])
    fields = [schema.field(locus, name) for locus in schema.LOCI for name in ("v_call", "junction_aa")]
    known = clones.select(["clone_id", "chains", *fields]).to_pandas()
    known["key"] = known[fields].replace(r"\*.*", "", regex=True).fillna("").agg("|".join, axis=1)
    frame = members.to_pandas().merge(names, on=["sample_id", "cell_row"]).merge(known, on="clone_id")
    frame["size"] = frame.groupby("clone_id")["joined"].transform("size")
    return frame.set_index(["sample_id", "cell_id"])[["key", "chains", "joined", "size"]]


def hidden(frames: dict[str, pd.DataFrame], chosen: pd.Series) -> dict[str, pd.DataFrame]:
    """Return the tables without the contigs of the hidden chain of some cells."""
    left = {}
    for name, frame in frames.items():
        here = chosen.index.get_level_values(0) == name
        lost = frame["barcode"].map(chosen[here].droplevel(0))
        left[name] = frame[~(frame["chain"] == lost)]
    return left


def main(argv=None):
    args = parse_args(argv)
    words = [word.rpartition("=") for word in args.tables]
    frames = {Path(path).name.split(".")[0]: pd.read_csv(path) for _, _, path in words}
    donors = {Path(path).name.split(".")[0]: donor for donor, _, path in words}
    table = results.Table(
        left="", clone="", hidden=",", right=",", wrong=",", alone=",", right_of_joined=".4f"
    )
    rng, parts = np.random.default_rng(args.seed), []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        before = clones_of_cells(*normalised(folder, frames, donors), folder)
        paired = before[(before["chains"] == "paired") & ~before["joined"]]
        for _ in range(args.repeats):
            cells = paired[rng.random(len(paired)) < args.hide]
            chosen = pd.Series(rng.choice(schema.LOCI, len(cells)), cells.index)
            after = clones_of_cells(*normalised(folder, hidden(frames, chosen), donors), folder)
            part = cells.assign(left=chosen.map(WORDS)).join(after.add_suffix("_after"))
            parts.append(part.dropna(subset=["joined_after"]))
    rows = pd.concat(parts)
    rows["clone"] = np.where(rows["size"] > 1, "of two cells or more", "of one cell")
    for (left, clone), part in rows.groupby(["left", "clone"], sort=False):
        joined = part["joined_after"].astype(bool)
        right = joined & (part["key"] == part["key_after"])
        n, n_joined, n_right = len(part), int(joined.sum()), int(right.sum())
        table.add(
            left=left, clone=clone, hidden=n, right=n_right, wrong=n_joined - n_right, alone=n - n_joined,
            right_of_joined=n_right / n_joined if n_joined else float("nan"),
        )  # fmt: skip
    results.write(args, {"cells": len(before), "paired": len(paired), "joining": table.rows}, ["duckdb"])


if __name__ == "__main__":
    main()
