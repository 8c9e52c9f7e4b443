"""Cells of each sample that are called for an epitope, by its organism."""

from airrvec.core import tables
from airrvec.figures.palette import COLOURS
from airrvec.figures.run.material import (
    NotDrawn,
    Results,
    bars,
    colours_of,
    sample_labels,
    shown_samples,
)

import pandas as pd
import pyarrow.compute as pc

TITLE = "Called cells by organism"
LEGEND = (
    "Share of each sample's cells in clones whose receptor is called for an epitope of the organism."
    " Not a frequency of specific cells: epitopes without enough references are missing."
)
_REST = "other organisms"
_CALL = ["clone_id", "call_epitope", "call_antigen_species"]
_COUNT = ["clone_id", "sample_id", "n_cells", "share"]


def table(results: Results) -> pd.DataFrame:
    """
    Return called cells of each sample and organism; the epitope stands in where no organism is known.

    Returns
    -------
    DataFrame
        One row per sample and organism: ``n_clones``, ``n_cells``, and ``share`` of all cells of the sample.
        Samples without a call have one row, of no organism and 0 cells.
    """
    calls = tables.read(results.path("clones"), ["call"])["call"]
    if calls.null_count == len(calls):
        raise NotDrawn("no sample was annotated, which --annotate does")
    clones = tables.read_filtered(
        results.path("clones"), pc.field("call_epitope").is_valid(), _CALL
    ).to_pandas()
    if clones.empty:
        raise NotDrawn("no receptor is called for an epitope")
    clones = clones.assign(organism=clones["call_antigen_species"].fillna(clones["call_epitope"]))
    has_call = tables.is_one_of("clone_id", clones["clone_id"].tolist())
    counts = tables.read_filtered(results.path("clone_counts"), has_call, _COUNT).to_pandas()
    units = results.first_counts[["sample_id", "count_unit"]]
    rows = (
        counts.merge(clones[["clone_id", "organism"]], on="clone_id")
        .groupby(["sample_id", "organism"], as_index=False)
        .agg(n_clones=("clone_id", "nunique"), n_cells=("n_cells", "sum"), share=("share", "sum"))
    )
    rows = units.merge(rows, on="sample_id", how="left")
    rows = rows.fillna({"n_clones": 0, "n_cells": 0, "share": 0.0})
    rows = rows.astype({"n_clones": int, "n_cells": int})
    return results.with_conditions(rows.sort_values(["sample_id", "n_cells"], ascending=[True, False]))


def draw(table: pd.DataFrame):
    """Draw a bar for each sample; the organisms with the largest shares have a colour."""
    samples, note = shown_samples(table, "share")
    largest = table.groupby("organism")["share"].max().sort_values(ascending=False, kind="stable")
    names = list(largest.index[: len(COLOURS) - 1 if len(largest) > len(COLOURS) else len(COLOURS)])
    drawn = table.assign(organism=table["organism"].where(table["organism"].isin(names), _REST))
    shares = drawn.pivot_table("share", "sample_id", "organism", aggfunc="sum", fill_value=0)
    names += [_REST] if len(largest) > len(names) else []
    unit = ", ".join(sorted(table["count_unit"].unique()))
    return bars(
        shares.reindex(samples, columns=names, fill_value=0),
        sample_labels(table, samples),
        colours_of(names, COLOURS, _REST),
        note,
        f"Share of the sample's {unit} (%)",
    )
