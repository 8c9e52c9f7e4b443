"""
TCRdist of paired receptors (Dash et al. 2017; Mayer-Blackwell et al. 2021), as pyrepseq computes it.

The distance of two chains is that of CDR1, CDR2 and CDR2.5, aligned as IMGT aligns them, plus three
times that of the CDR3, in which one gap is placed where it costs least.
"""

import csv
from functools import cache
from pathlib import Path

import numba
import numpy as np
import pyarrow as pa

from airrvec import schema
from airrvec.tokens import AMINO_ACIDS

CDR3_WEIGHT = 3
GAP_PENALTY = 4
N_TRIM, C_TRIM = 3, 2

# min(4, 4 - BLOSUM62) is 4 for all pairs of amino acids but these.
_CLOSE_PAIRS = {
    1: "FY IV",
    2: "DE EQ HY IL KR LM WY",
    3: "AS DN EK FW HN IM KQ LV MV NS QR ST",
}
_GAP = len(AMINO_ACIDS)  # costs nothing against anything, as in tcrdist3's numba metrics


def _substitution_costs() -> np.ndarray:
    costs = np.full((_GAP + 1, _GAP + 1), 4, np.int16)
    for cost, pairs in _CLOSE_PAIRS.items():
        for first, second in pairs.split():
            i, j = AMINO_ACIDS.index(first), AMINO_ACIDS.index(second)
            costs[i, j] = costs[j, i] = cost
    np.fill_diagonal(costs, 0)
    costs[_GAP] = costs[:, _GAP] = 0
    return costs


_COSTS = _substitution_costs()


class Tcrdist:
    """TCRdist of complete α/β receptors."""

    def distances(self, queries: pa.Table, references: pa.Table) -> np.ndarray:
        """
        Distances of queries to references.

        Parameters
        ----------
        queries, references : pyarrow.Table
            ``receptors`` of one species, V gene and junction known for both chains.

        Returns
        -------
        ndarray of int16, shape (n_queries, n_references)

        Raises
        ------
        ValueError
            If a V gene is unknown to tcrdist3's tables, or a field is missing.
        """
        total = np.zeros((len(queries), len(references)), np.int16)
        for locus in schema.LOCI:
            total += _v_distances(queries, references, locus)
            total += CDR3_WEIGHT * _junction_distances(queries, references, locus)
        return total


def _v_distances(queries: pa.Table, references: pa.Table, locus: str) -> np.ndarray:
    """Distance by the loops of the V genes, computed once for each pair of distinct genes."""
    (q_genes, q_index), (r_genes, r_index) = (
        _distinct_v_calls(table, locus) for table in (queries, references)
    )
    q_loops, r_loops = (
        np.stack([_aligned_loops(species, v_call) for species, v_call in genes])
        for genes in (q_genes, r_genes)
    )
    between_genes = _COSTS[q_loops[:, None], r_loops[None]].sum(-1, dtype=np.int16)
    return between_genes[q_index[:, None], r_index]


def _distinct_v_calls(table: pa.Table, locus: str) -> tuple[list[tuple[str, str]], np.ndarray]:
    pairs = list(
        zip(
            table["species"].to_pylist(),
            table[schema.field(locus, "v_call")].to_pylist(),
            strict=True,
        )
    )
    distinct = {pair: number for number, pair in enumerate(dict.fromkeys(pairs))}
    return list(distinct), np.array([distinct[pair] for pair in pairs], np.int64)


@cache
def _v_table() -> dict[tuple[str, str], str]:
    path = Path(__file__).with_name("data") / "tcrdist_v_loops.tsv"
    with path.open() as handle:
        return {
            (row["species"], row["v_call"]): row["cdr1"] + row["cdr2"] + row["cdr2_5"]
            for row in csv.DictReader(handle, delimiter="\t")
        }


@cache
def _aligned_loops(species: str, v_call: str | None) -> np.ndarray:
    if v_call is None:
        raise ValueError("TCRdist needs the V gene of both chains")
    # Alleles that the table lacks are taken for the first of their gene.
    for name in (v_call, f"{v_call.split('*')[0]}*01"):
        if (species, name) in _v_table():
            return _encoded(_v_table()[species, name])
    raise ValueError(f"TCRdist knows no loops of {v_call} ({species})")


def _encoded(sequence: str) -> np.ndarray:
    numbers = (AMINO_ACIDS.find(letter) for letter in sequence)
    return np.array([_GAP if number < 0 else number for number in numbers], np.int64)


def _junction_distances(queries: pa.Table, references: pa.Table, locus: str) -> np.ndarray:
    name = schema.field(locus, "junction_aa")
    return _cdr3_distances(
        *_padded(queries[name].to_pylist()), *_padded(references[name].to_pylist()), _COSTS
    )


def _padded(junctions: list[str | None]) -> tuple[np.ndarray, np.ndarray]:
    """Encoded junctions, (n, longest), and their lengths, (n,)."""
    if None in junctions:
        raise ValueError("TCRdist needs the junction of both chains")
    lengths = np.array([len(junction) for junction in junctions], np.int64)
    padded = np.full((len(junctions), lengths.max(initial=0)), _GAP, np.int64)
    for row, junction in enumerate(junctions):
        padded[row, : len(junction)] = _encoded(junction)
    return padded, lengths


@numba.njit(parallel=True, nogil=True)
def _cdr3_distances(a, a_lengths, b, b_lengths, costs):
    distances = np.empty((len(a), len(b)), np.int16)
    for i in numba.prange(len(a)):
        for j in range(len(b)):
            distances[i, j] = _cdr3_distance(a[i], a_lengths[i], b[j], b_lengths[j], costs)
    return distances


@numba.njit(nogil=True, inline="always")
def _cdr3_distance(a, a_length, b, b_length, costs):
    if a_length == b_length:
        distance = 0
        for i in range(N_TRIM, a_length - C_TRIM):
            distance += costs[a[i], b[i]]
        return distance

    shorter = min(a_length, b_length)
    first_gap, last_gap = 5, shorter - 5
    while first_gap > last_gap:
        first_gap -= 1
        last_gap += 1

    # Left of the gap residues are counted from the left, right of it from the right.
    distance = 0
    for i in range(N_TRIM, first_gap):
        distance += costs[a[i], b[i]]
    for i in range(C_TRIM, shorter - first_gap):
        distance += costs[a[a_length - 1 - i], b[b_length - 1 - i]]
    smallest = distance
    for gap in range(first_gap + 1, last_gap + 1):
        left, right = gap - 1, shorter - gap  # the residue that changes sides
        if left >= N_TRIM:
            distance += costs[a[left], b[left]]
        if right >= C_TRIM:
            distance -= costs[a[a_length - 1 - right], b[b_length - 1 - right]]
        smallest = min(smallest, distance)
    return smallest + GAP_PENALTY * abs(a_length - b_length)
