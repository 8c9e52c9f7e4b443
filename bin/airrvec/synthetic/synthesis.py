"""
Receptors that no selection has seen: drawn from OLGA's models of recombination, or real chains re-paired.

OLGA's own generator makes one chain after the other; here the same events are drawn a block at a time.
"""

import math
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from olga.utils import calc_steady_state_dist, nt2aa

from airrvec.core import identity, schema
from airrvec.input import junctions
from airrvec.input.calls import read_call
from airrvec.input.standardise import contiguous
from airrvec.synthetic import generation

SPECIES = "homosapiens"

_BLOCK = 16_384  # receptors; part of what a seed means
_DRAWS = 4 * _BLOCK  # recombinations at a time, of which about a quarter is productive
_NUCLEOTIDES = "ACGT"
_AMINO_ACIDS = np.array([ord(nt2aa("".join(codon))) for codon in product(_NUCLEOTIDES, repeat=3)], np.uint8)
_CONSERVED_ENDS = np.frombuffer(b"FW", np.uint8)


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
            parts.append(_recombination(locus, species).chains(rng, _DRAWS))
            n += len(parts[-1])
        columns += pa.concat_tables(parts).slice(0, _BLOCK).columns
    return pa.table(columns, schema=_PAIRS)


class _Outcomes:
    """
    Distributions over the numbers 0 to k - 1, drawn from by Walker's alias method.

    Parameters
    ----------
    weights : ndarray, shape (n, k)
        Of each outcome in each of n distributions; a distribution of zeros is never asked for.
    """

    def __init__(self, weights: np.ndarray):
        self.k = weights.shape[1]
        self._kept = np.ones(weights.shape)  # share of an outcome's slot that is its own
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

    def draw(self, rng: np.random.Generator, n: int, given: np.ndarray | int = 0) -> np.ndarray:
        """Outcomes as int32, shape (n,); ``given`` is the distribution, or that of each draw."""
        if self.k == 1:
            return np.zeros(n, np.int32)
        place = rng.random(n) * self.k
        outcome = place.astype(np.int32)
        place -= outcome
        slot = outcome + given * self.k
        return np.where(place < self._kept[slot], outcome, self._alias[slot])


@dataclass(frozen=True)
class _Recombination:
    """
    OLGA's model of a locus: P(V, D, J) and, given these, deletions and insertions, each independent.

    The locus α, which has no D segment, has one of no nucleotides here, and nothing inserted behind it.

    Attributes
    ----------
    calls : tuple of pyarrow.Array
        Standardised V and J genes.
    n_genes : tuple of int
        Numbers of V, D and J genes.
    genes : _Outcomes
        V × D × J.
    deletions : tuple of _Outcomes
        Of V, D (left × right) and J, one distribution a gene. Nothing deleted leaves the palindrome.
    insertions : tuple of (_Outcomes, _Outcomes, _Outcomes)
        Between V and D, and between J and D from right to left: how many nucleotides, the first one, and
        the next one given that before.
    germline : ndarray of uint8
        Numbers of the nucleotides of all V, all D, and all J segments with their palindromes.
    starts, lengths : tuple of ndarray
        Of each V, each D and each J segment in ``germline``.
    """

    calls: tuple[pa.Array, pa.Array]
    n_genes: tuple[int, int, int]
    genes: _Outcomes
    deletions: tuple[_Outcomes, _Outcomes, _Outcomes]
    insertions: tuple[tuple[_Outcomes, _Outcomes, _Outcomes], ...]
    germline: np.ndarray
    starts: tuple[np.ndarray, np.ndarray, np.ndarray]
    lengths: tuple[np.ndarray, np.ndarray, np.ndarray]

    def chains(self, rng: np.random.Generator, n: int) -> pa.Table:
        """V gene, J gene and junction of the good ones among ``n`` random recombinations, in their order."""
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
        return chains.filter(junctions.is_plain(contiguous(chains["junction_aa"])))

    @staticmethod
    def _inserted(rng, lengths: np.ndarray, first: _Outcomes, following: _Outcomes) -> np.ndarray:
        """Nucleotides of a Markov chain for each length, shape (n, longest), 0 behind their end."""
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
    """Slices of the pool one behind the other."""
    ends = np.cumsum(lengths)
    return pool[np.repeat(sources - ends + lengths, lengths) + np.arange(lengths.sum())]


