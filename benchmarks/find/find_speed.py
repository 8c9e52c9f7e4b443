#!/usr/bin/env python3
"""
`airrvec index` and `airrvec find` at size: time, processor time, memory, disk, recall.

Results of a run are made with β chains of OLGA, embedded by SCEPTR; a folder that has them is used again.
Queries are other chains of OLGA, and of a labelled table if one is given. The recall is measured on a part of
the queries, against `find --exact`.
"""

import hashlib
import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

from airrvec.core import runtime

runtime.limit_threads(2)
from airrvec.app.manifest import CHECKSUM, COLUMNS, MANIFEST
from airrvec.core import chains, identity, schema, tables
from airrvec.core.records import measure
from airrvec.encoders.sceptr import Sceptr
from airrvec.synthetic.synthesis import synthesise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.common import results, timing
from benchmarks.common.material import cells_table

PART = 1_000_000  # receptors made at once, a sample each
SEED, SEED_OF_QUERIES = 77, 78
N_MEASURED = 1000  # queries that are searched exactly too
MODEL = {"model": "sceptr", "airrvec_version": "0.1.0", "device": "cpu", "precision": "fp32"}


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("--receptors", type=int, default=10_000_000)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument(
        "--labelled", type=Path, help="table of real receptors, whose β chains are queries too"
    )
    parser.add_argument("--folder", type=Path, required=True, help="what is made; used again if it is there")
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--background", type=int, help="background receptors of a new index")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--parts", type=int, help="write so many parts of the results, and stop")
    return parser.parse_args(argv)


def beta_receptors(n: int, seed: int, first: int = 0) -> pa.Table:
    """Return β chains of OLGA as receptors, distinct."""
    fields = chains.on_chains(synthesise(n, seed=seed, first=first), "beta")
    receptors = identity.receptors_table(fields, pa.repeat(schema.ORPHAN_VDJ, n))
    return tables.distinct_receptors(receptors)


def make_part(folder: Path, number: int, n: int) -> None:
    """Write receptors and vectors, unless they are there."""
    if not (folder / f"part_{number:02d}.npy").exists():
        receptors = beta_receptors(n, SEED, number * PART)
        vectors = Sceptr("sceptr", threads=2).embed(receptors)
        tables.write(receptors, folder / f"part_{number:02d}.parquet")
        np.save(folder / f"part_{number:02d}.npy", vectors)
        print(f"{folder}: part {number}", file=sys.stderr, flush=True)


def write_results(folder: Path, run: Path, n: int, n_parts: int) -> None:
    """Write the results of a run with a partition and a sample for each part; receptors occur once."""
    seen = np.empty(0, np.uint64)
    metadata = {**MODEL, "weights_sha256": Sceptr("sceptr").loaded.checksum}
    for number in range(n_parts):
        make_part(folder, number, min(PART, n - number * PART))
        receptors = tables.read(folder / f"part_{number:02d}.parquet", schema.RECEPTORS.names)
        ids = identity.id_prefixes(receptors["receptor_id"].combine_chunks())
        new = np.isin(ids, seen, invert=True)
        seen = np.concatenate([seen, ids[new]])
        if not (run / f"cells/sample_{number}.parquet").exists():
            vectors = np.load(folder / f"part_{number:02d}.npy")[new]
            write_part(run, number, receptors.filter(pa.array(new)), vectors, metadata)


def write_part(run: Path, number: int, kept: pa.Table, vectors: np.ndarray, metadata: dict) -> None:
    """Write a partition, and its receptors as the cells of a sample."""
    tables.write(kept, run / f"receptors/receptors_{number:04d}.parquet")
    table = tables.embeddings_table(kept["receptor_id"], vectors)
    tables.write(table, run / f"embeddings/sceptr/sceptr_{number:04d}.parquet", metadata)
    cells = cells_table(kept, sample_id=pa.repeat(f"sample_{number}", len(kept)))
    cells = cells.append_column("half", pa.repeat("even" if number % 2 == 0 else "odd", len(kept)))
    tables.write(cells, run / f"cells/sample_{number}.parquet")


def write_manifest(run: Path) -> None:
    lines = ["\t".join(COLUMNS)]
    for path in sorted(run.rglob("*.parquet")):
        measured = measure(path)
        values = (
            path.relative_to(run),
            "result",
            measured.sha256,
            measured.size,
            measured.rows,
            measured.schema,
        )
        lines.append("\t".join(map(str, (*values, "MADE", "", ""))))
    content = "\n".join(lines) + "\n"
    (run / "pipeline_info").mkdir(exist_ok=True)
    (run / MANIFEST).write_text(content)
    digest = hashlib.sha256(content.encode()).hexdigest()
    (run / CHECKSUM).write_text(f"{digest}  {MANIFEST.name}\n")


