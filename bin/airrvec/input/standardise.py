"""
Chains as spelled in the input → IMGT names and junctions, or the reason for exclusion.

Every rule works on a whole column; slow rules run once per distinct value.
"""

from collections.abc import Callable, Iterable

from airrvec.core import imgt, schema
from airrvec.core.tables import contiguous, map_distinct
from airrvec.input import junctions, species_names
from airrvec.input.calls import read_call

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

UNKNOWN_SPECIES = "the species is not one that airrvec reads"
OTHER_LOCUS = "not an α or β chain of a T-cell receptor"
NO_T_CELL = "not a chain of a T-cell receptor"
_ALSO_DELTA = "/DV"  # in the names of V genes of both α and δ chains
NO_LOCUS = "locus, v_call and j_call are missing"
# Of V genes alone: two thirds of the chains of TRBV23-1 are out of frame, as without selection; of TRAJ58, no
# more than of functional J genes (docs/explanations/standardisation.md).
UNPROVEN_FRAME = "v_call is an open reading frame, and the input does not call the chain productive"

# Excluded chains, with reasons.
FAILURES = pa.schema(
    [
        ("row", pa.int64()),
        ("cell_id", pa.string()),
        ("field", pa.string()),
        ("value", pa.string()),
        ("reason", pa.string()),
    ]
)


def standardise(
    chains: pa.Table, default_species: str, *, gamma_delta: bool = False
) -> tuple[pa.Table, pa.Table]:
    """
    Standardise chains; list the chains that cannot be standardised.

    Parameters
    ----------
    chains : pyarrow.Table
        `airrvec.core.schema.CHAIN_RECORDS`, as spelled in the input.
    default_species : str
        A key of `airrvec.core.schema.SPECIES`, for chains without a species.
    gamma_delta : bool
        Whether γ and δ chains are read, too.

    Returns
    -------
    standardised : pyarrow.Table
        Valid chains in input order. Further columns: the fields as spelled in the input
        (`airrvec.core.schema.raw`), whether a call is uncertain (`airrvec.core.schema.uncertain`) and
        whether it is an open reading frame (`airrvec.core.schema.open_frame`), and the ``functionality`` of
        the chain.
    failures : pyarrow.Table
        `FAILURES`: every other chain once, with the first rule that it breaks.
    """
    chains = chains.combine_chunks()
    species = map_distinct(chains["species"], lambda raw: _species(raw, default_species))
    v_call, v_problem, v_uncertain, v_frame = _genes(chains["v_call"], species, "V")
    j_call, j_problem, j_uncertain, j_frame = _genes(chains["j_call"], species, "J")
    locus = _loci(chains, v_call, j_call)
    junction, junction_problem = _junctions(chains["junction_aa"], v_call, j_call, locus, species)
    is_read = pc.is_in(locus, pa.array([*schema.LOCI, *(schema.GAMMA_DELTA.loci if gamma_delta else ())]))

    rules = [
        # field, value to show, problem (null if none)
        ("species", chains["species"], _reasons(pc.is_null(species), UNKNOWN_SPECIES)),
        ("locus", locus, _reasons(pc.is_null(locus), NO_LOCUS)),
        ("locus", locus, _reasons(pc.invert(is_read), NO_T_CELL if gamma_delta else OTHER_LOCUS)),
        *(
            (flag, pc.cast(chains[flag], pa.string()), _reasons(pc.invert(chains[flag]), reason))
            for flag, reason in (
                ("is_cell", "the barcode was not called a cell"),
                ("high_confidence", "the contig is of low confidence"),
                ("productive", "the chain is not productive"),
            )
        ),
        ("flaw", chains["flaw"], chains["flaw"]),
        ("junction_aa", chains["junction_aa"], junction_problem),
        ("v_call", chains["v_call"], v_problem),
        (
            "v_call",
            chains["v_call"],
            _reasons(pc.and_not(v_frame, pc.fill_null(chains["productive"], False)), UNPROVEN_FRAME),
        ),
        ("j_call", chains["j_call"], j_problem),
        (
            "v_call",
            v_call,
            _reasons(_is_other_locus(v_call, locus), "v_call is of another locus than the chain"),
        ),
        (
            "j_call",
            j_call,
            _reasons(_is_other_locus(j_call, locus), "j_call is of another locus than the chain"),
        ),
    ]
    good, failed = _first_failures(chains, rules)
    for name in schema.CHAIN_FIELDS:
        chains = chains.append_column(schema.raw(name), chains[name])
    for name, uncertain, frame in (("v_call", v_uncertain, v_frame), ("j_call", j_uncertain, j_frame)):
        chains = chains.append_column(schema.uncertain(name), pc.fill_null(uncertain, False))
        chains = chains.append_column(schema.open_frame(name), pc.fill_null(frame, False))
    chains = chains.append_column("functionality", _functionality(v_call, j_call, chains))
    for name, values in (
        ("species", species),
        ("locus", locus),
        ("v_call", v_call),
        ("j_call", j_call),
        ("junction_aa", junction),
    ):
        chains = chains.set_column(chains.schema.get_field_index(name), name, values)
    return chains.filter(pa.array(good)), failed


def _first_failures(chains: pa.Table, rules: Iterable[tuple]) -> tuple[np.ndarray, pa.Table]:
    """Return whether each chain breaks no rule, shape (n,), and the first rule that each other one breaks."""
    good = np.ones(len(chains), bool)
    parts = []
    for field, value, problem in rules:
        broken = good & contiguous(pc.is_valid(problem)).to_numpy(zero_copy_only=False)
        good &= ~broken
        parts.append(failures(chains, broken, field, value, problem))
    return good, pa.concat_tables(parts)


