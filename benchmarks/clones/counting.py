#!/usr/bin/env python3
"""
Clones of many cells: time and memory of the two scripts that make the tables of clones.

Each donor has two samples, drawn from receptors of its own of which the n-th most frequent has about 1/n; a
fifth of the cells shows one chain alone. They are written as 10x contigs, and normalised.
"""

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

from airrvec.core import schema, tables
from airrvec.synthetic.synthesis import synthesise

import numpy as np
import pandas as pd

import collect_receptors
from benchmarks.common import results
from benchmarks.common.replicates import blood
from benchmarks.common.timing import program

SINGLE_CHAIN = {"TRB": 0.15, "TRA": 0.05}  # share of the cells that show this chain alone
CODONS = {"A": "GCT", "C": "TGT", "D": "GAT", "E": "GAA", "F": "TTT", "G": "GGT", "H": "CAT", "I": "ATT"}
CODONS |= {"K": "AAA", "L": "CTG", "M": "ATG", "N": "AAC", "P": "CCT", "Q": "CAA", "R": "CGT", "S": "TCT"}
CODONS |= {"T": "ACT", "V": "GTT", "W": "TGG", "Y": "TAT"}
NAMES = {"v_call": "v_gene", "j_call": "j_gene", "junction_aa": "cdr3"}


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("--cells", type=int, nargs="+", default=[10**5, 10**6])
    parser.add_argument("--donors", type=int, default=10)
    parser.add_argument("--receptors", type=int, default=10_000, help="of each donor")
    parser.add_argument("--seed", type=int, default=420)
    return parser.parse_args(argv)


def contigs(receptors: pd.DataFrame, n_cells: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return the 10x contigs of cells that are drawn from the receptors of a donor."""
    drawn = rng.choice(len(receptors), n_cells, p=blood(rng, len(receptors)))
    shown = rng.random(n_cells)
    hidden = {"TRA": shown < SINGLE_CHAIN["TRB"], "TRB": shown >= 1 - SINGLE_CHAIN["TRA"]}
    parts = []
    for locus in schema.LOCI:
        fields = {schema.field(locus, name): title for name, title in NAMES.items()}
        rows = receptors.iloc[drawn[~hidden[locus]]][[*fields]].rename(columns=fields)
        cells = np.flatnonzero(~hidden[locus])
        rows.insert(0, "barcode", [f"cell{number}-1" for number in cells])
        parts.append(rows.assign(chain=locus, contig_id=rows["barcode"] + f"_{locus}"))
    rows = pd.concat(parts)
    for column in ("v_gene", "j_gene"):
        rows[column] = rows[column].str.replace(r"\*.*", "", regex=True)
    rows["cdr3_nt"] = rows["cdr3"].map(lambda text: "".join(map(CODONS.__getitem__, text)))
    known = {"is_cell": True, "high_confidence": True, "full_length": True, "productive": True}
    return rows.assign(**known, reads=100, umis=5)


def normalised(args, n_cells: int, folder: Path) -> list[str]:
    """Normalise the samples of all donors; return their names."""
    rng = np.random.default_rng(args.seed)
    receptors = synthesise(args.receptors * args.donors, seed=args.seed).to_pandas()
    names = []
    for number in range(2 * args.donors):
        donor, name = number // 2, f"s{number:03d}"
        own = receptors.iloc[donor * args.receptors : (donor + 1) * args.receptors]
        contigs(own, n_cells // (2 * args.donors), rng).to_csv(folder / f"{name}.csv", index=False)
        metadata = json.dumps({"donor": f"d{donor}"})
        words = ("--sample", name, "--format", "10x", "--metadata", metadata, "--outdir", folder)
        program(sys.executable, ROOT / "bin/normalise_receptors.py", folder / f"{name}.csv", *words)
        names.append(name)
    parts = [str(folder / f"{name}.receptors_0000.parquet") for name in names]
    collect_receptors.main([*parts, "--shard-tokens", "100000000", "--outdir", str(folder / "run")])
    return names


def measured(folder: Path, names: list[str]) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield what each of the two scripts takes."""
    cells, chains = ([folder / f"{name}.{kind}.parquet" for name in names] for kind in ("cells", "chains"))
    receptors = folder / "run/receptors.parquet"
    words = ("--cells", *cells, "--chains", *chains, "--receptors", receptors, "--outdir", folder / "clones")
    common = ("--memory", "2GB", "--threads", 2)
    yield "count_clones", program(sys.executable, ROOT / "bin/count_clones.py", *words, *common)
    words = ("--clones", folder / "clones", "--outdir", folder / "described")
    yield "describe_clones", program(sys.executable, ROOT / "bin/describe_clones.py", *words, *common)


def main(argv=None):
    args = parse_args(argv)
    table = results.Table(cells=",", script="", clones=",", wall_s=".1f", processor_s=".1f", memory_MB=",.0f")
    for n_cells in args.cells:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            samples = normalised(args, n_cells, folder)
            for script, used in measured(folder, samples):
                clones = tables.n_rows(folder / "clones/clones.parquet")
                table.add(cells=n_cells, script=script, clones=clones, **used)
    results.write(args, {"counting": table.rows}, ["duckdb", "numpy", "pyarrow"])


if __name__ == "__main__":
    main()
