#!/usr/bin/env python3
"""
Constructions of clusters, chosen on one half of the epitopes and measured on the other.

A construction is a score of pairs (`clustering_scores`) and clusters of the graph of its nearest pairs
(`clustering_partitions`). Half of the epitopes are drawn at random, in pairs of about equal size. The
receptors of a half are clustered without the others. For each construction the radius grows, and purity and
consistency (`clustering`) are interpolated at equal retentions. The construction with the highest mean of
purity and consistency in one half is measured in the other, both ways, for several seeds.

    python benchmarks/clustering_constructions.py cells.parquet receptors.parquet --curves curves.parquet
"""

import argparse
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1] / "bin"))

import numpy as np
import pandas as pd

from clustering import quality
from clustering_partitions import FIRST, PARTITIONS, Graph
from clustering_scores import SCORES, Material

RETENTIONS = (0.25, 0.35, 0.45)
NEIGHBOURED = np.arange(0.2, 0.61, 0.05)  # shares of receptors with a neighbour, which set the radii
LEVEL = 0.005  # shortfall that still counts as level
N_BEST = 20  # constructions shown without choice
MEASURES = ("purity", "consistency")
PEERS = ("SCEPTR: modularity 1", "TCRdist: modularity 1", "SCEPTR: components", "TCRdist: components")
CANDIDATES = ("SCEPTR: Potts 0.001", "TCRdist: Potts 0.001", "sum of log chances: Potts 0.001")


