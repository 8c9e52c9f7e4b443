"""Formats of programs and databases other than AIRR, 10x and VDJdb: hand-written tables and real files."""

import csv
import re
import tempfile
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
import tidytcells
from hypothesis import given, settings
from hypothesis import strategies as st
from inputs import (
    ALPHA,
    ALPHA_2,
    BETA,
    BETA_2,
    DATA,
    NO_CHAIN,
    SHARED,
    assert_conserved,
    cells_with_chains,
    chains_of,
    needs_shared,
    normalised,
    normalised_text,
    rejected,
    text,
)

from airrvec.core.errors import InputError
from airrvec.input import reading
from airrvec.input.files import text_table
from airrvec.input.formats import registry

EXTRA = "extra chain of its cell: the one with more UMIs, then reads, is kept"
MISSING = "junction_aa is missing"
NO_CHAIN_IN_ROW = "the row holds no chain"
NEITHER = "locus, v_call and j_call are missing"
NOT_A_CELL = "the barcode was not called a cell"
NOT_AB = "not an α or β chain of a T-cell receptor"
NOT_FUNCTIONAL = "v_call is not functional according to IMGT"
NOT_PRODUCTIVE = "the chain is not productive"
OTHER_SPECIES = "the species is not one that airrvec reads"
REPLACED = "junction_aa has another residue in place of its C"
TOO_SHORT = "junction_aa lacks a conserved end and is too short to be a CDR3"
CUT_SHORT = "junction_aa starts with C but does not end as a junction does"
OUT_OF_FRAME = "junction_aa is out of frame (_)"
STOP = "junction_aa holds a stop codon (*)"

PAIR = (*ALPHA, *BETA)


def alone(*chain) -> tuple:
    """A receptor of one chain, α if its V or J gene is."""
    return (*chain, *NO_CHAIN) if str(chain[0] or chain[1]).startswith("TRA") else (*NO_CHAIN, *chain)


def genes_only(chain: tuple) -> tuple:
    return (chain[0].split("*")[0], chain[1].split("*")[0], chain[2])


def columns_of(result, *names: str) -> list[tuple]:
    return [tuple(cell[name] for name in names) for cell in result.cells.to_pylist()]


# --- One hand-written table for each layout: format, receptors in order, rejects (row, field, value, reason).

