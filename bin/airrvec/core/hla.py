"""
HLA of donors and of epitopes, and whether a donor can present an epitope.

An allele is its locus and up to two fields (Marsh et al. 2010, "Nomenclature for factors of the HLA system",
Tissue Antigens 75). A serotype is the alleles, or groups of alleles, that it stands for. Two alleles are
compared at the resolution of the coarser one: ``A*02`` matches ``A*02:01``, but ``A*02:06`` does not. The
alleles of a G or P group have the same peptide-binding domain; which they are is not known here, so another
allele of the same first field may be one of them.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from airrvec.core import imgt

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
        parsed, name = _gene_or_mouse(word, locus), None
        if parsed is None and (name := _human_name(word, locus, before)):
            parsed = name.locus, _alleles(name)
        if parsed:
            locus, before = parsed[0], name
        yield parsed


def _gene_or_mouse(word: str, locus: str | None) -> Word | None:
    """Return what a gene, mouse haplotype or mouse molecule stands for; None if the word is none."""
    if match := _HUMAN_GENE.fullmatch(word):
        return match[1].upper(), {match[1].upper(): [()]}
    if match := _MOUSE.fullmatch(f"H2{word}" if locus == "H2" and not word.upper().startswith("H") else word):
        name = (match[1] or "").upper().replace("-", "")
        letter = (match[2].lower(),)
        return "H2", {f"H2-{name}": [letter]} if name else {locus: [letter] for locus in MOUSE_LOCI}
    return None


def _human_name(word: str, locus: str | None, before: _Name | None) -> _Name | None:
    """Return a human word as a name, completed by the alternative before it; None if it is none."""
    match = _HUMAN.fullmatch(word)
    spelling = ((match and match["locus"]) or locus or "").upper()
    if not match or spelling not in LOCI:
        return None
    if len(spelling) > 2 and match["locus"] and not match["star"] and spelling not in _SEROLOGICAL:
        return None  # DRB1501 is DRB1*501 or DRB*1501
    if match["first"]:
        return _Name(spelling, (match["first"],), "", has_colon=True, is_code=True)
    digits, letter, has_colon = match["digits"], match["letter"].upper(), ":" in match["digits"]
    completed_by = None if match["locus"] else before
    is_field = completed_by is not None and completed_by.has_colon and not has_colon
    fields = (digits,) if is_field else _fields(digits)
    if completed_by is not None and len(fields) == 1:
        if completed_by.is_code:
            return None
        fields, has_colon = completed_by.fields[:-1] + fields, completed_by.has_colon
    is_cut = letter in ("G", "P") and len(fields) < 2  # a group has two fields at least
    if is_cut or (match["broad"] and (match["star"] or letter)):
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


# --- HLA of donors and of epitopes, and whether a donor can present an epitope

__all__ = [
    "ALLOWED",
    "EXCLUDED",
    "UNKNOWN",
    "Alleles",
    "HlaError",
    "allele_names",
    "allows",
    "carries",
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

    Examples
    --------
    >>> parse_typing("HLA-B*07:02; A2")
    {'B': frozenset({('07', '02')}), 'A': frozenset({('02',)})}
    """
    typing: dict[str, set] = {}
    locus = None
    for word in filter(None, SEPARATORS.split(re.sub(r"\s*/\s*", "/", text.strip()))):
        for part in read_alternatives(word.split("/"), locus):
            if part is None:
                raise HlaError(word)
            locus, alleles = part
            for name, patterns in alleles.items():
                typing.setdefault(name, set()).update(patterns)
    return {name: frozenset(patterns) for name, patterns in typing.items()}


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

    Examples
    --------
    >>> parse_mhc("HLA-A*02:01")
    [{'A': frozenset({('02', '01')})}]
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

    Examples
    --------
    >>> donor = parse_typing("A*02:01;A*24:02")
    >>> [allows(donor, parse_mhc(name)) for name in ("HLA-A*02", "HLA-A*11:01", "HLA-B*07:02")]
    ['allowed', 'excluded', 'unknown']
    """
    verdicts = {_presents(donor, molecule) for molecule in molecules}
    return next((word for word in (ALLOWED, UNKNOWN, EXCLUDED) if word in verdicts), UNKNOWN)


def typing_text(donor: Alleles) -> str:
    """
    Return a typing as text that `parse_typing` reads: ``A*02:01;B*07``, sorted by locus and allele.

    Examples
    --------
    >>> typing_text(parse_typing("HLA-B*07:02 HLA-A*02:01"))
    'A*02:01;B*07:02'
    """
    words = []
    for locus in sorted(donor, key=lambda name: ([*LOCI, *MOUSE_LOCI].index(name), name)):
        words += [_allele_text(locus, fields) for fields in sorted(donor[locus])] or [f"{locus}*00:00N"]
    return ";".join(words)


def molecule_text(molecule: Alleles) -> str:
    """
    Return a molecule as text: ``A*02:01``; ``DQA1*05:01/DQB1*02:01``.

    Examples
    --------
    >>> molecule_text(*parse_mhc("HLA-DQA1*05:01/DQB1*02:01"))
    'DQA1*05:01/DQB1*02:01'
    """
    return "/".join(
        _allele_text(locus, fields) for locus in sorted(molecule) for fields in sorted(molecule[locus])
    )


def allele_names(donor: Alleles, n_fields: int = 2) -> set[str]:
    """
    Return the names of a donor's alleles, with one field or two at most; a group keeps its name at two.

    Examples
    --------
    >>> sorted(allele_names(parse_typing("A*02:01;B*07"))), sorted(allele_names(parse_typing("A2"), 1))
    (['A*02:01', 'B*07'], ['A*02'])
    """
    return {
        _allele_text(locus, fields if n_fields > 1 and is_group(fields) else plain_fields(fields)[:n_fields])
        for locus, alleles in donor.items()
        for fields in alleles
    }


def carries(donor: Alleles, allele: Alleles) -> bool | None:
    """
    Return whether a donor has an allele; None if the typing cannot tell.

    It cannot where the locus is not typed, is typed at a lower resolution, by a group, or with more than two
    alternatives, of which the allele is one.

    Parameters
    ----------
    donor : dict
        From `parse_typing`.
    allele : dict
        One allele of one locus, from `parse_typing` of one of `allele_names`.

    Examples
    --------
    >>> donor = parse_typing("A*02:01;A*24;B*07/08/15")
    >>> [carries(donor, parse_typing(name)) for name in ("A*02", "A*02:06", "A*24:02", "B*07", "C*07")]
    [True, False, None, None, None]
    """
    ((locus, (fields,)),) = allele.items()
    own = donor.get(locus)
    if own is None:
        return None
    covered = [_covers(fields, one) for one in own]
    if any(covered):
        return True if len(own) < 3 or all(covered) else None
    return False if all(_compared(locus, one, fields) == EXCLUDED for one in own) else None


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
    verdicts = {_shared(locus, donor[locus], molecule[locus]) for locus in typed}
    return next(word for word in (EXCLUDED, UNKNOWN, ALLOWED) if word in verdicts)


def _shared(locus: str, own: Iterable[tuple[str, ...]], other: Iterable[tuple[str, ...]]) -> str:
    """Return whether a donor has one of the alleles of a chain."""
    verdicts = {_compared(locus, fields, known) for fields in own for known in other}
    return next((word for word in (ALLOWED, UNKNOWN) if word in verdicts), EXCLUDED)


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
