"""Receptors whose α and β junction are equal, because one was copied: flagged, and no references."""

from airrvec.annotation import reference_set
from airrvec.annotation.merged_reference import SourceTable, merge
from airrvec.core import schema
from airrvec.evaluation import fewshot

import pytest
from inputs import (
    ALPHA,
    ALPHA_2,
    BETA,
    BETA_2,
    NO_CHAIN,
    SCEPTR_COLUMNS,
    assert_conserved,
    normalised_text,
    sceptr_row,
    text,
)

# As VDJdb 2023-06 has one: the junction of the β chain is that of the α chain too.
COPIED = (("TRAV14/DV4*01", "TRAJ42*01", BETA[2]), BETA)
FLU, CMV = "GILGFVFTL", "NLVPMVATV"


@pytest.fixture
def read(tmp_path):
    rows = [
        sceptr_row(ALPHA, BETA, FLU),
        sceptr_row(*COPIED, CMV),
        sceptr_row(*COPIED, FLU),
        sceptr_row(ALPHA_2, BETA_2, CMV),
        sceptr_row(NO_CHAIN, BETA_2, CMV),
        sceptr_row(*COPIED),
    ]
    return normalised_text(tmp_path / "x.tsv", text(SCEPTR_COLUMNS, rows), sample_id="x")


def test_they_are_kept_flagged_and_counted(read):
    assert_conserved(read, 6)
    assert read.cells["equal_junctions"].to_pylist() == [False, True, True, False, False, True]
    assert read.counts["equal_junctions"] == 3
    assert read.counts["warnings"] == [
        "3 cells have the same α and β junction, of which one was copied by mistake; annotation does not use"
        " such receptors as references (equal_junctions)"
    ]


def test_nothing_is_said_where_there_are_none(tmp_path):
    rows = [sceptr_row(ALPHA, BETA), sceptr_row(NO_CHAIN, BETA_2)]
    found = normalised_text(tmp_path / "x.tsv", text(SCEPTR_COLUMNS, rows))
    assert found.counts["equal_junctions"] == 0
    assert found.counts["warnings"] == []


@pytest.mark.parametrize(("chains", "n_left"), [("paired", 2), ("alpha", 2), ("beta", 2)])
def test_they_are_no_references_in_any_class_of_chains(read, chains, n_left):
    given = {"chains": chains, "species": "homosapiens"}
    built = reference_set.build_reference_set(read.cells, read.receptors, **given)
    assert len(built) == n_left
    assert COPIED[0][0] not in built.receptors["tra_v_call"].to_pylist()
    # The β chain alone is that of a good receptor, but the label of the copied one is not.
    counts = dict(zip(built.epitopes["epitope"], built.epitopes["n_references"], strict=True))
    assert counts == {CMV: 1, FLU: 1}
    table = reference_set.reference_table({("homosapiens", chains): built}, read.cells, read.receptors)
    assert COPIED[0][0] not in table["tra_v_call"].to_pylist()


def test_a_merged_reference_leaves_them_out_and_accounts_for_them(read):
    merged = merge([SourceTable("x", read.cells, read.receptors, read.counts)])
    assert COPIED[0][0] not in merged.pairs["tra_v_call"].to_pylist()
    (account,) = merged.sources.to_pylist()
    parts = {name: number for name, number in account.items() if name.startswith("rows")}
    assert parts == {
        "rows": 6,
        "rows_rejected": 0,
        "rows_unlabelled": 1,
        "rows_equal_junctions": 2,
        "rows_merged": 3,
    }
    assert merged.sources.schema.equals(schema.REFERENCE_SOURCES)


def test_the_benchmark_keeps_them_as_the_papers_table_does(read):
    labelled = fewshot.select_labelled(read.cells, read.receptors, species="homosapiens")
    assert COPIED[0][0] in labelled.receptors["tra_v_call"].to_pylist()
