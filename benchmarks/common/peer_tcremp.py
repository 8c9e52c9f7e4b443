"""
Nearest references by TCREMP; runs in an environment that has mirpy-lib.

    python peer_tcremp.py {squared,sqrt} references.tsv queries.tsv nearest.npz

The tables have the columns tra_v_call, tra_j_call, tra_junction_aa and those of the β chain. Writes the
number of the nearest reference of each query, and its Euclidean distance.
"""

import sys

import mir  # noqa: F401  before numpy: sets the limits of threads
import numpy as np
import polars as pl
from mir.embedding.tcremp import PairedTCREmp

BLOCK = 2048


def main() -> None:
    metric, references_path, queries_path, target = sys.argv[1:]
    model = PairedTCREmp.from_defaults("human", metric=metric, threads=1)
    references = embed(model, pl.read_csv(references_path, separator="\t"))
    queries = pl.read_csv(queries_path, separator="\t")
    centre = references.mean(axis=0)  # shorter vectors: differences of squares stay exact enough
    references -= centre
    lengths = (references**2).sum(axis=1)
    nearest, distance = [], []
    for start in range(0, len(queries), BLOCK):
        vectors = embed(model, queries.slice(start, BLOCK)) - centre
        squares = (vectors**2).sum(axis=1)[:, None] + lengths - 2 * vectors @ references.T
        nearest.append(squares.argmin(axis=1))
        distance.append(np.sqrt(np.maximum(squares.min(axis=1), 0)))
    np.savez(target, nearest=np.concatenate(nearest), distance=np.concatenate(distance))


def embed(model: PairedTCREmp, receptors: pl.DataFrame) -> np.ndarray:
    """Return vectors, float32, shape (n, 12000)."""
    columns = ("v_call", "j_call", "junction_aa")
    chains = {"TRA": "tra_", "TRB": "trb_"}
    return model.embed(
        {
            locus: receptors.select(pl.col(chain + name).alias(name) for name in columns)
            for locus, chain in chains.items()
        }
    )


if __name__ == "__main__":
    main()
