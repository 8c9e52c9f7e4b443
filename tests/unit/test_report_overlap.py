"""The heat map of the overlap of samples: the table's numbers, by donor and condition."""

from itertools import combinations

from airrvec.report.sections import overlap

import numpy as np
import pandas as pd

COUNTS = {
    "donors": {"d": "p1", "c": "p1", "b": "p<2", "a": "p<2", "e": "e"},
    "of_sample": {"a": "before", "b": "after", "c": "before", "d": "after"},
}
NAMES = ["e", "p1: after: d", "p1: before: c", "p&lt;2: after: b", "p&lt;2: before: a"]


def pairs_of(samples, title: str, values) -> pd.DataFrame:
    rows = [(*pair, value, title) for pair, value in zip(combinations(samples, 2), values, strict=True)]
    return pd.DataFrame(rows, columns=["sample_1", "sample_2", "morisita_horn", "group"])


def test_samples_stand_by_donor_and_condition():
    values = [0.5, 0, 0.01, 0.1, 0.02, np.nan, 0.2, 0.73456, 0.3, 0.4]
    pairs = pairs_of("abcde", "both", values)
    more = pd.concat([pairs_of("abc", "one", [1, 1, 1]), pairs])  # chains of fewer samples
    section = overlap.overlap_section(more, COUNTS)
    assert section["xcats"] == section["ycats"] == NAMES
    assert "(both)" in section["description"]
    assert section["pconfig"]["max"] == 0.73456
    shown = pd.DataFrame(section["data"], section["ycats"], section["xcats"]).astype(float)
    assert np.isnan(np.diag(shown)).all()
    name_of = {name[-1]: name for name in NAMES}
    for first, second, value, _ in pairs.itertuples(index=False):
        for one, other in ((first, second), (second, first)):
            np.testing.assert_allclose(shown.loc[name_of[one], name_of[other]], np.round(value, 4))


def test_nothing_shared_is_a_sentence():
    section = overlap.overlap_section(pairs_of("abc", "both", [0, np.nan, 0]), COUNTS)
    assert section["data"] == "<p>No two samples share a receptor (both).</p>"


def test_of_many_samples_those_with_the_largest_overlap_are_shown():
    names = [f"s{number:02d}" for number in range(70)]
    pairs = pairs_of(names, "both", np.zeros(70 * 69 // 2))
    for number in range(0, 60, 2):  # 30 pairs that share
        is_pair = (pairs["sample_1"] == names[number]) & (pairs["sample_2"] == names[number + 1])
        pairs.loc[is_pair, "morisita_horn"] = 0.5
    section = overlap.overlap_section(pairs, {"donors": {}, "of_sample": {}})
    assert section["xcats"] == names[:60]
    assert "10 samples with a smaller overlap are left out" in section["description"]
