"""
Synthetic receptors, drawn from OLGA's recombination models.

OLGA's own generator draws one chain at a time; here the same events are drawn in blocks.
"""

import math
from dataclasses import dataclass
from functools import cache
from itertools import product

from airrvec.core import identity, imgt, schema
from airrvec.core.seeds import numbered_generator
from airrvec.core.tables import contiguous
from airrvec.input import junctions
from airrvec.input.calls import read_call
from airrvec.synthetic import generation

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from olga.utils import calc_steady_state_dist, nt2aa

_NUCLEOTIDES = "ACGT"
_AMINO_ACIDS = np.array([ord(nt2aa("".join(codon))) for codon in product(_NUCLEOTIDES, repeat=3)], np.uint8)
_CONSERVED_ENDS = np.frombuffer(b"FW", np.uint8)


class Outcomes:
    """
    Distributions over the numbers 0 to k - 1, sampled by Walker's alias method.

    Parameters
    ----------
    weights : ndarray, shape (n, k)
        Weight of each outcome in n distributions; a distribution of zeros is never sampled.
    """

    def __init__(self, weights: np.ndarray):
        self.k = weights.shape[1]
        self._kept = np.ones(weights.shape)  # probability that a slot gives its own outcome, not its alias
        self._alias = np.tile(np.arange(self.k, dtype=np.int32), (len(weights), 1))
        for kept, alias, row in zip(self._kept, self._alias, weights, strict=True):
            if row.any():
                self._fill(kept, alias, row * (self.k / row.sum()))
        self._kept, self._alias = self._kept.ravel(), self._alias.ravel()

    @staticmethod
    def _fill(kept: np.ndarray, alias: np.ndarray, left: np.ndarray) -> None:
        below = [outcome for outcome, share in enumerate(left) if share < 1]
        above = [outcome for outcome, share in enumerate(left) if share >= 1]
        while below and above:
            small, large = below.pop(), above[-1]
            kept[small], alias[small] = left[small], large
            left[large] -= 1 - left[small]
            if left[large] < 1:
                below.append(above.pop())

    def draw(self, rng: np.random.Generator, n: int, condition: np.ndarray | int = 0) -> np.ndarray:
        """Return outcomes as int32, shape (n,); ``condition``: the distribution, or one per draw."""
        if self.k == 1:
            return np.zeros(n, np.int32)
        place = rng.random(n) * self.k
        outcome = place.astype(np.int32)
        place -= outcome
        slot = outcome + condition * self.k
        return np.where(place < self._kept[slot], outcome, self._alias[slot])


@dataclass(frozen=True)
class Recombination:
    """
    OLGA's model of a locus: P(V, D, J) and, given the genes, independent deletions and insertions.

    The α locus has no D segment; here it has one without nucleotides, with no insertions after it.

    Attributes
    ----------
    calls : tuple of pyarrow.Array
        Standardised V and J genes.
    n_genes : tuple of int
        Numbers of V, D and J genes.
    genes : Outcomes
        Combinations V × D × J.
    deletions : tuple of Outcomes
        Deletions of V, D (left × right) and J, one distribution per gene; 0 keeps the whole palindrome.
    insertions : tuple of (Outcomes, Outcomes, Outcomes)
        Insertions between V and D, and between J and D from right to left: number of nucleotides, the
        first one, and the next one given the previous.
    germline : ndarray of uint8
        Nucleotides (0 to 3) of all V, all D and all J segments, with their palindromes.
    starts, lengths : tuple of ndarray
        Start and length of each V, D and J segment in ``germline``.
    """

    calls: tuple[pa.Array, pa.Array]
    n_genes: tuple[int, int, int]
    genes: Outcomes
    deletions: tuple[Outcomes, Outcomes, Outcomes]
    insertions: tuple[tuple[Outcomes, Outcomes, Outcomes], ...]
    germline: np.ndarray
    starts: tuple[np.ndarray, np.ndarray, np.ndarray]
    lengths: tuple[np.ndarray, np.ndarray, np.ndarray]

    def chains(self, rng: np.random.Generator, n: int) -> pa.Table:
        """Return V gene, J gene and junction of the valid ones of ``n`` random recombinations, in order."""
        v, d, j = np.unravel_index(self.genes.draw(rng, n), self.n_genes)
        del_v, del_d, del_j = (
            deletions.draw(rng, n, gene) for deletions, gene in zip(self.deletions, (v, d, j), strict=True)
        )
        del_d_left, del_d_right = np.divmod(del_d, math.isqrt(self.deletions[1].k))
        n_v = self.lengths[0][v] - del_v
        n_d = self.lengths[1][d] - del_d_left - del_d_right
        n_j = self.lengths[2][j] - del_j
        n_left, n_right = (number.draw(rng, n) for number, _, _ in self.insertions)
        in_frame = (n_v + n_left + n_d + n_right + n_j) % 3 == 0
        made = np.flatnonzero(in_frame & (n_v > 0) & (n_d >= 0) & (n_j >= 0))
        left, right = (
            self._inserted(rng, number[made], *chain[1:])
            for number, chain in zip((n_left, n_right), self.insertions, strict=True)
        )

        v, d, j = v[made], d[made], j[made]
        lengths = np.stack([part[made] for part in (n_v, n_left, n_d, n_right, n_j)], axis=1)
        at_left, at_right = len(self.germline), len(self.germline) + left.size
        rows = np.arange(len(made))
        sources = np.stack(
            [
                self.starts[0][v],
                at_left + rows * left.shape[1],
                self.starts[1][d] + del_d_left[made],
                at_right + (rows + 1) * right.shape[1] - lengths[:, 3],
                self.starts[2][j] + del_j[made],
            ],
            axis=1,
        )
        pool = np.concatenate([self.germline, left.ravel(), right[:, ::-1].ravel()])
        junction = _translated(
            _concatenated(pool, sources.ravel(), lengths.ravel()), lengths.sum(axis=1) // 3
        )
        calls = (names.take(pa.array(gene)) for names, gene in zip(self.calls, (v, j), strict=True))
        chains = pa.table([*calls, junction], names=schema.CHAIN_FIELDS).filter(pc.is_valid(junction))
        return chains.filter(junctions.is_complete(contiguous(chains["junction_aa"])))

    @staticmethod
    def _inserted(rng, lengths: np.ndarray, first: Outcomes, following: Outcomes) -> np.ndarray:
        """Return a Markov chain of nucleotides for each length, shape (n, longest), padded with 0."""
        inserted = np.zeros((len(lengths), lengths.max(initial=0)), np.uint8)
        rows = np.arange(len(lengths))
        for at in range(inserted.shape[1]):
            rows = rows[lengths[rows] > at]
            if at == 0:
                last = first.draw(rng, len(rows))
            else:
                last = following.draw(rng, len(rows), inserted[rows, at - 1].astype(np.int32))
            inserted[rows, at] = last
        return inserted


