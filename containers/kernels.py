#!/usr/bin/env python3
"""
Compile what numba compiles for a run, beside the start of Nextflow: a task then loads it.

    kernels.py

Numba keeps the code in `__pycache__` of the library, or in NUMBA_CACHE_DIR.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "bin"))

from airrvec.core import schema  # first: it refuses kernels that the processor lacks

import numpy as np
import pyarrow as pa

CHAINS = ("TRAV5*01", "TRAJ31*01", "CAADSNARFMF", "TRBV20-1*01", "TRBJ1-3*01")
JUNCTIONS = ("CSARDRVGNTIYF", "CSARDRVGNTIYFF", "CSARDRVGGGNTIYF")  # of several lengths
N = 600  # vectors: enough for every step of the searches


def receptors() -> pa.Table:
    """Return receptors that differ in a junction."""
    rows = [dict(zip(schema.RECEPTOR_FIELDS, (*CHAINS, junction), strict=True)) for junction in JUNCTIONS]
    texts = [{"receptor_id": row["trb_junction_aa"], "species": "homosapiens"} | row for row in rows]
    return pa.Table.from_pylist(texts)


def main() -> None:
    from airrvec.encoders.sceptr import Sceptr
    from airrvec.encoders.tcrdist import Tcrdist
    from airrvec.repertoire import layout
    from airrvec.search import neighbours, radius_search

    few = receptors()
    Tcrdist().nearest(few, few, 2)  # in the order of a run
    Sceptr("sceptr").embed(few)
    vectors = np.random.default_rng(0).normal(size=(N, 64)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    neighbours.nearest(vectors, vectors, 5)
    neighbours.nearest(vectors[:10], vectors, 5)  # too few to round the others for them
    radius_search.within(vectors, vectors, 0.5)
    radius_search.pairs_within(vectors, 0.5)
    layout.plane(vectors[:100], seed=0)


if __name__ == "__main__":
    main()
