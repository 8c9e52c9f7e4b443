"""The clonotypes of a run beside their vectors, and which sample carries how many of each."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from airrvec.core import identity, schema, tables
from airrvec.core.chains import CHAIN_CLASSES, chain_classes
from airrvec.core.errors import InputError

ABUNDANCES = ("cells", "duplicate_count")


@dataclass(frozen=True)
class Repertoires:
    """
    What samples carry, by clonotype: receptors that differ in alleles alone are one.

    Attributes
    ----------
    receptors : pyarrow.Table
        ``receptors`` of n clonotypes, of each its first receptor, sorted by ``clonotype_id``.
    vectors : ndarray of float32, shape (n, d)
        Of these receptors; NaN where one has none.
    chains : ndarray of str, shape (n,)
        paired, alpha or beta; empty for a clonotype that is left out.
    counts : DataFrame
        ``sample_id``, ``receptor`` (row of ``receptors``), ``n``: what the samples carry.
    samples : DataFrame
        Index ``sample_id``, sorted; a column for each of the samplesheet's metadata.
    receptor_ids : pyarrow.ChunkedArray
        All receptors of the run.
    clonotype : ndarray of int64
        Of each of these its row of ``receptors``.
    """

    receptors: pa.Table
    vectors: np.ndarray
    chains: np.ndarray
    counts: pd.DataFrame
    samples: pd.DataFrame
    receptor_ids: pa.ChunkedArray
    clonotype: np.ndarray

    @property
    def species(self) -> list[str]:
        """The species that samples carry, or that there are where there is no sample."""
        found = self.receptors["species"].to_numpy()
        carried = set(found[self.counts["receptor"]] if len(self.samples) else found)
        return [species for species in schema.SPECIES if species in carried]

    def of_species(self, species: str) -> "Repertoires":
        """The same with all clonotypes of other species left out."""
        same = pc.equal(self.receptors["species"], species).to_numpy()
        return replace(self, chains=np.where(same, self.chains, ""))

    @property
    def present(self) -> list[str]:
        """The classes of chains that there are."""
        return [chains for chains in CHAIN_CLASSES if (self.chains == chains).any()]

    def rows(self, chains: str) -> np.ndarray:
        """Rows of the receptors that have these chains and a vector."""
        return np.flatnonzero((self.chains == chains) & np.isfinite(self.vectors).all(axis=1))

    def conditions(self, column: str | None) -> pd.Series:
        """
        The condition of each sample, null where it has none.

        Raises
        ------
        InputError
            If the samplesheet has no such column.
        """
        if column is None:
            return pd.Series(None, index=self.samples.index, dtype=object)
        if column not in self.samples:
            raise InputError(
                f"--condition: the samplesheet has no column '{column}'",
                fix=f"It has: {', '.join(self.samples.columns) or 'none beside its own'}",
            )
        return self.samples[column]


def read(cells: list[Path], receptors: Path, embeddings: Path, *, abundance: str = "cells") -> Repertoires:
    """
    The receptors of a run and of its samples.

    Parameters
    ----------
    cells : list of Path
        Of each sample.
    receptors, embeddings : Path
        Of the run; a file or a folder of partitions each.
    abundance : {"cells", "duplicate_count"}
        Whether each row of ``cells`` counts once, or as often as it says.

    Raises
    ------
    InputError
        If the vectors are not those of the receptors, or a row does not say how often it counts.
    """
    table = tables.read(receptors)
    vectors = tables.read(embeddings)
    if not vectors["receptor_id"].equals(table["receptor_id"]):
        raise InputError("the vectors are not those of the receptors", file=embeddings)
    clonotype, first = identity.clonotypes(table)
    dimensions = [vectors[name].take(first).to_numpy() for name in vectors.column_names[1:]]
    ids, table = table["receptor_id"], table.take(first)
    found = [_of_sample(path, table["clonotype_id"].combine_chunks(), abundance) for path in cells]
    metadata = pd.DataFrame([of_sample for _, of_sample in found] or {"sample_id": []})
    empty = pd.DataFrame({"sample_id": [], "receptor": [], "n": []}).astype({"receptor": int, "n": int})
    counts = pd.concat([of_sample for of_sample, _ in found] or [empty], ignore_index=True)
    return Repertoires(
        table,
        np.stack(dimensions, axis=1).astype(np.float32),
        chain_classes(table),
        counts,
        metadata.set_index("sample_id").sort_index(),
        ids,
        clonotype,
    )


def _of_sample(path: Path, clonotype_ids: pa.Array, abundance: str) -> tuple[pd.DataFrame, dict]:
    """What a sample carries, and its metadata."""
    names = [name for name in tables.arrow_schema(path).names if name not in schema.CELLS.names]
    cells = tables.read(path, ["sample_id", "clonotype_id", "duplicate_count", *names])
    if abundance == "duplicate_count" and cells["duplicate_count"].null_count:
        raise InputError(
            f"{cells['duplicate_count'].null_count} rows have no duplicate_count",
            file=path,
            fix="Give --abundance cells, which counts each row once",
        )
    sample = path.name.removesuffix(".parquet").removesuffix(".cells")
    frame = pd.DataFrame(
        {
            "sample_id": sample,
            "receptor": pc.index_in(cells["clonotype_id"], clonotype_ids).to_numpy(),
            "n": 1 if abundance == "cells" else cells["duplicate_count"].to_numpy(),
        }
    )
    first = {name: cells[name][0].as_py() if len(cells) else None for name in names}
    return frame.groupby(["sample_id", "receptor"], as_index=False)["n"].sum(), {"sample_id": sample, **first}
