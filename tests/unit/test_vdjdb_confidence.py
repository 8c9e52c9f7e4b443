"""VDJdb's confidence score: each rule in a row, and the labels that a full table gets."""

from pathlib import Path

from airrvec.input.formats.vdjdb import COLUMNS, score

import pytest
from inputs import normalised

ROWS = [
    # identification, frequency, singlecell, sequencing, verification, structure → score
    ("", "", "", "", "", "", 0),
    ("", "", "", "", "", "1AO7", 3),
    ("tetramer-sort", "", "", "sanger", "", "", 0),  # how frequent it was is not known
    ("tetramer-sort", "1/50", "", "sanger", "", "", 0),
    ("tetramer-sort", "1/20", "", "sanger", "", "", 1),
    ("tetramer-sort", "2/20", "", "sanger", "", "", 1),
    ("tetramer-sort", "5%", "", "amplicon-seq", "", "", 1),
    ("tetramer-sort", "0.05", "", "amplicon-seq", "", "", 1),
    ("antigen-loaded-targets", "24/100", "", "sanger", "", "", 0),
    ("antigen-loaded-targets", "1/4", "", "sanger", "", "", 1),
    ("cultured-T-cells,tetramer-sort", "49%", "", "sanger", "", "", 0),  # culture counts before the sort
    ("cultured-T-cells,tetramer-sort", "50%", "", "sanger", "", "", 1),
    ("tetramer-sort", "", "", "", "tetramer-stain", "", 1),  # a clone was stained again
    ("tetramer-sort", "1/10", "", "", "tetramer-stain", "", 2),
    ("tetramer-sort", "", "", "", "antigen-loaded-targets", "", 2),
    ("tetramer-sort", "1/10", "", "", "antigen-loaded-targets", "", 3),
    ("tetramer-sort", "", "yes", "", "direct", "", 3),
    (
        "tetramer-sort",
        "1/10",
        "no",
        "sanger",
        "direct",
        "",
        2,
    ),  # one cell by Sanger: the sequence is less sure
    ("tetramer-sort", "2/10", "", "sanger", "direct", "", 3),
    ("tetramer-sort", "0.5%", "", "amplicon-seq", "direct", "", 1),
    ("tetramer-sort", "1%", "", "amplicon-seq", "direct", "", 3),
    ("tetramer-sort", "301//602", "", "sanger", "direct", "", 3),
    ("tetramer-sort", "3/0", "", "sanger", "direct", "", 2),  # no number
    ("tetramer-sort", "many", "", "sanger", "direct", "", 2),
    ("tetramer-sort", "1/2/3", "", "sanger", "direct", "", 2),
]


@pytest.mark.parametrize("row", ROWS)
def test_score_of_each_rule(row):
    *given, expected = row
    assert score(*given) == expected


def full_table(path: Path, rows: list[dict]) -> Path:
    receptor = {
        **{"cdr3.alpha": "CAVRDSWGKLQF", "v.alpha": "TRAV1-1*01", "j.alpha": "TRAJ24*01"},
        **{"cdr3.beta": "CASSEGTEAFF", "v.beta": "TRBV2*01", "j.beta": "TRBJ1-1*01"},
        **{"species": "HomoSapiens", "antigen.epitope": "GILGFVFTL"},
    }
    names = [*receptor, *dict.fromkeys(name for row in rows for name in row)]
    lines = [names, *([(receptor | row).get(name, "") for name in names] for row in rows)]
    path.write_text("\n".join("\t".join(line) for line in lines) + "\n")
    return path


def confidences(path: Path) -> list:
    return normalised(path).cells["confidence"].to_pylist()


def test_a_full_table_gets_the_score(tmp_path):
    path = full_table(tmp_path / "vdjdb.txt", [dict(zip(COLUMNS, row, strict=False)) for row in ROWS])
    assert confidences(path) == [str(row[-1]) for row in ROWS]


def test_a_given_score_stays(tmp_path):
    rows = [{"vdjdb.score": "2", "method.verification": "direct"}, {"meta.structure.id": "1AO7"}]
    path = full_table(tmp_path / "vdjdb.txt", rows)
    assert confidences(path) == ["2", "3"]


def test_without_methods_there_is_no_score(tmp_path):
    path = full_table(tmp_path / "vdjdb.txt", [{"reference.id": "PMID:1"}])
    assert confidences(path) == [None]
