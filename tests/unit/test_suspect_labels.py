"""Labels that there is a reason to doubt, and what to expect of the epitopes of a reference."""

from airrvec.annotation import calibrate, holes, reference_set, scorer, suspect_labels
from airrvec.core import schema
from airrvec.core.chains import CHAIN_CLASSES
from airrvec.synthetic.synthesis import synthesise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from inputs import labelled_cells
from scipy import sparse

SPECIES = "homosapiens"
FLU, FLU_2, CMV, EBV = "GILGFVFTL", "GILGFVFTV", "NLVPMVATV", "GLCTLVAML"


def receptors_with(**changes) -> pa.Table:
    """Six receptors; ``changes``: column → {row: value}."""
    frame = synthesise(6, seed=11).to_pandas()
    for name, rows in changes.items():
        for row, value in rows.items():
            frame.loc[row, name] = value
    return pa.Table.from_pandas(frame, schema.RECEPTORS, preserve_index=False)


def cells_of(receptors: pa.Table, labels: list[tuple]) -> pa.Table:
    rows = pa.array([row for row, *_ in labels])
    return labelled_cells(
        receptors.take(rows), [label[1] for label in labels], [label[2] for label in labels]
    )


def suspects_of(receptors, labels, contradicted=None, innate=False):
    cells = cells_of(receptors, labels)
    built = {
        (SPECIES, chains): reference_set.build_reference_set(
            cells, receptors, chains=chains, species=SPECIES, innate=innate
        )
        for chains in CHAIN_CLASSES
    }
    table = reference_set.reference_table(built, cells, receptors)
    contradicted = suspect_labels.together([contradicted])
    suspects = suspect_labels.suspect_labels(
        table, cells, receptors, contradicted, species=[SPECIES], innate=innate
    )
    assert suspects.schema.equals(schema.SUSPECT_LABELS)
    place = {name: row for row, name in enumerate(receptors["receptor_id"].to_pylist())}
    names = ["epitope", "reference_id", "reason", "evidence", "reference"]
    found = [(place[row["receptor_id"]], *(row[name] for name in names)) for row in suspects.to_pylist()]
    return sorted(found, key=lambda row: (schema.SUSPECT_REASONS.index(row[3]), row[0])), table, suspects


def test_each_structural_reason_is_a_row_of_its_label():
    same = receptors_with()["tra_junction_aa"][1].as_py()
    receptors = receptors_with(trb_junction_aa={1: same}, innate_like={2: "MAIT"})
    labels = [
        *((0, epitope, "PMID:1") for epitope in (FLU, CMV)),
        (0, EBV, "PMID:2"),  # one epitope in this study
        (1, FLU, "PMID:1"),
        (2, CMV, None),
        *((3, epitope, "PMID:1") for epitope in (FLU, FLU_2)),  # variants of one group
        *((4, epitope, None) for epitope in (FLU, CMV)),  # no study
    ]
    found, table, suspects = suspects_of(receptors, labels)
    both = f"one study labels the receptor {FLU}, {CMV}"
    assert found == [
        (0, FLU, "PMID:1", "sorted together", both, True),
        (0, CMV, "PMID:1", "sorted together", both, True),
        (1, FLU, "PMID:1", "equal junctions", "one of both was copied by mistake", False),
        (2, CMV, None, "innate-like", "MAIT", False),
    ]
    marked = suspect_labels.marked(table, suspects).to_pandas()
    assert marked["suspect"].notna().sum() == 2
    assert set(marked.loc[marked["suspect"].notna(), "epitope"]) == {FLU, CMV}
    assert suspect_labels.counts(suspects) == {"sorted together": 2, "equal junctions": 1, "innate-like": 1}
    kept, *_ = suspects_of(receptors, labels, innate=True)
    assert (2, CMV, None, "innate-like", "MAIT", True) in kept


def test_a_contradicted_receptor_is_judged_by_all_of_its_chains():
    receptors = receptors_with(**{f"tra_{name}": {5: None} for name in ("v_call", "j_call", "junction_aa")})
    labels = [(0, FLU, "PMID:1"), (0, EBV, "PMID:2"), (5, CMV, "PMID:1")]
    ids = receptors["receptor_id"].to_pylist()
    calls = pd.DataFrame(
        [
            (ids[0], SPECIES, "paired", CMV, 3.14),
            (ids[0], SPECIES, "beta", "not by these chains", 9.0),
            (ids[5], SPECIES, "beta", FLU, 2.0),
        ],
        columns=suspect_labels.CONTRADICTIONS,
    )
    found, *_ = suspects_of(receptors, labels, calls)
    by_other = f"other studies suggest {CMV} (score 3.1)"
    assert found == [
        (0, FLU, "PMID:1", "contradicted", by_other, True),
        (0, EBV, "PMID:2", "contradicted", by_other, True),
        (5, CMV, "PMID:1", "contradicted", f"other studies suggest {FLU} (score 2.0)", True),
    ]


