#!/usr/bin/env python3
"""Export the cells of a sample as AnnData: vectors in ``obsm["X_sceptr"]``, chains as scirpy expects them."""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from airrvec.core import database, schema, script, tables
from airrvec.core.missing import optional_part
from airrvec.input import cells

# Fields that scirpy's functions require and that are unknown here.
UNKNOWN_FIELDS = ("d_call", "c_call", "junction")


def parse_args(argv=None):
    parser = script.parser(__doc__)
    parser.add_argument("--cells", type=Path, required=True, help="cells of the sample")
    parser.add_argument("--receptors", type=Path, required=True, help="receptors of the run, file or folder")
    parser.add_argument("--embeddings", type=Path, required=True, help="vectors of the receptors")
    parser.add_argument("--out", type=Path, required=True, help="AnnData file, .h5ad")
    script.add_options(parser, "memory", "cpus", "missing")
    return parser.parse_args(argv)


def cell_names(args: argparse.Namespace) -> list[str]:
    """Return a unique name for each cell, in the order of the cells."""
    with database.connect(args.out.parent, memory=args.memory, threads=args.cpus) as connection:
        named = cells.with_unique_names(connection, args.cells).order("cell").project("name").fetchall()
    return [name for (name,) in named]


def observations(table: pa.Table, names: list[str]) -> pd.DataFrame:
    """Return ``obs`` with text as categories, which hold missing values in every version of AnnData."""
    obs = pd.DataFrame(index=pd.Index(names, dtype=object))
    taken = {"_index"}
    for name, values in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_string(values.type):
            column = pd.Categorical(values.to_pandas())
        else:  # integers stay integers if values are missing
            column = pd.array(values.to_pandas(types_mapper=pd.ArrowDtype), dtype="Int64")
            column = column if values.null_count else column.to_numpy("int64")
        # A slash opens a group in HDF5, and AnnData reserves _index.
        obs[cells.free_name(name.replace("/", "_"), taken)] = column
    return obs


def chain_lists(table: pa.Table):
    """
    Return the chains of each cell, α before β, as scirpy stores them in ``obsm["airr"]``.

    Returns
    -------
    awkward.Array, n cells × their chains
        As in the AIRR table, the first of two chains has the counts of the cell.
    """
    import awkward as ak

    known = [pc.is_valid(table[schema.field(locus, "junction_aa")]).to_numpy() for locus in schema.LOCI]
    n_chains = np.sum(known, axis=0, dtype=np.int64)  # (n cells,)
    parts = []
    for locus, has_locus in zip(schema.LOCI, known, strict=True):
        columns = {name: table[schema.field(locus, name)] for name in schema.CHAIN_FIELDS}
        carries = pa.array(has_locus if locus == schema.LOCI[0] else ~known[0])
        for name in ("duplicate_count", "umi_count"):
            columns[name] = pc.if_else(carries, table[name], pa.scalar(None, pa.int64()))
        columns["locus"] = pa.array([locus] * len(table), pa.string())
        parts.append(pa.table(columns))
    by_cell = np.arange(2 * len(table)).reshape(2, -1).T[np.stack(known, axis=1)]  # α and β of a cell in turn
    chains = pa.concat_tables(parts).take(pa.array(by_cell)).combine_chunks()
    fields = {name: ak.from_arrow(chains[name]) for name in chains.column_names}
    fields["locus"] = ak.drop_none(fields["locus"])
    fields["productive"] = ak.Array(np.ones(len(chains), bool))
    for name in UNKNOWN_FIELDS:
        fields[name] = ak.from_arrow(pa.nulls(len(chains), pa.string()))
    return ak.unflatten(ak.zip(fields, depth_limit=1), n_chains)


def vectors(embeddings: pa.Table) -> np.ndarray:
    """Return the vectors, NaN for a cell without one: float32, shape (n cells, n dimensions)."""
    columns = embeddings.drop_columns("receptor_id").columns
    matrix = np.empty((len(embeddings), len(columns)), np.float32)
    for number, values in enumerate(columns):
        matrix[:, number] = values.to_numpy()
    return matrix


@optional_part("export")
def main(argv=None):
    args = parse_args(argv)
    import anndata  # slow import, not needed for --help

    sample_cells = tables.read(args.cells)
    receptors = tables.read_receptor_rows(args.receptors, sample_cells["receptor_id"])
    embeddings = tables.read_receptor_rows(args.embeddings, sample_cells["receptor_id"])
    table = cells.join_receptors(sample_cells, receptors)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anndata.ExperimentalFeatureWarning)  # scirpy's lists of chains
        result = anndata.AnnData(
            obs=observations(table, cell_names(args)),
            obsm={"X_sceptr": vectors(embeddings), "airr": chain_lists(table)},
            uns={"airrvec": tables.metadata(args.embeddings)},
        )
        with tables.atomic_path(args.out) as temporary:
            result.write_h5ad(temporary, compression="gzip", compression_opts=1)
    script.write_versions(args, "anndata", "awkward", "duckdb", "pyarrow")


if __name__ == "__main__":
    main()
