"""
Clones: which cells descend from one T cell, by donor; every count of a run is made of them.

Cells of a donor are one clone if V gene and junction of both chains are equal
(``docs/explanations/clones.md``). A cell with one chain joins the only paired clone of its donor that has
this chain. Clones of one β chain whose α chains were seen together in a cell are one.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from airrvec.core import identity, schema, tables
from airrvec.core.chains import chain_class_sql
from airrvec.core.database import Query
from airrvec.core.errors import InputError
from airrvec.core.pages import check_pages
from airrvec.core.progress import counter as progress
from airrvec.core.progress import step
from airrvec.core.terminal import counted
from airrvec.core.vectors import read_receptor_rows

import duckdb
import numpy as np
import pyarrow as pa

NUCLEOTIDES, RESIDUES = "nt", "aa"
CELLS = schema.COUNT_UNITS[0]
_SIDES = ("a", "b", "2")  # α chain, β chain, second α chain
_CLONE_IDS = pa.schema([("clone", pa.int64()), ("clone_id", pa.string())])


@dataclass(frozen=True)
class Clones:
    """
    Clones of a run.

    Attributes
    ----------
    clones, counts, members : Query
        `airrvec.core.schema.COUNTED_CLONES`, `CLONE_COUNTS` and `CLONE_MEMBERS`.
    samples : pyarrow.Table
        One row per sample: ``sample_id``, ``donor``, ``count_unit``, and the other columns of the
        samplesheet.
    by : {"nt", "aa"}
        Junctions that tell clones apart.
    without_nucleotides : list of str
        Samples with a chain whose nucleotides are not known.
    n_joined : int
        Cells with one chain that joined a paired clone.
    """

    clones: Query
    counts: Query
    members: Query
    samples: pa.Table
    by: str
    without_nucleotides: list[str]
    n_joined: int


@step("clones")
def count_clones(
    connection: duckdb.DuckDBPyConnection,
    cells: list[Path],
    chains: list[Path],
    receptors: Path,
    by: str | None = None,
    labels: Mapping[str, str] | None = None,
    lineage: schema.Lineage = schema.ALPHA_BETA,
) -> Clones:
    """
    Return the clones of a run, whose tables are read or written while the connection is open.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Without tables.
    cells, chains : list of Path
        ``<sample>.cells.parquet`` and ``<sample>.chains.parquet`` of each sample, in one order.
    receptors : Path
        Receptors of the run, a file or a folder of partitions.
    by : {"nt", "aa"}, optional
        If None, nucleotides where every chain has them.
    labels : mapping of str to str, optional
        Epitope of clonotypes.
    lineage : Lineage
        Of all cells.

    Raises
    ------
    InputError
        If ``by`` is ``nt`` and a chain lacks nucleotides; if a sample without a donor has the name of the
        donor of another sample.
    """
    samples = _read_samples(connection, cells, chains, lineage)
    without = _without_nucleotides(connection)
    by = _chosen(by, without)
    _key_cells(connection, by)
    _join_cells(connection)
    _name_clones(connection)
    _join_receptors(connection, receptors, lineage)
    queries = _clones(connection, labels or {}, lineage), _counts(connection), _members(connection)
    (n_joined,) = connection.sql("SELECT count(*) FILTER (joined) FROM members").fetchall()[0]
    return Clones(*queries, samples, by, without, n_joined)


# --- Cells of all samples, with V gene and junction of their chains


def _read_samples(
    connection: duckdb.DuckDBPyConnection, cells: list[Path], chains: list[Path], lineage: schema.Lineage
) -> pa.Table:
    """Make the table ``read`` of all counted cells; return one row per sample."""
    texts = [f"{name}_{side} VARCHAR" for side in _SIDES for name in ("v", "aa", "nt")]
    connection.execute(
        "CREATE TABLE read (sample_id VARCHAR, donor VARCHAR, cell_row BIGINT, receptor_id VARCHAR,"
        f" clonotype_id VARCHAR, species VARCHAR, n BIGINT, unit VARCHAR,"
        f" umi_count BIGINT, duplicate_count BIGINT, orf BOOLEAN, {', '.join(texts)})"
    )
    rows, read = [], progress("samples read", len(cells))
    for cells_path, chains_path in zip(cells, chains, strict=True):
        rows.append(_about_sample(cells_path, lineage))
        _read_sample(connection, cells_path, chains_path, rows[-1], lineage)
        read(1)
    _check_donors(rows)
    names = dict.fromkeys(name for row in rows for name in row)
    columns = pa.schema([(name, pa.string()) for name in names])
    return pa.Table.from_pylist(rows, columns).sort_by("sample_id")


def _read_sample(
    connection: duckdb.DuckDBPyConnection,
    cells: Path,
    chains: Path,
    about: dict[str, str | None],
    lineage: schema.Lineage,
) -> None:
    """Add the counted cells of a sample to the table ``read``."""
    for path in (cells, chains):
        check_pages(path)
    chain_columns = ", ".join(
        f"max({value}) FILTER (locus = '{locus}') AS {name}_{side}"
        for side, locus in zip("ab", lineage.loci, strict=True)
        for name, value in (("v", _gene("v_call")), ("aa", "junction_aa"), ("nt", "upper(junction)"))
    )
    connection.execute(
        f"""
        INSERT INTO read
        WITH chain AS (
            SELECT cell_row, {chain_columns} FROM read_parquet($chains) WHERE junction_aa IS NOT NULL
            GROUP BY cell_row
        )
        SELECT $sample, $donor, file_row_number + 1, receptor_id, clonotype_id, species, abundance,
            count_unit, umi_count, duplicate_count, orf_calls IS NOT NULL, v_a, aa_a, nt_a, v_b, aa_b, nt_b,
            {_gene(lineage.second("v_call"))}, {lineage.second("junction_aa")},
            upper({lineage.second("junction")})
        FROM read_parquet($cells, file_row_number = true)
        LEFT JOIN chain ON chain.cell_row = file_row_number + 1
        WHERE abundance > 0
        """,
        {"cells": str(cells), "chains": str(chains), "sample": about["sample_id"], "donor": about["donor"]},
    )


def _gene(call: str) -> str:
    return f"split_part({call}, '*', 1)"


def _about_sample(cells: Path, lineage: schema.Lineage) -> dict[str, str | None]:
    """Return name, donor, unit and metadata of a sample; without a donor it is a donor of its own."""
    own = schema.CELLS if lineage == schema.ALPHA_BETA else schema.GAMMA_DELTA_CELLS
    metadata = [name for name in tables.arrow_schema(cells).names if name not in own.names]
    names = ("count_unit", *metadata)
    first = tables.read(cells, [*names]).slice(0, 1).to_pylist()
    row = first[0] if first else dict.fromkeys(names)
    sample = tables.sample_name(cells)
    donor, unit = row.pop("donor", None) or sample, row.pop("count_unit") or CELLS
    return {"sample_id": sample, "donor": donor, "count_unit": unit, **row}


def _check_donors(rows: list[dict]) -> None:
    """Raise `InputError` if a sample without a donor has the name of the donor of another one."""
    n_samples = Counter(row["donor"] for row in rows)
    for row in rows:
        if n_samples[row["sample_id"]] > (row["donor"] == row["sample_id"]):
            raise InputError(
                f"sample {row['sample_id']} has the name of the donor of another sample",
                column="donor",
                fix="Rename the sample, or the donor, in the samplesheet",
            )


def _without_nucleotides(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the samples that have a chain whose nucleotides are not known."""
    rows = connection.sql(
        "SELECT DISTINCT sample_id FROM read"
        " WHERE (aa_a IS NOT NULL AND nt_a IS NULL) OR (aa_b IS NOT NULL AND nt_b IS NULL) ORDER BY 1"
    )
    return [name for (name,) in rows.fetchall()]