TABLES = {
    "vdjtools.tsv": (
        "vdjtools",
        [alone(*genes_only(BETA)), alone("TRBV20-1", None, BETA_2[2])],
        [
            (3, "junction_aa", "CASSE_GTEAFF", OUT_OF_FRAME),
            (4, "junction_aa", None, MISSING),
            (5, "junction_aa", "CASS*TEAFF", STOP),
        ],
    ),
    "immunoseq.tsv": (
        "immunoseq",
        [alone(*BETA), alone(*genes_only(BETA_2)), alone("TRBV12-3*01", *BETA[1:])],
        [(4, "productive", "false", NOT_PRODUCTIVE), (5, "productive", "false", NOT_PRODUCTIVE)],
    ),
    "immunoseq_v2.tsv": (
        "immunoseq",
        [alone(*BETA), alone(*ALPHA_2)],
        [(3, "productive", "false", NOT_PRODUCTIVE)],
    ),
    "mixcr.tsv": (
        "mixcr",
        [alone(*genes_only(BETA)), alone("TRAV14/DV4", "TRAJ31", ALPHA_2[2])],
        [
            (3, "junction_aa", "CASSE_GTEAFF", OUT_OF_FRAME),
            (4, "junction_aa", "CASS*TEAFF", STOP),
            (5, "locus", "IGH", NOT_AB),
        ],
    ),
    "mixcr_old.tsv": ("mixcr", [alone(*genes_only(BETA)), alone(*ALPHA_2)], []),
    "bd.csv": (
        "bd",
        [PAIR, alone(*BETA_2)],
        [
            (4, "locus", "TRG", NOT_AB),
            (5, "is_cell", "false", NOT_A_CELL),
            (6, "locus", "IGK", NOT_AB),
            (7, "productive", "false", NOT_PRODUCTIVE),
        ],
    ),
    "bd_dominant.csv": ("bd", [PAIR, alone(*BETA_2)], [(4, "locus", "IGH", NOT_AB)]),
    "bd_cells.csv": (
        "bd",
        [PAIR, alone(*BETA_2)],
        [(3, "locus", "TRD", NOT_AB), (3, "locus", "TRG", NOT_AB), (4, None, None, NO_CHAIN_IN_ROW)],
    ),
    "tcrdist_beta.csv": (
        "tcrdist",
        [alone(*BETA), alone(*BETA_2)],
        [(3, "junction_aa", None, MISSING)],
    ),
    "conga.tsv": (
        "conga",
        [PAIR, (*ALPHA_2, *BETA_2), alone(*ALPHA)],
        [(2, "junction_aa", ALPHA[2], EXTRA)],
    ),
    "conga_results.tsv": ("conga", [PAIR, (*ALPHA_2, *BETA_2)], []),
    "scirpy_obs.csv": ("scirpy", [PAIR, alone(*BETA_2)], [(3, None, None, NO_CHAIN_IN_ROW)]),
    "immunarch.tsv": (
        "immunarch",
        # The last clonotype has two junctions and one V gene, which is not told whose it is.
        [PAIR, alone(*BETA_2), (None, None, ALPHA_2[2], None, None, BETA_2[2])],
        [(3, "junction_aa", "CASS*TEAFF", STOP)],
    ),
    "vdjdb_release.tsv": (
        "vdjdb",
        [PAIR, alone(*BETA_2), alone(*ALPHA_2), alone(*BETA)],
        [(6, "species", "MacacaMulatta", OTHER_SPECIES)],
    ),
    "clustcr.csv": (
        "clustcr",
        [alone(BETA[0], None, BETA[2]), alone(BETA_2[0], None, BETA_2[2])],
        [(3, "locus", None, NEITHER)],
    ),
    "immrep.csv": ("immrep", [PAIR, (*ALPHA_2, *BETA_2), (*ALPHA_2, *BETA)], []),
    "immrep_2022.tsv": ("immrep", [PAIR, (*ALPHA_2, *BETA_2)], []),
    "mcpas.csv": (
        "mcpas",
        [PAIR, alone(*genes_only(BETA_2)), alone(ALPHA_2[0], None, ALPHA_2[2])],
        [(4, None, None, NO_CHAIN_IN_ROW), (5, "species", "Macaque", OTHER_SPECIES)],
    ),
    "iedb.csv": (
        "iedb",
        [PAIR, alone(*BETA_2)],
        [
            (3, "locus", "TRD", NOT_AB),
            (3, "locus", "TRG", NOT_AB),
            (4, "species", "NCBITaxon_9544", OTHER_SPECIES),
            (5, None, None, NO_CHAIN_IN_ROW),
        ],
    ),
    "trust4.tsv": (
        "trust4",
        [PAIR, alone(*BETA_2)],
        [
            (1, "junction_aa", "CSARDSYEQYF", EXTRA),
            (1, "junction_aa", "out_of_frame", OUT_OF_FRAME),
            (3, "junction_aa", None, MISSING),
            (4, "locus", "TRD", NOT_AB),
            (4, "locus", "TRG", NOT_AB),
            (5, None, None, NO_CHAIN_IN_ROW),
        ],
    ),
    "parse.tsv": (
        "parse",
        [PAIR, alone(*BETA_2)],
        [(1, "junction_aa", "CSARDSYEQYF", EXTRA), (3, None, None, NO_CHAIN_IN_ROW)],
    ),
}


def contents(name: str) -> tuple[list[list[str]], list[list[str]], str]:
    """Rows of the header, rows of data, and the delimiter of a hand-written table."""
    reader, delimiter = reading.FORMATS[TABLES[name][0]], "," if name.endswith(".csv") else "\t"
    lines = [line for line in (DATA / name).read_text().splitlines() if not line.startswith("#")]
    rows = list(csv.reader(lines, delimiter=delimiter))
    n = max(getattr(reader, "HEADER_ROWS", (1,)))
    return rows[:n], rows[n:], delimiter


@pytest.mark.parametrize("name", TABLES)
def test_hand_written_table(name):
    format, receptors, rejects = TABLES[name]
    result = normalised(DATA / name)
    assert result.counts["format"] == format
    assert chains_of(result) == receptors
    assert sorted(rejected(result), key=str) == sorted(rejects, key=str)
    assert_conserved(result, len(contents(name)[1]))


@pytest.mark.parametrize("name", TABLES)
def test_only_one_format_fits_the_header(name):
    header = text_table.read_header(DATA / name)
    fits = [
        reader.NAME
        for reader in reading.FORMATS.values()
        if any(
            set(layout) <= set(header.names(rows))
            for layout in reader.LAYOUTS
            for rows in getattr(reader, "HEADER_ROWS", (1,))
        )
        and not registry.unexpected_columns(reader, header)
    ]
    assert fits == [TABLES[name][0]]


