"""Receptors of no known specificity, which a classifier learns to tell references from."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airrvec import schema, tables
from airrvec.errors import InputError
from airrvec.fewshot import generator
from airrvec.synthesis import SPECIES, synthesise

N_BACKGROUND = 1000


def background(path: Path | None, labelled: pa.Table, species: str, seed: int) -> pa.Table:
    """
    1,000 complete receptors that are not labelled (paper, Appendix "Learning features within embedding
    spaces"), the same for every encoder and split.

    Parameters
    ----------
    path : Path, optional
        ``receptors``, a file or a folder of partitions; without it they are OLGA's.
    labelled : pyarrow.Table
        ``receptors`` to leave out.
    species : str
        Of the receptors to take.
    seed : int
        Of the random choice.

    Returns
    -------
    pyarrow.Table of 1,000 rows
        `airrvec.schema.RECEPTORS`, sorted by ``receptor_id``.

    Raises
    ------
    InputError
        If there are fewer such receptors, or the table is another.
    """
    if path is None and species != SPECIES:
        raise InputError(
            f"linear_svc has no background: OLGA's receptors are human, and --species is {species}",
            fix="Give receptors as --benchmark_background",
        )
    found = synthesise(2 * N_BACKGROUND, seed=seed) if path is None else read_receptors(path)
    usable = pc.and_(
        pc.equal(found["species"], species),
        pc.invert(pc.is_in(found["receptor_id"], labelled["receptor_id"].combine_chunks())),
    )
    for name in schema.RECEPTOR_FIELDS:
        usable = pc.and_(usable, pc.is_valid(found[name]))
    usable = tables.distinct(found.filter(usable))
    if len(usable) < N_BACKGROUND:
        raise InputError(
            f"linear_svc needs {N_BACKGROUND} receptors as background, of {species}, with both chains"
            f" complete, and not labelled; there are {len(usable)}",
            file=path,
            fix="Give more receptors, or leave out --benchmark_background for OLGA's",
        )
    rows = generator(seed, "background").choice(len(usable), N_BACKGROUND, replace=False)
    return usable.take(pa.array(np.sort(rows)))


def read_receptors(path: Path) -> pa.Table:
    """``receptors`` of another run, a file or a folder of partitions."""
    try:
        return tables.read(path, schema.RECEPTORS.names)
    except (pa.ArrowInvalid, FileNotFoundError) as problem:
        raise InputError(
            f"this is no table of receptors ({str(problem).splitlines()[0]})",
            file=path,
            fix="Give receptors.parquet of another run, or its folder of partitions",
        ) from problem
