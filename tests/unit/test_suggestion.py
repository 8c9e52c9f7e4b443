"""The column map of a table of an unknown layout: proposed, tried, or what the table lacks for one."""

import json
import re

from airrvec.core.errors import InputError
from airrvec.input import reading
from airrvec.input.normalise import normalise

import pytest
from format_tables import columns_of
from inputs import ALPHA, ALPHA_2, BETA, BETA_2, PAIR, chains_of, text

MOUSE = ("TRBV13-2*01", "TRBJ2-1*01", "CASGEQFF")


def told(path, header, rows, delimiter=",") -> str:
    path.write_text(text(header, rows, delimiter))
    with pytest.raises(InputError, match="match no known format") as error:
        reading.open_chains(path)
    return str(error.value)


def proposed(path, header, rows) -> dict:
    return json.loads(re.search(r"reads its first rows: (\{.*?\}); give", told(path, header, rows))[1])


def read(path, columns, **options):
    source = reading.open_chains(path, columns=columns)
    return normalise(source, sample_id="s", **{"species": "homosapiens", **options})


def test_one_chain_per_row(tmp_path):
    header = ("Barcode", "V segment", "J segment", "CDR3 amino acid", "CDR3 nucleotide", "UMIs", "Copies")
    rows = [("A", *ALPHA, "TGTGCC", 3, 30), ("A", *BETA, "TGTGCA", 5, 50)]
    columns = proposed(tmp_path / "x.csv", header, rows)
    result = read(tmp_path / "x.csv", columns)
    assert chains_of(result) == [PAIR]
    assert columns_of(result, "cell_id", "umi_count", "duplicate_count") == [("A", 8, 80)]


def test_both_chains_per_row(tmp_path):
    header = ("clone", "Beta V", "Beta CDR3", "Beta J", "Alpha V", "Alpha CDR3", "Alpha J", "Epitope")
    rows = [
        ("1", *BETA[::2], BETA[1], *ALPHA[::2], ALPHA[1], "GILGFVFTL"),
        ("2", *BETA_2[::2], BETA_2[1], *ALPHA_2[::2], ALPHA_2[1], "NLVPMVATV"),
    ]
    columns = proposed(tmp_path / "x.csv", header, rows)
    result = read(tmp_path / "x.csv", columns)
    assert chains_of(result) == [PAIR, (*ALPHA_2, *BETA_2)]
    assert columns_of(result, "epitope") == [("GILGFVFTL",), ("NLVPMVATV",)]


def test_mouse(tmp_path):
    columns = proposed(tmp_path / "x.csv", ("a", "b", "c"), [MOUSE] * 2)
    assert columns == {"v_call": "a", "j_call": "b", "junction_aa": "c"}
    assert len(read(tmp_path / "x.csv", columns, species="musmusculus").cells) == 2


@pytest.mark.parametrize(
    ("header", "row", "reason"),
    [
        (
            ("gene", "n"),
            (BETA[0], 1),
            "'gene' holds V genes, but no column holds CDR3s that airrvec can read",
        ),
        (
            ("J", "aa"),
            BETA[1:],
            "'J' holds J genes, 'aa' holds CDR3s, but no column holds V genes that airrvec",
        ),
        (("a", "b"), (1, 2), "no column holds V genes or CDR3s that airrvec can read"),
    ],
)
def test_what_is_missing(header, row, reason, tmp_path):
    assert f"and no column map reads it: {reason}" in told(tmp_path / "x.csv", header, [row])
