"""
Pairing of the chains of each cell into receptors.

The best chain of a locus is, in every format, the one with the most UMIs, then with the most reads, then with
functional genes rather than an open reading frame, then the first in the table. A reader puts UMIs into
``umi_count`` and reads into ``duplicate_count``; a chain without a count is below all others.
"""

from airrvec.core import imgt, schema
from airrvec.core.chains import has_equal_junctions
from airrvec.core.settings import SETTINGS
from airrvec.core.tables import BATCH, contiguous
from airrvec.input.standardise import failures

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# Columns of `airrvec.core.schema.CHAINS` that follow from the cell.
_CELL_COLUMNS = ("sample_id", "cell_id", "receptor_id", "clonotype_id")


def chains_of_cells(chains: pa.Table, index: np.ndarray, shared: np.ndarray) -> pa.Table:
    """
    Return the chains of the cells, a row each, α before β.

    Parameters
    ----------
    chains : pyarrow.Table
        Standardised chains.
    index : ndarray of int, shape (n cells, 2)
        Row of the α and the β chain of each cell; -1 for a missing chain.
    shared : ndarray of bool, shape (n cells,)
        Whether one input row holds both chains and one count, which becomes that of the α chain.

    Returns
    -------
    pyarrow.Table
        `airrvec.core.schema.CHAINS` without the columns that follow from the cell; ``cell_row`` is counted
        from 1 within these cells.
    """
    cell, side = np.nonzero(index >= 0)
    counted = ~(shared[cell] & (side == 1))
    taken = [name for name in schema.CHAINS.names if name not in ("cell_row", *_CELL_COLUMNS)]
    kept = _take(chains.select(taken), index[cell, side])
    columns = {"cell_row": pa.array(cell + 1, pa.int64())} | dict(zip(taken, kept.columns, strict=True))
    for name in ("duplicate_count", "umi_count", "consensus_count"):
        columns[name] = pc.if_else(pa.array(counted), columns[name], pa.scalar(None, pa.int64()))
    return pa.table(columns)


def with_cells(chains: pa.Table, cells: pa.Table, first_row: int) -> pa.Table:
    """
    Return `airrvec.core.schema.CHAINS`.

    Parameters
    ----------
    chains : pyarrow.Table
        From `chains_of_cells`.
    cells : pyarrow.Table
        `airrvec.core.schema.CELLS` of the same cells.
    first_row : int
        Number of cells of the sample before these.
    """
    place = chains["cell_row"].to_numpy() - 1
    columns = {name: chains[name] for name in chains.column_names}
    columns["cell_row"] = pc.add(chains["cell_row"], first_row)
    columns |= dict(zip(_CELL_COLUMNS, _take(cells.select(_CELL_COLUMNS), place).columns, strict=True))
    return pa.table([columns[name] for name in schema.CHAINS.names], schema=schema.CHAINS)


# --- Pairing of the chains of each cell into receptors

EXTRA_CHAIN = "extra chain of its cell: the one with more UMIs, then reads, is kept"
DUPLICATE_ROW = "repeats another row: the same chain of the same cell"
MULTIPLE_CHAINS = "its cell has more than one α or β chain, and such cells are dropped"

# Chains of the other lineage than that of their cell.
OTHER_LINEAGE = {
    schema.ALPHA_BETA: "γ or δ chain of a cell with an αβ receptor",
    schema.GAMMA_DELTA: "α or β chain of a cell with a γδ receptor",
}

# Treatment of cells with more than one α or β chain.
POLICIES = SETTINGS["multichain"].choices


