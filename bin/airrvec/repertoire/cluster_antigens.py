"""Antigens of the epitopes of clusters, from the labels of the run."""

from pathlib import Path

from airrvec.core import groups, tables
from airrvec.core.antigens import ANTIGEN_FIELDS, mhc_name

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

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
    epitopes = pd.Index(sorted(counts["epitope"].unique()), name="epitope")
    found = {
        name: groups.most_frequent(counts, ["epitope"], name, counts="count_all").reindex(epitopes)
        for name in ANTIGEN_FIELDS
    }
    described = pd.DataFrame(found, index=epitopes).astype(object)
    described = described.where(described.notna(), None)
    described["mhc"] = [
        mhc_name(*chains) for chains in zip(described["mhc_a"], described["mhc_b"], strict=True)
    ]
    return described[list(COLUMNS)]


def with_antigens(clusters: pa.Table, described: pd.DataFrame) -> pa.Table:
    """Return the clusters with the antigen of their epitope, from `describe_epitopes`; null without one."""
    for name in COLUMNS:
        antigen = described[name].to_dict()
        values = pa.array([antigen.get(epitope) for epitope in clusters["epitope"].to_pylist()], pa.string())
        clusters = clusters.set_column(clusters.column_names.index(name), name, values)
    return clusters
