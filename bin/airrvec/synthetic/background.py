"""
Background receptors: unselected receptors, used to estimate chance similarity and as a negative class.

There are three ways to get them:

- OLGA generates them (`airrvec.synthetic.synthesis.synthesise`);
- real chains are paired at random (`shuffle_pairs`);
- they are the receptors of another run (`read_run`).

`background` and `negatives` take OLGA's, or those of another run.
"""

from functools import reduce
from pathlib import Path

from airrvec.core import identity, schema, tables
from airrvec.core.errors import InputError
from airrvec.core.progress import step
from airrvec.core.seeds import generator, numbered_generator
from airrvec.core.tables import contiguous
from airrvec.synthetic import generation
from airrvec.synthetic.synthesis import synthesise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

N = 10_000  # receptors that place the radius of clusters
N_NEGATIVES = 1000


@step("background receptors")
def background(
    path: Path | None,
    n: int = N,
    *,
    species: str,
    seed: int,
    leave_out: pa.ChunkedArray,
    purpose: str = "background",
) -> pa.Table:
    """
    Return distinct background receptors of a species, in random order.

    Parameters
    ----------
    path : Path, optional
        ``receptors``, a file or a folder of partitions; without it OLGA generates them.
    n : int
        Largest number of receptors. OLGA generates ``n``, from which the excluded ones are removed.
    species : str
        Species of the receptors.
    seed : int
        Seed of the random order and of OLGA's receptors.
    leave_out : pyarrow.ChunkedArray
        ``clonotype_id`` of the receptors to exclude.
    purpose : str
        Name of the random order: each purpose has its own.

    Returns
    -------
    pyarrow.Table
        `airrvec.core.schema.RECEPTORS`.

    Raises
    ------
    InputError
        If there is no table and OLGA has no model of the species, or if the table cannot be read.
    """
    receptors = _distinct(path, n, species, seed, leave_out)
    return receptors.take(pa.array(generator(seed, purpose).permutation(len(receptors))[:n]))


def negatives(path: Path | None, *, species: str, seed: int, leave_out: pa.ChunkedArray) -> pa.Table:
    """
    Return 1,000 complete background receptors, the same for every encoder and split.

    They are the negative class of a classifier (paper, Appendix "Learning features within embedding
    spaces").

    Parameters
    ----------
    path, species, seed, leave_out
        As for `background`.

    Returns
    -------
    pyarrow.Table of 1,000 rows
        `airrvec.core.schema.RECEPTORS`, sorted by ``receptor_id``.

    Raises
    ------
    InputError
        As for `background`, and if there are fewer such receptors.
    """
    receptors = _distinct(path, 2 * N_NEGATIVES, species, seed, leave_out)
    complete = (pc.is_valid(receptors[name]) for name in schema.RECEPTOR_FIELDS)
    usable = receptors.filter(reduce(pc.and_, complete))
    if len(usable) < N_NEGATIVES:
        raise InputError(
            f"linear_svc needs {N_NEGATIVES} unlabelled background receptors of {species} with two complete"
            f" chains; there are {len(usable)}",
            file=path,
            fix="Give more receptors, or omit --background to use OLGA's",
        )
    rows = generator(seed, "background").choice(len(usable), N_NEGATIVES, replace=False)
    return usable.take(pa.array(np.sort(rows)))


def read_run(path: Path) -> pa.Table:
    """
    Return the receptors of another run, from a file or a folder of partitions.

    Raises
    ------
    InputError
        If it is not a table of receptors.
    """
    try:
        receptors = tables.read(path)
        return receptors.select(schema.RECEPTORS.names)
    except (pa.ArrowInvalid, FileNotFoundError, KeyError) as problem:
        raise InputError(
            f"this is not a table of receptors ({str(problem).splitlines()[0]})",
            file=path,
            fix="Give receptors.parquet of another run, or its folder of partitions",
        ) from problem


def shuffle_pairs(receptors: pa.Table, *, seed: int) -> pa.Table:
    """
    Return complete pairs with their β chains permuted at random within each species.

    Each chain occurs as often as before. By chance, a pair may equal an original pair or occur twice.

    Parameters
    ----------
    receptors : pyarrow.Table
        `airrvec.core.schema.RECEPTORS` and any other columns; the result depends on the order of the rows.
    seed : int
        Random seed, not negative.

    Returns
    -------
    pyarrow.Table
        `airrvec.core.schema.RECEPTORS`, one row per complete pair, α chains in their original order.

    References
    ----------
    The paper's "SCEPTR (shuffled data)", section "Ablation studies".
    """
    alpha, beta = (pc.is_valid(receptors[schema.field(locus, "junction_aa")]) for locus in schema.LOCI)
    pairs = receptors.select(["species", *schema.RECEPTOR_FIELDS]).filter(pc.and_(alpha, beta))
    rng = numbered_generator(seed)
    species = contiguous(pairs["species"]).dictionary_encode().indices.to_numpy(zero_copy_only=False)
    partner = np.empty(len(pairs), np.int64)
    for number in range(species.max(initial=-1) + 1):
        rows = np.flatnonzero(species == number)
        partner[rows] = rng.permutation(rows)
    for name in schema.CHAIN_FIELDS:
        column = schema.field("TRB", name)
        at = pairs.schema.get_field_index(column)
        pairs = pairs.set_column(at, column, contiguous(pairs[column]).take(pa.array(partner)))
    return identity.receptors_table(pairs, pa.repeat(schema.SINGLE_PAIR, len(pairs)))


def _distinct(path: Path | None, n: int, species: str, seed: int, leave_out: pa.ChunkedArray) -> pa.Table:
    """Return receptors of another run, or of OLGA's first ``n``, one per clonotype, by ``receptor_id``."""
    if path is None and species not in generation.SPECIES:
        raise InputError(
            f"there is no background: OLGA has no model of {species}",
            fix="Give receptors as --background: annotation, clusters, comparisons and linear_svc need them",
        )
    receptors = synthesise(n, seed=seed, species=species) if path is None else read_run(path)
    # Of a run's many ids, those that are here at all: only these are hashed.
    left_out = leave_out.filter(pc.is_in(leave_out, pc.unique(receptors["clonotype_id"])))
    usable = pc.and_(
        pc.equal(receptors["species"], species),
        pc.invert(pc.is_in(receptors["clonotype_id"], left_out.combine_chunks())),
    )
    distinct = tables.distinct_receptors(receptors.filter(usable))
    return distinct.take(identity.number_clonotypes(distinct)[1])
