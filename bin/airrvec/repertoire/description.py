"""Description of each sample: its largest clones, clone sizes, genes, CDR3 lengths and V–J pairs."""

from dataclasses import dataclass
from pathlib import Path

from airrvec.core import schema, tables
from airrvec.core.errors import InputError
from airrvec.core.pages import check_pages
from airrvec.core.progress import step
from airrvec.core.schema.samples import CLONE_SIZES_LIMITS, SAMPLE_TABLES
from airrvec.repertoire import diversity

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

N_CLONES = 100  # of each sample in the table
SEGMENTS = {"V": "v_call", "J": "j_call"}
CONSERVED = 2  # residues of a junction that are not part of the CDR3


@dataclass(frozen=True)
class Carried:
    """
    Clones of the samples of a run, in a database that writes to the disk what exceeds its memory.

    Attributes
    ----------
    clones : duckdb.DuckDBPyRelation
        One row per clone and sample: ``sample_id``, ``clone_id``, ``clonotype_id``, ``n`` (cells in the
        sample, in ``count_unit``), ``species``, ``chains``, ``innate_like``, ``epitope``, and
        the fields of the receptor (`airrvec.core.schema.RECEPTOR_FIELDS`) with genes in place of alleles.
    samples : DataFrame
        Index ``sample_id``; ``count_unit``, of `airrvec.core.schema.COUNT_UNITS`, and ``n_cells``, the
        abundance of all clones.
    lineage : Lineage
        Of the clones; γδ ones have no ``innate_like``.
    """

    clones: duckdb.DuckDBPyRelation
    samples: pd.DataFrame
    lineage: schema.Lineage = schema.ALPHA_BETA

    def counts(self) -> dict[tuple[str, str], dict[str, np.ndarray]]:
        """Return the cells of each clone, largest first, by species and class of chains, and sample."""
        sizes = self.clones.aggregate("sample_id, species, chains, n, count(*) AS clones")
        frame = sizes.order("sample_id, n DESC").df()
        counts: dict[tuple[str, str], dict[str, np.ndarray]] = {
            (species, chains): {} for species in schema.SPECIES for chains in self.lineage.chains
        }
        for (sample, species, chains), rows in frame.groupby(["sample_id", "species", "chains"]):
            numbers = np.repeat(rows["n"].to_numpy(), rows["clones"].to_numpy())
            counts[species, chains][str(sample)] = numbers
        return {key: numbers for key, numbers in counts.items() if numbers}


