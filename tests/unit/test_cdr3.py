"""Junctions from CDR3s without their ends, and the column map for a table that cannot be read otherwise."""

import json
import re

from airrvec.core.errors import InputError
from airrvec.input import normalise, reading

import pytest
from inputs import (
    ALPHA,
    ALPHA_2,
    BETA,
    BETA_2,
    NO_CHAIN,
    assert_conserved,
    chains_of,
    normalised_text,
    rejected,
    text,
)

AIRR = ("cell_id", "v_call", "j_call", "junction_aa", "cdr3_aa")
ENDS = ("cell_id", "built_junctions", "tra_junction_aa_raw", "trb_junction_aa_raw")


def cut(chain: tuple) -> tuple:
    """V gene, J gene, no junction, and the CDR3."""
    return (*chain[:2], None, chain[2][1:-1])


def whole(chain: tuple) -> tuple:
    return (*chain, chain[2][1:-1])


@pytest.mark.parametrize("as_json", [False, True])
def test_where_the_junction_is_empty_it_is_built_from_the_cdr3(as_json, tmp_path):
    rows = [("a", *cut(ALPHA)), ("a", *whole(BETA)), ("b", *cut(ALPHA_2)), ("b", *cut(BETA_2))]
    content = text(AIRR, rows)
    if as_json:
        records = [dict(zip(AIRR, row, strict=True)) for row in rows]
        content = json.dumps({"Rearrangement": records})
    result = normalised_text(tmp_path / "x", content)
    assert chains_of(result) == [(*ALPHA, *BETA), (*ALPHA_2, *BETA_2)]
    assert [tuple(cell[name] for name in ENDS) for cell in result.cells.to_pylist()] == [
        ("a", "tra_junction_aa", "AVRDSWGKLQ", BETA[2]),
        ("b", "tra_junction_aa,trb_junction_aa", "AVNNNARLM", "SARDSYEQY"),
    ]
    assert result.counts["built_junctions"] == result.counts["mended_junctions"] == 3
    assert "3 junctions were built from cdr3_aa because junction_aa is empty" in result.counts["warnings"]
    assert_conserved(result, 4)


def test_a_table_may_have_the_cdr3_alone(tmp_path):
    columns = ("v_call", "j_call", "cdr3_aa")
    rows = [(*BETA[:2], BETA[2][1:-1]), ("TRAV8-3", "TRAJ33*01", "AVMDSNYQLI"), (*BETA[:2], "KYF")]
    rows += [(*BETA[:2], "ASS*TEAF"), (*BETA[:2], None)]
    result = normalised_text(tmp_path / "x.tsv", text(columns, rows))
    assert result.counts["format"] == "airr"
    assert chains_of(result) == [(*NO_CHAIN, *BETA), ("TRAV8-3", "TRAJ33*01", "CAVMDSNYQLIW", *NO_CHAIN)]
    assert rejected(result) == [
        (3, "junction_aa", "KYF", "junction_aa lacks a conserved end and is too short to be a CDR3"),
        (4, "junction_aa", "ASS*TEAF", "junction_aa holds a stop codon (*)"),
        (5, "junction_aa", None, "junction_aa is missing"),
    ]


def test_a_junction_that_is_there_is_taken_whatever_the_cdr3(tmp_path):
    rows = [("a", *BETA, "ASSLGNTEAF"), ("b", *BETA_2[:2], "CASS*F", BETA_2[2][1:-1])]
    result = normalised_text(tmp_path / "x.tsv", text(AIRR, rows))
    assert chains_of(result) == [(*NO_CHAIN, *BETA)]
    assert result.cells["built_junctions"].to_pylist() == [None]
    assert result.counts["built_junctions"] == 0
    assert rejected(result) == [(2, "junction_aa", "CASS*F", "junction_aa holds a stop codon (*)")]


# --- The column map that would work.


def suggested(path, **options) -> dict:
    source = reading.open_chains(path, **options)
    with pytest.raises(InputError, match=r"none of the . rows could be read as a receptor") as error:
        normalise.normalise(source, sample_id="s", species="homosapiens")
    found = re.search(r"Other columns contain receptors: try the column map (\{.*\})\.$", str(error.value))
    return json.loads(found[1]) if found else {}


def cells_with(path, columns: dict) -> list[tuple]:
    source = reading.open_chains(path, columns=columns)
    return chains_of(normalise.normalise(source, sample_id="s", species="homosapiens"))


def test_an_unread_table_is_told_the_column_map_that_reads_it(tmp_path):
    columns = ("sequence_id", "cell_id", "v_call", "j_call", "junction_aa", "cdr3_nt", "CDR3.aa", "peptide")
    rows = [
        ("s1", "a", *ALPHA[:2], None, "TGTGCCAGC", ALPHA[2], "GILGFVFTL"),
        ("s2", "a", *BETA[:2], None, "TGTGCCTTT", BETA[2][1:-1], "NLVPMVATV"),
    ]
    path = tmp_path / "x.tsv"
    path.write_text(text(columns, rows))
    found = suggested(path)
    names = {"v_call": "v_call", "j_call": "j_call", "junction_aa": "CDR3.aa", "cell_id": "cell_id"}
    assert found == names | {"epitope": "peptide"}
    assert cells_with(path, found) == [(*ALPHA, *BETA)]


def test_a_wrong_column_map_is_told_the_right_one(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(text(("V", "J", "CDR3", "clone"), [(*BETA, "1"), (*BETA_2, "2")], ","))
    wrong = {"v_call": "J", "j_call": "V", "junction_aa": "CDR3"}
    found = suggested(path, columns=wrong)
    assert found == {"v_call": "V", "j_call": "J", "junction_aa": "CDR3"}
    assert cells_with(path, found) == [(*NO_CHAIN, *BETA), (*NO_CHAIN, *BETA_2)]


@pytest.mark.parametrize(
    "chain",
    [
        ("TRBV99*01", "TRBJ1-1*01", None, "ASSEGTEAF"),  # no V gene
        ("TRBV2*01", "TRBJ1-1*01", None, "ASS*GTEAF"),  # no CDR3
        ("TRBV2*01", "TRBJ1-1*01", None, None),
        ("TRBV2*01", "TRBJ1-1*01", None, "TGTGCCAGC"),
    ],
)
def test_no_column_map_is_suggested_that_does_not_read_the_table(chain, tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text(text(("v_call", "j_call", "junction_aa", "other"), [chain] * 2))
    assert suggested(path) == {}
