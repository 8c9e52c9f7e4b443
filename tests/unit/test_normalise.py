"""Pairing of the chains of cells, and the loss of rows."""

from airrvec.core.errors import InputError
from airrvec.input import reading
from airrvec.input.normalise import Normaliser

import pytest
from inputs import (
    ALPHA,
    ALPHA_2,
    BETA,
    BETA_2,
    DATA,
    ROOT,
    SCEPTR_COLUMNS,
    assert_conserved,
    cells_with_chains,
    chains_of,
    normalised,
    normalised_text,
    rejected,
    sceptr_row,
    text,
)

EXTRA = "extra chain of its cell: the one with more UMIs, then reads, is kept"
AIRR_COLUMNS = ("cell_id", "v_call", "j_call", "junction_aa", "umi_count", "duplicate_count")


# --- Pairing.


# scirpy's words: rows are numbers of α chains, columns numbers of β chains, from 0 to 3.
SCIRPY = [
    [None, "orphan VDJ", "orphan VDJ", "multichain"],
    ["orphan VJ", "single pair", "extra VDJ", "multichain"],
    ["orphan VJ", "extra VJ", "two full chains", "multichain"],
    ["multichain", "multichain", "multichain", "multichain"],
]


@pytest.mark.parametrize("n_alpha", range(4))
@pytest.mark.parametrize("n_beta", range(4))
def test_pairing_has_the_words_of_scirpy(n_alpha, n_beta, tmp_path):
    # Other chains of the cell, none of them productive, change nothing.
    rows = [("cell", *ALPHA, 5, n, "T") for n in range(n_alpha)]
    rows += [("cell", *BETA, 5, n, "T") for n in range(n_beta)]
    rows += [("cell", *ALPHA_2, 9, 9, "F"), ("other", *BETA_2, 1, 1, "T")]
    result = normalised_text(tmp_path / "x.tsv", text((*AIRR_COLUMNS, "productive"), rows))
    words = dict(
        zip(result.cells["cell_id"].to_pylist(), result.cells["chain_pairing"].to_pylist(), strict=True)
    )
    assert words.get("cell") == SCIRPY[n_alpha][n_beta]
    assert words["other"] == "orphan VDJ"
    n_kept = min(n_alpha, 1) + min(n_beta, 1)
    extra = [row for row, _field, _value, reason in rejected(result) if reason == EXTRA]
    assert len(extra) == n_alpha + n_beta - n_kept
    assert_conserved(result, n_alpha + n_beta + 2)


def test_receptors_are_called_by_the_chains_they_keep():
    receptors = normalised(DATA / "airr_single_cell.tsv").receptors
    assert receptors["chain_pairing"].to_pylist() == ["single pair", "orphan VDJ", "orphan VDJ"]


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        ((1, 100), (2, 1), "second"),  # UMIs come before reads
        ((2, 1), (1, 100), "first"),
        ((3, 10), (3, 20), "second"),  # reads decide among equal UMIs
        ((3, 20), (3, 10), "first"),
        ((3, 10), (3, 10), "first"),  # the first among equals
        ((None, 10), (None, 20), "second"),
        ((None, 99), (0, None), "second"),  # a number, even 0, comes before none
        ((None, None), (None, None), "first"),
        ((2, 10), (10, 2), "second"),  # as numbers, not as words
    ],
)
def test_the_chain_with_more_umis_then_reads_then_the_first_is_kept(first, second, kept, tmp_path):
    rows = [("cell", *ALPHA, 1, 1), ("cell", *BETA, *first), ("cell", *BETA_2, *second)]
    result = normalised_text(tmp_path / "x.tsv", text(AIRR_COLUMNS, rows))
    best, other = (2, 3) if kept == "first" else (3, 2)
    chains = {2: BETA, 3: BETA_2}
    assert chains_of(result) == [(*ALPHA, *chains[best])]
    assert rejected(result) == [(other, "junction_aa", chains[other][2], EXTRA)]
    counts = {2: first, 3: second}[best]
    assert result.cells["umi_count"].to_pylist() == [1 + (counts[0] or 0)]
    assert result.cells["duplicate_count"].to_pylist() == [1 + (counts[1] or 0)]


