"""What the columns of a file mean: names of roles, and small inputs that went wrong."""

from airrvec.core.errors import InputError
from airrvec.input import role_names

import pytest
from format_tables import columns_of
from inputs import (
    ALPHA,
    BETA,
    BETA_2,
    PAIR,
    SHARED,
    cells_with_chains,
    chains_of,
    needs_shared,
    normalised,
    normalised_text,
    text,
)

CASES = SHARED / "cases"
FLU = ("TRAV27", "TRAJ42", "CAGAGSQGNLIF", "TRBV19", "TRBJ2-7", "CASSIRSSYEQYF")
OTHER = ("TRAV12-2", "TRAJ30", "CAVNRDDKIIF", "TRBV7-9", "TRBJ2-1", "CASSLAPGATNEQFF")
THIRD = ("TRAV8-4", "TRAJ12", "CAVSDPMDSSYKLIF", *OTHER[3:])
AIRR = ("v_call", "j_call", "junction_aa")


def without_alleles(result) -> list[tuple]:
    return [tuple(name and name.split("*")[0] for name in chain) for chain in chains_of(result)]


def chains_by_count(result, field: str) -> dict:
    chains = result.chains.to_pylist()
    return {chain["junction_aa"]: chain[field] for chain in chains}


@needs_shared
@pytest.mark.parametrize(
    ("name", "receptors", "counts"),
    [
        # duplicate_count and umi_count of the cells
        ("parse_tcr_annotation_airr.tsv", [FLU, THIRD], [(700, 29), (400, 16)]),
        ("parse_read_support_multiplet.tsv", [FLU], [(700, None)]),
        ("mixcr_plate.clones.tsv", [FLU, OTHER], [(1400, None), (1000, None)]),
        ("mixcr_clone.groups_TRAD.tsv", [FLU, OTHER], [(1000, 40), (1000, 40)]),
        ("tirtl_pairs.tsv", [FLU, OTHER], [(None, None)] * 2),
        ("umi_tie_10x.csv", [FLU], [(9800, 7)]),
        ("umi_tie_airr.tsv", [FLU], [(9800, 7)]),
        ("two_lanes_in_one_10x.csv", [FLU, OTHER], [(12_000, 50), (8_000, 35)]),
    ],
)
def test_cases_of_pairs(name, receptors, counts):
    result = normalised(CASES / name)
    assert without_alleles(result) == receptors
    assert columns_of(result, "duplicate_count", "umi_count") == counts


@needs_shared
@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("counts_as_r_writes_airr.tsv", [100_000, 250]),
        ("counts_as_java_writes_mixcr.tsv", [12_345_678, 1_250]),
        ("counts_named_counts_airr.tsv", [1_200, 3]),
        ("counts_partly_empty_airr.tsv", [40, None]),
        ("immunoseq_templates_partly_empty.tsv", [40, None]),
        ("paired_clonotypes_10x.csv", [120, 20, 10]),
        ("paired_clones_conga.tsv", [120, 20]),
        ("utf16_mixcr.txt", [12, 3]),
    ],
)
def test_cases_of_counts(name, counts):
    assert [count for (count,) in columns_of(normalised(CASES / name), "duplicate_count")] == counts


@needs_shared
def test_a_cell_that_is_undefined_is_no_cell():
    result = normalised(CASES / "mixcr_cell_groups.clones.tsv")
    assert without_alleles(result) == [FLU, (*OTHER[:3], None, None, None)]
    result = normalised(CASES / "missing_cell_id_pandas_airr.tsv")
    assert len(result.cells) == 5
    assert set(result.counts["pairing"]) == {"orphan VJ", "orphan VDJ"}
    assert result.counts["rows_rejected"] == 0


@needs_shared
def test_missing_words_are_no_labels():
    result = normalised(CASES / "missing_words_labelled.tsv")
    assert result.counts["rows_rejected"] == 0
    for name in ("epitope", "mhc_a", "reference_id"):
        assert result.cells[name].null_count == len(result.cells), name
    assert {receptor[1] for receptor in chains_of(result)} == {None}
    assert result.counts["pairing"] == {"single pair": len(result.cells)}


