"""
Missing words, counts and booleans, as people, R, Java, Excel and pandas write them.

What is there and cannot be read is told from what is missing.
"""

import re
from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

from airrvec.core.tables import map_distinct

import pyarrow as pa
import pyarrow.compute as pc

# In lower case. Of pandas, R, Excel in several languages, SQL, MiXCR, VDJtools and immunoSEQ.
_MISSING = (
    *("", "na", "n/a", "n.a.", "n.a", "nd", "n/d", "n.d.", "nan", "nat", "none", "null", "nil", "unk", "tbd"),
    *("#n/a", "#na", "#nv", "#n/d", "#n/v", "#null!", "#name?", "#value!", "#ref!", "#div/0!", "#num!"),
    *(
        "#wert!",
        "#bezug!",
        "#zahl!",
        "#valeur!",
        "#nom?",
        "#nombre?",
        "#nombre!",
        "#¡valor!",
        "#valor!",
        "\\n",
    ),
    *(
        "undefined",
        "unknown",
        "unresolved",
        "undetermined",
        "unassigned",
        "unspecified",
        "unmatched",
        "missing",
    ),
    *(
        "no data",
        "no cell",
        "no match",
        "empty",
        "contamination",
        "unbekannt",
        "fehlt",
        "inconnu",
        "desconocido",
    ),
    *("na_na", "none_none", "nan_nan", "na;na", "none;none"),  # scRepertoire, for two chains
    *(
        f"not {word}"
        for word in ("applicable", "assigned", "available", "defined", "detected", "determined", "found")
    ),
    *(f"not {word}" for word in ("known", "provided", "reported", "specified")),
)
_WRAPPED = ("na", "nan", "nat", "none", "null", "nil", "unknown", "missing")  # as pandas and SQL show them
_MARKS = ".-–—?*_/"  # a value of these alone, such as "--"


def _spellings() -> Iterator[str]:
    """Yield each missing word with blanks, underscores or dashes, and in the cases that are met."""
    words = [*_MISSING, *(f"{left}{word}{right}" for word in _WRAPPED for left, right in ("<>", "()", "[]"))]
    for word in words:
        for spelled in {word, word.replace(" ", "_"), word.replace(" ", "-"), word.replace(" ", "")}:
            yield from (spelled, spelled.upper(), spelled.capitalize(), spelled.title())
    yield from ("NaN", "NaT", "<NaN>", "N/a", "NaN_NaN")
    yield from (mark * n for mark in _MARKS for n in range(1, 6))


MISSING = sorted(set(_spellings()))

# Of AIRR, Python, R, IMGT, immunoSEQ, and of Excel in the languages that translate them.
_TRUE = (
    "true, t, 1, +, yes, y, pass, passed, wahr, ja, vrai, oui, verdadero, verdadeiro, sí, si, sim, vero,"
    " waar, prawda, tak, sant, sand, sann, tosi, истина, да, pravda, istina, igaz, doğru, adevărat, cert,"
    " tiesa, αληθής, αληθης, 是, 真, functional, in, inframe"
)
_FALSE = (
    "false, f, 0, no, n, fail, failed, falsch, nein, faux, non, falso, não, onwaar, nee, fałsz, nie, falskt,"
    " nej, falsk, usann, nei, epätosi, ложь, нет, nepravda, laž, hamis, yanlış, fals, netiesa, ψευδής,"
    " ψευδης, 否, 偽, 假, nonfunctional, out, outofframe, stop, no rearrangement found"
)
_TRUTHS = {**dict.fromkeys(re.split(r", *", _TRUE), True), **dict.fromkeys(re.split(r", *", _FALSE), False)}
# Words of IMGT, AIRR, immunoSEQ and MiXCR on a rearrangement, in the first that is met.
_UNPRODUCTIVE = re.compile(
    r"\b(un|non|not)[ _-]?(productive|functional)|out[ _-]of[ _-]frame|stop[ _-]codon|no junction found"
)
_PRODUCTIVE = re.compile(r"productive( \(.*\))?|(v-(\(d\)-)?j )?in[ _-]frame")

_LARGEST = 2**63 - 1
_BLANKS = " '’\u00a0\u2009\u202f"  # between thousands
# Between the thousands of a number, by its decimal mark: 12,345.6 · 1.234.567,8 · 12 345 and 12'345.
_THOUSANDS = {".": "," + _BLANKS, ",": "." + _BLANKS}
_EXPONENT = r"(e[+-]?[0-9]{1,3})?"
_GROUP = "[0-9]{3}"
_SHAPES = {
    mark: re.compile(
        rf"\+?([0-9]+|[0-9][0-9]?[0-9]?(?P<between>[{separators}]){_GROUP}(?:(?P=between){_GROUP})*)?"
        rf"([{mark}][0-9]*)?" + _EXPONENT,
        re.IGNORECASE,
    )
    for mark, separators in _THOUSANDS.items()
}
_CLEANED = {
    mark: str.maketrans(dict.fromkeys(thousands, "") | {mark: "."}) for mark, thousands in _THOUSANDS.items()
}


def trimmed(strings: pa.ChunkedArray | pa.Array):
    """Return strings without blanks around them; words for a missing value become null."""
    words = pc.utf8_trim_whitespace(strings)
    return pc.if_else(pc.is_in(words, pa.array(MISSING)), pa.scalar(None, pa.string()), words)


