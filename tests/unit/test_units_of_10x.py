"""One 10x run as CSV, as Cell Ranger's AIRR table, and as scirpy keeps it: the same cells and units."""

import csv
import gzip
import io

from airrvec.input.formats import chains

import pandas as pd
import pytest
from format_tables import columns_of
from inputs import (
    ALPHA,
    BETA,
    BETA_2,
    SHARED,
    chains_of,
    needs_shared,
    normalised,
    normalised_text,
    text,
)

import export_airr

CASES = SHARED / "cases"
# AIRR field of Cell Ranger's airr_rearrangement.tsv → column of its CSV file.
CELL_RANGER = {
    "cell_id": "barcode",
    "clone_id": "raw_clonotype_id",
    "sequence_id": "contig_id",
    "productive": "productive",
    "v_call": "v_gene",
    "d_call": "d_gene",
    "j_call": "j_gene",
    "c_call": "c_gene",
    "junction": "cdr3_nt",
    "junction_aa": "cdr3",
    "consensus_count": "reads",
    "duplicate_count": "umis",
    "is_cell": "is_cell",
}
TIE = ("cell_id", "sequence_id", "v_call", "j_call", "junction_aa")
UNITS = "duplicate_count is read as UMIs and consensus_count as reads, as Cell Ranger writes them"


def as_cell_ranger(rows: list[dict]) -> str:
    """The contigs in the columns of Cell Ranger's AIRR table, its flags as T and F."""
    words = {"true": "T", "false": "F"}
    lines = [
        [words.get((row[name] or "").lower(), row[name]) for name in CELL_RANGER.values()] for row in rows
    ]
    return text(CELL_RANGER, lines)


def assert_same(one, other) -> None:
    """Cells, receptors and chains are the same, but for the field that CSV has under another name."""
    assert other.cells.equals(one.cells)
    assert other.receptors.equals(one.receptors)
    assert other.chains.drop_columns("consensus_count").equals(one.chains.drop_columns("consensus_count"))
    assert sorted(map(str, other.rejects.to_pylist())) == sorted(map(str, one.rejects.to_pylist()))


@needs_shared
@pytest.mark.parametrize("name", ["umi_tie_10x.csv", "umi_tie_airr.tsv"])
def test_a_tie_of_umis_is_broken_by_reads(name):
    result = normalised(CASES / name)
    assert chains_of(result) == [("TRAV27", "TRAJ42", "CAGAGSQGNLIF", "TRBV19", "TRBJ2-7", "CASSIRSSYEQYF")]
    assert columns_of(result, "umi_count", "duplicate_count") == [(7, 9800)]
    assert result.chains["umi_count"].to_pylist() == [5, 2]
    assert result.chains["duplicate_count"].to_pylist() == [800, 9000]


@needs_shared
@pytest.mark.parametrize(
    "name",
    [
        "10x_pbmc3_filtered_contig_annotations.csv.gz",
        "10x_GSM4475055_C149_filtered_contig_annotations.csv.gz",
    ],
)
def test_a_real_sample_is_the_same_from_both_files(name, tmp_path):
    path = SHARED / "formats" / name
    rows = list(csv.DictReader(io.StringIO(gzip.decompress(path.read_bytes()).decode())))
    # Cell Ranger's AIRR table holds no chains without a locus: those of 10x's "Multi".
    rows = [row for row in rows if row["chain"] != "Multi"]
    frame = pd.DataFrame(rows)
    frame.to_csv(tmp_path / "x.csv", index=False)
    assert frame.duplicated(["barcode", "chain", "umis"]).any()
    one = normalised(tmp_path / "x.csv", "10x")
    other = normalised_text(tmp_path / "airr.tsv", as_cell_ranger(rows), "airr")
    assert_same(one, other)
    assert other.counts["pairing"] == one.counts["pairing"]
    assert any(warning.startswith(UNITS) for warning in other.counts["warnings"])


@pytest.mark.parametrize(
    ("columns", "counts", "expected"),
    [
        # UMIs and reads of two β chains, and those of the chain that is kept: UMIs first, then reads.
        (("consensus_count", "duplicate_count", "is_cell"), [(9, 2, "T"), (8, 3, "T")], (BETA_2, 3, 8)),
        (("consensus_count", "duplicate_count", "is_cell"), [(9, 2, "T"), (10, 2, "T")], (BETA_2, 2, 10)),
        (("consensus_count", "umi_count", "is_cell"), [(9, 2, "T"), (10, 2, "T")], (BETA_2, 2, 10)),
        # Without `is_cell`, or beside `umi_count`, `duplicate_count` has no UMIs.
        (("consensus_count", "duplicate_count"), [(9, 2), (8, 3)], (BETA_2, None, 3)),
        (
            ("consensus_count", "duplicate_count", "is_cell", "umi_count"),
            [(1, 20, "T", 5), (1, 30, "T", 4)],
            (BETA, 5, 20),
        ),
        (("consensus_count", "is_cell"), [(9, "T"), (10, "T")], (BETA_2, None, 10)),
    ],
)
def test_units_depend_on_the_columns_of_the_table(columns, counts, expected, tmp_path):
    lines = [
        ["c", f"c_contig_{n}", *chain, *numbers]
        for n, (chain, numbers) in enumerate(zip((BETA, BETA_2), counts, strict=True), start=1)
    ]
    result = normalised_text(tmp_path / "x.tsv", text((*TIE, *columns), lines), "airr")
    chain, umis, reads = expected
    assert chains_of(result)[0][3:] == chain
    assert columns_of(result, "umi_count", "duplicate_count") == [(umis, reads)]
    said = any(warning.startswith(UNITS) for warning in result.counts["warnings"])
    assert said == ({"duplicate_count", "is_cell"} <= {*columns} and "umi_count" not in columns)


def test_scirpy_before_umi_count_is_read_in_the_same_units(tmp_path):
    """As `adata.obs.to_csv()` of scirpy 0.12 wrote a 10x sample."""
    names = ("v_call", "j_call", "junction_aa", "locus", "consensus_count", "duplicate_count")
    columns = ["", "is_cell", *(f"IR_{arm}_1_{name}" for arm in ("VJ", "VDJ") for name in names)]
    row = ["a", "True", *ALPHA, "TRA", "900.0", "7.0", *BETA, "TRB", "50.0", "3.0"]
    result = normalised_text(tmp_path / "x.csv", text(columns, [row], ","), "scirpy")
    assert columns_of(result, "umi_count", "duplicate_count") == [(10, 950)]
    without = [name for name in columns if name != "is_cell"]
    result = normalised_text(tmp_path / "y.csv", text(without, [row[:1] + row[2:]], ","), "scirpy")
    assert columns_of(result, "umi_count", "duplicate_count") == [(None, 10)]


def test_an_export_of_airrvec_is_not_taken_for_cell_rangers():
    exported = export_airr.rearrangement_columns()
    assert {"duplicate_count", "consensus_count"} <= set(exported)
    assert not chains.counts_umis_as_duplicates(exported)
