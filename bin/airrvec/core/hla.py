"""
HLA of donors and of epitopes, and whether a donor can present an epitope.

An allele is its locus and up to two fields (Marsh et al. 2010, "Nomenclature for factors of the HLA system",
Tissue Antigens 75). A serotype is the alleles, or groups of alleles, that it stands for. Two alleles are
compared at the resolution of the coarser one: ``A*02`` matches ``A*02:01``, but ``A*02:06`` does not. The
alleles of a G or P group have the same peptide-binding domain; which they are is not known here, so another
allele of the same first field may be one of them.
"""

import re
from collections.abc import Iterable

from airrvec.core import imgt
from airrvec.core.hla_words import LOCI, MOUSE_LOCI, SEPARATORS, HlaError, read_alternatives

__all__ = [
    "ALLOWED",
    "EXCLUDED",
    "UNKNOWN",
    "Alleles",
    "HlaError",
    "allows",
    "is_coarser",
    "is_group",
    "molecule_text",
    "parse_mhc",
    "parse_typing",
    "plain_fields",
    "typing_text",
]

# A locus → its alleles, each one or two fields; no fields for a gene whose alleles are not given. The last
# field of a group ends in G or P: `02:01P`, `02:01:01G`.
Alleles = dict[str, frozenset[tuple[str, ...]]]

ALLOWED, EXCLUDED, UNKNOWN = "allowed", "excluded", "unknown"

_ONE_FOR_ALL = {"DRA"}  # its alleles present alike


def parse_typing(text: str) -> Alleles:
    """
    Return the alleles of a donor by locus.

    A locus that is given is taken as typed in full: one allele is a homozygous donor. Of alternatives
    (``A*02:01/02:06``, or short ``A*02:01/06``), each may be the donor's: one of a single field replaces the
    last field of the one before it.

    An allele with the suffix N, S or C, at any field, is not on the surface and presents nothing: ``A*24N``
    leaves the locus typed and without it. The suffixes L, A and Q are ignored. A code of letters for a second
    field (``A*02:XX``) leaves one field. A G or P group stays one.

    Parameters
    ----------
    text : str
        Alleles separated by ``;``, ``,``, ``+``, ``^`` or blanks: ``A*02:01``, ``HLA-A*02:01:01:01``,
        ``A*0201``, ``A*02``, ``A2``, ``Cw7``, ``DR4``, ``DRB1*04:01``, ``H-2b``, ``H-2Kb``. A number
        without a locus has that of the word before it: ``A*02:01;24:02``.

    Raises
    ------
    HlaError
        If a word is none of these.
    """
    found: dict[str, set] = {}
    locus = None
    for word in filter(None, SEPARATORS.split(re.sub(r"\s*/\s*", "/", text.strip()))):
        for part in read_alternatives(word.split("/"), locus):
            if part is None:
                raise HlaError(word)
            locus, alleles = part
            for name, patterns in alleles.items():
                found.setdefault(name, set()).update(patterns)
    return {name: frozenset(patterns) for name, patterns in found.items()}


def parse_mhc(label: str | None) -> list[Alleles]:
    """
    Return the MHC molecules of a label, each as the alleles of its chains; empty if none is known.

    Parameters
    ----------
    label : str or None
        Chains joined by ``/``, as made by `airrvec.core.antigens.mhc_name`: ``HLA-A*02:01``, ``HLA-A2``,
        ``HLA-DRA*01/HLA-DRB1*04:01``, ``H-2Kb``. Several molecules are separated by ``,``, ``;`` or ``|``.
        α chains of DR, and words that are no allele (``HLA class I``), are left out. Alternatives of one
        chain are written as in a typing.
    """
    molecules = []
    for molecule in re.split(r"[,;|]", label or ""):
        chains: dict[str, set] = {}
        words = [part.split()[:1] for part in molecule.split("/")]  # what follows a blank describes a mutant
        parts = read_alternatives(word for part in words for word in part)
        for part in filter(None, parts):
            for name, patterns in part[1].items():
                chains.setdefault(name, set()).update(patterns)
        chains = {name: patterns for name, patterns in chains.items() if name not in _ONE_FOR_ALL}
        if any(chains.values()):
            molecules.append({name: frozenset(patterns) for name, patterns in chains.items() if patterns})
    return molecules


