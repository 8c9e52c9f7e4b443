"""Description of one sample: its largest clones, clone sizes, genes, CDR3 lengths and V–J pairs."""

from dataclasses import dataclass
from pathlib import Path

from airrvec.core import schema, tables
from airrvec.core.chains import CHAIN_CLASSES
from airrvec.core.errors import InputError
from airrvec.core.pages import check_pages
from airrvec.core.schema.samples import CLONE_SIZES_LIMITS

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

N_CLONES = 100  # of each sample in the table
SEGMENTS = {"V": "v_call", "J": "j_call"}
CONSERVED = 2  # residues of a junction that are not part of the CDR3


@dataclass(frozen=True)
class Sample:
    """
    Clones of one sample, in a database that writes to the disk what exceeds its memory.

    Attributes
    ----------
    sample_id : str
    clones : duckdb.DuckDBPyRelation
        One row per clone: ``clone_id``, ``clonotype_id``, ``n`` (cells in the sample, in ``count_unit``),
        ``species``, ``chains``, ``innate_like``, ``epitope``, and `airrvec.core.schema.RECEPTOR_FIELDS` with
        genes in place of alleles.
    n_cells : int
        Abundance of all of them.
    count_unit : str
        What is counted, of `airrvec.core.schema.COUNT_UNITS`.
    """

    sample_id: str
    clones: duckdb.DuckDBPyRelation
    n_cells: int
    count_unit: str

    def counts(self) -> dict[tuple[str, str], np.ndarray]:
        """Return the cells of each clone, largest first, by species and class of chains."""
        sizes = self.clones.aggregate("species, chains, n, count(*) AS clones").order("n DESC").df()
        sizes_of_class = {
            key: np.repeat(group["n"].to_numpy(), group["clones"].to_numpy())
            for key, group in sizes.groupby(["species", "chains"], sort=False)
        }
        order = [(species, chains) for species in schema.SPECIES for chains in CHAIN_CLASSES]
        return {key: sizes_of_class[key] for key in order if key in sizes_of_class}


def read_samples(connection: duckdb.DuckDBPyConnection, folder: Path) -> list[Sample]:
    """
    Return the samples of a run, with their clones, by their names.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Receives the table ``carried``.
    folder : Path
        Written by ``count_clones.py``.
    """
    for name in ("clones", "counts"):
        check_pages(folder / f"{name}.parquet")
    # Without alleles, all receptors of a clonotype are equal.
    fields = [
        f"split_part({name}, '*', 1) AS {name}" if name.endswith("_call") else name
        for name in schema.RECEPTOR_FIELDS
    ]
    columns = ", ".join(["clone_id", "clonotype_id", "species", "chains", *fields, "innate_like", "epitope"])
    connection.execute(
        f"CREATE TABLE carried AS SELECT sample_id, counts.n_cells AS n, {columns}"
        " FROM read_parquet($counts) AS counts JOIN read_parquet($clones) AS clones USING (clone_id)",
        {name: str(folder / f"{name}.parquet") for name in ("counts", "clones")},
    )
    samples = tables.read(folder / "samples.parquet", ["sample_id", "count_unit"])
    carried = connection.table("carried")
    totals = dict(carried.aggregate("sample_id, sum(n)::BIGINT").fetchall())
    return [
        Sample(name, carried.filter(_is_sample(name)), totals.get(name, 0), unit)
        for name, unit in zip(*(column.to_pylist() for column in samples.columns), strict=True)
    ]


def _is_sample(name: str) -> duckdb.Expression:
    return duckdb.ColumnExpression("sample_id") == duckdb.ConstantExpression(name)


def read_labels(paths: list[Path]) -> dict[str, str]:
    """Return the epitopes with which tables of cells label each clonotype, sorted and joined by ``; ``."""
    labels: dict[str, set[str]] = {}
    for path in paths:
        rows = tables.read_filtered(path, pc.field("epitope").is_valid(), ["clonotype_id", "epitope"])
        for clonotype, epitope in zip(*(column.to_pylist() for column in rows.columns), strict=True):
            labels.setdefault(clonotype, set()).add(epitope)
    return {clonotype: "; ".join(sorted(epitopes)) for clonotype, epitopes in labels.items()}


def read_condition(samples: Path, column: str) -> dict[str, str]:
    """
    Return the value of a metadata column for each sample that has one.

    Parameters
    ----------
    samples : Path
        ``samples.parquet`` of ``count_clones.py``.

    Raises
    ------
    InputError
        If the samplesheet has no such column.
    """
    table = tables.read(samples)
    if column not in table.column_names:
        raise InputError(f"there is no metadata column '{column}'", file=samples)
    values = zip(table["sample_id"].to_pylist(), table[column].to_pylist(), strict=True)
    return {name: value for name, value in values if value is not None}


