#!/usr/bin/env python3
"""
Export the cells of samples as AnnData: vectors in ``obsm["X_sceptr"]``, chains as scirpy expects them.

``--each FILE`` writes several files: a JSON list with a list of options per file, beside those given.
"""

import argparse
import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from airrvec.core import schema, script, tables
from airrvec.core.errors import InputError
from airrvec.core.missing import optional_part, or_missing
from airrvec.core.vectors import ATTRIBUTE, read_description, read_receptor_rows, read_vectors
from airrvec.input import cells

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike

# Fields of chains: standardised, counts, and those that the input may have.
COUNTS = ("duplicate_count", "umi_count", "consensus_count")
CHAINS = ("locus", *schema.CHAIN_FIELDS, *COUNTS, *schema.KEPT_FIELDS)
# Fields that scirpy's functions require, even if no chain has them.
EXPECTED = ("d_call", "c_call", "junction")


def parse_args(argv=None):
    parser = script.parser(__doc__)
    parser.add_argument("--cells", type=Path, nargs="+", required=True, help="cells of each sample")
    parser.add_argument("--chains", type=Path, nargs="+", required=True, help="chains of each sample")
    parser.add_argument(
        "--description", type=Path, required=True, help="description of the cells, from describe_cells.py"
    )
    parser.add_argument(
        "--names", choices=("barcode", "name"), default="barcode", help="column of the description: obs_names"
    )
    parser.add_argument("--receptors", type=Path, required=True, help="receptors of the run, file or folder")
    parser.add_argument("--embeddings", type=Path, required=True, help="vectors of the receptors")
    parser.add_argument("--out", type=Path, required=True, help="AnnData file, .h5ad")
    script.add_options(parser, "missing")
    return parser.parse_args(argv)


def observations(columns: dict[str, pa.ChunkedArray]) -> Iterator[tuple[str, ArrayLike]]:
    """
    Yield name and values of the columns of ``obs``, one by one.

    Text becomes categories, which hold missing values in every version of AnnData. Columns leave the
    dictionary, so that their memory is free for the next.
    """
    taken = {"_index"}
    for name in list(columns):
        values = columns.pop(name)
        if pa.types.is_string(values.type):
            column = categories(values)
        elif pa.types.is_floating(values.type):
            column = values.to_pandas().to_numpy("float64")
        elif pa.types.is_boolean(values.type):
            column = pd.array(values.to_pandas(types_mapper=pd.ArrowDtype), dtype="boolean")
        else:  # integers stay integers if values are missing
            column = pd.array(values.to_pandas(types_mapper=pd.ArrowDtype), dtype="Int64")
            column = column if values.null_count else column.to_numpy("int64")
        del values
        pa.default_memory_pool().release_unused()
        # A slash opens a group in HDF5, and AnnData reserves _index.
        yield cells.free_name(name.replace("/", "_"), taken), column


def categories(values: pa.ChunkedArray) -> pd.Categorical:
    """Return text as sorted categories; each text is a Python object once."""
    encoded = values.combine_chunks().dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    place = np.full(len(order) + 1, -1, np.int32)
    place[order] = np.arange(len(order))
    codes = place[pc.fill_null(encoded.indices, len(order)).to_numpy()]
    return pd.Categorical.from_codes(codes, encoded.dictionary.take(pa.array(order)).to_pandas())


def read_chains(paths: list[Path], n_cells: list[int]) -> dict[str, pa.ChunkedArray]:
    """Return the `CHAINS` of several samples; ``cell_row`` counts the cells of all."""
    parts, before = [], 0
    for path, n in zip(paths, n_cells, strict=True):
        chains = tables.read(path, ["cell_row", *CHAINS])
        parts.append(chains.set_column(0, "cell_row", pc.add(chains["cell_row"], before)))
        before += n
    table = pa.concat_tables(parts)
    return dict(zip(table.column_names, table.columns, strict=True))


def chain_lists(chains: dict[str, pa.ChunkedArray], n_cells: int):
    """
    Return the chains of each cell, α before β, as scirpy stores them in ``obsm["airr"]``.

    Parameters
    ----------
    chains : dict
        Column → `CHAINS`, and ``cell_row``, counted from 1 over all cells. Columns leave it one by one.
    n_cells : int
        Number of cells.

    Returns
    -------
    awkward.Array, n cells × their chains
        Standardised fields, counts, and the fields of the input, without those that no chain has.
    """
    import awkward as ak

    rows = chains.pop("cell_row").to_numpy() - 1
    n_chains = np.bincount(rows, minlength=n_cells)
    empty = [name for name in schema.KEPT_FIELDS if chains[name].null_count == len(rows)]
    kept = [name for name in CHAINS if name in EXPECTED or name not in empty]
    fields = {name: ak.from_arrow(chains.pop(name).combine_chunks()) for name in kept}
    fields["locus"] = ak.drop_none(fields["locus"])
    fields["productive"] = ak.Array(np.ones(len(rows), bool))
    return ak.unflatten(ak.zip(fields, depth_limit=1), n_chains)


