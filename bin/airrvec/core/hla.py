"""
HLA of donors and of epitopes, and whether a donor can present an epitope.

An allele is its locus and up to two fields (Marsh et al. 2010, "Nomenclature for factors of the HLA system",
Tissue Antigens 75). A serotype is the alleles, or groups of alleles, that it stands for. Two alleles are
compared at the resolution of the coarser one: ``A*02`` matches ``A*02:01``, but ``A*02:06`` does not.
"""

import re
from collections.abc import Iterable

# A locus → its alleles, each one or two fields; no fields for a gene whose alleles are not given.
Alleles = dict[str, frozenset[tuple[str, ...]]]

ALLOWED, EXCLUDED, UNKNOWN = "allowed", "excluded", "unknown"

# Spellings of loci; a serotype's letters stand for the chain that carries it.
_LOCI = {
    **{name: name for name in ("A", "B", "C", "E", "F", "G", "DRA", "DRB1", "DRB3", "DRB4", "DRB5")},
    **{name: name for name in ("DQA1", "DQB1", "DPA1", "DPB1")},
    **{"CW": "C", "DRA1": "DRA", "DRB": "DRB1", "DQA": "DQA1", "DQB": "DQB1", "DPA": "DPA1", "DPB": "DPB1"},
    **{"DR": "DRB1", "DRW": "DRB1", "DQ": "DQB1", "DQW": "DQB1", "DP": "DPB1", "DPW": "DPB1"},
}
_SEROLOGICAL = {"DR", "DRW", "DQ", "DQW", "DP", "DPW"}
_ONE_FOR_ALL = {"DRA"}  # its alleles present alike

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

_SEPARATORS = re.compile(r"[;,+^\s]+")
_HUMAN = re.compile(
    r"(?:HLA-?)?(?:(?P<locus>D(?:R(?:A1?|B[1345]?|w)?|[QP](?:[AB]1?|w)?)|Cw|[ABCEFG])(?P<star>\*?))?"
    r"(?:(?P<digits>\d{1,8}|\d{1,4}(?::\d{1,4}){1,3})(?P<suffix>[NLSCAQ]?)[GP]?|(?P<first>\d{2,3}):[A-Z]{2,})",
    re.IGNORECASE,
)
_HUMAN_GENE = re.compile(r"(?:HLA-?)?(DRB[345])", re.IGNORECASE)
_MOUSE = re.compile(r"H-?2-?\^?(?:(K|D|L|I-?A|I-?E)-?\^?)?([a-z]\d?)", re.IGNORECASE)
_MOUSE_LOCI = ("H2-K", "H2-D", "H2-L", "H2-IA", "H2-IE")


class HlaError(ValueError):
    """A word that is no allele, serotype or haplotype; ``word`` holds it."""

    def __init__(self, word: str):
        super().__init__(f"'{word}' is not an HLA allele, a serotype or an H-2 haplotype")
        self.word = word


def parse_typing(text: str) -> Alleles:
    """
    Return the alleles of a donor by locus.

    A locus that is given is taken as typed in full: one allele is a homozygous donor. Alternatives
    (``A*02:01/02:06``) all count. An allele with the suffix N is not expressed and presents nothing; the
    suffixes L, S, C, A and Q are ignored. Of a G or P group, the two fields of its name are taken. A code of
    letters for a second field (``A*02:XX``) leaves one field.

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
    """
    found: dict[str, set] = {}
    locus = None
    for word in filter(None, _SEPARATORS.split(re.sub(r"\s*/\s*", "/", text.strip()))):
        for part in word.split("/"):
            locus, alleles = _read(part, locus) or _raise(word)
            for name, patterns in alleles.items():
                found.setdefault(name, set()).update(patterns)
    return {name: frozenset(patterns) for name, patterns in found.items()}


