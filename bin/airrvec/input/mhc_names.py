"""Names of MHC molecules in labels, and HLA types of donors, in one spelling."""

import re
from collections import Counter
from functools import cache

from airrvec.core import hla, imgt
from airrvec.core.antigens import B2M, mhc_name
from airrvec.core.errors import InputError
from airrvec.core.tables import contiguous, map_distinct
from airrvec.core.terminal import counted

import pyarrow as pa

_MOUSE = re.compile(r"H-?2-?([A-Za-z]{1,3}\d?)", re.IGNORECASE)
_B2M = {*B2M, "beta2-microglobulin"}
# Locus and four digits: two fields, but tidytcells reads A*2402 as HLA-A*02:402.
_FOUR_DIGITS = re.compile(r"(HLA-)?([ABCEFG]|Cw|D[A-Z]{2}\d?)\*?(\d{2})(\d{2})", re.IGNORECASE)
_NOT_SHOWN = re.compile(r"\d[NSC]", re.IGNORECASE)  # suffixes that tidytcells would cut off
_LONGEST = 40  # characters of a name; longer text is no allele


def mhc_allele(name: str | None) -> str | None:
    """
    Return an MHC gene, allele or serotype in one spelling; the text as given where it cannot be read.

    Parameters
    ----------
    name : str or None
        ``A*0201``, ``HLA-A2`` or ``HLA-DPA*01:03`` become ``HLA-A*02:01``, ``HLA-A*02`` and
        ``HLA-DPA1*01:03`` by `tidytcells.mh.standardize`; four digits are two fields. A name whose digits
        tidytcells would change, as it changes ``HLA-A*24:01`` into an allele of ``HLA-A*02``, stays as it is,
        and so does an allele with a suffix by which no cell shows it, such as ``HLA-A*24:09N``.
        Mouse molecules become ``H-2Kb``: tidytcells gives genes only, and ``H-2Db`` and ``H-2Dd``, which
        present other peptides, are one gene. Text with several alleles, and all other species, stay as they
        are.

    Examples
    --------
    >>> [mhc_allele(name) for name in ("A0201", "HLA-A2", "b2m")]
    ['HLA-A*02:01', 'HLA-A*02', 'B2M']
    """
    text = (name or "").strip()
    if not text or text.lower() == "none":
        return None
    if text.lower() in _B2M:
        return "B2M"
    if match := _MOUSE.fullmatch(text):
        gene = match[1]
        return "H-2" + (gene[0].upper() + gene[1:].lower() if len(gene) == 2 else gene)
    if len(text) > _LONGEST or re.search(r"[,;/\s]", text) or _NOT_SHOWN.fullmatch(text[-2:]):
        return text
    four = _FOUR_DIGITS.fullmatch(text)
    two_fields = f"{four[2]}*{four[3]}:{four[4]}" if four else text
    read = imgt.mh_symbol(two_fields)
    return read if read and _same_digits(text, read) else text


def mhc_alleles(names: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return the `mhc_allele` of each name of a column; each distinct name is read once."""
    return map_distinct(names.cast(pa.string()), mhc_allele)


def count_unknown_mhc(labels: pa.Table) -> Counter:
    """
    Count labels that have an MHC, but none that a donor's HLA can be compared with, by its text.

    Parameters
    ----------
    labels : pyarrow.Table
        ``mhc_a`` and ``mhc_b``. ``HLA class I``, ``HLA-A:01`` and ``MR1`` name no molecule.
    """
    columns = [contiguous(labels[name].cast(pa.string())) for name in ("mhc_a", "mhc_b")]
    unknown: Counter = Counter()
    if all(column.null_count == len(column) for column in columns):
        return unknown
    for (a, b), n in Counter(zip(*(column.to_pylist() for column in columns), strict=True)).items():
        mhc = mhc_name(mhc_allele(a), mhc_allele(b))
        if mhc and mhc.lower() not in _B2M and not hla.parse_mhc(mhc):
            unknown[mhc] += n
    return unknown


def unknown_mhc_warning(unknown: Counter) -> str:
    """Return the warning of labels whose MHC is no molecule, from `count_unknown_mhc`."""
    shown = ", ".join(f"'{text}' ({n:,})" for text, n in unknown.most_common(3))
    labels = counted(unknown.total(), "label has", "labels have")
    return (
        f"{labels} an MHC that is no allele, serotype or H-2 molecule, and stays as written: {shown}; no"
        " donor's HLA excludes an epitope by it"
    )


def _same_digits(name: str, read: str) -> bool:
    """Return whether the allele that was read has the digits that were given, zeros in front ignored."""
    _, star, allele = read.partition("*")
    digits = re.sub(r"\D", "", name.split("*")[-1])
    return not star or digits.lstrip("0").endswith(re.sub(r"\D", "", allele).lstrip("0"))


# --- Check of a donor's HLA: every allele is one that tidytcells lists

EXAMPLE = "A*02:01;A*24:02;B*07:02"


def checked_typing(text: str) -> str:
    """
    Return a donor's HLA in one spelling, e.g. ``A*02:01;A*24:02;B*07:02``.

    Parameters
    ----------
    text : str
        As read by `airrvec.core.hla.parse_typing`.

    Raises
    ------
    InputError
        If a word is no allele, or no allele that tidytcells lists.

    Examples
    --------
    >>> checked_typing("B7 HLA-A*0201")
    'A*02:01;B*07'
    """
    try:
        typing = hla.parse_typing(text)
    except hla.HlaError as error:
        raise InputError(
            _shortened(error),
            fix=f"Write alleles or serotypes, such as {EXAMPLE} or A2;B7; leave out loci without a typing",
        ) from error
    for locus, alleles in typing.items():
        for fields in alleles:
            if len(fields) and not locus.startswith("H2-") and not _is_listed(locus, fields):
                name = f"{locus}*{':'.join(fields)}"
                fix = "Correct it"
                if len(fields) > 1 and _is_listed(locus, hla.plain_fields(fields)[:1]):
                    fix = f"Correct it, or write {locus}*{fields[0]} if the allele is newer than tidytcells"
                raise InputError(f"'{name}' is not an allele that tidytcells lists", fix=fix)
    return hla.typing_text(typing)


def _shortened(error: hla.HlaError) -> str:
    word = error.word if len(error.word) <= 60 else error.word[:59] + "…"
    return str(hla.HlaError(word))


@cache
def _is_listed(locus: str, fields: tuple[str, ...]) -> bool:
    """Return whether tidytcells lists an allele, a group of alleles, or the two fields of a G group."""
    plain = hla.plain_fields(fields)
    symbol = f"HLA-{locus}*{':'.join(plain)}"
    if fields[-1].endswith("P"):
        return imgt.names_p_group(symbol)
    known = imgt.mh_symbol(symbol)
    return known is not None and known.startswith(symbol)
