"""What the receptors of a cluster share: aligned junctions, their residues and logos."""

from airrvec.figures import logos
from airrvec.repertoire import motifs

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


def test_gaps_stand_in_the_middle():
    assert motifs.align(["CASSIRSF", "CASSIF", "CASSF"]) == ["CASSIRSF", "CAS--SIF", "CAS---SF"]


def test_frequencies_consensus_and_heights():
    found = motifs.residue_frequencies(["CAF", "CAF", "CSF", "CF"])
    assert found.to_numpy().tolist() == [
        [1, "C", 1.0],
        [2, "A", 0.5],
        [2, "-", 0.25],
        [2, "S", 0.25],
        [3, "F", 1.0],
    ]
    assert motifs.consensus(found) == "CAF"
    assert motifs.consensus(motifs.residue_frequencies(["CAF", "CF", "CF"])) == "CF"
    heights = motifs.letter_heights(found)
    assert heights.loc[1, "C"] == pytest.approx(np.log2(20))
    information = (np.log2(20) + 2 / 3 * np.log2(2 / 3) + 1 / 3 * np.log2(1 / 3)) * 0.75
    assert heights.loc[2, "A"] == pytest.approx(information * 2 / 3)
    assert heights.loc[2].sum() == pytest.approx(information)


JUNCTIONS = st.lists(st.text("ACDEFW", min_size=1, max_size=12), min_size=1, max_size=8)


@settings(deadline=None)
@given(JUNCTIONS)
def test_alignment_loses_nothing(junctions):
    found = motifs.align(junctions)
    assert [row.replace("-", "") for row in found] == junctions
    assert {len(row) for row in found} == {max(map(len, junctions))}
    assert motifs.residue_frequencies(junctions).groupby("position")[
        "frequency"
    ].sum().to_numpy() == pytest.approx(1)


def test_letters_of_a_logo_are_as_high_as_their_bits():
    rows = [(1, "C", 1.0), (2, "A", 0.75), (2, "I", 0.25), (3, "F", 0.5), (3, motifs.GAP, 0.5)]
    found = pd.DataFrame(rows, columns=["position", "residue", "frequency"])
    figure, axis = logos.plt.subplots()
    logos.draw_logo(found, axis)
    boxes = [path.get_extents() for path in axis.collections[0].get_paths()]
    logos.plt.close(figure)
    heights = motifs.letter_heights(found)
    expected = [heights.loc[1, "C"], heights.loc[2, "I"], heights.loc[2, "A"], heights.loc[3, "F"]]
    np.testing.assert_allclose([box.height for box in boxes], expected, rtol=1e-6)
    np.testing.assert_allclose([box.y0 for box in boxes], [0, 0, expected[1], 0], atol=1e-6)
    np.testing.assert_allclose([(box.x0 + box.x1) / 2 for box in boxes], [1, 2, 2, 3], atol=1e-6)
    widths = [box.width for box in boxes]
    np.testing.assert_allclose([widths[0], widths[2]], logos.WIDTH, rtol=1e-6)
    assert widths[1] < 0.6 * logos.WIDTH  # I stays narrow
