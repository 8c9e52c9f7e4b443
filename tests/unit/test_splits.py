"""Splits: hand-made tables, invariants, plain loops, and VDJdb's sizes."""

from airrvec.core import schema
from airrvec.core.errors import InputError
from airrvec.evaluation.heldout.splits import PARTS, Split, column_split, random_split, study_split

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from inputs import needs_vdjdb, vdjdb_labelled
from labelled_studies import CELLS, STUDY, labelled, many


def names(split, part, epitope) -> set[str]:
    receptor_ids = np.array(split.labelled.receptors["receptor_id"].to_pylist())
    return set(receptor_ids[getattr(split, part)[epitope]])


def test_a_study_trains_or_tests():
    split = study_split(labelled(CELLS), **STUDY)
    assert split.epitopes == ["A", "B"]
    a, b = ({part: names(split, part, epitope) for part in PARTS} for epitope in "AB")
    assert a["train"] | a["validation"] == {r for r, _, _ in many("big", 6, "", "") + many("mid", 6, "", "")}
    assert a["test"] == {"low00", "low01", "low02"}
    assert [len(a[part]) for part in PARTS] == [7, 5, 3]
    assert b["train"] | b["validation"] == {r for r, _, _ in many("b", 8, "", "")}
    assert b["test"] == {"c00", "c01", "c02", "c03"}
    assert [len(b[part]) for part in PARTS] == [7, 1, 4]
    assert split.removed == {
        "without a study": 1,
        "validation receptors that also train": 0,
        "test receptors that also train or validate": 2,
    }
    assert split.left_out == {
        "C": "5 receptors with a study, and more than 10 are needed",
        "D": "12 receptors, all from one study",
    }


def test_more_than_means_more():
    cells = [
        *many("a", 7, "A", "s1"),  # as many as train: the next study is needed too
        *many("aa", 3, "A", "s2"),
        *many("aaa", 1, "A", "s3"),
        *many("b", 8, "B", "s1"),
        *many("bb", 3, "B", "s2"),
        *many("c", 8, "C", "s1"),
        *many("cc", 2, "C", "s2"),
    ]
    split = study_split(labelled(cells), **STUDY)
    assert names(split, "test", "A") == {"aaa00"}
    assert names(split, "test", "B") == {"bb00", "bb01", "bb02"}
    assert split.left_out == {"C": "10 receptors with a study, and more than 10 are needed"}


def test_the_table_has_every_pair_once_with_its_studies():
    split = study_split(labelled(CELLS), **STUDY)
    table = split.table()
    assert table.schema == schema.SPLIT
    rows = table.to_pylist()
    assert len({(row["receptor_id"], row["epitope"]) for row in rows}) == len(rows) == 12 + 3 + 12
    by_pair = {(row["receptor_id"], row["epitope"]): row for row in rows}
    assert by_pair["big00", "A"]["reference_id"] == "s1;s3"
    assert by_pair["low01", "A"] == {
        "receptor_id": "low01",
        "clonotype_id": "low01",
        "epitope": "A",
        "reference_id": "s3",
        "part": "test",
    }


def test_the_draw_depends_on_the_seed_and_not_on_the_order_or_on_other_epitopes():
    first = study_split(labelled(CELLS), **STUDY)
    again = study_split(labelled(CELLS[::-1]), **STUDY)
    assert first.table() == again.table()
    other = study_split(labelled(CELLS), **STUDY, seed=1)
    assert names(first, "train", "A") != names(other, "train", "A")
    more = [*CELLS, *many("e", 8, "AA", "s1"), *many("f", 8, "AA", "s2")]
    assert names(study_split(labelled(more), **STUDY), "train", "B") == names(first, "train", "B")


cells = st.lists(
    st.tuples(
        st.integers(0, 60).map(lambda number: f"r{number:02d}"),
        st.sampled_from("AB"),
        st.sampled_from(["s1", "s1", "s2", "s3", None]),
    ),
    min_size=60,
    max_size=120,
)


def assert_parts_are_disjoint(split: Split):
    rows = [set(split.rows(part)) for part in PARTS]
    assert not rows[0] & rows[1]
    assert not rows[0] & rows[2]
    assert not rows[1] & rows[2]
    ids = split.labelled.receptors["clonotype_id"].to_pylist()
    assert len(set(ids)) == len(ids)
    pairs = [(row["receptor_id"], row["epitope"]) for row in split.table().to_pylist()]
    assert len(pairs) == len(set(pairs))


@given(cells=cells, seed=st.integers(0, 5))
def test_study_split_is_a_plain_loop(cells, seed):
    try:
        split = study_split(labelled(cells), per_epitope=6, min_receptors=9, seed=seed)
    except InputError:
        assume(False)
    assert_parts_are_disjoint(split)
    all_learnt, tested = set(), {}
    for epitope in "AB":
        studies = {}
        for receptor, name, study in cells:
            if name == epitope and study:
                studies.setdefault(study, set()).add(receptor)
        learnt, taken = set(), set()
        for study in sorted(studies, key=lambda study: (-len(studies[study]), study)):
            if len(learnt) > 6:
                break
            learnt |= studies[study]
            taken.add(study)
        both = names(split, "train", epitope) | names(split, "validation", epitope)
        assert both <= learnt
        assert len(names(split, "train", epitope)) == 6
        all_learnt |= both
        tested[epitope] = set().union(*(studies[study] for study in set(studies) - taken))
        # The paper's condition, said of the cells themselves.
        for receptor, name, study in cells:
            assert not (name == epitope and study in taken and receptor in names(split, "test", epitope))
    for epitope in "AB":
        assert names(split, "test", epitope) == tested[epitope] - all_learnt