def allows(donor: Alleles, molecules: Iterable[Alleles]) -> str:
    """
    Return whether a donor can present an epitope: ``allowed``, ``excluded`` or ``unknown``.

    A molecule is excluded if the donor is typed at the locus of one of its chains and has none of its
    alleles, at the resolution of the coarser one; it is unknown if the donor is typed at no locus of its
    chains. An epitope is allowed if any of its molecules is, else unknown if any is, else excluded; without a
    known molecule it is unknown.

    Parameters
    ----------
    donor : dict
        From `parse_typing`.
    molecules : iterable of dict
        From `parse_mhc`.
    """
    found = {_presents(donor, molecule) for molecule in molecules}
    return next((word for word in (ALLOWED, UNKNOWN, EXCLUDED) if word in found), UNKNOWN)


def typing_text(donor: Alleles) -> str:
    """Return a typing as text that `parse_typing` reads: ``A*02:01;B*07``, sorted by locus and allele."""
    words = []
    for locus in sorted(donor, key=lambda name: ([*LOCI, *MOUSE_LOCI].index(name), name)):
        words += [_allele_text(locus, fields) for fields in sorted(donor[locus])] or [f"{locus}*00:00N"]
    return ";".join(words)


def molecule_text(molecule: Alleles) -> str:
    """Return a molecule as text: ``A*02:01``; ``DQA1*05:01/DQB1*02:01``."""
    return "/".join(
        _allele_text(locus, fields) for locus in sorted(molecule) for fields in sorted(molecule[locus])
    )


def is_coarser(molecule: Alleles, other: Alleles) -> bool:
    """Return True if a molecule is another one at lower resolution: ``A*02`` of ``A*02:01``."""
    return (
        molecule != other
        and set(molecule) == set(other)
        and all(
            any(_covers(known, fields) for known in molecule[locus])
            for locus in other
            for fields in other[locus]
        )
    )


def plain_fields(fields: tuple[str, ...]) -> tuple[str, ...]:
    """Return at most two fields, without the letter of a group."""
    return tuple(field.rstrip("GP") for field in fields[:2])


def is_group(fields: tuple[str, ...]) -> bool:
    """Return whether fields name a G or P group."""
    return bool(fields) and fields[-1].endswith(("G", "P"))


def _covers(known: tuple[str, ...], fields: tuple[str, ...]) -> bool:
    """Return whether an allele is another one at lower or equal resolution; a group is no single allele."""
    wide, narrow = plain_fields(known), plain_fields(fields)
    return narrow[: len(wide)] == wide and (len(wide) < len(narrow) or is_group(known) >= is_group(fields))


def _presents(donor: Alleles, molecule: Alleles) -> str:
    typed = [locus for locus in molecule if locus in donor]
    if not typed:
        return UNKNOWN
    found = {_shared(locus, donor[locus], molecule[locus]) for locus in typed}
    return next(word for word in (EXCLUDED, UNKNOWN, ALLOWED) if word in found)


def _shared(locus: str, own: Iterable[tuple[str, ...]], other: Iterable[tuple[str, ...]]) -> str:
    """Return whether a donor has one of the alleles of a chain."""
    found = {_compared(locus, fields, known) for fields in own for known in other}
    return next((word for word in (ALLOWED, UNKNOWN) if word in found), EXCLUDED)


def _compared(locus: str, one: tuple[str, ...], other: tuple[str, ...]) -> str:
    """
    Return whether two alleles may be the same, at the resolution of the coarser one.

    Alleles with the same first field, of which one is a group, may be: which alleles a group has is not
    known. But two alleles that name P groups are in different ones.
    """
    plain = plain_fields(one), plain_fields(other)
    if all(a == b for a, b in zip(*plain, strict=False)):
        return ALLOWED
    if plain[0][0] != plain[1][0] or not (is_group(one) or is_group(other)):
        return EXCLUDED
    named = all(imgt.names_p_group(f"HLA-{locus}*{':'.join(fields)}") for fields in plain)
    return EXCLUDED if named else UNKNOWN


def _allele_text(locus: str, fields: tuple[str, ...]) -> str:
    if locus in MOUSE_LOCI:
        return locus + "".join(fields)
    return f"{locus}*{':'.join(fields)}" if fields else locus
