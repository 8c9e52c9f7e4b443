"""The report's calls with the lowest FDR are those of the annotation tables of all samples."""

from airrvec.report.page import group_titles
from airrvec.report.sections import annotation

from test_report_annotation import CALL, write_calls


def test_the_calls_with_the_lowest_fdr_are_those_of_all_samples_whatever_their_score(tmp_path):
    """
    In the first sample, 300 α chains have high scores and a high FDR, and 3 pairs low ones.

    The pairs come first, and their abundance is that of the sample.
    """
    chains = [
        {**CALL, "chains": "alpha", "receptor_id": f"a{n:03}", "score": 50.0 + n, "fdr": 0.08}
        for n in range(300)
    ]
    pairs = [{**CALL, "receptor_id": f"p{n}", "score": -5.0, "fdr": 0.01 * n} for n in (2, 1, 3)]
    uncalled = {**CALL, "receptor_id": "none", "call": "no call", "epitope": None, "fdr": 0.0}
    write_calls(tmp_path, "x", [*chains, *pairs, *[{**pair, "abundance": 9} for pair in pairs], uncalled])
    write_calls(tmp_path, "y", [{**CALL, "receptor_id": "q", "fdr": 0.015}])
    rows = annotation.lowest_fdr((tmp_path / "calls").iterdir())
    first = [("x", "p1", 10), ("y", "q", 1), ("x", "p2", 10), ("x", "p3", 10), ("x", "a000", 1)]
    assert [(row["sample_id"], row["receptor_id"], row["abundance"]) for row in rows[:5]] == first
    assert len(rows) == annotation.N_TOP
    groups = [{"species": "homosapiens", "chains": name} for name in ("paired", "alpha")]
    shown = annotation.calls_section(rows, group_titles(groups))["data"]
    assert list(shown)[:2] == ["x, 001", "y, 002"]
