"""Which chains are one cell, which rows of the input its cells stand for, and rows given twice."""

import json

from airrvec.core.errors import InputError
from airrvec.input import normalise, pairing, reading

import pyarrow as pa
import pytest
from inputs import (
    ALPHA,
    ALPHA_2,
    BETA,
    BETA_2,
    DATA,
    NO_CHAIN,
    assert_conserved,
    chains_of,
    normalised,
    normalised_text,
    rejected,
    text,
)

REPEATED = "repeats another row: the same chain of the same cell"
EXTRA = "extra chain of its cell: the one with more UMIs, then reads, is kept"
FILES = sorted(path.name for path in DATA.iterdir() if path.name[:9] not in ("README.md", "reference"))
AIRR = ("cell_id", "v_call", "j_call", "junction_aa")


# --- The sum of input_rows is the rows kept.


@pytest.mark.parametrize("multichain", pairing.POLICIES)
@pytest.mark.parametrize("name", FILES)
def test_the_sum_of_input_rows_is_the_rows_kept(name, multichain):
    result = normalised(DATA / name, multichain=multichain)
    assert_conserved(result, result.counts["rows_in"])


@pytest.mark.parametrize(
    ("name", "input_rows"),
    [("trust4.tsv", [1, 0, 1]), ("parse.tsv", [1, 0, 1]), ("10x_clonotypes.csv", [1, 1, 0, 1])],
)
def test_a_row_with_both_chains_of_several_receptors_counts_once(name, input_rows):
    assert normalised(DATA / name, multichain="split").cells["input_rows"].to_pylist() == input_rows


def test_the_run_ends_where_cells_stand_for_other_rows_than_those_kept(monkeypatch):
    def wrong(*chains):
        cells, extra = pairing.pair(*chains)
        return {**cells, "input_rows": pa.array([n.as_py() + 1 for n in cells["input_rows"]])}, extra

    monkeypatch.setattr(normalise, "pair", wrong)
    with pytest.raises(
        InputError,
        match=r"^s: 3 rows were read, but 3 were kept, 6 are in cells and 0 rejected\. This is a bug in air",
    ):
        normalised(DATA / "sceptr.tsv")


# --- A row given twice.

CONTIGS = ("barcode", "contig_id", "chain", "v_gene", "j_gene", "cdr3", "reads", "umis")
ROWS = [
    ("AAAC-1", "contig_1", "TRA", *ALPHA, 20, 2),
    ("AAAC-1", "contig_2", "TRB", *BETA, 10, 1),
    ("TTTG-1", "contig_1", "TRB", *BETA, 10, 1),
]


@pytest.mark.parametrize("multichain", pairing.POLICIES)
@pytest.mark.parametrize("times", [2, 3])
def test_an_identical_contig_row_is_no_further_chain(times, multichain, tmp_path):
    once = normalised_text(tmp_path / "once.csv", text(CONTIGS, ROWS, ","), multichain=multichain)
    result = normalised_text(tmp_path / "x.csv", text(CONTIGS, ROWS * times, ","), multichain=multichain)
    assert result.cells.equals(once.cells)
    assert result.counts["pairing"] == {"single pair": 1, "orphan VDJ": 1}
    assert rejected(result) == [
        (row, "junction_aa", (ALPHA, BETA, BETA)[(row - 1) % 3][2], REPEATED)
        for row in range(4, 3 * times + 1)
    ]
    assert_conserved(result, 3 * times)


@pytest.mark.parametrize(("column", "other"), [("contig_id", "contig_3"), ("reads", 11), ("umis", 2)])
def test_a_contig_that_differs_in_one_field_is_an_extra_chain(column, other, tmp_path):
    again = dict(zip(CONTIGS, ROWS[1], strict=True)) | {column: other}
    result = normalised_text(tmp_path / "x.csv", text(CONTIGS, [*ROWS, list(again.values())], ","))
    assert result.counts["pairing"] == {"extra VDJ": 1, "orphan VDJ": 1}
    assert [reason for *_, reason in rejected(result)] == [EXTRA]


def test_equal_rows_without_a_cell_are_clonotypes_of_their_own(tmp_path):
    result = normalised_text(tmp_path / "x.tsv", text(AIRR[1:], [BETA, BETA]))
    assert result.cells["input_rows"].to_pylist() == [1, 1]
    assert len(result.rejects) == 0


# --- Tables that join samples, in which a barcode names several cells.

TWO_CELLS = [("a", "AAAC", *ALPHA), ("b", "AAAC", *BETA), ("a", "AAAC", *BETA_2), ("b", "AAAC", *ALPHA_2)]
PAIRS = [(*ALPHA, *BETA_2), (*ALPHA_2, *BETA)]
SAMPLES = ("repertoire_id", "sample_id", "data_processing_id", "sample", "donor", "origin")

# Format: the barcode's column, the chain's columns, further columns with one value.
BY_BARCODE = {
    "airr": ("cell_id", ("v_call", "j_call", "junction_aa"), {}),
    "10x": ("barcode", ("v_gene", "j_gene", "cdr3"), {"chain": "Multi"}),
    "mixcr": ("tagValueCELL", ("bestVGene", "bestJGene", "aaSeqCDR3"), {}),
    "bd": ("Cell_Index", ("V_gene", "J_gene", "CDR3_Translation"), {"Chain_Type": ""}),
}


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("format", BY_BARCODE)
def test_a_barcode_of_two_samples_names_two_cells(format, sample, tmp_path):
    barcode, chain, others = BY_BARCODE[format]
    rows = [(*row, *others.values()) for row in TWO_CELLS]
    content = text((sample, barcode, *chain, *others), rows, "\t" if format in ("airr", "mixcr") else ",")
    result = normalised_text(tmp_path / "x", content)
    assert result.counts["format"] == format
    assert chains_of(result) == PAIRS
    assert result.cells["cell_id"].to_pylist() == ["AAAC", "AAAC"]
    assert_conserved(result, 4)


