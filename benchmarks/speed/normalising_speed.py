#!/usr/bin/env python3
"""
Rows normalised a second, and peak memory, for AIRR tables of growing size.

The tables are made from the β chains of a real one, by drawing rows and changing two residues of each
junction. Each is normalised by the script as the pipeline runs it, in a process of its own. Other programs
read a table of ``--peer-rows`` rows, and check it less or not at all.
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
# Other readers of AIRR tables: the whole work of a process whose first argument is the table.
PEERS = {
    "airr, load_rearrangement": "import airr; airr.load_rearrangement(path)",
    "pandas, read_csv": "import pandas; pandas.read_csv(path, sep='\\t')",
}


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("table", type=Path, help="a table with β chains, in any format that airrvec reads")
    parser.add_argument("--rows", type=int, nargs="+", default=[10**4, 10**5, 10**6])
    parser.add_argument("--peer-rows", type=int, default=10**5, help="rows of the table for other programs")
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


def measured(path: Path, n_rows: int, *command) -> dict[str, float]:
    """Return rows, seconds, rows a second and memory of a program that reads a table of ``n_rows`` rows."""
    used = timing.program(sys.executable, *command)
    speeds = {
        "rows_a_second": n_rows / used["wall_s"],
        "rows_a_processor_second": n_rows / used["processor_s"],
    }
    return {"rows": n_rows, "file_MB": path.stat().st_size / 1e6, **used, **speeds}


def main(argv=None):
    args = parse_args(argv)
    chains = beta_chains(args.table)
    print(f"Reading AIRR TSV made from {len(chains):,} β chains of {args.table.name}, whole processes")
    formats = {
        "rows": ",",
        "file_MB": ".1f",
        "wall_s": ".1f",
        "processor_s": ".1f",
        "rows_a_second": ",.0f",
        "rows_a_processor_second": ",.0f",
        "memory_MB": ",.0f",
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.tsv"
        script = [ROOT / "bin/normalise_receptors.py", path, "--sample", "x"]
        normalising = [*script, "--format", "airr", "--outdir", folder]
        write_mutated(chains, args.peer_rows, path)
        peers = results.Table(program="", **formats)
        peers.add(program="airrvec", **measured(path, args.peer_rows, *normalising))
        for program, code in PEERS.items():
            code = f"import sys; path = sys.argv[1]; {code}"
            peers.add(program=program, **measured(path, args.peer_rows, "-c", code, path))
        table = results.Table(**formats)
        for n_rows in args.rows:
            write_mutated(chains, n_rows, path)
            table.add(**measured(path, n_rows, *normalising))
    figures = {"chains": len(chains), "tables": table.rows, "peers": peers.rows}
    results.write(args, figures, ["pyarrow", "tidytcells", "airr", "pandas"])


if __name__ == "__main__":
    main()
