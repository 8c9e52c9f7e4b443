"""Amino acids encoded by V and J genes, from the IMGT sequences in tidytcells."""

import re
from dataclasses import dataclass
from functools import cache

from airrvec.core import imgt

# V genes of δ chains: some are those of α chains as well, such as TRAV29/DV5.
_V_OF_DELTA = "^TRDV|/DV"


@cache
def v_loops(v_call: str, species: str) -> tuple[str, str]:
    """
    Return the amino acids of CDR1 and CDR2 of a V gene or allele.

    A gene without an allele is read as its first functional allele, as in the reference
    implementation of SCEPTR; a gene without a functional allele, as its first open reading frame.

    Parameters
    ----------
    v_call : str
        Standardised IMGT symbol such as ``TRBV19`` or ``TRBV19*01``.
    species : str
        tidytcells name of the species, e.g. ``homosapiens``.

    Returns
    -------
    tuple of str
        CDR1 and CDR2; empty if IMGT does not list the loop for the allele.

    Raises
    ------
    ValueError
        If the symbol is unknown or all of its alleles are pseudogenes.

    Examples
    --------
    >>> v_loops("TRBV19", "homosapiens")
    ('LNHDA', 'SQIVND')
    """
    alleles = [v_call] if "*" in v_call else _expressible(v_call, species)
    loops = imgt.regions(alleles[0], species) if alleles else {}
    if not loops:
        raise ValueError(f"{v_call} has no allele in {species} that is functional or an open reading frame")
    return loops.get("CDR1-IMGT", ""), loops.get("CDR2-IMGT", "")


@dataclass(frozen=True)
class Anchor:
    """Conserved end residue of a junction, with the germline around it: ``SYNEQF`` ``F`` ``GPGTRLTVL``."""

    before: str
    residue: str
    after: str


@cache
def v_anchors(v_call: str | None, locus: str, species: str) -> tuple[Anchor, ...]:
    """
    Return the distinct junction starts of a V gene: the C at IMGT position 104.

    Parameters
    ----------
    v_call : str or None
        Standardised gene or allele; all alleles of the gene are used, functional or not. If None, all
        functional alleles of the locus.
    locus : {"TRA", "TRB", "TRG", "TRD"}
    species : str
        tidytcells name of the species.
    """
    pattern = _V_OF_DELTA if locus == "TRD" else f"^{locus}V"
    anchors = (_v_anchor(allele, species) for allele in _alleles_of(v_call, pattern, species))
    return tuple(dict.fromkeys(anchor for anchor in anchors if anchor))


@cache
def j_anchors(j_call: str | None, locus: str, species: str) -> tuple[Anchor, ...]:
    """
    Return the distinct junction ends of a J gene: the F, W or C at IMGT position 118.

    Parameters as in `v_anchors`. All alleles are used, because gene callers often guess the allele:
    TRBJ2-7*02, an open reading frame that ends a junction in V, is reported as TRBJ2-7*01.
    """
    anchors = (_j_anchor(allele, species) for allele in _alleles_of(j_call, f"^{locus}J", species))
    return tuple(dict.fromkeys(anchor for anchor in anchors if anchor))


def chain_sequence(v_call: str, j_call: str, junction: str, species: str) -> str:
    """
    Return the variable domain of a chain: V region before the junction, junction, J region after it.

    The leader and the constant region are excluded because tidytcells has neither. The paper includes
    them, from Stitchr (appendix, "ESM2").

    Parameters
    ----------
    v_call, j_call : str
        Standardised genes or alleles. A gene, or an allele without a known sequence, is read as the
        first functional allele of the gene, or its first open reading frame if it has none.
    junction : str
        Amino acids of the junction, with the conserved C and F or W.
    species : str
        tidytcells name of the species.

    Raises
    ------
    ValueError
        If no sequence of a gene is known.
    """
    return _v_before_junction(v_call, species) + junction + _j_after_junction(j_call, species)


@cache
def _v_before_junction(v_call: str, species: str) -> str:
    for allele in _own_or_expressible(v_call, species):
        regions = imgt.regions(allele, species)
        start, framework, _ = regions.get("V-REGION", "").rpartition(regions.get("FR3-IMGT", " "))
        if framework.endswith("C"):
            return start + framework[:-1]
    raise ValueError(f"no sequence of {v_call} is known in {species}")


@cache
def _j_after_junction(j_call: str, species: str) -> str:
    for allele in _own_or_expressible(j_call, species):
        anchor = _j_anchor(allele, species)
        if anchor:
            return anchor.after
    raise ValueError(f"no sequence of {j_call} is known in {species}")


def _own_or_expressible(call: str, species: str) -> list[str]:
    return [call] * ("*" in call) + _expressible(call, species)


def _expressible(call: str, species: str) -> list[str]:
    """Return the alleles of a gene that are no pseudogenes, functional ones first."""
    kinds = (imgt.FUNCTIONAL, imgt.OPEN_READING_FRAME)
    return [allele for kind in kinds for allele in imgt.alleles(_gene_pattern(call), species, kind)]


def _gene_pattern(call: str) -> str:
    """Return a regular expression for the alleles of the gene of a call."""
    return f"^{re.escape(call.split('*')[0])}\\*"


def _v_anchor(allele: str, species: str) -> Anchor | None:
    regions = imgt.regions(allele, species)
    framework = regions.get("FR3-IMGT", "")
    if not framework.endswith("C"):
        return None
    return Anchor(framework[-4:-1], "C", regions["V-REGION"].rpartition(framework)[2])


def _j_anchor(allele: str, species: str) -> Anchor | None:
    region = imgt.regions(allele, species).get("J-REGION", "")
    motifs = list(re.finditer(r".(?=[GA].G)", region))
    if not motifs:
        return None
    at = motifs[-1].start()
    return Anchor(region[:at], region[at], region[at + 1 :])


def _alleles_of(call: str | None, pattern: str, species: str) -> tuple[str, ...]:
    if call is None:
        return imgt.alleles(pattern, species, imgt.FUNCTIONAL)
    return imgt.alleles(_gene_pattern(call), species)
