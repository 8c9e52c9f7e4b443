#!/usr/bin/env python3
"""
Rows normalised a second, and peak memory, for AIRR tables of growing size.

The tables are made from the β chains of a real one, by drawing rows and changing two residues of each
junction. Each is normalised by the script as the pipeline runs it, in a process of its own.
"""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

from airrvec.input import normalise, reading
from airrvec.model.tokens import AMINO_ACIDS

import numpy as np
import pandas as pd

from benchmarks.common import results, timing

AT_ONCE = 200_000
WIDTH = 32


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("table", type=Path, help="a table with β chains, in any format that airrvec reads")
    parser.add_argument("--rows", type=int, nargs="+", default=[10**4, 10**5, 10**6])
    return parser.parse_args(argv)


def beta_chains(path: Path) -> pd.DataFrame:
    """Distinct β chains with junctions of 10 to 30 residues."""
    receptors = normalise.normalise(reading.open_chains(path), sample_id="x", species="homosapiens").receptors
    chains = receptors.to_pandas()[["trb_v_call", "trb_j_call", "trb_junction_aa"]].dropna()
    chains = chains.set_axis(["v_call", "j_call", "junction_aa"], axis=1)
    return chains[chains["junction_aa"].str.len().between(10, 30)]


def write_mutated(chains: pd.DataFrame, n_rows: int, path: Path) -> None:
    """An AIRR table of ``n_rows`` rows, drawn with replacement, two residues of each junction changed."""
    rng = np.random.default_rng(0)
    letters = np.frombuffer(AMINO_ACIDS.encode(), np.uint8)
    with path.open("w") as handle:
        for start in range(0, n_rows, AT_ONCE):
            n = min(AT_ONCE, n_rows - start)
            drawn = chains.iloc[rng.integers(0, len(chains), n)].reset_index(drop=True)
            residues = drawn["junction_aa"].to_numpy().astype(f"S{WIDTH}").view(np.uint8).reshape(n, WIDTH)
            inner = drawn["junction_aa"].str.len().to_numpy() - 4
            for _ in range(2):
                place = 2 + (rng.random(n) * inner).astype(int)
                residues[np.arange(n), place] = letters[rng.integers(0, len(letters), n)]
            drawn["junction_aa"] = np.char.decode(residues.view(f"S{WIDTH}").ravel())
            drawn.insert(0, "sequence_id", [f"s{number}" for number in range(start, start + n)])
            drawn = drawn.assign(productive="T", locus="TRB", duplicate_count=1)
            drawn.to_csv(handle, sep="\t", header=start == 0, index=False)


def main(argv=None):
    args = parse_args(argv)
    chains = beta_chains(args.table)
    print(f"Normalising AIRR TSV made from {len(chains):,} β chains of {args.table.name}, whole process")
    table = results.Table(
        rows=",", file_MB=".1f", wall_s=".1f", processor_s=".1f", rows_a_second=",.0f", memory_MB=",.0f"
    )
    with tempfile.TemporaryDirectory() as folder:
        for n_rows in args.rows:
            path = Path(folder) / "rows.tsv"
            write_mutated(chains, n_rows, path)
            command = [sys.executable, ROOT / "bin/normalise_receptors.py", path, "--sample", "x"]
            used = timing.program(*command, "--format", "airr", "--outdir", folder)
            size = path.stat().st_size / 1e6
            table.add(rows=n_rows, file_MB=size, rows_a_second=n_rows / used["wall_s"], **used)
    results.write(args, {"chains": len(chains), "tables": table.rows}, ["pyarrow", "tidytcells"])


if __name__ == "__main__":
    main()
