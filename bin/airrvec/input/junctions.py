"""
Junctions: CDR3s with their conserved ends, from sequences given with or without these ends.

A sequence from C to F or W is a junction. In any other sequence, the germline residues of the V and J
genes locate the ends.
"""

from functools import cache

from airrvec.core import schema
from airrvec.input.germline import j_anchors, v_anchors

import pyarrow as pa
import pyarrow.compute as pc

# The longest CDR3 in the IMGT references and in VDJdb has fewer than 40 residues.
MAX_LENGTH = 60

# Of 114,070 complete junctions in real files, 12 are shorter (docs/explanations/standardisation.md). A
# sequence that lacks an end and is shorter even with it is more likely a fragment of a CDR3, whose missing
# residues are unknown.
MIN_COMPLETED = 7

_PLAIN = "^C[ACDEFGHIKLMNPQRSTVWY]{0,%d}[FW]$" % (MAX_LENGTH - 2)  # noqa: UP031
_AMINO_ACIDS = set("ACDEFGHIKLMNPQRSTVWY")
# Minimum number of residues that must match the germline, with (True) and without (False) a given gene.
_MIN_MATCHES = {True: 2, False: 3}
_MIN_MATCHES_WITHOUT_END = {True: 1, False: 3}


def is_complete(sequences: pa.Array, loci: tuple[str, ...] = schema.LOCI) -> pa.Array:
    """
    Return True for each sequence that is a complete junction: from C to F or W, and not one residue short.

    A sequence that ends in ``NTEAF`` of TRBJ1-1 is one residue short: the conserved residue is the F
    after it. ``loci``: of the chains.
    """
    one_short = f"({'|'.join(_ends_one_short(loci))})$"
    return pc.fill_null(
        pc.and_not(
            pc.match_substring_regex(sequences, _PLAIN), pc.match_substring_regex(sequences, one_short)
        ),
        False,
    )


@cache
def _ends_one_short(loci: tuple[str, ...]) -> list[str]:
    """Return the germline triplets that end in F or W and directly precede the conserved J residue."""
    anchors = (
        anchor for species in schema.SPECIES for locus in loci for anchor in j_anchors(None, locus, species)
    )
    return sorted({anchor.before[-3:] for anchor in anchors if anchor.before[-1] in "FW"})


@cache
def complete_junction(
    sequence: str, v_call: str | None, j_call: str | None, locus: str, species: str
) -> tuple[str | None, str | None]:
    """
    Return a sequence as a junction, or the problem with it.

    Parameters
    ----------
    sequence : str
        Amino acids in upper case.
    v_call, j_call : str or None
        Standardised calls.
    locus : {"TRA", "TRB", "TRG", "TRD"}
    species : str
        tidytcells name of the species.

    Returns
    -------
    junction, problem : str or None
        Exactly one of them is None.

    Examples
    --------
    >>> complete_junction("ASSIRSSYEQY", "TRBV19*01", "TRBJ2-7*01", "TRB", "homosapiens")
    ('CASSIRSSYEQYF', None)
    """
    problem = _problem(sequence)
    if problem:
        return None, problem
    # The given gene may be wrong, so all genes of the locus are tried next.
    known_start = _from_c(sequence, v_call, locus, species) or _from_c(sequence, None, locus, species)
    if known_start is None and _start_is_replaced(sequence, v_call, locus, species):
        return None, "junction_aa has another residue in place of its C"
    with_start = known_start or "C" + sequence
    calls = (j_call, None) if j_call else (None,)
    ends = (_with_end(with_start, call, locus, species, lacks_start=known_start is None) for call in calls)
    whole = next(filter(None, ends), None)
    if whole is None and known_start:
        return None, "junction_aa starts with C but does not end as a junction does"
    whole = whole or with_start + _residue(j_call, locus, species)
    is_completed = known_start is None or len(whole) > len(with_start)
    if is_completed and len(whole) < MIN_COMPLETED:
        return None, "junction_aa lacks a conserved end and is too short to be a CDR3"
    return whole, None


def _problem(sequence: str) -> str | None:
    if "*" in sequence:
        return "junction_aa holds a stop codon (*)"
    if any(sign in sequence for sign in "_~#"):
        return "junction_aa is out of frame (_)"
    if len(sequence) > MAX_LENGTH:
        return f"junction_aa has more than {MAX_LENGTH} residues"
    if not set(sequence) <= _AMINO_ACIDS:
        return "junction_aa holds a letter that is no amino acid"
    return None


def _from_c(sequence: str, v_call: str | None, locus: str, species: str) -> str | None:
    """Return the sequence from its conserved C, first or after the end of framework 3; else None."""
    if sequence.startswith("C"):
        return sequence
    least = 1 if v_call else 2
    for anchor in v_anchors(v_call, locus, species):
        for n in range(least, len(anchor.before) + 1):
            if sequence.startswith(anchor.before[-n:] + anchor.residue):
                return sequence[n:]
    return None


def _start_is_replaced(sequence: str, v_call: str | None, locus: str, species: str) -> bool:
    """Return True if the germline after the C matches from the second residue on, not from the first."""
    # Reversed, because `_n_matches` compares from the right.
    mirrored = [anchor.after[::-1] for anchor in v_anchors(v_call, locus, species)]
    replaced = max((_n_matches(sequence[:0:-1], after) for after in mirrored), default=0)
    missing = max((_n_matches(sequence[::-1], after) for after in mirrored), default=0)
    return replaced >= _MIN_MATCHES[v_call is not None] and replaced > missing


def _with_end(
    sequence: str, j_call: str | None, locus: str, species: str, *, lacks_start: bool
) -> str | None:
    """Return the sequence up to the conserved residue of the best matching J gene; None if none matches."""
    least = _MIN_MATCHES[j_call is not None]
    least_without_end = _MIN_MATCHES_WITHOUT_END[j_call is not None]
    kept, missing = (0, None), (0, None)
    if not lacks_start and sequence[-1] in "FW":
        # The junction ends here, unless three germline residues show that the next residue is its end.
        kept, least_without_end = (1, sequence), 3
    for anchor in j_anchors(j_call, locus, species):
        whole = anchor.before + anchor.residue
        beyond = [
            sequence[:-n]
            for n in range(1, min(len(anchor.after), len(sequence) - 1) + 1)
            if sequence.endswith(anchor.residue + anchor.after[:n])
        ]
        for ending in (sequence, *beyond):
            n_matches = _n_matches(ending, whole)
            if n_matches >= least and n_matches > kept[0]:
                kept = n_matches, ending
        n_matches, replaced = (_n_matches(ending, anchor.before) for ending in (sequence, sequence[:-1]))
        if n_matches >= max(least_without_end, replaced) and n_matches > missing[0]:
            missing = n_matches, sequence + anchor.residue
    # A sequence that lacks its start most likely lacks its end too.
    return missing[1] if missing[0] + lacks_start > kept[0] else kept[1]


def _n_matches(sequence: str, end: str) -> int:
    """Return the number of equal residues, counted from the right end."""
    n = 0
    while n < min(len(sequence), len(end)) and sequence[-1 - n] == end[-1 - n]:
        n += 1
    return n


def _residue(j_call: str | None, locus: str, species: str) -> str:
    """Return the conserved residue of a J gene; F if it is unknown or ambiguous."""
    residues = {anchor.residue for anchor in j_anchors(j_call, locus, species)} if j_call else set()
    return residues.pop() if len(residues) == 1 else "F"
