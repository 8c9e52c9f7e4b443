"""Chains as an input spells them → standardised receptors, cells, and rejects with reasons."""

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import tidytcells

from airrvec import schema
from airrvec.errors import InputError
from airrvec.readers import Chains

# The longest CDR3 in the IMGT references and in VDJdb has below 40 residues.
MAX_JUNCTION_LENGTH = 60

_NOT_READ = "the species is not one that airrvec reads"
_OTHER_LOCUS = "not an α or β chain of a T-cell receptor"
_NO_LOCUS = "neither its locus nor its genes say which chain it is"
_EXTRA = "extra chain of its cell: the one with more UMIs, then reads, is kept"
_NO_CHAIN = "the row holds no chain"


@dataclass(frozen=True)
class Normalised:
    """
    What became of one input.

    Attributes
    ----------
    cells, receptors, rejects : pyarrow.Table
        As in `airrvec.schema`; ``cells`` in the input's order, ``receptors`` distinct.
    counts : dict
        Rows, chains, cells, receptors, and how many of each pairing and reject reason.
    """

    cells: pa.Table
    receptors: pa.Table
    rejects: pa.Table
    counts: dict


def normalise(
    chains: Chains, *, sample_id: str, species: str, metadata: dict[str, str] | None = None
) -> Normalised:
    """
    Standardise and pair the chains of one input.

    A chain is kept if its locus is TRA or TRB, its junction is valid, and its V and J genes, where
    given, are functional genes of its locus. A row is rejected if none of its chains is kept.

    Parameters
    ----------
    chains : Chains
        From `airrvec.readers.read_chains`.
    sample_id : str
        Goes into ``cells`` and ``rejects``.
    species : str
        A key of `airrvec.schema.SPECIES`, for rows that name none.
    metadata : dict, optional
        Further columns of ``cells``, each with one value.

    Raises
    ------
    InputError
        If no chain can be kept, or rows are not conserved (which would be our fault).
    """
    standardised, failures = _standardise(chains.table, species)
    cells, extra = _pair(standardised)
    failures = pa.concat_tables([failures, extra, *_rows_without_chain(chains)])

    kept_rows = np.unique(cells.pop("rows"))
    receptors, receptor_ids = _receptors(cells)
    cells_table = (
        pa.table(
            {
                "sample_id": pa.repeat(sample_id, len(receptor_ids)),
                "receptor_id": receptor_ids,
                **{name: values for name, values in cells.items() if name in schema.CELLS.names},
            }
        )
        .select(schema.CELLS.names)
        .cast(schema.CELLS)
    )
    for name, value in (metadata or {}).items():
        cells_table = cells_table.append_column(
            name, pa.repeat(pa.scalar(value, pa.string()), len(cells_table))
        )

    row_kept = np.isin(failures["row"].to_numpy(), kept_rows)
    rejects = pa.table(
        {
            "sample_id": pa.repeat(sample_id, len(failures)),
            **{name: failures[name] for name in ("row", "cell_id", "field", "value", "reason")},
            "row_kept": row_kept,
        },
        schema=schema.REJECTS,
    ).sort_by("row")

    lost_rows = len(np.unique(rejects["row"].to_numpy()[~rejects["row_kept"].to_numpy()]))
    counts = {
        "sample_id": sample_id,
        "format": chains.format,
        "rows_in": chains.n_rows,
        "rows_out": len(kept_rows),
        "rows_rejected": lost_rows,
        "chains_in": len(chains.table),
        "chains_out": len(standardised) - len(extra),
        "cells": len(cells_table),
        "receptors": len(receptors),
        "pairing": dict(Counter(cells_table["chain_pairing"].to_pylist()).most_common()),
        "reject_reasons": dict(Counter(rejects["reason"].to_pylist()).most_common()),
    }
    if counts["rows_in"] != counts["rows_out"] + lost_rows:
        raise InputError(
            f"{sample_id}: {chains.n_rows} rows came in, but {len(kept_rows)} were kept and"
            f" {lost_rows} rejected",
            fix="This is an error of airrvec: please report it with the file",
        )
    if not len(cells_table):
        raise InputError(_nothing_kept(counts, rejects))
    return Normalised(cells_table, receptors, rejects, counts)


