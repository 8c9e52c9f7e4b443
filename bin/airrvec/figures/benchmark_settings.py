"""Titles and order of the settings of the few-shot benchmark, in its figures and in the report."""

from collections.abc import Iterable

from airrvec.core.chains import CHAIN_TITLES
from airrvec.core.schema import RECEPTOR_SETTING
from airrvec.evaluation.rules import RULES
from airrvec.evaluation.similarity import TEST_SETS

import pandas as pd

RULE_TITLES = {name: rule.title for name, rule in RULES.items()}
TEST_SET_TITLES = {
    "all": "all test receptors",
    "below_90": "below 90 % similarity",
    "below_80": "below 80 % similarity",
    "other_clonotypes": "other clonotypes",
    "other_studies": "other studies",
}

# Order of settings in the report; text given by the user comes before `none`.
_ORDER = (*RULES, "paired", "alpha", "beta", *TEST_SETS, "none")


def ordered_settings(settings: Iterable[str]) -> list[str]:
    """Return the distinct values of a column of `airrvec.core.schema.SETTING`, in the order of the report."""
    return sorted(set(settings), key=lambda value: _ORDER.index(value) if value in _ORDER else -1)


def setting_title(column: str, word: str) -> str:
    """Return the title of a value of `airrvec.core.schema.SETTING`; ``word`` may be the user's own text."""
    if column == "excluded":
        return "no reference excluded" if word == "none" else f"without references of '{word}'"
    return {"chains": CHAIN_TITLES, "test_set": TEST_SET_TITLES}[column][word]


def default_view(data: pd.DataFrame, *, one_rule: bool = False) -> pd.DataFrame:
    """
    Return the rows of the default setting: both chains, all test receptors, references excluded.

    If a default value was not measured, use the next value in the order of `ordered_settings`.

    Parameters
    ----------
    data : DataFrame
        Table with the columns of `airrvec.core.schema.SETTING`.
    one_rule : bool
        Whether to keep only the first rule.
    """
    for column in (*RECEPTOR_SETTING, *(["rule"] if one_rule else [])):
        if len(data):
            data = data[data[column] == ordered_settings(data[column])[0]]
    return data
