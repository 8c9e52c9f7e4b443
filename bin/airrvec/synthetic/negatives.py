"""Receptors without a known specificity, the negative class of a classifier."""

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
    Return 1,000 complete, unlabelled receptors, the same for every encoder and split.

    See the paper's Appendix "Learning features within embedding spaces".

    Parameters
    ----------
    path : Path, optional
        ``receptors``, a file or a folder of partitions; without it OLGA generates them.
    labelled : pyarrow.Table
        ``receptors`` to exclude.
    species : str
        Species of the receptors.
    seed : int
        Seed of the random choice and of OLGA's receptors.

    Returns
    -------
    pyarrow.Table of 1,000 rows
        `airrvec.core.schema.RECEPTORS`, sorted by ``receptor_id``.

    Raises
    ------
    InputError
        If there are fewer such receptors, the table is not a receptor table, or there is no table and
        OLGA has no model of the species.
    """
    candidates = unselected(
        path,
        2 * N_BACKGROUND,
        species=species,
        seed=seed,
        leave_out=labelled["clonotype_id"],
        without="linear_svc has no background",
        option="--benchmark_background",
    )
    complete = (pc.is_valid(candidates[name]) for name in schema.RECEPTOR_FIELDS)
    usable = candidates.filter(reduce(pc.and_, complete))
    if len(usable) < N_BACKGROUND:
        raise InputError(
            f"linear_svc needs {N_BACKGROUND} unlabelled background receptors of {species} with two complete"
            f" chains; there are {len(usable)}",
            file=path,
            fix="Give more receptors, or omit --benchmark_background to use OLGA's",
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
    Return unselected receptors of a species, from a table or from OLGA, one per clonotype.

    Parameters
    ----------
    path : Path, optional
        ``receptors``, a file or a folder of partitions; without it OLGA generates them.
    n : int
        Number of receptors that OLGA generates, before exclusion.
    species : str
        Species of the receptors.
    seed : int
        Seed of OLGA's receptors.
    leave_out : pyarrow.ChunkedArray
        ``clonotype_id`` of the receptors to exclude.
    without, option : str
        Consequence and parameter that the error message names.

    Raises
    ------
    InputError
        If there is no table and OLGA has no model of the species, or if the table cannot be read.
    """
    if path is None and species not in generation.SPECIES:
        raise InputError(
            f"{without}: OLGA has no model of {species}",
            fix=f"Give receptors as {option}",
        )
    receptors = synthesise(n, seed=seed, species=species) if path is None else _read(path)
    usable = pc.and_(
        pc.equal(receptors["species"], species),
        pc.invert(pc.is_in(receptors["clonotype_id"], leave_out.combine_chunks())),
    )
    distinct = tables.distinct_receptors(receptors.filter(usable))
    return distinct.take(identity.number_clonotypes(distinct)[1])


def _read(path: Path) -> pa.Table:
    """Read ``receptors`` of another run, a file or a folder of partitions."""
    try:
        receptors = tables.read(path)
        if "clonotype_id" not in receptors.column_names:  # a table of airrvec 0.1.0
            receptors = receptors.append_column("clonotype_id", identity.clonotype_ids(receptors))
        return receptors.select(schema.RECEPTORS.names)
    except (pa.ArrowInvalid, FileNotFoundError, KeyError) as problem:
        raise InputError(
            f"this is not a table of receptors ({str(problem).splitlines()[0]})",
            file=path,
            fix="Give receptors.parquet of another run, or its folder of partitions",
        ) from problem
