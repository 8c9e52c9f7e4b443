"""Names of cells in objects of gene expression, joined with our tables."""

import re
import warnings

import airrvec
from airrvec.app import barcodes
from airrvec.core.errors import InputError

import numpy as np
import pandas as pd
import pytest
from barcode_cases import CASES, A, C, G
from hypothesis import given
from hypothesis import strategies as st
from inputs import ROOT


def cells_table(cells) -> pd.DataFrame:
    frame = pd.DataFrame(cells, columns=["sample_id", "cell_id"])
    return frame.assign(umi_count=np.arange(len(frame)))


def quietly(*args, **options) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return airrvec.match_barcodes(*args, **options)


@pytest.mark.parametrize("title", CASES)
def test_names(title):
    cells, samples, expected = CASES[title]
    table = cells_table(cells)
    found = quietly(expected, table, samples=samples)
    assert list(found.index) == list(expected)
    rows = [None if pd.isna(row) else int(row) for row in found["umi_count"]]
    got = [
        row if pd.isna(reason) else reason for row, reason in zip(rows, found["match_reason"], strict=True)
    ]
    assert dict(zip(expected, got, strict=True)) == expected
    matched = found[found["match"] == "matched"]
    assert matched["cell_id"].tolist() == [cells[row][1] for row in matched["umi_count"]]
    assert found[found["match"] != "matched"][["cell_id", "umi_count"]].isna().all(axis=None)
    counts = found.attrs["counts"]
    assert counts["names"] == len(expected)
    assert counts["matched"] + counts["unmatched"] + counts["ambiguous"] == len(expected)
    assert counts["matched"] + counts["cells_without_name"] == counts["cells"] == len(cells)


ENDS = ("", "-1", "_1", ".1", "-2")
BARCODES = ("ACGTACGTACGTACGT", "ACGTACGTACGTACGA", "TTTTACGTACGTACGT", "NACGTACGTACGTACG")
SAMPLES = ("a", "a_b", "b", "ACGT", "a-b")


@given(
    st.lists(
        st.tuples(st.sampled_from(SAMPLES), st.sampled_from(BARCODES), st.sampled_from(ENDS)),
        unique=True,
        min_size=1,
        max_size=12,
    ),
    st.lists(
        st.tuples(
            st.sampled_from(SAMPLES), st.sampled_from("_#-"), st.sampled_from(BARCODES), st.sampled_from(ENDS)
        ),
        unique_by=lambda parts: "".join(parts),
        max_size=12,
    ),
)
def test_only_the_cell_of_the_sample_and_barcode_is_found(cells, names):
    """Beside the definition: same sample, same nucleotides, numbers equal or one unknown; one of each."""
    texts = ["".join(parts) for parts in names]
    table = cells_table([(sample, core + end) for sample, core, end in cells])
    found = quietly(texts, table)

    def fits(name, cell) -> bool:
        known = {cell[2][1:], name[3][1:]} - {""}
        return (name[0], name[2]) == cell[:2] and len(known) < 2

    fitting = [[row for row, cell in enumerate(cells) if fits(name, cell)] for name in names]
    taken = [rows[0] for rows in fitting if len(rows) == 1]
    for text, name, rows, got in zip(texts, names, fitting, found.itertuples(), strict=True):
        exact = f"{name[0]}_{name[2]}{name[3]}" == text and (name[0], name[2], name[3]) in cells
        if got.match == "matched":
            assert got.umi_count in rows
        elif len(rows) == 1 and taken.count(rows[0]) == 1 and not exact:
            # Another name fits this cell exactly, and others loosely.
            row = rows[0]
            others = [other for other in texts if other != text]
            assert any(f"{cells[row][0]}_{cells[row][1]}{cells[row][2]}" == other for other in others)


def test_what_is_left_is_said(recwarn):
    cells = cells_table([("a", f"{A}-1"), ("a", f"{C}-1")])
    found = airrvec.match_barcodes([f"{A}-1", f"{G}-1", f"x_{C}-1", f"y_{C}-1"], cells)
    assert [str(warning.message) for warning in recwarn] == [
        "3 of 4 names have no cell (2 × what stands beside the barcode is the name of no sample;"
        " 1 × the sample has no such barcode)"
    ]
    assert found.attrs["counts"] == {
        "names": 4,
        "matched": 1,
        "unmatched": 3,
        "ambiguous": 0,
        "cells": 2,
        "cells_without_name": 1,
    }
    assert str(found["umi_count"].dtype) == "Int64"


@pytest.mark.parametrize(
    ("cells", "samples", "message"),
    [
        (pd.DataFrame({"barcode": [A]}), None, "the table of cells lacks the column cell_id"),
        (
            pd.DataFrame({"cell_id": [A], "match": [1]}),
            None,
            "the table of cells already has the column match",
        ),
        (cells_table([("a", A)]), "b", "samples names 'b', which the cells lack. They have a"),
        (cells_table([("a", A)]), {"1": "b"}, "samples names 'b', which the cells lack. They have a"),
    ],
)
def test_mistakes_are_said(cells, samples, message):
    with pytest.raises(InputError, match=re.escape(message)):
        airrvec.match_barcodes([A], cells, samples=samples)


def test_a_table_of_10x():
    cells = quietly_read(ROOT / "assets/test/pbmc_b.csv")
    barcodes_of_cells = cells["cell_id"].str.removesuffix("-1")
    found = airrvec.match_barcodes(barcodes_of_cells + "_1", cells)
    assert found["cell_id"].tolist() == cells["cell_id"].tolist()
    merged = airrvec.match_barcodes("x_" + barcodes_of_cells, cells, samples={"x": "pbmc_b"})
    assert merged["receptor_id"].tolist() == cells["receptor_id"].tolist()
    assert merged.attrs["counts"]["matched"] == len(cells) > 50


def quietly_read(path) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return airrvec.read(path)


def test_r_gives_the_same_reasons():
    code = (ROOT / "airrvecr/R/match_barcodes.R").read_text()
    reasons = {value for name, value in vars(barcodes).items() if name.isupper() and isinstance(value, str)}
    assert len(reasons) == 7
    assert set(re.findall(r'^  \w+ <- "([^"]+)"$', code, re.MULTILINE)) >= reasons
    assert re.search(r'pattern <- "\^(.*)\$"\n', code)[1] == barcodes._NAME.pattern


def test_columns_are_chosen_and_have_a_prefix():
    cells = pd.DataFrame({"cell_id": ["AAACCTGAGAGTGAGA-1"], "call": ["called"], "tissue": ["blood"]})
    matches = airrvec.match_barcodes(["AAACCTGAGAGTGAGA"], cells, columns=["call"], prefix="tcr_")
    assert list(matches.columns) == ["tcr_match", "tcr_match_reason", "tcr_call"]
    assert matches["tcr_call"].tolist() == ["called"]
    with pytest.raises(InputError, match="the table of cells has no column 'epitope'"):
        airrvec.match_barcodes(["AAACCTGAGAGTGAGA"], cells, columns=["epitope"])