def halves(labels: np.ndarray, seed: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """
    Return rows and epitopes of both halves, and of all receptors.

    Epitopes are ordered by size; of each two in a row, one is drawn for either half. Receptors with epitopes
    of both halves are in neither.
    """
    sizes = labels.sum(axis=0)
    order = np.argsort(-sizes, kind="stable")
    rng = np.random.default_rng(seed)
    first = np.zeros(len(sizes), bool)
    for start in range(0, len(order), 2):
        first[rng.choice(order[start : start + 2])] = True
    in_first, in_second = labels[:, first].any(axis=1), labels[:, ~first].any(axis=1)
    return {
        "first": (np.flatnonzero(in_first & ~in_second), np.flatnonzero(first)),
        "second": (np.flatnonzero(in_second & ~in_first), np.flatnonzero(~first)),
    }


def numbered(label: np.ndarray) -> np.ndarray:
    """The same clusters, numbered without gaps; -1 for a receptor alone."""
    _, label, counts = np.unique(label, return_inverse=True, return_counts=True)
    number = np.where(counts > 1, np.cumsum(counts > 1) - 1, -1)
    return number[label]


def curves(scores: np.ndarray, labels: np.ndarray, partitions: list[str], seed: int) -> list[dict]:
    """Measures of the clusters of some receptors, for each radius and partition."""
    scores = scores.copy()
    np.fill_diagonal(scores, np.inf)
    nearest = np.sort(scores.min(axis=1))
    radii = np.unique(nearest[np.ceil(NEIGHBOURED * len(nearest)).astype(int) - 1])
    found = []
    for radius in radii:
        graph = Graph.within(scores, radius, seed)
        for name in partitions:
            measures = quality(numbered(PARTITIONS[name](graph)), labels)
            found.append({"partition": name, "radius": radius, "edges": len(graph.rows), **measures})
    return found


def interpolated(found: pd.DataFrame) -> pd.DataFrame:
    """Purity and consistency at `RETENTIONS`, by construction and part; absent where not reached."""
    rows = []
    keys = ["seed", "half", "score", "partition"]
    for key, curve in found.groupby(keys):
        curve = curve.sort_values(["retention", "radius"])
        retention = curve["retention"].to_numpy()
        for target in RETENTIONS:
            if retention.min() <= target <= retention.max():
                values = {m: np.interp(target, retention, curve[m]) for m in MEASURES}
                rows.append({**dict(zip(keys, key, strict=True)), "retention": target, **values})
    return pd.DataFrame(rows)


def computed(
    material: Material, score: str, partitions: list[str], seeds: list[int], seed: int
) -> pd.DataFrame:
    """Curves of constructions in the halves of each seed, and among all receptors (seed -1)."""
    parts = {(-1, "all"): (np.arange(len(material.labels)), np.arange(material.labels.shape[1]))}
    for number in seeds:
        parts |= {(number, half): part for half, part in halves(material.labels, number).items()}
    between, rows = SCORES[score](material), []
    for (number, half), (receptors, epitopes) in parts.items():
        labels = material.labels[np.ix_(receptors, epitopes)]
        found = curves(between[np.ix_(receptors, receptors)], labels, partitions, seed)
        rows += [{"seed": number, "half": half, "score": score, **row} for row in found]
    return pd.DataFrame(rows)


def chosen(values: pd.DataFrame) -> pd.DataFrame:
    """
    Choose the construction with the highest mean of purity and consistency in each half, at all retentions.

    Returns
    -------
    DataFrame
        ``values`` of the construction in the half that it was not chosen on.
    """
    keys, rows = ["score", "partition"], []
    values = values[values["seed"] > 0]
    values = values[values.groupby(["seed", "half", *keys])["retention"].transform("size") == len(RETENTIONS)]
    merit = values[[*MEASURES]].mean(axis=1).groupby([values[key] for key in ("seed", "half", *keys)]).mean()
    for (seed, half), merits in merit.groupby(level=["seed", "half"]):
        best = merits.idxmax()[2:]
        other = values[(values["seed"] == seed) & (values["half"] != half)]
        rows.append(other[(other["score"] == best[0]) & (other["partition"] == best[1])])
    return pd.concat(rows, ignore_index=True)


def beside(values: pd.DataFrame, peers: pd.DataFrame) -> pd.DataFrame:
    """Differences from the peers' best purity and best consistency in the same half at the same retention."""
    keys = ["seed", "half", "retention"]
    best = peers.groupby(keys)[[*MEASURES]].max()
    values = values.set_index(keys)
    return (values[[*MEASURES]] - best.loc[values.index]).reset_index()


def described(name: str, values: pd.DataFrame, peers: pd.DataFrame) -> str:
    """A line of the table: mean ± standard deviation over the halves, and how often both are level."""
    cells = []
    for retention in RETENTIONS:
        part = values[np.isclose(values["retention"], retention)]
        cells += [
            f"{part[measure].mean():.3f}" + (f" ± {part[measure].std():.3f}" if len(part) > 1 else "")
            for measure in MEASURES
        ]
    differences = beside(values, peers)
    level = (differences[[*MEASURES]] > -LEVEL).all(axis=1)
    return f"| {name} | {' | '.join(cells)} | {level.sum()} of {len(level)} |"


def compared(name: str, values: pd.DataFrame, default: pd.DataFrame) -> str:
    """A line of the table: mean difference from the former default in the same half, least and most."""
    differences, cells = beside(values, default), []
    for retention in RETENTIONS:
        part = differences[np.isclose(differences["retention"], retention)]
        cells += [
            f"{part[measure].mean():+.3f} ({part[measure].min():+.3f} to {part[measure].max():+.3f})"
            for measure in MEASURES
        ]
    return f"| {name} | {' | '.join(cells)} |"


def report(found: pd.DataFrame) -> None:
    """Print the tables of the benchmark."""
    values = interpolated(found)
    construction = values["score"] + ": " + values["partition"]
    columns = [f"{measure} {retention:g}" for retention in RETENTIONS for measure in MEASURES]
    head = f"| construction | {' | '.join(columns)} |"
    in_halves = values["seed"] > 0
    peers, half_peers = values[construction.isin(PEERS)], values[construction.isin(PEERS) & in_halves]
    default = values[(construction == PEERS[0]) & in_halves]
    first, potts = values["partition"].isin(FIRST), values["partition"].str.fullmatch(r"Potts [\d.e-]+")
    pools = {
        "SCEPTR, Potts": (values["score"] == "SCEPTR") & potts,
        "SCEPTR, all": values["score"] == "SCEPTR",
        "TCRdist, all": values["score"] == "TCRdist",
        "all scores, Potts": potts,
        "all of the first grid": first,
        "all": first | True,
    }
    picked = {f"chosen: {name}": chosen(values[mask]) for name, mask in pools.items()}
    fixed = {name: values[(construction == name) & in_halves] for name in (*PEERS, *CANDIDATES)}
    print(f"halves\n\n{head} level |\n|{'---|' * (len(columns) + 2)}")
    for name, part in {**fixed, **picked}.items():
        print(described(name, part, half_peers))
    print(f"\ndifferences from {PEERS[0]}\n\n{head}\n|{'---|' * (len(columns) + 1)}")
    for name, part in {**fixed, **picked}.items():
        print(compared(name, part, default))
    for name, part in picked.items():
        counts = part.drop_duplicates(["seed", "half"]).groupby(["score", "partition"]).size()
        text = "; ".join(f"{score}: {partition} ({n})" for (score, partition), n in counts.items())
        print(f"\n{name}: {text}")
    for title, mask, reference in (
        ("halves, mean", in_halves, half_peers),
        ("all receptors", ~in_halves, peers[peers["seed"] < 0]),
    ):
        part = values[mask]
        n = part.groupby(["seed", "half"]).ngroups * len(RETENTIONS)
        groups = {key: group for key, group in part.groupby(construction[mask]) if len(group) == n}
        best = sorted(groups, key=lambda key: -groups[key][[*MEASURES]].mean().mean())
        print(f"\n{title}, best first: not held out\n\n{head} level |\n|{'---|' * (len(columns) + 2)}")
        for key in dict.fromkeys([*PEERS, *CANDIDATES, *best[:N_BEST]]):
            if key in groups:
                print(described(key, groups[key], reference))


def parse_args(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("cells", type=Path, help="labelled cells, of a run or of normalise_receptors.py")
    parser.add_argument("receptors", type=Path)
    parser.add_argument("--curves", type=Path, required=True, help="folder; what it holds is not computed")
    parser.add_argument("--seeds", type=int, default=5, help="number of divisions into halves")
    parser.add_argument("--exclude-references", default="10xgenomics")
    parser.add_argument("--seed", type=int, default=420)
    return parser.parse_args(argv)


def main(argv=None):
    args = parse_args(argv)
    args.curves.mkdir(parents=True, exist_ok=True)
    material, found = None, []
    for score in SCORES:
        path = args.curves / f"{score.replace(' ', '_')}.parquet"
        curves_found = pd.read_parquet(path) if path.exists() else pd.DataFrame({"partition": []})
        if missing := [name for name in PARTITIONS if name not in set(curves_found["partition"])]:
            material = material or Material(
                args.cells, args.receptors, exclude=args.exclude_references, seed=args.seed
            )
            started = time.perf_counter()
            seeds = [*range(1, args.seeds + 1)]
            curves_found = pd.concat([curves_found, computed(material, score, missing, seeds, args.seed)])
            curves_found.to_parquet(path)
            print(f"{score}: {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
        found.append(curves_found)
    report(pd.concat(found, ignore_index=True))


if __name__ == "__main__":
    main()
