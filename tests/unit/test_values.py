"""Missing words, counts and booleans in the spellings of R, Java, Excel and pandas; what cannot be read."""

from airrvec.core.errors import InputError
from airrvec.input import values

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inputs import BETA, normalised_text, text

COLUMNS = ("v_call", "j_call", "junction_aa", "duplicate_count", "productive")


UNPRODUCTIVE = (
    *("Non productive", "unproductive (stop codons)", "V-(D)-J out-of-frame", "Out of frame, stop codon"),
    *("rearranged sequence (but no junction found)", "FAIL", "FALS", "否"),
)


def column(*words):
    return pa.chunked_array([pa.array(words, pa.string())])


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("7", 7),
        ("3.0", 3),
        ("1e+05", 100_000),
        ("1.2345678E7", 12_345_678),
        ("12,345", 12_345),
        ("1,234,567.00", 1_234_567),
        ("1.234.567", 1_234_567),
        ("1.234,5", 1_235),
        ("12 345", 12_345),
        ("12\u00a0345", 12_345),
        ("12'345", 12_345),
        ("1,23,456", None),
        ("41.67", 42),
        ("41,67", 42),
        ("0.2", 1),
        ("0", 0),
        ("+5", 5),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", None),
        ("1e999", None),
        ("-3", None),
        ("inf", None),
        ("1,2,3", None),
        ("0x10", None),
        ("٣", None),
        ("many", None),
    ],
)
def test_counts(word, expected):
    assert values.count(word) == expected
    assert values.counts(column(word, None)).to_pylist() == [expected, None]
    assert values.unreadable_counts(column(word, None)).to_pylist() == [expected is None, False]


@given(st.integers(0, 2**53))
def test_a_count_is_the_same_in_every_spelling(number):
    spelled = [
        str(number),
        f"{number}.0",
        f"{number:,}",
        f"{number:,}.00",
        f"{number:,}".replace(",", " "),
        f"{number:,}".replace(",", "'"),
        f"{number:.20e}",
        f"{number:.20E}".replace("E+", "E"),
    ]
    assert values.counts(column(*spelled)).to_pylist() == [number] * len(spelled)
    assert values.rounded_counts(column(*spelled)).to_pylist().count(True) == 0


@pytest.mark.parametrize(
    ("words", "mark", "expected"),
    [
        (["1.234", "12.500", "987"], ",", [1_234, 12_500, 987]),
        (["1.234.567", "12.500"], ",", [1_234_567, 12_500]),
        (["1.000", "41,67", "3,5"], ",", [1_000, 42, 4]),
        (["41,67", "1,000", "3,5"], ",", [42, 1, 4]),
        (["1,234", "987"], ".", [1_234, 987]),
        (["1.234", "1.5", "7"], ".", [1, 2, 7]),
        (["1.000", "2.000"], ".", [1, 2]),
        (["1.234E7", "5"], ".", [12_340_000, 5]),
        (["1.5", "1,5"], None, [2, 2]),
        (["7", "8"], None, [7, 8]),
    ],
)
def test_a_mark_has_one_meaning_in_a_column(words, mark, expected):
    assert values.decimal_mark(column(*words, None)) == mark
    assert values.counts(column(*words), mark).to_pylist() == expected


@pytest.mark.parametrize(
    "word", ["TRUE", "t", "1", "1.0", "Yes", "WAHR", "vrai", "productive", "in", "In-frame", "PASS", "是"]
)
def test_true(word):
    assert values.truths(column(word)).to_pylist() == [True]


@pytest.mark.parametrize(
    "word",
    ["False", "f", "0", "0.0", "no", "FALSCH", "FAUX", "unproductive", "Out-of-frame", "stop", *UNPRODUCTIVE],
)
def test_false(word):
    assert values.truths(column(word)).to_pylist() == [False]


@pytest.mark.parametrize("word", ["maybe", "2", "tru", "productive:F"])
def test_neither(word):
    assert values.truths(column(word)).to_pylist() == [None]


@pytest.mark.parametrize(
    "word",
    [
        "",
        " ",
        "NA",
        "n/a",
        "#N/A",
        "<NA>",
        "NaN",
        "None",
        "null",
        "-",
        ".",
        "unknown",
        "Undefined",
        "NO DATA",
        *("#NV", "#N/D", "#WERT!", "#DIV/0!", "ND", "not_found", "Not assigned", "unbekannt", "(null)"),
        *("<none>", r"\N", "--", "***", "NA_NA", "contamination", "N.D."),
    ],
)
def test_missing(word):
    assert values.trimmed(column(word, "x")).to_pylist() == [None, "x"]


def table(*rows):
    return text(COLUMNS, [[*BETA, *row] for row in rows])


def test_a_stray_word_is_counted_and_named(tmp_path):
    good = [("5", "T")] * 30
    result = normalised_text(tmp_path / "x.tsv", table(*good, ("few", "T"), ("7.5", "perhaps")), "airr")
    assert result.cells["duplicate_count"].to_pylist()[-2:] == [None, 8]
    warnings = result.counts["warnings"]
    for sentence in (
        "1 of 32 values in 'duplicate_count' is no count (first: row 31, 'few') and read as missing",
        "1 of 32 counts in 'duplicate_count' have decimals and were rounded (first: row 32, '7.5')",
        "1 of 32 values in 'productive' is neither true nor false (first: row 32, 'perhaps')"
        " and read as missing",
    ):
        assert sentence in warnings


@pytest.mark.parametrize(
    ("n_good", "n_bad", "is_error"),
    [(0, 1, True), (1, 1, False), (17, 2, False), (18, 2, True), (38, 2, False)],
)
def test_many_words_that_cannot_be_read_are_an_error(n_good, n_bad, is_error, tmp_path):
    rows = table(*[("5", "T")] * n_good, *[("5", "perhaps")] * n_bad)
    if not is_error:
        assert normalised_text(tmp_path / "x.tsv", rows, "airr").counts["cells"] == n_good + n_bad
        return
    problem = f"row {n_good + 1}, column 'productive': s: {n_bad} of {n_good + n_bad} values are neither true"
    with pytest.raises(InputError, match=f"^{problem}"):
        normalised_text(tmp_path / "x.tsv", rows, "airr")
