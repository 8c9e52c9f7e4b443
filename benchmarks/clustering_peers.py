#!/usr/bin/env python3
"""
Clusters of other programs, in the halves of `clustering_constructions` and of all receptors.

clusTCR, GLIPH2 (pygliph) and metaclonotypist are installed from PyPI into environments of their own. Beside
each: what other constructions reach at its retention, from the curves of `clustering_constructions`.

    python benchmarks/clustering_peers.py cells.parquet receptors.parquet --environments peers --curves curves
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1] / "bin"))

import numpy as np
import pandas as pd

from clustering import compact, quality
from clustering_constructions import MEASURES, halves
from clustering_peer_run import METHODS
from clustering_scores import Material

RUN = Path(__file__).with_name("clustering_peer_run.py")
# immunewatch-clustcr asks for scipy 1.8, which Python 3.11 cannot have: it is installed without dependencies.
PACKAGES = {
    "clusTCR": [
        ["--no-deps", "immunewatch-clustcr==1.0.1"],
        ["numpy==1.26.4", "scipy==1.12.0", "pandas==1.5.3", "networkx==2.8.8", "scikit-learn<1.6"],
        ["markov-clustering", "faiss-cpu==1.15.1", "matplotlib", "parmap", "tqdm", "python-louvain"],
    ],
    "others": [["pygliph==0.1.0", "metaclonotypist==1.0.1", "symscan==0.8.3", "clustereval==0.2"]],
}
FIELDS = {
    "tra_junction_aa": "CDR3A",
    "tra_v_call": "TRAV",
    "trb_junction_aa": "CDR3B",
    "trb_v_call": "TRBV",
}
BESIDE = (("SCEPTR", "modularity 1"), ("SCEPTR", "Potts 0.001"), ("TCRdist", "components"))


def environment(name: str, folder: Path) -> Path:
    """Return the Python of an environment with the packages of `PACKAGES`; made unless it is there."""
    python = folder.absolute() / name / "bin" / "python"
    finished = folder / name / "finished"
    if not finished.exists():
        subprocess.run([sys.executable, "-m", "venv", folder / name], check=True)
        for packages in PACKAGES[name]:
            subprocess.run(
                [python, "-m", "pip", "install", "--quiet", *packages], check=True, stdout=sys.stderr
            )
        finished.touch()
    return python


def run(method: str, table: pd.DataFrame, folder: Path) -> np.ndarray:
    """Return what a method of `METHODS` writes for a table."""
    python = environment("clusTCR" if method.startswith("clusTCR") else "others", folder)
    with tempfile.TemporaryDirectory() as scratch:
        source, target = Path(scratch) / "source.csv", Path(scratch) / "target.csv"
        table.to_csv(source, index=False)
        command = [python, RUN, method, source, target]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{method}: {done.stderr[-2000:]}")
        return pd.read_csv(target)["cluster"].to_numpy()


def without_singles(cluster: np.ndarray) -> np.ndarray:
    """The same clusters, without those of one receptor."""
    counts = np.bincount(cluster + 1)
    return compact(np.where(counts[cluster + 1] > 1, cluster, -1))


def beside(curves: pd.DataFrame, row: dict) -> dict:
    """Purity and consistency of constructions at the retention of a peer."""
    found = {}
    for score, partition in BESIDE:
        curve = curves.query(
            "seed == @row['seed'] and half == @row['half'] and score == @score and partition == @partition"
        ).sort_values("retention")
        inside = curve["retention"].min() <= row["retention"] <= curve["retention"].max()
        for measure in MEASURES:
            value = np.interp(row["retention"], curve["retention"], curve[measure]) if inside else np.nan
            found[f"{measure} of {score} {partition}"] = value
    return found


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("cells", type=Path)
    parser.add_argument("receptors", type=Path)
    parser.add_argument("--environments", type=Path, required=True)
    parser.add_argument("--curves", type=Path, required=True, help="folder of clustering_constructions")
    parser.add_argument("--seeds", type=int, default=5, help="number of divisions into halves")
    parser.add_argument("--exclude-references", default="10xgenomics")
    parser.add_argument("--seed", type=int, default=420)
    args = parser.parse_args(argv)
    material = Material(args.cells, args.receptors, exclude=args.exclude_references, seed=args.seed)
    table = material.receptors.select([*FIELDS]).to_pandas().set_axis([*FIELDS.values()], axis=1)
    curves = pd.concat(pd.read_parquet(path) for path in sorted(args.curves.glob("*.parquet")))
    parts = {(-1, "all"): (np.arange(len(table)), np.arange(material.labels.shape[1]))}
    for seed in range(1, args.seeds + 1):
        parts |= {(seed, half): part for half, part in halves(material.labels, seed).items()}
    rows = []
    for method in METHODS:
        if method == "clustereval":
            continue
        for (seed, half), (receptors, epitopes) in parts.items():
            cluster = without_singles(run(method, table.iloc[receptors], args.environments))
            measures = quality(cluster, material.labels[np.ix_(receptors, epitopes)])
            row = {"method": method, "seed": seed, "half": half, **measures}
            rows.append({**row, **beside(curves, row)})
        print(method, file=sys.stderr, flush=True)
    found = pd.DataFrame(rows)
    shown = ["retention", *MEASURES, *[name for name in found if " of " in name]]
    for title, part in (("all receptors", found[found.seed < 0]), ("halves", found[found.seed > 0])):
        print(f"\n{title}\n\n| method | {' | '.join(shown)} |\n|{'---|' * (len(shown) + 1)}")
        for method, group in part.groupby("method", sort=False):
            mean, spread = group[shown].mean(), group[shown].std()
            cells = [
                f"{mean[name]:.3f}" + ("" if np.isnan(spread[name]) else f" ± {spread[name]:.3f}")
                for name in shown
            ]
            print(f"| {method} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