def test_no_layout_lies_within_the_columns_of_another_format():
    for reader in reading.FORMATS.values():
        columns = {name for layout in reader.LAYOUTS for name in layout} | set(reader.OPTIONAL)
        others = [
            other
            for other in reading.FORMATS.values()
            if other is not reader and not getattr(other, "CLOSED", False)
        ]
        assert not [other.NAME for other in others for layout in other.LAYOUTS if set(layout) <= columns]


@pytest.mark.parametrize("name", TABLES)
def test_order_of_rows_and_columns_and_further_columns_do_not_matter(name):
    header, rows, delimiter = contents(name)
    expected = Counter(TABLES[name][1])

    @settings(max_examples=25, deadline=None)
    @given(seed=st.randoms(use_true_random=False), extra=st.text("abc é", max_size=3))
    def check(seed, extra):
        closed = getattr(reading.FORMATS[TABLES[name][0]], "CLOSED", False)
        more = [] if closed else [extra]
        lines = [[*line, *more] for line in [*header, *seed.sample(rows, len(rows))]]
        order = seed.sample(range(len(lines[0])), len(lines[0]))
        first, *others = ([line[column] for column in order] for line in lines)
        with tempfile.TemporaryDirectory() as folder:
            result = normalised_text(Path(folder) / "x", text(first, others, delimiter))
        assert Counter(chains_of(result)) == expected
        assert_conserved(result, len(rows))

    check()


@pytest.mark.parametrize("name", TABLES)
def test_any_column_that_no_layout_needs_may_be_missing(name, tmp_path):
    header, rows, delimiter = contents(name)
    reader = reading.FORMATS[TABLES[name][0]]
    joined = [" ".join(cells) for cells in zip(*header, strict=True)]
    for column, column_name in enumerate(joined):
        first, *others = (line[:column] + line[column + 1 :] for line in [*header, *rows])
        left = {other for other in joined if other != column_name}
        content = text(first, others, delimiter)
        if any(set(layout) <= left for layout in reader.LAYOUTS):
            assert_conserved(normalised_text(tmp_path / "x", content), len(rows))
        else:
            with pytest.raises(InputError, match=re.escape(column_name)):
                normalised_text(tmp_path / "x", content, reader.NAME)


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
        (None, "GILGFVFTL", "M1", None, "HLA-A*02:01", "1"),
        (None, "NLVPMVATV", None, None, None, "2"),
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


# --- Real files, counted once more with pandas alone.


def standard(call: str, *, functional: bool = True) -> str | None:
    """A gene's name, as tidytcells says it."""
    return tidytcells.tr.standardize(
        call, species="homosapiens", enforce_functional=functional, log_failures=False
    )


@needs_shared
def test_vdjtools_file_of_others():
    path = SHARED / "formats/vdjtools_M_15_CD8_TRB.txt.gz"
    table = pd.read_csv(path, sep="\t", dtype=str, keep_default_na=False)
    genes = {call: standard(call) for column in "vj" for call in table[column].unique()}
    stop = table["cdr3aa"].str.contains("*", regex=False)
    shifted = table["cdr3aa"].str.contains("_") & ~stop
    result = normalised(path)
    rejects = result.rejects.to_pandas().set_index("row")
    # How these are counted is plain_count.py's.
    cut_short, replaced = (
        pd.Series(table.index + 1).isin(rejects.index[rejects["reason"] == reason])
        for reason in (CUT_SHORT, REPLACED)
    )
    assert table["cdr3aa"][cut_short].str.fullmatch("C.*[^FW]").all()
    assert table["cdr3aa"][replaced].str.fullmatch("[^C].*").all()
    too_short = table["cdr3aa"] == "FGYTF"
    lost = stop | shifted | cut_short | replaced | too_short
    useless = table["v"].map(genes).isna() & ~lost
    kept = table[~lost & ~useless]
    # All J genes are functional, and all V genes that are not are known; no other letter occurs.
    assert table["j"].map(genes).notna().all()
    assert all(standard(call, functional=False) for call in table["v"].unique())
    assert kept["cdr3aa"].str.fullmatch("[ACDEFGHIKLMNPQRSTVWY]{1,60}").all()

    assert result.counts["reject_reasons"] == {
        OUT_OF_FRAME: int(shifted.sum()),
        STOP: int(stop.sum()),
        NOT_FUNCTIONAL: int(useless.sum()),
        CUT_SHORT: int(cut_short.sum()),
        REPLACED: int(replaced.sum()),
        TOO_SHORT: int(too_short.sum()),
    }
    assert result.counts["reject_reasons"] == {
        OUT_OF_FRAME: 2509,
        STOP: 1069,
        NOT_FUNCTIONAL: 662,
        CUT_SHORT: 416,
        REPLACED: 562,
        TOO_SHORT: 1,
    }
    assert result.counts["pairing"] == {"orphan VDJ": len(kept)} == {"orphan VDJ": 62_019}
    found = [
        (cell["trb_v_call"], cell["trb_j_call"], cell["duplicate_count"])
        for cell in cells_with_chains(result)
    ]
    assert found == list(
        zip(kept["v"].map(genes), kept["j"].map(genes), kept["count"].astype(int), strict=True)
    )
    junctions = pd.Series([chains[5] for chains in chains_of(result)], index=kept.index)
    assert (junctions != kept["cdr3aa"]).sum() == 160
    assert junctions.str.fullmatch("C.*[FWV]").all()
    assert_conserved(result, 67_238)


