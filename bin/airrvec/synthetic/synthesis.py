"""
Synthetic receptors, drawn from OLGA's recombination models.

OLGA's own generator draws one chain at a time; here the same events are drawn in blocks.
"""

from airrvec.core import identity, schema
from airrvec.core.seeds import numbered_generator
from airrvec.synthetic.recombination import recombination

import pyarrow as pa

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
        pairs = _block(seed, number, species).slice(begin, end - begin)
        parts.append(identity.receptors_table(pairs, pa.repeat(schema.SINGLE_PAIR, len(pairs))))
    return pa.concat_tables(parts)


def _block(seed: int, number: int, species: str) -> pa.Table:
    """Return species and fields of the `_BLOCK` receptors with this block number."""
    columns = [pa.repeat(species, _BLOCK)]
    for chain, locus in enumerate(schema.LOCI):
        rng = numbered_generator((seed, number, chain))
        parts, n = [], 0
        while n < _BLOCK:
            parts.append(recombination(locus, species).chains(rng, _DRAWS))
            n += len(parts[-1])
        columns += pa.concat_tables(parts).slice(0, _BLOCK).columns
    return pa.table(columns, names=["species", *schema.RECEPTOR_FIELDS])
