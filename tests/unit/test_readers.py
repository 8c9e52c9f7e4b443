"""Every input format, read from hand-written tables and from real files."""

import gzip
import re
import subprocess
import sys

import pandas as pd
import pytest
import tidytcells
from inputs import (
    ALPHA,
    ALPHA_2,
    BETA,
    BETA_2,
    DATA,
    NO_CHAIN,
    ROOT,
    SCEPTR_COLUMNS,
    SHARED,
    assert_conserved,
    cells_with_chains,
    chains_of,
    needs_shared,
    normalised,
    normalised_text,
    receptor_id,
    rejected,
    sceptr_row,
    text,
)

from airrvec.core import schema
from airrvec.core.errors import InputError
from airrvec.input import reading
from airrvec.input.files import text_table
from airrvec.input.files.lines import LINE_LIMIT

HUMAN = "homosapiens"
EXTRA = "extra chain of its cell: the one with more UMIs, then reads, is kept"
PAIR = (*ALPHA, *BETA)
PAIR_ID = "97d9de9638e90e38f968250f"  # of PAIR, in every format


def cells(name: str, *columns: str) -> list[tuple]:
    return [tuple(cell[column] for column in columns) for cell in cells_with_chains(normalised(DATA / name))]


def genes_only(chain: tuple) -> tuple:
    return (chain[0].split("*")[0], chain[1].split("*")[0], chain[2])


