"""Rows that repeat the header: tables that were joined."""

from airrvec.core.errors import InputError
from airrvec.input.reading import REPEATED_HEADER

import pytest
from inputs import ALPHA, BETA, BETA_2, PAIR, chains_of, normalised_text, rejected

HEADER = "cell_id,v_call,j_call,junction_aa"
FIRST = f"{HEADER}\na,{','.join(ALPHA)}\na,{','.join(BETA)}\n"
SECOND = f"a,{','.join(BETA_2)}\n"
TRUST4 = "#barcode\tcell_type\tchain1\tchain2\tsecondary_chain1\tsecondary_chain2"
TRUST4_CHAIN = "{},*,{},*,TGT,{},9,barcode,99,0"


@pytest.mark.parametrize(
    "header",
    [
        HEADER,
        HEADER.upper(),
        HEADER.replace(",", ", "),
        f"\ufeff{HEADER}",
        f"#{HEADER}",
        HEADER.replace("_", " "),
        '"cell_id","v_call","j_call","junction_aa"',
    ],
)
def test_cells_after_it_are_others(header, tmp_path):
    result = normalised_text(tmp_path / "x.csv", f"{FIRST}{header}\n{SECOND}", "airr")
    assert chains_of(result) == [PAIR, (None, None, None, *BETA_2)]
    assert rejected(result) == [(3, None, None, REPEATED_HEADER)]
    assert result.counts["warnings"][0].startswith("row 3 repeats the header: tables were joined")


@pytest.mark.parametrize(
    ("header", "value", "name"),
    [
        ("v_call,cell_id,j_call,junction_aa", "cell_id", "v_call"),
        ("cell_id,j_call,v_call,junction_aa", "j_call", "v_call"),
        ("barcode,v_call,j_call,junction_aa", "barcode", "cell_id"),
    ],
)
def test_one_with_other_columns_is_an_error(header, value, name, tmp_path):
    with pytest.raises(InputError) as error:
        normalised_text(tmp_path / "x.csv", f"{FIRST}{header}\n{SECOND}", "airr")
    assert (
        f"x.csv, row 3: the row is another header, which names '{value}' where the first names '{name}'"
        in str(error.value)
    )
    assert "give each as a sample of its own" in str(error.value)


def test_that_of_trust4_begins_with_a_hash(tmp_path):
    chains = [TRUST4_CHAIN.format(*chain) for chain in (BETA, ALPHA)]
    row = "\t".join(["AAACCTGAGAACAACT-1", "abT", *chains, "*", "*"])
    other = "\t".join(["AAACCTGAGAACAACT-1", "abT", TRUST4_CHAIN.format(*BETA_2), "*", "*", "*"])
    result = normalised_text(tmp_path / "x.tsv", "\n".join([TRUST4, row, TRUST4, other, ""]))
    assert chains_of(result) == [PAIR, (None, None, None, *BETA_2)]
    assert rejected(result) == [(2, None, None, REPEATED_HEADER)]
