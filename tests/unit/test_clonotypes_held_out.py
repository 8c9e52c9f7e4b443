"""Receptors that differ in alleles alone are one clonotype, which trains, validates or tests."""

import importlib

from airrvec import encoders
from airrvec.core import identity, schema, tables
from airrvec.evaluation import fewshot
from airrvec.evaluation.heldout import specificity
from airrvec.evaluation.heldout.splits import PARTS, Split, column_split, random_split, study_split
from airrvec.synthetic.synthesis import synthesise

import numpy as np
import pyarrow as pa
import pytest
from inputs import ROOT
from labelled_studies import STUDY, labelled, many, with_alleles


def assert_clonotypes_are_apart(split: Split):
    ids = split.labelled.receptors["clonotype_id"].to_numpy()
    clonotypes = [set(ids[split.rows(part)]) for part in PARTS]
    assert len(set(ids)) == len(ids)
    assert len(set.union(*clonotypes)) == sum(map(len, clonotypes))


def names(split: Split, epitope: str) -> set[str]:
    return set(split.labelled.receptors["receptor_id"].to_numpy()[split.test[epitope]])


def cells_with_alleles(cells, reference) -> list:
    """The same receptors in another study, which reports alleles."""
    return [(f"{name}*01", epitope, reference) for name, epitope, _ in cells]


def test_a_receptor_that_another_study_reports_with_alleles_is_one():
    """Study B repeats the receptors of study A, with alleles: they are in training, and in no other part."""
    own = [*many("a", 8, "A", "A"), *many("b", 8, "B", "A")]
    repeated = [*many("a", 4, "A", "A"), *many("b", 4, "B", "A")]
    new = [*many("c", 3, "A", "B"), *many("d", 3, "B", "B")]
    split = study_split(labelled([*own, *cells_with_alleles(repeated, "B"), *new]), **STUDY)
    assert names(split, "A") == {"c00", "c01", "c02"}
    assert names(split, "B") == {"d00", "d01", "d02"}
    assert split.removed["test receptors that also train or validate"] == 8
    assert {row["reference_id"] for row in split.table().to_pylist()} == {"A", "A;B", "B"}
    assert_clonotypes_are_apart(split)


def test_alleles_are_one_receptor_in_all_kinds_of_split():
    own = [*many("a", 30, "A", None), *many("b", 30, "B", None)]
    both = [*own, *cells_with_alleles(own, None)]
    split = random_split(labelled(both))
    assert_clonotypes_are_apart(split)
    assert sum(len(split.rows(part)) for part in PARTS) == 60
    parts = ["train"] * 20 + ["test"] * 10 + ["train"] * 20 + ["test"] * 10
    split = column_split(labelled(both, [*parts, *["test"] * 60]))
    assert_clonotypes_are_apart(split)
    assert (len(split.rows("train")), len(split.rows("test"))) == (40, 20)
    assert split.removed["test receptors that also train or validate"] == 40


def test_an_allele_of_another_epitope_is_cross_reactive():
    """A receptor of A whose clonotype binds B, by another study, is no negative of B."""
    split = column_split(
        labelled(
            [*many("a", 2, "A", None), *many("b", 2, "B", None), ("a01*01", "B", None)],
            ["train", "test", "train", "test", "test"],
        )
    )
    row = split.labelled.receptors["receptor_id"].to_pylist().index("a01")
    assert all(row in split.labelled.epitopes[epitope] for epitope in "AB")


def test_pretraining_holds_clonotypes_out(monkeypatch, tmp_path):
    """The same receptors with and without alleles: none is on both sides."""
    monkeypatch.syspath_prepend(ROOT / "bin")
    monkeypatch.chdir(tmp_path)
    made = synthesise(60, seed=1)
    tables.write(pa.concat_tables([made, with_alleles(made, "")]), "both.parquet")
    given = []

    def stop(_encoder, *receptors, **_options):
        given.extend(tokens_of(part) for part in receptors[:2])
        raise StopIteration

    monkeypatch.setattr("airrvec.training.trainer.train", stop)
    with pytest.raises(StopIteration):
        importlib.import_module("pretrain").main(
            [
                "both.parquet",
                "--preset",
                str(ROOT / "conf/models/tiny.json"),
                "--synthetic",
                "--device",
                "cpu",
            ]
        )
    train, held_out = given
    assert (len(train), len(held_out)) == (108, 12)
    assert not set(train) & set(held_out)


def tokens_of(receptors) -> list[bytes]:
    """The residues of each receptor's CDR3s, which no allele changes."""
    tokens = receptors.tokens
    parts = np.split(tokens.values, tokens.offsets[1:-1])
    return [part[np.isin(part[:, 3], (3, 6))].tobytes() for part in parts]


def test_a_table_without_signal_has_none_where_a_study_repeats_another_with_alleles():
    """Labels are random. Study B repeats 150 receptors of study A, and names the allele of each gene."""
    own = with_alleles(synthesise(800, seed=3), "")
    own = own.take(identity.number_clonotypes(own)[1])
    number = 150
    repeated = with_alleles(own.slice(0, number), "*01")
    n_first = 500  # receptors of study A; B has the others as well
    rows = [*range(len(own)), *range(number)]
    cells = {
        "receptor_id": [*own["receptor_id"].to_pylist(), *repeated["receptor_id"].to_pylist()],
        "epitope": ["AB"[row % 2] for row in rows],
        "reference_id": [*("A" if row < n_first else "B" for row in range(len(own))), *["B"] * number],
    }
    table = fewshot.select_labelled(
        pa.table({**dict.fromkeys(schema.CELLS.names, pa.nulls(len(rows), pa.string())), **cells}),
        pa.concat_tables([own, repeated]),
        species="homosapiens",
    )
    split = study_split(table, per_epitope=200, min_receptors=250)
    assert split.removed["test receptors that also train or validate"] == number
    assert len(split.rows("test")) == len(own) - n_first
    measured = specificity.evaluate(encoders.load("cdr3_levenshtein"), "it", split)["auroc"].to_numpy()
    assert measured == pytest.approx(0.5, abs=0.08)
