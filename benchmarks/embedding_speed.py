#!/usr/bin/env python3
"""
Receptors embedded a second: airrvec and the ``sceptr`` package, in turn, on the same receptors.

Both start from the same table in memory and end with an array of vectors, on one thread in float32;
the ratio is the median over the alternations. The largest difference of the vectors is printed too.
"""

import argparse
import os
import statistics
import sys
import time
import warnings
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "bin"))

import numpy as np
import pyarrow as pa
import sceptr
import torch

from airrvec import normalise, readers
from airrvec.encoders.sceptr import Sceptr


def parse_args(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", type=Path, help="receptors, in any format that airrvec reads")
    parser.add_argument("--receptors", type=int, default=7000)
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args(argv)


def paired_receptors(path: Path, n: int) -> pa.Table:
    """The first ``n`` paired human receptors of a table."""
    chains = readers.open_chains(path)
    receptors = normalise.normalise(chains, sample_id="bench", species="homosapiens").receptors
    frame = receptors.to_pandas()
    paired = frame[(frame["chain_pairing"] == "single pair") & (frame["species"] == "homosapiens")]
    paired = paired.dropna(subset=["tra_v_call", "trb_v_call"])
    return pa.Table.from_pandas(paired.head(n), schema=receptors.schema, preserve_index=False)


def main(argv=None):
    args = parse_args(argv)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    receptors = paired_receptors(args.table, args.receptors)
    columns = {
        "tra_v_call": "TRAV",
        "tra_junction_aa": "CDR3A",
        "trb_v_call": "TRBV",
        "trb_junction_aa": "CDR3B",
    }
    frame = receptors.to_pandas()[list(columns)].rename(columns=columns)
    encoder, peer = Sceptr("sceptr"), sceptr.variant.default()

    def seconds(function) -> tuple[float, np.ndarray]:
        start = time.perf_counter()
        vectors = function()
        return time.perf_counter() - start, vectors

    encoder.embed(receptors.slice(0, 200))
    peer.calc_vector_representations(frame.head(200))
    ours, theirs = [], []
    for _ in range(args.rounds):
        own_time, own = seconds(lambda: encoder.embed(receptors))
        peer_time, other = seconds(lambda: peer.calc_vector_representations(frame))
        ours.append(own_time)
        theirs.append(peer_time)
    n = len(receptors)
    ratios = [peer_time / own_time for own_time, peer_time in zip(ours, theirs, strict=True)]
    print(f"Embedding {n:,} paired receptors, one thread, float32, {args.rounds} alternations (medians)")
    print(f"  airrvec {n / statistics.median(ours):>8,.0f} receptors a second")
    print(f"  sceptr  {n / statistics.median(theirs):>8,.0f} receptors a second")
    print(f"  ratio   {statistics.median(ratios):>8.1f} (from {min(ratios):.1f} to {max(ratios):.1f})")
    print(f"  largest difference of a vector's element: {np.abs(own - other).max():.1e}")


if __name__ == "__main__":
    main()
