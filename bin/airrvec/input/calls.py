"""
What an input calls a V or J gene → one functional IMGT gene or allele.

tidytcells knows the names; the grammar around them is here: lists, scores, functionality, families.
"""

import re
from dataclasses import dataclass
from functools import cache

import tidytcells

NOT_FUNCTIONAL = "is not functional according to IMGT"

_BETWEEN_CALLS = re.compile(r"\s*[,;|+]\s*|\s*\bor\b\s*|\s+(?=TC?R[ABGD])", re.IGNORECASE)
# The organism before a name, and after it the functionality, MiXCR's score and its `*00` for no allele.
_DECORATION = re.compile(
    r"^(homsap|homo sapiens|human|musmus|mus musculus|mouse)(\s+|$)"
    r"|\s+[(\[]?(F|ORF|P)[)\]]?$|\([0-9.]+\)$|\*00\b",
    re.IGNORECASE,
)
_COLON_ALLELE = re.compile(r":(\d\d)$")  # McPAS-TCR writes TRBV20-1:02
# What tidytcells is asked: it reads parentheses as a regular expression, and tries 2ⁿ spellings of n numbers.
_LONGEST, _MOST_NUMBERS = 40, 8  # of IMGT's symbols, and their synonyms: 19 characters, 5 numbers
_LONGEST_CALL = 5_000  # all genes of a locus take less; a blank of millions would be searched for years
_FAMILY = re.compile(r"(TC?R)?[ABGD]?[VJ]\d+(\*\d+)?", re.IGNORECASE)


@dataclass(frozen=True)
class Call:
    """
    What a call was read as.

    Attributes
    ----------
    symbol : str or None
        A functional gene or allele in IMGT's spelling.
    certain : bool
        False where the input leaves it open: several genes, a family of several genes, or an allele
        that IMGT does not list and whose gene is taken.
    problem : str or None
        Why there is no symbol.
    """

    symbol: str | None
    certain: bool = True
    problem: str | None = None


@cache
def read_call(call: str, segment: str, species: str) -> Call:
    """
    Read a call: of several genes the first that is functional.

    Parameters
    ----------
    call : str
        As the input spells it, e.g. ``TRBV12-3*00(850),TRBV12-4*00(850)``.
    segment : {"V", "J"}
    species : str
        A key of `airrvec.core.schema.SPECIES`.
    """
    read = [_read_one(name, segment, species) for name in _names(call, species)]
    if not read:
        return Call(None, problem=f"{segment.lower()}_call is not a {segment} gene that IMGT knows")
    first = next((one for one in read if one.symbol), read[0])
    return Call(first.symbol, first.certain and len(read) == 1, first.problem)


@cache
def known_gene(call: str, segment: str, species: str) -> str | None:
    """The first IMGT gene that a call names, functional or not, without its allele; see `read_call`."""
    genes = (_known(name.split("*")[0], species) for name in _names(call, species))
    return next((gene for gene in genes if gene and _is_of(gene, segment)), None)


def _is_of(gene: str, segment: str) -> bool:
    return gene[3] == segment or f"/D{segment}" in gene


def _names(call: str, species: str) -> list[str]:
    """The distinct names in a call, in its order; none of what is too long to be a call."""
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
    """``TRBV6-2/6-3*01`` → ``TRBV6-2*01``, ``TRBV6-3*01``; ``TRAV14/DV4`` is one gene."""
    if _known(name.split("*")[0], species):
        return [name]
    genes, star, allele = name.partition("*")
    first, *others = genes.split("/")
    letters = re.match(r"\D*", first).group()
    spelled = [first, *(letters + other if other[:1].isdigit() else other for other in others)]
    return [gene + star + allele for gene in spelled if gene]


def _known(name: str, species: str, *, functional: bool = False) -> str | None:
    if len(name) > _LONGEST or "(" in name or ")" in name or len(re.findall(r"\d+", name)) > _MOST_NUMBERS:
        return None
    return tidytcells.tr.standardize(name, species=species, enforce_functional=functional, log_failures=False)


def _read_one(name: str, segment: str, species: str) -> Call:
    field = f"{segment.lower()}_call"
    gene, allele_is_listed = _known(name, species), True
    if gene is None and "*" in name:
        name, allele_is_listed = name.split("*")[0], False
        gene = _known(name, species)
    if gene is None:
        return Call(None, problem=f"{field} is not a {segment} gene that IMGT knows")
    if not _is_of(gene, segment):
        return Call(None, problem=f"{field} is not a {segment} gene")
    family = _functional_genes_of(gene, species) if _FAMILY.fullmatch(name) else ()
    symbol = family[0] if len(family) > 1 else _known(name, species, functional=True)
    if symbol is None:
        return Call(None, problem=f"{field} {NOT_FUNCTIONAL}")
    return Call(symbol, allele_is_listed and len(family) < 2)


def _functional_genes_of(gene: str, species: str) -> tuple[str, ...]:
    """For the first gene of a family, ``TRBV6-1``, all of its functional genes by number; else none."""
    family, dash, _ = gene.split("*")[0].partition("-")
    if not dash:
        return ()
    members = tidytcells.tr.query(
        species=species, precision="gene", functionality="F", contains_pattern=f"^{family}-"
    )
    return tuple(sorted(members, key=lambda name: [int(number) for number in re.findall(r"\d+", name)]))
