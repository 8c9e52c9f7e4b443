"""Words of the report on clusters."""

from airrvec.report.sections.clusters import Clusters, cluster_answer, cluster_sections

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
