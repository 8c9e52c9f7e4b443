"""
TCRdist (Dash et al. 2017; Mayer-Blackwell et al. 2021), as implemented in pyrepseq.

The distance between two chains is the distance between CDR1, CDR2 and CDR2.5 in the IMGT alignment, plus
three times the distance between the CDR3s. The CDR3 alignment has one gap, at the position of lowest cost.

The cost of each residue at each CDR3 position of the references is tabulated once, in groups of references
with CDR3s of equal length. The distances of a query to all references are sums of rows of this table.
"""

from collections.abc import Callable
from dataclasses import dataclass

from airrvec.core import schema
from airrvec.core.runtime import in_threads
from airrvec.encoders import NotMeasurable, present_loci
from airrvec.encoders.tcrdist_loops import loops_of
from airrvec.model.tokens import AMINO_ACIDS

import numba
import numpy as np
import pyarrow as pa

CDR3_WEIGHT = 3
GAP_PENALTY = 4
N_TRIM, C_TRIM = 3, 2
# References per block; the cost table takes about 300 bytes per reference.
BLOCK = 4096
# Queries that a thread takes at once.
PART = 256

# min(4, 4 - BLOSUM62) is 4 for all pairs of amino acids except these.
_CLOSE_PAIRS = {
    1: "FY IV",
    2: "DE EQ HY IL KR LM WY",
    3: "AS DN EK FW HN IM KQ LV MV NS QR ST",
}
_GAP = len(AMINO_ACIDS)  # costs 0 against any residue, as in the numba metrics of tcrdist3


def _substitution_costs() -> np.ndarray:
    costs = np.full((_GAP + 1, _GAP + 1), 4, np.uint8)
    for cost, pairs in _CLOSE_PAIRS.items():
        for pair in pairs.split():
            i, j = map(AMINO_ACIDS.index, pair)
            costs[i, j] = costs[j, i] = cost
    np.fill_diagonal(costs, 0)
    costs[_GAP] = costs[:, _GAP] = 0
    return costs


def _residue_codes() -> np.ndarray:
    codes = np.full(256, _GAP, np.uint8)
    codes[np.frombuffer(AMINO_ACIDS.encode(), np.uint8)] = np.arange(_GAP)
    return codes


_COSTS = _substitution_costs()
_CODES = _residue_codes()


class Tcrdist:
    """
    TCRdist of the chains present: α chains, β chains, or the sum over both.

    Parameters
    ----------
    loci : tuple of str, optional
        Loci of the chains to compare, which all receptors have; if None, those of α and β that are present.
    """

    def __init__(self, loci: tuple[str, ...] | None = None):
        self.loci = loci

    def distances(self, queries: pa.Table, references: pa.Table) -> np.ndarray:
        """
        Return the distances of queries to references.

        Parameters
        ----------
        queries, references : pyarrow.Table
            ``receptors``. V gene and junction of a chain are known for all receptors, or both for none.

        Returns
        -------
        ndarray of int16, shape (n_queries, n_references)

        Raises
        ------
        NotMeasurable
            If a field is missing for some receptors, the tables of tcrdist3 lack a V gene, or there are
            several species.
        """
        return self.distances_to(references)(queries)

    def distances_to(self, references: pa.Table) -> Callable[[pa.Table], np.ndarray]:
        """Return the function of queries in `distances`; the references are encoded and tabulated once."""
        known: dict[tuple[str, ...], list[_References]] = {}

        def distances(queries: pa.Table) -> np.ndarray:
            loci = tuple(self.loci or _loci(queries, references))
            if loci not in known:
                known[loci] = [_References(_chains(references, locus)) for locus in loci]
            return _distances([_chains(queries, locus) for locus in loci], known[loci])

        return distances

    def distance_rows(self, receptors: pa.Table) -> Callable[[np.ndarray], np.ndarray]:
        """See `airrvec.encoders.distance_rows`; receptors are encoded once."""
        loci = self.loci or _loci(receptors)
        references = [_References(_chains(receptors, locus)) for locus in loci]
        return lambda rows: _distances([known.chains.take(rows) for known in references], references)


def _loci(*tables: pa.Table) -> list[str]:
    species = sorted({name for table in tables for name in table["species"].unique().to_pylist()})
    if len(species) > 1:
        raise NotMeasurable(f"TCRdist compares receptors of one species, not of {' and '.join(species)}")
    return present_loci("TCRdist", ("v_call", "junction_aa"), *tables)


