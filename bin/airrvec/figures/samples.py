"""What the figures of a run and the report share of tables of samples."""

from collections.abc import Sequence

import pandas as pd


def main_class(rows: pd.DataFrame, first: Sequence[tuple[str, str]] = ()) -> pd.DataFrame:
    """
    Return the rows of each sample's class of chains with most cells, and of its species.

    Parameters
    ----------
    rows : DataFrame
        With ``sample_id``, ``species``, ``chains`` and ``n_cells``.
    first : sequence of (str, str)
        Species and class of chains: of those with as many cells, the first of these counts; without them,
        the first of the rows.
    """
    place = {key: number for number, key in enumerate(first)}
    keys = zip(rows["species"], rows["chains"], strict=True)
    ordered = rows.assign(place=[place.get(key, 0) for key in keys])
    ordered = ordered.sort_values(["n_cells", "place"], ascending=[False, True], kind="stable")
    largest = ordered.drop_duplicates("sample_id")
    return rows.merge(largest[["sample_id", "species", "chains"]], on=["sample_id", "species", "chains"])


def overlap_matrix(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the overlap of each two samples; NaN for a sample with itself, and where it is not known."""
    turned = pairs.rename(columns={"sample_1": "sample_2", "sample_2": "sample_1"})
    return pd.concat([pairs, turned]).pivot_table("morisita_horn", "sample_1", "sample_2", dropna=False)
