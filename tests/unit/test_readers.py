"""AIRR, 10x, VDJdb, SCEPTR and TCRdist: one hand-written table for each layout."""

from airrvec.core import schema
from airrvec.input import reading

from inputs import (
    ALPHA,
    ALPHA_2,
    BETA,
    BETA_2,
    DATA,
    NO_CHAIN,
    PAIR,
    assert_conserved,
    cells_with_chains,
    chains_of,
    genes_only,
    normalised,
    normalised_text,
    receptor_id,
    rejected,
    text,
)

HUMAN = "homosapiens"
EXTRA = "extra chain of its cell: the one with more UMIs, then reads, is kept"

PAIR_ID = "97d9de9638e90e38f968250f"  # of PAIR, in every format


def cells(name: str, *columns: str) -> list[tuple]:
    return [tuple(cell[column] for column in columns) for cell in cells_with_chains(normalised(DATA / name))]


def test_airr_single_cell_pairs_by_cell_id():
    result = normalised(DATA / "airr_single_cell.tsv")
    assert result.counts["format"] == "airr"
    assert chains_of(result) == [PAIR, (*NO_CHAIN, *BETA_2), (*NO_CHAIN, *BETA)]
    assert cells("airr_single_cell.tsv", "cell_id", "chain_pairing", "input_rows") == [
        ("cellB", "extra VJ", 2),
        ("cellA", "orphan VDJ", 1),
        ("s7", "orphan VDJ", 1),  # no cell_id: alone, under its sequence_id
    ]
    assert cells("airr_single_cell.tsv", "duplicate_count", "umi_count") == [(300, 13), (50, 3), (1, 1)]
    assert rejected(result) == [
        (4, "junction_aa", ALPHA_2[2], EXTRA),
        (5, "locus", "IGH", "not an α or β chain of a T-cell receptor"),
        (6, "productive", "false", "the chain is not productive"),
    ]
    assert result.receptors["receptor_id"][0].as_py() == PAIR_ID
    assert_conserved(result, 7)


def test_airr_bulk_is_one_chain_a_row():
    result = normalised(DATA / "airr_bulk.tsv")
    assert chains_of(result) == [
        (*NO_CHAIN, *BETA),
        (*ALPHA, *NO_CHAIN),
        (*NO_CHAIN, *genes_only(BETA)),
        (*NO_CHAIN, *BETA),
    ]
    # consensus_count stands in for duplicate_count.
    assert cells("airr_bulk.tsv", "cell_id", "duplicate_count", "umi_count", "epitope") == [
        ("seq1", 12, None, "GILGFVFTL"),
        ("seq2", 7, None, None),
        ("seq3", None, None, "GILGFVFTL"),
        ("seq4", 3, None, "NLVPMVATV"),
    ]
    assert result.counts["receptors"] == 3
    assert_conserved(result, 4)


def test_airr_names_the_required_columns_that_are_missing():
    (warning,) = reading.open_chains(DATA / "airr_bulk.tsv").warnings
    assert warning.startswith(
        "not strictly AIRR: these required columns are missing: sequence, rev_comp, productive, d_call"
    )
    assert reading.open_chains(DATA / "10x.csv").warnings == []


def test_10x_pairs_by_barcode():
    result = normalised(DATA / "10x.csv")
    assert result.counts["format"] == "10x"
    assert chains_of(result) == [
        (*genes_only(ALPHA), *genes_only(BETA)),
        (*NO_CHAIN, *genes_only(BETA)),
        (*genes_only(ALPHA_2), *NO_CHAIN),
    ]
    columns = ("cell_id", "chain_pairing", "input_rows", "duplicate_count", "umi_count")
    assert cells("10x.csv", *columns) == [
        ("TTTG-1", "extra VDJ", 2, 1300, 13),
        ("AAAC-1", "orphan VDJ", 1, 700, 3),
        ("ACGT-1", "orphan VJ", 1, 7, 2),
    ]
    assert rejected(result) == [
        (4, "junction_aa", BETA_2[2], EXTRA),
        (5, "productive", "false", "the chain is not productive"),
        (6, "locus", "TRD", "not an α or β chain of a T-cell receptor"),
        (7, "is_cell", "false", "the barcode was not called a cell"),
        (8, "high_confidence", "false", "the contig is of low confidence"),
    ]
    assert_conserved(result, 9)


def test_10x_keeps_apart_the_same_barcode_of_two_samples(tmp_path):
    columns = ("sample", "barcode", "chain", "v_gene", "j_gene", "cdr3")
    rows = [("a", "AAAC-1", "TRA", *ALPHA), ("b", "AAAC-1", "TRB", *BETA), ("a", "AAAC-1", "TRB", *BETA_2)]
    result = normalised_text(tmp_path / "x.csv", text(columns, rows, ","))
    assert chains_of(result) == [(*ALPHA, *BETA_2), (*NO_CHAIN, *BETA)]
    assert result.cells["cell_id"].to_pylist() == ["AAAC-1", "AAAC-1"]


