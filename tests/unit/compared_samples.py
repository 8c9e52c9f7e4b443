"""Samples through the scripts of a run up to their comparison, for the tests of what that says."""

from collections.abc import Iterable
from pathlib import Path

from airrvec.core import tables
from airrvec.encoders import load
from airrvec.synthetic.synthesis import synthesise

import clone_tables
import pyarrow as pa

import compare_samples
import normalise_receptors


def compare(folder: Path, samples: Iterable[tuple]) -> Path:
    """
    Normalise, embed and compare samples; return the folder of their clones.

    The distinct receptors are ``receptors/receptors.parquet``, the results ``comparison/``.

    Parameters
    ----------
    folder
    samples
        Name, path and further options of ``normalise_receptors.py``.
    """
    for name, path, *options in samples:
        words = [path, "--sample", name, *options, "--outdir", folder]
        normalise_receptors.main([str(word) for word in words])
    parts = [tables.read(path) for path in sorted(folder.glob("*.receptors_*.parquet"))]
    receptors = tables.distinct_receptors(pa.concat_tables(parts))
    files = [folder / f"receptors/{name}.parquet" for name in ("receptors", "vectors", "background")]
    encoder = load("sceptr")
    vectors = tables.embeddings_table(receptors["receptor_id"], encoder.embed(receptors))
    tables.write(receptors, files[0])
    tables.write(vectors, files[1], encoder.loaded.vector_model.metadata())
    tables.write(synthesise(2000, seed=9), files[2])
    clones = clone_tables.count(folder, sorted(folder.glob("*.cells.parquet")), files[0])
    words = ["--clones", clones, "--receptors", files[0], "--embeddings", files[1], "--background", files[2]]
    words += ["--compare-permutations", 19, "--outdir", folder / "comparison"]
    compare_samples.main([str(word) for word in words])
    return clones
