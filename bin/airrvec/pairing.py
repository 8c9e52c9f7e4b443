"""Chains of one cell → one receptor."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airrvec import schema
from airrvec.standardise import failures

EXTRA = "extra chain of its cell: the one with more UMIs, then reads, is kept"


def pair(chains: pa.Table) -> tuple[dict, pa.Table]:
    """
    One α and one β chain a cell: those with the most UMIs, then reads, then the first.

    Returns the columns of the cells (with ``rows``, all input rows that went into them) and the
    failures of the extra chains.
    """
    cell = _cell_numbers(chains)
    n_cells = int(cell.max(initial=-1)) + 1
    locus = pc.equal(chains["locus"], schema.LOCI[1]).to_numpy().astype(np.int64)  # 0 α, 1 β
    umis = pc.fill_null(chains["umi_count"], -1).to_numpy()
    reads = pc.fill_null(chains["duplicate_count"], -1).to_numpy()
    row = chains["row"].to_numpy()

    order = np.lexsort((row, -reads, -umis, locus, cell))
    group = cell[order] * 2 + locus[order]
    best = np.ones(len(order), bool)
    best[1:] = group[1:] != group[:-1]
    chosen = order[best]
    n_chains = np.bincount(cell * 2 + locus, minlength=2 * n_cells).reshape(n_cells, 2)

    index = np.full((n_cells, 2), -1)
    index[cell[chosen], locus[chosen]] = chosen
    first = np.where(index[:, 0] >= 0, index[:, 0], index[:, 1])  # α, or β where there is no α
    chosen_rows = np.unique(np.stack([cell[chosen], row[chosen]]), axis=1)

    columns = {
        "rows": chosen_rows[1],
        "input_rows": pa.array(np.bincount(chosen_rows[0], minlength=n_cells)),
        "chain_pairing": pa.array(pairing_words(n_chains), pa.string()),
        "species": chains["species"].take(pa.array(first)),
    }
    both = [_take(chains, index[:, side]) for side in (0, 1)]
    for side, locus_name in enumerate(schema.LOCI):
        for name in schema.CHAIN_FIELDS:
            columns[schema.field(locus_name, name)] = both[side][name]
    for name in ("cell_id", *schema.LABELS):
        columns[name] = pc.coalesce(both[0][name], both[1][name])
    shared = (index >= 0).all(axis=1) & (row[index[:, 0]] == row[index[:, 1]])
    for name in ("duplicate_count", "umi_count"):
        total = pc.add(pc.fill_null(both[0][name], 0), pc.fill_null(both[1][name], 0))
        # Of a row with both chains the count is the row's, not one a chain.
        total = pc.if_else(pa.array(shared), both[0][name], total)
        known = pc.or_(pc.is_valid(both[0][name]), pc.is_valid(both[1][name]))
        columns[name] = pc.if_else(known, total, pa.scalar(None, pa.int64()))

    extra = np.ones(len(chains), bool)
    extra[chosen] = False
    return columns, failures(chains, extra, "junction_aa", chains["junction_aa"], EXTRA)


def _cell_numbers(chains: pa.Table) -> np.ndarray:
    """0, 1, 2, … for the cells in order of appearance; rows without a key stand alone."""
    alone = pc.binary_join_element_wise("", chains["row"].cast(pa.string()), "\0")
    keys = pc.coalesce(chains["cell_key"], alone).combine_chunks()
    return keys.dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _take(chains: pa.Table, index: np.ndarray) -> pa.Table:
    """Rows of a table; nulls where the index is -1."""
    return chains.take(pa.array(index, mask=index < 0))


def pairing_words(n_chains: np.ndarray) -> np.ndarray:
    """scirpy's class of a cell by its numbers of VJ (α) and VDJ (β) chains; shape (n, 2) → (n,)."""
    n_vj, n_vdj = n_chains.T
    return np.select(
        [
            (n_vj > 2) | (n_vdj > 2),
            n_vdj == 0,
            n_vj == 0,
            (n_vj == 2) & (n_vdj == 2),
            n_vj == 2,
            n_vdj == 2,
        ],
        [
            schema.MULTICHAIN,
            schema.ORPHAN_VJ,
            schema.ORPHAN_VDJ,
            schema.TWO_FULL_CHAINS,
            schema.EXTRA_VJ,
            schema.EXTRA_VDJ,
        ],
        schema.SINGLE_PAIR,
    )