def counts(strings: pa.ChunkedArray, mark: str | None = None) -> pa.ChunkedArray:
    """
    Return the counts that strings spell, int64; null for what is no count.

    A count with decimals is rounded, and is at least 1 if it is not 0.

    Parameters
    ----------
    strings : pyarrow.ChunkedArray
    mark : str, optional
        Decimal mark of the column, from `decimal_mark`; of each value by itself if not given.
    """
    digits = plain_digits(strings)
    return _each(strings, lambda text: count(text, mark), pa.int64()) if digits is None else digits


def decimal_mark(strings: pa.ChunkedArray) -> str | None:
    """
    Return the decimal mark of a column of counts, ``.`` or ``,``; None if it shows none, or both.

    A mark is one of decimals if other than three digits follow it. Where three follow it in all values, a
    comma separates thousands, and so does a point, if smaller numbers of the column have none.

    Examples
    --------
    >>> [decimal_mark(pa.chunked_array([words])) for words in (["1.234", "987"], ["1.000", "3.5"], ["41,67"])]
    [',', '.', ',']
    """
    if plain_digits(strings) is not None:
        return None
    words = pc.unique(strings.drop_null()).to_pylist()
    marked = [word for word in words if "." in word or "," in word]
    marks = {_decimal_mark(word) for word in marked}
    sure = marks & {".", ","}
    if sure:
        return sure.pop() if len(sure) == 1 else None
    if "three after ." in marks and len(marked) < len(words):
        return ","
    return "." if marks else None


def _decimal_mark(word: str) -> str:
    last = "." if word.rfind(".") > word.rfind(",") else ","
    other = {".": ",", ",": "."}[last]
    before, _, after = word.rpartition(last)
    if other in word:
        return last
    if last in before:  # it occurs twice
        return other
    is_group = re.fullmatch(r"[0-9]{3}", after) and re.fullmatch(r"[1-9][0-9]{0,2}", before)
    return f"three after {last}" if is_group else last


def plain_digits(strings: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return the counts of a column written in digits only; None if a value has another character."""
    if pc.all(pc.ascii_is_decimal(strings)).as_py() is False:
        return None
    try:
        return strings.cast(pa.int64())
    except pa.ArrowInvalid:  # above 2⁶³ − 1
        return None


def rounded_counts(strings: pa.ChunkedArray, mark: str | None = None) -> pa.ChunkedArray:
    """Return whether a value is a number above 1 with decimals, which `counts` rounds."""
    return _each(strings, lambda text: _has_decimals(text, mark) and not _is_share(text, mark), pa.bool_())


def shares(strings: pa.ChunkedArray, mark: str | None = None) -> pa.ChunkedArray:
    """Return whether a value is a number between 0 and 1."""
    return _each(strings, lambda text: _is_share(text, mark), pa.bool_())


def truths(strings: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the booleans that strings spell, in any case; null for what is none."""
    return _each(strings, truth, pa.bool_())


def unreadable_counts(strings: pa.ChunkedArray, mark: str | None = None) -> pa.ChunkedArray:
    """Return whether there is a value which is no count."""
    return pc.and_(pc.is_valid(strings), pc.is_null(counts(strings, mark)))


def count(text: str, mark: str | None = None) -> int | None:
    """
    Return the count that a text spells; None if it is none, negative or above 2⁶³ − 1.

    Examples
    --------
    >>> [count(text) for text in ("1e+05", "1.2345678E7", "12,345", "1.234.567", "41.67", "0.2", "-3", "x")]
    [100000, 12345678, 12345, 1234567, 42, 1, None, None]
    """
    exact = _number(text, mark)
    return None if exact is None else int(exact.to_integral_value(ROUND_HALF_UP)) or int(exact > 0)


def _number(text: str, mark: str | None) -> Decimal | None:
    mark = mark or _decimal_mark(text)
    # By itself, 12,345 is thousands, and 1.234 is not.
    mark = {"three after ,": ".", "three after .": "."}.get(mark, mark)
    if not _SHAPES[mark].fullmatch(text) or not re.search("[0-9]", text):
        return None
    try:
        exact = Decimal(text.translate(_CLEANED[mark]))
    except InvalidOperation:  # no digit before the exponent
        return None
    return None if exact > _LARGEST else exact


def _has_decimals(text: str, mark: str | None) -> bool:
    exact = _number(text, mark)
    return exact is not None and exact != exact.to_integral_value()


def _is_share(text: str, mark: str | None) -> bool:
    exact = _number(text, mark)
    return exact is not None and 0 < exact < 1


def truth(text: str) -> bool | None:
    """Return the boolean that a text spells; None if it is none."""
    word = re.sub(r"\.0+$", "", text.lower())
    if word in _TRUTHS:
        return _TRUTHS[word]
    return False if _UNPRODUCTIVE.search(word) else True if _PRODUCTIVE.fullmatch(word) else None


def _each(strings: pa.ChunkedArray, read: Callable, dtype: pa.DataType) -> pa.ChunkedArray:
    """Apply a function once to each distinct string."""
    parsed = map_distinct(strings, lambda text: None if text is None else read(text), dtype)
    return pa.chunked_array([parsed])
