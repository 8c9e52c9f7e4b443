"""Names of cells and the cells that they stand for, for `airrvec.match_barcodes` and the same in R."""

from airrvec.app.barcodes import (
    NO_BARCODE,
    NO_SAMPLE,
    OTHER_SUFFIX,
    SAME_CELL,
    SEVERAL_CELLS,
    TWO_SAMPLES,
    UNKNOWN_SAMPLE,
)

A, C, G, T = (f"{letter}ACGTACGTACGTAC{letter}" for letter in "ACGT")

ONE = [("a", f"{A}-1"), ("a", f"{C}-1"), ("a", f"{G}-2")]
# The barcode A is in both samples; `flu` is the beginning of `flu_2`.
TWO = [("flu", f"{A}-1"), ("flu_2", f"{A}-1"), ("flu", f"{C}-1"), ("flu_2", f"{G}-1")]

# Title → cells (sample_id, cell_id), samples, name → row of the cell or the reason why there is none.
CASES = {
    "as they are": (ONE, None, {f"{A}-1": 0, f"{C}-1": 1, f"{T}-1": NO_BARCODE}),
    "without the number": (ONE, None, {A: 0, C: 1, G: 2, T: NO_BARCODE}),
    "another sign before the number": (ONE, None, {f"{A}_1": 0, f"{C}.1": 1, f"{G}_2": 2}),
    "another number is another cell": (ONE, None, {f"{A}-2": OTHER_SUFFIX, f"{G}-1": OTHER_SUFFIX}),
    "cells without a number": ([("a", A), ("a", C)], None, {f"{A}-1": 0, f"{C}_1": 1}),
    "two numbers, one cell": ([("a", A)], None, {f"{A}-1": SAME_CELL, f"{A}-2": SAME_CELL}),
    "one name, two numbers": ([("a", f"{A}-1"), ("a", f"{A}-2")], None, {A: SEVERAL_CELLS}),
    "the same barcode twice": ([("a", A), ("a", A), ("a", C)], None, {A: SEVERAL_CELLS, C: 2}),
    "merged, all with one number": (ONE, None, {f"{A}-1_1": 0, f"{C}-1_1": 1}),
    "merged, with different numbers": (ONE, None, {f"{A}-1_1": UNKNOWN_SAMPLE, f"{C}-1_2": UNKNOWN_SAMPLE}),
    "samples before barcodes": (
        TWO,
        None,
        {f"flu_{A}-1": 0, f"flu_2_{A}-1": 1, f"flu_{C}": 2, f"flu_2#{G}_1": 3, f"flu_{G}-1": NO_BARCODE},
    ),
    "samples after barcodes": (TWO, None, {f"{A}-1-flu": 0, f"{A}-1_flu_2": 1, f"{C}-flu": 2}),
    "no sample in the names": (TWO, None, {f"{A}-1": NO_SAMPLE, f"{G}-1": NO_SAMPLE}),
    "samples of others": (TWO, None, {f"csf_{C}-1": UNKNOWN_SAMPLE, f"{C}-1-csf": UNKNOWN_SAMPLE}),
    "a sample of others in an object of one": (ONE, None, {f"csf_{A}-1": UNKNOWN_SAMPLE}),
    "two samples in a name": (TWO, None, {f"flu_{A}-1-flu_2": TWO_SAMPLES}),
    "the sample of all is given": (TWO, "flu_2", {f"{A}-1": 1, f"x_{G}-1": 3, f"{C}-1": NO_BARCODE}),
    "numbers of a merge are explained": (
        TWO,
        {"1": "flu", "2": "flu_2"},
        {f"{A}-1_1": 0, f"{A}-1_2": 1, f"{C}_1": 2, f"{G}-2": 3, f"{G}-1_3": UNKNOWN_SAMPLE},
    ),
    "numbers of a joined library are explained": (
        TWO,
        {"1": "flu", "2": "flu_2"},
        {f"{A}-1": 0, f"{A}-2": 1, f"{G}-1": NO_BARCODE, f"{C}-3": NO_SAMPLE},
    ),
    "prefixes are explained": (
        TWO,
        {"P1": "flu", "P2": "flu_2"},
        {f"P1_{A}-1": 0, f"P2_{A}-1_2": 1, f"flu_{C}-1": 2, f"P3_{G}-1": UNKNOWN_SAMPLE},
    ),
    "barcodes that hold the sample": (
        [("s", f"x_{A}-1"), ("s", f"y_{A}-1")],
        None,
        {f"x_{A}-1": 0, f"s_y_{A}-1": 1, f"{A}-1": NO_BARCODE},
    ),
    "ids without nucleotides": (
        [("flu", "7"), ("flu_2", "7"), ("flu", "01_02__s1"), ("flu", "2_7")],
        {"P2": "flu_2"},
        {"flu_7": 0, "P2_7": 1, "flu_01_02__s1": 2, "flu_2_7": SEVERAL_CELLS, "flu_8": NO_SAMPLE},
    ),
    "ids without nucleotides of one sample": (
        [("a", "7"), ("a", "8-1")],
        None,
        {"7": 0, "8-1": 1, "8": NO_BARCODE},
    ),
    "a prefix that may end at two places": (
        [("flu", "2_7"), ("flu_2", "7")],
        None,
        {"flu#2_7": 0, "flu_2.7": 1},
    ),
    "cells without a barcode": (
        [("a", None), ("a", f"{A}-1")],
        None,
        {A: 1, "a_1": NO_BARCODE, "": NO_BARCODE},
    ),
    "no names": (ONE, None, {}),
}