class Receptors:
    """
    Receptors of the run and their vectors, those of several files read at once.

    Each reading of vectors passes all those of the run, however few are wanted.

    Parameters
    ----------
    each : list of argparse.Namespace
        Files to write, with the same receptors and embeddings.
    """

    def __init__(self, each: list[argparse.Namespace]):
        self.paths = each[0].receptors, each[0].embeddings
        self.ids = None
        if len(each) > 1:
            with suppress(InputError):  # each file by itself will say what is wrong with it
                self._read([path for args in each for path in args.cells])

    def _read(self, cells_of_files: list[Path]) -> None:
        columns = [tables.read(path, ["receptor_id"])["receptor_id"] for path in cells_of_files]
        ids = pc.unique(pa.chunked_array([chunk for part in columns for chunk in part.chunks], pa.string()))
        wanted = pa.chunked_array([ids])
        self.rows = read_receptor_rows(self.paths[0], wanted)
        self.matrix = read_vectors(self.paths[1], wanted)
        self.ids = ids

    def read_rows(self, receptor_ids: pa.ChunkedArray) -> pa.Table:
        """Return the row of each receptor_id."""
        if self.ids is None:
            return read_receptor_rows(self.paths[0], receptor_ids)
        return self.rows.take(pc.index_in(receptor_ids, self.ids))

    def read_vectors(self, receptor_ids: pa.ChunkedArray) -> np.ndarray:
        """Return the vector of each receptor_id, ndarray of float32, shape (n, d)."""
        if self.ids is None:
            return read_vectors(self.paths[1], receptor_ids)
        return self.matrix[pc.index_in(receptor_ids, self.ids).to_numpy()]


def cells_of_samples(
    args: argparse.Namespace, known: Receptors
) -> tuple[dict[str, pa.ChunkedArray], list[str], list[int]]:
    """Return the columns of ``obs``, the name of each cell, and the number of cells of each sample."""
    samples = [tables.read(path) for path in args.cells]
    receptor_ids = pa.concat_tables([sample.select(["receptor_id"]) for sample in samples])["receptor_id"]
    description = tables.read(args.description)
    table = cells.observations(samples, known.read_rows(receptor_ids), description)
    columns = dict(zip(table.column_names, table.columns, strict=True))
    return columns, description[args.names].to_pylist(), list(map(len, samples))


@optional_part("export")
def main(argv=None):
    each = script.each(parse_args, argv)
    known = Receptors(each)
    for args in each:
        with or_missing("export", args.missing):
            write_anndata(args, known)
    script.write_versions(each[0], "anndata", "awkward", "pyarrow")


def write_anndata(args: argparse.Namespace, known: Receptors) -> None:
    """
    Write the cells of one sample or of several.

    All samples together may be large: one part after another is read and written, so that none waits for
    the others, least of all the texts of ``obs``, of which each is a Python object.
    """
    import anndata  # slow import, not needed for --help
    import h5py

    columns, names, n_cells = cells_of_samples(args, known)
    receptor_ids = columns["receptor_id"]
    obs = pd.DataFrame(index=pd.Index(names, dtype=object))
    start = anndata.AnnData(obs=obs, uns={ATTRIBUTE: read_description(args.embeddings)})
    compression = {"compression": "gzip", "compression_opts": 1}
    write = partial(anndata.io.write_elem, dataset_kwargs=compression)
    with tables.atomic_path(args.out) as temporary:
        start.write_h5ad(temporary, **compression)
        del names, obs, start
        with h5py.File(temporary, "r+") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore", anndata.ExperimentalFeatureWarning)  # scirpy's lists of chains
            written = []
            for name, column in observations(columns):
                write(file["obs"], name, column)
                written.append(name)
            file["obs"].attrs["column-order"] = np.array(written, h5py.string_dtype())
            write(file["obsm"], "X_sceptr", known.read_vectors(receptor_ids))
            pa.default_memory_pool().release_unused()
            chains = chain_lists(read_chains(args.chains, n_cells), sum(n_cells))
            write(file["obsm"], "airr", chains)


if __name__ == "__main__":
    main()
