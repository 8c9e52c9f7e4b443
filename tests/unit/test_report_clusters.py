"""Words of the report on clusters."""

from airrvec.report.sections.clusters import Clusters, cluster_answer, cluster_sections, references_words

import pandas as pd
import pytest


@pytest.mark.parametrize("radius", [0.0, 0.4])
def test_a_radius_of_zero_is_explained(radius):
    group = {"species": "homosapiens", "chains": "beta", "receptors": 5, "clusters": 1, "clustered": 2}
    group |= {"radius": radius, "neighbours": 0.4}
    counts = {"groups": [group], "chance": 0.01, "background": "OLGA", "not_compared": 0}
    titles = {("homosapiens", "beta"): "β chains"}
    found = Clusters({**counts, "without_background": {}}, pd.DataFrame(), None, titles)
    answer, words = cluster_answer(found), cluster_sections(found)[0]["description"]
    assert answer.startswith("1 cluster of β chains holds 2 of 5 receptors")
    assert answer.endswith("; at radius 0, neighbours have equal vectors.") == (radius == 0)
    assert ("A larger <code>--cluster_chance</code> allows it." in words) == (radius == 0)


def test_references_in_a_cluster_are_counted_by_epitope():
    """A reference of two epitopes counts for both; of many epitopes the first three are named."""
    epitopes = ["B", "A;B", "B", None, "C", "D", "E", "X"]
    references = pd.DataFrame({"cluster_id": [*["k"] * 7, "other"], "epitope": epitopes})
    assert references_words(references, "k") == "B 3; A 1; C 1; 2 other epitopes"
    assert references_words(references, "none") == ""
