#!/usr/bin/env python3
"""
The neighbours of n receptors: airrvec beside scirpy, tcrdist3 and pyrepseq, until each stops.

Every program finds the pairs of similar receptors among n synthetic ones, by its own way and its own
default or published cutoff, which differ: compare growth, not numbers of pairs. Each run has a process of its
own, with a limit of time, and is stopped once it holds more memory than the limit. A program that stops at
one size is not run at a larger one.

    python benchmarks/size/peers_at_size.py --sizes 10000 30000 100000 300000 1000000 --minutes 5
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

import pandas as pd

from benchmarks.common import results

GENES = ["tra_v_call", "tra_j_call", "trb_v_call", "trb_j_call"]
JUNCTIONS = ["tra_junction_aa", "trb_junction_aa"]


def airrvec_pairs(receptors: pd.DataFrame, threads: int) -> int:
    """SCEPTR's vectors, and the pairs within the radius of 0.01 neighbours by chance."""
    from airrvec.core import runtime, schema
    from airrvec.encoders.sceptr import Sceptr
    from airrvec.repertoire.clustering import neighbourhood, radius_by_chance
    from airrvec.synthetic.background import background

    import pyarrow as pa

    runtime.limit_threads(threads)
    encoder = Sceptr("sceptr", threads=threads)
    table = pa.Table.from_pandas(receptors[["species", *schema.RECEPTOR_FIELDS]], preserve_index=False)
    vectors = encoder.embed(table)
    unselected = encoder.embed(
        background(None, species="homosapiens", seed=420, leave_out=pa.chunked_array([], pa.string()))
    )
    radius = radius_by_chance(vectors, unselected, 0.01, threads=threads)
    return neighbourhood(vectors, unselected, radius, threads=threads).graph.nnz // 2


