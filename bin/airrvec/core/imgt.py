"""
Names and sequences of IMGT and IPD, from tidytcells: the only module that calls it.

tidytcells fails at some words, with an error of any type: ``HLA-A:01`` is a ``ValueError`` of ``int("")``.
Here such a word is a name that IMGT does not list, as any other text. The callers count those: a gene becomes
a reject, an MHC is counted in ``sources`` of the merged reference, an HLA allele of a donor is an error.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import tidytcells

# Functionality of a gene or allele. An open reading frame has a defect in its signals for splicing or
# recombination or in a conserved residue, and may be expressed all the same; a pseudogene cannot.
FUNCTIONAL, OPEN_READING_FRAME, PSEUDOGENE = "F", "ORF", "P"


def tr_symbol(name: str, species: str) -> str | None:
    """Return a TR gene or allele in IMGT's spelling, functional or not; None if IMGT lists none."""
    return _guarded(tidytcells.tr.standardize, name, species=species, log_failures=False)


def mh_symbol(name: str) -> str | None:
    """Return a human MHC gene or allele in IPD's spelling; None if tidytcells lists none."""
    return _guarded(tidytcells.mh.standardize, name, species="homosapiens", log_failures=False)


@cache
def functionality(symbol: str, species: str) -> str | None:
    """
    Return the functionality of an allele, or the best of a gene's alleles; None if IMGT does not list it.

    Parameters
    ----------
    symbol : str
        As returned by `tr_symbol`.
    species : str
        tidytcells name of the species.

    Examples
    --------
    >>> functionality("TRBV19", "homosapiens"), functionality("TRBV1", "homosapiens")
    ('F', 'P')
    """
    return _functionalities(species).get(symbol)


@cache
def alleles(pattern: str, species: str, kind: str = "any") -> tuple[str, ...]:
    """Return the TR alleles that match a regular expression, sorted; ``kind``: their functionality."""
    return _listed(pattern, species, "allele", kind)


@cache
def functional_genes(pattern: str, species: str) -> tuple[str, ...]:
    """Return the functional TR genes that match a regular expression, sorted."""
    return _listed(pattern, species, "gene", FUNCTIONAL)


def regions(allele: str, species: str) -> dict[str, str]:
    """Return the amino acids of an allele by IMGT region; empty if IMGT has none, as for some pseudogenes."""
    return _guarded(tidytcells.tr.get_aa_sequence, allele, species=species) or {}


@cache
def names_p_group(allele: str) -> bool:
    """Return whether an HLA allele of two fields, such as ``HLA-A*02:01``, is the name of a P group."""
    return mh_symbol(f"{allele}P") == f"{allele}P"


def _guarded(function: Callable, word: str, **options) -> Any:
    """Return what a function of tidytcells returns for a word of the input, or None where it fails."""
    try:
        return function(word, **options)
    except Exception:  # of any type; the word is none that the function knows
        return None


def _listed(pattern: str, species: str, precision: str, kind: str) -> tuple[str, ...]:
    return tuple(
        sorted(
            tidytcells.tr.query(
                species=species, precision=precision, functionality=kind, contains_pattern=pattern
            )
        )
    )


@cache
def _functionalities(species: str) -> dict[str, str]:
    """Return the functionality of every TR allele and gene of a species."""
    kinds = {}
    for kind in (PSEUDOGENE, OPEN_READING_FRAME, FUNCTIONAL):  # the best of a gene's alleles comes last
        for allele in _listed("", species, "allele", kind):
            kinds[allele] = kinds[allele.split("*")[0]] = kind
    return kinds
