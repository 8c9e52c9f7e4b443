"""Shared functions of the readers: columns of text to chain records."""

from collections.abc import Callable, Iterable, Mapping
from functools import reduce

from airrvec.core import schema
from airrvec.input.role_names import COPIES, READS, UMIS, spelled, with_prefix
from airrvec.input.roles import Roles
from airrvec.input.values import counts, trimmed

import pyarrow as pa
import pyarrow.compute as pc


def entries(table: pa.Table, name: str) -> pa.ListArray:
    """Return the entries of each cell of a column."""
    return pc.split_pattern(pc.fill_null(column(table, name), ""), ";").combine_chunks()


def aligned(table: pa.Table, name: str, n_chains: pa.Array) -> pa.ChunkedArray:
    """Return the entries of a column, one per chain; null if their number differs from that of the chains."""
    lists = entries(table, name)
    fits = pc.equal(pc.list_value_length(lists), n_chains)
    if pc.all(fits).as_py() is not False:
        return flat(pc.list_flatten(lists))
    rows = zip(lists.to_pylist(), n_chains.to_pylist(), fits.to_pylist(), strict=True)
    return flat(
        pa.array([value for row, n, fit in rows for value in (row if fit else [None] * n)], pa.string())
    )


def flat(values: pa.Array) -> pa.ChunkedArray:
    """Return values with blanks trimmed; missing values become null."""
    return trimmed(pa.chunked_array([values]))


def taken(values: pa.ChunkedArray, at: pa.Array) -> pa.ChunkedArray:
    """Return the values of the rows at ``at``."""
    return pa.chunked_array([values.combine_chunks().take(at)])


# --- Shared functions of the readers: columns of text to chain records


def column(table: pa.Table, name: str | None) -> pa.ChunkedArray:
    """Return a column with blanks trimmed, or nulls if the table lacks it."""
    if name is None or name not in table.column_names:
        return pa.chunked_array([pa.nulls(len(table), pa.string())])
    return trimmed(table[name])


def first_value(table: pa.Table, names: Iterable[str], read: Callable = column) -> pa.ChunkedArray:
    """Return, row by row, the first of the columns that has a value; ``read`` returns one, as `column`."""
    return pc.coalesce(*(read(table, name) for name in names))


# Columns of Cell Ranger's AIRR table: its counts, and `is_cell`, which AIRR does not define.
_CELL_RANGER = ("is_cell", "consensus_count", "duplicate_count")


def counts_umis_as_duplicates(names: Iterable[str]) -> bool:
    """
    Return whether ``duplicate_count`` holds UMIs and ``consensus_count`` reads, by the names of the columns.

    So it is in Cell Ranger's ``airr_rearrangement.tsv``, and in scirpy's tables of 10x and BD chains before
    version 0.16, which have its columns: `_CELL_RANGER`, and no ``umi_count``. In all other tables
    ``umi_count`` holds UMIs, and ``duplicate_count`` reads or copies.
    """
    return set(_CELL_RANGER) <= set(names) and "umi_count" not in names


