"""Any table at all: rows are conserved, orders do not matter, damage is an InputError."""

import gzip
import tempfile
from pathlib import Path

from airrvec.core.errors import InputError

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inputs import ALPHA, BETA, DATA, NO_CHAIN, assert_conserved, chains_of, normalised_text, rejected, text

ANY_TABLE = settings(max_examples=40, deadline=None, derandomize=True)

WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n"), max_size=12)
JUNCTIONS = st.one_of(
    st.from_regex(r"C[ACDEFGHIKLMNPQRSTVWY]{2,15}F", fullmatch=True),
    st.sampled_from(
        ["CASSF", "cassf", "CAS*F", "CAS_F", "CASXF", "C" * 61, "C" * 200, "ASS", "", "None", "1"]
    ),
    WORDS,
)


def genes(locus: str, segment: str) -> st.SearchStrategy:
    valid = {
        "TRAV": ["TRAV1-1*01", "TRAV14DV4", "TRAV12-2"],
        "TRAJ": ["TRAJ24*01", "TRAJ35"],
        "TRBV": ["TRBV2*01", "trbv20-1", "TRBV28*02"],
        "TRBJ": ["TRBJ1-1*01", "TRBJ2-7"],
    }[locus + segment]
    broken = ["", "None", "TRBV1", "TRAV99", "IGHV3-23*01", "TRAV1-1*01", "TRBJ1-1*01", "TRDV1", "*"]
    return st.one_of(st.sampled_from(valid), st.sampled_from(valid), st.sampled_from(broken), WORDS)


def chain(locus: str) -> list[st.SearchStrategy]:
    return [genes(locus, "V"), genes(locus, "J"), JUNCTIONS]


BOTH = [*chain("TRA"), *chain("TRB")]
EITHER = [st.one_of(*pair) for pair in zip(chain("TRA"), chain("TRB"), strict=True)]
CELL = st.sampled_from(["a", "b", "c", "", "ü"])
LOCUS = st.sampled_from(["TRA", "TRB", "IGH", "tra", "Multi", "", "x"])
FLAG = st.sampled_from(["True", "true", "T", "False", "F", "", "?"])
SPECIES = st.sampled_from(["HomoSapiens", "MusMusculus", "MacacaMulatta", "", "human"])

# Columns; what may stand in them; a row that is surely kept. A "#" is filled with a number of the row.
LAYOUTS = {
    "airr": (
        ["v_call", "j_call", "junction_aa", "cell_id", "locus", "productive", "umi_count"],
        [*EITHER, CELL, LOCUS, FLAG, st.just("#")],
        [*ALPHA, "sure", "TRA", "T", "#"],
    ),
    "10x": (
        ["v_gene", "j_gene", "cdr3", "barcode", "chain", "is_cell", "umis"],
        [*EITHER, CELL, LOCUS, FLAG, st.just("#")],
        [*BETA, "sure", "TRB", "true", "#"],
    ),
    "vdjdb": (
        ["v.alpha", "j.alpha", "cdr3.alpha", "v.beta", "j.beta", "cdr3.beta", "species", "antigen.epitope"],
        [*BOTH, SPECIES, WORDS],
        [*ALPHA, *BETA, "HomoSapiens", "sure"],
    ),
    "vdjdb export": (
        ["V", "J", "CDR3", "Gene", "complex.id", "Species", "Epitope"],
        [*EITHER, LOCUS, st.sampled_from(["0", "#"]), SPECIES, WORDS],
        [*BETA, "TRB", "0", "HomoSapiens", "sure"],
    ),
    "sceptr": (
        ["TRAV", "TRAJ", "CDR3A", "TRBV", "TRBJ", "CDR3B", "Epitope"],
        [*BOTH, WORDS],
        [*ALPHA, *BETA, "sure"],
    ),
    "tcrdist": (
        ["v_a_gene", "j_a_gene", "cdr3_a_aa", "v_b_gene", "j_b_gene", "cdr3_b_aa", "clone_id", "count"],
        [*BOTH, WORDS, st.sampled_from(["#", "-1", "1e3", "many", ""])],
        [*ALPHA, *NO_CHAIN, "sure", "1"],
    ),
}
# The needed columns come first: a row that reaches them all, and no more, is filled up.
NEEDED = {"airr": 3, "10x": 5, "vdjdb": 6, "vdjdb export": 7, "sceptr": 6, "tcrdist": 6}


