"""Check of a donor's HLA: every allele is one that tidytcells lists."""

from functools import cache

from airrvec.core import hla, imgt
from airrvec.core.errors import InputError

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
