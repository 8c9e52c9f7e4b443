"""Receptors of no known specificity, which a classifier learns to tell references from."""

from functools import reduce
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airrvec.core import identity, schema, tables
from airrvec.core.errors import InputError
from airrvec.core.seeds import generator
from airrvec.synthetic import generation
from airrvec.synthetic.synthesis import synthesise

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
        `airrvec.core.schema.RECEPTORS`, sorted by ``receptor_id``.

    Raises
    ------
    InputError
        If there are fewer such receptors, or the table is another.
    """
    found = unselected(
        path,
        2 * N_BACKGROUND,
        species=species,
        seed=seed,
        leave_out=labelled["clonotype_id"],
        without="linear_svc has no background",
        option="--benchmark_background",
    )
    complete = (pc.is_valid(found[name]) for name in schema.RECEPTOR_FIELDS)
    usable = found.filter(reduce(pc.and_, complete))
    if len(usable) < N_BACKGROUND:
        raise InputError(
            f"linear_svc needs {N_BACKGROUND} receptors as background, of {species}, with both chains"
            f" complete, and not labelled; there are {len(usable)}",
            file=path,
            fix="Give more receptors, or leave out --benchmark_background for OLGA's",
        )
    rows = generator(seed, "background").choice(len(usable), N_BACKGROUND, replace=False)
    return usable.take(pa.array(np.sort(rows)))


def unselected(
    path: Path | None,
    n: int,
    *,
    species: str,
    seed: int,
    leave_out: pa.ChunkedArray,
    without: str = "there is no background",
    option: str = "--background",
) -> pa.Table:
    """
    Distinct receptors of a species that nobody has selected: those of a table, or OLGA's. Of receptors that
    differ in alleles alone, one.

    Parameters
    ----------
    path : Path, optional
        ``receptors``, a file or a folder of partitions; without it they are OLGA's.
    n : int
        How many OLGA makes, those left out included.
    species : str
        Of the receptors to take.
    seed : int
        Of OLGA's receptors.
    leave_out : pyarrow.ChunkedArray
        ``clonotype_id`` of those that are no background.
    without, option : str
        What the error says is lacking, and which parameter mends it.

    Raises
    ------
    InputError
        If there is no table, and OLGA has no model of the species.
    """
    if path is None and species not in generation.SPECIES:
        raise InputError(
            f"{without}: OLGA has no receptors of {species}",
            fix=f"Give receptors as {option}",
        )
    found = synthesise(n, seed=seed, species=species) if path is None else _read(path)
    usable = pc.and_(
        pc.equal(found["species"], species),
        pc.invert(pc.is_in(found["clonotype_id"], leave_out.combine_chunks())),
    )
    distinct = tables.distinct(found.filter(usable))
    return distinct.take(identity.clonotypes(distinct)[1])


def _read(path: Path) -> pa.Table:
    """``receptors`` of another run, a file or a folder of partitions."""
    try:
        found = tables.read(path)
        if "clonotype_id" not in found.column_names:  # a table of airrvec 0.1.0
            found = found.append_column("clonotype_id", identity.clonotype_ids(found))
        return found.select(schema.RECEPTORS.names)
    except (pa.ArrowInvalid, FileNotFoundError, KeyError) as problem:
        raise InputError(
            f"this is no table of receptors ({str(problem).splitlines()[0]})",
            file=path,
            fix="Give receptors.parquet of another run, or its folder of partitions",
        ) from problem
