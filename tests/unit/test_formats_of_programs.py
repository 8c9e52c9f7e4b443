"""Tables of single-cell programs and databases, with their further columns, as their users have them."""

import pytest
from format_tables import columns_of
from inputs import (
    ALPHA,
    BETA,
    BETA_2,
    DATA,
    NO_CHAIN,
    PAIR,
    chains_of,
    genes_only,
    normalised,
    normalised_text,
    text,
)

AIRR = ("sequence_id", "v_call", "j_call", "junction_aa", "locus")


def airr(columns: dict[str, list], chains=(ALPHA, BETA)) -> str:
    """An AIRR table of these chains, with further columns."""
    rows = [
        (f"s{n}", *chain, chain[0][:3], *values)
        for n, (chain, values) in enumerate(zip(chains, zip(*columns.values(), strict=True), strict=True))
    ]
    return text((*AIRR, *columns), rows)


@pytest.mark.parametrize(
    ("columns", "counts", "roles"),
    [
        (  # sc-dandelion
            {
                "cell_id": ["a"] * 2,
                "v_call_genotyped": ["TRAV1-1*01", "TRBV2*01"],
                "umi_count": [3, 5],
                "consensus_count": [30, 50],
                "productive": ["T"] * 2,
                "rearrangement_status": ["standard"] * 2,
                "ambiguous": ["F", "F"],
                "extra": ["F", "F"],
            },
            (80, 8),
            "cell = cell_id · count = umi_count (UMIs) · count = consensus_count (reads)"
            " · quality = productive, ambiguous",
        ),
        (  # BD Rhapsody, …_VDJ_Dominant_Contigs_AIRR.tsv
            {
                "cell_id": [17, 17],
                "cell_type_experimental": ["T_CD8"] * 2,
                "high_quality_cell_tcr_bcr": ["true"] * 2,
                "consensus_count": [30, 50],
                "umi_count": [3, 5],
                "dominant": ["true"] * 2,
                "putative_cell": ["true"] * 2,
                "complete_vdj": ["true"] * 2,
            },
            (80, 8),
            "cell = cell_id · count = umi_count (UMIs) · count = consensus_count (reads)"
            " · quality = putative_cell, high_quality_cell_tcr_bcr",
        ),
        (  # immundata, annotations.parquet
            {
                "imd_receptor_id": [1, 1],
                "imd_barcode": ["a", "a"],
                "imd_chain_id": [1, 2],
                "imd_n_chains": [1, 1],
                "umis": [3, 5],
            },
            (None, 8),
            "cell = imd_barcode · count = umis (UMIs)",
        ),
    ],
    ids=["dandelion", "BD", "immundata"],
)
def test_airr_of_single_cells(columns, counts, roles, tmp_path):
    result = normalised_text(tmp_path / "x.tsv", airr(columns))
    assert chains_of(result) == [PAIR]
    assert columns_of(result, "duplicate_count", "umi_count") == [counts]
    assert result.counts["roles"] == roles


def test_contigs_of_cell_ranger_multi(tmp_path):
    names = [
        *("barcode", "is_cell", "contig_id", "high_confidence", "length", "chain", "v_gene", "d_gene"),
        *("j_gene", "c_gene", "full_length", "productive", "fwr1", "cdr1", "fwr2", "cdr2", "fwr3", "cdr3"),
        *("cdr3_nt", "fwr4", "reads", "umis", "raw_clonotype_id", "raw_consensus_id"),
        *("exact_subclonotype_id", "sample", "epitope"),
    ]
    shared = {"barcode": "A-1", "is_cell": "true", "high_confidence": "true", "productive": "true"}
    rows = [
        shared | {"contig_id": f"A-1_contig_{n}", "chain": chain[0][:3], "v_gene": chain[0]}
        | {"j_gene": chain[1], "cdr3": chain[2], "reads": 10 * n, "umis": n, "epitope": "GILGFVFTL"}
        for n, chain in enumerate((ALPHA, BETA), start=1)
    ]  # fmt: skip
    content = text(names, [[row.get(name) for name in names] for row in rows], ",")
    result = normalised_text(tmp_path / "x.csv", content)
    assert chains_of(result) == [PAIR]
    assert columns_of(result, "duplicate_count", "umi_count", "epitope") == [(30, 3, "GILGFVFTL")]


def test_metadata_of_seurat_with_scrpertoires_columns(tmp_path):
    names = ("barcode", "orig.ident", "nCount_RNA", "CTgene", "CTnt", "CTaa", "CTstrict", "clonalFrequency")
    genes = "TRAV1-1.TRAJ24.TRAC_TRBV2.None.TRBJ1-1.TRBC1"
    rows = [
        ("A", "s", 9, genes, "x_y", f"{ALPHA[2]}_{BETA[2]}", "z", 1),
        ("B", "s", 9, "NA_TRBV20-1.NA.TRBJ2-7.TRBC2", "NA_y", f"NA_{BETA_2[2]}", "z", 1),
        ("C", "s", 9, None, None, None, None, None),
    ]
    result = normalised_text(tmp_path / "x.csv", text(names, rows, ","))
    assert chains_of(result) == [(*genes_only(ALPHA), *genes_only(BETA)), (*NO_CHAIN, *genes_only(BETA_2))]
    assert columns_of(result, "cell_id") == [("A",), ("B",)]


def test_newer_names_of_adaptive(tmp_path):
    names = ("cdr3_rearrangement", "cdr3_amino_acid", "frame_type", "templates", "v_resolved", "j_resolved")
    rows = [("TGT", BETA[2], "In", 7, "TCRBV02-01*01", "TCRBJ01-01*01"), ("TGC", "", "Out", 1, "", "")]
    result = normalised_text(tmp_path / "x.tsv", text(names, rows))
    assert (result.counts["format"], chains_of(result)) == ("immunoseq", [(*NO_CHAIN, *BETA)])
    assert columns_of(result, "duplicate_count") == [(7,)]


def test_labels_of_iggytops_table():
    result = normalised(DATA / "iggytop.csv")
    assert columns_of(result, "epitope", "mhc_class", "mhc_b", "reference_id") == [
        ("GILGFVFTL", "I", "B2M", "PMID:12345;PMID:67890"),
        ("NLVPMVATV", "I", None, "PMID:23456"),
    ]
