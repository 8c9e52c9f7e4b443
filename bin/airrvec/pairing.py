"""Chains of one cell → one receptor."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airrvec import schema
from airrvec.standardise import contiguous, failures

EXTRA = "extra chain of its cell: the one with more UMIs, then reads, is kept"
SEVERAL = "its cell has more than one α or β chain, and such cells are dropped"

# What becomes of cells with more than one α or β chain.
POLICIES = ("top", "split", "drop")


def pair(chains: pa.Table, policy: str = "top") -> tuple[dict, pa.Table]:
    """
    Pair the chains of each cell.

    Parameters
    ----------
    chains : pyarrow.Table
        Standardised chains.
    policy : {"top", "split", "drop"}
        Of several chains of a locus keep the one with the most UMIs, then reads, then the first; or
        make a receptor of every combination of an α and a β chain; or leave the cell out.

    Returns
    -------
    dict
        Columns of the cells, and ``rows``, the input rows that went into any of them. A row that
        went into several is counted in the ``input_rows`` of the first.
    pyarrow.Table
        `airrvec.standardise.FAILURES` of the chains that are left out.
    """
    cell = _cell_numbers(chains)
    n_cells = int(cell.max(initial=-1)) + 1
    locus = pc.equal(chains["locus"], schema.LOCI[1]).to_numpy().astype(np.int64)  # 0 α, 1 β
    umis = pc.fill_null(chains["umi_count"], -1).to_numpy()
    reads = pc.fill_null(chains["duplicate_count"], -1).to_numpy()
    row = chains["row"].to_numpy()

    order = np.lexsort((row, -reads, -umis, locus, cell))  # by cell and locus, the best chain first
    n_chains = np.bincount(cell * 2 + locus, minlength=2 * n_cells).reshape(n_cells, 2)
    start = (np.cumsum(n_chains) - n_chains.ravel()).reshape(n_cells, 2)

    used = n_chains if policy == "split" else np.minimum(n_chains, 1)
    n_receptors = np.maximum(used, 1).prod(axis=1)
    if policy == "drop":
        n_receptors[(n_chains > 1).any(axis=1)] = 0
    of_cell = np.repeat(np.arange(n_cells), n_receptors)
    number = np.arange(len(of_cell)) - np.repeat(np.cumsum(n_receptors) - n_receptors, n_receptors)
    rank = np.stack(np.divmod(number, np.maximum(used[of_cell, 1], 1)), axis=1)
    known = used[of_cell] > 0
    # Chains of each receptor, α and β: (n, 2); -1 where there is none.
    index = np.where(known, order[np.where(known, start[of_cell] + rank, 0)], -1) if len(order) else rank - 1

    first = np.where(known[:, 0], index[:, 0], index[:, 1])  # α, or β where there is no α
    one_row = known.all(axis=1) & (row[index[:, 0]] == row[index[:, 1]])
    clonotype = one_row & pc.is_null(chains["cell_key"]).to_numpy()[first]
    new = _first_uses(index, len(chains))

    columns = {
        "rows": _distinct(row[index[new]]),
        "input_rows": pa.array(new.sum(axis=1) - (one_row & new.all(axis=1))),
        "chain_pairing": pa.array(pairing_words(n_chains)[of_cell], pa.string()),
        "species": chains["species"].take(pa.array(first)),
    }
    both = [_take(chains, index[:, side]) for side in (0, 1)]
    for side, locus_name in enumerate(schema.LOCI):
        for name in schema.CHAIN_FIELDS:
            field = schema.field(locus_name, name)
            columns[field] = both[side][name]
            columns[schema.raw(field)] = both[side][schema.raw(name)]
    columns["uncertain_calls"] = _uncertain_calls(both)
    for name in ("cell_id", *schema.LABELS):
        columns[name] = pc.coalesce(both[0][name], both[1][name])
    for name in ("duplicate_count", "umi_count"):
        total = pc.add(pc.fill_null(both[0][name], 0), pc.fill_null(both[1][name], 0))
        # The count of a clonotype with both chains in a row is the row's, not one a chain.
        total = pc.if_else(pa.array(clonotype), both[0][name], total)
        counted = pc.or_(pc.is_valid(both[0][name]), pc.is_valid(both[1][name]))
        columns[name] = pc.if_else(counted, total, pa.scalar(None, pa.int64()))

    left_out = np.ones(len(chains), bool)
    left_out[index[new]] = False
    reason = SEVERAL if policy == "drop" else EXTRA
    return columns, failures(chains, left_out, "junction_aa", chains["junction_aa"], reason)


def _uncertain_calls(both: list[pa.Table]) -> pa.Array:
    """Names of the cells' uncertain calls, joined by commas; null where there is none."""
    names = [
        pc.if_else(
            pc.fill_null(contiguous(chains[schema.uncertain(name)]), False),
            schema.field(locus, name),
            pa.scalar(None, pa.string()),
        )
        for locus, chains in zip(schema.LOCI, both, strict=True)
        for name in ("v_call", "j_call")
    ]
    # The empty first string, as pyarrow leaves a row out where all are null.
    joined = pc.utf8_ltrim(pc.binary_join_element_wise("", *names, ",", null_handling="skip"), ",")
    return pc.if_else(pc.equal(joined, ""), pa.scalar(None, pa.string()), joined)


def _first_uses(index: np.ndarray, n_chains: int) -> np.ndarray:
    """Whether a chain is in a receptor for the first time; False where there is no chain."""
    flat = index.ravel()
    first = np.full(n_chains + 1, len(flat))  # the last place stands for -1, no chain
    first[flat[::-1]] = np.arange(len(flat))[::-1]  # of equal chains the first use is written last
    return ((first[flat] == np.arange(len(flat))) & (flat >= 0)).reshape(index.shape)


def _distinct(rows: np.ndarray) -> np.ndarray:
    """Distinct row numbers, sorted; they lie so close that marking them is quicker than sorting."""
    if not len(rows):
        return rows
    first = rows.min()
    seen = np.zeros(rows.max() - first + 1, bool)
    seen[rows - first] = True
    return np.flatnonzero(seen) + first


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
