"""Description of one sample: its largest clones, clone sizes, genes, CDR3 lengths and V–J pairs."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from airrvec.core import schema, tables
from airrvec.core.chains import CHAIN_CLASSES, chain_classes
from airrvec.core.errors import InputError
from airrvec.core.plural import counted
from airrvec.core.schema.samples import CLONE_SIZES_LIMITS

N_CLONES = 100  # of each sample in the table
SEGMENTS = {"V": "v_call", "J": "j_call"}
CONSERVED = 2  # residues of a junction that are not part of the CDR3


@dataclass(frozen=True)
class Sample:
    """
    Clones of one sample.

    Attributes
    ----------
    sample_id : str
    clones : DataFrame
        One row per clonotype, largest first: ``clonotype_id``, ``n`` (abundance), ``species``, ``chains``,
        ``innate_like``, and `airrvec.core.schema.RECEPTOR_FIELDS` with genes in place of alleles.
    looks_bulk : bool
        Whether rows count once, although they have single chains and numbers of copies as in bulk data.
    """

    sample_id: str
    clones: pd.DataFrame
    looks_bulk: bool

    @property
    def n_cells(self) -> int:
        """Cells of the sample, or copies."""
        return int(self.clones["n"].sum())

    def counts(self) -> dict[tuple[str, str], np.ndarray]:
        """Return the cells of each clonotype, by species and class of chains."""
        groups = self.clones.groupby(["species", "chains"], sort=False)["n"]
        found = {key: numbers.to_numpy() for key, numbers in groups}
        order = [(species, chains) for species in schema.SPECIES for chains in CHAIN_CLASSES]
        return {key: found[key] for key in order if key in found}


def read_sample(cells: Path, receptors: list[Path], *, abundance: str = "cells") -> Sample:
    """
    Read the clones of a sample.

    Parameters
    ----------
    cells : Path
        ``<sample>.cells.parquet``.
    receptors : list of Path
        Receptors of the sample, one file per partition; receptors may repeat.
    abundance : {"cells", "duplicate_count"}
        Count each row of ``cells`` once, or by its ``duplicate_count``.

    Raises
    ------
    InputError
        If a ``duplicate_count`` is needed and null.
    """
    rows = tables.read(cells, ["clonotype_id", "duplicate_count"])
    if abundance == "duplicate_count" and rows["duplicate_count"].null_count:
        n = counted(rows["duplicate_count"].null_count, "row has", "rows have")
        fix = "Give --abundance cells, which counts each row once"
        raise InputError(f"{n} no duplicate_count", file=cells, fix=fix)
    frame = rows.to_pandas()
    frame["n"] = 1 if abundance == "cells" else frame["duplicate_count"]
    numbers = frame.groupby("clonotype_id", sort=False)["n"].sum().astype(np.int64)
    found = pa.concat_tables([tables.read(path) for path in receptors])
    table = found.select(["clonotype_id", "species", *schema.RECEPTOR_FIELDS, "innate_like"]).to_pandas()
    table["chains"] = chain_classes(found)
    table = table.drop_duplicates("clonotype_id").set_index("clonotype_id")
    for name in (name for name in schema.RECEPTOR_FIELDS if name.endswith("_call")):
        table[name] = table[name].str.split("*").str[0]
    clones = table.join(numbers[numbers > 0], how="inner").reset_index()
    clones = clones.sort_values(["n", "clonotype_id"], ascending=[False, True], ignore_index=True)
    copies = frame["duplicate_count"]
    looks_bulk = (
        abundance == "cells"
        and len(clones) > 0
        and not (clones["chains"] == "paired").any()
        and bool(copies.notna().all() and copies.max() > 1)
    )
    return Sample(tables.sample_name(cells), clones, looks_bulk)


def read_labels(paths: list[Path]) -> dict[str, str]:
    """Return the epitopes with which tables of cells label each clonotype, sorted and joined by ``; ``."""
    labels: dict[str, set[str]] = {}
    for path in paths:
        rows = tables.read(path, ["clonotype_id", "epitope"]).to_pandas().dropna().drop_duplicates()
        for clonotype, epitope in rows.itertuples(index=False):
            labels.setdefault(clonotype, set()).add(epitope)
    return {clonotype: "; ".join(sorted(epitopes)) for clonotype, epitopes in labels.items()}


def read_condition(paths: list[Path], column: str) -> dict[str, str]:
    """
    Return the value of a metadata column for each sample that has one.

    Raises
    ------
    InputError
        If the tables of cells have no such column.
    """
    found = {}
    for path in paths:
        if column not in tables.arrow_schema(path).names:
            raise InputError(f"there is no metadata column '{column}'", file=path)
        value = next(iter(tables.read(path, [column])[column].slice(0, 1).to_pylist()), None)
        if value is not None:
            found[tables.sample_name(path)] = value
    return found


def clone_sizes(shares: np.ndarray) -> np.ndarray:
    """
    Return the class of each clone by its share of the sample's cells, ndarray of str, shape (n,).

    The limits, `CLONE_SIZES_LIMITS`, are those of scRepertoire (Borcherding, Bormann and Kraus 2020,
    F1000Research 9, 47; ``clonalHomeostasis``); a share on a limit belongs to the lower class.
    """
    limits = np.array([*CLONE_SIZES_LIMITS.values()])
    return np.array([*CLONE_SIZES_LIMITS])[np.searchsorted(limits, shares)]


def clones_table(sample: Sample, labels: Mapping[str, str]) -> pa.Table:
    """Return `airrvec.core.schema.CLONES`: the `N_CLONES` largest clones of a sample."""
    top = sample.clones.head(N_CLONES)
    shares = top["n"].to_numpy() / max(sample.n_cells, 1)
    frame = top.rename(columns={"n": "n_cells"}).assign(
        sample_id=sample.sample_id,
        rank=np.arange(1, len(top) + 1),
        share=shares,
        clone_size=clone_sizes(shares),
        epitope=[labels.get(clonotype) for clonotype in top["clonotype_id"]],
    )
    return _table(frame, schema.CLONES)


def clone_sizes_table(sample: Sample) -> pa.Table:
    """Return `airrvec.core.schema.CLONE_SIZES`: one row per class, also of the classes without a clone."""
    numbers = sample.clones["n"].to_numpy()
    total = max(sample.n_cells, 1)
    classes = clone_sizes(numbers / total)
    rows, above = [], 0.0
    for name, limit in CLONE_SIZES_LIMITS.items():
        members = numbers[classes == name]
        rows.append(
            {
                "sample_id": sample.sample_id,
                "clone_size": name,
                "above": above,
                "up_to": limit,
                "n_clones": len(members),
                "n_singletons": int((members == 1).sum()),
                "n_cells": int(members.sum()),
                "share": members.sum() / total,
            }
        )
        above = limit
    return _table(pd.DataFrame(rows), schema.CLONE_SIZES)


def gene_usage_table(sample: Sample) -> pa.Table:
    """Return `airrvec.core.schema.GENE_USAGE`: V and J genes of both chains."""
    parts = [
        _shares(sample, locus, {"gene": schema.field(locus, call)}).assign(segment=segment)
        for locus in schema.LOCI
        for segment, call in SEGMENTS.items()
    ]
    return _table(pd.concat(parts), schema.GENE_USAGE)


def vj_pairing_table(sample: Sample) -> pa.Table:
    """Return `airrvec.core.schema.VJ_PAIRING`: pairs of V and J gene of the same chain."""
    parts = [
        _shares(
            sample, locus, {"v_gene": schema.field(locus, "v_call"), "j_gene": schema.field(locus, "j_call")}
        )
        for locus in schema.LOCI
    ]
    return _table(pd.concat(parts), schema.VJ_PAIRING)


def cdr3_lengths_table(sample: Sample) -> pa.Table:
    """Return `airrvec.core.schema.CDR3_LENGTHS`: residues without the junction's conserved C and F or W."""
    parts = []
    for locus in schema.LOCI:
        junction = schema.field(locus, "junction_aa")
        lengths = sample.clones[junction].str.len() - CONSERVED
        measured = Sample(sample.sample_id, sample.clones.assign(cdr3=lengths), sample.looks_bulk)
        parts.append(_shares(measured, locus, {"length": "cdr3"}))
    return _table(pd.concat(parts), schema.CDR3_LENGTHS)


def _shares(sample: Sample, locus: str, columns: dict[str, str]) -> pd.DataFrame:
    """Return cells and receptors of each value of some columns, and their shares of those with a value."""
    known = sample.clones.dropna(subset=[*columns.values()])
    names = {source: name for name, source in columns.items()}
    known = known[["species", "n", *names]].rename(columns=names)
    groups = known.groupby(["species", *columns])["n"].agg(n_cells="sum", n_receptors="size").reset_index()
    totals = groups.groupby("species")[["n_cells", "n_receptors"]].transform("sum")
    return groups.assign(
        sample_id=sample.sample_id,
        locus=locus,
        cell_share=groups["n_cells"] / totals["n_cells"],
        receptor_share=groups["n_receptors"] / totals["n_receptors"],
    )


def _table(frame: pd.DataFrame, columns: pa.Schema) -> pa.Table:
    return pa.Table.from_pandas(frame[columns.names], columns, preserve_index=False)
