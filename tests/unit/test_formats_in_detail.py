"""What a format says beyond its columns: names of versions, counts, labels, rows that are left out."""

import zipfile

from airrvec.core.errors import InputError

import pandas as pd
import pytest
from format_tables import MISSING, OUT_OF_FRAME, alone, columns_of
from inputs import (
    ALPHA,
    BETA,
    BETA_2,
    DATA,
    PAIR,
    chains_of,
    genes_only,
    normalised,
    normalised_text,
    rejected,
    text,
)

# --- What else a format says.


def test_vdjtools_with_the_names_of_the_manual_and_words_of_trust4(tmp_path):
    columns = ("count", "frequency", "CDR3nt", "CDR3aa", "V", "D", "J", "C", "cid", "cid_full_length")
    rows = [
        (5, 0.5, "TGT", "CASSEGTEAFF", "TRBV2*01", "*", "TRBJ1-1*01", "TRBC1", "c1", 1),
        (4, 0.3, "TGT", "partial", "TRBV2*01", "*", "*", "*", "c2", 0),
        (1, 0.1, "TGT", "out_of_frame", "TRBV2*01", "*", "TRBJ1-1*01", "*", "c3", 0),
    ]
    result = normalised_text(tmp_path / "x.tsv", text(columns, rows))
    assert result.counts["format"] == "vdjtools"
    assert chains_of(result) == [alone(*BETA)]
    assert columns_of(result, "duplicate_count") == [(5,)]
    assert [reason for *_, reason in rejected(result)] == [MISSING, OUT_OF_FRAME]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ({"v_resolved": "TCRBV28-01"}, "TRBV28"),
        ({"v_resolved": "TCRBV05-01*01"}, "TRBV5-1*01"),
        ({"v_resolved": "TCRBV05-01*01", "v_gene": "TCRBV05-01", "v_family": "TCRBV05"}, "TRBV5-1*01"),
        ({"v_resolved": "TCRBV05", "v_gene": "TCRBV05-01", "v_allele": "unknown"}, "TRBV5-1"),
        ({"v_gene": "TCRBV05-01", "v_allele": "1"}, "TRBV5-1*01"),
        ({"v_gene": "TCRBV05-01", "v_allele": "01"}, "TRBV5-1*01"),
        ({"v_gene": "TCRBV05-01*01", "v_allele": "01"}, "TRBV5-1*01"),
        ({"v_gene": "unresolved", "v_gene_ties": "TCRBV06-05,TCRBV06-06", "v_family": "TCRBV06"}, "TRBV6-5"),
        ({"v_gene": "TCRBV12-03/12-04"}, "TRBV12-3"),
        ({"v_gene": "unresolved", "v_family": "TCRBV28"}, "TRBV28"),
        ({"v_gene": "unresolved", "v_family": "no data"}, None),
    ],
)
def test_adaptive_genes_are_those_most_resolved(call, expected, tmp_path):
    row = {"amino_acid": "CASSEGTEAFF", "j_gene": "TCRBJ01-01", "v_gene": "", **call}
    result = normalised_text(tmp_path / "x.tsv", text(row, [row.values()]))
    assert chains_of(result) == [alone(expected, "TRBJ1-1", "CASSEGTEAFF")]


def test_adaptive_alpha_genes_with_a_slash_are_one_gene(tmp_path):
    row = {"amino_acid": "CAVNNNARLMF", "v_gene": "TCRAV14-01/DV04", "j_gene": "TCRAJ31-01"}
    result = normalised_text(tmp_path / "x.tsv", text(row, [row.values()]))
    assert chains_of(result) == [alone("TRAV14/DV4", "TRAJ31", "CAVNNNARLMF")]


def test_counts_of_bulk_formats():
    assert columns_of(normalised(DATA / "vdjtools.tsv"), "duplicate_count") == [(12,), (6,)]
    assert columns_of(normalised(DATA / "immunoseq.tsv"), "duplicate_count") == [(12,), (3,), (2,)]
    assert columns_of(normalised(DATA / "immunoseq_v2.tsv"), "duplicate_count") == [(12,), (7,)]
    names = ("cell_id", "duplicate_count", "umi_count")
    assert columns_of(normalised(DATA / "mixcr.tsv"), *names) == [("0", 120, 12), ("1", 60, 6)]
    assert columns_of(normalised(DATA / "mixcr_old.tsv"), *names) == [("0", 120, None), ("1", 6, None)]


