"""Innate-like receptors are neither called nor references, unless they are asked for."""

from airrvec.annotation import annotator, reference_set
from airrvec.annotation.annotator import Hits, Rated
from airrvec.annotation.sample_calls import Search
from airrvec.synthetic.synthesis import synthesise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from inputs import labelled_cells


class Cautious(annotator.Annotator):
    """Annotator that finds nothing, and counts the receptors that it gets."""

    chains = "paired"
    n_receptors = 0
    scores = "of a calibrated class"

    def __init__(self):
        pass

    def search(self, receptors, vectors, asked):
        Cautious.n_receptors += len(receptors)
        return [Hits.empty(len(rows), 7) for rows, _ in asked]

    def rate(self, found, **_):
        n = len(found.score)
        return Rated(
            found, np.zeros(n, bool), np.zeros(n, bool), np.full(n, np.nan), np.full(n, np.nan)
        ), 0.01

    def calls(self, rated):
        return annotator.without_calls(len(rated.fdr), annotator.NO_CALL)

    def exact(self, clonotype_ids):
        return np.full(len(clonotype_ids), None)


@pytest.fixture
def two_innate():
    """Six receptors, of which the second is of a MAIT and the fourth of an iNKT cell."""
    receptors = synthesise(6, seed=2)
    kinds = pa.array([None, "MAIT", None, "iNKT", None, None])
    return receptors.set_column(receptors.column_names.index("innate_like"), "innate_like", kinds)


@pytest.mark.parametrize("kept", [False, True])
def test_innate_like_receptors_are_withheld_and_named(two_innate, kept):
    Cautious.n_receptors = 0
    search = Search(two_innate, lambda *_: Cautious(), innate=kept)
    (found,) = search.run([(np.arange(6), None)], [(np.arange(6)[::-1], np.zeros((6, 2)))])
    groups, calls = found.rate(0.1), found.table(np.arange(6))
    assert calls["receptor_id"].tolist() == two_innate["receptor_id"].to_pylist()
    assert calls["innate_like"].tolist() == two_innate["innate_like"].to_pylist()
    withheld = [not kept and kind is not None for kind in two_innate["innate_like"].to_pylist()]
    assert (calls["call"] == annotator.INNATE_LIKE).tolist() == withheld
    assert Cautious.n_receptors == sum(group["receptors"] for group in groups) == 6 - sum(withheld)


def test_innate_like_receptors_are_no_references(two_innate):
    cells = labelled_cells(two_innate, ["one"] * 6, ["study"] * 6)
    given = {"chains": "paired", "species": "homosapiens"}
    left = reference_set.build_reference_set(cells, two_innate, **given).receptors
    conventional = two_innate.filter(pc.is_null(two_innate["innate_like"]))["receptor_id"]
    assert set(left["receptor_id"].to_pylist()) == set(conventional.to_pylist())
    assert len(reference_set.build_reference_set(cells, two_innate, **given, innate=True)) == 6
    assert reference_set.count_innate_references(cells, two_innate, "homosapiens") == 2
    assert reference_set.count_innate_references(cells, two_innate, "musmusculus") == 0