def _concatenated(pool: np.ndarray, sources: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return slices of the pool, concatenated."""
    ends = np.cumsum(lengths)
    return pool[np.repeat(sources - ends + lengths, lengths) + np.arange(lengths.sum())]


def _translated(nucleotides: np.ndarray, lengths: np.ndarray) -> pa.StringArray:
    """
    Return junctions; null if not productive (a stop codon, or an end that is not conserved).

    Parameters
    ----------
    nucleotides : ndarray of uint8
        Nucleotides of all junctions, concatenated, all in frame.
    lengths : ndarray of int, shape (n,)
        Lengths in residues, each above 0.
    """
    codons = nucleotides.reshape(-1, 3)
    residues = _AMINO_ACIDS[codons[:, 0] * 16 + codons[:, 1] * 4 + codons[:, 2]]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    good = (residues[offsets[:-1]] == ord("C")) & np.isin(residues[offsets[1:] - 1], _CONSERVED_ENDS)
    good[np.searchsorted(offsets, np.flatnonzero(residues == ord("*")), side="right") - 1] = False
    sequences = pa.StringArray.from_buffers(len(lengths), pa.py_buffer(offsets), pa.py_buffer(residues))
    return pc.if_else(pa.array(good), sequences, pa.scalar(None, pa.string()))


@cache
def recombination(locus: str, species: str) -> Recombination:
    """Return OLGA's default model of a species' α or β chains."""
    genomic, model = generation.load(locus, species)
    if locus == "TRA":
        p_genes = model.PVJ[:, None, :]
        d_segments, p_deleted_d = [""], np.ones((1, 1))
        insertion_models = ((model.PinsVJ, model.Rvj), (np.ones(1), model.Rvj))
    else:
        p_genes = model.PV[:, None, None] * model.PDJ[None]
        d_segments = genomic.cutD_genomic_CDR3_segs
        p_deleted_d = model.PdelDldelDr_given_D.reshape(-1, len(d_segments)).T
        insertion_models = ((model.PinsVD, model.Rvd), (model.PinsDJ, model.Rdj))

    segments = (genomic.cutV_genomic_CDR3_segs, d_segments, genomic.cutJ_genomic_CDR3_segs)
    (v_calls, v_usable), (j_calls, j_usable) = (
        _calls(segment, [gene[0] for gene in genes], sequences, species)
        for segment, genes, sequences in (("V", genomic.genV, segments[0]), ("J", genomic.genJ, segments[2]))
    )
    v, d, j = (np.array([len(sequence) for sequence in sequences]) for sequences in segments)
    all_lengths = np.concatenate([v, d, j])
    starts = np.cumsum(all_lengths) - all_lengths
    return Recombination(
        calls=(v_calls, j_calls),
        n_genes=p_genes.shape,
        genes=Outcomes((p_genes * v_usable[:, None, None] * j_usable).reshape(1, -1)),
        deletions=(
            Outcomes(model.PdelV_given_V.T),
            Outcomes(p_deleted_d),
            Outcomes(model.PdelJ_given_J.T),
        ),
        insertions=tuple(
            # OLGA draws the first nucleotide from the Markov chain's steady state.
            (Outcomes(number[None]), Outcomes(calc_steady_state_dist(chain)[None]), Outcomes(chain.T))
            for number, chain in insertion_models
        ),
        germline=np.array(
            [_NUCLEOTIDES.index(letter) for sequences in segments for letter in "".join(sequences)], np.uint8
        ),
        starts=(starts[: len(v)], starts[len(v) : -len(j)], starts[-len(j) :]),
        lengths=(v, d, j),
    )


def _calls(segment: str, names: list[str], sequences: list[str], species: str) -> tuple[pa.Array, np.ndarray]:
    """Return standardised names, null if not functional, and whether a gene can occur in a junction."""
    calls = [read_call(name, segment, species) for name in names]
    symbols = [call.symbol if call.functionality == imgt.FUNCTIONAL else None for call in calls]
    # A gene without sequence has no conserved residue in OLGA's data.
    usable = [bool(symbol and sequence) for symbol, sequence in zip(symbols, sequences, strict=True)]
    return pa.array(symbols, pa.string()), np.array(usable)


# --- Synthetic receptors, drawn from OLGA's recombination models

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