@pytest.mark.parametrize(
    "columns",
    [
        ("allVHits", "allJHits", "aaSeqCDR3"),
        ("bestVHit", "bestJHit", "aaSeqCDR3"),
        ("bestVGene", "bestJGene", "aaSeqCDR3"),
        ("All V hits", "All J hits", "AA. seq. CDR3"),
        ("Best V hit", "Best J hit", "AA. Seq. CDR3"),
    ],
)
def test_mixcr_headers(columns, tmp_path):
    rows = [("TRBV2*00,TRBV20-1*00", "TRBJ1-1*00", BETA[2]), BETA]
    result = normalised_text(tmp_path / "x.tsv", text(columns, rows))
    assert chains_of(result) == [alone(*genes_only(BETA)), alone(*BETA)]


def test_mixcr_clones_of_tagged_cells_are_paired(tmp_path):
    columns = ("cloneId", "tagValueCELL", "readCount", "allVHitsWithScore", "allJHitsWithScore", "aaSeqCDR3")
    rows = [(0, "ACGT", 9, *BETA), (1, "ACGA", 9, *BETA_2), (2, "ACGT", 4, *ALPHA)]
    result = normalised_text(tmp_path / "x.tsv", text(columns, rows))
    assert chains_of(result) == [PAIR, alone(*BETA_2)]
    assert columns_of(result, "cell_id", "duplicate_count") == [("ACGT", 13), ("ACGA", 9)]


def test_bd_pairs_by_cell_index():
    names = ("cell_id", "chain_pairing", "input_rows", "duplicate_count", "umi_count")
    assert columns_of(normalised(DATA / "bd.csv"), *names) == [
        ("7", "single pair", 2, 100, 10),
        ("9", "orphan VDJ", 1, 10, 1),
    ]


def test_labels_of_mcpas_and_iedb():
    names = ("cell_id", "epitope", "antigen_gene", "antigen_species", "mhc_a", "reference_id")
    assert columns_of(normalised(DATA / "mcpas.csv"), *names) == [
        (None, "GILGFVFTL", "M1", "Influenza", "HLA-A*02:01", "PMID:1"),
        (None, "NLVPMVATV", None, "CMV", None, "PMID:2"),
        (None, None, None, None, None, None),
    ]
    shared = ("Matrix protein 1", "Influenza A virus", "HLA-A*02:01")
    assert columns_of(normalised(DATA / "iedb.csv"), *names) == [
        ("47", "GILGFVFTL", *shared, "http://www.iedb.org/reference/1"),
        ("48", "NLVPMVATV", *shared, "http://www.iedb.org/reference/2"),
    ]


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("trust4.tsv", [("AAAC-1", "extra VDJ"), ("AAAG-1", "orphan VDJ")]),
        ("parse.tsv", [("01_02_03__s1", "extra VDJ"), ("01_02_04__s1", "orphan VDJ")]),
    ],
)
def test_cells_with_secondary_chains(name, cells):
    assert columns_of(normalised(DATA / name), "cell_id", "chain_pairing") == cells


# --- Formats of which rows or labels are left out, or whose tables say more than their name.


def test_a_row_of_a_non_binder_is_no_labelled_positive(tmp_path):
    """Nor is a row that no column calls a binder."""
    labels = ("epitope", "mhc_a")
    assert columns_of(normalised(DATA / "immrep.csv"), *labels) == [
        ("GILGFVFTL", "A*02:01"),
        (None, None),
        (None, None),
    ]
    content = (DATA / "immrep.csv").read_text().replace("Label", "Usage")
    assert columns_of(normalised_text(tmp_path / "x", content), *labels) == [(None, None)] * 3
    content = (DATA / "immrep.csv").read_text().replace("Label", "Target")
    assert columns_of(normalised_text(tmp_path / "x", content), "epitope")[0] == ("GILGFVFTL",)


def test_labels_of_predictors_are_those_of_binders(tmp_path):
    labels = ("epitope", "mhc_class", "mhc_a", "species")
    a2 = "HLA-A*02:01"
    assert columns_of(normalised(DATA / "mixtcrpred.csv"), *labels[:3]) == [
        ("GILGFVFTL", "MHCI", a2),
        ("NLVPMVATV", "MHCI", a2),
    ]
    table = normalised(DATA / "tcr_pmhc_analyzer.tsv")
    rows = [("GILGFVFTL", "1", "A*02:01:01"), (None, None, None), ("NLVPMVATV", "1", "A*02:01:01")]
    assert columns_of(table, *labels[:3]) == rows
    all_bind = (DATA / "tcr_pmhc_analyzer.tsv").read_text().replace("binder", "identifier")
    assert [row for (row,) in columns_of(normalised_text(tmp_path / "x", all_bind), "epitope")] == [
        *("GILGFVFTL", "NLVPMVATV", "NLVPMVATV")
    ]