def test_10x_chain_of_several_loci_goes_by_its_v_gene(tmp_path):
    columns = ("barcode", "chain", "v_gene", "j_gene", "cdr3")
    rows = [("x", "Multi", *ALPHA), ("y", "Multi", "TRDV1", "TRAJ24", "CALGEF"), ("z", "None", *BETA)]
    result = normalised_text(tmp_path / "x.csv", text(columns, rows, ","))
    assert chains_of(result) == [(*ALPHA, *NO_CHAIN), (*NO_CHAIN, *BETA)]
    assert rejected(result) == [(2, "locus", "TRD", "not an α or β chain of a T-cell receptor")]


def test_vdjdb_full_table_has_both_chains_in_a_row():
    result = normalised(DATA / "vdjdb_full.tsv")
    assert result.counts["format"] == "vdjdb"
    assert chains_of(result) == [
        PAIR,
        (*NO_CHAIN, *BETA_2),
        (*NO_CHAIN, "TRBV13-2*01", "TRBJ2-7*01", "CASGEQYF"),
        (ALPHA_2[0], None, ALPHA_2[2], *NO_CHAIN),
    ]
    assert result.receptors["species"].to_pylist() == [HUMAN, HUMAN, "musmusculus", HUMAN]
    assert cells("vdjdb_full.tsv", "cell_id", "input_rows", *schema.LABELS[:-3])[:3] == [
        ("clone one", 1, "GILGFVFTL", "M", "InfluenzaA", "MHCI", "HLA-A*02:01", "B2M", "PMID:1"),
        (None, 1, "NLVPMVATV", "pp65", "CMV", "MHCI", "HLA-A*02:01", "B2M", "PMID:2"),
        (None, 1, "SIINFEKL", "OVA", "GallusGallus", "MHCI", "H-2Kb", "B2M", "PMID:3"),
    ]
    # One reject a chain; the row counts once.
    assert (
        rejected(result) == [(4, "species", "MacacaMulatta", "the species is not one that airrvec reads")] * 2
    )
    assert_conserved(result, 5)


def test_vdjdb_export_pairs_by_complex_id():
    result = normalised(DATA / "vdjdb_export.tsv")
    assert result.counts["format"] == "vdjdb"
    assert chains_of(result) == [PAIR, (*NO_CHAIN, *BETA_2), (*ALPHA_2, *NO_CHAIN)]
    assert cells("vdjdb_export.tsv", "cell_id", "chain_pairing", "input_rows", *schema.LABELS[:-2]) == [
        ("2", "single pair", 2, "GILGFVFTL", "M", "InfluenzaA", "MHCI", "HLA-A*02:01", "B2M", "PMID:1", "1"),
        (None, "orphan VDJ", 1, "NLVPMVATV", "pp65", "CMV", "MHCI", "HLA-B*07:02", "B2M", "PMID:2", "0"),
        (None, "orphan VJ", 1, "NLVPMVATV", "pp65", "CMV", "MHCI", "HLA-B*07:02", "B2M", "PMID:2", "0"),
    ]
    assert result.receptors["receptor_id"][0].as_py() == PAIR_ID
    assert_conserved(result, 4)


def test_sceptr_table():
    result = normalised(DATA / "sceptr.tsv")
    assert result.counts["format"] == "sceptr"
    assert chains_of(result) == [PAIR, (*NO_CHAIN, *BETA_2), (*ALPHA_2, *NO_CHAIN)]
    columns = ("cell_id", "chain_pairing", "input_rows", "duplicate_count")
    assert cells("sceptr.tsv", *columns, "epitope", "mhc_a", "mhc_b", "reference_id") == [
        ("x1", "single pair", 1, 4, "GILGFVFTL", "HLA-A*02:01", "B2M", "PMID:1"),
        ("x2", "orphan VDJ", 1, 2, "NLVPMVATV", "HLA-A*02:01", "B2M", "PMID:2"),
        ("x3", "orphan VJ", 1, None, None, None, None, None),
    ]
    # The row lives on by its α chain.
    assert result.rejects.select(["row", "cell_id", "value", "row_kept"]).to_pylist() == [
        {"row": 3, "cell_id": "x3", "value": "TRBV1", "row_kept": True}
    ]
    assert_conserved(result, 3)


def test_tcrdist_table_with_commas_in_quotes():
    result = normalised(DATA / "tcrdist.csv")
    assert result.counts["format"] == "tcrdist"
    assert chains_of(result) == [PAIR, (*ALPHA_2, *BETA_2), PAIR]
    assert cells("tcrdist.csv", "cell_id", "duplicate_count", "epitope", "chain_pairing") == [
        ("clone_0", 3, "BMLF", "single pair"),
        ("clone_1", 1, "PP65", "single pair"),
        ("clone_2", 2, "BMLF", "single pair"),
    ]
    assert result.receptors["receptor_id"].to_pylist() == [PAIR_ID, receptor_id(HUMAN, *ALPHA_2, *BETA_2)]
    assert_conserved(result, 3)