def _nothing_kept(counts: dict, rejects: pa.Table) -> str:
    if set(rejects["reason"].to_pylist()) <= {_OTHER_LOCUS}:
        loci = ", ".join(f"{n} {locus}" for locus, n in Counter(rejects["value"].to_pylist()).most_common(5))
        return (
            f"{counts['sample_id']}: none of the {counts['rows_in']} rows is an α or β chain of a"
            f" T-cell receptor (loci: {loci}); airrvec reads T-cell receptors, not B-cell receptors"
        )
    reasons = "; ".join(f"{n} × {reason}" for reason, n in list(counts["reject_reasons"].items())[:3])
    first = rejects.slice(0, 1).to_pylist()[0]
    return (
        f"{counts['sample_id']}: none of the {counts['rows_in']} rows could be read as a receptor"
        f" ({reasons}; first: row {first['row']}, {first['field'] or 'row'} '{first['value'] or ''}')"
    )


# --- Standardising: every rule on a whole column, the slow ones once for each distinct value.


def _standardise(chains: pa.Table, default_species: str) -> tuple[pa.Table, pa.Table]:
    """Chains with standardised fields, and the failures of the others (row, cell, field, value, reason)."""
    species = _by_distinct(chains["species"], lambda raw: _species(raw, default_species))
    v_call, v_problem = _genes(chains["v_call"], species, chains["locus"], "V")
    j_call, j_problem = _genes(chains["j_call"], species, chains["locus"], "J")
    locus = _loci(chains, v_call, j_call)
    junction = pc.utf8_upper(chains["junction_aa"])
    n_residues = pc.fill_null(pc.utf8_length(junction), 0)
    fixed = _by_distinct(junction, _junction)

    checks = [
        # field, value, whether it failed, reason (one for all, or a column)
        ("species", chains["species"], pc.is_null(species), _NOT_READ),
        ("locus", locus, pc.is_null(locus), _NO_LOCUS),
        ("locus", locus, pc.invert(pc.is_in(locus, pa.array(schema.LOCI))), _OTHER_LOCUS),
        *(
            (
                flag,
                pa.nulls(len(chains), pa.string()),
                pc.fill_null(pc.invert(chains[flag]), False),
                reason,
            )
            for flag, reason in (
                ("is_cell", "the barcode was not called a cell"),
                ("high_confidence", "the contig is of low confidence"),
                ("productive", "the chain is not productive"),
            )
        ),
        ("junction_aa", junction, pc.is_null(junction), "junction_aa is missing"),
        (
            "junction_aa",
            junction,
            pc.match_substring_regex(junction, r"[*]"),
            "junction_aa holds a stop codon (*)",
        ),
        (
            "junction_aa",
            junction,
            pc.match_substring_regex(junction, r"[_~#]"),
            "junction_aa is out of frame (_)",
        ),
        (
            "junction_aa",
            junction,
            pc.greater(n_residues, MAX_JUNCTION_LENGTH),
            f"junction_aa has more than {MAX_JUNCTION_LENGTH} residues",
        ),
        ("junction_aa", junction, pc.is_null(fixed), "junction_aa holds a letter that is no amino acid"),
        ("v_call", chains["v_call"], pc.is_valid(v_problem), v_problem),
        ("j_call", chains["j_call"], pc.is_valid(j_problem), j_problem),
        ("v_call", v_call, _other_locus_than(v_call, locus), "v_call is of another locus than the chain"),
        ("j_call", j_call, _other_locus_than(j_call, locus), "j_call is of another locus than the chain"),
    ]
    failed = np.zeros(len(chains), bool)
    failures = []
    for field, value, mask, reason in checks:
        mask = pc.fill_null(mask, False)
        new = (
            mask.to_numpy(zero_copy_only=False) & ~failed
            if isinstance(mask, pa.Array)
            else mask.to_numpy() & ~failed
        )
        failed |= new
        failures.append(_failures(chains, new, field, value, reason))
    standardised = chains
    for name, values in (
        ("species", species),
        ("locus", locus),
        ("v_call", v_call),
        ("j_call", j_call),
        ("junction_aa", fixed),
    ):
        standardised = standardised.set_column(standardised.schema.get_field_index(name), name, values)
    return standardised.filter(pa.array(~failed)), pa.concat_tables(failures)


