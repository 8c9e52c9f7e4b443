"""
Words for HLA alleles, serotypes and mouse haplotypes → loci and fields.

The names are those of Marsh et al. 2010, "Nomenclature for factors of the HLA system", Tissue Antigens 75.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

# What a word stands for: the locus for numbers that follow, and alleles by locus, as in `airrvec.core.hla`.
Word = tuple[str, dict[str, list[tuple[str, ...]]]]

# Spellings of loci; a serotype's letters stand for the chain that carries it.
LOCI = {
    **{name: name for name in ("A", "B", "C", "E", "F", "G", "DRA", "DRB1", "DRB3", "DRB4", "DRB5")},
    **{name: name for name in ("DQA1", "DQB1", "DPA1", "DPB1")},
    **{"CW": "C", "DRA1": "DRA", "DRB": "DRB1", "DQA": "DQA1", "DQB": "DQB1", "DPA": "DPA1", "DPB": "DPB1"},
    **{"DR": "DRB1", "DRW": "DRB1", "DQ": "DQB1", "DQW": "DQB1", "DP": "DPB1", "DPW": "DPB1"},
}
_SEROLOGICAL = {"DR", "DRW", "DQ", "DQW", "DP", "DPW"}

# Serotypes whose number is not that of a group of alleles (Holdsworth et al. 2009, "The HLA dictionary 2008",
# Tissue Antigens 73). All other serotypes have the number of their group: A2 is A*02.
_SEROTYPES = {
    "A": {"09": "23 24", "10": "25 26 34 66", "19": "29 30 31 32 33 74", "28": "68 69"},
    "B": {
        **{"05": "51 52", "12": "44 45", "16": "38 39", "17": "57 58", "21": "49 50", "22": "54 55 56"},
        **dict.fromkeys(("62", "63", "70", "71", "72", "75", "76", "77"), "15"),
        **{"60": "40", "61": "40", "64": "14", "65": "14"},
    },
    "C": {"09": "03", "10": "03"},
    "DRB1": {"02": "15 16", "05": "11 12", "06": "13 14", "17": "03", "18": "03"},
    "DQB1": {"01": "05 06", "07": "03:01 03:04", "08": "03:02 03:05", "09": "03:03"},
}
# Serotypes of DR that are genes of their own, and serotypes of DP, whose alleles have no groups.
_DR_GENES = {"51": "DRB5", "52": "DRB3", "53": "DRB4"}
_DP = {"01": "01:01", "02": "02:01 02:02", "03": "03:01", "04": "04:01 04:02", "05": "05:01", "06": "06:01"}

# Suffixes of alleles that no cell shows on its surface: null, secreted, in the cytoplasm. Those of low (L),
# aberrant (A) or questionable (Q) expression may be shown.
_NOT_SHOWN = {"N", "S", "C"}

SEPARATORS = re.compile(r"[;,+^\s]+")
_HUMAN = re.compile(
    r"(?:HLA-?)?(?:(?P<locus>D(?:R(?:A1?|B[1345]?|w)?|[QP](?:[AB]1?|w)?)|Cw|[ABCEFG])(?P<star>\*?))?"
    r"(?:(?P<digits>\d{1,8}|\d{1,4}(?::\d{1,4}){1,3})(?P<letter>[NLSCAQGP]?)(?P<broad>\(w?\d{1,2}\))?"
    r"|(?P<first>\d{2,3}):[A-Z]{2,})",
    re.IGNORECASE | re.ASCII,
)
_HUMAN_GENE = re.compile(r"(?:HLA-?)?(DRB[345])", re.IGNORECASE)
_MOUSE = re.compile(r"H-?2-?\^?(?:(K|D|L|I-?A|I-?E)-?\^?)?([a-z]\d?)", re.IGNORECASE)
MOUSE_LOCI = ("H2-K", "H2-D", "H2-L", "H2-IA", "H2-IE")


class HlaError(ValueError):
    """A word that is no allele, serotype or haplotype; ``word`` holds it."""

    def __init__(self, word: str):
        super().__init__(f"'{word}' is not an HLA allele, a serotype or an H-2 haplotype")
        self.word = word


class _Name(NamedTuple):
    """A word of letters and digits: its locus as written, its fields, and how it was written."""

    locus: str
    fields: tuple[str, ...]
    letter: str  # suffix of its expression, or G or P
    has_colon: bool
    is_code: bool  # letters in place of the second field


def read_alternatives(words: Iterable[str], locus: str | None = None) -> Iterator[Word | None]:
    """
    Yield what each of several alternatives stands for; None if it is none.

    Parameters
    ----------
    words : iterable of str
        ``A*02:01``, then ``A*02:06`` or ``02:06``, or only its last field, ``06``. After a code of letters
        (``A*02:XX``), a last field is none.
    locus : str, optional
        Locus of a number without one.
    """
    before = None
    for word in words:
        found, name = _other(word, locus), None
        if found is None and (name := _human_name(word, locus, before)):
            found = name.locus, _alleles(name)
        if found:
            locus, before = found[0], name
        yield found


def _other(word: str, locus: str | None) -> Word | None:
    """Return what a gene, mouse haplotype or mouse molecule stands for; None if the word is none."""
    if found := _HUMAN_GENE.fullmatch(word):
        return found[1].upper(), {found[1].upper(): [()]}
    if found := _MOUSE.fullmatch(f"H2{word}" if locus == "H2" and not word.upper().startswith("H") else word):
        name = (found[1] or "").upper().replace("-", "")
        letter = (found[2].lower(),)
        return "H2", {f"H2-{name}": [letter]} if name else {locus: [letter] for locus in MOUSE_LOCI}
    return None


def _human_name(word: str, locus: str | None, before: _Name | None) -> _Name | None:
    """Return a human word as a name, completed by the alternative before it; None if it is none."""
    found = _HUMAN.fullmatch(word)
    spelling = ((found and found["locus"]) or locus or "").upper()
    if not found or spelling not in LOCI:
        return None
    if len(spelling) > 2 and found["locus"] and not found["star"] and spelling not in _SEROLOGICAL:
        return None  # DRB1501 is DRB1*501 or DRB*1501
    if found["first"]:
        return _Name(spelling, (found["first"],), "", has_colon=True, is_code=True)
    digits, letter, has_colon = found["digits"], found["letter"].upper(), ":" in found["digits"]
    is_short = before is not None and not found["locus"]
    fields = (digits,) if is_short and before.has_colon and not has_colon else _fields(digits)
    if is_short and len(fields) == 1:
        if before.is_code:
            return None
        fields, has_colon = before.fields[:-1] + fields, before.has_colon
    is_cut = letter in ("G", "P") and len(fields) < 2  # a group has two fields at least
    if is_cut or (found["broad"] and (found["star"] or letter)):
        return None
    return _Name(spelling, fields, letter, has_colon, is_code=False)


def _alleles(name: _Name) -> dict[str, list[tuple[str, ...]]]:
    """Return the alleles that a human name stands for."""
    locus = LOCI[name.locus]
    if name.letter in _NOT_SHOWN:
        return {locus: []}
    fields = tuple(field.zfill(2) for field in name.fields)
    if name.letter in ("G", "P"):
        kept = fields[:3] if name.letter == "G" else fields[:2]
        return {locus: [(*kept[:-1], kept[-1] + name.letter)]}
    if len(fields) > 1:
        return {locus: [fields[:2]]}
    number = fields[0]
    if name.locus in ("DR", "DRW") and number in _DR_GENES:
        return {_DR_GENES[number]: [()]}
    groups = _DP if name.locus in ("DP", "DPW") else _SEROTYPES.get(locus, {})
    return {locus: [tuple(group.split(":")) for group in groups.get(number, number).split()]}


def _fields(digits: str) -> tuple[str, ...]:
    """Return the fields of digits: ``02:01:01`` are three, ``0201`` and ``203`` are 02, 01 and 02, 03."""
    if ":" not in digits and len(digits) > 2:
        digits = digits.zfill(4)
        digits = f"{digits[:2]}:{digits[2:4]}"
    return tuple(digits.split(":"))
