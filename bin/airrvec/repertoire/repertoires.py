"""Clonotypes of a run, their vectors, and their abundance in each sample."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from airrvec.core import identity, schema, tables, vectors
from airrvec.core.chains import CHAIN_CLASSES, chain_classes
from airrvec.core.errors import InputError
from airrvec.core.plural import counted

ABUNDANCES = ("cells", "duplicate_count")
HELD = ["receptor_id", "clonotype_id", "species", "innate_like"]  # columns of all receptors in memory


@dataclass(frozen=True)
class Repertoires:
    """
    Clonotypes of samples; receptors that differ only in alleles are one clonotype.

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
        paired, alpha or beta; empty for an excluded clonotype.
    counts : DataFrame
        ``sample_id``, ``receptor`` (row of ``receptors``), ``n`` (abundance in the sample).
    samples : DataFrame
        Index ``sample_id``, sorted; one column per metadata column of the samplesheet.
    receptor_ids : pyarrow.ChunkedArray
        Ids of all receptors of the run.
    clonotype : ndarray of int64
        Row of ``receptors`` for each of these ids.
    """

    receptors: pa.Table
    path: Path
    embeddings: Path
    place: np.ndarray
    chains: np.ndarray
    counts: pd.DataFrame
    samples: pd.DataFrame
    receptor_ids: pa.ChunkedArray
    clonotype: np.ndarray

    @property
    def species(self) -> list[str]:
        """Species of the samples; without samples, species of all receptors."""
        found = self.receptors["species"]
        if len(self.samples):
            found = found.take(pa.array(self.counts["receptor"]))
        carried = pc.unique(found).to_pylist()
        return [species for species in schema.SPECIES if species in carried]

    def of_species(self, species: str) -> "Repertoires":
        """Return the repertoires with clonotypes of other species excluded."""
        same = pc.equal(self.receptors["species"], species).to_numpy()
        return self if same.all() else replace(self, chains=np.where(same, self.chains, ""))

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


def read(cells: list[Path], receptors: Path, embeddings: Path, *, abundance: str = "cells") -> Repertoires:
    """
    Read the clonotypes of a run and their abundance in its samples.

    Parameters
    ----------
    cells : list of Path
        Cells table of each sample.
    receptors, embeddings : Path
        Tables of the run; each a file or a folder of partitions.
    abundance : {"cells", "duplicate_count"}
        Count each row of ``cells`` once, or by its ``duplicate_count``.

    Raises
    ------
    InputError
        If the vectors do not match the receptors, or a ``duplicate_count`` is needed and null.
    """
    junctions = [schema.field(locus, "junction_aa") for locus in schema.LOCI]
    table = tables.read(receptors, [*HELD, *junctions])
    chains, table = chain_classes(table), table.select(HELD)
    place = _places(embeddings, table["receptor_id"])
    clonotype, first = identity.number_clonotypes(table)
    ids = table["receptor_id"]
    if len(first) < len(table):
        chains, place, table = chains[first.to_numpy()], place[first.to_numpy()], table.take(first)
    samples = [_read_sample(path, abundance) for path in cells]
    metadata = pd.DataFrame([row for *_, row in samples] or {"sample_id": []})
    # Of all samples at once: each search hashes the ids of the run.
    known = table["clonotype_id"].combine_chunks()
    carried = pa.chunked_array([chunk for part in samples for chunk in part[0].chunks], pa.string())
    counts = pd.DataFrame(
        {
            "sample_id": np.repeat(
                metadata["sample_id"].to_numpy(object), [len(part[0]) for part in samples]
            ),
            "receptor": pc.index_in(carried, known).to_numpy(),
            "n": np.concatenate([np.empty(0, np.int64), *(n for _, n, _ in samples)]),
        }
    )
    counts = counts.groupby(["sample_id", "receptor"], as_index=False, sort=True)["n"].sum()
    return Repertoires(
        table,
        receptors,
        embeddings,
        place,
        chains,
        counts,
        metadata.set_index("sample_id").sort_index(),
        ids,
        clonotype,
    )


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


def _read_sample(path: Path, abundance: str) -> tuple[pa.ChunkedArray, np.ndarray, dict]:
    """Return the clonotype of each cell, its abundance, and the sample's metadata."""
    names = [name for name in tables.arrow_schema(path).names if name not in schema.CELLS.names]
    cells = tables.read(path, ["sample_id", "clonotype_id", "duplicate_count", *names])
    if abundance == "duplicate_count" and cells["duplicate_count"].null_count:
        n = counted(cells["duplicate_count"].null_count, "row has", "rows have")
        raise InputError(
            f"{n} no duplicate_count",
            file=path,
            fix="Give --abundance cells, which counts each row once",
        )
    sample = tables.sample_name(path)
    n = np.ones(len(cells), np.int64) if abundance == "cells" else cells["duplicate_count"].to_numpy()
    first = {name: cells[name][0].as_py() if len(cells) else None for name in names}
    return cells["clonotype_id"], n, {"sample_id": sample, **first}
