#!/usr/bin/env python3
"""
Describe the cells of samples for other tools: unique names, clone sizes, calls and clusters.

``--each FILE`` describes several: a JSON list with a list of options per description, beside those given.
"""

import argparse
from pathlib import Path

from airrvec.core import database, schema, script, table_parts, tables
from airrvec.core.errors import InputError
from airrvec.core.missing import optional_part, or_missing
from airrvec.core.vectors import read_receptor_rows
from airrvec.input import cells

import pyarrow as pa
import pyarrow.compute as pc

# Columns of the annotation that a cell carries whether or not it is called.
ALWAYS = ("call", "exact_epitope")


def parse_args(argv=None):
    parser = script.parser(__doc__)
    parser.add_argument("cells", type=Path, nargs="+", help="<sample>.cells.parquet of each sample")
    parser.add_argument("--clones", type=Path, help="folder written by count_clones.py")
    parser.add_argument(
        "--annotation", type=Path, nargs="+", default=[], help="<sample>.parquet: calls of some samples"
    )
    parser.add_argument(
        "--annotated", action="store_true", help="the run has calls: cells without any get the columns too"
    )
    parser.add_argument("--members", type=Path, help="members of the clusters")
    parser.add_argument("--out", type=Path, required=True, help="description of the cells (Parquet)")
    parser.add_argument("--columns", type=Path, help="file for export_sce.R: cells, receptors and vectors")
    parser.add_argument("--receptors", type=Path, help="receptors of the run, with --columns")
    parser.add_argument("--embeddings", type=Path, help="vectors of the receptors, with --columns")
    script.add_options(parser, "memory", "threads", "missing")
    return parser.parse_args(argv)


@optional_part("export")
def main(argv=None):
    each = script.each(parse_args, argv)
    clusters = read_clusters(each[0].members)
    for args in each:
        with or_missing("export", args.missing):
            write_description(args, clusters)
    script.write_versions(each[0], "duckdb", "pyarrow")


def read_clusters(members: Path | None) -> pa.Table | None:
    """Return receptors in a cluster: ``receptor_id``, ``cluster_id``, its size ``n``; None without a file."""
    if members is None:
        return None
    table = tables.read_filtered(members, pc.field("cluster_id").is_valid(), ["receptor_id", "cluster_id"])
    return table.append_column("n", frequencies(table["cluster_id"])).combine_chunks()


def write_description(args: argparse.Namespace, clusters: pa.Table | None) -> None:
    """Write the description of the cells of one sample or of several."""
    from airrvec.repertoire.clone_table import counted_receptors, members_of

    with connected(args) as connection:
        names = cells.names_across_samples(connection, args.cells).to_arrow_table()["name"]
    annotation = {path.stem: path for path in args.annotation}
    samples = []
    for path in args.cells:
        table, sample = tables.read(path, ["receptor_id"]), tables.sample_name(path)
        with connected(args) as connection:
            named = cells.with_unique_names(connection, path).order("cell").project("name AS barcode")
            described = named.to_arrow_table()
        if args.clones:
            members_of_sample = members_of(args.clones, sample)
            clones = clones_of_cells(members_of_sample, args.clones, sample, len(table))
            described = with_columns(described, clones)
            # Annotation and clusters know a cell by the receptor with which it counts.
            table = pa.table({"receptor_id": counted_receptors(members_of_sample, table["receptor_id"])})
        if annotation or args.annotated:
            calls = calls_of_cells(table, annotation.get(sample))
            described = with_columns(described, calls)
        if clusters is not None:
            described = with_columns(described, clusters_of_cells(table["receptor_id"], clusters))
        samples.append(described)
    description = pa.concat_tables(samples).add_column(0, "name", names)
    if args.columns:
        write_columns(args, description)
    tables.write(description, args.out)


def write_columns(args: argparse.Namespace, description: pa.Table) -> None:
    """Write all that a SingleCellExperiment holds, for an R without arrow."""
    samples = [tables.read(path) for path in args.cells]
    receptor_ids = pa.concat_tables([sample.select(["receptor_id"]) for sample in samples])["receptor_id"]
    receptors = read_receptor_rows(args.receptors, receptor_ids)
    vectors = read_receptor_rows(args.embeddings, receptor_ids).drop_columns("receptor_id")
    metadata = tables.metadata(args.embeddings)
    table_parts.write(
        args.columns,
        cells.observations(samples, receptors, description),
        description["name"].to_pylist(),
        vectors,
        {name: metadata[name] for name in ("model", "weights_sha256", "airrvec_version")},
    )


def connected(args: argparse.Namespace):
    """Return a database without tables."""
    return database.connect(args.out.parent, memory=args.memory, threads=args.threads)


def clones_of_cells(members: pa.Table, folder: Path, sample: str, n: int) -> pa.Table:
    """
    Return the clone of each of a sample's ``n`` cells (`airrvec.core.schema.CELL_CLONES`).

    Null for a cell without a count, and for all cells of a table that is no sample.
    """
    is_sample = pc.field("sample_id") == sample
    counts = tables.read_filtered(folder / "counts.parquet", is_sample, ["clone_id", "n_cells"])
    rows = pa.array(range(1, n + 1), pa.int64())
    clone = members["clone_id"].combine_chunks().take(pc.index_in(rows, members["cell_row"].combine_chunks()))
    size = counts["n_cells"].combine_chunks().take(pc.index_in(clone, counts["clone_id"].combine_chunks()))
    return pa.table([clone, size], schema=schema.CELL_CLONES)


def frequencies(ids: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return how often each id occurs in the column."""
    counts = pc.value_counts(ids)
    place = pc.index_in(ids, counts.field("values"))
    return pa.chunked_array([counts.field("counts")]).take(place)


def calls_of_cells(cells_of_sample: pa.Table, path: Path | None) -> pa.Table:
    """
    Return the call of each cell (`airrvec.core.schema.CELL_CALLS`); null without a table of the sample.

    Epitope, probability and false discovery rate are those of a call: null for cells that are not called.

    Raises
    ------
    InputError
        If the table is of other cells.
    """
    if path is None:
        nulls = [pa.nulls(len(cells_of_sample), field.type) for field in schema.CELL_CALLS]
        return pa.table(nulls, schema=schema.CELL_CALLS)
    sources = {name: name.removeprefix("call_") for name in schema.CELL_CALLS.names}
    calls = tables.read(path, ["receptor_id", *sources.values()])
    if not calls["receptor_id"].equals(cells_of_sample["receptor_id"]):
        raise InputError("the calls are not those of the cells, row by row", file=path)
    is_called = pc.equal(calls["call"], schema.HAS_CALL)
    columns = {
        name: calls[source] if source in ALWAYS else _masked(is_called, calls[source])
        for name, source in sources.items()
    }
    return pa.table(columns, schema=schema.CELL_CALLS)


def _masked(mask: pa.ChunkedArray, values: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.if_else(mask, values, pa.scalar(None, values.type))


def clusters_of_cells(receptor_ids: pa.ChunkedArray, clusters: pa.Table) -> pa.Table:
    """Return the cluster of each cell and its number of receptors; null for a cell in no cluster."""
    place = pc.index_in(receptor_ids, clusters["receptor_id"].combine_chunks())
    columns = [clusters[name].take(place) for name in ("cluster_id", "n")]
    return pa.table(columns, schema=schema.CELL_CLUSTERS)


def with_columns(table: pa.Table, further: pa.Table) -> pa.Table:
    """Return a table with the columns of another after its own."""
    for name in further.column_names:
        table = table.append_column(name, further[name])
    return table


if __name__ == "__main__":
    main()
