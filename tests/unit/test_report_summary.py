"""The summary for the terminal, of few samples and of many."""

from airrvec.report.summary import summary_text

from test_report import EMBEDDINGS, RECEPTORS, SAMPLE, TITLES


def test_summary_of_many_samples_fits_a_screen():
    samples = [
        {**SAMPLE, "sample_id": f"s{n:03d}", "rows_in": 1000, "rows_rejected": n, "rows_out": 1000 - n}
        for n in range(300)
    ]
    text = summary_text(
        [{**sample, "warnings": ["odd"]} for sample in samples], RECEPTORS, EMBEDDINGS, TITLES
    )
    lines = text.splitlines()
    assert len(lines) < 40
    assert lines[0] == "300 samples; the 10 with the largest shares of rejected rows:"
    assert [line.split()[0] for line in lines[2:12]] == [f"s{n:03d}" for n in range(299, 289, -1)]
    rejected = sum(range(300))
    assert lines[12].split()[:2] == ["all", "300"]
    assert lines[12].split()[2:5] == ["300,000", f"{300_000 - rejected:,}", f"{rejected:,}"]
    assert lines[12].split()[5:7] == ["36,000", "UMIs"]
    assert "Note: s000: odd" in lines
    assert "and 290 further notes: see section Samples of the report" in lines
    twenty = summary_text(samples[:20], RECEPTORS, EMBEDDINGS, TITLES).splitlines()
    assert [line.split()[0] for line in twenty[1:21]] == [f"s{n:03d}" for n in range(20)]


def test_what_tables_were_read_as_is_said_once_for_all_alike():
    other = {**SAMPLE, "roles": "", "row_unit": "cell", "count_unit": "cells"}
    samples = [{**SAMPLE, "sample_id": f"s{n}"} for n in range(7)] + [{**other, "sample_id": "t"}]
    lines = summary_text(samples, RECEPTORS, EMBEDDINGS, TITLES).splitlines()
    place = lines.index("Read as")
    first = "s0, s1, s2, s3, s4 and 2 more"
    assert lines[place + 1 : place + 4] == [
        f"{first}: count = <umis, 1> (UMIs) · a row is a clonotype; counted in UMIs",
        "t: a row is a cell; counted in cells",
        "",
    ]
    many = [{**SAMPLE, "sample_id": f"s{n}", "roles": f"cell = c{n}"} for n in range(21)]
    lines = summary_text(many, RECEPTORS, EMBEDDINGS, TITLES).splitlines()
    assert "and 11 other ways: see section Samples of the report" in lines


def test_numbers_of_several_units_have_no_sum():
    samples = [{**SAMPLE, "count_unit": unit} for unit in ["cells"] * 20 + ["reads"]]
    lines = summary_text(samples, RECEPTORS, EMBEDDINGS, TITLES).splitlines()
    assert "120 cells" in lines[2]
    assert lines[12].split() == ["all", "21", "210", "168", "42"]
