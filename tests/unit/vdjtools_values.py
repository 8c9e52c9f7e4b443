"""
What vdjtools 5.2.2 says of two real samples, stored for `test_vdjtools.py`.

vdjtools is no part of the environment: to store its values again, run this file where it is installed.

    python tests/unit/vdjtools_values.py
"""

import json
from pathlib import Path

import pandas as pd

DATA = Path(__file__).parents[1] / "data"
STORED = Path(__file__).with_suffix(".json")
KEY = ["junction_aa", "v_call", "j_call"]
DEPTHS = (50, 200)  # the second is more than the lung has
SHARES = (0.5, 1.0, 2.0)  # of a sample's cells


def repertoires() -> dict[str, pd.DataFrame]:
    """β chains of scRepertoire's patient P20, blood and lung: ``KEY`` and their cells, one row per clone."""
    tables = {}
    for name in ("P20B", "P20L"):
        contigs = pd.read_csv(DATA / f"screpertoire_{name}.csv.gz")
        contigs = contigs.query("chain == 'TRB' and productive == True and is_cell").rename(
            columns={"cdr3": "junction_aa", "v_gene": "v_call", "j_gene": "j_call"}
        )
        most = contigs.sort_values("umis", kind="stable").drop_duplicates("barcode", keep="last")
        counts = most.groupby(KEY)["barcode"].size().rename("duplicate_count")
        tables[name] = counts.reset_index()
    return tables


def main() -> None:
    import polars as pl
    from vdjtools import __version__, overlap, stats

    frames = {name: pl.DataFrame(table.to_dict("list")) for name, table in repertoires().items()}
    values: dict = {"version": __version__, "samples": {}}
    for name, frame in frames.items():
        counts = frame["duplicate_count"].to_numpy()
        n = int(counts.sum())
        values["samples"][name] = {
            "n": n,
            "richness": stats.observed_richness(counts),
            "shannon_wiener": stats.shannon_wiener(counts),
            "inverse_simpson": stats.inverse_simpson(counts),
            "coverage": {
                str(int(n * share)): stats.sample_coverage(counts, int(n * share)) for share in SHARES
            },
            "hill_numbers": {
                str(m): stats.estimate_d(counts, level=m, se=False)["qD"].to_list() for m in (*DEPTHS, 2 * n)
            },
        }
    values["overlap"] = overlap.overlap_metrics(*frames.values(), key=tuple(KEY))
    jaccard = overlap.pairwise_distances(frames, metric="jaccard", key=tuple(KEY))
    values["jaccard"] = 1 - jaccard.filter(pl.col(jaccard.columns[0]) == "P20B")["P20L"][0]
    STORED.write_text(json.dumps(values, indent=1) + "\n")


if __name__ == "__main__":
    main()