def _failures(chains: pa.Table, mask: np.ndarray, field: str | None, value, reason) -> pa.Table:
    keep = pa.array(mask)
    n = int(mask.sum())
    return pa.table(
        {
            "row": chains["row"].filter(keep),
            "cell_id": chains["cell_id"].filter(keep),
            "field": pa.repeat(pa.scalar(field, pa.string()), n),
            "value": value.filter(keep),
            "reason": pa.repeat(reason, n) if isinstance(reason, str) else reason.filter(keep),
        }
    )


def _by_distinct(values: pa.ChunkedArray, function: Callable) -> pa.Array:
    """Apply a function of strings and None once to each distinct value."""
    encoded = values.combine_chunks().dictionary_encode(null_encoding="encode")
    results = [function(value) for value in encoded.dictionary.to_pylist()]
    return pa.array(results, pa.string()).take(encoded.indices)


def _species(raw: str | None, default: str) -> str | None:
    if raw is None:
        return default
    for species, words in schema.SPECIES.items():
        if raw.lower() in words:
            return species
    return None


def _genes(
    calls: pa.ChunkedArray, species: pa.Array, loci: pa.ChunkedArray, segment: str
) -> tuple[pa.Array, pa.Array]:
    """Standardised calls, and what is wrong with those that have none; both null where no call is."""
    keys = pc.binary_join_element_wise(
        pc.fill_null(species, ""), calls.combine_chunks(), "\0", null_handling="emit_null"
    )
    encoded = keys.dictionary_encode()
    results = [_gene(*key.split("\0"), segment) for key in encoded.dictionary.to_pylist()]
    return tuple(
        pa.array([result[part] for result in results], pa.string()).take(encoded.indices) for part in (0, 1)
    )


@cache
def _gene(species: str, call: str, segment: str) -> tuple[str | None, str | None]:
    """A functional gene or allele in IMGT's spelling, or the reason why there is none."""
    if not species:
        return None, _NOT_READ
    field = f"{segment.lower()}_call"
    options = {"species": species, "log_failures": False}
    symbol = tidytcells.tr.standardize(call, enforce_functional=True, **options)
    if symbol is None:
        if tidytcells.tr.standardize(call, **options) is not None:
            return None, f"{field} is not functional according to IMGT"
        return None, f"{field} is not a {segment} gene that IMGT knows"
    if symbol[3] != segment and f"/D{segment}" not in symbol:
        return None, f"{field} is not a {segment} gene"
    return symbol, None


def _loci(chains: pa.Table, v_call: pa.Array, j_call: pa.Array) -> pa.Array:
    """The chain's own locus, else its genes': the standardised, else the raw name's first letters."""
    named = pc.utf8_upper(chains["locus"])
    # 10x writes "Multi", VDJdb's export "TRA"; only names of loci are believed.
    named = pc.if_else(pc.match_substring_regex(named, "^(TR|IG)[A-Z]$"), named, pa.scalar(None, pa.string()))
    candidates = [named.combine_chunks()]
    for call in (
        v_call,
        j_call,
        chains["v_call"].combine_chunks(),
        chains["j_call"].combine_chunks(),
    ):
        candidates.append(pc.utf8_upper(pc.utf8_slice_codeunits(call, 0, 3)))
    raw = chains["locus"].combine_chunks()
    return pc.coalesce(*candidates, raw)


