"""Antigens of the epitopes of clusters, from the labels of the run."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from airrvec.core import tables
from airrvec.core.antigens import ANTIGEN_FIELDS, mhc_name

COLUMNS = ("antigen_gene", "antigen_species", "mhc")


def describe_epitopes(paths: list[Path]) -> pd.DataFrame:
    """
    Return the antigen of each epitope in some tables of cells.

    Returns
    -------
    DataFrame
        Index ``epitope``; `COLUMNS`: the most frequent value of its labels, or None.
    """
    columns = ["epitope", *ANTIGEN_FIELDS]
    counts = pa.concat_tables(
        [tables.read_filtered(path, pc.is_valid(pc.field("epitope")), columns) for path in paths]
    )
    counts = counts.group_by(columns).aggregate([([], "count_all")]).to_pandas()
    rows = {}
    for epitope, labels in counts.groupby("epitope"):
        found = {name: _most_frequent(labels, name) for name in ANTIGEN_FIELDS}
        mhc = mhc_name(found.pop("mhc_a"), found.pop("mhc_b"))
        rows[epitope] = {**found, "mhc": mhc}
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(COLUMNS)).rename_axis("epitope")


def with_antigens(clusters: pa.Table, described: pd.DataFrame) -> pa.Table:
    """Return the clusters with the antigen of their epitope, from `describe_epitopes`; null without one."""
    for name in COLUMNS:
        antigen = described[name].to_dict()
        values = pa.array([antigen.get(epitope) for epitope in clusters["epitope"].to_pylist()], pa.string())
        clusters = clusters.set_column(clusters.column_names.index(name), name, values)
    return clusters


def _most_frequent(labels: pd.DataFrame, name: str) -> str | None:
    """Return the most frequent value; of several the first in the alphabet; None if there is none."""
    numbers = labels.groupby(name)["count_all"].sum()
    return min(numbers.index[numbers == numbers.max()]) if len(numbers) else None