def test_cells_come_in_the_order_of_the_input(tmp_path):
    names = [f"cell {(number * 37) % 50}" for number in range(50)]
    # The β chains come in another order than the α chains, which decide.
    rows = [(name, *ALPHA, 1, 1) for name in names] + [(name, *BETA, 1, 1) for name in sorted(names)]
    result = normalised_text(tmp_path / "x.tsv", text(AIRR_COLUMNS, rows))
    assert result.cells["cell_id"].to_pylist() == names
    assert result.counts["pairing"] == {"single pair": 50}


def test_the_count_of_a_row_with_both_chains_is_the_rows(tmp_path):
    columns = (*SCEPTR_COLUMNS, "duplicate_count")
    rows = [[*sceptr_row(ALPHA, BETA), 7], [*sceptr_row(ALPHA, ("TRBV1", *BETA[1:])), 5]]
    result = normalised_text(tmp_path / "x.tsv", text(columns, rows))
    assert result.cells["duplicate_count"].to_pylist() == [7, 5]


# --- Loss.


def loss_of_a_third(path):
    rows = [sceptr_row(ALPHA, BETA), sceptr_row(ALPHA_2), sceptr_row(alpha=("TRAV1-1", None, "CA*F"))]
    path.write_text(text(SCEPTR_COLUMNS, rows))
    return path


def test_a_loss_above_five_per_cent_is_a_warning(tmp_path):
    result = normalised(loss_of_a_third(tmp_path / "x.tsv"))
    warning = "33.3 % of the rows rejected (1 × junction_aa holds a stop codon (*))"
    assert result.counts["warnings"] == [warning]
    assert normalised(ROOT / "assets/demo/dash_human.csv").counts["warnings"] == []


@pytest.mark.parametrize("limit", [33.4, 33.3])
def test_a_loss_above_the_limit_is_an_error(tmp_path, limit):
    source = reading.open_chains(loss_of_a_third(tmp_path / "x.tsv"))
    normaliser = Normaliser(sample_id="s", species="homosapiens", max_rejected=limit)
    if limit > 100 / 3:
        assert sum(len(part.cells) for part in normaliser.parts(source)) == 2
    else:
        with pytest.raises(
            InputError, match=r"s: 33.3 % of the rows were rejected, more than the 33.3 % that"
        ):
            list(normaliser.parts(source))


# --- Cells with several chains.


def cell_with(n_alpha: int, n_beta: int) -> list[tuple]:
    """Rows of a 10x table: one cell, its chains in falling order of UMIs, told apart by their junctions."""
    rows = [("TRA", *ALPHA[:2], f"CA{'G' * number}F", 9 - number) for number in range(n_alpha)]
    rows += [("TRB", *BETA[:2], f"CS{'G' * number}F", 9 - number) for number in range(n_beta)]
    return [("c1", locus, v, j, junction, umis) for locus, v, j, junction, umis in rows]


@pytest.mark.parametrize("n_alpha", range(4))
@pytest.mark.parametrize("n_beta", range(4))
@pytest.mark.parametrize("multichain", ["split", "drop"])
def test_cells_with_several_chains_are_split_or_dropped(tmp_path, n_alpha, n_beta, multichain):
    single = [("c0", "TRA", *ALPHA, 1), ("c2", "TRB", *BETA, 1)]
    rows = [single[0], *cell_with(n_alpha, n_beta), single[1]]
    columns = ("barcode", "chain", "v_gene", "j_gene", "cdr3", "umis")
    result = normalised_text(tmp_path / "x.csv", text(columns, rows, ","), multichain=multichain)
    found = [
        (cell["tra_junction_aa"], cell["trb_junction_aa"], cell["umi_count"])
        for cell in cells_with_chains(result)
        if cell["cell_id"] == "c1"
    ]
    alphas, betas = (
        [(row[4], row[5]) for row in rows if row[:2] == ("c1", locus)] for locus in ("TRA", "TRB")
    )
    pairs = [(*a, *b) for a in alphas or [(None, 0)] for b in betas or [(None, 0)] if alphas or betas]
    if multichain == "drop" and max(n_alpha, n_beta) > 1:
        assert found == []
        reason = "its cell has more than one α or β chain, and such cells are dropped"
        assert result.counts["reject_reasons"] == {reason: n_alpha + n_beta}
    else:
        assert found == [(a, b, a_umis + b_umis) for a, a_umis, b, b_umis in pairs]
        assert result.counts["reject_reasons"] == {}
    assert_conserved(result, len(rows))