@pytest.fixture
def fitted():
    """Calls of four receptors labelled with FLU: right, a variant of it, another one, another one unsure."""
    receptors = synthesise(6, seed=12)
    epitopes = [FLU] * 4 + [FLU_2, CMV]
    reference = reference_set.build_reference_set(
        labelled_cells(receptors, epitopes, ["PMID:1"] * 6), receptors, chains="paired", species=SPECIES
    )
    place = {name: row for row, name in enumerate(reference.receptors["receptor_id"].to_pylist())}
    rows = [place[name] for name in receptors["receptor_id"].to_pylist()[:4]]
    number = reference.epitopes["epitope"].tolist().index
    queries = pd.DataFrame(
        {
            "row": rows,
            "epitope": [number(FLU), number(FLU_2), number(CMV), number(CMV)],
            "score": [5.0, 5.0, 2.0, 1.9],
            "right": [True, False, False, False],
        }
    )
    trained = scorer.untrained(0.0, np.zeros(6))
    return reference, calibrate.Fitted(trained, None, queries), rows


def test_another_group_at_a_high_score_contradicts_but_not_by_an_untrained_scorer(fitted, monkeypatch):
    reference, results, rows = fitted
    assert suspect_labels.contradictions(reference, results, SPECIES, "paired").empty
    monkeypatch.setattr(scorer.Scorer, "is_trained", True)
    found = suspect_labels.contradictions(reference, results, SPECIES, "paired")
    assert found["receptor_id"].tolist() == [reference.receptors["receptor_id"][rows[2]].as_py()]
    assert found[["call", "score"]].to_numpy().tolist() == [[CMV, 2.0]]


def test_recall_is_that_of_many_tested_receptors_and_the_curve_where_there_are_none():
    # Epitope 0: half of 80 found by 80 in the other fold. 1: 0 of 20 by 20. 2: in one fold. 3: too few.
    counts = {(0, 0): (80, 40), (0, 1): (80, 40), (1, 0): (20, 0), (1, 1): (20, 0), (2, 0): (80, 80)}
    counts[3, 1] = (4, 4)
    epitope, fold, called = [], [], []
    for (name, part), (n, n_right) in counts.items():
        epitope += [name] * n
        fold += [part] * n
        called += [name] * n_right + [-1] * (n - n_right)
    binds = sparse.csr_array((np.ones(len(epitope)), (np.arange(len(epitope)), epitope)))
    references = np.array([160, 40, 80, 4])
    expected = holes.expected_recall(binds, np.array(fold), np.array(called), references, 10)
    curve = np.interp(references, [20, 80], [0, 0.5])
    assert expected == pytest.approx([(80 + 10 * 0.5) / 170, 10 * curve[1] / 50, 0.5, 0])
    words = [holes.outlook(share, n) for share, n in zip(expected, [160, 40, 0, 0], strict=True)]
    assert words == ["found", "few", "not tested", "not tested"]


def epitopes(rows: list[tuple]) -> pd.DataFrame:
    names = ["epitope", "n_references", "n_studies", "expected_recall", "outlook"]
    return pd.DataFrame(rows, columns=names)


def test_lines_name_the_largest_holes_first():
    frame = epitopes(
        [
            (FLU, 700, 15, 0.65, "found"),
            ("YVLDHLIVV", 12, 2, 0.0, "nothing"),
            (CMV, 390, 1, 0.125, "not tested"),
            (EBV, 40, 3, 0.05, "few"),
            ("AAA", 2, 1, None, "never called"),
        ]
    )
    assert holes.hole_lines(frame, 3) == [
        "4 of 5 epitopes have enough references; by the folds, receptors are found of 1, few of 1, none of 1;"
        " 1 cannot be tested",
        f"{CMV}: 390 references of 1 study; not tested, 12 % expected by epitopes with as many",
        f"{EBV}: 40 references of 3 studies; 5 % of its receptors will be found",
        "YVLDHLIVV: 12 references of 2 studies; nothing will be found",
    ]
    assert len(holes.hole_lines(frame, 1)) == 2
    assert len(holes.hole_lines(frame.iloc[[1, 2, 4]])) == 1  # no epitope of the class is found
    assert len(holes.hole_lines(pd.concat([frame, frame.iloc[[1, 1]]]))) == 1  # of most nothing is
