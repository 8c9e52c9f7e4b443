"""What V and J genes encode, from the IMGT sequences that tidytcells carries."""

import re
from dataclasses import dataclass
from functools import cache

import tidytcells


@cache
def v_loops(v_call: str, species: str) -> tuple[str, str]:
    """
    Amino acids of CDR1 and CDR2 of a V gene or allele.

    A gene without an allele stands for its first functional allele, as in the reference
    implementation of SCEPTR.

    Parameters
    ----------
    v_call : str
        Standardised IMGT symbol such as ``TRBV19`` or ``TRBV19*01``.
    species : str
        tidytcells' name of the species, e.g. ``homosapiens``.

    Returns
    -------
    tuple of str
        CDR1 and CDR2; a loop that IMGT does not list for the allele is empty.

    Raises
    ------
    ValueError
        If the symbol is unknown, or has no functional allele.
    """
    alleles = [v_call] if "*" in v_call else _alleles(f"^{re.escape(v_call)}\\*", species, "F")
    if not alleles:
        raise ValueError(f"{v_call} has no functional allele in {species}")
    loops = tidytcells.tr.get_aa_sequence(alleles[0], species=species)
    return loops.get("CDR1-IMGT", ""), loops.get("CDR2-IMGT", "")


@dataclass(frozen=True)
class Anchor:
    """A conserved residue that ends junctions, and the germline around it: ``SYNEQF`` ``F`` ``GPGTRLTVL``."""

    before: str
    residue: str
    after: str


@cache
def v_anchors(v_call: str | None, locus: str, species: str) -> tuple[Anchor, ...]:
    """
    The distinct starts that a junction can have by its V gene: the C of IMGT position 104.

    Parameters
    ----------
    v_call : str or None
        Standardised gene or allele, whose alleles are all looked at, functional or not; all functional
        alleles of the locus if None.
    locus : {"TRA", "TRB"}
    species : str
        tidytcells' name of the species.
    """
    anchors = (_v_anchor(allele, species) for allele in _alleles_of(v_call, f"{locus}V", species))
    return tuple(dict.fromkeys(anchor for anchor in anchors if anchor))


@cache
def j_anchors(j_call: str | None, locus: str, species: str) -> tuple[Anchor, ...]:
    """
    The distinct ends that a junction can have by its J gene: the F, W or C of IMGT position 118.

    Parameters as of `v_anchors`. Alleles are often guessed by those who call genes: TRBJ2-7*02, an
    open reading frame that ends a junction in V, goes as TRBJ2-7*01.
    """
    anchors = (_j_anchor(allele, species) for allele in _alleles_of(j_call, f"{locus}J", species))
    return tuple(dict.fromkeys(anchor for anchor in anchors if anchor))


def chain_sequence(v_call: str, j_call: str, junction: str, species: str) -> str:
    """
    Amino acids of a chain's variable domain: V region up to its conserved C, junction, J region after it.

    The leader and the constant region are left out: tidytcells has neither. The paper has them, from
    Stitchr (appendix, "ESM2").

    Parameters
    ----------
    v_call, j_call : str
        Standardised genes or alleles. A gene, and an allele whose sequence is not known, stands for the
        first functional allele of the gene.
    junction : str
        With its conserved C and F or W.
    species : str
        tidytcells' name of the species.

    Raises
    ------
    ValueError
        If nothing is known of what a gene encodes.
    """
    return _v_before_junction(v_call, species) + junction + _j_after_junction(j_call, species)


@cache
def _v_before_junction(v_call: str, species: str) -> str:
    for allele in _own_or_functional(v_call, species):
        regions = _regions(allele, species)
        start, framework, _ = regions.get("V-REGION", "").rpartition(regions.get("FR3-IMGT", " "))
        if framework.endswith("C"):
            return start + framework[:-1]
    raise ValueError(f"no sequence of {v_call} is known in {species}")


@cache
def _j_after_junction(j_call: str, species: str) -> str:
    for allele in _own_or_functional(j_call, species):
        anchor = _j_anchor(allele, species)
        if anchor:
            return anchor.after
    raise ValueError(f"no sequence of {j_call} is known in {species}")


def _own_or_functional(call: str, species: str) -> list[str]:
    return [call] * ("*" in call) + _alleles(f"^{re.escape(call.split('*')[0])}\\*", species, "F")


def _v_anchor(allele: str, species: str) -> Anchor | None:
    regions = _regions(allele, species)
    framework = regions.get("FR3-IMGT", "")
    if not framework.endswith("C"):
        return None
    return Anchor(framework[-4:-1], "C", regions["V-REGION"].rpartition(framework)[2])


def _j_anchor(allele: str, species: str) -> Anchor | None:
    region = _regions(allele, species).get("J-REGION", "")
    motifs = list(re.finditer(r".(?=[GA].G)", region))
    if not motifs:
        return None
    at = motifs[-1].start()
    return Anchor(region[:at], region[at], region[at + 1 :])


def _regions(allele: str, species: str) -> dict[str, str]:
    """Amino acids of an allele by IMGT region; empty where IMGT has none, as for some pseudogenes."""
    try:
        return tidytcells.tr.get_aa_sequence(allele, species=species)
    except ValueError:
        return {}


def _alleles_of(call: str | None, prefix: str, species: str) -> list[str]:
    if call is None:
        return _alleles(f"^{re.escape(prefix)}", species, "F")
    return _alleles(f"^{re.escape(call.split('*')[0])}\\*", species, "any")


def _alleles(pattern: str, species: str, functionality: str) -> list[str]:
    return sorted(
        tidytcells.tr.query(
            species=species, precision="allele", functionality=functionality, contains_pattern=pattern
        )
    )
