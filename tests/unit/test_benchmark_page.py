"""The page of the benchmark: the paper's values beside ours, tables of k, rules, settings and differences."""

from airrvec.core import schema
from airrvec.encoders import Titles
from airrvec.figures import benchmark_page

import pandas as pd
import pytest

PAPER = benchmark_page.paper_values()


def rows(encoder: str, value: float, **setting) -> list[dict]:
    common = {
        "encoder": encoder, "rule": "nearest_neighbour", "chains": "paired", "test_set": "all",
        "excluded": "none", "k": 200, "n_splits": 100, "auroc_01_mean": 0.6,
        "average_precision_mean": 0.25, **setting,
    }  # fmt: skip
    return [{**common, "epitope": epitope, "auroc_mean": value} for epitope in ("NLVPMVATV", schema.MEAN)]


def comparison(**more) -> pd.DataFrame:
    row = {
        "encoder": "sceptr", "other": "tcrdist", "rule": "nearest_neighbour", "chains": "paired",
        "test_set": "all", "excluded": "none", "epitope": schema.MEAN, "k": 200,
        "difference_mean": 0.0172, "difference_se": 0.00051,
        "n_epitopes": 6, "n_better": 5, "sign_p": 0.109375, **more,
    }  # fmt: skip
    return pd.DataFrame([row])


def cells(page: str, start: str) -> list[list[str]]:
    """Cells of the lines that begin with a word."""
    return [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith(f"| {start} ")]


def page(*parts: list[dict], comparisons=None) -> str:
    summary = pd.DataFrame([row for part in parts for row in part])
    compared = comparison() if comparisons is None else comparisons
    return benchmark_page.page(summary, compared, {"receptors": 6816, "epitopes": 873}, Titles())


def test_the_papers_values_are_those_of_its_table():
    means = {name: sum(values.values()) / 6 for name, values in PAPER.items()}
    assert means == pytest.approx(
        {
            "sceptr": 0.79817, "tcrdist": 0.78317, "cdr3_levenshtein": 0.73683,
            "tcr_bert": 0.73467, "esm2": 0.71667, "protbert": 0.70533,
        },
        abs=1e-5,
    )  # fmt: skip


def test_a_large_difference_from_the_paper_is_marked():
    text = page(rows("sceptr", 0.705), rows("tcrdist", 0.671))
    assert cells(text, "NLVPMVATV") == [["NLVPMVATV", ".691", ".705", ".648", ".671 !"]]
    assert "Not measured here: CDR3 Levenshtein, TCR-BERT" in text


def test_encoders_that_the_paper_has_not_stand_alone():
    assert cells(page(rows("sceptr_large", 0.8)), "NLVPMVATV") == [["NLVPMVATV", ".800"]]


def test_k_rules_and_settings():
    text = page(
        rows("sceptr", 0.65, k=1),
        rows("sceptr", 0.8),
        rows("sceptr", 0.77, rule="contrast"),
        rows("sceptr", 0.7, chains="alpha"),
        rows("sceptr", 0.75, test_set="below_90"),
    )
    assert cells(text, "SCEPTR") == [
        ["SCEPTR", ".650", ".800"],
        ["SCEPTR", ".770"],
        ["SCEPTR", ".800", ".770", ".600", ".250"],
        ["SCEPTR", ".800", ".700", ".750"],
    ]
    settings = [
        "α and β chains, all test",
        "α chains alone, all test",
        "α and β chains, below 90 % similarity |",
    ]
    assert "| Encoder | " + " receptors | ".join(settings) in text


def test_differences():
    assert cells(page(rows("sceptr", 0.8)), "TCRdist") == [["TCRdist", "+0.017", "0.0005", "5 of 6", "0.11"]]
    assert "against the others" not in page(rows("sceptr", 0.8), comparisons=comparison().iloc[:0])