# --- One hand-written table for each layout.


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
    # consensus_count stands in for duplicate_count; "many" is no number.
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
    assert cells("vdjdb_full.tsv", "cell_id", "input_rows", *schema.LABELS[:-2])[:3] == [
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
    assert cells("vdjdb_export.tsv", "cell_id", "chain_pairing", "input_rows", *schema.LABELS[:-1]) == [
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


# --- How a table may be written, with the same outcome.

ROWS = [sceptr_row(ALPHA, BETA, "a"), sceptr_row(ALPHA_2, BETA_2, "b, c")]
PLAIN = text(SCEPTR_COLUMNS, ROWS)

SPELLINGS = {
    "plain": PLAIN.encode(),
    "byte-order mark": b"\xef\xbb\xbf" + PLAIN.encode(),
    "CRLF": text(SCEPTR_COLUMNS, ROWS, newline="\r\n").encode(),
    "CR": text(SCEPTR_COLUMNS, ROWS, newline="\r").encode(),
    "no newline at the end": PLAIN.rstrip("\n").encode(),
    "comma-separated": text(SCEPTR_COLUMNS, ROWS, ",").encode(),
    "every cell quoted": re.sub(r"[^\t\n]+", r'"\g<0>"', PLAIN).encode(),
    "blank lines": PLAIN.replace("\n", "\n\n").encode(),
    "blanks around": PLAIN.replace("\t", " \t ").encode(),
    "gzip": gzip.compress(PLAIN.encode()),
    "gzip in two members": gzip.compress(PLAIN[:50].encode()) + gzip.compress(PLAIN[50:].encode()),
    "extra columns": text((*SCEPTR_COLUMNS, "n", ""), [[*row, "1", "é"] for row in ROWS]).encode(),
    "permuted columns": text(SCEPTR_COLUMNS[::-1], [row[::-1] for row in ROWS]).encode(),
    "column twice": text((*SCEPTR_COLUMNS, "CDR3B"), [[*row, "CASSF"] for row in ROWS]).encode(),
}


@pytest.mark.parametrize("content", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_spelling_of_the_table_does_not_matter(content, tmp_path):
    result = normalised_text(tmp_path / "table.csv", content)
    assert chains_of(result) == [PAIR, (*ALPHA_2, *BETA_2)]
    assert result.cells["epitope"].to_pylist() == ["a", "b, c"]
    assert result.counts["format"] == "sceptr"
    assert len(result.rejects) == 0


@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz", "table"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_gzip_is_found_by_content_not_by_name(name, pack, tmp_path):
    result = normalised_text(tmp_path / name, pack(PLAIN.encode()))
    assert chains_of(result) == [PAIR, (*ALPHA_2, *BETA_2)]


@pytest.mark.parametrize("null", ["", "None", "NA", "NaN", "null", " ", "\u00a0"])
def test_words_for_nothing_are_null(null, tmp_path):
    rows = [[null, null, null, BETA[0], BETA[2], null, null]]
    result = normalised_text(tmp_path / "x.tsv", text(SCEPTR_COLUMNS, rows))
    assert chains_of(result) == [(*NO_CHAIN, BETA[0], None, BETA[2])]
    assert result.cells["epitope"].to_pylist() == [None]


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("airr_bulk.tsv", "airr"),
        ("airr_single_cell.tsv", "airr"),
        ("10x.csv", "10x"),
        ("vdjdb_full.tsv", "vdjdb"),
        ("vdjdb_export.tsv", "vdjdb"),
        ("sceptr.tsv", "sceptr"),
        ("tcrdist.csv", "tcrdist"),
        ("tcrdist_beta.csv", "tcrdist"),
        ("vdjdb_release.tsv", "vdjdb"),
        ("scirpy_obs.csv", "scirpy"),
        ("conga.tsv", "conga"),
        ("immunarch.tsv", "immunarch"),
        ("immrep.csv", "immrep"),
        ("clustcr.csv", "clustcr"),
    ],
)
def test_format_is_found_from_the_header_and_by_name(name, format):
    found, named = reading.open_chains(DATA / name), reading.open_chains(DATA / name, format)
    assert found.format == named.format == format
    ((found_batch,), (named_batch,)) = (list(source.batches) for source in (found, named))
    assert found_batch.chains.equals(named_batch.chains)
    assert found_batch.chains.schema == schema.CHAIN_RECORDS


def test_every_format_has_a_table_here():
    inputs = [path for path in DATA.iterdir() if path.name not in ("README.md", "reference_vectors.parquet")]
    assert {reading.open_chains(path).format for path in inputs} == set(reading.FORMATS)


def test_unknown_format_is_named():
    with pytest.raises(InputError, match=r"^10x.csv: there is no format 'excel'. Known formats: airr, 10x,"):
        reading.open_chains(DATA / "10x.csv", "excel")


def test_malformed_rows_keep_their_numbers_in_a_large_file(tmp_path):
    rows = [sceptr_row(ALPHA, BETA, f"epitope {number}") for number in range(1, 30_001)]
    rows[24_999] = ["one field"]
    rows[29_999] = [*rows[29_999], "one more"]
    result = normalised_text(tmp_path / "x.tsv", text(SCEPTR_COLUMNS, rows))
    assert rejected(result) == [
        (25_000, None, None, "holds 1 fields, the header 7"),
        (30_000, None, None, "holds 8 fields, the header 7"),
    ]
    assert result.cells["epitope"][24_998:25_001].to_pylist() == [
        "epitope 24999",
        "epitope 25001",
        "epitope 25002",
    ]
    assert_conserved(result, 30_000)


# --- Real files; their counts are test_real_files.py's.


def test_dash_demonstration_file():
    path = ROOT / "assets/demo/dash_human.csv"
    table = pd.read_csv(path, dtype=str)
    columns = ["v_a_gene", "j_a_gene", "cdr3_a_aa", "v_b_gene", "j_b_gene", "cdr3_b_aa"]
    result = normalised(path)
    assert result.cells["cell_id"].to_pylist() == table["clone_id"].tolist()
    assert result.cells["epitope"].to_pylist() == table["epitope"].tolist()
    assert result.cells["duplicate_count"].to_pylist() == table["count"].astype(int).tolist()
    assert result.counts["receptors"] == len(table.drop_duplicates(columns)) == 391
    assert result.counts["pairing"] == {"single pair": 415}
    assert len(result.rejects) == 0
    assert_conserved(result, 415)


@needs_shared
@pytest.mark.parametrize(
    ("name", "loci"),
    [
        ("10x_bcr_only_melanoma.csv.gz", "7002 IGH, 4624 IGK, 3453 IGL"),
        ("10x_flu_multi_sample.csv.gz", "10000 IGH, 5414 IGK, 4586 IGL"),
        ("airr_bcr_only.tsv", "79 IGH, 41 IGK, 38 IGL"),
        ("airr_good_rearrangement.tsv", "9 IGH"),
    ],
)
def test_b_cell_files_of_others_are_refused_with_their_loci(name, loci):
    path = SHARED / "formats" / name
    table = pd.read_csv(path, sep=None, engine="python", dtype=str)
    named = next((column for column in ("chain", "locus") if column in table), "v_call")
    locus = table[named].str[:3]
    if "v_gene" in table:
        locus = locus.where(locus != "Mul", table["v_gene"].str[:3])
    assert ", ".join(f"{n} {word}" for word, n in locus.value_counts().items()) == loci
    with pytest.raises(InputError, match=rf"^s: none of the {len(table)} rows is an α or β chain .*{loci}\)"):
        normalised(path)


@needs_shared
@pytest.mark.parametrize("name", ["airr_rearrangement_tra.tsv", "airr_rearrangement_trb.tsv"])
def test_airr_fixtures_of_scirpy_whose_genes_are_no_genes(name):
    table = pd.read_csv(SHARED / "formats" / name, sep="\t", dtype=str)
    assert not any(tidytcells.tr.standardize(call, log_failures=False) for call in table["v_call"])
    with pytest.raises(InputError, match=r"4 × v_call is not a V gene listed by IMGT; first: row 1, v_call "):
        normalised(SHARED / "formats" / name)


def test_small_blocks_give_what_one_block_gives(monkeypatch, tmp_path):
    """Rows are numbered, and cells paired, across blocks; malformed rows lie at their borders too."""
    header, *lines = (ROOT / "assets/test/pbmc_b.csv").read_text().splitlines()
    ragged = [line + ",too much" if number % 7 in (0, 1) else line for number, line in enumerate(lines)]
    path = tmp_path / "ragged.csv"
    path.write_text("\n".join([header, *ragged, "x", "y"]) + "\n")
    whole = normalised(path)
    monkeypatch.setattr(text_table, "BLOCK_SIZE", 2_000)
    in_blocks = normalised(path)
    assert len(list(reading.open_chains(path).batches)) > 10
    assert in_blocks.counts == whole.counts
    for name in ("cells", "receptors", "rejects"):
        assert getattr(in_blocks, name).equals(getattr(whole, name))
    ragged_rows = {row for row, line in enumerate([*ragged, "x", "y"], 1) if line not in lines}
    reasons = whole.rejects.to_pandas()
    assert set(reasons.loc[reasons["reason"].str.startswith("holds "), "row"]) == ragged_rows


def test_small_blocks_of_rows_that_stand_alone_give_what_one_block_gives(monkeypatch):
    path = ROOT / "assets/demo/dash_human.csv"
    whole = normalised(path)
    monkeypatch.setattr(text_table, "BLOCK_SIZE", 2_000)
    in_blocks = normalised(path)
    assert in_blocks.counts == whole.counts
    for name in ("cells", "receptors", "rejects"):
        assert getattr(in_blocks, name).equals(getattr(whole, name))


LEFT_OVER = """
import atexit, itertools, threading
from airrvec.input.files.prefetch import prefetch

def print_reading():
    print([thread.name for thread in threading.enumerate() if thread is not threading.main_thread()])

atexit.register(print_reading)
items = prefetch(itertools.count())
print(next(items))
raise SystemExit(3)
"""


def test_no_thread_reads_on_when_python_ends():
    """A reader thread that outlives Python aborts it, exit status 134."""
    run = subprocess.run(
        [sys.executable, "-c", LEFT_OVER],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT / "bin")},
    )
    assert (run.stdout.split("\n"), run.returncode) == (["0", "[]", ""], 3), run.stderr


def test_a_line_of_almost_the_limit_is_read(tmp_path):
    row = [*sceptr_row(ALPHA, BETA), "x" * (LINE_LIMIT - 200)]
    table = text((*SCEPTR_COLUMNS, "note"), [row] * 3)
    assert chains_of(normalised_text(tmp_path / "x.tsv", table)) == [(*ALPHA, *BETA)] * 3
