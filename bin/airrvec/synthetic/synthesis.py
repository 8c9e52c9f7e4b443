"""
Receptors that no selection has seen: drawn from OLGA's models of recombination, or real chains re-paired.

OLGA's own generator makes one chain after the other; here the same events are drawn a block at a time.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airrvec.core import identity, schema
from airrvec.input.standardise import contiguous
from airrvec.synthetic.recombination import recombination

SPECIES = "homosapiens"

_BLOCK = 16_384  # receptors; part of what a seed means
_DRAWS = 4 * _BLOCK  # recombinations at a time, of which about a quarter is productive


def synthesise(n: int, *, seed: int, first: int = 0, species: str = SPECIES) -> pa.Table:
    """
    Receptors whose α and β chains are drawn independently from OLGA's default models.

    They are the rows from ``first`` on of an endless table that ``seed`` alone determines: any part of
    it can be made without the others, and the parts do not depend on how it is cut.

    A chain is redrawn unless it is productive, its genes are functional according to IMGT, and
    `airrvec.input.junctions` takes its junction as it is, ends in F or W included. A gene of whose allele
    IMGT does not know goes without allele. Genes to whose germline OLGA knows no junction do not occur:
    the human TRAJ35, and some rare alleles.

    Parameters
    ----------
    n : int
        How many receptors.
    seed : int
        Not negative.
    first : int
        Number of the first receptor.
    species : str
        A key of `airrvec.synthetic.generation.SPECIES`.

    Returns
    -------
    pyarrow.Table of n rows
        `airrvec.core.schema.RECEPTORS`. The same receptor may come again, though two chains seldom meet
        twice: whoever needs distinct receptors has to make them so.

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


def shuffled(receptors: pa.Table, *, seed: int) -> pa.Table:
    """
    The α chains of complete pairs with the β chains of others, by a random permutation.

    Each chain occurs as often as before, its partner is one of the same species. A pair may by chance
    be one that was there before, or come twice.

    Parameters
    ----------
    receptors : pyarrow.Table
        `airrvec.core.schema.RECEPTORS` and any others; the result depends on the order of the rows.
    seed : int
        Not negative.

    Returns
    -------
    pyarrow.Table
        `airrvec.core.schema.RECEPTORS`, as many as there are complete pairs, the α chains in their order.

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
    return identity.identified(pairs, pa.repeat(schema.SINGLE_PAIR, len(pairs)))


def _generator(*numbers: int) -> np.random.Generator:
    # By its name, as numpy may change what `default_rng` is.
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