@needs_shared
def test_names_of_genes():
    result = normalised(CASES / "gene_names.tsv")
    found = {row["cell_id"]: row for row in cells_with_chains(result)}
    lists = ("TRBV6-2/6-3", "TRBV6-2/TRBV6-3", "TRBV6-2_6-3", "TRBV6-2or6-3", "TRAV8-4/TRAV8-2")
    assert [found[name]["uncertain_calls"] for name in lists] == ["trb_v_call"] * 4 + ["tra_v_call"]
    for name in ("hTRBV19", "trbv19", "TRBV-19", "BV19", "TRBV19*01_F"):
        assert found[name]["trb_v_call"].split("*")[0] == "TRBV19"
        assert found[name]["uncertain_calls"] is None
    reasons = {row["cell_id"]: row["reason"] for row in result.rejects.to_pylist()}
    assert set(reasons) == {"IGHV3-23*01", "TRBV20/OR9-2", "Vb17", "V19", "19-Jan", "6-5"}
    assert "a date" in reasons["19-Jan"]


@pytest.mark.parametrize("name", [*role_names.CELL, "Cell Barcode", "CELL.ID"])
def test_every_name_of_a_cell_is_one(name, tmp_path):
    table = text((*AIRR, name), [(*ALPHA, "a"), (*BETA, "a"), (*BETA_2, "<NA>")])
    result = normalised_text(tmp_path / "x.tsv", table, "airr")
    assert chains_of(result) == [PAIR, (None, None, None, *BETA_2)]
    assert result.counts["roles"] == f"cell = {name}"


@pytest.mark.parametrize(
    ("unit", "name"),
    [
        *(("UMIs", name) for name in role_names.UMIS),
        *(("reads", name) for name in role_names.READS),
        *(("copies", name) for name in role_names.COPIES),
    ],
)
def test_every_name_of_a_count_is_one(unit, name, tmp_path):
    result = normalised_text(
        tmp_path / "x.tsv", text((*AIRR, name), [(*ALPHA, "1e+03"), (*BETA, "")]), "airr"
    )
    field = role_names.UNITS[unit]
    assert columns_of(result, field) == [(1000,), (None,)]
    assert result.counts["roles"] == f"count = {name} ({unit})"


@pytest.mark.parametrize(("name", "good"), [(name, good) for name, (good, _) in role_names.FLAWS.items()])
def test_flags_of_quality(name, good, tmp_path):
    rows = [(*ALPHA, str(good)), (*BETA, str(not good)), (*BETA_2, "")]
    result = normalised_text(tmp_path / "x.tsv", text((*AIRR, name), rows), "airr")
    (reject,) = result.rejects.to_pylist()
    assert (reject["row"], reject["reason"]) == (2, f"{role_names.FLAWS[name][1]} ({name})")


def test_two_columns_for_one_role(tmp_path):
    names = (*AIRR, "read_count", "reads")
    same = text(names, [(*ALPHA, "5", "5"), (*BETA, "6", "")])
    assert columns_of(normalised_text(tmp_path / "x.tsv", same, "airr"), "duplicate_count") == [(5,), (6,)]
    other = text(names, [(*ALPHA, "5", "5"), (*BETA, "6", "7")])
    with pytest.raises(InputError, match=r"^y.tsv: the columns 'read_count' and 'reads' both give"):
        normalised_text(tmp_path / "y.tsv", other, "airr")
    names = (*AIRR, "cell_id", "barcode")
    renamed = text(names, [(*ALPHA, "s1_A", "A"), (*BETA, "s1_A", "A")])
    assert chains_of(normalised_text(tmp_path / "x.tsv", renamed, "airr")) == [PAIR]
    other = text(names, [(*ALPHA, "s1_A", "A"), (*BETA, "s1_A", "B")])
    with pytest.raises(InputError, match=r"^y.tsv: the columns 'cell_id' and 'barcode' both give"):
        normalised_text(tmp_path / "y.tsv", other, "airr")