def _other_locus_than(call: pa.Array, locus: pa.Array) -> pa.Array:
    return pc.not_equal(pc.utf8_slice_codeunits(call, 0, 3), locus)


@cache
def _junction(sequence: str | None) -> str | None:
    """A junction with its conserved ends, added where they are missing (tidytcells' rule)."""
    if sequence is None:
        return None
    if len(sequence) > MAX_JUNCTION_LENGTH:
        return sequence
    return tidytcells.junction.standardize(sequence, log_failures=False)


def _rows_without_chain(chains: Chains) -> list[pa.Table]:
    """Failures of rows that hold no chain, and of rows that do not fit the header."""
    malformed = [bad.row for bad in chains.malformed]
    seen = np.concatenate([chains.table["row"].to_numpy(), malformed])
    empty = np.setdiff1d(np.arange(1, chains.n_rows + 1), seen)

    def failures(rows, reasons) -> pa.Table:
        nulls = pa.nulls(len(rows), pa.string())
        return pa.table(
            {
                "row": pa.array(rows, pa.int64()),
                "cell_id": nulls,
                "field": nulls,
                "value": nulls,
                "reason": pa.array(reasons, pa.string()),
            }
        )

    return [
        failures(empty, [_NO_CHAIN] * len(empty)),
        failures(malformed, [bad.reason for bad in chains.malformed]),
    ]


# --- Pairing: chains of one pair_id to one cell.


def _pair(chains: pa.Table) -> tuple[dict, pa.Table]:
    """
    One α and one β chain a cell: those with the most UMIs, then reads, then the first.

    Returns the columns of the cells (with ``rows``, all input rows that went into them) and the
    failures of the extra chains.
    """
    numbers, cell = np.unique(chains["pair_id"].to_numpy(), return_inverse=True)
    n_cells = len(numbers)
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
        "chain_pairing": pa.array(_pairing_words(n_chains), pa.string()),
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
    return columns, _failures(chains, extra, "junction_aa", chains["junction_aa"], _EXTRA)


def _take(chains: pa.Table, index: np.ndarray) -> pa.Table:
    """Rows of a table; nulls where the index is -1."""
    return chains.take(pa.array(index, mask=index < 0))


def _pairing_words(n_chains: np.ndarray) -> np.ndarray:
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


def _receptors(cells: dict) -> tuple[pa.Table, pa.Array]:
    """Distinct receptors, in order of appearance, and the receptor_id of every cell."""
    fields = ("species", *schema.RECEPTOR_FIELDS)
    # "|" is in no symbol of a gene and no sequence.
    keys = pc.binary_join_element_wise(
        *(_contiguous(pc.fill_null(cells[name], "")) for name in fields), "|"
    ).dictionary_encode()
    distinct = keys.dictionary.to_pylist()
    ids = pa.array([receptor_id(key) for key in distinct], pa.string())
    columns = [
        pa.array(values, pa.string())
        for values in zip(*([value or None for value in key.split("|")] for key in distinct), strict=True)
    ] or [pa.array([], pa.string())] * len(fields)
    table = pa.table([ids, *columns], names=["receptor_id", *fields])
    has = [pc.is_valid(table[schema.field(locus, "junction_aa")]).to_numpy() for locus in schema.LOCI]
    words = _pairing_words(np.stack(has, axis=1).astype(np.int64))
    table = table.append_column("chain_pairing", pa.array(words, pa.string()))
    return table.cast(schema.RECEPTORS), ids.take(keys.indices)


def receptor_id(key: str) -> str:
    """
    Identity of a receptor, equal across runs and machines.

    Parameters
    ----------
    key : str
        Species and the six standardised fields in the order of ``receptors``, joined by ``|``,
        missing ones empty.

    Returns
    -------
    str
        The first 24 hexadecimal digits of the key's SHA-256.
    """
    return hashlib.sha256(key.encode()).hexdigest()[:24]


def _contiguous(values) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