def _chosen(by: str | None, without: list[str]) -> str:
    """Return the junctions by which clones are told apart; raise `InputError` if some are not known."""
    if by == NUCLEOTIDES and without:
        names = ", ".join(without[:5]) + (", …" if len(without) > 5 else "")
        raise InputError(
            f"--clone_by nt: {counted(len(without), 'sample has', 'samples have')} chains whose nucleotides"
            f" are not known: {names}",
            fix="Give --clone_by aa, or leave it out",
        )
    return by or (RESIDUES if without else NUCLEOTIDES)


# --- From cells to clones


def _key_cells(connection: duckdb.DuckDBPyConnection, by: str) -> None:
    """Make the table ``cells``: a text for each chain, V gene and junction; null without a junction."""
    keys = ", ".join(
        f"if({by}_{side} IS NULL, NULL, concat(v_{side}, '|', {by}_{side})) AS key_{side}" for side in _SIDES
    )
    connection.execute(
        "CREATE TABLE cells AS SELECT sample_id, donor, cell_row, receptor_id, clonotype_id, species, n,"
        f" unit, umi_count, duplicate_count, orf, v_a, aa_a, v_2, aa_2, {keys} FROM read"
    )
    connection.execute("DROP TABLE read")


def _join_cells(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the table ``members``: the clone of each cell, a number, and whether it joined a paired one."""
    connection.execute(
        """
        CREATE TABLE pairs AS SELECT row_number() OVER () - 1 AS clone, * FROM (
            SELECT DISTINCT donor, species, key_a, key_b FROM cells
            WHERE key_a IS NOT NULL AND key_b IS NOT NULL
        )
        """
    )
    (n_pairs,) = connection.sql("SELECT count(*) FROM pairs").fetchall()[0]
    _link_pairs(connection, n_pairs)
    for side in "ab":  # chains of one paired clone of the donor alone
        connection.execute(
            f"CREATE TABLE only_{side} AS SELECT donor, species, key_{side}, min(clone) AS clone FROM pairs"
            " GROUP BY ALL HAVING count(DISTINCT clone) = 1"
        )
    # A cell without a junction is told from others by what else is known of it.
    connection.execute(
        f"""
        CREATE TABLE alone AS SELECT row_number() OVER () - 1 + {n_pairs} AS clone, * FROM (
            SELECT DISTINCT donor, species, coalesce(key_a, '') AS key_a, coalesce(key_b, '') AS key_b,
                if(key_a IS NULL AND key_b IS NULL, clonotype_id, '') AS other
            FROM cells WHERE key_a IS NULL OR key_b IS NULL
        )
        """
    )
    connection.execute(
        f"""
        CREATE TABLE members AS
        SELECT cells.*, pairs.clone IS NULL AND coalesce(only_a.clone, only_b.clone) IS NOT NULL AS joined,
            coalesce(pairs.clone, only_a.clone, only_b.clone, alone.clone) AS clone
        FROM cells
        LEFT JOIN pairs USING (donor, species, key_a, key_b)
        LEFT JOIN only_a ON unit = '{CELLS}' AND cells.key_b IS NULL AND only_a.key_a = cells.key_a
            AND only_a.donor = cells.donor AND only_a.species = cells.species
        LEFT JOIN only_b ON unit = '{CELLS}' AND cells.key_a IS NULL AND only_b.key_b = cells.key_b
            AND only_b.donor = cells.donor AND only_b.species = cells.species
        LEFT JOIN alone ON alone.donor = cells.donor AND alone.species = cells.species
            AND alone.key_a = coalesce(cells.key_a, '') AND alone.key_b = coalesce(cells.key_b, '')
            AND alone.other = if(cells.key_a IS NULL AND cells.key_b IS NULL, cells.clonotype_id, '')
        """
    )
    for name in ("cells", "pairs", "only_a", "only_b", "alone"):
        connection.execute(f"DROP TABLE {name}")


def _link_pairs(connection: duckdb.DuckDBPyConnection, n_pairs: int) -> None:
    """Give pairs of one β chain whose α chains were seen together in a cell the number of one clone."""
    links = connection.sql(
        """
        SELECT DISTINCT one.clone AS one, other.clone AS other
        FROM (SELECT * FROM cells WHERE key_2 IS NOT NULL) AS cells
        JOIN pairs AS one USING (donor, species, key_a, key_b)
        JOIN pairs AS other ON other.donor = cells.donor AND other.species = cells.species
            AND other.key_a = cells.key_2 AND other.key_b = cells.key_b
        """
    ).fetchnumpy()
    if not len(links["one"]):
        return
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    ends = (links["one"], links["other"])
    graph = coo_matrix((np.ones(len(links["one"]), np.int8), ends), (n_pairs, n_pairs))
    _, clone = connected_components(graph, directed=False)
    numbers = pa.table({"pair": np.arange(n_pairs), "clone": clone.astype(np.int64)})
    connection.register("numbers", numbers)
    connection.execute(
        "CREATE OR REPLACE TABLE pairs AS SELECT pairs.* REPLACE (numbers.clone AS clone)"
        " FROM pairs JOIN numbers ON numbers.pair = pairs.clone"
    )
    connection.unregister("numbers")


def _name_clones(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the tables ``named`` (id, and the receptor that stands for the clone) and ``counts``."""
    # The first of its chains makes the id; the receptor is that of most of its cells that did not join.
    keys = connection.sql(
        """
        SELECT clone, min(concat_ws('|', donor, species, coalesce(key_a, ''), coalesce(key_b, ''),
            if(key_a IS NULL AND key_b IS NULL, clonotype_id, ''))) AS key
        FROM members WHERE NOT joined GROUP BY clone
        """
    ).to_arrow_reader(tables.BATCH)  # keys become Python's objects: of some clones at once
    ids = pa.concat_tables(
        [_CLONE_IDS.empty_table()]
        + [pa.table([part["clone"], identity.digests(part["key"])], schema=_CLONE_IDS) for part in keys]
    )
    connection.register("ids", ids)
    connection.execute(
        """
        CREATE TABLE named AS
        SELECT ids.clone_id, shown.* FROM ids JOIN (
            SELECT clone, receptor_id, any_value(clonotype_id) AS clonotype_id, any_value(donor) AS donor,
                any_value(species) AS species, bool_or(orf) AS orf
            FROM members WHERE NOT joined GROUP BY clone, receptor_id
            QUALIFY row_number() OVER (PARTITION BY clone ORDER BY count(*) DESC, receptor_id) = 1
        ) AS shown USING (clone)
        """
    )
    connection.unregister("ids")
    connection.execute(
        """
        CREATE TABLE counts AS
        SELECT clone, sample_id, any_value(unit) AS count_unit, sum(n)::BIGINT AS n_cells,
            sum(n) / sum(sum(n)) OVER (PARTITION BY sample_id) AS share,
            coalesce(sum(n) FILTER (joined), 0)::BIGINT AS n_joined,
            sum(umi_count)::BIGINT AS umi_count, sum(duplicate_count)::BIGINT AS duplicate_count
        FROM members GROUP BY clone, sample_id
        """
    )


# --- Tables


def _join_receptors(connection: duckdb.DuckDBPyConnection, receptors: Path, lineage: schema.Lineage) -> None:
    """
    Make the view ``described``: the table ``named`` with fields of receptors and class of chains.

    It is joined when it is read: all fields of all clones would be the largest table.
    """
    files = tables.files(receptors)
    for path in files:
        check_pages(path)
    connection.read_parquet([str(path) for path in files]).create_view("receptors")
    unknown = "SELECT receptor_id FROM named ANTI JOIN receptors USING (receptor_id) LIMIT 1"
    if connection.sql(unknown).fetchall():
        ids = connection.sql("SELECT DISTINCT receptor_id FROM named").to_arrow_table()["receptor_id"]
        read_receptor_rows(receptors, ids)  # says how many there are
    kind = ["innate_like"] if "innate_like" in tables.arrow_schema(files[0]).names else []
    fields = ", ".join(f"receptors.{name}" for name in [*lineage.receptor_fields, *kind])
    connection.execute(
        f"CREATE VIEW described AS SELECT named.*, {fields}, {chain_class_sql(lineage)} AS chains"
        " FROM named JOIN receptors USING (receptor_id)"
    )


def _clones(
    connection: duckdb.DuckDBPyConnection, labels: Mapping[str, str], lineage: schema.Lineage
) -> Query:
    """Return `airrvec.core.schema.COUNTED_CLONES`, of the lineage."""
    columns = lineage.schema(schema.COUNTED_CLONES)
    junction = schema.field(lineage.loci[0], "junction_aa")
    labelled = {
        "clonotype_id": pa.array(labels, pa.string()),
        "epitope": pa.array(labels.values(), pa.string()),
    }
    connection.register("labelled", pa.table(labelled))
    relation = connection.sql(
        f"""
        WITH total AS (
            SELECT clone, count(*) AS n_samples, string_agg(sample_id, ';' ORDER BY sample_id) AS samples,
                if(count(DISTINCT count_unit) = 1, sum(n_cells)::BIGINT, NULL) AS n_cells,
                if(count(DISTINCT count_unit) = 1, any_value(count_unit), NULL) AS count_unit,
                max(share) AS largest_share, sum(n_joined)::BIGINT AS n_joined
            FROM counts GROUP BY clone
        ), made AS (
            SELECT clone, count(DISTINCT clonotype_id) AS n_clonotypes FROM members GROUP BY clone
        ), second AS (
            SELECT clone, if(aa_a = {junction}, v_2, v_a) AS {lineage.second("v_call")},
                if(aa_a = {junction}, aa_2, aa_a) AS {lineage.second("junction_aa")}
            FROM members JOIN described USING (clone) WHERE aa_2 IS NOT NULL GROUP BY 1, 2, 3
            QUALIFY row_number() OVER (PARTITION BY clone ORDER BY count(*) DESC, 2, 3) = 1
        ), carried AS (
            SELECT clonotype_id, count(DISTINCT donor) AS n_donors FROM named GROUP BY clonotype_id
        )
        SELECT {", ".join(columns.names)} FROM (
            SELECT *, if(orf, 'ORF', 'F') AS functionality FROM described JOIN total USING (clone)
            JOIN made USING (clone) JOIN carried USING (clonotype_id)
            LEFT JOIN second USING (clone) LEFT JOIN labelled USING (clonotype_id)
        ) ORDER BY largest_share DESC, clone_id
        """
    )
    return Query(relation, columns)


def _counts(connection: duckdb.DuckDBPyConnection) -> Query:
    """Return `airrvec.core.schema.CLONE_COUNTS`."""
    relation = connection.sql(
        f"SELECT {', '.join(schema.CLONE_COUNTS.names)} FROM counts JOIN (SELECT clone, clone_id FROM named)"
        " USING (clone) ORDER BY sample_id, n_cells DESC, clone_id"
    )
    return Query(relation, schema.CLONE_COUNTS)


def _members(connection: duckdb.DuckDBPyConnection) -> Query:
    """Return `airrvec.core.schema.CLONE_MEMBERS`."""
    relation = connection.sql(
        f"SELECT {', '.join(schema.CLONE_MEMBERS.names)} FROM members"
        " JOIN (SELECT clone, clone_id FROM named) USING (clone) ORDER BY sample_id, cell_row"
    )
    return Query(relation, schema.CLONE_MEMBERS)


def summary(made: Clones) -> dict[str, object]:
    """Return what the report says of the clones: what tells them apart, cells that joined one, donors."""
    return {
        "clone_by": made.by,
        "without_nucleotides": made.without_nucleotides,
        "joined": made.n_joined,
        "donors_named": not made.samples["donor"].equals(made.samples["sample_id"]),
    }