def filled(layout: str, row: list) -> list | None:
    """A row as it is read, or None where it does not fit the header."""
    n_columns = len(LAYOUTS[layout][0])
    return row + [""] * (n_columns - len(row)) if NEEDED[layout] <= len(row) <= n_columns else None


@st.composite
def table_rows(draw, layout: str) -> list[list]:
    columns, cells, sure = LAYOUTS[layout]
    rows = draw(st.lists(st.tuples(*cells).map(list), max_size=10))
    rows.insert(draw(st.integers(0, len(rows))), list(sure))
    rows = [
        [str(number) if cell == "#" else cell for cell in row] for number, row in enumerate(rows, start=1)
    ]
    ragged = st.lists(WORDS, min_size=1, max_size=12).filter(lambda row: len(row) != len(columns))
    for row in draw(st.lists(ragged, max_size=3)):
        rows.insert(draw(st.integers(0, len(rows))), row)
    return rows


def normalised_rows(layout: str, columns: list[str], rows: list[list], pack=bytes):
    delimiter = "," if layout in ("10x", "tcrdist") else "\t"
    with tempfile.TemporaryDirectory() as folder:
        content = text(columns, rows, delimiter).encode()
        return normalised_text(Path(folder) / "table", pack(content))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_are_conserved_whatever_they_hold(layout):
    columns = LAYOUTS[layout][0]

    @ANY_TABLE
    @given(rows=table_rows(layout), pack=st.sampled_from([bytes, gzip.compress]))
    def check(rows, pack):
        result = normalised_rows(layout, columns, rows, pack)
        assert_conserved(result, len(rows))
        malformed = {number for number, row in enumerate(rows, start=1) if filled(layout, row) is None}
        n_short = sum(len(row) < len(columns) for row in rows if filled(layout, row))
        assert result.counts["rows_filled"] == n_short
        reasons = {
            row: reason for row, _field, _value, reason in rejected(result) if ", the header" in reason
        }
        n_fields = {row: len(rows[row - 1]) for row in malformed}
        assert reasons == {
            row: f"holds {n} field{'s' * (n != 1)}, the header {len(columns)}" for row, n in n_fields.items()
        }
        assert all(chains[2] or chains[5] for chains in chains_of(result))

    check()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_order_of_rows_and_columns_does_not_change_the_receptors(layout):
    columns = LAYOUTS[layout][0]

    @ANY_TABLE
    @given(rows=table_rows(layout), seed=st.randoms(use_true_random=False))
    def check(rows, seed):
        row_order = seed.sample(range(len(rows)), len(rows))
        column_order = seed.sample(range(len(columns)), len(columns))
        permuted = [
            [whole[column] for column in column_order] if (whole := filled(layout, rows[row])) else rows[row]
            for row in row_order
        ]
        one = normalised_rows(layout, columns, rows)
        other = normalised_rows(layout, [columns[column] for column in column_order], permuted)
        ids = [sorted(result.cells["receptor_id"].to_pylist()) for result in (one, other)]
        assert ids[0] == ids[1]
        assert one.counts["pairing"] == other.counts["pairing"]
        assert one.counts["rows_rejected"] == other.counts["rows_rejected"]

    check()


@pytest.mark.parametrize("path", sorted(DATA.glob("*.[ct]sv")), ids=lambda path: path.name)
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_damaged_bytes_are_read_or_an_input_error_and_nothing_else(path, pack):
    whole = pack(path.read_bytes())
    place = st.integers(0, len(whole))
    damage = st.one_of(
        st.binary(max_size=8),
        st.sampled_from([b"\xff", b'"', b"\n", b"\r", b"\0", b"\t", b",", b"\xef\xbb\xbf"]),
    )

    @ANY_TABLE
    @given(edits=st.lists(st.tuples(place, st.integers(0, 40), damage), min_size=1, max_size=4))
    def check(edits):
        content = whole
        for start, length, new in edits:
            content = content[:start] + new + content[start + length :]
        with tempfile.TemporaryDirectory() as folder:
            try:
                result = normalised_text(Path(folder) / "table", content)
            except InputError as error:
                message = str(error)
            else:
                message = "."
                assert_conserved(result, result.counts["rows_in"])
        assert message.endswith(".")
        assert "\n" not in message

    check()
