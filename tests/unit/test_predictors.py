"""Tables of predictors of binding, as docs/guides/other_pipelines.md reads them: binders are labels."""

import re

from airrvec.core import tables

import pandas as pd
import pytest
from inputs import ROOT

import normalise_receptors

PAGE = (ROOT / "docs/guides/other_pipelines.md").read_text()
# Pairs of published receptors, in the columns of tcr-pmhc-analyzer's tables.
COLUMNS = ("organism", "mhc_class", "mhc", "peptide", "va", "ja", "cdr3a", "vb", "jb", "cdr3b", "binder")
GIL = ("TRAV27*01", "TRAJ42*01", "CAGAGSQGNLIF", "TRBV19*01", "TRBJ2-7*01", "CASSIRSSYEQYF")
PAIRS = [
    ("human", 1, "A*02:01", "GILGFVFTL", *GIL, 1),
    ("human", 1, "A*11:01:01", "IVTDFSVIK", *GIL, 0),
    ("MusMusculus", 2, "H2-IAb", "DIYKGVYQFKSV", None, None, None, "TRBV14", "TRBJ1-3", "CASSPAGNTLYF", 1),
]


@pytest.fixture
def normalised(tmp_path):
    """Return the tables of pairs that the page's column map reads."""
    pairs, column_map = tmp_path / "pairs.tsv", tmp_path / "predictors.json"
    pd.DataFrame(PAIRS, columns=COLUMNS).to_csv(pairs, sep="\t", index=False)
    section = PAGE[PAGE.index("## Predictors of binding") :]
    column_map.write_text(re.search(r"```json\n(.*?)```", section, re.DOTALL)[1])
    words = [pairs, "--sample", "s1", "--column-map", column_map, "--part", "labelled", "--outdir", tmp_path]
    normalise_receptors.main([str(word) for word in words])
    return {name: tables.read(tmp_path / f"s1.{name}.parquet").to_pandas() for name in ("cells", "rejects")}


def test_pairs_that_bind_are_labels(normalised):
    columns = ["species", "epitope", "mhc_a", "chain_pairing"]
    assert normalised["cells"].sort_values("species")[columns].to_numpy().tolist() == [
        ["homosapiens", "GILGFVFTL", "A*02:01", "single pair"],
        ["musmusculus", "DIYKGVYQFKSV", "H2-IAb", "orphan VDJ"],
    ]


def test_pairs_that_do_not_are_rejected(normalised):
    rejects = normalised["rejects"]
    assert rejects["row"].tolist() == [2]
    assert rejects["reason"].tolist() == ["excluded by the column map"]
