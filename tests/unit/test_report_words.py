"""Words of the report: evidence has a scale, logarithms are shown as numbers, jargon is explained."""

import math
from collections import namedtuple

from airrvec.core import schema
from airrvec.report import readings
from airrvec.report.sections import annotation, conditions, quality

import pytest

Row = namedtuple("Row", [*schema.CONDITION_TESTS.names])


def cells(**changed) -> dict:
    """The cells of a test of two values, with numbers of the table."""
    values = dict.fromkeys(Row._fields) | {"measure": "hill_1_at_coverage", "design": "two values"}
    values |= {"value_1": "a", "value_2": "b", "n_units_1": 3.0, "n_units_2": 4.0, "p": 0.1, "fdr": 0.2}
    values |= {"mean_1": math.log(120), "mean_2": math.log(80), "difference": math.log(1.5)}
    values |= {"low": math.log(0.5), "high": math.log(4.5)}
    return conditions._test_cells(Row(**values | changed), {})


def test_logarithms_are_shown_as_numbers_of_clones_and_their_ratio():
    shown = cells()
    assert shown["measure"] == "Effective number of clones"
    assert (shown["means"], shown["difference"]) == ("120 and 80", "× 1.5 (0.5 to 4.5)")
    shares = cells(measure="v_gene", mean_1=0.02, mean_2=0.01, difference=0.01, low=-0.01, high=0.03)
    assert (shares["means"], shares["difference"]) == ("2 and 1 %", "1 (-1 to 3) %")


def test_evidence_is_strong_or_some():
    weights = {"evidence_sceptr": annotation.STRONG, "evidence_beta": 1.9, "evidence_genes": 0.04}
    assert annotation._evidence(weights).replace("\N{NO-BREAK SPACE}", " ") == "SCEPTR strong, β chain some"
    words = annotation._call_headers("Cells")["evidence"]["description"]
    assert f"{math.exp(annotation.STRONG):.0f} times as high or more" in words


def test_chains_are_named_before_the_words_of_scirpy():
    assert set(quality._PAIRING_WORDS) <= set(schema.CHAIN_PAIRINGS)
    shown = {
        word: quality._PAIRING_WORDS[word] for word in schema.CHAIN_PAIRINGS if "VJ" in word or "VDJ" in word
    }
    for word, text in shown.items():
        assert text.endswith(f" ({word})")
        assert "α" in text or "β" in text
    assert {word.split()[0] for word in shown} == {"orphan", "extra"}


@pytest.mark.parametrize("word", ["MMD²", "Brier score", "effective number", "Hill number", "Morisita–Horn"])
def test_jargon_is_explained_where_it_stands(word):
    seen: set[str] = set()
    assert f">{word}</abbr>" in readings.explained(f"<p>The {word} of a run.</p>", seen)
    assert word in seen


def test_titles_of_measures_have_no_jargon():
    titles = [*conditions.TITLES.values(), *conditions.TOLD_TITLES.values()]
    assert set(conditions.TITLES) == set(schema.comparison.MEASURES)
    for title in titles:
        for word in ("MMD", "log", "Hill", "Fréchet", "Brier"):
            assert word not in title