def failures(chains: pa.Table, broken: np.ndarray, field: str, value, reason) -> pa.Table:
    """Return `FAILURES` of the chains where ``broken`` is True; ``reason`` is one string or a column."""
    mask = pa.array(broken)
    n = int(broken.sum())
    return pa.table(
        {
            "row": chains["row"].filter(mask),
            "cell_id": chains["cell_id"].filter(mask),
            "field": pa.repeat(field, n),
            "value": value.filter(mask),
            "reason": pa.repeat(reason, n) if isinstance(reason, str) else reason.filter(mask),
        },
        schema=FAILURES,
    )


def _reasons(mask, reason: str):
    return pc.if_else(pc.fill_null(mask, False), reason, pa.scalar(None, pa.string()))


def _map_combinations(columns: tuple, function: Callable, types: tuple) -> list[pa.Array]:
    """
    Apply a function of several strings once to each distinct combination; return one array per result.

    All results are null where the first column is null; other nulls are passed as None.
    """
    first, *rest = (contiguous(column) for column in columns)
    is_filled = pc.is_valid(first)
    # Most junctions are complete, and null here.
    keys = pc.binary_join_element_wise(
        first.filter(is_filled), *(pc.fill_null(other.filter(is_filled), "") for other in rest), "\0"
    ).dictionary_encode()
    results = [function(*(value or None for value in key.split("\0"))) for key in keys.dictionary.to_pylist()]
    at = pc.replace_with_mask(pa.nulls(len(first), pa.int32()), is_filled, keys.indices)
    return [
        pa.array([result[part] for result in results], dtype).take(at) for part, dtype in enumerate(types)
    ]


def _species(raw: str | None, default: str) -> str | None:
    return default if raw is None else species_names.species_key(raw)


def _genes(calls, species: pa.Array, segment: str) -> list[pa.Array]:
    """Return the standardised calls, the problem of each failed one, whether it is uncertain, and an ORF."""

    def read(call: str, name: str | None) -> tuple[str | None, str | None, bool, bool]:
        if name is None:
            return None, UNKNOWN_SPECIES, False, False
        read = read_call(call, segment, name)
        is_frame = read.functionality == imgt.OPEN_READING_FRAME
        return read.symbol, read.problem, not read.certain, is_frame

    return _map_combinations((calls, species), read, (pa.string(), pa.string(), pa.bool_(), pa.bool_()))


def _functionality(v_call: pa.Array, j_call: pa.Array, chains: pa.Table) -> pa.Array:
    """Return the functionality of each chain: that of its less functional gene; null if it has none."""
    frame = pc.or_(*(chains[schema.open_frame(name)] for name in ("v_call", "j_call")))
    nothing = pa.scalar(None, pa.string())
    known = pc.if_else(pc.or_(pc.is_valid(v_call), pc.is_valid(j_call)), imgt.FUNCTIONAL, nothing)
    return pc.if_else(frame, imgt.OPEN_READING_FRAME, known)


def _loci(chains: pa.Table, v_call: pa.Array, j_call: pa.Array) -> pa.Array:
    """
    Return each chain's locus, else the first letters of its standardised genes, else of its raw genes.

    A V gene of both α and δ chains, such as TRAV29/DV5, tells neither: J or C gene do, else its raw name.
    """
    stated = pc.utf8_upper(chains["locus"])
    # 10x writes "Multi", VDJdb's export "TRA": only names of loci are accepted.
    stated = pc.if_else(
        pc.match_substring_regex(stated, "^(TR|IG)[A-Z]$"), stated, pa.scalar(None, pa.string())
    )
    raw_v, raw_j, c_call = (chains[name].combine_chunks() for name in ("v_call", "j_call", "c_call"))
    v, j, c, raw_v, raw_j = (
        pc.utf8_upper(pc.utf8_slice_codeunits(call, 0, 3)) for call in (v_call, j_call, c_call, raw_v, raw_j)
    )
    is_delta = pc.and_(pc.match_substring(v_call, _ALSO_DELTA), pc.equal(pc.coalesce(j, c, raw_v), "TRD"))
    v = pc.if_else(pc.fill_null(is_delta, False), "TRD", v)
    raw = chains["locus"].combine_chunks()
    return pc.coalesce(stated.combine_chunks(), v, j, raw_v, raw_j, raw)


def _is_other_locus(call: pa.Array, locus: pa.Array) -> pa.Array:
    """Return whether each gene is of another locus; some V genes are those of α and δ chains."""
    also_delta = pc.and_(pc.match_substring(call, _ALSO_DELTA), pc.equal(locus, "TRD"))
    return pc.and_not(pc.not_equal(pc.utf8_slice_codeunits(call, 0, 3), locus), also_delta)


def _junctions(sequences, *genes: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the junctions and the problem of each invalid one; ``genes``: V, J, locus, species."""
    upper = contiguous(pc.utf8_upper(sequences))
    plain = junctions.is_complete(upper)
    is_gamma_delta = pc.is_in(genes[2], pa.array(schema.GAMMA_DELTA.loci))
    if pc.any(is_gamma_delta).as_py():
        plain = pc.if_else(is_gamma_delta, junctions.is_complete(upper, schema.GAMMA_DELTA.loci), plain)
    incomplete = pc.if_else(plain, pa.scalar(None, pa.string()), upper)
    fixed, problem = _map_combinations(
        (incomplete, *genes), junctions.complete_junction, (pa.string(), pa.string())
    )
    problem = pc.if_else(pc.is_null(upper), "junction_aa is missing", problem)
    return pc.if_else(plain, upper, fixed), problem