def test_each_of_the_columns_may_tell_samples_apart(tmp_path):
    columns = ("repertoire_id", "data_processing_id", *AIRR)
    rows = [
        ("r1", "p1", "AAAC", *ALPHA),
        ("r1", "p2", "AAAC", *BETA),
        ("r2", "p1", "AAAC", *BETA),
        ("r1", "p1", "AAAC", *BETA_2),
        (None, "p1", "AAAC", *BETA),
        ("r1", "p1", None, *BETA),
    ]
    result = normalised_text(tmp_path / "x.tsv", text(columns, rows))
    assert chains_of(result) == [(*ALPHA, *BETA_2), *[(*NO_CHAIN, *BETA)] * 4]
    assert result.cells["cell_id"].to_pylist() == [*["AAAC"] * 4, None]


def test_a_row_a_cell_formats_keep_samples_apart(tmp_path):
    chain = "{},*,{},*,TGT,{},9,{},100.0,1"
    alpha, beta = (chain.format(*one, number) for number, one in enumerate((ALPHA, BETA)))
    rows = [("a", "AAAC", "abT", beta, "*"), ("b", "AAAC", "abT", "*", alpha)]
    content = text(("sample", "barcode", "cell_type", "chain1", "chain2"), rows)
    assert chains_of(normalised_text(tmp_path / "trust4.tsv", content)) == [
        (*NO_CHAIN, *BETA),
        (*ALPHA, *NO_CHAIN),
    ]
    names = ("sample", "Barcode", "TRA_V", "TRA_J", "TRA_cdr3_aa", "TRB_V", "TRB_J", "TRB_cdr3_aa")
    rows = [("a", "AAAC", *NO_CHAIN, *BETA), ("b", "AAAC", *ALPHA, *NO_CHAIN)]
    assert chains_of(normalised_text(tmp_path / "parse.tsv", text(names, rows))) == [
        (*NO_CHAIN, *BETA),
        (*ALPHA, *NO_CHAIN),
    ]


def test_a_column_map_names_the_column_of_the_sample(tmp_path):
    columns = {"cell_id": "bc", "v_call": "v", "j_call": "j", "junction_aa": "cdr3"}
    (tmp_path / "x.csv").write_text(text(("patient", "bc", "v", "j", "cdr3"), TWO_CELLS, ","))

    def cells(columns):
        source = reading.open_chains(tmp_path / "x.csv", columns=columns)
        return chains_of(normalise.normalise(source, sample_id="s", species="homosapiens"))

    assert cells(columns | {"repertoire_id": "patient"}) == PAIRS
    assert cells(columns) == [(*ALPHA, *BETA)]


@pytest.mark.parametrize("column", ["Species", "Epitope", "Reference"])
def test_a_complex_id_of_vdjdb_names_one_record(column, tmp_path):
    columns = ("complex.id", "Gene", "V", "J", "CDR3", "Species", "Epitope", "Reference")
    record = {"Species": "HomoSapiens", "Epitope": "GILGFVFTL", "Reference": "PMID:1"}
    other = record | {column: {"Species": None, "Epitope": "NLVPMVATV", "Reference": "PMID:2"}[column]}
    rows = [(7, "TRA", *ALPHA, *record.values()), (7, "TRB", *BETA, *other.values())]
    rows += [(7, "TRB", *BETA_2, *record.values())]
    result = normalised_text(tmp_path / "x.tsv", text(columns, rows))
    assert chains_of(result) == [(*ALPHA, *BETA_2), (*NO_CHAIN, *BETA)]
    assert result.cells["cell_id"].to_pylist() == ["7", "7"]


def rearrangement(sequence_id: str, chain: tuple, **others: str) -> dict:
    return dict(zip(("sequence_id", *AIRR[1:]), (sequence_id, *chain), strict=True)) | others


@pytest.mark.parametrize("where", ["both", "rearrangements", "cells"])
def test_cells_of_an_airr_file_list_the_rearrangements_of_their_repertoire(where, tmp_path):
    # Both repertoires have a cell A; sequence_ids repeat where the repertoire tells them apart.
    names = ("s1", "s2", "s1", "s2") if where == "both" else ("s1", "s2", "s3", "s4")
    repertoires = ("a", "a", "b", "b")
    chains = (ALPHA, BETA_2, ALPHA_2, BETA)
    document = {
        "Rearrangement": [
            rearrangement(name, chain, **({} if where == "cells" else {"repertoire_id": repertoire}))
            for name, chain, repertoire in zip(names, chains, repertoires, strict=True)
        ],
        "Cell": [
            {"cell_id": "A", "rearrangements": list(names[start : start + 2])}
            | ({} if where == "rearrangements" else {"repertoire_id": repertoires[start]})
            for start in (0, 2)
        ],
    }
    result = normalised_text(tmp_path / "x.json", json.dumps(document))
    assert chains_of(result) == PAIRS
    assert result.cells["cell_id"].to_pylist() == ["A", "A"]


def test_a_rearrangement_that_cells_of_several_repertoires_list_stands_alone(tmp_path):
    document = {
        "Rearrangement": [rearrangement("s1", ALPHA), rearrangement("s2", BETA)],
        "Cell": [
            {"cell_id": "A", "repertoire_id": "a", "rearrangements": ["s1", "s2"]},
            {"cell_id": "B", "repertoire_id": "b", "rearrangements": ["s1"]},
        ],
    }
    result = normalised_text(tmp_path / "x.json", json.dumps(document))
    assert chains_of(result) == [(*ALPHA, *NO_CHAIN), (*NO_CHAIN, *BETA)]
