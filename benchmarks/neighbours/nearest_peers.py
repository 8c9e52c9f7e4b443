#!/usr/bin/env python3
"""
k nearest neighbours among random unit vectors: this state of the code, another one, and faiss if installed.

Each state runs in a process of its own, of one thread; they alternate, and the ratios are medians over the
rounds. faiss takes all distances (`IndexFlatL2`), with the library of matrix products that it brings.

    python benchmarks/neighbours/nearest_peers.py --before OLDER
"""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

from benchmarks.common import results
from benchmarks.common.timing import ratio

OURS = "airrvec"
# What a process runs: it prints the processor seconds, and the sum of the distances, of each k.
MEASURE = """
import json, sys, time
name, *roots, n, m, d, ks = sys.argv[1:]
sys.path[:0] = roots
from airrvec.core import runtime
runtime.limit_threads(1)
from airrvec.search import neighbours
from benchmarks.common.material import unit_vectors
references, queries = unit_vectors(int(m), int(d), 1), unit_vectors(int(n), int(d), 2)
if name == "faiss":
    import faiss
    faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatL2(int(d))
    index.add(references)
    search = lambda part, k: index.search(part, k)[0] ** 0.5
else:
    search = lambda part, k: neighbours.nearest(part, references, k)[0]
figures = {}
for k in json.loads(ks):
    search(queries[:10], k)
    start = time.process_time()
    distances = search(queries, k)
    figures[k] = time.process_time() - start, float(distances.astype(float).sum())
print(json.dumps(figures))
"""


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("--queries", type=int, default=20_000)
    parser.add_argument("--references", type=int, default=50_000)
    parser.add_argument("--dimensions", type=int, default=64)
    parser.add_argument("--k", nargs="+", type=int, default=[1, 10, 100])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="another state of the code")
    return parser.parse_args(argv)


def measured(name: str, root: Path, args) -> dict[int, list[float]]:
    """Return processor seconds and the sum of distances of each k, of a new process."""
    words = [name, root / "bin", ROOT, args.queries, args.references, args.dimensions, json.dumps(args.k)]
    run = subprocess.run(
        [sys.executable, "-c", MEASURE, *map(str, words)], check=True, stdout=subprocess.PIPE, text=True
    )
    return {int(k): figures for k, figures in json.loads(run.stdout).items()}


def main(argv=None):
    args = parse_args(argv)
    states = {OURS: ROOT}
    if args.before:
        states["before"] = args.before
    if importlib.util.find_spec("faiss"):
        states["faiss"] = ROOT
    else:
        print("faiss is not installed: left out")
    rounds = [
        {name: measured(name, root, args) for name, root in states.items()} for _ in range(args.rounds + 1)
    ][1:]
    table = results.Table(program="", k="d", processor_s=".2f", ratio=".2f", distances=".1f")
    for k in args.k:
        seconds = {name: [one[name][k][0] for one in rounds] for name in states}
        for name in states:
            table.add(
                program=name,
                k=k,
                processor_s=min(seconds[name]),
                ratio=ratio(seconds, OURS, name),
                distances=rounds[0][name][k][1],
            )
    sizes = {name: getattr(args, name) for name in ("queries", "references", "dimensions", "rounds")}
    results.write(args, {**sizes, "searches": table.rows}, ["numba", "faiss-cpu"])


if __name__ == "__main__":
    main()
