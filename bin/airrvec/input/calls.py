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

_DASHES = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2043\ufe63\uff0d", "-"))
# Text that belongs to a name and says nothing of the gene: scores, as ``(98.6%)`` or ``=0.9``, and MiXCR's
# ``*00``, no allele.
_SCORE = re.compile(r"[(\[]\s*[\d.]+\s*%?\s*[)\]]|\d+(\.\d+)?\s*%|[:=]\s*\d*\.\d+|\*0+(?!\d)", re.ASCII)
_COLON_ALLELE = re.compile(r"(?<=\w):(\d\d)(?![\d.-])", re.ASCII)  # McPAS-TCR writes TRBV20-1:02
_APART = re.compile(r"(?<=[VJ])\s*-?\s*(?=\d)|\s+(?=-\d)", re.IGNORECASE | re.ASCII)  # TRBV-19, TRBV7 -9
_DELTA_APART = re.compile(r"[|\s]+(?=DV\d)", re.IGNORECASE)  # TRAV29|DV5
# A name ends at a character that no name has, and where the next begins. OR in capitals is that of an orphon.
_BETWEEN_WORDS = re.compile(
    r"[^\w*./-]+|/(?=\*)|_(?!\d|DV\d|OR\d)|(?<=\d)(?-i:or)(?=[\dT])|(?=TC?R[ABGD][VDJC])",
    re.IGNORECASE | re.ASCII,
)
_GENE = re.compile(r"(TC?R|IG)[A-Z]|[A-Z]{0,2}[VDJ]\d{1,3}(?!\d)", re.IGNORECASE | re.ASCII)  # no accession
_NUMBER = re.compile(r"(\d+([-.]\d+)?)?(\*\d+)?", re.ASCII)  # the next gene or allele: TRBV6-2/6-3, */02
_NAME = re.compile(r"[A-Z0-9./-]+(\*\d+)?", re.IGNORECASE | re.ASCII)  # all that tidytcells reads of a name
# What spreadsheets make of 6-5 and 19-1, in the languages of Europe; 45448 is their number of a day.
_MONTH = (
    r"(jan|ene|gen|feb|f[eé]v|m[aä]r|mrz|mrt|maa|a[pbv]r|ma[iyjg]|mei|ju[nil]|giu|lug|aug|ao[uû]|ago|sep|set"
    r"|o[ck]t|out|ott|nov|de[czs]|d[eé]c|dic)[^\W\d]*\.?"
)
_DATE = re.compile(
    rf"\d\d?[-./ ][-./ ]?{_MONTH}([-./ ]+\d\d\d?\d?)?|{_MONTH}[-./ ][-./ ]?\d\d\d?\d?"
    r"|\d{1,2}([./-])\d{1,2}\4\d{4}.*|\d{4}-\d\d-\d\d.*|4\d{4}(\.0)?",
    re.IGNORECASE,
)
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

    Examples
    --------
    >>> read_call("TCRBV6-5", "V", "homosapiens").symbol
    'TRBV6-5'
    >>> read_call("TRBV19*01,TRBV20-1", "V", "homosapiens").certain
    False
    """
    if _DATE.fullmatch(call.strip()):
        return Call(
            None, problem=f"{segment.lower()}_call is a date, which a spreadsheet made of a gene's number"
        )
    calls = [_read_name(name, segment, species) for name in _names(call, species)]
    if not calls:
        return Call(None, problem=_not_listed(segment))
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
    names: list[str] = []
    for word in _words(call):
        word = _with_slashes(word, species)
        is_gene = "/" not in word or _imgt_symbol(word.split("*")[0], species)
        parts = [word] if is_gene else list(filter(None, word.split("/")))
        allele = parts[-1].partition("*")[2] if "*" not in parts[0] else ""  # TRBV6-2/6-3*01: of both
        for part in parts:
            name = _completed(part, names[-1], species) if names and _NUMBER.fullmatch(part) else part
            names.append(name if "*" in name or not allele else f"{name}*{allele}")
    return list(dict.fromkeys(names))


def _words(call: str) -> list[str]:
    """Return the words that may be genes or their numbers; all if none is a gene."""
    text = _SCORE.sub(" ", call.translate(_DASHES))
    text = _APART.sub("", _DELTA_APART.sub("/", _COLON_ALLELE.sub(r"*\1", text)))
    stripped = (word.strip("-._/").rstrip("*") for word in _BETWEEN_WORDS.split(text))
    words = list(filter(None, stripped))
    if not any(map(_GENE.match, words)):
        return words
    return [word for word in words if _GENE.match(word) or _NUMBER.fullmatch(word)]


def _with_slashes(name: str, species: str) -> str:
    """Return a name whose ``_`` are read: ``TRBV6_2`` is ``TRBV6-2``; ``TRBV6-2_6-3``, ``TRBV6-2/6-3``."""
    if "_" not in name:
        return name
    dashed = name.replace("_", "-")
    gene = dashed.split("*")[0].upper()
    return dashed if _imgt_symbol(gene, species) == gene else name.replace("_", "/")


def _completed(number: str, name: str, species: str) -> str:
    """Return the gene that a number after a name means: ``6-3``, ``3`` and ``*02`` after ``TRBV6-2``."""
    gene = name.split("*")[0]
    if number.startswith("*"):
        return gene + number
    letters = re.split(r"\d", gene, maxsplit=1)[0]
    family_name = f"{gene.partition('-')[0]}-{number}"
    is_member = number.split("*")[0].isdigit() and _imgt_symbol(family_name.split("*")[0], species)
    return family_name if is_member else letters + number


@cache  # names recur in calls with scores, which differ in every row
def _imgt_symbol(name: str, species: str) -> str | None:
    if len(name) > _LONGEST or len(re.findall(r"\d+", name)) > _MOST_NUMBERS or not _NAME.fullmatch(name):
        return None
    return imgt.tr_symbol(name, species)


def _read_name(name: str, segment: str, species: str) -> Call:
    call = f"{segment.lower()}_call"
    gene, allele_is_listed = _imgt_symbol(name, species), True
    if gene is None and "*" in name:
        name, allele_is_listed = name.split("*")[0], False
        gene = _imgt_symbol(name, species)
    if gene is None:
        return Call(None, problem=_not_listed(segment))
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


def _not_listed(segment: str) -> str:
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
    has_frame = np.zeros(len(receptors), bool)
    species = receptors["species"].to_pylist()
    for name in schema.RECEPTOR_FIELDS:
        if name.endswith("call"):
            calls = list(zip(receptors[name].to_pylist(), species, strict=True))
            frames = {call for call in set(calls) if imgt.functionality(*call) == imgt.OPEN_READING_FRAME}
            has_frame |= np.array([call in frames for call in calls], bool)
    return has_frame