def pair(
    chains: pa.Table, cell: np.ndarray, policy: str = "top", lineage: schema.Lineage = schema.ALPHA_BETA
) -> tuple[dict, pa.Table]:
    """
    Pair the chains of each cell.

    Parameters
    ----------
    chains : pyarrow.Table
        Standardised chains.
    cell : (n,) ndarray
        Number of the cell of each chain, from `cell_numbers`.
    policy : {"top", "split", "drop"}
        For several chains of a locus: keep the best one; or make a receptor of every combination of an α and
        a β chain; or exclude the cell.
    lineage : Lineage
        Of all chains. γ and δ chains are paired as α and β chains are.

    Returns
    -------
    dict
        Columns of the cells; ``rows``, the input rows used in any cell; and ``chains``, a table of the chains
        of the cells (`chains_of_cells`). A row used in several cells is counted in
        the ``input_rows`` of the first.
    pyarrow.Table
        `airrvec.input.standardise.FAILURES` of the excluded chains.
    """
    n_cells = int(cell.max(initial=-1)) + 1
    locus = pc.equal(chains["locus"], lineage.loci[1]).to_numpy().astype(np.int64)  # 0 α, 1 β
    repeated = _repeats(chains, cell * 2 + locus)
    repeats = failures(chains, repeated, "junction_aa", chains["junction_aa"], DUPLICATE_ROW)
    if repeated.any():
        chains, cell, locus = chains.filter(pa.array(~repeated)), cell[~repeated], locus[~repeated]
    row = chains["row"].to_numpy()

    order = _best_first(chains, cell, locus)
    n_chains = np.bincount(cell * 2 + locus, minlength=2 * n_cells).reshape(n_cells, 2)
    parent, index = _combinations(n_chains, order, policy)
    has_chain = index >= 0
    first = np.where(has_chain[:, 0], index[:, 0], index[:, 1])  # α, or β if there is no α
    one_row = has_chain.all(axis=1) & (row[index[:, 0]] == row[index[:, 1]])
    clonotype = one_row & pc.is_null(chains["cell_key"]).to_numpy()[first]
    new = _first_uses(index)
    first_row = row.min(initial=np.iinfo(np.int64).max)
    new_row = _first_uses(np.where(index < 0, -1, row[index] - first_row) if len(row) else index)

    columns = {
        "rows": _distinct(row[index[new]]),
        "chains": chains_of_cells(chains, index, clonotype),
        "input_rows": pa.array(new_row.sum(axis=1)),
        "chain_pairing": chain_pairing_classes(n_chains[parent]),
        "species": chains["species"].take(pa.array(first)),
    }
    used_later = chains.drop_columns([*schema.KEPT_FIELDS, "consensus_count", "functionality"])
    both = [_take(used_later, index[:, side]) for side in (0, 1)]
    for side, locus_name in enumerate(lineage.loci):
        for name in schema.CHAIN_FIELDS:
            field = schema.field(locus_name, name)
            columns[field] = both[side][name]
            columns[schema.raw(field)] = both[side][schema.raw(name)]
    second = _second_alpha(chains, n_chains, order, parent, policy)
    columns |= {lineage.second(name): second[name] for name in second.column_names}
    for name, flag in (("uncertain_calls", schema.uncertain), ("orf_calls", schema.open_frame)):
        columns[name] = _fields_where(both, lineage, {call: flag(call) for call in ("v_call", "j_call")})
    columns["built_junctions"] = _fields_where(both, lineage, {"junction_aa": "from_cdr3"})
    columns["equal_junctions"] = pa.array(has_equal_junctions(columns, lineage))
    for name in ("cell_id", *schema.LABELS):
        columns[name] = pc.coalesce(both[0][name], both[1][name])
    for name in ("duplicate_count", "umi_count"):
        total = pc.add(pc.fill_null(both[0][name], 0), pc.fill_null(both[1][name], 0))
        # A clonotype with both chains in one row has one count, not one per chain.
        total = pc.if_else(pa.array(clonotype), both[0][name], total)
        counted = pc.or_(pc.is_valid(both[0][name]), pc.is_valid(both[1][name]))
        columns[name] = pc.if_else(counted, total, pa.scalar(None, pa.int64()))
    # Both chains of a clonotype are in the same cells.
    columns["cell_count"] = pc.max_element_wise(both[0]["cell_count"], both[1]["cell_count"])

    excluded = np.ones(len(chains), bool)
    excluded[index[new]] = False
    reason = lineage.renamed(MULTIPLE_CHAINS) if policy == "drop" else EXTRA_CHAIN
    extra = failures(chains, excluded, "junction_aa", chains["junction_aa"], reason)
    return columns, pa.concat_tables([repeats, extra])