def write_queries(path: Path, receptors: pa.Table) -> None:
    """Write β chains as a table in the format ``sceptr``."""
    names = {"TRBV": "trb_v_call", "CDR3B": "trb_junction_aa", "TRBJ": "trb_j_call"}
    nothing = {name: pa.nulls(len(receptors), pa.string()) for name in ("TRAV", "CDR3A", "TRAJ")}
    tables.write_tsv(pa.table({**nothing, **{name: receptors[field] for name, field in names.items()}}), path)


def labelled_queries(path: Path, n: int) -> pa.Table:
    """Return the first human receptors of a labelled table that have a β chain, in the order of their ids."""
    from airrvec.input import reading
    from airrvec.input.normalise import normalise

    receptors = normalise(reading.open_chains(path), sample_id="labelled", species="homosapiens").receptors
    human = receptors.filter(pc.equal(receptors["species"], "homosapiens"))
    return chains.with_chains(human, "beta").sort_by("receptor_id").slice(0, n)


def airrvec(*words) -> dict[str, float]:
    """Run the command; return the resources it used."""
    return timing.program(sys.executable, ROOT / "bin/airrvec", *words)


def size(folder: Path) -> float:
    """Return the size of a folder in GB."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e9


def recall(approximate_path: Path, exact: Path) -> float:
    """Return the share of true neighbours among those found, counting equally near ones."""
    column = ("query_row", "rank", "distance")
    approximate, truth = (tables.read(path, list(column)).to_pandas() for path in (approximate_path, exact))
    limit = truth.groupby("query_row")["distance"].max()
    mine = approximate[approximate["query_row"].isin(limit.index)]
    hits = mine["distance"].to_numpy() <= limit[mine["query_row"]].to_numpy() * (1 + 1e-6)
    return hits.sum() / len(truth)


def main(argv=None):
    args = parse_args(argv)
    args.folder.mkdir(parents=True, exist_ok=True)
    run, index = args.folder / f"results_{args.receptors}", args.folder / f"index_{args.receptors}"
    if not (run / MANIFEST).is_file():
        n_parts = -(-args.receptors // PART)
        write_results(args.folder, run, args.receptors, args.parts or n_parts)
        if args.parts and args.parts < n_parts:
            return
        write_manifest(run)
    queries = {"OLGA": beta_receptors(args.queries, SEED_OF_QUERIES).slice(0, args.queries)}
    if args.labelled:
        queries["labelled"] = labelled_queries(args.labelled, args.queries)
    table = results.Table(
        what="", queries=",", wall_s=".1f", processor_s=".1f", memory_MB=",.0f", recall=".4f", load=".1f"
    )

    def show(title: str, used: dict[str, float], **more) -> None:
        table.add(what=title, **used, **more, load=os.getloadavg()[0])

    common = ("--index", index, "--threads", args.threads)
    if not index.is_dir():
        background = ("--background", args.background) if args.background else ()
        show("index", airrvec("index", run, *common, *background))
        show("index again", airrvec("index", run, *common))
        show("index --check", airrvec("index", *common, "--check"))
    place_options = ("--index", index, "--threads", args.threads, "--k", args.k)
    for name, receptors in queries.items():
        n = len(receptors)
        path, part = args.folder / f"{name}.tsv", args.folder / f"{name}_part.tsv"
        hits, exact = args.folder / f"{name}.parquet", args.folder / f"{name}_exact.parquet"
        write_queries(path, receptors)
        write_queries(part, receptors.slice(0, N_MEASURED))
        used = airrvec("find", path, *place_options, "--out", hits)
        used_exact = airrvec("find", part, *place_options, "--out", exact, "--exact")
        show(f"find, {name}", used, queries=n, recall=recall(hits, exact))
        show(f"find --exact, {name}", used_exact, queries=min(n, N_MEASURED))
    show("find one", airrvec("find", "TRBV19 CASSIRSSYEQYF", *place_options), queries=1)
    figures = {"receptors": args.receptors, "k": args.k, "index_GB": size(index), "results_GB": size(run)}
    results.write(args, {**figures, "commands": table.rows})


if __name__ == "__main__":
    main()
