"""CDR1 and CDR2 of a V gene, from the IMGT sequences that tidytcells carries."""

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
    allele = v_call if "*" in v_call else _first_functional_allele(v_call, species)
    loops = tidytcells.tr.get_aa_sequence(allele, species=species)
    return loops.get("CDR1-IMGT", ""), loops.get("CDR2-IMGT", "")


def _first_functional_allele(gene: str, species: str) -> str:
    candidates = tidytcells.tr.query(
        species=species, contains_pattern=gene, precision="allele", functionality="F"
    )
    alleles = sorted(symbol for symbol in candidates if symbol.split("*")[0] == gene)
    if not alleles:
        raise ValueError(f"{gene} has no functional allele in {species}")
    return alleles[0]