def split_lineages(chains: pa.Table) -> tuple[dict[schema.Lineage, pa.Table], pa.Table]:
    """
    Return the chains of αβ and of γδ cells, and the failures of chains of the other lineage than their cell.

    A cell with γ and δ chains is a γδ cell, unless it has α and β chains. A cell without a pair of either
    is an αβ cell if it has an α or β chain: αβ cells often transcribe a γ chain.

    Parameters
    ----------
    chains : pyarrow.Table
        Standardised chains of both lineages.
    """
    is_gamma_delta = pc.is_in(chains["locus"], pa.array(schema.GAMMA_DELTA.loci)).to_numpy()
    if not is_gamma_delta.any():
        nothing = np.zeros(len(chains), bool)
        return {schema.ALPHA_BETA: chains}, failures(chains, nothing, "locus", chains["locus"], "")
    cell = cell_numbers(chains)
    loci = pa.array([*schema.ALPHA_BETA.loci, *schema.GAMMA_DELTA.loci])
    present = np.zeros((cell.max() + 1, len(loci)), bool)
    present[cell, pc.index_in(chains["locus"], loci).to_numpy()] = True
    first, second = present[:, :2], present[:, 2:]  # αβ, γδ
    is_other: np.ndarray = ~first.any(axis=1) | (second.all(axis=1) & ~first.all(axis=1))
    in_gamma_delta_cell = is_other[cell]
    split, lost = {}, []
    for lineage, own in ((schema.ALPHA_BETA, ~is_gamma_delta), (schema.GAMMA_DELTA, is_gamma_delta)):
        in_cell = in_gamma_delta_cell == (lineage == schema.GAMMA_DELTA)
        split[lineage] = chains.filter(pa.array(own & in_cell))
        lost.append(failures(chains, in_cell & ~own, "locus", chains["locus"], OTHER_LINEAGE[lineage]))
    return split, pa.concat_tables(lost)


def _second_alpha(
    chains: pa.Table, n_chains: np.ndarray, order: np.ndarray, parent: np.ndarray, policy: str
) -> pa.Table:
    """
    Return the second α chain of each receptor; parameters as in `_combinations`, and the cell of each.

    A cell with two β chains as well is more likely two cells: its second α chain is not told.
    """
    start = (np.cumsum(n_chains) - n_chains.ravel()).reshape(-1, 2)[parent, 0]
    n_alpha, n_beta = n_chains[parent].T
    has_second = (n_alpha == 2) & (n_beta < 2) & (policy == "top")
    row = np.full(len(parent), -1)
    row[has_second] = order[start[has_second] + 1]
    return _take(chains.select(["v_call", "junction_aa", "junction"]), row)


def _combinations(n_chains: np.ndarray, order: np.ndarray, policy: str) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the cell of each receptor, shape (n,), and its α and β chain, shape (n, 2); -1 for a missing chain.

    Parameters
    ----------
    n_chains : ndarray of int64, shape (n_cells, 2)
        Number of α and β chains of each cell.
    order : ndarray of int64
        Chains by cell and locus, the best of each first.
    policy : {"top", "split", "drop"}
        As in `pair`.
    """
    start = (np.cumsum(n_chains) - n_chains.ravel()).reshape(-1, 2)
    used = n_chains if policy == "split" else np.minimum(n_chains, 1)
    n_receptors = np.maximum(used, 1).prod(axis=1)
    if policy == "drop":
        n_receptors[(n_chains > 1).any(axis=1)] = 0
    parent = np.repeat(np.arange(len(n_chains)), n_receptors)
    number = np.arange(len(parent)) - np.repeat(np.cumsum(n_receptors) - n_receptors, n_receptors)
    rank = np.stack(np.divmod(number, np.maximum(used[parent, 1], 1)), axis=1)
    if not len(order):
        return parent, rank - 1
    has_chain = used[parent] > 0
    return parent, np.where(has_chain, order[np.where(has_chain, start[parent] + rank, 0)], -1)


def _best_first(chains: pa.Table, cell: np.ndarray, locus: np.ndarray) -> np.ndarray:
    """Return the rows of the chains by cell and locus, the best chain of each first; shape (n,)."""
    umis, reads = (pc.fill_null(chains[name], -1).to_numpy() for name in ("umi_count", "duplicate_count"))
    frame = pc.equal(chains["functionality"], imgt.OPEN_READING_FRAME)
    frame = pc.fill_null(frame, False).to_numpy()
    return np.lexsort((chains["row"].to_numpy(), frame, -reads, -umis, locus, cell))


def _fields_where(both: list[pa.Table], lineage: schema.Lineage, flags: dict[str, str]) -> pa.Array:
    """Return the names of each cell's flagged fields, joined by commas; null if there is none."""
    names = [
        pc.if_else(
            pc.fill_null(contiguous(chains[flag]), False),
            schema.field(locus, name),
            pa.scalar(None, pa.string()),
        )
        for locus, chains in zip(lineage.loci, both, strict=True)
        for name, flag in flags.items()
        if pc.any(chains[flag]).as_py()
    ]
    if not names:
        return pa.nulls(len(both[0]), pa.string())
    # The empty first string is needed because pyarrow skips a row in which all values are null.
    joined = pc.utf8_ltrim(pc.binary_join_element_wise("", *names, ",", null_handling="skip"), ",")
    return pc.if_else(pc.equal(joined, ""), pa.scalar(None, pa.string()), joined)


