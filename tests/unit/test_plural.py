"""Numbers with their nouns in messages and reports."""

from airrvec.core.terminal import counted

import pytest


@pytest.mark.parametrize(
    ("n", "nouns", "words"),
    [
        (0, ["receptor"], "0 receptors"),
        (1, ["receptor"], "1 receptor"),
        (1200, ["receptor"], "1,200 receptors"),
        (1, ["study", "studies"], "1 study"),
        (2, ["study", "studies"], "2 studies"),
    ],
)
def test_a_noun_agrees_with_its_number(n, nouns, words):
    assert counted(n, *nouns) == words