def read_carried(
    connection: duckdb.DuckDBPyConnection, folder: Path, lineage: schema.Lineage = schema.ALPHA_BETA
) -> Carried:
    """
    Return the clones of the samples of a run.

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
        for name in lineage.receptor_fields
    ]
    kind = ["innate_like"] if lineage == schema.ALPHA_BETA else []
    columns = ", ".join(["clone_id", "clonotype_id", "species", "chains", *fields, *kind, "epitope"])
    connection.execute(
        f"CREATE TABLE carried AS SELECT sample_id, counts.n_cells AS n, {columns}"
        " FROM read_parquet($counts) AS counts JOIN read_parquet($clones) AS clones USING (clone_id)",
        {name: str(folder / f"{name}.parquet") for name in ("counts", "clones")},
    )
    carried = connection.table("carried")
    samples = tables.read(folder / "samples.parquet", ["sample_id", "count_unit"]).to_pandas()
    totals = dict(carried.aggregate("sample_id, sum(n)::BIGINT").fetchall())
    samples["n_cells"] = samples["sample_id"].map(totals).fillna(0).astype(np.int64)
    return Carried(carried, samples.set_index("sample_id"), lineage)


def described(carried: Carried) -> tuple[dict[str, pa.Table], list[dict]]:
    """
    Return the tables of `airrvec.core.schema.samples.SAMPLE_TABLES`, and the groups of the diversity.

    γδ clones have no table of the largest ones.

    Returns
    -------
    dict of str to pyarrow.Table
    list of dict
        ``species``, ``chains`` and ``clonotypes`` (their number) of each group, largest first.
    """
    made = {}
    for name, table in MADE.items():
        if name != "largest_clones" or carried.lineage == schema.ALPHA_BETA:
            with step(name.replace("_", " ")):
                made[name] = table(carried)
    units = {str(sample): unit for sample, unit in carried.samples["count_unit"].items()}
    parts = {name: [SAMPLE_TABLES[name].empty_table()] for name in ("diversity", "rarefaction")}
    groups = []
    for (species, chains), samples in carried.counts().items():
        parts["diversity"].append(diversity.diversity_table(samples, units, species, chains))
        parts["rarefaction"].append(diversity.rarefaction_table(samples, units, species, chains))
        clonotypes = sum(len(numbers) for numbers in samples.values())
        groups.append({"species": species, "chains": chains, "clonotypes": clonotypes})
    made |= {name: pa.concat_tables(tables_of_groups) for name, tables_of_groups in parts.items()}
    return made, sorted(groups, key=lambda group: -group["clonotypes"])


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


def largest_clones_table(carried: Carried) -> pa.Table:
    """Return `airrvec.core.schema.LARGEST_CLONES`: the `N_CLONES` largest clones of each sample."""
    rank = "row_number() OVER (PARTITION BY sample_id ORDER BY n DESC, clone_id) AS rank"
    top = carried.clones.project(f"*, {rank}").filter(f"rank <= {N_CLONES}").order("sample_id, rank").df()
    known = carried.samples.loc[top["sample_id"]]
    shares = top["n"].to_numpy() / known["n_cells"].to_numpy()
    frame = top.rename(columns={"n": "n_cells"}).assign(
        count_unit=known["count_unit"].to_numpy(), share=shares, clone_size=clone_sizes(shares)
    )
    return _table(frame, schema.LARGEST_CLONES)


def clone_sizes_table(carried: Carried) -> pa.Table:
    """Return `airrvec.core.schema.CLONE_SIZES`: one row per sample and class, also if it has no clone."""
    sizes = carried.clones.aggregate("sample_id, n, count(*) AS clones").df()
    totals = sizes["sample_id"].map(carried.samples["n_cells"])
    sizes["clone_size"] = clone_sizes((sizes["n"] / totals).to_numpy())
    sizes["n_cells"] = sizes["n"] * sizes["clones"]
    sizes["n_singletons"] = sizes["clones"].where(sizes["n"] == 1, 0)
    sums = sizes.groupby(["sample_id", "clone_size"])[["clones", "n_singletons", "n_cells"]].sum()
    names, limits = [*CLONE_SIZES_LIMITS], [*CLONE_SIZES_LIMITS.values()]
    every = pd.MultiIndex.from_product([carried.samples.index, names], names=sums.index.names)
    frame = sums.reindex(every, fill_value=0).reset_index().rename(columns={"clones": "n_clones"})
    known = carried.samples.loc[frame["sample_id"]]
    n_samples = len(carried.samples)
    frame = frame.assign(
        count_unit=known["count_unit"].to_numpy(),
        above=np.tile([0.0, *limits[:-1]], n_samples),
        up_to=np.tile(limits, n_samples),
        share=frame["n_cells"] / np.maximum(known["n_cells"].to_numpy(), 1),
    )
    return _table(frame, schema.CLONE_SIZES)


def gene_usage_table(carried: Carried) -> pa.Table:
    """Return `airrvec.core.schema.GENE_USAGE`: V and J genes of both chains."""
    parts = [
        _shares(carried, {"gene": schema.field(locus, call)}, schema.GENE_USAGE, locus=locus, segment=segment)
        for locus in carried.lineage.loci
        for segment, call in SEGMENTS.items()
    ]
    return _sorted(parts)


def vj_pairing_table(carried: Carried) -> pa.Table:
    """Return `airrvec.core.schema.VJ_PAIRING`: pairs of V and J gene of the same chain."""
    genes = ("v_gene", "v_call"), ("j_gene", "j_call")
    parts = [
        _shares(
            carried, {name: schema.field(locus, call) for name, call in genes}, schema.VJ_PAIRING, locus=locus
        )
        for locus in carried.lineage.loci
    ]
    return _sorted(parts)


def cdr3_lengths_table(carried: Carried) -> pa.Table:
    """Return `airrvec.core.schema.CDR3_LENGTHS`: residues without the junction's conserved C and F or W."""
    junctions = {locus: schema.field(locus, "junction_aa") for locus in carried.lineage.loci}
    parts = [
        _shares(carried, {"length": f"length({junction}) - {CONSERVED}"}, schema.CDR3_LENGTHS, locus=locus)
        for locus, junction in junctions.items()
    ]
    return _sorted(parts)


def _shares(carried: Carried, columns: dict[str, str], table_schema: pa.Schema, **constants: str) -> pa.Table:
    """Return cells and clones of each known value of some columns, name → SQL, and their shares."""
    selected = ["sample_id", "species", "n", *(f"{sql} AS {name}" for name, sql in columns.items())]
    known = carried.clones.project(", ".join(selected))
    known = known.filter(" AND ".join(f"{name} IS NOT NULL" for name in columns))
    keys = ", ".join(["sample_id", "species", *columns])
    groups = known.aggregate(f"{keys}, sum(n)::BIGINT AS n_cells, count(*) AS n_clones")
    total = "sum({0}) OVER (PARTITION BY sample_id, species)"
    shares = [f"n_{unit}s / {total.format(f'n_{unit}s')} AS {unit}_share" for unit in ("cell", "clone")]
    result = groups.project(", ".join(["*", *shares])).order(keys).to_arrow_table()
    units = carried.samples["count_unit"].loc[result["sample_id"].to_numpy()]
    result = result.append_column("count_unit", pa.array(units.to_numpy(), pa.string()))
    for name, value in constants.items():
        result = result.append_column(name, pa.repeat(value, len(result)))
    return result.select(table_schema.names).cast(table_schema)


def _sorted(parts: list[pa.Table]) -> pa.Table:
    """Return tables together, the rows of a sample in their order."""
    table = pa.concat_tables(parts).combine_chunks()
    names = table["sample_id"].to_numpy(zero_copy_only=False).astype(str)
    return table.take(pa.array(np.argsort(names, kind="stable")))


def _table(frame: pd.DataFrame, columns: pa.Schema) -> pa.Table:
    return pa.Table.from_pandas(frame[columns.names], columns, preserve_index=False)


MADE = {
    "largest_clones": largest_clones_table,
    "clone_sizes": clone_sizes_table,
    "gene_usage": gene_usage_table,
    "cdr3_lengths": cdr3_lengths_table,
    "vj_pairing": vj_pairing_table,
}