def adaptive_v_call(row: pd.Series) -> str:
    """The first gene that the row names, as far as it is resolved, in Adaptive's words."""
    for name in ("v_resolved", "v_gene", "v_gene_ties"):
        gene = re.match(r"(TCRBV\d\d-\d\d)(?:/\d\d-\d\d)?(\*\d\d)?(,|$)", row[name])
        if gene:
            return gene[1] + (gene[2] or "")
    raise AssertionError(row)


@needs_shared
def test_immunoseq_file_of_others():
    path = SHARED / "formats/immunoseq_Adaptive2020.tsv"
    table = pd.read_csv(path, sep="\t", dtype=str, keep_default_na=False)
    productive = table[table["frame_type"] == "In"]
    assert (table["frame_type"].isin(["Out", "Stop"]) == (table["frame_type"] != "In")).all()
    calls = productive.apply(adaptive_v_call, axis=1)
    v_calls = calls.map({call: standard(call) for call in calls.unique()})
    # The gene is taken where IMGT does not know the allele.
    v_calls = v_calls.where(
        calls.map({call: standard(call, functional=False) is not None for call in calls.unique()}),
        calls.str.split("*").str[0].map(standard),
    )
    j_calls = productive["j_resolved"].map(standard)
    assert j_calls.notna().all()
    kept = v_calls.notna()

    result = normalised(path)
    assert result.counts["reject_reasons"] == {
        NOT_PRODUCTIVE: len(table) - len(productive),
        NOT_FUNCTIONAL: int((~kept).sum()),
    }
    assert result.counts["reject_reasons"] == {NOT_PRODUCTIVE: 178, NOT_FUNCTIONAL: 7}
    assert result.counts["pairing"] == {"orphan VDJ": int(kept.sum())} == {"orphan VDJ": 814}
    cells = cells_with_chains(result)
    assert [(cell["trb_v_call"], cell["trb_j_call"], cell["duplicate_count"]) for cell in cells] == list(
        zip(v_calls[kept], j_calls[kept], productive["templates"][kept].astype(int), strict=True)
    )
    # A sequence without both conserved ends is another test's.
    sequences = productive["amino_acid"][kept].tolist()
    whole = [number for number, sequence in enumerate(sequences) if re.fullmatch("C[A-Z]+[FW]", sequence)]
    assert len(whole) == 813
    assert all(cells[number]["trb_junction_aa"] == sequences[number] for number in whole)
    assert_conserved(result, 999)


@needs_shared
def test_immunoseq_v1_file_of_others_holds_one_pseudogene():
    path = SHARED / "formats/immunoseq_v1_tiny.txt"
    table = pd.read_csv(path, sep="\t", dtype=str)
    assert table["v_gene"].tolist() == ["TCRBV01-01"]
    assert standard("TCRBV01-01") is None
    assert standard("TCRBV01-01", functional=False) == "TRBV1"
    (batch,) = reading.open_chains(path).batches
    names = ["v_call", "j_call", "junction_aa", "productive", "duplicate_count"]
    assert batch.chains.select(names).to_pylist() == [
        {
            "v_call": "TCRBV01-01*01",
            "j_call": "TCRBJ02-01*01",
            "junction_aa": "CTCSGDRVDYAEQFF",
            "productive": True,
            "duplicate_count": 654,
        }
    ]
    with pytest.raises(InputError, match=r"1 × v_call is not functional according to IMGT"):
        normalised(path)


