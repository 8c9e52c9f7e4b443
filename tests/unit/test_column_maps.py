"""Column maps: fields of pairs and of chains, and rows that they choose."""

import json
import subprocess
import sys

from airrvec.core import schema
from airrvec.core.errors import InputError
from airrvec.input import reading
from airrvec.input.files import text_table
from airrvec.input.normalise import normalise

import pytest
from inputs import BETA, BETA_2, DATA, NO_CHAIN, ROOT, assert_conserved, chains_of, normalised, rejected
from outcomes import chains_in, same

PAIR_MAP = {
    "tra_v_call": "TRAV",
    "tra_j_call": "TRAJ",
    "tra_junction_aa": "CDR3A",
    "trb_v_call": "TRBV",
    "trb_j_call": "TRBJ",
    "trb_junction_aa": "CDR3B",
    "cell_id": "cell_id",
    "duplicate_count": "duplicate_count",
    "epitope": "Epitope",
    "mhc_a": "MHCA",
    "mhc_b": "MHCB",
    "reference_id": "reference_id",
}
CHAIN_MAP = {
    "v_call": "v_gene",
    "j_call": "j_gene",
    "junction_aa": "cdr3",
    "locus": "chain",
    "cell_id": "barcode",
    "productive": "productive",
    "is_cell": "is_cell",
    "duplicate_count": "reads",
    "umi_count": "umis",
}


@pytest.mark.parametrize("name", ["sceptr.tsv", "sceptr.parquet"])
def test_column_map_of_pairs_gives_what_the_format_gives(name):
    mapped = normalise(
        reading.open_chains(DATA / name, columns=PAIR_MAP), sample_id="s", species="homosapiens"
    )
    assert mapped.counts["format"] == "columns"
    mapped.counts["format"] = "sceptr"
    same(mapped, normalised(DATA / "sceptr.tsv"))


@pytest.mark.parametrize("name", ["10x.csv", "10x_contigs.json"])
def test_column_map_of_chains_gives_what_the_format_gives(name):
    mapped, of_format = chains_in(DATA / name, columns=CHAIN_MAP), chains_in(DATA / name)
    assert mapped["cell_key"].equals(mapped["cell_id"])
    left_out = ["cell_key", "chain_key", "high_confidence", *schema.KEPT_FIELDS]
    assert mapped.drop_columns(left_out).equals(of_format.drop_columns(left_out))


def test_column_map_of_flat_json_records(tmp_path):
    records = [{"beta": BETA[2], "n": 3}, {"n": 2, "beta": BETA_2[2], "who": "x"}]
    (tmp_path / "x").write_text(json.dumps(records))
    columns = {"trb_junction_aa": "beta", "duplicate_count": "n", "cell_id": "who"}
    chains = chains_in(tmp_path / "x", columns=columns)
    assert chains.select(["row", "locus", "junction_aa", "duplicate_count", "cell_id"]).to_pylist() == [
        {"row": 1, "locus": "TRB", "junction_aa": BETA[2], "duplicate_count": 3, "cell_id": None},
        {"row": 2, "locus": "TRB", "junction_aa": BETA_2[2], "duplicate_count": 2, "cell_id": "x"},
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", r"^map.json: the column map is not valid JSON"),
        ("[1]", r"^map.json: the column map is not a JSON object\."),
        ('{"junction_aa": 3}', r"^map.json: the column map is not a JSON object of strings\."),
        (
            '{"junction_aa": "cdr3", "v_cal": "v"}',
            r"^map.json: the column map names 'v_cal', which is not a field of airrvec\. Similar fields: v_",
        ),
        (
            '{"junction_aa": "cdr3", "trb_v_call": "v"}',
            r"^map.json: the column map mixes 'junction_aa', for one chain per row, with 'trb_v_call', for b",
        ),
        ('{"v_call": "v"}', r"^map.json: the column map gives no junction\. Give the column of junction_aa"),
        ('{"junction_aa": "row"}', r"^map.json: the column map gives 'junction_aa' the column 'row'"),
    ],
)
def test_bad_column_map_is_refused(content, message, tmp_path):
    (tmp_path / "map.json").write_text(content)
    with pytest.raises(InputError, match=message):
        reading.read_column_map(tmp_path / "map.json")


