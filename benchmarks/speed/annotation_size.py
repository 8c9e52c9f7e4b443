#!/usr/bin/env python3
"""
Time and peak memory of annotation for one sample of growing size.

OLGA makes the receptors, and they are embedded before. The script runs as the pipeline runs it, in a process
of its own, with a reference that `calibrate_annotation.py` wrote.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

from airrvec.core import identity, schema, tables
from airrvec.core.chains import on_chains
from airrvec.encoders.sceptr import Sceptr
from airrvec.synthetic.synthesis import synthesise

import pyarrow as pa

from benchmarks.common import results, timing
from benchmarks.common.material import cells_table

PART = 2**16


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("reference", type=Path, help="folder of .npz files")
    parser.add_argument("--receptors", type=int, nargs="+", default=[10**5, 10**6])
    parser.add_argument("--chains", choices=("paired", "beta"), default="paired")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--folder", type=Path, required=True, help="for input and results; the input is kept")
    parser.add_argument("--scripts", type=Path, default=ROOT / "bin", help="of another version")
    return parser.parse_args(argv)


def write_input(n: int, chains: str, cpus: int, folder: Path) -> None:
    """Write receptors, their vectors and a cell of each, in parts."""
    folder.mkdir(parents=True)
    encoder = Sceptr("sceptr", threads=cpus)
    metadata = encoder.loaded.vector_model.metadata()
    with (
        tables.writer(folder / "receptors.parquet", schema.RECEPTORS) as receptors,
        tables.writer(folder / "embeddings.parquet", schema.embeddings(64), metadata) as embeddings,
        tables.writer(folder / "x.cells.parquet", schema.CELLS) as cells,
    ):
        for first in range(0, n, PART):
            made = on_chains(synthesise(min(PART, n - first), seed=1, first=first), chains)
            made = identity.receptors_table(
                made.select(["species", *schema.RECEPTOR_FIELDS]), _pairing(made, chains)
            )
            made = tables.distinct_receptors(made)
            receptors.write_table(made)
            embeddings.write_table(tables.embeddings_table(made["receptor_id"], encoder.embed(made)))
            names = [f"cell_{number}" for number in range(first, first + len(made))]
            cells.write_table(cells_table(made, sample_id=pa.repeat("x", len(made)), cell_id=names))


def _pairing(receptors: pa.Table, chains: str) -> pa.Array:
    return pa.repeat(schema.SINGLE_PAIR if chains == "paired" else schema.ORPHAN_VDJ, len(receptors))


def main(argv=None):
    args = parse_args(argv)
    table = results.Table(receptors=",", chains="", wall_s=".0f", processor_s=".0f", memory_MB=",.0f")
    for n in args.receptors:
        folder = args.folder / f"{args.chains}_{n}"
        if not folder.exists():
            write_input(n, args.chains, args.threads, folder)
        words = [sys.executable, args.scripts / "annotate_receptors.py", "--sample", "x"]
        words += ["--cells", folder / "x.cells.parquet", "--receptors", folder / "receptors.parquet"]
        words += ["--embeddings", folder / "embeddings.parquet", "--reference", args.reference]
        used = timing.program(*words, "--threads", args.threads, "--outdir", folder / "results")
        table.add(receptors=n, chains=args.chains, **used)
    results.write(args, {"samples": table.rows})


if __name__ == "__main__":
    main()