def _repeats(chains: pa.Table, place: np.ndarray) -> np.ndarray:
    """
    Return True for each chain that equals an earlier chain of its cell in every field that is used.

    ``row`` and the fields that are only kept are ignored.

    A chain without a cell key repeats none. ``place`` numbers cell and locus; a chain that is alone in
    its place, as most are, is skipped.
    """
    repeated = np.zeros(len(chains), bool)
    if chains["cell_key"].null_count == len(chains):
        return repeated
    several = (np.bincount(place)[place] > 1) & pc.is_valid(chains["cell_key"]).to_numpy()
    at = np.flatnonzero(several)
    ignored = ("row", "consensus_count", *schema.KEPT_FIELDS)
    fields = [name for name in chains.column_names if name not in ignored]
    groups = chains.select(fields).take(pa.array(at)).append_column("at", pa.array(at)).group_by(fields)
    repeated[at] = True
    repeated[groups.aggregate([("at", "min")])["at_min"].to_numpy()] = False
    return repeated


def _first_uses(used: np.ndarray) -> np.ndarray:
    """Return True where a number occurs for the first time, row by row; False for -1 (no chain)."""
    flat = used.ravel()
    first = np.full(flat.max(initial=-1) + 2, len(flat))  # the last element is for -1
    first[flat[::-1]] = np.arange(len(flat))[::-1]  # reversed, so that the first of equal numbers wins
    return ((first[flat] == np.arange(len(flat))) & (flat >= 0)).reshape(used.shape)


def _distinct(rows: np.ndarray) -> np.ndarray:
    """Return the distinct row numbers, sorted; they are dense, so marking is faster than sorting."""
    if not len(rows):
        return rows
    first = rows.min()
    seen = np.zeros(rows.max() - first + 1, bool)
    seen[rows - first] = True
    return np.flatnonzero(seen) + first


def cell_numbers(chains: pa.Table) -> np.ndarray:
    """Return cell numbers 0, 1, 2, … in order of appearance; each row without a key is its own cell."""
    keys = chains["cell_key"]
    if keys.null_count == len(keys):
        keys = chains["row"]
    elif keys.null_count:
        row_keys = pc.binary_join_element_wise("", chains["row"].cast(pa.string()), "\0")
        keys = pc.coalesce(keys, row_keys)
    return contiguous(keys).dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _take(chains: pa.Table, index: np.ndarray) -> pa.Table:
    """Return rows of a table; nulls where the index is -1. Rows that are all in order are not copied."""
    if np.array_equal(index, np.arange(len(chains))):
        return chains
    rows = pa.array(index, pa.int64(), mask=index < 0)
    return pa.table([_taken(values, rows) for values in chains.columns], schema=chains.schema)


def _taken(values: pa.ChunkedArray, rows: pa.Array) -> pa.ChunkedArray:
    """Return values of a column in pieces: the sequences of a large sample exceed one array of strings."""
    if rows.null_count == len(rows) or values.null_count == len(values):  # most formats lack most fields
        return pa.chunked_array([pa.nulls(len(rows), values.type)])
    text = pa.types.is_string(values.type)
    whole = values.cast(pa.large_string()) if text else values
    whole = whole.combine_chunks()
    pieces = [whole.take(rows.slice(first, BATCH)) for first in range(0, len(rows), BATCH)]
    return pa.chunked_array([piece.cast(values.type) for piece in pieces], values.type)


_CLASSES = pa.array(
    [
        schema.MULTICHAIN,
        schema.ORPHAN_VJ,
        schema.ORPHAN_VDJ,
        schema.TWO_FULL_CHAINS,
        schema.EXTRA_VJ,
        schema.EXTRA_VDJ,
        schema.SINGLE_PAIR,
    ]
)


def chain_pairing_classes(n_chains: np.ndarray) -> pa.Array:
    """
    Return scirpy's class of each cell from its numbers of VJ (α) and VDJ (β) chains, (n, 2) → (n,).

    Examples
    --------
    >>> chain_pairing_classes(np.array([[1, 1], [2, 1], [1, 0]])).to_pylist()
    ['single pair', 'extra VJ', 'orphan VJ']
    """
    n_vj, n_vdj = n_chains.T
    rules = [  # in the order of the classes; a cell has the first that holds, else the last class
        (n_vj > 2) | (n_vdj > 2),
        n_vdj == 0,
        n_vj == 0,
        (n_vj == 2) & (n_vdj == 2),
        n_vj == 2,
        n_vdj == 2,
    ]
    return _CLASSES.take(pa.array(np.select(rules, range(len(rules)), len(rules))))