def airr_counts(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the names of the counts of a table of AIRR with these columns, by their unit."""
    if counts_umis_as_duplicates(names):
        return {"UMIs": ("duplicate_count",), "reads": ("consensus_count",)}
    if not spelled(names, (*READS, *COPIES)):
        return {"UMIs": UMIS, "reads": ("consensus_count",)}
    return {"UMIs": UMIS, "reads": READS, "copies": COPIES}


def any_valid(*columns: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return True where at least one of the columns has a value."""
    return reduce(pc.or_, (pc.is_valid(values) for values in columns))


def cell_keys(table: pa.Table, cell: pa.ChunkedArray, samples: Iterable[str]) -> pa.ChunkedArray:
    """Return the key that the chains of a cell share: its name, and that of its sample in a joined table."""
    parts = [pc.fill_null(column(table, name), "") for name in samples]
    return pc.binary_join_element_wise(*parts, cell, "\0", null_handling="emit_null") if parts else cell


def junctions(table: pa.Table, junction: str, cdr3: str) -> dict[str, pa.ChunkedArray]:
    """Return the junction, else the CDR3 without its conserved ends, and whether the CDR3 is used."""
    junction_aa, cdr3_aa = column(table, junction), column(table, cdr3)
    return {
        "junction_aa": pc.coalesce(junction_aa, cdr3_aa),
        "from_cdr3": pc.and_(pc.is_null(junction_aa), pc.is_valid(cdr3_aa)),
    }


def kept_fields(
    table: pa.Table, names: dict[str, str] | None = None, read: Callable = column
) -> dict[str, pa.ChunkedArray]:
    """
    Return the fields that are kept as given, of those that the table has.

    Parameters
    ----------
    table : pyarrow.Table
        Columns of strings.
    names : dict, optional
        AIRR field → column of the table; by default, columns have the names of AIRR.
    read : callable
        Returns a column, as `column`.
    """
    names = names or {name: name for name in (*schema.KEPT_FIELDS, "consensus_count")}
    fields = {field: read(table, name) for field, name in names.items() if name in table.column_names}
    if "consensus_count" in fields:
        fields["consensus_count"] = counts(fields["consensus_count"])
    return fields


def split_cells(table: pa.Table, name: str, further: list[str]) -> tuple[pa.Array, pa.Table]:
    """Split the cells of a column at ``;``; return the parts, and the other columns once per part."""
    lists = pc.split_pattern(pc.fill_null(column(table, name), ""), ";").combine_chunks()
    return pc.list_flatten(lists), table.select(further).take(pc.list_parent_indices(lists))


def named_junctions(
    table: pa.Table, name: str, further: list[str]
) -> tuple[dict[str, pa.ChunkedArray], pa.Table]:
    """Return locus and junction of each chain in cells such as ``TRA:CAVF;TRB:CASSF``, and other columns."""
    texts, rows = split_cells(table, name, further)
    texts = pc.utf8_trim_whitespace(texts)
    is_filled = pc.not_equal(texts, "")
    # A part without a colon is all junction.
    parts = pc.extract_regex(texts.filter(is_filled), r"^(?:(?P<locus>[^:]*):)?(?P<junction>.*)$")
    fields = {
        field: _without_empty(pc.struct_field(parts, part))
        for field, part in (("locus", "locus"), ("junction_aa", "junction"))
    }
    return fields, rows.filter(is_filled)


def _without_empty(values: pa.Array) -> pa.ChunkedArray:
    """Return the values; null if empty, as in ``TRB:``."""
    empty = pc.equal(values, "")
    return pa.chunked_array([pc.if_else(empty, pa.scalar(None, pa.string()), values)])


def chain_table(**columns: pa.ChunkedArray) -> pa.Table:
    """Return chain records with the given columns; all other columns are null."""
    n_rows = len(columns["row"])
    if "cell_count" in columns and columns.keys().isdisjoint(("duplicate_count", "umi_count")):
        columns["duplicate_count"] = columns["cell_count"]  # the only count of the table
    return pa.table(
        [
            columns[field.name].cast(field.type) if field.name in columns else pa.nulls(n_rows, field.type)
            for field in schema.CHAIN_RECORDS
        ],
        schema=schema.CHAIN_RECORDS,
    )


def chains_of_pairs(
    table: pa.Table,
    chain_columns: Mapping[str, Mapping[str, str | None]],
    *,
    cell_id: str | None = None,
    species: str | None = None,
    roles: Roles | None = None,
    labels: dict[str, str] | None = None,
) -> pa.Table:
    """
    Return the chains of a table with both chains in one row.

    Parameters
    ----------
    table : pyarrow.Table
        Columns of strings, and ``row``.
    chain_columns : dict
        Locus → AIRR field → column of the table.
    cell_id, species : str, optional
        Columns of the table.
    roles : Roles, optional
        Columns of counts and flags.
    labels : dict, optional
        airrvec label → column of the table.

    Returns
    -------
    pyarrow.Table
        Chain records, without chains whose fields are all empty.
    """
    shared = {
        "row": table["row"],
        "cell_id": column(table, cell_id),
        "species": column(table, species),
        **(roles.read(table) if roles else {}),
        **{label: column(table, name) for label, name in (labels or {}).items()},
    }
    parts = []
    for locus, names in chain_columns.items():
        fields = {field: column(table, name) for field, name in names.items()}
        chains = chain_table(**shared, **fields, locus=pa.chunked_array([pa.repeat(locus, len(table))]))
        parts.append(chains.filter(any_valid(*fields.values())))
    return pa.concat_tables(parts).sort_by([("row", "ascending"), ("locus", "ascending")])


def names_with_prefixes(
    prefixes: Iterable[str], names: dict[str, tuple[str, ...]], roles: dict[str, tuple[str, ...]]
) -> list[str]:
    """Return the columns of each chain: its fields, as in `chains_by_prefix`, and its roles."""
    columns = []
    for prefix in prefixes:
        columns += [prefix + end for ends in names.values() for end in ends]
        columns += [name for some in with_prefix(roles, prefix).values() for name in some]
    return columns


def chains_by_prefix(
    table: pa.Table, roles: Roles, prefixes: dict[str, str], names: dict[str, tuple[str, ...]]
) -> pa.Table:
    """
    Return the chains of a table with a cell per row, whose columns begin with the name of a chain.

    Parameters
    ----------
    table : pyarrow.Table
        Columns of strings, and ``row``.
    roles : Roles
        Of the cell; ``parts`` are those of the chains, by prefix.
    prefixes : dict
        Beginning of the columns of a chain → its locus.
    names : dict
        AIRR field → the rest of the column's name; the first that the table has is read.

    Returns
    -------
    pyarrow.Table
        Chain records, without chains whose fields are all empty.
    """
    cell, parts = roles.cells(table), []
    for prefix, locus in prefixes.items():
        chain_columns = {
            field: next((prefix + end for end in ends if prefix + end in table.column_names), None)
            for field, ends in names.items()
        }
        fields = {field: column(table, name) for field, name in chain_columns.items()}
        part = chain_table(
            row=table["row"],
            cell_key=cell_keys(table, cell, roles.samples),
            chain_key=pa.chunked_array([pa.repeat(prefix.rstrip("._"), len(table))]),
            cell_id=cell,
            locus=pa.chunked_array([pa.repeat(locus, len(table))]),
            **fields,
            **roles.parts[prefix].read(table),
            **roles.read(table),
        )
        parts.append(part.filter(any_valid(*fields.values())))
    return pa.concat_tables(parts).sort_by([("row", "ascending")])
