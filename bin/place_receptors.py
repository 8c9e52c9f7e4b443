#!/usr/bin/env python3
"""Place the receptors of a run on a plane, by UMAP."""

from collections.abc import Iterator
from pathlib import Path

from airrvec.core import runtime, schema, script, tables
from airrvec.core.missing import optional_part

import numpy as np
import pyarrow as pa


def parse_args(argv=None):
    parser = script.parser(__doc__)
    parser.add_argument(
        "--embeddings", type=Path, required=True, help="vectors of the receptors, file or folder"
    )
    script.add_options(parser, "seed", "threads", "outdir", "missing")
    return parser.parse_args(argv)


@optional_part("places")
def main(argv=None):
    args = parse_args(argv)
    runtime.limit_threads(args.threads)
    from airrvec.repertoire import layout

    n, _ = layout.count_vectors(args.embeddings)
    wanted = layout.evenly_spaced(n, layout.MAX_MAPPED)
    ids, mapped = layout.read_vectors(args.embeddings, wanted)
    places, method = layout.plane(mapped, seed=args.seed, threads=args.threads)
    metadata = {"method": method, "seed": str(args.seed)}
    with tables.writer(args.outdir / "map.parquet", schema.MAP, metadata) as writer:
        if len(ids) == n:
            writer.write_table(_table(ids, places))
        else:
            for batch_ids, batch_places in _all_places(args, wanted, mapped, places):
                writer.write_table(_table(batch_ids, batch_places))
    script.write_versions(args, "numba", "numpy", "pyarrow", "scipy")


def _table(ids, places: np.ndarray) -> pa.Table:
    return pa.table([pa.array(ids, pa.string()), *places.T.astype(np.float32)], schema=schema.MAP)


def _all_places(args, wanted: np.ndarray, mapped: np.ndarray, places: np.ndarray) -> Iterator[tuple]:
    """Yield receptor_ids and coordinates of each batch; receptors used for the map keep theirs."""
    from airrvec.repertoire import layout

    first = 0
    for ids, vectors in layout.portions(args.embeddings):
        batch_places = layout.place_on_map(vectors, mapped, places, threads=args.threads)
        part = layout.part_within(wanted, first, len(ids))
        batch_places[wanted[part] - first] = places[part]
        yield ids, batch_places
        first += len(ids)


if __name__ == "__main__":
    main()
