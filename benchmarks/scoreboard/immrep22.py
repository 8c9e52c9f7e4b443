#!/usr/bin/env python3
"""
IMMREP22: receptors of each epitope ranked among negatives, and epitopes ranked for each receptor.

    git clone https://github.com/viragbioinfo/IMMREP_2022_TCRSpecificity
    python benchmarks/scoreboard/immrep22.py IMMREP_2022_TCRSpecificity --json immrep22.json

References are the positives of the challenge's training files, nothing else. An epitope whose training file
is missing or empty is left out. Negatives of the test that are positives of the training are then removed.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

import airrvec  # noqa: F401  before numpy, as in the scripts
from airrvec.annotation.reference_set import build_reference_set

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from benchmarks.common import challenges, results

COLUMNS = {
    "tra_v_call": "TRAV",
    "tra_j_call": "TRAJ",
    "tra_junction_aa": "TRA_CDR3",
    "trb_v_call": "TRBV",
    "trb_j_call": "TRBJ",
    "trb_junction_aa": "TRB_CDR3",
}
KEYS = ["TRA_CDR3", "TRB_CDR3"]  # by which the challenge joins scores and truth
GLOBAL = "testSet_Global"
CHAINS = "ab"  # column of the published table: chains that a method reads


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("checkout", type=Path, help="folder of the challenge's repository")
    return parser.parse_args(argv)


def read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, sep="\t", dtype=str, keep_default_na=False)


def training_positives(folder: Path, epitopes: list[str]) -> pd.DataFrame:
    """Return the positives of the training files, with the column ``epitope``."""
    parts = []
    for epitope in epitopes:
        path = folder / f"{epitope}.txt"
        if path.exists() and path.stat().st_size:
            rows = read(path)
            parts.append(rows[rows["Label"] == "1"].assign(epitope=epitope))
    return pd.concat(parts, ignore_index=True)


def published(path: Path) -> pd.DataFrame:
    """Return a published table: a row per method, a column per epitope."""
    return pd.read_csv(path, index_col=0)


def micro_auc(rows: pd.DataFrame) -> float:
    """
    Return the AUROC of ``score`` for ``Label``, as evaluation/evaluate.py computes it.

    Scores and truth are joined by both CDR3s, so that receptors with equal CDR3s count for each other.
    """
    merged = rows[[*KEYS, "score"]].merge(rows[[*KEYS, "Label"]], how="left", on=KEYS)
    return float(roc_auc_score(merged["Label"] == "1", merged["score"]))


def mean_rank(rows: pd.DataFrame, ranks: np.ndarray, epitopes: list[str]) -> pd.Series:
    """Return the mean rank of each epitope for its receptors, each pair of CDR3s once."""
    measures = {}
    for column, epitope in enumerate(epitopes):
        members = rows[rows["true"] == epitope].drop_duplicates(KEYS).index
        measures[epitope] = ranks[members, column].mean()
    return pd.Series(measures)


def main(argv=None):
    args = parse_args(argv)
    truth = sorted(path.stem for path in (args.checkout / "true_set").glob("*.txt") if path.stem != GLOBAL)
    training = training_positives(args.checkout / "training_data", truth)
    positives = challenges.read_pairs(training, {**COLUMNS, "epitope": "epitope"})
    reference = build_reference_set(
        positives.cells, positives.receptors, chains="paired", species="homosapiens"
    )
    epitopes = [epitope for epitope in truth if epitope in set(reference.epitopes["epitope"])]
    training["clonotype"] = positives.clonotypes()
    known = training[training["clonotype"] != ""].groupby("epitope")["clonotype"].agg(set)
    peers = published(args.checkout / "evaluation/microaucs.csv")
    rows = [measure(args.checkout, epitope, reference, known, peers) for epitope in epitopes]
    aucs = {name: pd.Series({row["epitope"]: row[name] for row in rows}) for name in ("auc", "auc_left")}
    counts = {name: sum(row[name] for row in rows) for name in ("positives", "negatives", "removed")}
    counts |= {name: sum(row[name] for row in rows) for name in ("known_positives", "unscored")}
    missing = [epitope for epitope in truth if epitope not in epitopes]
    summary = {"references": len(reference), "without_training_file": "; ".join(missing), **counts}
    figures = {
        "methods": method_rows(aucs, peers),
        "epitopes": rows,
        "mean": [{"as_published": aucs["auc"].mean(), "left": aucs["auc_left"].mean(), **summary}],
        **global_figures(args.checkout, epitopes, reference),
    }
    show(figures)
    results.write(args, figures, ["scikit-learn", "scipy"])


def method_rows(aucs: dict[str, pd.Series], peers: pd.DataFrame) -> list[dict]:
    """Return `challenges.peer_rows` of all negatives, with the columns ``…_left`` without known ones."""
    left = {row["method"]: row for row in challenges.peer_rows(aucs["auc_left"], peers)}
    rows = challenges.peer_rows(aucs["auc"], peers)
    for row in rows:
        names = ("own", "peer_better", "low", "high")
        row |= {f"{name}_left": left[row["method"]][name] for name in names}
        row["chains"] = peers[CHAINS].get(row["method"], "alphabeta")
    return rows


def measure(checkout: Path, epitope: str, reference, known: pd.Series, peers: pd.DataFrame) -> dict:
    """Return what was measured of an epitope's test file, all of it and without the known negatives."""
    rows = read(checkout / f"true_set/{epitope}.txt")
    pairs = challenges.read_pairs(rows, COLUMNS)
    scores = challenges.score_epitopes(reference, pairs.receptors, [epitope])[:, 0]
    scores = np.append(scores, np.nan)[pairs.row]
    rows["score"] = challenges.with_lowest(scores)
    is_positive = (rows["Label"] == "1").to_numpy()
    clonotypes = pd.Series(pairs.clonotypes())
    removed = clonotypes.isin(set().union(*known)).to_numpy() & ~is_positive
    name, best = challenges.best_peer(peers, epitope)
    auc_left = micro_auc(rows[~removed])
    return {
        "epitope": epitope,
        "references": int(reference.epitopes.set_index("epitope").loc[epitope, "n_references"]),
        "positives": int(is_positive.sum()),
        "negatives": int((~is_positive).sum()),
        "removed": int(removed.sum()),
        "known_positives": int((clonotypes.isin(known[epitope]).to_numpy() & is_positive).sum()),
        "unscored": int(np.isnan(scores).sum()),
        "auc": micro_auc(rows),
        "auc_left": auc_left,
        "best_peer": name,
        "best_peer_auc": best,
        "bold": ["auc_left"] if auc_left >= best else ["best_peer_auc"],
    }