@pytest.mark.parametrize("name", [*role_names.SAMPLE, "Sample_Name", "SampleID"])
def test_a_cell_has_its_name_within_a_sample(name, tmp_path):
    rows = [(*chain, "A", sample) for sample, beta in (("1", BETA), ("2", BETA_2)) for chain in (ALPHA, beta)]
    result = normalised_text(tmp_path / "x.tsv", text((*AIRR, "barcode", name), rows), "airr")
    assert chains_of(result) == [PAIR, (*ALPHA, *BETA_2)]
    assert result.counts["roles"] == f"cell = barcode within {name}"


@pytest.mark.parametrize(
    ("words", "n_cells"),
    [
        (("Singlet", "Doublet", "Negative"), 2),
        (("SNG", "DBL", "AMB"), 2),
        (("not doublet", "multiplet", "unassigned"), 2),
        (("FALSE", "TRUE", ""), 2),
    ],
)
def test_words_of_programs_that_find_doublets(words, n_cells, tmp_path):
    rows = [(*BETA, word) for word in words]
    result = normalised_text(
        tmp_path / "x.tsv", text((*AIRR, "DF.classifications_0.25_0.09_913"), rows), "airr"
    )
    assert result.counts["cells"] == n_cells
    assert "neither true nor false" not in str(result.counts["warnings"])


def test_a_doublet_in_a_table_of_scirpy_is_rejected(tmp_path):
    chain = [f"IR_VDJ_1_{name}" for name in AIRR]
    names = ("", *(f"IR_VJ_1_{name}" for name in AIRR), *chain, "predicted_doublet")
    rows = [("a", *ALPHA, *BETA, "False"), ("b", *ALPHA, *BETA_2, "True")]
    result = normalised_text(tmp_path / "x.csv", text(names, rows), "scirpy")
    assert chains_of(result) == [PAIR]
    assert set(result.counts["reject_reasons"]) == {"the cell is a doublet (predicted_doublet)"}


@pytest.mark.parametrize(
    ("names", "rows", "abundance"),
    [
        (("read_count", "duplicate_count"), [("", 3), ("", 4)], [3, 4]),
        (("umi_count", "duplicate_count"), [(0, 3), (0, 4)], [3, 4]),
        (("duplicate_count", "consensus_count"), [("", 5), ("", 6)], [5, 6]),
        (("umi", "duplicate_count"), [("ACGTTGCA", 5), ("ACGTTGCC", 6)], [5, 6]),
        (("duplicate_count", "count"), [("12.0", 12), ("1e2", 100)], [12, 100]),
    ],
)
def test_a_count_without_values_stands_back(names, rows, abundance, tmp_path):
    rows = [(*chain, *counts) for chain, counts in zip((BETA, BETA_2), rows, strict=True)]
    result = normalised_text(tmp_path / "x.tsv", text((*AIRR, *names), rows), "airr")
    assert columns_of(result, "abundance") == [(n,) for n in abundance]
    assert not [word for word in result.counts["warnings"] if "not read" in word]


def test_shares_are_no_counts(tmp_path):
    rows = [(*BETA, "0.6"), (*BETA_2, "0.4")]
    with pytest.raises(InputError, match=r"2 of 2 values are between 0 and 1, the first '0.6'"):
        normalised_text(tmp_path / "x.tsv", text((*AIRR, "count"), rows), "airr")


def test_a_cell_of_mixcr_has_all_of_its_tags(tmp_path):
    names = (
        "bestVHit",
        "bestJHit",
        "aaSeqCDR3",
        "readCount",
        "tagValueCELL0PLATE",
        "tagValueCELL0WELL",
        "cellGroup",
    )
    rows = [
        (*chain, 5, plate, "A1", 0) for plate, beta in ((1, BETA), (2, BETA_2)) for chain in (ALPHA, beta)
    ]
    result = normalised_text(tmp_path / "x.tsv", text(names, rows), "mixcr")
    assert chains_of(result) == [PAIR, (*ALPHA, *BETA_2)]
    assert result.counts["roles"].startswith("cell = tagValueCELL0PLATE+tagValueCELL0WELL · ")
    group = [(*row[:4], "contamination") for row in rows]
    result = normalised_text(tmp_path / "x.tsv", text((*names[:4], "cellGroup"), group), "mixcr")
    assert set(result.counts["pairing"]) == {"orphan VJ", "orphan VDJ"}


@pytest.mark.parametrize("name", ["", "X", "cell"])
def test_expanded_clones_of_cells_with_row_names_are_no_sign(name, tmp_path):
    row = ("TRAV27.TRAJ42.TRAC_TRBV19.None.TRBJ2-7.TRBC2", "CAGAGSQGNLIF_CASSIRSSYEQYF")
    table = text((name, "CTgene", "CTaa"), [(f"c{n}", *row) for n in range(9)])
    result = normalised_text(tmp_path / "x.csv", table, "screpertoire")
    assert columns_of(result, "cell_id")[8] == ("c8",)
    assert result.counts["warnings"] == []


@pytest.mark.parametrize(
    ("ids", "cell", "counts"),
    [
        (("AAACCTGAGAACAACT-1_contig_1", "AAACCTGAGAACAACT-1_contig_2"), "AAACCTGAGAACAACT-1", None),
        *(
            ((f"{cell}_contig_1", f"{cell}_contig_2"), cell, None)
            for cell in (
                *("s1_AAACCTGAGAACAACT-1", "AAACCTGAGAACAACT-1-0", "AAACCTGAGAACAACT-1_S1"),
                *("s1#AAACCTGAGAACAACT-1", "sample1.AAACCTGAGAACAACT-1"),
            )
        ),
        (("AAACCTGAGAACAACT-1_contig_1 r1", "AAACCTGAGAACAACT-1_contig_2 r2"), "AAACCTGAGAACAACT-1", None),
        (("M01|CELL_ID=c1|DUPCOUNT=12", "M02|CELL_ID=c1|DUPCOUNT=7"), "c1", 19),
    ],
)
def test_a_cell_that_is_only_in_the_id_of_the_sequence(ids, cell, counts, tmp_path):
    rows = [(*chain, name) for chain, name in zip((ALPHA, BETA), ids, strict=True)]
    result = normalised_text(tmp_path / "x.tsv", text((*AIRR, "sequence_id"), rows), "airr")
    assert chains_of(result) == [PAIR]
    assert columns_of(result, "cell_id", "duplicate_count") == [(cell, counts)]


@pytest.mark.parametrize(
    "name", ["clonotype1_consensus_{}", "SAMPLETAGGATTACAAA_contig_{}", "AAACCTGAGAACAACT-1_contig_{}_s1"]
)
def test_an_id_without_a_barcode_or_with_a_word_after_its_number_names_no_cell(name, tmp_path):
    rows = [(*chain, name.format(number)) for number, chain in enumerate((ALPHA, BETA))]
    result = normalised_text(tmp_path / "x.tsv", text((*AIRR, "sequence_id"), rows), "airr")
    assert len(result.cells) == 2


def test_one_contig_with_two_contents_is_an_error(tmp_path):
    names = (*AIRR, "cell_id", "sequence_id")
    rows = [(*ALPHA, "A", "A_1"), (*BETA, "A", "A_2"), (*BETA_2, "A", "A_1")]
    problem = "^s: 'A_1' of cell 'A' is another chain in row 3 than in row 1; tables of several lanes"
    with pytest.raises(InputError, match=problem):
        normalised_text(tmp_path / "x.tsv", text(names, rows), "airr")


def test_cells_of_a_clonotype_are_counted_where_no_column_names_them(tmp_path):
    table = text((*AIRR, "n_cells", "umi_count"), [(*BETA, 12, 50), (*BETA_2, 3, 9)])
    result = normalised_text(tmp_path / "x.tsv", table, "airr")
    assert columns_of(result, "abundance", "count_unit") == [(12, "cells"), (3, "cells")]
    named = text((*AIRR, "n_cells", "cell_id"), [(*BETA, 12, "a"), (*BETA, 12, "b")])
    result = normalised_text(tmp_path / "x.tsv", named, "airr")
    assert columns_of(result, "abundance", "count_unit") == [(1, "cells"), (1, "cells")]
