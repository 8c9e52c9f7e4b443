"""
V and J gene calls as an input spells them → one IMGT gene or allele, functional or an open reading frame.

tidytcells standardises the names. This module parses the rest: lists, scores, functionality, families.
"""

import re
from dataclasses import dataclass, field, replace
from functools import cache

from airrvec.core import imgt, schema
from airrvec.input.germline import v_loops

import numpy as np
import pyarrow as pa

IS_PSEUDOGENE = "is a pseudogene according to IMGT"
LOOPS_UNKNOWN = "is an open reading frame whose CDR1 or CDR2 IMGT does not list"

# A colon before two digits alone is that of an allele; OR in capitals belongs to an orphon's name.
_BETWEEN_CALLS = re.compile(
    r"\s*[,;|+&~^]\s*|\s*:\s*(?=[a-z]|\d+-)|\s*\bor\b\s*|\s+and\s+|(?<=\d)(?-i:or)(?=[\dTt])|\s+(?=TC?R[ABGD])",
    re.IGNORECASE,
)
# Text around a name: the organism before it; functionality, MiXCR's score and its `*00` (no allele) after it.
_DECORATION = re.compile(
    r"^(homsap|homo sapiens|human|musmus|mus musculus|mouse)(\s+|$)|^[hm](?=TC?R[ABGD][VDJ])"
    r"|[\s_]+[(\[]?(F|ORF|P)[)\]]?$|[(\[](F|ORF|P)[)\]]$|\([0-9.]+\)$|\*00\b",
    re.IGNORECASE,
)
_DASH_BEFORE_NUMBER = re.compile(r"(?<=[VJ])-(?=\d)", re.IGNORECASE)  # TRBV-19
# What spreadsheets make of 6-5 and 19-1.
_DATE = re.compile(r"\d{1,2}-[A-Z][a-z]{2}(-\d{2,4})?|[A-Z][a-z]{2}-\d{2,4}|\d{4}-\d\d-\d\d.*")
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
        Gene or allele in IMGT spelling.
    functionality : str or None
        Of the symbol: `airrvec.core.imgt.FUNCTIONAL` or `airrvec.core.imgt.OPEN_READING_FRAME`.
    certain : bool
        False if the call is ambiguous: several genes, a family of several genes, or an allele
        that IMGT does not list (its gene is used instead).
    problem : str or None
        Reason why there is no symbol.
    is_family : bool
        Whether the call is a family of several genes, of which the symbol is the first.
    """

    symbol: str | None
    functionality: str | None = None
    certain: bool = True
    problem: str | None = None
    is_family: bool = field(default=False, compare=False)


@cache
def read_call(call: str, segment: str, species: str) -> Call:
    """
    Read a gene call; if the call lists several, return the first functional one, else the first that is no
    pseudogene.

    A family that stands for one of its genes, as ``TRAV1`` in ``TRAV1*01,TRAV1-2*01``, gives way to a gene.

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
        return Call(None, problem=_not_listed(call, segment))
    kinds = (imgt.FUNCTIONAL, imgt.OPEN_READING_FRAME)
    genes_first = sorted(calls, key=lambda candidate: candidate.is_family)
    usable = (candidate for kind in kinds for candidate in genes_first if candidate.functionality == kind)
    chosen = next(usable, calls[0])
    return replace(chosen, certain=chosen.certain and len(calls) == 1)


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
        name = _DASH_BEFORE_NUMBER.sub("", _COLON_ALLELE.sub(r"*\1", name))
        names += _alternatives(_with_slashes(name, species), species)
    return list(dict.fromkeys(filter(None, names)))


def _with_slashes(name: str, species: str) -> str:
    """Return a name whose ``_`` are read: ``TRBV6_2`` is ``TRBV6-2``; ``TRBV6-2_6-3``, ``TRBV6-2/6-3``."""
    dashed = name.replace("_", "-")
    gene = dashed.split("*")[0].upper()
    return dashed if "_" in name and _imgt_symbol(gene, species) == gene else name.replace("_", "/")


def _alternatives(name: str, species: str) -> list[str]:
    """Split ``TRBV6-2/6-3*01`` into ``TRBV6-2*01`` and ``TRBV6-3*01``; ``TRAV14/DV4`` is one gene."""
    if "/" not in name or _imgt_symbol(name.split("*")[0], species):
        return [name]
    genes, star, allele = name.partition("*")
    first, *others = genes.split("/")
    letters = re.match(r"\D*", first).group()
    full_names = [first, *(letters + other if other[:1].isdigit() else other for other in others)]
    return [gene + star + allele for gene in full_names if gene]


def _imgt_symbol(name: str, species: str) -> str | None:
    if len(name) > _LONGEST or "(" in name or ")" in name or len(re.findall(r"\d+", name)) > _MOST_NUMBERS:
        return None
    return imgt.tr_symbol(name, species)


def _read_name(name: str, segment: str, species: str) -> Call:
    call = f"{segment.lower()}_call"
    gene, allele_is_listed = _imgt_symbol(name, species), True
    if gene is None and "*" in name:
        name, allele_is_listed = name.split("*")[0], False
        gene = _imgt_symbol(name, species)
    if gene is None:
        return Call(None, problem=_not_listed(name, segment))
    if not _has_segment(gene, segment):
        return Call(None, problem=f"{call} is not a {segment} gene")
    family = _functional_family(gene, species) if _FAMILY.fullmatch(name) else ()
    symbol = family[0] if len(family) > 1 else gene
    functionality = imgt.functionality(symbol, species)
    if functionality == imgt.PSEUDOGENE:
        return Call(None, problem=f"{call} {IS_PSEUDOGENE}")
    if functionality == imgt.OPEN_READING_FRAME and segment == "V" and not all(v_loops(symbol, species)):
        return Call(None, problem=f"{call} {LOOPS_UNKNOWN}")
    return Call(symbol, functionality, allele_is_listed and len(family) < 2, is_family=len(family) > 1)


def _not_listed(call: str, segment: str) -> str:
    if _DATE.fullmatch(call):
        return f"{segment.lower()}_call is a date, which a spreadsheet made of a gene's number"
    return f"{segment.lower()}_call is not a {segment} gene listed by IMGT"


def _functional_family(gene: str, species: str) -> tuple[str, ...]:
    """Return the functional genes of the family of a gene such as ``TRBV6-1``, by number; else ()."""
    family, dash, _ = gene.split("*")[0].partition("-")
    if not dash:
        return ()
    members = imgt.functional_genes(f"^{family}-", species)
    return tuple(sorted(members, key=lambda name: [int(number) for number in re.findall(r"\d+", name)]))


def has_open_reading_frame(receptors: pa.Table) -> np.ndarray:
    """
    Return whether a V or J gene of each receptor is an open reading frame according to IMGT.

    Parameters
    ----------
    receptors : pyarrow.Table
        ``species`` and `airrvec.core.schema.RECEPTOR_FIELDS`.

    Returns
    -------
    ndarray of bool, shape (n_receptors,)
    """
    found = np.zeros(len(receptors), bool)
    species = receptors["species"].to_pylist()
    for name in schema.RECEPTOR_FIELDS:
        if name.endswith("call"):
            calls = list(zip(receptors[name].to_pylist(), species, strict=True))
            frames = {call for call in set(calls) if imgt.functionality(*call) == imgt.OPEN_READING_FRAME}
            found |= np.array([call in frames for call in calls], bool)
    return found
