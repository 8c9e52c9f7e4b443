"""
Missing words, counts and booleans, as people, R, Java, Excel and pandas write them.

What is there and cannot be read is told from what is missing: `unreadable_counts` and `unreadable_truths`.
"""

import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal

from airrvec.core.columns import by_distinct

import pyarrow as pa
import pyarrow.compute as pc

# In lower case. Of pandas, R, Excel, SQL, VDJtools and immunoSEQ.
_MISSING = (
    *("", ".", "-", "--", "–", "—", "?", "na", "n/a", "n.a.", "#n/a", "#na", "<na>", "nan", "nat", "none"),
    *("null", "nil", "#null!", "#name?", "#value!", "#ref!", "undefined", "unknown", "unresolved"),
    *("no data", "not available", "not applicable", "not determined", "missing"),
)
# A word in every spelling that is met: in capitals, with one capital, as `NaN`.
MISSING = sorted(
    {spelled for word in _MISSING for spelled in (word, word.upper(), word.capitalize(), word.title())}
    | {"NaN", "NaT", "N/a"}
)

# Of AIRR, Python, R, IMGT, immunoSEQ, and of Excel in the languages that translate them.
_TRUE = (
    "true, t, 1, yes, y, wahr, ja, vrai, oui, verdadero, verdadeiro, sí, si, sim, vero, waar, prawda, tak,"
    " sant, sand, sann, tosi, истина, да, pravda, igaz, doğru, productive, productive (see comment),"
    " functional, in, in-frame, in frame, inframe"
)
_FALSE = (
    "false, f, 0, no, n, falsch, nein, faux, non, falso, não, onwaar, nee, fałsz, nie, falskt, nej, falsk,"
    " usann, nei, epätosi, ложь, нет, nepravda, hamis, yanlış, unproductive, non-productive, nonproductive,"
    " not productive, unproductive (see comment), nonfunctional, non-functional, out, out-of-frame,"
    " out of frame, outofframe, stop, stop codon, premature stop codon, no rearrangement found"
)
_TRUTHS = {**dict.fromkeys(re.split(r", *", _TRUE), True), **dict.fromkeys(re.split(r", *", _FALSE), False)}

_LARGEST = 2**63 - 1
_NUMBER = re.compile(r"\+?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,3})?", re.IGNORECASE)
_BLANKS = " '’\u00a0\u2009\u202f"  # between thousands
# Separators of thousands, and what they become: 12,345.6 · 1.234.567 and 1.234,5 · 12 345 and 12'345 · 41,67
_JOINED = dict.fromkeys(_BLANKS, "")
_SPELLINGS = (
    (re.compile(r"[0-9]{1,3}(,[0-9]{3})+(\.[0-9]*)?"), {",": ""}),
    (re.compile(r"[0-9]{1,3}(\.[0-9]{3})+,[0-9]*|[0-9]{1,3}(\.[0-9]{3}){2,}"), {".": "", ",": "."}),
    (re.compile("[0-9]{1,3}([" + _BLANKS + "][0-9]{3})+([.,][0-9]*)?"), _JOINED | {",": "."}),
    (re.compile(r"[0-9]+,[0-9]+(e[+-]?[0-9]{1,3})?", re.IGNORECASE), {",": "."}),
)


def trimmed(strings: pa.ChunkedArray | pa.Array):
    """Return strings without blanks around them; words for a missing value become null."""
    words = pc.utf8_trim_whitespace(strings)
    return pc.if_else(pc.is_in(words, pa.array(MISSING)), pa.scalar(None, pa.string()), words)


def counts(strings: pa.ChunkedArray) -> pa.ChunkedArray:
    """
    Return the counts that strings spell, int64; null for what is no count.

    A count with decimals is rounded, and is at least 1 if it is not 0.
    """
    digits = digits_alone(strings)
    return _each(strings, count, pa.int64()) if digits is None else digits


def digits_alone(strings: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return counts of which each is written in digits alone, as nearly all are; None if one is not."""
    if pc.all(pc.ascii_is_decimal(strings)).as_py() is False:
        return None
    try:
        return strings.cast(pa.int64())
    except pa.ArrowInvalid:  # above 2⁶³ − 1
        return None


def rounded_counts(strings: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return whether a value is a count with decimals, which `counts` rounds."""
    return _each(strings, _has_decimals, pa.bool_())


def truths(strings: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the booleans that strings spell, in any case; null for what is none."""
    return _each(strings, truth, pa.bool_())


def unreadable_counts(strings: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return whether there is a value which is no count."""
    return pc.and_(pc.is_valid(strings), pc.is_null(counts(strings)))


def unreadable_truths(strings: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return whether there is a value which is no boolean."""
    return pc.and_(pc.is_valid(strings), pc.is_null(truths(strings)))


def count(text: str) -> int | None:
    """
    Return the count that a text spells; None if it is none, negative or above 2⁶³ − 1.

    Examples
    --------
    >>> [count(text) for text in ("1e+05", "1.2345678E7", "12,345", "1.234.567", "41.67", "0.2", "-3", "x")]
    [100000, 12345678, 12345, 1234567, 42, 1, None, None]
    """
    exact = _number(text)
    return None if exact is None else int(exact.to_integral_value(ROUND_HALF_UP)) or int(exact > 0)


def _number(text: str) -> Decimal | None:
    for spelling, replaced in _SPELLINGS:
        if spelling.fullmatch(text):
            text = text.translate(str.maketrans(replaced))
            break
    exact = Decimal(text) if _NUMBER.fullmatch(text) else None
    return None if exact is None or exact > _LARGEST else exact


def _has_decimals(text: str) -> bool:
    exact = _number(text)
    return exact is not None and exact != exact.to_integral_value()


def truth(text: str) -> bool | None:
    """Return the boolean that a text spells; None if it is none."""
    return _TRUTHS.get(re.sub(r"\.0+$", "", text.lower()))


def _each(strings: pa.ChunkedArray, read: Callable, dtype: pa.DataType) -> pa.ChunkedArray:
    """Apply a function once to each distinct string."""
    found = by_distinct(strings, lambda text: None if text is None else read(text), dtype)
    return pa.chunked_array([found])
