"""Tokens are those of the reference implementation, and are made without a loop over receptors."""

from airrvec.input.germline import v_loops
from airrvec.model import tokens

import numpy as np
import pyarrow as pa
import pytest
import tidytcells
from hypothesis import given
from hypothesis import strategies as st
from libtcrlm import tokeniser
from libtcrlm.schema import make_tcr_from_components

TOKENISERS = {
    tokens.ALL_LOOPS: tokeniser.CdrTokeniser(),
    ("cdr3a", "cdr3b"): tokeniser.Cdr3Tokeniser(),
    ("cdr1a", "cdr2a", "cdr3a"): tokeniser.AlphaCdrTokeniser(),
    ("cdr1b", "cdr2b", "cdr3b"): tokeniser.BetaCdrTokeniser(),
}


def functional_v(locus: str) -> list[str]:
    """All functional V genes of a locus, and all their functional alleles."""
    return sorted(
        symbol
        for precision in ("gene", "allele")
        for symbol in tidytcells.tr.query(
            species="homosapiens", contains_pattern=f"{locus}V", precision=precision, functionality="F"
        )
    )


ALPHA, BETA = functional_v("TRA"), functional_v("TRB")

junctions = st.text(tokens.AMINO_ACIDS, min_size=0, max_size=25).map(lambda middle: f"C{middle}F")
receptors = st.fixed_dictionaries(
    {
        "tra_v_call": st.none() | st.sampled_from(ALPHA),
        "tra_junction_aa": st.none() | junctions,
        "trb_v_call": st.none() | st.sampled_from(BETA),
        "trb_junction_aa": st.none() | junctions,
    }
)


def receptor_table(rows: list[dict]) -> pa.Table:
    names = ["tra_v_call", "tra_junction_aa", "trb_v_call", "trb_junction_aa"]
    schema = pa.schema([("species", pa.string()), *((name, pa.string()) for name in names)])
    return pa.Table.from_pylist([{"species": "homosapiens", **row} for row in rows], schema)


def by_reference(row: dict, loops: tuple[str, ...]) -> np.ndarray:
    receptor = make_tcr_from_components(
        row["tra_v_call"], row["tra_junction_aa"], row["trb_v_call"], row["trb_junction_aa"]
    )
    try:
        tokens_of_reference = TOKENISERS[loops].tokenise(receptor).numpy()
    except RuntimeError:  # the reference refuses a receptor without any loop
        tokens_of_reference = np.array([[tokens.CLS, 0, 0, 0]])
    return tokens_of_reference


@pytest.mark.parametrize("loops", TOKENISERS, ids=["-".join(loops) for loops in TOKENISERS])
@given(rows=st.lists(receptors, min_size=1, max_size=8))
def test_tokens_are_the_references(loops, rows):
    made = tokens.tokenise(receptor_table(rows), loops)
    assert len(made) == len(rows)
    for index, row in enumerate(rows):
        own = made.values[made.offsets[index] : made.offsets[index + 1]]
        np.testing.assert_array_equal(own, by_reference(row, loops))


@pytest.mark.parametrize("v_call", ALPHA + BETA)
def test_germline_loops_are_the_references(v_call):
    alpha = v_call.startswith("TRA")
    receptor = make_tcr_from_components(v_call if alpha else None, None, None if alpha else v_call, None)
    chain = "a" if alpha else "b"
    expected = (getattr(receptor, f"cdr1{chain}_sequence"), getattr(receptor, f"cdr2{chain}_sequence"))
    assert v_loops(v_call, "homosapiens") == expected


def test_a_receptor_is_laid_out_as_the_paper_says():
    table = receptor_table([{"tra_junction_aa": "CAF", "trb_junction_aa": "CW"}])
    a, c, f, w = (tokens.FIRST_AMINO_ACID + tokens.AMINO_ACIDS.index(letter) for letter in "ACFW")
    assert tokens.tokenise(table).values.tolist() == [
        [tokens.CLS, 0, 0, 0],
        [c, 1, 3, 3],
        [a, 2, 3, 3],
        [f, 3, 3, 3],
        [c, 1, 2, 6],
        [w, 2, 2, 6],
    ]


def test_a_letter_that_is_no_amino_acid_is_refused():
    rows = [{"tra_junction_aa": "CAF"}, {"tra_junction_aa": "CAXF"}]
    with pytest.raises(ValueError, match=r"receptor 1 has a residue that is no amino acid: .*CAXF"):
        tokens.tokenise(receptor_table(rows))


def test_a_junction_too_long_for_a_byte_is_refused():
    with pytest.raises(ValueError, match="receptor 0 has a loop of 300 residues"):
        tokens.tokenise(receptor_table([{"tra_junction_aa": "C" * 300}]))


def test_sliced_and_chunked_tables_give_the_same_tokens():
    rows = [{"tra_v_call": "TRAV1-1*01", "tra_junction_aa": f"CA{'G' * n}F"} for n in range(9)]
    whole = receptor_table(rows)
    chunked = pa.concat_tables([whole.slice(0, 2), whole.slice(2, 3), whole.slice(5)])
    expected = tokens.tokenise(whole)
    np.testing.assert_array_equal(tokens.tokenise(chunked).values, expected.values)
    part = tokens.tokenise(whole.slice(3, 4))
    np.testing.assert_array_equal(part.values, expected.values[expected.offsets[3] : expected.offsets[7]])


def test_tokens_of_some_receptors_are_those_of_their_table():
    rows = [{"trb_junction_aa": f"C{'A' * n}F", "tra_v_call": "TRAV1-2*01"} for n in range(7)]
    whole = receptor_table(rows)
    for chosen in ([5, 0, 0, 3], [2], []):
        expected = tokens.tokenise(whole.take(pa.array(chosen, pa.int64())))
        taken = tokens.tokenise(whole).take(np.array(chosen, np.int64))
        np.testing.assert_array_equal(taken.values, expected.values)
        np.testing.assert_array_equal(taken.offsets, expected.offsets)


def test_no_receptors_give_no_tokens():
    assert len(tokens.tokenise(receptor_table([]))) == 0
