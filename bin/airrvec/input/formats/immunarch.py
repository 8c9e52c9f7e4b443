"""immunarch tables: one clonotype per row, with one chain or several chains separated by ``;``."""

import pyarrow as pa
import pyarrow.compute as pc

from airrvec.input.formats.chains import chain_table, column, counts

NAME = "immunarch"
TITLE = "immunarch"
DELIMITER = None
# Current names, and names of its predecessor tcR: V gene, J gene, junction, count.
_TABLES = (
    ("V.name", "J.name", "CDR3.aa", "Clones"),
    ("V.gene", "J.gene", "CDR3.amino.acid.sequence", "Read.count"),
)

LAYOUTS = tuple(names[:3] for names in _TABLES)
OPTIONAL = ("chain", *(names[3] for names in _TABLES))


def chains(table: pa.Table) -> pa.Table:
    """Return all chains of a clonotype: ``CAVF;CASSF`` are two chains, with two entries per gene column."""
    v_gene, j_gene, junction, count = next(names for names in _TABLES if names[2] in table.column_names)
    junctions = _parts(table, junction)
    n_chains = pc.list_value_length(junctions)
    at = pc.list_parent_indices(junctions)
    return chain_table(
        row=_taken(table["row"], at),
        v_call=_aligned(table, v_gene, n_chains),
        j_call=_aligned(table, j_gene, n_chains),
        locus=_aligned(table, "chain", n_chains),
        junction_aa=_flat(pc.list_flatten(junctions)),
        duplicate_count=counts(_taken(column(table, count), at)),
    )


def _parts(table: pa.Table, name: str) -> pa.ListArray:
    return pc.split_pattern(pc.fill_null(column(table, name), ""), ";").combine_chunks()


def _aligned(table: pa.Table, name: str, n_chains: pa.Array) -> pa.ChunkedArray:
    """Return the parts of a column, one per chain; null if their number differs from that of the chains."""
    parts = _parts(table, name)
    fits = pc.equal(pc.list_value_length(parts), n_chains)
    if pc.all(fits).as_py() is not False:
        return _flat(pc.list_flatten(parts))
    rows = zip(parts.to_pylist(), n_chains.to_pylist(), fits.to_pylist(), strict=True)
    return _flat(
        pa.array([value for row, n, fit in rows for value in (row if fit else [None] * n)], pa.string())
    )


def _flat(values: pa.Array) -> pa.ChunkedArray:
    """Return values with blanks trimmed; missing values become null."""
    return column(pa.table({"values": values}), "values")


def _taken(values: pa.ChunkedArray, at: pa.Array) -> pa.ChunkedArray:
    return pa.chunked_array([values.combine_chunks().take(at)])
