"""
TCRdist (Dash et al. 2017; Mayer-Blackwell et al. 2021), as pyrepseq computes it.

The distance of two chains is that of CDR1, CDR2 and CDR2.5, aligned as IMGT aligns them, plus three
times that of the CDR3, in which one gap is placed where it costs least.

What each residue costs at each place of the references is looked up once, for references of one length
together. The distances of a query to all of them are then sums of rows of that table.
"""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numba
import numpy as np
import pyarrow as pa

from airrvec.core import schema
from airrvec.encoders import NotMeasurable, present_loci
from airrvec.model.tokens import AMINO_ACIDS

CDR3_WEIGHT = 3
GAP_PENALTY = 4
N_TRIM, C_TRIM = 3, 2
# References whose table of costs, some 300 bytes each, is in memory at once.
BLOCK = 4096

# min(4, 4 - BLOSUM62) is 4 for all pairs of amino acids but these.
_CLOSE_PAIRS = {
    1: "FY IV",
    2: "DE EQ HY IL KR LM WY",
    3: "AS DN EK FW HN IM KQ LV MV NS QR ST",
}
_GAP = len(AMINO_ACIDS)  # costs nothing against anything, as in tcrdist3's numba metrics


def _substitution_costs() -> np.ndarray:
    costs = np.full((_GAP + 1, _GAP + 1), 4, np.uint8)
    for cost, pairs in _CLOSE_PAIRS.items():
        for first, second in pairs.split():
            i, j = AMINO_ACIDS.index(first), AMINO_ACIDS.index(second)
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
    """TCRdist of the chains that the receptors have: of the α chains, of the β chains, or the sum of both."""

    def distances(self, queries: pa.Table, references: pa.Table) -> np.ndarray:
        """
        Distances of queries to references.

        Parameters
        ----------
        queries, references : pyarrow.Table
            ``receptors``. Of each chain V gene and junction are known for all receptors, or nothing for any.

        Returns
        -------
        ndarray of int16, shape (n_queries, n_references)

        Raises
        ------
        NotMeasurable
            If a field is missing for some receptors, a V gene is unknown to tcrdist3's tables, or there are
            several species.
        """
        loci = _loci(queries, references)
        return _distances(
            [_chains(queries, locus) for locus in loci], [_chains(references, locus) for locus in loci]
        )

    def distance_rows(self, receptors: pa.Table) -> Callable[[np.ndarray], np.ndarray]:
        """As `airrvec.encoders.distance_rows`: receptors are read once."""
        loci = _loci(receptors)
        references = [_chains(receptors, locus) for locus in loci]
        return lambda rows: _distances([chains.take(rows) for chains in references], references)


def _loci(*tables: pa.Table) -> list[str]:
    species = sorted({name for table in tables for name in table["species"].unique().to_pylist()})
    if len(species) > 1:
        raise NotMeasurable(f"TCRdist compares receptors of one species, not of {' and '.join(species)}")
    return present_loci("TCRdist", ("v_call", "junction_aa"), *tables)


