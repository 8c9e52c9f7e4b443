"""
The CDR3 with its conserved ends (the junction), whether an input gives it with them or without.

A sequence from C to F or W is a junction. For any other the genes say where its ends are, as the
residues around the conserved ones are the germline's.
"""

from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from airrvec.core import schema
from airrvec.input.germline import j_anchors, v_anchors

# The longest CDR3 in the IMGT references and in VDJdb has below 40 residues.
MAX_LENGTH = 60

# Of 113,794 junctions that real files give whole, 12 are shorter (docs/input.md). What lacks an end and
# would still be shorter with it is more likely a part of a CDR3: its missing residues are not known.
MIN_COMPLETED = 7

_PLAIN = "^C[ACDEFGHIKLMNPQRSTVWY]{0,%d}[FW]$" % (MAX_LENGTH - 2)  # noqa: UP031
_AMINO_ACIDS = set("ACDEFGHIKLMNPQRSTVWY")
# Residues that have to agree with the germline where the J gene is named, and where it is not.
_AGREEING = {True: 2, False: 3}
_AGREEING_WITHOUT_END = {True: 1, False: 3}


def is_plain(sequences: pa.Array) -> pa.Array:
    """
    Whether sequences are junctions as they are: from C to F or W, with nothing that speaks against it.

    What may speak against it is an end as in ``NTEAF`` for TRBJ1-1, whose conserved residue is the F
    behind that.
    """
    doubtful = f"({'|'.join(_ends_before_the_end())})$"
    return pc.fill_null(
        pc.and_not(
            pc.match_substring_regex(sequences, _PLAIN), pc.match_substring_regex(sequences, doubtful)
        ),
        False,
    )


@cache
def _ends_before_the_end() -> list[str]:
    """Three residues to F or W that are followed by a J gene's conserved one."""
    anchors = (
        anchor
        for species in schema.SPECIES
        for locus in schema.LOCI
        for anchor in j_anchors(None, locus, species)
    )
    return sorted({anchor.before[-3:] for anchor in anchors if anchor.before[-1] in "FW"})


@cache
def junction(
    sequence: str, v_call: str | None, j_call: str | None, locus: str, species: str
) -> tuple[str | None, str | None]:
    """
    A sequence as a junction, or what is wrong with it.

    Parameters
    ----------
    sequence : str
        In upper case.
    v_call, j_call : str or None
        Standardised.
    locus : {"TRA", "TRB"}
    species : str
        tidytcells' name of the species.

    Returns
    -------
    junction, problem : str or None
        One of them is None.
    """
    problem = _problem(sequence)
    if problem:
        return None, problem
    # A gene that is named may be wrong, but not all of its locus.
    started = _from_start(sequence, v_call, locus, species) or _from_start(sequence, None, locus, species)
    if started is None and _start_is_replaced(sequence, v_call, locus, species):
        return None, "junction_aa has another residue in place of its C"
    from_start = started or "C" + sequence
    calls = (j_call, None) if j_call else (None,)
    ends = (_to_end(from_start, call, locus, species, lacks_start=started is None) for call in calls)
    ended = next(filter(None, ends), None)
    if ended is None and started:
        return None, "junction_aa starts with C but does not end as a junction does"
    ended = ended or from_start + _residue(j_call, locus, species)
    completed = started is None or len(ended) > len(from_start)
    if completed and len(ended) < MIN_COMPLETED:
        return None, "junction_aa lacks a conserved end and is too short to be a CDR3"
    return ended, None


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


def _from_start(sequence: str, v_call: str | None, locus: str, species: str) -> str | None:
    """From the conserved C on, which comes first or behind the last residues of framework 3; else None."""
    if sequence.startswith("C"):
        return sequence
    least = 1 if v_call else 2
    for anchor in v_anchors(v_call, locus, species):
        for n in range(least, len(anchor.before) + 1):
            if sequence.startswith(anchor.before[-n:] + anchor.residue):
                return sequence[n:]
    return None


def _start_is_replaced(sequence: str, v_call: str | None, locus: str, species: str) -> bool:
    """Whether the germline's residues behind the C begin with the second residue, not with the first."""
    # The V gene's residues are compared from the left.
    mirrored = [anchor.after[::-1] for anchor in v_anchors(v_call, locus, species)]
    replaced = max((_agreeing(sequence[:0:-1], after) for after in mirrored), default=0)
    missing = max((_agreeing(sequence[::-1], after) for after in mirrored), default=0)
    return replaced >= _AGREEING[v_call is not None] and replaced > missing


def _to_end(sequence: str, j_call: str | None, locus: str, species: str, *, lacks_start: bool) -> str | None:
    """Up to the conserved residue of the J gene with which the sequence agrees best; None if with none."""
    least, least_without_end = _AGREEING[j_call is not None], _AGREEING_WITHOUT_END[j_call is not None]
    kept, missing = (0, None), (0, None)
    if not lacks_start and sequence[-1] in "FW":
        # It ends there, unless three residues speak for an end behind.
        kept, least_without_end = (1, sequence), 3
    for anchor in j_anchors(j_call, locus, species):
        whole = anchor.before + anchor.residue
        beyond = [
            sequence[:-n]
            for n in range(1, min(len(anchor.after), len(sequence) - 1) + 1)
            if sequence.endswith(anchor.residue + anchor.after[:n])
        ]
        for ending in (sequence, *beyond):
            agreeing = _agreeing(ending, whole)
            if agreeing >= least and agreeing > kept[0]:
                kept = agreeing, ending
        agreeing, replaced = (_agreeing(ending, anchor.before) for ending in (sequence, sequence[:-1]))
        if agreeing >= max(least_without_end, replaced) and agreeing > missing[0]:
            missing = agreeing, sequence + anchor.residue
    # A sequence that lacks its start most likely lacks its end.
    return missing[1] if missing[0] + lacks_start > kept[0] else kept[1]


def _agreeing(sequence: str, end: str) -> int:
    """How many of the last residues are equal."""
    n = 0
    while n < min(len(sequence), len(end)) and sequence[-1 - n] == end[-1 - n]:
        n += 1
    return n


def _residue(j_call: str | None, locus: str, species: str) -> str:
    """The conserved residue of a J gene; F where it is not known or open."""
    residues = {anchor.residue for anchor in j_anchors(j_call, locus, species)} if j_call else set()
    return residues.pop() if len(residues) == 1 else "F"