def global_figures(checkout: Path, epitopes: list[str], reference) -> dict[str, list]:
    """Return the ranks of the right epitope in the global set, ours and the published ones."""
    rows = read(checkout / f"true_set/{GLOBAL}.txt")
    rows = rows.rename(columns={"Epitope_GroundTruth": "true", "TCR_source": "true"})
    rows = rows[rows["true"].isin(epitopes)].reset_index(drop=True)
    pairs = challenges.read_pairs(rows, COLUMNS)
    scores = challenges.score_epitopes(reference, pairs.receptors, epitopes)
    scores = np.vstack([scores, np.full(len(epitopes), np.nan)])[pairs.row]
    own = mean_rank(rows, challenges.ranks(scores), epitopes)
    peers = published(checkout / "evaluation/epitoperank.csv")
    rows_of_epitopes = []
    for epitope in epitopes:
        name, best = challenges.best_peer(peers, epitope, lower_is_better=True)
        bold = ["rank"] if own[epitope] <= best else ["best_peer_rank"]
        row = {"epitope": epitope, "rank": own[epitope], "best_peer": name, "best_peer_rank": best}
        rows_of_epitopes.append({**row, "bold": bold})
    return {
        "ranks": challenges.peer_rows(own, peers, lower_is_better=True),
        "ranks_of_epitopes": rows_of_epitopes,
    }


def show(figures: dict) -> None:
    """Print the tables in Markdown."""
    for name in ("methods", "ranks"):
        table = results.Table(
            method="", mean=".3f", epitopes="d", own=".3f", peer_better="d", low="+.3f", high="+.3f"
        )
        for row in figures[name]:
            table.add(**{column: row[column] for column in table.columns})
    table = results.Table(
        epitope="", removed="d", auc=".3f", auc_left=".3f", best_peer="", best_peer_auc=".3f"
    )
    for row in figures["epitopes"]:
        table.add(**{column: row[column] for column in table.columns})
    print(results.plain(figures["mean"][0]), flush=True)


if __name__ == "__main__":
    main()