@pytest.mark.parametrize(
    ("members", "read"),
    [
        ({"vdjdb.txt": "vdjdb_release.tsv", "vdjdb_full.txt": "vdjdb_full.tsv"}, "vdjdb_full.tsv"),
        ({"vdjdb.slim.txt": "", "vdjdb.txt": "vdjdb_release.tsv"}, "vdjdb_release.tsv"),
    ],
)
def test_of_a_release_of_vdjdb_the_full_table_is_read(tmp_path, members, read):
    with zipfile.ZipFile(tmp_path / "vdjdb-2023-06-01.zip", "w") as archive:
        for name, content in members.items():
            archive.writestr(f"vdjdb-2023-06-01/{name}", (DATA / content).read_bytes() if content else "x")
        archive.writestr("vdjdb-2023-06-01/vdjdb.meta.txt", "name\ttype\n")
        archive.writestr("vdjdb-2023-06-01/LICENSE.txt", "CC BY-ND 4.0")
    table, plain = normalised(tmp_path / "vdjdb-2023-06-01.zip"), normalised(DATA / read)
    assert table.cells.drop_columns("sample_id").equals(plain.cells.drop_columns("sample_id"))
    first, second = sorted(members, key=("vdjdb_full.txt", "vdjdb.txt", "vdjdb.slim.txt").index)
    assert table.counts["warnings"][0] == (
        f"of the release of VDJdb, {first} is read, not {second}, which have the same records"
    )


def test_labels_and_counts_of_vdjdb_releases_clones_and_cells():
    assert columns_of(
        normalised(DATA / "vdjdb_release.tsv"), "cell_id", "epitope", "mhc_a", "reference_id"
    ) == [
        ("1", "GILGFVFTL", "HLA-A*02:01", "PMID:1"),
        *[(None, "NLVPMVATV", "HLA-A*02:01", "PMID:1")] * 3,
    ]
    assert columns_of(normalised(DATA / "tcrdist_beta.csv"), "cell_id", "duplicate_count", "epitope") == [
        ("clone_0", 3, "BMLF"),
        ("clone_1", 1, "PP65"),
    ]
    assert columns_of(normalised(DATA / "conga.tsv"), "cell_id", "duplicate_count", "chain_pairing") == [
        ("clonotype1", 3, "single pair"),
        ("clonotype2", 1, "extra VJ"),
        ("clonotype3", 2, "orphan VJ"),
    ]
    assert columns_of(normalised(DATA / "conga_results.tsv"), "duplicate_count") == [(3,), (1,)]
    assert columns_of(normalised(DATA / "immunarch.tsv"), "duplicate_count") == [(5,), (3,), (1,)]
    assert columns_of(normalised(DATA / "scirpy_obs.csv"), "cell_id", "duplicate_count", "epitope") == [
        ("AAAC-1", 6, "GILGFVFTL"),
        ("AAAG-1", 3, None),
    ]
    for name in ("bd_dominant.csv", "bd_cells.csv"):
        found = columns_of(normalised(DATA / name), "cell_id", "duplicate_count", "umi_count")
        assert found == [("7", 100, 10), ("9", 10, 1)]


def test_tables_of_one_chain_keep_what_they_say_of_the_other(tmp_path):
    """A paired table that lacks the J genes of its α chains is no table of β chains."""
    table = pd.read_csv(DATA / "tcrdist.csv").drop(columns="j_a_gene")
    result = normalised_text(tmp_path / "x", table.to_csv(index=False))
    assert chains_of(result)[0] == (ALPHA[0], None, ALPHA[2], *BETA)


def test_a_table_that_says_more_than_clustcr_is_not_taken_for_one(tmp_path):
    content = text(("CDR3", "V", "J"), [(BETA[2], BETA[0], BETA[1])])
    with pytest.raises(InputError, match=r"its columns \(CDR3, V, J\) match no known format"):
        normalised_text(tmp_path / "x", content)
    assert chains_of(normalised_text(tmp_path / "x", content, "clustcr")) == [alone(BETA[0], None, BETA[2])]


@pytest.mark.parametrize(
    ("frame", "stop", "productive", "is_kept"),
    [
        ("F", "F", "", False),
        ("T", "T", "", False),
        ("T", "F", "", True),
        ("", "", "", True),
        ("T", "T", "T", True),
    ],
)
def test_frames_speak_where_nobody_called_a_rearrangement_productive(
    frame, stop, productive, is_kept, tmp_path
):
    names = ("v_call", "j_call", "junction_aa", "vj_in_frame", "stop_codon", "productive")
    rows = [(*BETA_2, "T", "F", "T"), (*BETA, frame, stop, productive)]
    result = normalised_text(tmp_path / "x.tsv", text(names, rows), "airr")
    assert result.counts["cells"] == 1 + is_kept
    reasons = {} if is_kept else {"the chain is not productive": 1}
    assert result.counts["reject_reasons"] == reasons
