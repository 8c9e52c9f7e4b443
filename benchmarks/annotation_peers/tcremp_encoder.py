"""
TCREMP as an encoder of the few-shot benchmark: an example of docs/guides/adding_an_encoder.md.

TCREMP (package mirpy-lib, GPL) describes a chain by its distances to prototypes. Here receptors are compared
by the Euclidean distance of the square roots of these distances. A program in an environment of its own
computes them:

    python3 -m venv mirpy && mirpy/bin/pip install mirpy-lib==4.7.0
    export TCREMP_PYTHON=$PWD/mirpy/bin/python TCREMP_CACHE=$PWD/distances
    nextflow run . --labelled table.csv \\
        --encoders sceptr,tcrdist,benchmarks/annotation_peers/tcremp_encoder.py

Distances of the same receptors are computed once. TCREMP_CACHE holds 4 bytes for each pair of receptors.
"""

import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np

TITLE = "TCREMP"

VERSION = "mirpy-lib 4.7.0, square root"  # another text lets all distances be computed again
FIELDS = [f"{chain}_{name}" for chain in ("tra", "trb") for name in ("v_call", "j_call", "junction_aa")]
PROGRAM = """
import sys
import mir
import numpy as np
import polars as pl
from mir.embedding.tcremp import PairedTCREmp

names = ("v_call", "j_call", "junction_aa")
table = pl.read_csv(sys.argv[1], separator="\\t")
model = PairedTCREmp.from_defaults("human", metric="sqrt", threads=1)
chains = {"TRA": "tra_", "TRB": "trb_"}
vectors = model.embed({
    locus: table.select(pl.col(chain + name).alias(name) for name in names) for locus, chain in chains.items()
})
vectors -= vectors.mean(axis=0)  # shorter vectors: differences of squares stay exact enough
lengths = (vectors ** 2).sum(axis=1)
squares = lengths[:, None] + lengths - 2 * vectors @ vectors.T
np.fill_diagonal(squares, 0)
np.save(sys.argv[2], np.sqrt(np.maximum(squares, 0)))
"""


class Tcremp:
    needs = tuple(FIELDS)

    def distance_rows(self, receptors):
        """Return a function: row numbers → distances of these rows to all rows."""
        frame = receptors.select(FIELDS).to_pandas()
        for name in (field for field in FIELDS if field.endswith("_call")):
            frame[name] = frame[name].where(frame[name].str.contains("*", regex=False), frame[name] + "*01")
        table = frame.to_csv(sep="\t", index=False)
        folder = Path(os.environ.get("TCREMP_CACHE", Path(tempfile.gettempdir()) / "tcremp"))
        path = folder / (hashlib.sha256((VERSION + table).encode()).hexdigest()[:16] + ".npy")
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder) as own:
                written, output = Path(own) / "receptors.tsv", Path(own) / "distances.npy"
                written.write_text(table)
                command = [os.environ["TCREMP_PYTHON"], "-c", PROGRAM, str(written), str(output)]
                subprocess.run(command, check=True)
                output.rename(path)
        distances = np.load(path, mmap_mode="r")
        return lambda rows: np.asarray(distances[rows])


def encoder():
    return Tcremp()