def _translated(nucleotides: np.ndarray, lengths: np.ndarray) -> pa.StringArray:
    """
    Junctions, null where one is not productive: a stop codon, or an end that is not conserved.

    Parameters
    ----------
    nucleotides : ndarray of uint8
        Of all junctions, one behind the other, all in frame.
    lengths : ndarray of int, shape (n,)
        In residues, each above 0.
    """
    codons = nucleotides.reshape(-1, 3)
    residues = _AMINO_ACIDS[codons[:, 0] * 16 + codons[:, 1] * 4 + codons[:, 2]]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    good = (residues[offsets[:-1]] == ord("C")) & np.isin(residues[offsets[1:] - 1], _CONSERVED_ENDS)
    good[np.searchsorted(offsets, np.flatnonzero(residues == ord("*")), side="right") - 1] = False
    sequences = pa.StringArray.from_buffers(len(lengths), pa.py_buffer(offsets), pa.py_buffer(residues))
    return pc.if_else(pa.array(good), sequences, pa.scalar(None, pa.string()))


@cache
def _recombination(locus: str, species: str) -> _Recombination:
    """OLGA's default model of a species' α or β chains."""
    genomic, model = generation.load(locus, species)
    if locus == "TRA":
        p_genes = model.PVJ[:, None, :]
        d_segments, p_deleted_d = [""], np.ones((1, 1))
        junctions_of = ((model.PinsVJ, model.Rvj), (np.ones(1), model.Rvj))
    else:
        p_genes = model.PV[:, None, None] * model.PDJ[None]
        d_segments = genomic.cutD_genomic_CDR3_segs
        p_deleted_d = model.PdelDldelDr_given_D.reshape(-1, len(d_segments)).T
        junctions_of = ((model.PinsVD, model.Rvd), (model.PinsDJ, model.Rdj))

    segments = (genomic.cutV_genomic_CDR3_segs, d_segments, genomic.cutJ_genomic_CDR3_segs)
    (v_calls, v_usable), (j_calls, j_usable) = (
        _calls(segment, [gene[0] for gene in genes], of_genes, species)
        for segment, genes, of_genes in (("V", genomic.genV, segments[0]), ("J", genomic.genJ, segments[2]))
    )
    lengths = tuple(np.array([len(sequence) for sequence in of_genes]) for of_genes in segments)
    ends = np.cumsum(np.concatenate(lengths))
    return _Recombination(
        calls=(v_calls, j_calls),
        n_genes=p_genes.shape,
        genes=_Outcomes((p_genes * v_usable[:, None, None] * j_usable).reshape(1, -1)),
        deletions=(
            _Outcomes(model.PdelV_given_V.T),
            _Outcomes(p_deleted_d),
            _Outcomes(model.PdelJ_given_J.T),
        ),
        insertions=tuple(
            # OLGA draws the first nucleotide from the chain's steady state.
            (_Outcomes(number[None]), _Outcomes(calc_steady_state_dist(chain)[None]), _Outcomes(chain.T))
            for number, chain in junctions_of
        ),
        germline=np.array(
            [_NUCLEOTIDES.index(letter) for of_genes in segments for letter in "".join(of_genes)], np.uint8
        ),
        starts=tuple(np.split(ends - np.concatenate(lengths), np.cumsum([len(n) for n in lengths[:-1]]))),
        lengths=lengths,
    )


def _calls(segment: str, names: list[str], sequences: list[str], species: str) -> tuple[pa.Array, np.ndarray]:
    """Standardised names, null where not functional, and whether a gene can be in a junction."""
    symbols = [read_call(name, segment, species).symbol for name in names]
    # OLGA knows no conserved residue of the others.
    usable = [bool(symbol and sequence) for symbol, sequence in zip(symbols, sequences, strict=True)]
    return pa.array(symbols, pa.string()), np.array(usable)
