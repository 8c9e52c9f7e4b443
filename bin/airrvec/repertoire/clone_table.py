"""The table of clones that users get: call and cluster of each, and its cells in each sample."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from airrvec.core import schema, tables
from airrvec.core.schema.clones import CALL_OF_CLONE

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

PART = 2**18  # clones that are described at once
_CALL_FIELDS = ("epitope", "antigen_species", "probability", "fdr")
_CLONE = (
    "(SELECT clone_id, receptor_id, file_row_number AS row FROM"
    " read_parquet($clones, file_row_number = true))"
)


def described(
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    annotation: Sequence[Path] = (),
    members: Path | None = None,
) -> Iterator[pa.Table]:
    """
    Yield `airrvec.core.schema.CLONES` in parts of up to `PART` rows; their evidence is null.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Without tables.
    folder : Path
        Written by ``count_clones.py``.
    annotation : sequence of Path
        Calls of each annotated sample, ``<sample>.parquet``.
    members : Path, optional
        Receptors of the run with their clusters.
    """
    told = {}  # table → its columns
    if annotation:
        call_clones(connection, folder, annotation)
        told["called"] = [column.name for column in CALL_OF_CLONE]
    if members is not None:
        _find_clusters(connection, folder, members)
        told["clustered"] = ["cluster_id"]
    untold = [column for column in schema.CLONES if column.name not in schema.COUNTED_CLONES.names]
    first = 0
    for clones in tables.read_batches(folder / "clones.parquet", PART):
        columns = {column.name: pa.nulls(len(clones), column.type) for column in untold}
        columns |= dict(zip(clones.column_names, clones.columns, strict=True))
        for table, names in told.items():
            columns |= _told(connection, table, names, first, len(clones))
        yield pa.table({name: columns[name] for name in schema.CLONES.names}).cast(schema.CLONES)
        first += len(clones)


def counted_clones(
    connection: duckdb.DuckDBPyConnection, counts: Path, table: Path, *, with_calls: bool = True
) -> duckdb.DuckDBPyRelation:
    """
    Return clones with known chains in each sample, joined once: ``n`` cells, chains, call, cluster.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        It gets the table ``counted_clones``.
    counts, table : Path
        `airrvec.core.schema.CLONE_COUNTS` and `CLONES`.
    with_calls : bool
        Whether the clones have calls; null without them, as those of γδ cells.
    """
    source = "" if with_calls else "NULL::VARCHAR AS "
    connection.execute(
        f"CREATE TABLE counted_clones AS SELECT sample_id, clone_id, species, chains, {source}call,"
        f" {source}call_antigen_species, cluster_id, counts.count_unit, counts.n_cells AS n"
        " FROM read_parquet($counts) AS counts JOIN read_parquet($table) AS clones USING (clone_id)"
        " WHERE chains IS NOT NULL",
        {"counts": str(counts), "table": str(table)},
    )
    return connection.table("counted_clones")


def call_clones(connection: duckdb.DuckDBPyConnection, folder: Path, annotation: Sequence[Path]) -> None:
    """Make the table ``called``: `CALL_OF_CLONE` in the sample in which the receptor has the lowest FDR."""
    masked = ", ".join(
        f"if(call = '{schema.HAS_CALL}', {name}, NULL) AS call_{name}" for name in _CALL_FIELDS
    )
    connection.execute(
        f"""
        CREATE TABLE called AS
        WITH answer AS (
            SELECT DISTINCT sample_id, receptor_id, call, {masked}, exact_epitope
            FROM read_parquet($annotation)
        ), counted AS MATERIALIZED ( -- else answers and counts may be joined by sample alone, all with all
            SELECT row, clone_id, receptor_id, sample_id
            FROM {_CLONE} JOIN read_parquet($counts) AS counts USING (clone_id)
        )
        SELECT answer.*, row FROM counted JOIN answer USING (sample_id, receptor_id)
        QUALIFY row_number() OVER (PARTITION BY clone_id ORDER BY call_fdr, sample_id) = 1 ORDER BY row
        """,
        {
            "annotation": [str(path) for path in annotation],
            "clones": str(folder / "clones.parquet"),
            "counts": str(folder / "counts.parquet"),
        },
    )


def _find_clusters(connection: duckdb.DuckDBPyConnection, folder: Path, members: Path) -> None:
    """Make the table ``clustered``: the cluster of the receptor of each clone that has one."""
    connection.execute(
        f"CREATE TABLE clustered AS SELECT row, cluster_id FROM {_CLONE}"
        " JOIN read_parquet($members) AS members USING (receptor_id) WHERE cluster_id IS NOT NULL"
        " ORDER BY row",
        {"members": str(members), "clones": str(folder / "clones.parquet")},
    )


def _told(
    connection: duckdb.DuckDBPyConnection, table: str, names: list[str], first: int, n: int
) -> dict[str, pa.ChunkedArray]:
    """Return columns of ``n`` clones from a table by ``row``; null where it has none."""
    rows = connection.sql(
        f"SELECT row - $first AS place, {', '.join(names)} FROM {table} WHERE row >= $first AND row < $last",
        params={"first": first, "last": first + n},
    ).to_arrow_table()
    places = pc.index_in(pa.array(np.arange(n)), rows["place"].combine_chunks())
    return {name: rows[name].take(places) for name in names}


def members_of(folder: Path, sample: str) -> pa.Table:
    """Return the `airrvec.core.schema.CLONE_MEMBERS` of a sample; none of a table that is no sample."""
    return tables.read_filtered(folder / "members.parquet", pc.field("sample_id") == sample)


def counted_receptors(members: pa.Table, receptor_ids: pa.ChunkedArray) -> pa.ChunkedArray:
    """
    Return the receptor with which each cell of a sample counts.

    That of a cell that joined a clone is the receptor of most complete cells of the clone in the sample; its
    own if the sample has none. All others count with their own.

    Parameters
    ----------
    members : pyarrow.Table
        From `members_of`.
    receptor_ids : pyarrow.ChunkedArray
        Receptor of each cell, in the order of the cells, length n.
    """
    joined = members.filter(members["joined"])
    if not len(joined):
        return receptor_ids
    complete = members.filter(pc.invert(members["joined"])).group_by(["clone_id", "receptor_id"])
    shown = complete.aggregate([("cell_row", "count")]).sort_by(
        [("cell_row_count", "descending"), ("receptor_id", "ascending")]
    )
    place = pc.index_in(joined["clone_id"], shown["clone_id"].combine_chunks())  # the first, of most cells
    ids = pc.coalesce(shown["receptor_id"].combine_chunks().take(place), joined["receptor_id"])
    rows = pc.subtract(joined["cell_row"], 1).to_numpy()
    changed = receptor_ids.to_numpy(zero_copy_only=False).astype(object)
    changed[rows] = ids.to_numpy(zero_copy_only=False)
    return pa.chunked_array([pa.array(changed, pa.string())])


def receptors_counted(folder: Path, sample: str, receptor_ids: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return `counted_receptors` of a sample's cells, by the clones that ``count_clones.py`` has written."""
    return counted_receptors(members_of(folder, sample), receptor_ids)


def counts_by_sample(clones: pa.Table, counts: pa.Table) -> pa.Table:
    """
    Return the clones with a column of cells for each sample, zero where it has none, for a spreadsheet.

    Parameters
    ----------
    clones, counts : pyarrow.Table
        `airrvec.core.schema.COUNTED_CLONES` and `CLONE_COUNTS`.
    """
    rows = pc.index_in(counts["clone_id"], clones["clone_id"].combine_chunks()).to_numpy()
    sample_ids = counts["sample_id"].to_numpy()
    n_cells = counts["n_cells"].to_numpy()
    for sample in sorted(set(sample_ids)):
        column = np.zeros(len(clones), np.int64)
        here = sample_ids == sample
        column[rows[here]] = n_cells[here]
        clones = clones.append_column(f"n_cells {sample}", pa.array(column))
    return clones
