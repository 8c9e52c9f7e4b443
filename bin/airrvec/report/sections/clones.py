"""Clones in the MultiQC report, with what the run says of them: calls, and exact matches of the reference."""

from dataclasses import dataclass
from pathlib import Path

from airrvec.core import tables
from airrvec.core.terminal import counted
from airrvec.report.page import NUMBER, counted_in, escaped, meaning, per_cent
from airrvec.report.receptor_cells import text_cell, text_header
from airrvec.report.sections.clusters import cluster_numbers

import pandas as pd
import pyarrow.compute as pc

N_ORGANISMS = 3  # that a sentence names
SAID = ("call_epitope", "call_antigen_species", "call_fdr", "exact_epitope")


@dataclass(frozen=True)
class Clones:
    """
    What a run says of its clones.

    Attributes
    ----------
    said : DataFrame, index ``clone_id``
        `SAID`, and ``cluster``, the number of the cluster in the report; only clones with a call or an exact
        match, and those that the report shows.
    cells : DataFrame
        `airrvec.core.schema.CLONE_COUNTS` of the called clones.
    """

    said: pd.DataFrame
    cells: pd.DataFrame


def read_clones(folder: Path | None, shown: list[str], clusters: Path | None = None) -> Clones | None:
    """
    Return what is said of the clones of ``describe_clones.py``; None if the folder has none.

    Parameters
    ----------
    folder : Path or None
    shown : list of str
        ``clone_id`` of the clones that the report shows.
    clusters : Path, optional
        Folder written by ``cluster_receptors.py``.
    """
    if folder is None or not (folder / "clones.parquet").exists():
        return None
    is_said = pc.field("call_epitope").is_valid() | pc.field("exact_epitope").is_valid()
    is_said |= tables.is_one_of("clone_id", shown)
    said = tables.read_filtered(
        folder / "clones.parquet", is_said, ["clone_id", *SAID, "cluster_id"]
    ).to_pandas()
    said["cluster"] = said.pop("cluster_id").map(_numbers(clusters))
    is_called = tables.is_one_of("clone_id", said.loc[said["call_epitope"].notna(), "clone_id"].tolist())
    columns = ["clone_id", "sample_id", "n_cells", "count_unit", "share"]
    cells = tables.read_filtered(folder / "counts.parquet", is_called, columns)
    return Clones(said.set_index("clone_id"), cells.to_pandas())


def _numbers(clusters: Path | None) -> dict[str, str]:
    path = clusters / "clusters.parquet" if clusters else None
    if path is None or not path.exists():
        return {}
    return cluster_numbers(tables.read(path, ["cluster_id", "n_receptors"]).to_pandas())


def called_words(clones: Clones) -> str | None:
    """Return the cells and clones called for each organism, largest first, as HTML; None without calls."""
    if not len(clones.cells):
        return None
    said = clones.said.loc[clones.cells["clone_id"]]
    organism = said["call_antigen_species"].fillna(said["call_epitope"]).to_numpy()
    shares = clones.cells.groupby([organism, "sample_id"])["share"].sum()
    order = shares.groupby(level=0).max().sort_values(ascending=False, kind="stable").index
    parts = []
    for name in order[:N_ORGANISMS]:
        cells = clones.cells[organism == name]
        sizes = cells.groupby("clone_id")["n_cells"].sum()
        largest = shares[name].idxmax()
        share = f"{per_cent(shares[name][largest])} of {escaped(largest)}"
        units = cells["count_unit"].unique()
        if len(units) > 1:
            parts.append(f"{counted(len(sizes), 'clone')} ({share}) called for {escaped(name)}")
            continue
        words = f"{counted_in(int(sizes.sum()), units[0])} in {counted(len(sizes), 'clone')} ({share})"
        words += f" called for {escaped(name)}"
        if len(sizes) > 1 < sizes.max():
            words += f", the largest of {counted_in(int(sizes.max()), units[0])}"
        parts.append(words)
    more = len(order) - N_ORGANISMS
    return "; ".join(parts) + (f"; and {counted(more, 'other organism')}" if more > 0 else "")


def said_headers() -> dict[str, dict]:
    """Return the headers of `said_cells`."""
    return {
        "call": text_header("Call", **meaning("clones", "call_epitope")),
        "organism": text_header("Organism", **meaning("clones", "call_antigen_species")),
        "fdr": {"title": "FDR", **NUMBER, **meaning("clones", "call_fdr")},
        "exact": text_header("Exact match", **meaning("clones", "exact_epitope")),
        "cluster": text_header("Cluster", "Its number in the section Largest clusters"),
    }


def said_cells(clones: Clones, clone_id: str) -> dict:
    """Return the cells of a clone that the report shows; an empty text for what is not said of it."""
    row = clones.said.loc[clone_id]
    texts = {"call": row.call_epitope, "organism": row.call_antigen_species, "exact": row.exact_epitope}
    texts["cluster"] = row.cluster
    cells = {name: text_cell("" if pd.isna(text) else text) for name, text in texts.items()}
    return {**cells, "fdr": "" if pd.isna(row.call_fdr) else row.call_fdr}
