"""Material of the benchmarks: normalised tables, paired receptors, vectors."""

import subprocess
import sys
from pathlib import Path

from airrvec.core import schema, tables
from airrvec.input import normalise, reading

import numpy as np
import pyarrow as pa

ROOT = Path(__file__).parents[2]
# Our fields → the columns of the package sceptr.
SCEPTR_COLUMNS = {
    "tra_v_call": "TRAV",
    "tra_junction_aa": "CDR3A",
    "trb_v_call": "TRBV",
    "trb_junction_aa": "CDR3B",
}


def normalised(path: Path, folder: Path) -> tuple[pa.Table, pa.Table]:
    """Return cells and distinct receptors of a file; ``normalise_receptors.py`` writes them to a folder."""
    name = path.name.split(".")[0]
    command = [ROOT / "bin/normalise_receptors.py", path, "--sample", name, "--outdir", folder]
    subprocess.run([sys.executable, *map(str, command)], check=True, stdout=sys.stderr)
    parts = [tables.read(part) for part in sorted(folder.glob(f"{name}.receptors_*.parquet"))]
    return tables.read(folder / f"{name}.cells.parquet"), tables.distinct_receptors(pa.concat_tables(parts))


def paired_receptors(path: Path, n: int) -> pa.Table:
    """Return the first ``n`` paired human receptors of a table."""
    chains = reading.open_chains(path)
    receptors = normalise.normalise(chains, sample_id="bench", species="homosapiens").receptors
    frame = receptors.to_pandas()
    paired = frame[(frame["chain_pairing"] == "single pair") & (frame["species"] == "homosapiens")]
    paired = paired.dropna(subset=["tra_v_call", "trb_v_call"])
    return pa.Table.from_pandas(paired.head(n), schema=receptors.schema, preserve_index=False)


def cells_table(receptors: pa.Table, **columns) -> pa.Table:
    """Return a cell of each receptor, with the columns of `airrvec.core.schema.CELLS`; others are null."""
    n = len(receptors)
    values = {
        name: pa.nulls(n, kind) for name, kind in zip(schema.CELLS.names, schema.CELLS.types, strict=True)
    }
    values |= {name: receptors[name] for name in schema.CELLS.names if name in receptors.column_names}
    values |= {"input_rows": pa.repeat(1, n), **columns}
    return pa.table(values).select(schema.CELLS.names).cast(schema.CELLS)


def unit_vectors(n: int, d: int, seed: int) -> np.ndarray:
    """Return random unit vectors about 1,000 centres, shape (n, d), float32."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(0).standard_normal((1000, d), np.float32)
    vectors = centres[rng.integers(1000, size=n)]
    vectors += rng.standard_normal((n, d), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors
