"""Antigens of cells: 10x dextramers and BEAM, and tables of IMMREP as references."""

import re

from airrvec.annotation.merged_reference import SourceTable, merge
from airrvec.core.errors import InputError
from airrvec.input import reading
from airrvec.input.formats.tenx_dextramer import dextramer

import numpy as np
import pandas as pd
import pytest
from format_tables import columns_of
from hypothesis import given, settings
from hypothesis import strategies as st
from inputs import (
    ALPHA,
    BETA,
    BETA_2,
    DATA,
    PAIR,
    ROOT,
    assert_conserved,
    chains_of,
    genes_only,
    normalised,
    normalised_text,
    text,
)

FLU = ("GILGFVFTL", "HLA-A*02:01", "Flu-MP", "Influenza", "10x dextramer")
CMV = ("TPRVTGGGAM", "HLA-B*07:02", "pp65", "CMV", "10x dextramer")
WT1 = ("CYTWNQMNL", "HLA-A*24:02", "WT1-(235-243)236M_Y", None, "10x dextramer")
NONE = (None,) * 5
LABELS = ("epitope", "mhc_a", "antigen_gene", "antigen_species", "label_method")


def source(path, name: str) -> SourceTable:
    table = normalised(path)
    return SourceTable(name, table.cells, table.receptors, table.counts)


def test_a_cell_has_the_labels_of_all_dextramers_that_it_binds():
    result = normalised(DATA / "10x_dextramer.csv")
    assert columns_of(result, "cell_id", "input_rows", *LABELS) == [
        ("AAAC-1", 1, *FLU),
        ("AAAG-1", 1, *FLU),
        ("AAAG-1", 0, *CMV),
        ("AAAT-1", 1, *NONE),
        ("AACA-1", 1, *NONE),  # it binds a negative control too
        ("AACG-1", 1, *WT1),
    ]
    assert result.counts["cells"] == 6
    assert_conserved(result, 6)


def test_the_report_says_what_is_no_label(tmp_path):
    (warning,) = reading.open_chains(DATA / "10x_dextramer.csv").warnings
    assert warning == "cells that bind a negative control have no label: NR(B0801)_AAKGRGAAL_NC_binder"
    columns = ("barcode", "cell_clono_cdr3_aa")
    row = ("AAAC-1", "TRB:CASSEGTEAFF")
    (tmp_path / "plain.csv").write_text(text(columns, [row], ","))
    assert reading.open_chains(tmp_path / "plain.csv").warnings == [
        "no cell has a label: no column says which dextramers a cell binds (…_binder)"
    ]
    (tmp_path / "odd.csv").write_text(text((*columns, "CD3_binder"), [(*row, "True")], ","))
    assert reading.open_chains(tmp_path / "odd.csv").warnings == [
        "not read as a label, because it is not MHC_PEPTIDE_…_binder: CD3_binder"
    ]
    assert columns_of(normalised(tmp_path / "odd.csv"), "epitope") == [(None,)]


# Names of columns in 10x's experiment of four donors, then other spellings.
DEXTRAMERS = {
    "A0101_VTEHDTLLY_IE-1_CMV": ("VTEHDTLLY", "HLA-A*01:01", "IE-1", "CMV"),
    "A0201_KTWGQYWQV_gp100_Cancer": ("KTWGQYWQV", "HLA-A*02:01", "gp100", None),
    "A0201_CLLGTYTQDV_Kanamycin-B-dioxygenase": (
        *("CLLGTYTQDV", "HLA-A*02:01", "Kanamycin-B-dioxygenase", None),
    ),
    "A0201_LLMGTLGIVC_HPV-16E7_82-91": ("LLMGTLGIVC", "HLA-A*02:01", "HPV-16E7_82-91", None),
    "A0201_MLDLQPETT_16E7_HPV": ("MLDLQPETT", "HLA-A*02:01", "16E7", "HPV"),
    "A0201_RMFPNAPYL_WT-1": ("RMFPNAPYL", "HLA-A*02:01", "WT-1", None),
    "A2402_CYTWNQMNL_WT1-(235-243)236M_Y": WT1[:4],
    "B3501_IPSINVHHY_pp65_CMV": ("IPSINVHHY", "HLA-B*35:01", "pp65", "CMV"),
    "HLA-A*02:01_GILGFVFTL": ("GILGFVFTL", "HLA-A*02:01", None, None),
    "A0201 GILGFVFTL Flu MP Influenza": ("GILGFVFTL", "HLA-A*02:01", "Flu MP", "Influenza"),
    "H-2Kb_SIINFEKL_OVA": ("SIINFEKL", "H-2Kb", "OVA", None),
}


@pytest.mark.parametrize(("name", "labels"), DEXTRAMERS.items())
@pytest.mark.parametrize("suffix", ["_binder", "_binder.1"])
def test_what_the_name_of_a_dextramer_says(name, labels, suffix):
    found = dextramer(name + suffix)
    assert not found.is_control
    assert (found.epitope, found.mhc_a, found.antigen_gene, found.antigen_species) == labels


@pytest.mark.parametrize(
    "name",
    ["A0101_SLEGGGLGY_NC", "NR(B0801)_AAKGRGAAL_NC", "NR(B0801)_AAKGRGAAL", "Negative Control", "neg-ctrl_1"],
)
def test_negative_controls(name):
    found = dextramer(f"{name}_binder")
    assert found.is_control
    assert found.epitope is None


@pytest.mark.parametrize(
    "name", ["CD3", "A0201_GILGFVFTL_Flu-MP_Influenza", "CD3_binder", "A0201_pp65_binder", "_binder", "row"]
)
def test_other_columns_are_no_dextramers(name):
    assert dextramer(name) is None


NAMES = ("A0201_GILGFVFTL_Flu-MP_Influenza", "B0702_TPRVTGGGAM_pp65_CMV", "A0101_SLEGGGLGY_NC")
YES, NO = ("True", "true", "1", "1.0", "TRUE"), ("False", "0", "0.0", "", "None", "maybe")
ANSWER = st.sampled_from([*YES, *NO])


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from(["TRB:CASSEGTEAFF", "TRA:CAVRDSWGKLQF;TRB:CASSEGTEAFF", "TRB:C*F", ""]),
            ANSWER,
            ANSWER,
            ANSWER,
        ),
        min_size=1,
        max_size=12,
    ).filter(lambda rows: any("CASSEGTEAFF" in row[0] for row in rows)),
    seed=st.randoms(use_true_random=False),
)
def test_labels_and_rows_of_any_matrix(rows, seed, tmp_path_factory):
    """Against a plain count of the answers, row by row, in any order of the columns."""
    columns = ["barcode", "cell_clono_cdr3_aa", *(f"{name}_binder" for name in NAMES)]
    order = seed.sample(range(len(columns)), len(columns))
    lines = [(f"cell{number}", *row) for number, row in enumerate(rows)]
    table = text([columns[i] for i in order], [[line[i] for i in order] for line in lines], ",")
    result = normalised_text(tmp_path_factory.mktemp("matrix") / "x.csv", table)
    expected = []
    for barcode, junctions, flu, cmv, control in lines:
        if "CASSEGTEAFF" in junctions:
            bound = [label[0] for label, answer in ((FLU, flu), (CMV, cmv)) if answer in YES]
            expected += [(barcode, epitope) for epitope in (bound if bound and control in NO else [None])]
    assert columns_of(result, "cell_id", "epitope") == expected
    assert_conserved(result, len(rows))


def test_a_dextramer_with_two_columns_is_one_label(tmp_path):
    columns = ("barcode", "cell_clono_cdr3_aa", *[f"{NAMES[0]}_binder", f"{NAMES[0]}_binder.1"])
    rows = [("a", "TRB:CASSEGTEAFF", "True", "True"), ("b", "TRB:CASSEGTEAFF", "False", "True")]
    result = normalised_text(tmp_path / "x.csv", text(columns, rows, ","))
    assert columns_of(result, "cell_id", *LABELS) == [("a", *FLU), ("b", *FLU)]


def test_a_row_without_its_last_dextramers_is_rejected(tmp_path):
    lines = (DATA / "10x_dextramer.csv").read_text().splitlines()
    lines[1] = lines[1].rsplit(",", 2)[0]
    result = normalised_text(tmp_path / "x.csv", "\n".join([*lines, ""]))
    assert result.rejects["row"].to_pylist()[0] == 1
    assert result.rejects["reason"].to_pylist()[0] == "holds 12 fields, the header 14"
    assert result.cells["cell_id"][0].as_py() == "AAAG-1"


def test_a_dextramer_matrix_is_a_reference():
    merged = merge([source(DATA / name, name) for name in ("10x_dextramer.csv", "vdjdb_full.tsv")])
    account = merged.sources.to_pylist()[0]
    assert account["format"] == "10x_dextramer"
    counted = {name: account[f"rows_{name}"] for name in ("merged", "unlabelled", "rejected")}
    assert counted == {"merged": 3, "unlabelled": 2, "rejected": 1}
    pairs = merged.pairs.to_pandas()
    pairs = pairs[pairs["sources"] == "10x_dextramer.csv"]
    assert sorted(pairs["epitope"]) == ["CYTWNQMNL", "GILGFVFTL", "GILGFVFTL", "TPRVTGGGAM"]
    assert set(pairs["studies"]) == {"10x_dextramer.csv"}  # the table names none
    assert set(pairs["methods"]) == {"10x dextramer"}
    assert merged.conflicts["epitope"].to_pylist() == ["GILGFVFTL", "TPRVTGGGAM"]  # of one cell


def test_tables_of_immrep_are_references():
    merged = merge([source(DATA / name, name) for name in ("immrep.csv", "vdjdb_full.tsv")])
    account = merged.sources.to_pylist()[0]
    counted = {name: account[f"rows_{name}"] for name in ("merged", "unlabelled", "rejected")}
    assert counted == {"merged": 1, "unlabelled": 2, "rejected": 0}
    (pair,) = (pair for pair in merged.pairs.to_pylist() if "immrep.csv" in pair["sources"])
    assert [pair[name] for name in ("epitope", "mhc", "species", "sources", "studies", "n_studies")] == [
        *("GILGFVFTL", "HLA-A*02:01", "homosapiens", "immrep.csv;vdjdb_full.tsv", "PMID:1;immrep.csv", 2)
    ]


# --- Labels joined to contigs, as the page shows it.

SCORES = (
    *("barcode", "antigen", "antigen_umi", "control", "control_umi", "antigen_specificity_score"),
    *("mhc_allele", "raw_clonotype_id", "exact_subclonotype_id"),
)
SCORED = [  # invented, in the layout of Cell Ranger
    ("AAAC-1", "Flu_A0201", 90, "NC_A0201", 0, 99.912, "HLA-A*02:01", "clonotype1", 1),
    ("AAAC-1", "CMV_B0702", 3, "NC_B0702", 1, 10.5, "HLA-B*07:02", "clonotype1", 1),
    ("AAAG-1", "Flu_A0201", 70, "NC_A0201", 0, 98.0, "HLA-A*02:01", "clonotype2", 1),
    ("AAAG-1", "CMV_B0702", 60, "NC_B0702", 0, 97.0, "HLA-B*07:02", "clonotype2", 1),
    ("AAAT-1", "Flu_A0201", 9, "NC_A0201", 1, 74.999, "HLA-A*02:01", "clonotype3", 1),
    ("AACA-1", "CMV_B0702", 40, "NC_B0702", 0, 75, "HLA-B*07:02", "None", "None"),
]
CONTIGS = ("barcode", "is_cell", "contig_id", "chain", "v_gene", "j_gene", "cdr3", "reads", "umis")


@pytest.fixture
def experiment(tmp_path, monkeypatch):
    """A folder with the files of an experiment: four barcodes, of which the first is a pair."""
    rows = [("AAAC-1", "TRA", *genes_only(ALPHA)), ("AAAC-1", "TRB", *genes_only(BETA))]
    rows += [(barcode, "TRB", *genes_only(BETA_2)) for barcode in ("AAAG-1", "AAAT-1", "AACA-1")]
    contigs = [(b, "True", f"{b}_{chain}", chain, *genes, 100, 9) for b, chain, *genes in rows]
    (tmp_path / "filtered_contig_annotations.csv").write_text(text(CONTIGS, contigs, ","))
    (tmp_path / "antigen_specificity_scores.csv").write_text(text(SCORES, SCORED, ","))
    (tmp_path / "binarized_matrix.csv").write_bytes((DATA / "10x_dextramer.csv").read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_example(number: int) -> None:
    """Run a block of code of the page."""
    page = (ROOT / "docs/reference/input.md").read_text()
    section = page.split("## Antigens of 10x experiments\n")[1].split("\n## ")[0]
    exec(re.findall(r"```python\n(.*?)```", section, re.DOTALL)[number], {})  # noqa: S102 - our page


def test_the_join_of_beam_on_the_page(experiment):
    run_example(0)
    result = normalised(experiment / "beam.csv")
    assert result.counts["format"] == "10x"
    assert columns_of(result, "cell_id", "chain_pairing", "epitope", "mhc_a", "label_method") == [
        ("AAAC-1", "single pair", "GILGFVFTL", "HLA-A*02:01", "10x BEAM"),
        ("AAAG-1", "orphan VDJ", None, None, None),  # two antigens
        ("AAAT-1", "orphan VDJ", None, None, None),  # below 75
        ("AACA-1", "orphan VDJ", "TPRVTGGGAM", "HLA-B*07:02", "10x BEAM"),
    ]
    assert chains_of(result)[0] == (*genes_only(PAIR[:3]), *genes_only(PAIR[3:]))
    assert_conserved(result, 5)


def test_the_join_of_dextramers_on_the_page(experiment):
    with pytest.warns(UserWarning, match="rejected"):
        run_example(1)
    result = normalised(experiment / "dextramers.csv")
    assert columns_of(result, "cell_id", *LABELS) == [
        ("AAAC-1", *FLU),
        ("AAAG-1", *NONE),
        ("AAAT-1", *NONE),
        ("AACA-1", *NONE),
    ]
    assert len(pd.read_csv(experiment / "dextramers.csv")) == 5


def test_labels_joined_to_contigs_change_nothing_else(experiment):
    run_example(0)
    plain, labelled = (
        normalised(experiment / name) for name in ("filtered_contig_annotations.csv", "beam.csv")
    )
    assert chains_of(plain) == chains_of(labelled)
    assert plain.cells["epitope"].null_count == len(plain.cells)
    np.testing.assert_array_equal(plain.cells["input_rows"], labelled.cells["input_rows"])


def test_scores_of_beam_have_no_chains(experiment):
    with pytest.raises(InputError) as error:
        reading.open_chains(experiment / "antigen_specificity_scores.csv")
    assert str(error.value) == (
        "antigen_specificity_scores.csv: is antigen_specificity_scores.csv of 10x, which has no chains. Join"
        " its antigens to filtered_contig_annotations.csv, as 'Antigens of 10x experiments' in"
        " docs/reference/input.md shows, and give that table."
    )
