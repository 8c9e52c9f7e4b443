#!/usr/bin/env python3
"""A map of the receptors of a run: their places on a plane, and a page to look at them."""

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa

from airrvec import cli, schema, tables
from airrvec.errors import exit_on_input_error


def parse_args(argv=None):
    parser = cli.parser(__doc__)
    parser.add_argument("--cells", type=Path, nargs="+", required=True, help="cells of each sample")
    parser.add_argument("--receptors", type=Path, required=True, help="of the run, file or folder")
    parser.add_argument("--embeddings", type=Path, required=True, help="their vectors, file or folder")
    parser.add_argument("--annotation", type=Path, nargs="*", default=[], help="annotation of each sample")
    parser.add_argument("--members", type=Path, help="members of clusters")
    parser.add_argument("--page", type=Path, required=True, help="folder of map.html, map.css and map.js")
    cli.add_options(parser, "seed", "cpus", "outdir")
    return parser.parse_args(argv)


@exit_on_input_error
def main(argv=None):
    args = parse_args(argv)
    cli.limit_threads(args.cpus)
    from airrvec import layout, map_page

    ids, vectors = map_page.vectors(args.embeddings)
    places, shown, method = layout.plane(vectors, seed=args.seed, threads=args.cpus)
    coordinates = pa.table([pa.array(ids, pa.string()), *places.T.astype("float32")], schema=schema.MAP)
    tables.write(coordinates, args.outdir / "map.parquet", {"method": method, "seed": str(args.seed)})
    data = map_page.content(
        coordinates.to_pandas(),
        shown,
        tables.read(args.receptors).to_pandas(),
        map_page.read_cells(args.cells),
        members=args.members and tables.read(args.members).to_pandas(),
        calls=pd.concat([tables.read(path).to_pandas() for path in args.annotation])
        if args.annotation
        else None,
        method=method,
        model=tables.metadata(args.embeddings)["model"],
    )
    tables.write_text(map_page.page(data, args.page), args.outdir / "map.html")
    qc = {
        "receptors": len(ids),
        "without_vector": sum(tables.n_rows(path) for path in tables.files(args.embeddings)) - len(ids),
        "shown": len(shown),
        "method": method,
        "colours": [column["title"] for column in data["colours"]],
    }
    tables.write_text(json.dumps(qc, indent=2) + "\n", args.outdir / "map.qc.json")
    cli.write_versions(args, "numba", "numpy", "pandas", "pyarrow", "scipy")


if __name__ == "__main__":
    main()