@needs_shared
def test_bd_chains_of_others():
    path = SHARED / "formats/bd_per_cell_chain.csv"
    table = pd.read_csv(path, comment="#", dtype=str, keep_default_na=False)
    alpha_or_beta = table["Chain_Type"].isin(["TCR_Alpha", "TCR_Beta"])
    cell = table["Putative"] == "True"
    kept = table[alpha_or_beta & cell]
    assert kept[["Cell_Index", "V_gene", "J_gene", "CDR3_Translation", "Productive"]].to_numpy().tolist() == [
        ["108", "TRAV7*01", "TRAJ39*01", "LVAGNMLT", "True"]
    ]
    result = normalised(path)
    assert chains_of(result) == [alone("TRAV7*01", "TRAJ39*01", "CLVAGNMLTF")]
    assert columns_of(result, "cell_id", "chain_pairing", "duplicate_count", "umi_count") == [
        ("108", "orphan VJ", 6, 1)
    ]
    assert result.counts["reject_reasons"] == {
        NOT_AB: int((~alpha_or_beta).sum()),
        NOT_A_CELL: int((alpha_or_beta & ~cell).sum()),
    }
    assert result.counts["reject_reasons"] == {NOT_AB: 4, NOT_A_CELL: 4}
    assert_conserved(result, 9)


@needs_shared
def test_bd_contigs_of_others_are_of_b_cells_and_refused_with_their_loci():
    path = SHARED / "formats/bd_rhapsody_unfiltered_contigs.csv.gz"
    table = pd.read_csv(path, comment="#", dtype=str)
    assert table["Chain_Type"].value_counts().to_dict() == {
        "BCR_Heavy": 1301,
        "BCR_Kappa": 1160,
        "BCR_Lambda": 531,
    }
    with pytest.raises(
        InputError,
        match=rf"none of the {len(table)} rows is an α or β .*loci: 1301 IGH, 1160 IGK, 531 IGL\)",
    ):
        normalised(path)


def test_trust4_header_may_begin_with_a_number_sign(tmp_path):
    plain = (DATA / "trust4.tsv").read_text()
    (tmp_path / "x.tsv").write_text(f"#{plain}")
    with_sign, without = normalised(tmp_path / "x.tsv"), normalised(DATA / "trust4.tsv")
    assert with_sign.counts == without.counts
    assert with_sign.cells.equals(without.cells)


@pytest.mark.parametrize("name", ["trust4.tsv", "parse.tsv"])
def test_counts_of_a_cells_chains_in_one_row_are_summed(name):
    (batch,) = reading.open_chains(DATA / name).batches
    chains = batch.chains.to_pandas().sort_values("duplicate_count", ascending=False, kind="stable")
    kept = chains.drop_duplicates(["cell_id", "locus"])
    cell = normalised(DATA / name).cells.to_pylist()[0]
    of_cell = kept[kept["cell_id"] == cell["cell_id"]]
    assert set(of_cell["locus"]) == {"TRA", "TRB"}
    assert cell["duplicate_count"] == of_cell["duplicate_count"].sum()


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


@pytest.mark.parametrize("prefix", ["IR_", ""])
@pytest.mark.parametrize("old", [False, True])
def test_names_of_scirpys_columns_by_version(prefix, old, tmp_path):
    content = (DATA / "scirpy_obs.csv").read_text().replace("IR_", prefix)
    if old:
        for new, name in {"junction_aa": "cdr3", "v_call": "v_gene", "j_call": "j_gene"}.items():
            content = content.replace(f"_{new}", f"_{name}")
    assert chains_of(normalised_text(tmp_path / "x", content)) == TABLES["scirpy_obs.csv"][1]


def test_tables_of_one_chain_keep_what_they_say_of_the_other(tmp_path):
    """A paired table that lacks the J genes of its α chains is no table of β chains."""
    table = pd.read_csv(DATA / "tcrdist.csv").drop(columns="j_a_gene")
    result = normalised_text(tmp_path / "x", table.to_csv(index=False))
    assert chains_of(result)[0] == (ALPHA[0], None, ALPHA[2], *BETA)


def test_old_names_of_immunarch(tmp_path):
    content = (DATA / "immunarch.tsv").read_text()
    names = {
        "CDR3.aa": "CDR3.amino.acid.sequence",
        "V.name": "V.gene",
        "J.name": "J.gene",
        "Clones": "Read.count",
    }
    for name, old in names.items():
        content = content.replace(name, old, 1)
    result = normalised_text(tmp_path / "x", content)
    assert chains_of(result) == TABLES["immunarch.tsv"][1]
    assert columns_of(result, "duplicate_count") == [(5,), (3,), (1,)]


def test_a_table_that_says_more_than_clustcr_is_not_taken_for_one(tmp_path):
    content = text(("CDR3", "V", "J"), [(BETA[2], BETA[0], BETA[1])])
    with pytest.raises(InputError, match=r"its columns \(CDR3, V, J\) match no known format"):
        normalised_text(tmp_path / "x", content)
    assert chains_of(normalised_text(tmp_path / "x", content, "clustcr")) == [alone(BETA[0], None, BETA[2])]