def test_column_map_that_names_a_missing_column_is_refused():
    message = (
        "10x.csv, column 'CDR3': missing, though the column map gives it as junction_aa."
        " Correct the column map; the file has: barcode, is_cell, contig_id,"
    )
    with pytest.raises(InputError) as error:
        reading.open_chains(DATA / "10x.csv", columns={"v_call": "v_gene", "junction_aa": "CDR3"})
    assert str(error.value).startswith(message)


def test_script_takes_a_column_map_and_no_format_beside_it(tmp_path):
    (tmp_path / "map.json").write_text(json.dumps(PAIR_MAP))
    command = [sys.executable, ROOT / "bin/normalise_receptors.py", DATA / "sceptr.tsv", "--sample", "s"]
    options = ["--column-map", tmp_path / "map.json", "--outdir", tmp_path]
    subprocess.run([*command, *options], check=True)
    assert json.loads((tmp_path / "s.qc.json").read_text())["format"] == "columns"
    both = subprocess.run([*command, *options, "--format", "sceptr"], capture_output=True, text=True)
    assert both.returncode == 2
    assert "not allowed with argument" in both.stderr


# --- Rows that a column map chooses, and columns without a name


IMMREP_MAP = {"junction_aa": "CDR3b_extended", "v_call": "Vb", "epitope": "Peptide"}


@pytest.mark.parametrize("value", [1, "1", 1.0, [1, "yes"]])
def test_a_column_map_chooses_rows_by_a_value(value, tmp_path):
    (tmp_path / "map.json").write_text(json.dumps({**IMMREP_MAP, "only": {"Label": value}}))
    columns = reading.read_column_map(tmp_path / "map.json")
    source = reading.open_chains(DATA / "immrep.csv", columns=columns)
    result = normalise(source, sample_id="s", species="homosapiens")
    assert chains_of(result) == [(*NO_CHAIN, BETA[0], None, BETA[2])]
    assert result.cells["epitope"].to_pylist() == ["GILGFVFTL"]
    assert rejected(result) == [(row, None, None, "excluded by the column map") for row in (2, 3)]
    assert_conserved(result, 3)


def test_a_column_map_chooses_rows_by_several_columns_and_by_nothing(monkeypatch):
    monkeypatch.setattr(text_table, "BLOCK_SIZE", 100)  # a block may lose all of its rows
    columns = {**IMMREP_MAP, "only": {"Label": ["", 0], "Vb": BETA[0]}}
    result = normalise(
        reading.open_chains(DATA / "immrep.csv", columns=columns), sample_id="s", species="homosapiens"
    )
    assert result.cells["epitope"].to_pylist() == ["NLVPMVATV"]
    assert [row for row, *_ in rejected(result)] == [1, 2]


def test_a_column_map_names_the_column_without_a_name():
    columns = {"cell_id": "", "trb_v_call": "IR_VDJ_1_v_call", "trb_junction_aa": "IR_VDJ_1_junction_aa"}
    assert chains_in(DATA / "scirpy_obs.csv", columns=columns)["cell_id"].to_pylist() == ["AAAC-1", "AAAG-1"]


@pytest.mark.parametrize(
    ("only", "message"),
    [
        ("Label", r"^'only' of the column map is not a JSON object of columns and values\. It gives the row"),
        ({}, "^'only' of the column map is not a JSON object"),
        ({"Label": None}, "^'only' of the column map is not a JSON object"),
        ({"Label": [[1]]}, "^'only' of the column map is not a JSON object"),
        ({"row": 1}, "^the column map selects rows by the column 'row', a name that airrvec uses"),
        ({"Lable": 1}, r"^immrep.csv, column 'Lable': missing, though the column map gives it as only\."),
    ],
)
def test_a_choice_of_rows_that_is_none_is_refused(only, message):
    with pytest.raises(InputError, match=message):
        reading.open_chains(DATA / "immrep.csv", columns={**IMMREP_MAP, "only": only})