def parse_mhc(label: str | None) -> list[Alleles]:
    """
    Return the MHC molecules of a label, each as the alleles of its chains; empty if none is known.

    Parameters
    ----------
    label : str or None
        Chains joined by ``/``, as made by `airrvec.core.antigens.mhc_name`: ``HLA-A*02:01``, ``HLA-A2``,
        ``HLA-DRA*01/HLA-DRB1*04:01``, ``H-2Kb``. Several molecules are separated by ``,``, ``;`` or ``|``.
        α chains of DR, and words that are no allele (``HLA class I``), are left out.
    """
    molecules = []
    for molecule in re.split(r"[,;|]", label or ""):
        chains: dict[str, set] = {}
        locus = None
        for part in molecule.split("/"):
            words = part.split()  # what follows a blank describes a mutant
            read = _read(words[0], locus) if words else None
            if read is None:
                continue
            locus, alleles = read
            for name, patterns in alleles.items():
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
    """
    found = {_presents(donor, molecule) for molecule in molecules}
    return next((word for word in (ALLOWED, UNKNOWN, EXCLUDED) if word in found), UNKNOWN)


def typing_text(donor: Alleles) -> str:
    """Return a typing as text that `parse_typing` reads: ``A*02:01;B*07``, sorted by locus and allele."""
    words = []
    for locus in sorted(donor, key=lambda name: ([*_LOCI, *_MOUSE_LOCI].index(name), name)):
        words += [_allele_text(locus, fields) for fields in sorted(donor[locus])] or [f"{locus}*00:00N"]
    return ";".join(words)


def molecule_text(molecule: Alleles) -> str:
    """Return a molecule as text: ``A*02:01``; ``DQA1*05:01/DQB1*02:01``."""
    return "/".join(
        _allele_text(locus, fields) for locus in sorted(molecule) for fields in sorted(molecule[locus])
    )


def is_coarser(molecule: Alleles, other: Alleles) -> bool:
    """Return True if a molecule is another one at lower resolution: ``A*02`` of ``A*02:01``."""
    return (
        molecule != other
        and set(molecule) == set(other)
        and all(
            any(fields[: len(known)] == known for known in molecule[locus])
            for locus in other
            for fields in other[locus]
        )
    )


def _presents(donor: Alleles, molecule: Alleles) -> str:
    typed = [locus for locus in molecule if locus in donor]
    if not typed:
        return UNKNOWN
    return ALLOWED if all(_shared(donor[locus], molecule[locus]) for locus in typed) else EXCLUDED


def _shared(own: Iterable[tuple[str, ...]], other: Iterable[tuple[str, ...]]) -> bool:
    return any(all(a == b for a, b in zip(fields, known, strict=False)) for fields in own for known in other)


def _allele_text(locus: str, fields: tuple[str, ...]) -> str:
    if locus in _MOUSE_LOCI:
        return locus + "".join(fields)
    return f"{locus}*{':'.join(fields)}" if fields else locus


def _raise(word: str):
    raise HlaError(word)


def _read(word: str, locus: str | None) -> tuple[str, dict[str, list[tuple[str, ...]]]] | None:
    """Return the locus for numbers that follow, and the alleles of a word; None if it is none."""
    if found := _HUMAN_GENE.fullmatch(word):
        return found[1].upper(), {found[1].upper(): [()]}
    if found := _MOUSE.fullmatch(f"H2{word}" if locus == "H2" and not word.upper().startswith("H") else word):
        name = (found[1] or "").upper().replace("-", "")
        return "H2", {f"H2-{name}": [(found[2].lower(),)]} if name else _haplotype(found[2].lower())
    found = _HUMAN.fullmatch(word)
    if not found or not (found["locus"] or locus):
        return None
    spelling = (found["locus"] or locus).upper()
    if len(spelling) > 2 and found["locus"] and not found["star"] and spelling not in _SEROLOGICAL:
        return None  # DRB1501 is DRB1*501 or DRB*1501
    return spelling, _alleles(spelling, found)


def _haplotype(letter: str) -> dict[str, list[tuple[str, ...]]]:
    return {locus: [(letter,)] for locus in _MOUSE_LOCI}


def _alleles(spelling: str, found: re.Match) -> dict[str, list[tuple[str, ...]]]:
    """Return the alleles that a human word stands for."""
    locus = _LOCI[spelling]
    fields = (found["first"],) if found["first"] else _fields(found["digits"])
    if len(fields) > 1:
        not_expressed = (found["suffix"] or "").upper() == "N"
        return {locus: [] if not_expressed else [fields]}
    number = fields[0]
    if spelling in ("DR", "DRW") and number in _DR_GENES:
        return {_DR_GENES[number]: [()]}
    groups = _DP if spelling in ("DP", "DPW") else _SEROTYPES.get(locus, {})
    return {locus: [tuple(group.split(":")) for group in groups.get(number, number).split()]}


def _fields(digits: str) -> tuple[str, ...]:
    """Return at most two fields: ``02:01:01`` and ``0201`` are 02, 01; ``203`` is 02, 03."""
    if ":" not in digits and len(digits) > 2:
        digits = digits.zfill(4)
        digits = f"{digits[:2]}:{digits[2:4]}"
    return tuple(field.zfill(2) for field in digits.split(":")[:2])