@dataclass(frozen=True)
class _Chains:
    """
    One chain of n receptors, encoded as integers.

    Attributes
    ----------
    loops : ndarray of uint8, shape (n_genes, n_residues)
        Aligned loops of each distinct V gene.
    gene : ndarray of int64, shape (n,)
        Row of ``loops``.
    junctions : ndarray of uint8, shape (n, longest)
        Residues, padded with gaps.
    lengths : ndarray of int64, shape (n,)
        Residues in each junction.
    """

    loops: np.ndarray
    gene: np.ndarray
    junctions: np.ndarray
    lengths: np.ndarray

    def take(self, rows) -> "_Chains":
        return _Chains(self.loops, self.gene[rows], self.junctions[rows], self.lengths[rows])


def _chains(receptors: pa.Table, locus: str) -> _Chains:
    genes = receptors[schema.field(locus, "v_call")].combine_chunks().dictionary_encode()
    species = receptors["species"][0].as_py() if len(receptors) else ""
    loops = [_aligned_loops(species, gene) for gene in genes.dictionary.to_pylist()]
    junctions = np.array(receptors[schema.field(locus, "junction_aa")].to_pylist(), np.bytes_)
    return _Chains(
        np.stack(loops) if loops else np.empty((0, 0), np.uint8),
        genes.indices.to_numpy(),
        _encoded(junctions),
        np.char.str_len(junctions),
    )


def _aligned_loops(species: str, v_call: str) -> np.ndarray:
    loops = loops_of(species, v_call)
    if loops is None:
        raise NotMeasurable(f"TCRdist has no loops of {v_call} ({species})")
    return _encoded(np.array([loops], np.bytes_))[0]


def _encoded(sequences: np.ndarray) -> np.ndarray:
    """Return residue codes, (n, longest), of byte strings, (n,); any other character becomes a gap."""
    return _CODES[sequences.view(np.uint8).reshape(len(sequences), -1)]


@dataclass(frozen=True)
class _Block:
    """
    Costs of the residues of some references with one chain, those with CDR3s of equal length together.

    Attributes
    ----------
    rows : slice
        Rows of the references.
    costs : ndarray of uint8 or uint16, shape (n_costs,)
        One array (residue, position, reference) per length, concatenated.
    lengths, counts : ndarray of int64, shape (n_lengths,)
        Lengths, ascending, and how many references have them.
    ranks : ndarray of uint32, shape (n,)
        Place of each reference in the order of lengths. Unsigned: numba need not check for negative indices.
    """

    rows: slice
    costs: np.ndarray
    lengths: np.ndarray
    counts: np.ndarray
    ranks: np.ndarray


class _References:
    """One chain of references, and the tables of their costs by the type of the sums."""

    def __init__(self, chains: _Chains):
        self.chains = chains
        self._blocks: dict[type, list[_Block]] = {}

    def blocks(self, longest_query: int) -> list[_Block]:
        """Return the tables of `BLOCK` references each, for queries of at most so many residues."""
        # Distances of CDR3s of up to 63 residues fit into one byte, which is twice as fast.
        longest = max(self.chains.lengths.max(initial=0), longest_query)
        kind = np.uint8 if longest < 64 else np.uint16
        if kind not in self._blocks:
            starts = range(0, len(self.chains.gene), BLOCK)
            self._blocks[kind] = [_block(self.chains, slice(start, start + BLOCK), kind) for start in starts]
        return self._blocks[kind]


def _block(chains: _Chains, rows: slice, kind: type) -> _Block:
    junctions, lengths_of_rows = chains.junctions[rows], chains.lengths[rows]
    order = np.argsort(lengths_of_rows, kind="stable")
    lengths, counts = np.unique(lengths_of_rows, return_counts=True)
    starts = np.cumsum(counts) - counts
    residue_costs = _COSTS.astype(kind)
    costs = [
        residue_costs[:, junctions[order[start : start + count], :length].T].ravel()
        for length, start, count in zip(lengths, starts, counts, strict=True)
    ]
    return _Block(rows, np.concatenate(costs), lengths, counts, np.argsort(order).astype(np.uint32))