@dataclass(frozen=True)
class _Chains:
    """
    One chain of n receptors as numbers.

    Attributes
    ----------
    loops : ndarray of uint8, shape (n_genes, n_residues)
        Aligned loops of each distinct V gene.
    gene : ndarray of int64, shape (n,)
        Row of ``loops``.
    junctions : ndarray of uint8, shape (n, longest)
        Residues, then gaps.
    lengths : ndarray of int64, shape (n,)
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


@cache
def _v_table() -> dict[tuple[str, str], str]:
    path = Path(__file__).with_name("data") / "tcrdist_v_loops.tsv"
    with path.open() as handle:
        return {
            (row["species"], row["v_call"]): row["cdr1"] + row["cdr2"] + row["cdr2_5"]
            for row in csv.DictReader(handle, delimiter="\t")
        }


def _aligned_loops(species: str, v_call: str) -> np.ndarray:
    # Alleles that the table lacks are taken for the first of their gene.
    for name in (v_call, f"{v_call.split('*')[0]}*01"):
        if (species, name) in _v_table():
            return _encoded(np.array([_v_table()[species, name]], np.bytes_))[0]
    raise NotMeasurable(f"TCRdist knows no loops of {v_call} ({species})")


def _encoded(sequences: np.ndarray) -> np.ndarray:
    """Byte strings, (n,) → codes of their residues, (n, longest); what is no amino acid is a gap."""
    return _CODES[sequences.view(np.uint8).reshape(len(sequences), -1)]


def _distances(queries: list[_Chains], references: list[_Chains]) -> np.ndarray:
    n_references = len(references[0].gene)
    total = np.zeros((len(queries[0].gene), n_references), np.int16)
    for of_queries, of_references in zip(queries, references, strict=True):
        for start in range(0, n_references, BLOCK):
            block = slice(start, start + BLOCK)
            _add(total[:, block], of_queries, of_references.take(block))
    return total


def _add(total: np.ndarray, queries: _Chains, references: _Chains) -> None:
    """Add the distances of one chain to ``total``, (n_queries, n_references)."""
    of_genes = _COSTS[queries.loops[:, None], references.loops[None]].sum(-1, dtype=np.int16)
    order = np.argsort(references.lengths, kind="stable")
    lengths, counts = np.unique(references.lengths, return_counts=True)
    starts = np.cumsum(counts) - counts
    # Distances of up to 63 residues fit a byte; bytes are twice as fast.
    longest = max(lengths[-1], queries.lengths.max(initial=0))
    numbers = _COSTS.astype(np.uint8 if longest < 64 else np.uint16)
    costs = [
        numbers[:, references.junctions[order[start : start + count], :length].T].ravel()
        for length, start, count in zip(lengths, starts, counts, strict=True)
    ]
    _add_rows(
        total,
        of_genes[:, references.gene],
        queries.gene,
        queries.junctions,
        queries.lengths,
        np.concatenate(costs),
        lengths,
        counts,
        np.argsort(order).astype(np.uint32),  # unsigned, as numba would look for negative ones
    )


@numba.njit(parallel=True, nogil=True, cache=True)
def _add_rows(total, of_genes, genes, queries, query_lengths, costs, lengths, counts, place_of):
    """
    Add the distances of loops and CDR3s.

    References are ordered by the length of their CDR3: ``counts[g]`` are of ``lengths[g]``, and the j-th of
    the table stands at ``place_of[j]``. ``costs`` holds for each length, one after another, an array
    (residue, place, reference). ``of_genes``: (gene of a query, reference).
    """
    for i in numba.prange(len(total)):
        smallest = np.empty(len(place_of), costs.dtype)
        sums = np.empty(len(place_of), costs.dtype)
        offset = first = 0
        for g in range(len(lengths)):
            size = (_GAP + 1) * lengths[g] * counts[g]
            of_length = costs[offset : offset + size].reshape((_GAP + 1, lengths[g], counts[g]))
            part = slice(first, first + counts[g])
            _to_one_length(queries[i], query_lengths[i], of_length, sums[part], smallest[part])
            offset += size
            first += counts[g]
        row, of_gene = total[i], of_genes[genes[i]]
        for j in range(len(place_of)):
            row[j] += of_gene[j] + CDR3_WEIGHT * smallest[place_of[j]]


@numba.njit(nogil=True, cache=True)
def _to_one_length(query, length, costs, sums, smallest):
    """Distances of one CDR3 to n of one length, into ``smallest``, (n,); ``costs``: (residue, place, n)."""
    of_references = costs.shape[1]
    sums[:] = 0
    if length == of_references:
        for place in range(N_TRIM, length - C_TRIM):
            _add_row(sums, costs[query[place], place])
        smallest[:] = sums
        return

    shorter = min(length, of_references)
    first_gap, last_gap = 5, shorter - 5
    while first_gap > last_gap:
        first_gap -= 1
        last_gap += 1

    # Left of the gap residues are counted from the left, right of it from the right.
    for place in range(N_TRIM, first_gap):
        _add_row(sums, costs[query[place], place])
    for place in range(C_TRIM + 1, shorter - first_gap + 1):
        _add_row(sums, costs[query[length - place], of_references - place])
    smallest[:] = sums
    for gap in range(first_gap + 1, last_gap + 1):
        left, right = gap - 1, shorter - gap + 1  # the residue that changes sides
        if left >= N_TRIM:
            _add_row(sums, costs[query[left], left])
        if right > C_TRIM:
            _subtract_row(sums, costs[query[length - right], of_references - right])
        for j in range(len(sums)):
            smallest[j] = min(smallest[j], sums[j])
    smallest += costs.dtype.type(GAP_PENALTY * abs(length - of_references))


@numba.njit(nogil=True, inline="always")
def _add_row(sums, row):
    for j in range(len(sums)):
        sums[j] += row[j]


@numba.njit(nogil=True, inline="always")
def _subtract_row(sums, row):
    for j in range(len(sums)):
        sums[j] -= row[j]