@given(cells=cells, seed=st.integers(0, 5))
def test_random_split_gives_every_receptor_one_part(cells, seed):
    table = labelled(cells)
    assume(min(map(len, table.epitopes.values())) >= 20 and len(table.epitopes) == 2)
    split = random_split(table, fractions=(0.6, 0.2, 0.2), seed=seed)
    rows = np.concatenate([split.rows(part) for part in PARTS])
    assert sorted(rows) == list(range(len(table.receptors)))
    first = table.epitopes["A"]
    for part, fraction in zip(PARTS, (0.6, 0.2, 0.2), strict=True):
        assert abs(len(getattr(split, part)["A"]) - fraction * len(first)) <= 1


def test_random_split_has_its_sizes():
    table = labelled([*many("a", 100, "A", None), *many("b", 50, "B", None), *many("c", 19, "C", None)])
    split = random_split(table)
    assert [[len(getattr(split, part)[epitope]) for part in PARTS] for epitope in "AB"] == [
        [70, 10, 20],
        [35, 5, 10],
    ]
    assert split.left_out == {"C": "19 receptors, and 20 are needed"}
    assert random_split(table).table() == split.table()
    assert random_split(table, seed=1).table() != split.table()


def test_given_split_is_the_users():
    cells = [
        *many("a", 4, "A", None),
        *many("b", 4, "B", None),
        ("a00", "A", None),
        ("a02", "B", None),
        ("odd", "A", None),
    ]
    parts = [
        "train",
        "train",
        "validation",
        "test",
        "train",
        "test",
        "test",
        "validation",
        "test",
        "test",
        None,
    ]
    split = column_split(labelled(cells, parts))
    assert names(split, "train", "A") == {"a00", "a01"}
    assert names(split, "validation", "A") == {"a02"}
    assert names(split, "test", "A") == {"a03"}
    assert names(split, "test", "B") == {"b01", "b02"}
    assert split.removed == {
        "without a part": 1,
        "validation receptors that also train": 0,
        "test receptors that also train or validate": 2,
    }
    assert_parts_are_disjoint(split)


def test_an_epitope_without_test_receptors_is_left_out():
    cells = [*many("a", 2, "A", None), *many("b", 2, "B", None), *many("c", 2, "C", None)]
    split = column_split(labelled(cells, ["train", "test", "train", "test", "train", "validation"]))
    assert split.epitopes == ["A", "B"]
    assert split.left_out == {"C": "no receptors to test"}


@pytest.mark.parametrize(
    ("divide", "sentence"),
    [
        (
            lambda: study_split(labelled(CELLS)),
            "and none can be divided; of the others the largest is A: 16 receptors with a study, and more"
            " than 300 are needed. Label more receptors",
        ),
        (
            lambda: study_split(labelled([c for c in CELLS if c[1] != "B"]), **STUDY),
            "specificity needs at least two epitopes, and only A can be divided; of the others the largest is"
            " D: 12 receptors, all from one study.",
        ),
        (lambda: random_split(labelled(many("a", 50, "A", None))), "and only A can be divided."),
        (
            lambda: study_split(labelled([(r, e, "PMID:1") for r, e, _ in CELLS])),
            "the labelled receptors all come from one study, 'PMID:1', so that none can be held out for"
            " testing. Divide them at random",
        ),
        (
            lambda: study_split(labelled([(r, e, None) for r, e, _ in CELLS])),
            "name no study (reference_id), so that none",
        ),
        (
            lambda: random_split(labelled([*CELLS, ("x", "a ", "s1"), ("y", "a ", "s1")])),
            "column 'epitope': the epitopes 'A' (17 receptors) and 'a ' (2 receptors) differ only in case"
            " or blanks. Use one spelling",
        ),
        (lambda: column_split(labelled(CELLS)), "has no column 'split'. Add it"),
        (
            lambda: column_split(labelled(CELLS, ["train", "holdout"] * (len(CELLS) // 2))),
            "is not a part of a split. Write train, validation, test or nothing",
        ),
        (
            lambda: random_split(labelled(CELLS), fractions=(0.8, 0.1, 0.2)),
            "the fractions 0.8, 0.1, 0.2 are invalid. Give three numbers from 0 to 1 whose sum is 1",
        ),
    ],
)
def test_errors_say_what_to_do(divide, sentence):
    with pytest.raises(InputError) as error:
        divide()
    assert sentence in str(error.value)


@needs_vdjdb
def test_vdjdb_is_divided_as_in_the_paper():
    split = study_split(vdjdb_labelled())
    sizes = {part: {e[:3]: len(rows) for e, rows in getattr(split, part).items()} for part in PARTS}
    assert set(sizes["train"].values()) == {200}
    # With each allele a receptor of its own, as in the paper: 41, 47, … and 392, 101, …; 26 receptors of the
    # test had their clonotype in training.
    assert sizes["validation"] == {"GIL": 26, "NLV": 46, "SPR": 70, "TFE": 42, "TTD": 52, "YLQ": 74}
    assert sizes["test"] == {"GIL": 345, "NLV": 98, "SPR": 108, "TFE": 159, "TTD": 143, "YLQ": 164}
    assert_parts_are_disjoint(split)
    # The paper's table of studies: what trains SPR and TFE tests TTD and YLQ.
    rows = split.table().to_pylist()
    learnt, tested = (
        {
            row["epitope"][:3]
            for row in rows
            if row["reference_id"] == "PMID:35750048" and row["part"] in parts
        }
        for parts in (("train", "validation"), ("test",))
    )
    assert (learnt, tested) == ({"SPR", "TFE"}, {"TTD", "YLQ"})
