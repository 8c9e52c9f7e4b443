"""
V and J gene calls as an input spells them → one functional IMGT gene or allele.

tidytcells standardises the names. This module parses the rest: lists, scores, functionality, families.
"""

import re
from dataclasses import dataclass
from functools import cache

import tidytcells

NOT_FUNCTIONAL = "is not functional according to IMGT"

_BETWEEN_CALLS = re.compile(r"\s*[,;|+]\s*|\s*\bor\b\s*|\s+(?=TC?R[ABGD])", re.IGNORECASE)
# Text around a name: the organism before it; functionality, MiXCR's score and its `*00` (no allele) after it.
_DECORATION = re.compile(
    r"^(homsap|homo sapiens|human|musmus|mus musculus|mouse)(\s+|$)"
    r"|\s+[(\[]?(F|ORF|P)[)\]]?$|\([0-9.]+\)$|\*00\b",
    re.IGNORECASE,
)
_COLON_ALLELE = re.compile(r":(\d\d)$")  # McPAS-TCR writes TRBV20-1:02
# Limits of a name for tidytcells, which reads parentheses as regular expressions and tries 2ⁿ spellings
# of n numbers.
_LONGEST, _MOST_NUMBERS = 40, 8  # IMGT symbols and synonyms have at most 19 characters and 5 numbers
_LONGEST_CALL = 5_000  # all genes of a locus take less; searching millions of blanks would take years
_FAMILY = re.compile(r"(TC?R)?[ABGD]?[VJ]\d+(\*\d+)?", re.IGNORECASE)


@dataclass(frozen=True)
class Call:
    """
    Result of reading a gene call.

    Attributes
    ----------
    symbol : str or None
        Functional gene or allele in IMGT spelling.
    certain : bool
        False if the call is ambiguous: several genes, a family of several genes, or an allele
        that IMGT does not list (its gene is used instead).
    problem : str or None
        Reason why there is no symbol.
    """

    symbol: str | None
    certain: bool = True
    problem: str | None = None


@cache
def read_call(call: str, segment: str, species: str) -> Call:
    """
    Read a gene call; return the first functional gene if the call lists several.

    Parameters
    ----------
    call : str
        Call as the input spells it, e.g. ``TRBV12-3*00(850),TRBV12-4*00(850)``.
    segment : {"V", "J"}
    species : str
        A key of `airrvec.core.schema.SPECIES`.
    """
    calls = [_read_name(name, segment, species) for name in _names(call, species)]
    if not calls:
        return Call(None, problem=f"{segment.lower()}_call is not a {segment} gene listed by IMGT")
    chosen = next((candidate for candidate in calls if candidate.symbol), calls[0])
    return Call(chosen.symbol, chosen.certain and len(calls) == 1, chosen.problem)


@cache
def first_imgt_gene(call: str, segment: str, species: str) -> str | None:
    """Return the first IMGT gene of a call, functional or not, without its allele; see `read_call`."""
    genes = (_imgt_symbol(name.split("*")[0], species) for name in _names(call, species))
    return next((gene for gene in genes if gene and _has_segment(gene, segment)), None)


def _has_segment(gene: str, segment: str) -> bool:
    return gene[3] == segment or f"/D{segment}" in gene


def _names(call: str, species: str) -> list[str]:
    """Return the distinct names in a call, in order; none if the text is too long to be a call."""
    if len(call) > _LONGEST_CALL:
        return []
    names = []
    for part in _BETWEEN_CALLS.split(call):
        name = part.strip()
        while (bare := _DECORATION.sub("", name).strip()) != name:
            name = bare
        name = _COLON_ALLELE.sub(r"*\1", name)
        names += _alternatives(name, species) if "/" in name else [name]
    return list(dict.fromkeys(filter(None, names)))


def _alternatives(name: str, species: str) -> list[str]:
    """Split ``TRBV6-2/6-3*01`` into ``TRBV6-2*01`` and ``TRBV6-3*01``; ``TRAV14/DV4`` is one gene."""
    if _imgt_symbol(name.split("*")[0], species):
        return [name]
    genes, star, allele = name.partition("*")
    first, *others = genes.split("/")
    letters = re.match(r"\D*", first).group()
    full_names = [first, *(letters + other if other[:1].isdigit() else other for other in others)]
    return [gene + star + allele for gene in full_names if gene]


def _imgt_symbol(name: str, species: str, *, functional: bool = False) -> str | None:
    if len(name) > _LONGEST or "(" in name or ")" in name or len(re.findall(r"\d+", name)) > _MOST_NUMBERS:
        return None
    return tidytcells.tr.standardize(name, species=species, enforce_functional=functional, log_failures=False)


def _read_name(name: str, segment: str, species: str) -> Call:
    field = f"{segment.lower()}_call"
    gene, allele_is_listed = _imgt_symbol(name, species), True
    if gene is None and "*" in name:
        name, allele_is_listed = name.split("*")[0], False
        gene = _imgt_symbol(name, species)
    if gene is None:
        return Call(None, problem=f"{field} is not a {segment} gene listed by IMGT")
    if not _has_segment(gene, segment):
        return Call(None, problem=f"{field} is not a {segment} gene")
    family = _functional_family(gene, species) if _FAMILY.fullmatch(name) else ()
    symbol = family[0] if len(family) > 1 else _imgt_symbol(name, species, functional=True)
    if symbol is None:
        return Call(None, problem=f"{field} {NOT_FUNCTIONAL}")
    return Call(symbol, allele_is_listed and len(family) < 2)


def _functional_family(gene: str, species: str) -> tuple[str, ...]:
    """Return the functional genes of the family of a gene such as ``TRBV6-1``, by number; else ()."""
    family, dash, _ = gene.split("*")[0].partition("-")
    if not dash:
        return ()
    members = tidytcells.tr.query(
        species=species, precision="gene", functionality="F", contains_pattern=f"^{family}-"
    )
    return tuple(sorted(members, key=lambda name: [int(number) for number in re.findall(r"\d+", name)]))
