#!/usr/bin/env python3
"""Cluster receptors that are closer than expected by chance: clusters, members and motifs."""

from pathlib import Path

from airrvec.core import runtime, schema, script, settings, table_parts, tables
from airrvec.core.missing import optional_part
from airrvec.core.progress import step
from airrvec.repertoire.options import (
    add_repertoire_options,
    background_name,
    comparison_groups,
    read_repertoires,
)

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc


def parse_args(argv=None):
    parser = script.parser(__doc__)
    add_repertoire_options(parser)
    parser.add_argument(
        "--cells", type=Path, nargs="+", required=True, help="cells of each sample, for their labels"
    )
    parser.add_argument("--labelled", type=Path, help="labelled cells, whose receptors are clustered too")
    settings.add(parser, "cluster_method")
    return parser.parse_args(argv)


@optional_part("clusters")
def main(argv=None):
    args = parse_args(argv)
    runtime.limit_threads(args.threads)
    from airrvec.figures.logos import N_LOGOS, draw_logos
    from airrvec.repertoire import cluster_tables
    from airrvec.repertoire.cluster_tables import describe_epitopes, with_antigens

    repertoires = read_repertoires(args)
    clustered, qc = _clustered(args, repertoires)
    clusters, positions = cluster_tables.clusters_table(repertoires, clustered, _labels(args, repertoires))
    labels = [*args.cells, *([args.labelled] if args.labelled else [])]
    clusters = with_antigens(clusters, describe_epitopes(labels))
    tables.write_both(clusters, args.outdir / "clusters")
    tables.write_both(positions, args.outdir / "motifs")
    with table_parts.writer_of_both(args.outdir / "members", schema.CLUSTER_MEMBERS) as append:
        for part in cluster_tables.member_parts(repertoires, clustered, clusters["cluster_id"]):
            append(part)
    if len(clusters):
        draw_logos(clusters, positions, N_LOGOS, args.outdir / "logos")
    tables.write_json(qc, args.outdir / "clusters.qc.json")
    script.write_versions(args, "igraph", "numba", "numpy", "olga", "pyarrow", "scipy")


def _clustered(args, repertoires) -> tuple[list, dict]:
    """Return the clusters of each species and class of chains, and their QC."""
    from airrvec.repertoire import clustering
    from airrvec.repertoire.cluster_tables import Clustered

    qc = {
        "method": args.cluster_method,
        "chance": args.cluster_chance,
        "background": background_name(args),
        "groups": [],
        "without_background": {},
    }
    clustered = []
    for group in comparison_groups(args, repertoires, qc["without_background"]):
        neighbourhood = group.neighbourhood
        label = clustering.assign_clusters(neighbourhood.graph, args.cluster_method, seed=args.seed)
        centres = _centres(repertoires, group.rows, clustering.members(label))
        clustered.append(Clustered(group.species, group.chains, group.rows, label, neighbourhood, centres))
        counts = {
            "species": group.species,
            "chains": group.chains,
            "receptors": len(label),
            "background": group.n_background,
            "radius": neighbourhood.radius,
            "neighbours": float(neighbourhood.degrees.mean()),
            "clustered": int((label >= 0).sum()),
            "clusters": int(label.max() + 1),
        }
        qc["groups"].append(counts)
    qc["not_compared"] = len(repertoires.receptors) - sum(len(part.rows) for part in clustered)
    return clustered, qc


@step("centres of clusters")
def _centres(repertoires, rows: np.ndarray, members: list[np.ndarray]) -> list[int]:
    """Return the position in ``rows`` of the medoid of each cluster; other vectors are not kept."""
    from airrvec.repertoire import clustering

    if not members:
        return []
    vectors = repertoires.vectors(rows[np.concatenate(members)])
    parts = np.split(vectors, np.cumsum([len(places) for places in members])[:-1])
    return [int(places[clustering.medoid(part)]) for places, part in zip(members, parts, strict=True)]


def _labels(args, repertoires) -> pd.DataFrame:
    """Return the row numbers of clonotypes and their epitopes, each pair once."""
    labelled = pa.concat_tables(
        tables.read_filtered(path, pc.is_valid(pc.field("epitope")), ["clonotype_id", "epitope"])
        for path in [*args.cells, *([args.labelled] if args.labelled else [])]
    )
    ids = repertoires.receptors["clonotype_id"].combine_chunks()
    receptor = pc.index_in(labelled["clonotype_id"], ids)
    frame = pa.table({"receptor": receptor, "epitope": labelled["epitope"]}).to_pandas()
    return frame.dropna().drop_duplicates()


if __name__ == "__main__":
    main()
