"""
Unselected receptors: drawn from OLGA's recombination models, or real chains paired at random.

OLGA's own generator draws one chain at a time; here the same events are drawn in blocks.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airrvec.core import identity, schema
from airrvec.input.standardise import contiguous
from airrvec.synthetic.recombination import recombination

SPECIES = "homosapiens"

_BLOCK = 16_384  # receptors; another size would change the receptors of every seed
_DRAWS = 4 * _BLOCK  # recombinations drawn at once; about a quarter is productive


def synthesise(n: int, *, seed: int, first: int = 0, species: str = SPECIES) -> pa.Table:
    """
    Return receptors whose α and β chains are drawn independently from OLGA's default models.

    ``seed`` alone determines an endless table; the result is its ``n`` rows from ``first`` on. Any part can
    be generated without the others and does not depend on how the table is divided.

    A chain is redrawn unless it is productive, its genes are functional according to IMGT, and
    `airrvec.input.junctions` accepts its junction unchanged, which ends in F or W. If IMGT lacks an
    allele, the gene is given without allele. Genes for which OLGA has no germline junction do not occur:
    the human TRAJ35 and some rare alleles.

    Parameters
    ----------
    n : int
        Number of receptors.
    seed : int
        Random seed, not negative.
    first : int
        Number of the first receptor, from 0.
    species : str
        A key of `airrvec.synthetic.generation.SPECIES`.

    Returns
    -------
    pyarrow.Table of n rows
        `airrvec.core.schema.RECEPTORS`. A receptor may occur more than once, though rarely; remove
        duplicates if you need distinct receptors.

    References
    ----------
    Sethna et al. (2019), "OLGA: fast computation of generation probabilities of B- and T-cell receptor
    amino acid sequences and motifs", Bioinformatics 35, 2974; the models are from Marcou et al. (2018),
    "High-throughput immune repertoire analysis with IGoR". The paper's "SCEPTR (synthetic data)",
    section "Ablation studies".
    """
    parts = [schema.RECEPTORS.empty_table()]
    for number in range(first // _BLOCK, -(-(first + n) // _BLOCK)):
        begin, end = (min(max(row - number * _BLOCK, 0), _BLOCK) for row in (first, first + n))
        parts.append(_receptors(_block(seed, number, species).slice(begin, end - begin)))
    return pa.concat_tables(parts)


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
    pairs = receptors.select(_PAIRS.names).filter(pc.and_(alpha, beta))
    rng = _generator(seed)
    species = contiguous(pairs["species"]).dictionary_encode().indices.to_numpy(zero_copy_only=False)
    partner = np.empty(len(pairs), np.int64)
    for number in range(species.max(initial=-1) + 1):
        rows = np.flatnonzero(species == number)
        partner[rows] = rng.permutation(rows)
    for name in schema.CHAIN_FIELDS:
        column = schema.field("TRB", name)
        at = pairs.schema.get_field_index(column)
        pairs = pairs.set_column(at, column, contiguous(pairs[column]).take(pa.array(partner)))
    return _receptors(pairs)


_PAIRS = pa.schema([schema.RECEPTORS.field(name) for name in ("species", *schema.RECEPTOR_FIELDS)])


def _receptors(pairs: pa.Table) -> pa.Table:
    return identity.receptors_table(pairs, pa.repeat(schema.SINGLE_PAIR, len(pairs)))


def _generator(*numbers: int) -> np.random.Generator:
    # PCG64 by name, because numpy may change what `default_rng` returns.
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(numbers)))


def _block(seed: int, number: int, species: str) -> pa.Table:
    columns = [pa.repeat(species, _BLOCK)]
    for chain, locus in enumerate(schema.LOCI):
        rng = _generator(seed, number, chain)
        parts, n = [], 0
        while n < _BLOCK:
            parts.append(recombination(locus, species).chains(rng, _DRAWS))
            n += len(parts[-1])
        columns += pa.concat_tables(parts).slice(0, _BLOCK).columns
    return pa.table(columns, schema=_PAIRS)
