"""Material of the benchmarks of annotation: normalised tables, folds of studies, and the first look alone."""

import subprocess
import sys
from pathlib import Path

from airrvec.annotation import cross_validation, search
from airrvec.annotation.calibration import CalibrationScores
from airrvec.annotation.candidates import stacked
from airrvec.core import tables

import numpy as np
import pyarrow as pa

ROOT = Path(__file__).parents[2]
MIN_REFERENCES = search.MIN_REFERENCES


def normalised(path: Path, folder: Path):
    """Cells and receptors of a file."""
    command = [ROOT / "bin" / "normalise_receptors.py", path, "--sample", path.name.split(".")[0]]
    subprocess.run([sys.executable, *map(str, command), "--outdir", str(folder)], check=True, cwd=folder)
    name = path.name.split(".")[0]
    receptors = [tables.read(part) for part in sorted(folder.glob(f"{name}.receptors_*.parquet"))]
    return tables.read(folder / f"{name}.cells.parquet"), tables.distinct_receptors(
        pa.concat_tables(receptors)
    )


def held_out(reference, folds, fold: int):
    """
    Labelled receptors of a fold's studies alone, as queries against the receptors of no study of it.

    Returns
    -------
    asking, others : ndarray of int64
        Rows of the queries, and of the references.
    known : ReferenceSet
        The references.
    binds : ndarray of bool, shape (n_asking, n_epitopes)
        Which of the epitopes that may be called a query binds.
    """
    asking = np.flatnonzero(folds[:, fold] & (folds.sum(axis=1) == 1))
    others = np.flatnonzero(~folds[:, fold])
    known = reference.take(others)
    candidate = (known.epitopes["n_references"] >= MIN_REFERENCES).to_numpy()
    return asking, others, known, (reference.labels[asking].toarray() > 0) & candidate


def calibrated(known, vectors, contrast, negatives, threads: int) -> CalibrationScores:
    """What calibrates SCEPTR's share alone, with references and a background given as vectors."""
    folds, _ = cross_validation.assign_folds(known, seed=420)
    rows, found = [], []
    for fold in range(folds.shape[1]):
        asking, others, left, _ = held_out(known, folds, fold)
        if len(asking) and len(others):
            found.append(
                search.search_candidates(vectors[asking], left, vectors[others], contrast, threads=threads)
            )
            rows.append(asking)
    scores = search.search_candidates(negatives, known, vectors, contrast, threads=threads)
    return CalibrationScores(stacked(found), scores, known.labels[np.concatenate(rows)])