def clone_sizes(shares: np.ndarray) -> np.ndarray:
    """
    Return the class of each clone by its share of the sample's cells, ndarray of str, shape (n,).

    The limits, `CLONE_SIZES_LIMITS`, are those of scRepertoire (Borcherding, Bormann and Kraus 2020,
    F1000Research 9, 47; ``clonalHomeostasis``); a share on a limit belongs to the lower class.

    Examples
    --------
    >>> clone_sizes(np.array([0.5, 0.02, 0.0001])).tolist()
    ['Hyperexpanded', 'Large', 'Rare']
    """
    limits = np.array([*CLONE_SIZES_LIMITS.values()])
    return np.array([*CLONE_SIZES_LIMITS])[np.searchsorted(limits, shares)]


def largest_clones_table(sample: Sample) -> pa.Table:
    """Return `airrvec.core.schema.LARGEST_CLONES`: the `N_CLONES` largest clones of a sample."""
    top = sample.clones.order("n DESC, clone_id").limit(N_CLONES).df()
    shares = top["n"].to_numpy() / max(sample.n_cells, 1)
    frame = top.rename(columns={"n": "n_cells"}).assign(
        sample_id=sample.sample_id,
        count_unit=sample.count_unit,
        rank=np.arange(1, len(top) + 1),
        share=shares,
        clone_size=clone_sizes(shares),
    )
    return _table(frame, schema.LARGEST_CLONES)


def clone_sizes_table(sample: Sample) -> pa.Table:
    """Return `airrvec.core.schema.CLONE_SIZES`: one row per class, also of the classes without a clone."""
    sizes = sample.clones.aggregate("n, count(*) AS clones").df()
    n, clones = sizes["n"].to_numpy(), sizes["clones"].to_numpy()
    total = max(sample.n_cells, 1)
    classes = clone_sizes(n / total)
    rows, above = [], 0.0
    for name, limit in CLONE_SIZES_LIMITS.items():
        here = classes == name
        n_cells = int((n * clones)[here].sum())
        rows.append(
            {
                "sample_id": sample.sample_id,
                "clone_size": name,
                "count_unit": sample.count_unit,
                "above": above,
                "up_to": limit,
                "n_clones": int(clones[here].sum()),
                "n_singletons": int(clones[here & (n == 1)].sum()),
                "n_cells": n_cells,
                "share": n_cells / total,
            }
        )
        above = limit
    return _table(pd.DataFrame(rows), schema.CLONE_SIZES)


def gene_usage_table(sample: Sample) -> pa.Table:
    """Return `airrvec.core.schema.GENE_USAGE`: V and J genes of both chains."""
    parts = [
        _shares(sample, {"gene": schema.field(locus, call)}, schema.GENE_USAGE, locus=locus, segment=segment)
        for locus in schema.LOCI
        for segment, call in SEGMENTS.items()
    ]
    return pa.concat_tables(parts)


def vj_pairing_table(sample: Sample) -> pa.Table:
    """Return `airrvec.core.schema.VJ_PAIRING`: pairs of V and J gene of the same chain."""
    genes = ("v_gene", "v_call"), ("j_gene", "j_call")
    parts = [
        _shares(
            sample, {name: schema.field(locus, call) for name, call in genes}, schema.VJ_PAIRING, locus=locus
        )
        for locus in schema.LOCI
    ]
    return pa.concat_tables(parts)


def cdr3_lengths_table(sample: Sample) -> pa.Table:
    """Return `airrvec.core.schema.CDR3_LENGTHS`: residues without the junction's conserved C and F or W."""
    junctions = {locus: schema.field(locus, "junction_aa") for locus in schema.LOCI}
    parts = [
        _shares(sample, {"length": f"length({junction}) - {CONSERVED}"}, schema.CDR3_LENGTHS, locus=locus)
        for locus, junction in junctions.items()
    ]
    return pa.concat_tables(parts)


def _shares(sample: Sample, columns: dict[str, str], table_schema: pa.Schema, **constants: str) -> pa.Table:
    """Return cells and clones of each known value of some columns, name → SQL, and their shares."""
    selected = ["species", "n", *(f"{sql} AS {name}" for name, sql in columns.items())]
    known = sample.clones.project(", ".join(selected))
    known = known.filter(" AND ".join(f"{name} IS NOT NULL" for name in columns))
    keys = ", ".join(["species", *columns])
    groups = known.aggregate(f"{keys}, sum(n)::BIGINT AS n_cells, count(*) AS n_clones")
    total = "sum({0}) OVER (PARTITION BY species)"
    shares = [f"n_{unit}s / {total.format(f'n_{unit}s')} AS {unit}_share" for unit in ("cell", "clone")]
    result = groups.project(", ".join(["*", *shares])).order(keys).to_arrow_table()
    for name, value in {"sample_id": sample.sample_id, "count_unit": sample.count_unit, **constants}.items():
        result = result.append_column(name, pa.repeat(value, len(result)))
    return result.select(table_schema.names).cast(table_schema)


def _table(frame: pd.DataFrame, columns: pa.Schema) -> pa.Table:
    return pa.Table.from_pandas(frame[columns.names], columns, preserve_index=False)
