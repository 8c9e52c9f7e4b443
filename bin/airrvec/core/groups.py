"""Texts of a column in each group of rows."""

import pandas as pd


def most_frequent(rows: pd.DataFrame, by: list[str], name: str, *, counts: str | None = None) -> pd.Series:
    """
    Return the most frequent text of each group, the first by name if several are.

    Parameters
    ----------
    rows : DataFrame
    by : list of str
        Columns that make the groups.
    name : str
        Column of the texts; null does not count.
    counts : str, optional
        Column that says how often to count a row.

    Returns
    -------
    Series
        Index ``by``; without groups whose texts are all null.
    """
    groups = rows.groupby([*by, name])
    counted = (groups.size() if counts is None else groups[counts].sum()).reset_index(name="n")
    counted = counted.sort_values([*by, "n", name], ascending=[*[True] * len(by), False, True])
    return counted.drop_duplicates(by).set_index(by)[name]


def joined(rows: pd.DataFrame, by: list[str], name: str) -> pd.Series:
    """Return the distinct texts of each group that has any, sorted, joined by ``;``; index ``by``."""
    texts = rows[[*by, name]].dropna().drop_duplicates().sort_values([*by, name])
    several = texts.duplicated(by, keep=False)  # few: joining is slow
    single = texts[~several].set_index(by)[name]
    return pd.concat([single, texts[several].groupby(by)[name].agg(";".join)])
