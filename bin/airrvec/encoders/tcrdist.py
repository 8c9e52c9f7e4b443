"""
TCRdist (Dash et al. 2017; Mayer-Blackwell et al. 2021), as implemented in pyrepseq.

The distance between two chains is the distance between CDR1, CDR2 and CDR2.5 in the IMGT alignment, plus
three times the distance between the CDR3s. The CDR3 alignment has one gap, at the position of lowest cost.

The cost of each residue at each CDR3 position of the references is tabulated once, in groups of references
with CDR3s of equal length. The distances of a query to all references are sums of rows of this table.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from airrvec.core import schema
from airrvec.core.compiled import compiled
from airrvec.core.runtime import in_threads
from airrvec.encoders import NotMeasurable, present_loci
from airrvec.encoders.tcrdist_loops import loops_of
from airrvec.model.tokens import AMINO_ACIDS
from airrvec.search.whole_distances import nearest_of_distances

import numba
import numpy as np
import pyarrow as pa

CDR3_WEIGHT = 3
GAP_PENALTY = 4
N_TRIM, C_TRIM = 3, 2
# References per block; the cost table takes about 300 bytes per reference.
BLOCK = 4096
# Queries that a thread takes at once: as many as have so many distances, which stay in the cache.
MOST_QUERIES, LEAST_QUERIES = 256, 16
DISTANCES = 2**21

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
        return _distances(*self._sides(queries, references))

    def nearest(self, queries: pa.Table, references: pa.Table, k: int) -> tuple[np.ndarray, np.ndarray]:
        """
        Return the k nearest references of each query, of all if there are fewer.

        Distances to all references are in memory for few queries at once.

        Parameters
        ----------
        queries, references : pyarrow.Table
            As for `distances`.

        Returns
        -------
        distances : ndarray of float32, shape (n_queries, k)
            Ascending.
        rows : ndarray of int64, shape (n_queries, k)
            Rows of the references; at equal distances the lower one is first.

        Raises
        ------
        NotMeasurable
            As for `distances`.
        """
        add = _adder(*self._sides(queries, references))
        shape = len(queries), min(k, len(references))
        distances, rows = np.empty(shape, np.float32), np.empty(shape, np.int64)

        def find_part(part: slice) -> None:
            total = np.zeros((len(distances[part]), len(references)), np.int16)
            add(part, total)
            distances[part], rows[part] = nearest_of_distances(total, shape[1])

        _in_parts(find_part, len(queries), len(references))
        return distances, rows

    def _sides(self, queries: pa.Table, references: pa.Table) -> tuple[list["_Chains"], list["_References"]]:
        """Return the chains of queries and of references, by locus."""
        loci = self.loci or _loci(queries, references)
        return [_chains(queries, locus) for locus in loci], _known(references, loci)

    def distance_rows(self, receptors: pa.Table) -> Callable[[np.ndarray], np.ndarray]:
        """See `airrvec.encoders.distance_rows`; receptors are encoded once."""
        loci = self.loci or _loci(receptors)
        references = _known(receptors, loci)
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


class _References:
    """
    One chain of references, and the costs of the residues of their CDR3s.

    Attributes
    ----------
    chains : _Chains
    order : ndarray of int64, shape (n,)
        References in the order of the lengths of their CDR3s.
    ranks : ndarray of uint32, shape (n,)
        Place of each reference in this order. Unsigned: numba need not check for negative indices.
    """

    def __init__(self, chains: _Chains):
        self.chains = chains
        self.order = np.argsort(chains.lengths, kind="stable")
        self.ranks = np.argsort(self.order).astype(np.uint32)
        self._costs: dict[type, list[np.ndarray]] = {}

    def costs(self, longest_query: int) -> list[np.ndarray]:
        """
        Return the costs of each residue at each position, for queries of at most so many residues.

        Returns
        -------
        list of ndarray of uint8 or uint16, shape (n_residues, length, n_references)
            Of at most `BLOCK` references with CDR3s of equal length, in their order.
        """
        # Distances of CDR3s of up to 63 residues fit into one byte, which is twice as fast.
        longest = max(self.chains.lengths.max(initial=0), longest_query)
        kind = np.uint8 if longest < 64 else np.uint16
        if kind not in self._costs:
            residue_costs = _COSTS.astype(kind)
            lengths = self.chains.lengths[self.order]
            blocks = [
                block[start : start + BLOCK]
                for block in np.split(self.order, np.flatnonzero(np.diff(lengths)) + 1)
                for start in range(0, len(block), BLOCK)
            ]
            residues = (self.chains.junctions[block, : self.chains.lengths[block[0]]].T for block in blocks)
            self._costs[kind] = [residue_costs.take(part, axis=1) for part in residues]
        return self._costs[kind]


def _known(references: pa.Table, loci: Sequence[str]) -> list[_References]:
    return [_References(_chains(references, locus)) for locus in loci]


def _distances(queries: list[_Chains], references: list[_References]) -> np.ndarray:
    total = np.zeros((len(queries[0].gene), len(references[0].ranks)), np.int16)
    add = _adder(queries, references)
    _in_parts(lambda part: add(part, total[part]), *total.shape)
    return total


def _in_parts(function: Callable[[slice], None], n: int, n_references: int) -> None:
    """Call a function with some of n queries at once, in threads."""
    size = min(max(DISTANCES // max(n_references, 1), LEAST_QUERIES), MOST_QUERIES)
    parts = [slice(start, start + size) for start in range(0, n, size)]
    # numba's own threads would double the time that it takes to compile the loops
    for _ in in_threads(function, parts, numba.get_num_threads()):
        pass


def _adder(queries: list[_Chains], references: list[_References]) -> Callable[[slice, np.ndarray], None]:
    """Return the function that adds the distances of a part of the queries to (n_part, n_references)."""
    chains = []
    for query_chains, known in zip(queries, references, strict=True):
        loops = query_chains.loops[:, None], known.chains.loops[None]
        # Taken, because an index of columns would leave the numbers of a row apart in memory.
        loop_distances = _COSTS[loops].sum(-1, dtype=np.int16).take(known.chains.gene, axis=1)
        costs = known.costs(query_chains.lengths.max(initial=0))
        chains.append((query_chains, loop_distances, costs, known.ranks))

    def add(part: slice, total: np.ndarray) -> None:
        for query_chains, loop_distances, costs, ranks in chains:
            rows, first = query_chains.take(part), 0
            cdr3_distances = np.empty(total.shape, costs[0].dtype if costs else np.uint8)
            for block in costs:
                columns = slice(first, first + block.shape[-1])
                _to_one_length(rows.junctions, rows.lengths, block, cdr3_distances[:, columns])
                first = columns.stop
            _add_rows(total, loop_distances, rows.gene, cdr3_distances, ranks)

    return add


@compiled
def _add_rows(total, loop_distances, genes, cdr3_distances, ranks):
    """
    Add the distances of loops and CDR3s to ``total``, (n_queries, n_references).

    ``loop_distances``: (gene of a query, reference). ``cdr3_distances``: (query, rank of a reference).
    """
    for i in range(len(total)):
        row, loop_row, cdr3_row = total[i], loop_distances[genes[i]], cdr3_distances[i]
        for j in range(len(ranks)):
            row[j] += loop_row[j] + CDR3_WEIGHT * cdr3_row[ranks[j]]


@compiled
def _to_one_length(queries, lengths, costs, distances):
    """
    Write the ``distances``, (n_queries, n), of CDR3s to n CDR3s of equal length.

    ``costs``: (residue, position, n).
    """
    sums = np.empty(costs.shape[2], costs.dtype)
    for i in range(len(queries)):
        _query_distances(queries[i], lengths[i], costs, sums, distances[i])


@compiled
def _query_distances(query, length, costs, sums, smallest):
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
