#!/usr/bin/env python3
"""Write the page that shows the receptors of a run on a plane."""

import json
from pathlib import Path

from airrvec.core import runtime, script, tables
from airrvec.core.identity import cluster_numbers
from airrvec.core.missing import optional_part
from airrvec.core.vectors import check_same_model, read_model

PLACE = ["map_1", "map_2"]
PACKAGES = ("numba", "numpy", "pandas", "pyarrow", "safetensors", "scipy", "tidytcells")


def parse_args(argv=None):
    parser = script.parser(__doc__)
    parser.add_argument("--cells", type=Path, nargs="+", required=True, help="cells of each sample")
    parser.add_argument("--receptors", type=Path, required=True, help="receptors of the run, file or folder")
    parser.add_argument(
        "--embeddings", type=Path, required=True, help="vectors of the receptors, file or folder"
    )
    parser.add_argument("--places", type=Path, required=True, help="table written by place_receptors.py")
    parser.add_argument("--annotation", type=Path, nargs="*", default=[], help="annotation of each sample")
    parser.add_argument("--members", type=Path, help="members of clusters")
    parser.add_argument("--clusters", type=Path, help="clusters, whose QC lies beside them")
    parser.add_argument("--model", help="published variant or model folder that made the vectors")
    parser.add_argument("--page", type=Path, required=True, help="folder of map.html, its style and code")
    parser.add_argument("--clones", type=Path, help="folder written by count_clones.py")
    script.add_options(parser, "threads", "outdir", "missing")
    return parser.parse_args(argv)


@optional_part("map")
def main(argv=None):
    args = parse_args(argv)
    runtime.limit_threads(args.threads)
    from airrvec.figures import map_page
    from airrvec.repertoire import layout

    _, n_without = layout.count_vectors(args.embeddings)
    n, points = layout.read_points(args.places)
    ids, method = points["receptor_id"].tolist(), tables.metadata(args.places)["method"]
    receptors = layout.read_receptors(args.receptors, ids)
    data = map_page.content(
        points,
        receptors,
        layout.read_cells(args.cells, receptors["clonotype_id"].unique().tolist()),
        layout.abundances(args.cells, args.clones, ids),
        clusters=_clusters(args, ids),
        calls=layout.read_calls(args.annotation, map_page.CALL_COLUMNS),
        n=n,
        density=_density(args, points) if len(points) < n else None,
        method=method,
        model=read_model(args.embeddings).name,
    )
    model = args.model and map_page.embedder(
        _model(args),
        receptors,
        args.clusters and json.loads(args.clusters.with_name("clusters.qc.json").read_text("utf-8")),
    )
    tables.write_text(map_page.page(data, args.page, model), args.outdir / "map.html")
    qc = {
        "receptors": n,
        "without_vector": n_without,
        "shown": len(ids),
        "method": method,
        "colours": [column["title"] for column in data["colours"]],
    }
    tables.write_json(qc, args.outdir / "map.qc.json")
    script.write_versions(args, *PACKAGES)


def _density(args, points):
    """Return the density of all receptors, in the scale of those that are points."""
    from airrvec.figures import map_page

    density = map_page.Density(map_page.Scale(points[PLACE].to_numpy()))
    for part in tables.read_batches(args.places, tables.BATCH):
        density.add(part.select(PLACE).to_pandas().to_numpy())
    return density


def _clusters(args, ids: list[str]):
    """Return the number that the report gives the cluster of each receptor, by its id; None without any."""
    from airrvec.repertoire import layout

    if not args.clusters:
        return None
    numbers = cluster_numbers(tables.read(args.clusters, ["cluster_id", "n_receptors"]).to_pandas())
    members = layout.read_receptors(args.members, ids).set_index("receptor_id")
    return members["cluster_id"].map(numbers)


def _model(args):
    """Return the model; raise `InputError` if it is not the one that made the vectors."""
    from airrvec.model import weights

    model = weights.load(args.model)
    check_same_model(
        "its vectors",
        read_model(args.embeddings),
        "those of pasted receptors",
        model.vector_model,
        file=args.embeddings,
        fix="Give the model of the vectors with --model",
    )
    return model


if __name__ == "__main__":
    main()
