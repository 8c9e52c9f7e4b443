"""Clonotypes of the clones of a run, their vectors, and their abundance in each sample."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from airrvec.core import identity, schema, tables, vectors
from airrvec.core.chains import CHAIN_CLASSES, chain_classes
from airrvec.core.errors import InputError
from airrvec.core.progress import step

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

HELD = ["receptor_id", "clonotype_id", "species", "innate_like"]  # columns of all receptors in memory


@dataclass(frozen=True)
class Repertoires:
    """
    Clonotypes of samples; receptors that differ only in alleles are one clonotype.

    A cell counts with the clonotype of its clone.

    Attributes
    ----------
    receptors : pyarrow.Table
        `HELD` of the first receptor of each of n clonotypes, sorted by ``clonotype_id``.
    path, embeddings : Path
        All receptors of the run and their vectors, each a file or a folder of partitions: fields and vectors
        are read of those receptors that need them, when they do.
    place : ndarray of int64, shape (n,)
        Row of these receptors in the embeddings; -1 for a receptor without a vector.
    chains : ndarray of str, shape (n,)
        paired, alpha or beta; empty for an excluded clonotype, such as that of one chain whose cells all
        count with a paired clone.
    clones : DataFrame
        One row per clone and sample: ``sample_id``, ``receptor`` (row of ``receptors``), ``n`` (abundance in
        the sample's unit).
    samples : DataFrame
        Index ``sample_id``, sorted; ``donor``, and one column per metadata column of the samplesheet.
    clonotype : ndarray of int64
        Row of ``receptors`` for each receptor of the run.
    units : Series of str
        What each sample counts, of `airrvec.core.schema.COUNT_UNITS`; index ``sample_id``.
    """

    receptors: pa.Table
    path: Path
    embeddings: Path
    place: np.ndarray
    chains: np.ndarray
    clones: pd.DataFrame
    samples: pd.DataFrame
    clonotype: np.ndarray
    units: pd.Series

    @cached_property
    def counts(self) -> pd.DataFrame:
        """Clonotypes of each sample: the columns of ``clones``, one row per sample and receptor."""
        return self.clones.groupby(["sample_id", "receptor"], sort=True)["n"].sum().reset_index()

    @property
    def species(self) -> list[str]:
        """Species of the samples; without samples, species of all receptors."""
        species = self.receptors["species"]
        if len(self.samples):
            species = species.take(pa.array(self.counts["receptor"]))
        carried = pc.unique(species).to_pylist()
        return [species for species in schema.SPECIES if species in carried]

    def select_species(self, species: str) -> "Repertoires":
        """Return the repertoires with clonotypes of other species excluded."""
        same = pc.equal(self.receptors["species"], species).to_numpy()
        return self if same.all() else replace(self, chains=np.where(same, self.chains, ""))

    def totals(self, counts: pd.DataFrame, by: str) -> pd.DataFrame:
        """
        Return ``n_cells``, ``count_unit``, ``n_samples``, ``n_donors`` of groups of ``counts``, by a column.

        The first two are null for a group of several units, whose numbers have no sum.
        """
        samples = counts["sample_id"]
        rows = counts.assign(unit=samples.map(self.units), donor=samples.map(self.samples["donor"])).groupby(
            by
        )
        one = rows["unit"].nunique() == 1  # noqa: PD101 - of groups
        return pd.DataFrame(
            {
                "n_cells": rows["n"].sum().astype("Int64").where(one),
                "count_unit": rows["unit"].first().where(one, None),
                "n_samples": rows["sample_id"].nunique(),
                "n_donors": rows["donor"].nunique(),
            }
        )

    @property
    def present(self) -> list[str]:
        """Chain classes that occur."""
        return [chains for chains in CHAIN_CLASSES if (self.chains == chains).any()]

    def rows(self, chains: str) -> np.ndarray:
        """Return the rows of the receptors that have these chains and a vector."""
        return np.flatnonzero((self.chains == chains) & (self.place >= 0))

    def read_receptors(self, rows: np.ndarray) -> pa.Table:
        """Return all columns of some of the ``receptors``, in the order of these rows."""
        return vectors.read_receptor_rows(self.path, self.receptors["receptor_id"].take(pa.array(rows)))

    def vectors(self, rows: np.ndarray) -> np.ndarray:
        """Return the vectors of some of the ``receptors``, ndarray of float32, shape (n rows, d)."""
        return vectors.read_rows(self.embeddings, self.place[rows])

    def conditions(self, column: str | None) -> pd.Series:
        """
        Return the condition of each sample, null if it has none.

        Raises
        ------
        InputError
            If the samplesheet has no such column.
        """
        if column is None:
            return pd.Series(None, index=self.samples.index, dtype=object)
        if column not in self.samples:
            raise InputError(
                f"--compare-by: the samplesheet has no column '{column}'",
                fix=f"It has: {', '.join(self.samples.columns) or 'no metadata columns'}",
            )
        return self.samples[column]


@step("reading repertoires")
def read(clones: Path, receptors: Path, embeddings: Path) -> Repertoires:
    """
    Read the clonotypes of a run and their abundance in its samples.

    Parameters
    ----------
    clones : Path
        Folder written by ``count_clones.py``.
    receptors, embeddings : Path
        Tables of the run; each a file or a folder of partitions.

    Raises
    ------
    InputError
        If the vectors do not match the receptors.
    """
    junctions = [schema.field(locus, "junction_aa") for locus in schema.LOCI]
    table = tables.read(receptors, [*HELD, *junctions])
    chains, table = chain_classes(table), table.select(HELD)
    place = _places(embeddings, table["receptor_id"])
    clonotype, first = identity.number_clonotypes(table)
    ids = table["receptor_id"]
    if len(first) < len(table):
        chains, place, table = chains[first.to_numpy()], place[first.to_numpy()], table.take(first)
    for name in ("species", "innate_like"):
        column = table.column_names.index(name)
        table = table.set_column(column, name, table[name].dictionary_encode())
    carried = _clones(clones, table["clonotype_id"].combine_chunks())
    joined = tables.read_filtered(clones / "members.parquet", pc.field("joined"), ["receptor_id"])
    elsewhere = np.zeros(len(table), bool)
    elsewhere[clonotype[pc.index_in(joined["receptor_id"], ids.combine_chunks()).to_numpy()]] = True
    elsewhere[carried["receptor"]] = False
    chains = np.where(elsewhere, "", chains)
    samples = tables.read(clones / "samples.parquet").to_pandas().set_index("sample_id").sort_index()
    return Repertoires(
        table,
        receptors,
        embeddings,
        place,
        chains,
        carried,
        samples.drop(columns="count_unit"),
        clonotype,
        samples["count_unit"],
    )


def _clones(folder: Path, clonotypes: pa.Array) -> pd.DataFrame:
    """Return the clones of each sample, with the rows of their clonotypes."""
    known = tables.read(folder / "clones.parquet", ["clone_id", "clonotype_id"])
    counts = tables.read(folder / "counts.parquet", ["clone_id", "sample_id", "n_cells"])
    receptor = pc.index_in(known["clonotype_id"], clonotypes)
    rows = pc.index_in(counts["clone_id"], known["clone_id"].combine_chunks())
    columns = {"sample_id": counts["sample_id"], "receptor": receptor.take(rows), "n": counts["n_cells"]}
    frame = pa.table(columns).to_pandas().astype({"receptor": np.int64})
    return frame.sort_values(["sample_id", "receptor"], ignore_index=True, kind="stable")


def _places(embeddings: Path, receptor_ids: pa.ChunkedArray) -> np.ndarray:
    """Return the row of each vector, -1 where there is none; raise `InputError` if the ids differ."""
    place, first = np.arange(len(receptor_ids)), 0
    for ids, part in vectors.batches(embeddings):
        if not receptor_ids.slice(first, len(ids)).equals(pa.chunked_array([ids])):
            raise InputError("the vectors do not match the receptors", file=embeddings)
        place[first : first + len(ids)][~np.isfinite(part).all(axis=1)] = -1
        first += len(ids)
    if first < len(place):
        raise InputError("the vectors do not match the receptors", file=embeddings)
    return place