def scirpy_pairs(receptors: pd.DataFrame, threads: int, metric: str) -> int:
    """Clonotype clusters: distances of the distinct CDR3s of each chain, then the graph of all cells."""
    import anndata
    import scirpy

    cells = []
    for row in receptors.itertuples():
        cell = scirpy.io.AirrCell(str(row.Index))
        for locus in ("TRA", "TRB"):
            chain = scirpy.io.AirrCell.empty_chain_dict()
            junction = getattr(row, f"{locus.lower()}_junction_aa")
            chain.update(
                locus=locus,
                junction_aa=junction,
                junction=None,
                v_call=getattr(row, f"{locus.lower()}_v_call"),
                j_call=getattr(row, f"{locus.lower()}_j_call"),
                productive=True,
                duplicate_count=1,
            )
            cell.add_chain(chain)
        cells.append(cell)
    data: anndata.AnnData = scirpy.io.from_airr_cells(cells)
    scirpy.pp.index_chains(data)
    scirpy.tl.chain_qc(data)
    scirpy.pp.ir_dist(data, metric=metric, sequence="aa", n_jobs=threads)
    scirpy.tl.define_clonotype_clusters(data, metric=metric, sequence="aa", n_jobs=threads)
    sizes = data.obs[f"cc_aa_{metric}"].value_counts()
    return int((sizes * (sizes - 1) // 2).sum())


def tcrdist3_pairs(receptors: pd.DataFrame, threads: int) -> int:
    """Sparse distances of both chains within a radius of 50, as in the manual on many clones."""
    from tcrdist.repertoire import TCRrep

    columns = dict(
        zip(
            JUNCTIONS + GENES,
            ["cdr3_a_aa", "cdr3_b_aa", "v_a_gene", "j_a_gene", "v_b_gene", "j_b_gene"],
            strict=True,
        )
    )
    table = receptors[JUNCTIONS + GENES].rename(columns=columns).assign(count=1)
    for name in [name for name in columns.values() if name.endswith("gene")]:
        table[name] = table[name].str.replace(r"(\*.*)?$", "*01", n=1, regex=True)
    rep = TCRrep(
        cell_df=table,
        organism="human",
        chains=["alpha", "beta"],
        db_file="alphabeta_gammadelta_db.tsv",
        compute_distances=False,
        cpus=threads,
    )
    rep.compute_sparse_rect_distances(radius=50, chunk_size=100)
    return int(rep.rw_alpha.multiply(rep.rw_beta).nnz - len(rep.clone_df)) // 2


def pyrepseq_pairs(receptors: pd.DataFrame, threads: int) -> int:
    """TCRdist of pairs whose CDR3β differ by at most two edits, within 20: the function's default."""
    from pyrepseq.nn import nearest_neighbor_tcrdist

    table = receptors.rename(
        columns={
            "tra_junction_aa": "CDR3A",
            "trb_junction_aa": "CDR3B",
            "tra_v_call": "TRAV",
            "trb_v_call": "TRBV",
        }
    )
    for name in ("TRAV", "TRBV"):
        table[name] = table[name].str.replace(r"(\*.*)?$", "*01", n=1, regex=True)
    return len(nearest_neighbor_tcrdist(table, chain="beta")) // 2


METHODS = {
    "airrvec": airrvec_pairs,
    "scirpy, hamming": lambda table, threads: scirpy_pairs(table, threads, "hamming"),
    "scirpy, tcrdist": lambda table, threads: scirpy_pairs(table, threads, "tcrdist"),
    "tcrdist3, sparse": tcrdist3_pairs,
    "pyrepseq, β": pyrepseq_pairs,
}


PACKAGES = {"scirpy": "scirpy", "tcrdist3": "tcrdist", "pyrepseq": "pyrepseq"}  # package → module


def is_installed(method: str) -> bool:
    """Return whether the package of a method, the first word of its name, is installed."""
    module = PACKAGES.get(method.split(",")[0])
    return module is None or find_spec(module) is not None


def resident(group: int) -> float:
    """Gigabytes that the processes of a group hold."""
    total = 0
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            total += int(fields[21]) * os.sysconf("SC_PAGE_SIZE") if int(fields[2]) == group else 0
        except (FileNotFoundError, ProcessLookupError):
            continue
    return total / 1e9


def limited(command: list[str], minutes: float, gigabytes: float) -> dict:
    """Run a command; return the resources it used, and why it was stopped."""
    started, most, why = time.monotonic(), 0.0, ""
    before = os.times()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0
    )
    while process.poll() is None and not why:
        most = max(most, resident(process.pid))
        if most > gigabytes:
            why = f"more than {gigabytes:g} GB"
        elif time.monotonic() - started > 60 * minutes:
            why = f"more than {minutes:g} min"
        time.sleep(0.1)
    if why:
        os.killpg(process.pid, signal.SIGKILL)
    output, errors = process.communicate()
    after = os.times()
    if not why and process.returncode:
        why = errors.strip().splitlines()[-1][:120] if errors.strip() else f"status {process.returncode}"
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    return {
        "wall_s": time.monotonic() - started,
        # A killed program's processor time lacks that of its own children.
        "processor_s": None if why else processor,
        "memory_GB": most,
        "pairs": None if why else json.loads(output.splitlines()[-1]),
        "stopped": why,
    }


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 30_000, 100_000, 300_000, 1_000_000])
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--gigabytes", type=float, default=8)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--one", nargs=2, metavar=("METHOD", "TABLE"), help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def main(argv=None):
    args = parse_args(argv)
    if args.one:
        method, path = args.one
        print(METHODS[method](pd.read_parquet(path), args.threads))
        return
    from airrvec.core import schema
    from airrvec.synthetic.synthesis import synthesise

    table = results.Table(
        receptors=",", program="", wall_s=",.1f", processor_s=",.1f", memory_GB=".2f", pairs=",", stopped=""
    )
    stopped = {name for name in args.methods if not is_installed(name)}
    for name in stopped:
        print(f"{name}: not installed, left out")
    with tempfile.TemporaryDirectory() as folder:
        for n in sorted(args.sizes):
            path = Path(folder, "receptors.parquet")
            made = synthesise(n, seed=1, first=0)
            made.select(["species", *schema.RECEPTOR_FIELDS]).to_pandas().to_parquet(path)
            for method in [name for name in args.methods if name not in stopped]:
                command = [
                    sys.executable,
                    __file__,
                    "--threads",
                    str(args.threads),
                    "--one",
                    method,
                    str(path),
                ]
                used = limited(command, args.minutes, args.gigabytes)
                table.add(receptors=n, program=method, **used)
                if used["stopped"]:
                    stopped.add(method)
    results.write(args, {"runs": table.rows}, PACKAGES)


if __name__ == "__main__":
    main()
