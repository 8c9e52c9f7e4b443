"""A receptor in words: genes and junctions in any order."""

import itertools

from airrvec.app.queries import read_queries, read_receptor
from airrvec.core import schema
from airrvec.core.errors import InputError

import pytest
from hypothesis import given
from hypothesis import strategies as st

ALPHA = {"TRAV": "TRAV27", "CDR3A": "CAGGGSQGNLIF"}
BETA = {"TRBV": "TRBV19", "CDR3B": "CASSIRSSYEQYF"}
PAIR = ["TRAV27", "CAGGGSQGNLIF", "TRAJ42", "TRBV19", "CASSIRSSYEQYF", "TRBJ2-7"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("TRBV19 CASSIRSSYEQYF", BETA),
        ("CASSIRSSYEQYF TRBV19", BETA),
        ("TRBV19, cassirssyeqyf", BETA),
        ("TRBV19*01 CASSIRSSYEQYF TRBJ2-7", {**BETA, "TRBV": "TRBV19*01", "TRBJ": "TRBJ2-7"}),
        ("TCRBV19 CASSIRSSYEQYF", {**BETA, "TRBV": "TCRBV19"}),
        ("CASSIRSSYEQYF", {"CDR3B": "CASSIRSSYEQYF"}),
        ("CAVRDSNYQLIW", {"CDR3A": "CAVRDSNYQLIW"}),
        ("beta CSVGTGGTNEKLFF", {"CDR3B": "CSVGTGGTNEKLFF"}),
        ("TRA CVVNMFF", {"CDR3A": "CVVNMFF"}),
        ("TRAV27 CAGGGSQGNLIF · TRBV19 CASSIRSSYEQYF", {**ALPHA, **BETA}),
        ("CAGGGSQGNLIF CASSIRSSYEQYF TRBV19 TRAV27", {**ALPHA, **BETA}),
        ("TRBV19 TRAV27 CAGGGSQGNLIF CASSIRSSYEQYF", {**ALPHA, **BETA}),
        ("TRBV19 CASSIRSSYEQYF CAGGGSQGNLIF", {**BETA, "CDR3A": "CAGGGSQGNLIF"}),
        ("TRBV19 CASSIRSSYEQYF TRAV27 ? ?", {**BETA, "TRAV": "TRAV27"}),
        ("no α · TRBV19 CASSIRSSYEQYF ?", BETA),
    ],
)  # fmt: skip
def test_words_are_a_receptor(text, expected):
    assert read_receptor(text) == expected


def test_the_words_of_a_pair_in_any_order():
    whole = {**ALPHA, "TRAJ": "TRAJ42", **BETA, "TRBJ": "TRBJ2-7"}
    for words in itertools.permutations(PAIR):
        assert read_receptor(" ".join(words)) == whole


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("TRBV19", "there is no junction"),
        ("", "there is no junction"),
        ("CSVGTGGTNEKLFF", "add its V gene, or the word alpha or beta"),
        ("TRBV19 TRAV27 CSVGTGGTNEKLFF", "there is one junction for two chains"),
        ("TRBV19 CASSIRSSYEQYF CASSLRSSYEQYF", "both junctions are of the same chain"),
        ("CASSIRSSYEQYF CASSF CAVRF", "there are 3 junctions"),
        ("TRGV9 CALWEVQELGKKIKVF", "'TRGV9' is no gene of an α or β chain"),
        ("TRBV19 CASS*RSSYEQYF", "'CASS*RSSYEQYF' is no gene and no junction"),
    ],
)
def test_what_is_no_receptor_is_told(text, problem):
    with pytest.raises(InputError) as error:
        read_receptor(text)
    assert problem in str(error.value)
    assert "Write a receptor as" in str(error.value)


@given(st.text(max_size=40))
def test_any_text_is_a_receptor_or_an_input_error(text):
    try:
        queries = read_queries(text.replace("\0", ""), species="homosapiens")
    except InputError:
        pass  # with a sentence, as other tests show
    else:
        assert len(queries.receptors) == 1


@given(
    st.lists(st.sampled_from([*PAIR, "TRB", "alpha", "?", "TRAV1-2", "CASSF", "x", "TRBC1", "*"]), max_size=7)
)
def test_any_words_are_a_receptor_or_an_input_error(words):
    try:
        found = read_receptor(" ".join(words))
    except InputError:
        pass  # with a sentence, as other tests show
    else:
        assert {"CDR3A", "CDR3B"} & set(found)


def test_words_are_standardised_as_any_input():
    queries = read_queries("TCRBV19 ASSIRSSYEQY TRBJ2-7", species="homosapiens")
    (receptor,) = queries.receptors.to_pylist()
    assert receptor["trb_v_call"] == "TRBV19"
    assert receptor["trb_junction_aa"] == "CASSIRSSYEQYF"
    assert receptor["tra_junction_aa"] is None
    assert queries.names == ["TCRBV19 ASSIRSSYEQY TRBJ2-7"]
    mouse = read_queries("TRBV19 CASSIRSSYEQYF", species="musmusculus").receptors
    assert mouse["species"].to_pylist() == ["musmusculus"]
    assert set(queries.receptors.column_names) == set(schema.RECEPTORS.names)


def test_a_gene_that_does_not_exist_is_told():
    with pytest.raises(InputError, match="v_call is not a V gene listed by IMGT"):
        read_queries("TRBV99 CASSIRSSYEQYF", species="homosapiens")
    with pytest.raises(InputError, match="there is no such file"):
        read_queries("folder/queries.tsv", species="homosapiens")