def _distances(queries: list[_Chains], references: list[_References]) -> np.ndarray:
    total = np.zeros((len(queries[0].gene), len(references[0].chains.gene)), np.int16)
    for query_chains, known in zip(queries, references, strict=True):
        for block in known.blocks(query_chains.lengths.max(initial=0)):
            _add(total[:, block.rows], query_chains, known.chains, block)
    return total


def _add(total: np.ndarray, queries: _Chains, references: _Chains, block: _Block) -> None:
    """Add the distances of one chain to ``total``, (n_queries, n_references of the block)."""
    gene_distances = _COSTS[queries.loops[:, None], references.loops[None]].sum(-1, dtype=np.int16)
    loop_distances = gene_distances[:, references.gene[block.rows]]
    tabulated = block.costs, block.lengths, block.counts, block.ranks

    def add_part(part: slice) -> None:
        rows = total[part], loop_distances, queries.gene[part], queries.junctions[part], queries.lengths[part]
        _add_rows(*rows, *tabulated)

    # numba's own threads would double the time that it takes to compile the loop
    parts = [slice(start, start + PART) for start in range(0, len(total), PART)]
    for _ in in_threads(add_part, parts, numba.get_num_threads()):
        pass


@numba.njit(nogil=True, cache=True)
def _add_rows(total, gene_distances, genes, queries, query_lengths, costs, lengths, counts, ranks):
    """
    Add the distances of loops and CDR3s.

    References are sorted by CDR3 length: ``counts[g]`` of them have ``lengths[g]`` residues, and row j of the
    table has rank ``ranks[j]``. ``costs`` concatenates one array (residue, position, reference) per length.
    ``gene_distances``: (gene of a query, reference).
    """
    for i in range(len(total)):
        smallest = np.empty(len(ranks), costs.dtype)
        sums = np.empty(len(ranks), costs.dtype)
        offset = first = 0
        for g in range(len(lengths)):
            size = (_GAP + 1) * lengths[g] * counts[g]
            length_costs = costs[offset : offset + size].reshape((_GAP + 1, lengths[g], counts[g]))
            part = slice(first, first + counts[g])
            _to_one_length(queries[i], query_lengths[i], length_costs, sums[part], smallest[part])
            offset += size
            first += counts[g]
        row, loop_distances = total[i], gene_distances[genes[i]]
        for j in range(len(ranks)):
            row[j] += loop_distances[j] + CDR3_WEIGHT * smallest[ranks[j]]


@numba.njit(nogil=True, cache=True)
def _to_one_length(query, length, costs, sums, smallest):
    """
    Write into ``smallest``, (n,), the distances of one CDR3 to n CDR3s of equal length.

    ``costs``: (residue, position, n).
    """
    reference_length = costs.shape[1]
    sums[:] = 0
    if length == reference_length:
        for position in range(N_TRIM, length - C_TRIM):
            _add_row(sums, costs[query[position], position])
        _copy(sums, smallest)
        return

    shorter = min(length, reference_length)
    first_gap, last_gap = 5, shorter - 5
    while first_gap > last_gap:
        first_gap -= 1
        last_gap += 1

    # Residues left of the gap are counted from the left, residues right of it from the right.
    for position in range(N_TRIM, first_gap):
        _add_row(sums, costs[query[position], position])
    for position in range(C_TRIM + 1, shorter - first_gap + 1):
        _add_row(sums, costs[query[length - position], reference_length - position])
    _copy(sums, smallest)
    for gap in range(first_gap + 1, last_gap + 1):
        left, right = gap - 1, shorter - gap + 1  # the residue that moves from right to left of the gap
        if left >= N_TRIM:
            _add_row(sums, costs[query[left], left])
        if right > C_TRIM:
            _subtract_row(sums, costs[query[length - right], reference_length - right])
        for j in range(len(sums)):
            smallest[j] = min(smallest[j], sums[j])
    penalty = costs.dtype.type(GAP_PENALTY * abs(length - reference_length))
    for j in range(len(smallest)):
        smallest[j] += penalty


# Loops, because numba compiles the error messages of operations on arrays too, which takes seconds.
@numba.njit(nogil=True, inline="always")
def _copy(sums, smallest):
    for j in range(len(sums)):
        smallest[j] = sums[j]


@numba.njit(nogil=True, inline="always")
def _add_row(sums, row):
    for j in range(len(sums)):
        sums[j] += row[j]


@numba.njit(nogil=True, inline="always")
def _subtract_row(sums, row):
    for j in range(len(sums)):
        sums[j] -= row[j]
