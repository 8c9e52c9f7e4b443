"""The verb nearest: its work."""

from airrvec.app import verb_files
from airrvec.app.verbs.work import Work
from airrvec.core import schema, table_parts, tables

import pandas as pd
import pyarrow as pa


def nearest(work: Work) -> None:
    """Write the nearest references of each query, by the function of Python."""
    from airrvec.app import api

    options = work.options
    layout = {"species": options.species, "multichain": options.multichain}
    queries = pd.concat(
        [
            api.read(
                sample.path,
                format=sample.format,
                column_map=verb_files.columns_of(sample.column_map),
                **{**layout, "species": sample.species},
            ).assign(sample_id=sample.name)
            for sample in work.samples
        ],
        ignore_index=True,
    )
    paths = verb_files.listed_paths(options.references)
    references = pd.concat([api.read(path, **layout) for path in paths], ignore_index=True)
    model = {name: getattr(options, name) for name in ("model", "device", "precision", "threads")}
    hits = api.nearest(queries, references, options.k, **model)
    path = work.folder / "neighbours.parquet"
    tables.write(named(hits, queries, references), path)
    table_parts.move(path, work.results / options.out.name)


def named(hits: pd.DataFrame, queries: pd.DataFrame, references: pd.DataFrame) -> pa.Table:
    """Return neighbours, which are row numbers of tables, with the names that are there."""
    table = hits[["rank", "distance"]].copy()
    for role, frame, rows in (
        ("query", queries, hits["query"]),
        ("reference", references, hits["reference"]),
    ):
        for name in ("sample", "cell", "receptor"):
            table[f"{role}_{name}"] = frame[f"{name}_id"].astype(object).to_numpy()[rows]
    table["epitope"] = references["epitope"].astype(object).to_numpy()[hits["reference"]]
    return pa.Table.from_pandas(table[schema.NEIGHBOURS.names], schema.NEIGHBOURS, preserve_index=False)
