#!/usr/bin/env python3
"""
Clusters beside the donors' HLA: metaclonotypist's associations, and false ones with shuffled HLA.

With the example data of metaclonotypist (150 donors; MIT licence), the clusters are those of metaclonotypist
(TCRdist up to 15, Leiden, by pyrepseq) and ours. Without tables, cohorts are simulated, with three planted
associations.

    python benchmarks/hla/hla.py
    python benchmarks/hla/hla.py tcrdata.csv hladata.csv
"""

import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

import airrvec  # noqa: F401  before numpy, as in the scripts
from airrvec.core.chains import with_chains
from airrvec.encoders.sceptr import Sceptr
from airrvec.repertoire import clustering, hla_associations
from airrvec.repertoire.hla_associations import Donors, compared_pairs
from airrvec.stats.significance import benjamini_hochberg
from airrvec.synthetic.background import background

import numpy as np
import pandas as pd
import pyarrow as pa

from benchmarks.common import results

# Of metaclonotypist 1.0.1 on its example data, at a false discovery rate of 10 %: allele, donors with it and
# the cluster, donors with the cluster, donors with the allele alone → p.
PUBLISHED = {
    ("DRB1*13", 7, 10, 19): 0.00018494757585327972,
    ("DQA1*03_DQB1*03", 17, 30, 19): 1.3316059999279097e-05,
    ("DRB1*04", 15, 30, 16): 4.4863118694355174e-05,
    ("DRB1*11", 9, 10, 27): 9.393767174982136e-06,
    ("DRB1*13", 11, 15, 15): 4.6527261447161094e-07,
    ("DRB1*13", 6, 7, 20): 9.930416133952228e-05,
    ("DRB1*10", 4, 5, 7): 7.831642604886276e-05,
    ("DQA1*02_DQB1*02", 6, 7, 15): 2.419619377895779e-05,
    ("DQA1*02_DQB1*03", 5, 7, 10): 9.467298166483097e-05,
    ("DRB1*07", 7, 7, 18): 1.6344239998708618e-06,
    ("DRB1*10", 4, 4, 7): 1.6288031628395958e-05,
    ("DQA1*05_DQB1*02", 6, 7, 24): 0.0002491886283372907,
}
WAYS = (("Benjamini–Hochberg", 4), ("discrete", 3))  # rule, least donors: metaclonotypist's, ours
ALPHAS = {"n_5": 0.05, "n_10": 0.1}


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("tables", nargs="*", type=Path, help="receptors, then HLA of the donors; or none")
    parser.add_argument("--shuffles", type=int, default=200)
    parser.add_argument("--donors", type=int, nargs="+", default=[20, 50, 150], help="of simulated cohorts")
    parser.add_argument("--seed", type=int, default=420)
    return parser.parse_args(argv)


def donors_of(path: Path) -> Donors:
    """Return the donors, with each word of their row as an allele."""
    words = pd.read_csv(path, index_col=0).melt(ignore_index=False)["value"].dropna()
    carried = pd.crosstab(words.index, words.to_numpy()).clip(upper=1).astype(float)
    carried.index.name = carried.columns.name = None
    return Donors(carried, pd.Series("", carried.index))


def metaclonotypist_clusters(receptors: pd.DataFrame, _: int) -> pd.Series:
    from pyrepseq import graph_clustering, nearest_neighbor_tcrdist

    near = nearest_neighbor_tcrdist(receptors, max_edits=2, max_tcrdist=15, chain="beta")
    names = receptors["TRBV"] + "_" + receptors["CDR3B"] + "_" + receptors["TRBJ"]
    options = {"resolution": 0.1, "objective_function": "CPM", "n_iterations": 4}
    made = graph_clustering(near, names, clustering="leiden", **options)
    return made["cluster"].map("c{}".format).reindex(receptors.index)


def own_clusters(receptors: pd.DataFrame, seed: int) -> pd.Series:
    """Return clusters of distinct β chains, without alleles, as `--cluster` makes them."""
    columns = {"TRBV": "trb_v_call", "CDR3B": "trb_junction_aa", "TRBJ": "trb_j_call"}
    chains = receptors.rename(columns=columns)[list(columns.values())]
    key = chains["trb_v_call"].str.split("*").str[0] + chains["trb_junction_aa"] + chains["trb_j_call"]
    first = ~key.duplicated()
    empty = dict.fromkeys(("tra_v_call", "tra_junction_aa", "tra_j_call"))
    encoder = Sceptr("sceptr")
    vectors = encoder.embed(_table(chains[first].assign(**empty)))
    unselected = background(
        None, species="homosapiens", seed=seed, leave_out=pa.chunked_array([[]], pa.string())
    )
    chance = encoder.embed(with_chains(unselected, "beta"))
    radius = clustering.radius_by_chance(vectors, chance, 0.01, threads=2)
    graph = clustering.neighbourhood(vectors, chance, radius, threads=2).graph
    label = pd.Series(clustering.assign_clusters(graph, "leiden", seed=seed), key[first])
    numbers = key.map(label)
    return numbers[numbers >= 0].map("c{:.0f}".format).reindex(receptors.index)


def _table(chains: pd.DataFrame):
    fields = [f"{locus}_{name}" for locus in ("tra", "trb") for name in ("v_call", "j_call", "junction_aa")]
    frame = chains.reindex(columns=fields).assign(species="homosapiens")
    return pa.table({name: pa.array(frame[name].tolist(), pa.string()) for name in frame})


def simulated(n_donors: int, rng: np.random.Generator) -> tuple[pd.DataFrame, Donors]:
    """Return 200 random clusters and 60 alleles, and three clusters of half of the carriers of an allele."""
    names = np.array([f"d{number}" for number in range(n_donors)])
    has = rng.random((n_donors, 200)) < rng.beta(0.5, 8, 200)
    alleles = (rng.random((n_donors, 60)) < rng.beta(0.7, 5, 60)).astype(float)
    alleles[:, :3] = rng.random((n_donors, 3)) < 0.25
    has[:, :3] = (alleles[:, :3] == 1) & (rng.random((n_donors, 3)) < 0.5)
    rows, clusters = np.nonzero(has)
    carried = pd.DataFrame({"donor": names[rows], "cluster_id": [f"c{number}" for number in clusters]})
    return carried, Donors(pd.DataFrame(alleles, names), pd.Series("", names))


def cohorts(args, rng: np.random.Generator) -> Iterator[tuple[str, pd.DataFrame, Donors]]:
    """Yield the name of a cohort, its clusters and donors."""
    if not args.tables:
        for n_donors in args.donors:
            yield f"{n_donors} simulated donors", *simulated(n_donors, rng)
        return
    receptors, donors = pd.read_csv(args.tables[0]), donors_of(args.tables[1])
    for name, make in (("metaclonotypist's", metaclonotypist_clusters), ("airrvec's", own_clusters)):
        clusters = make(receptors, args.seed)
        yield name, pd.DataFrame({"donor": receptors["Sample.ID"], "cluster_id": clusters}), donors


def associations(carried: pd.DataFrame, donors: Donors, rule: str, least: int) -> tuple[pd.DataFrame, int]:
    """Return the tested pairs with the false discovery rate of a rule, and the number of all tests."""
    hla_associations.LEAST_DONORS = least
    table, counts = compared_pairs(carried, donors)
    table = table[table["p"].notna()].reset_index(drop=True)
    if rule != "discrete":
        p = np.concatenate([table["p"], np.ones(counts["n_tested"] - len(table))])
        table["fdr"] = benjamini_hochberg(p)[: len(table)]
    return table, counts["n_tested"]


def reproduced(table: pd.DataFrame) -> int:
    """Return how many of `PUBLISHED` are associations, with the same p."""
    inside = table["n_carriers_in_cluster"]
    sizes = inside + table["n_noncarriers_in_cluster"]
    keys = zip(table["allele"], inside, sizes, table["n_carriers"] - inside, strict=True)
    p = dict(zip(keys, table["p"], strict=True))
    return sum(np.isclose(p.get(key, np.nan), value, rtol=1e-9) for key, value in PUBLISHED.items())


def same_alleles(table: pd.DataFrame) -> int:
    """Return how many alleles of `PUBLISHED` have an association with any cluster."""
    return len({allele for allele, *_ in PUBLISHED} & {*table["allele"]})


def main(argv=None):
    args = parse_args(argv)
    rng = np.random.default_rng(args.seed)
    table = results.Table(
        clusters="",
        rule="",
        least="",
        tested=",",
        n_5=",",
        n_10=",",
        right_10="",
        alleles_10="",
        shuffled_5=".2f",
        any_5=".1%",
    )
    for name, rows, donors in cohorts(args, rng):
        carried = rows.assign(species="homosapiens", chains="beta")
        nobody = pd.DataFrame({"donor": donors.carried.index, "cluster_id": None})
        carried = pd.concat([carried, nobody.assign(species="homosapiens", chains="beta")]).drop_duplicates()
        orders = [rng.permutation(len(donors.carried)) for _ in range(args.shuffles)]
        for rule, least in WAYS:
            tested, n_tested = associations(carried, donors, rule, least)
            numbers = {key: int((tested["fdr"] <= alpha).sum()) for key, alpha in ALPHAS.items()}
            significant = tested[tested["fdr"] <= ALPHAS["n_10"]]
            planted = [(f"c{number}", number) for number in range(3)]
            pairs = {*zip(significant["cluster_id"], significant["allele"], strict=True)}
            right = reproduced(significant) if args.tables else len(pairs & {*planted})
            false = []
            for order in orders:
                shuffled = donors.carried.iloc[order].set_axis(donors.carried.index)
                made, _ = associations(carried, Donors(shuffled, donors.strata), rule, least)
                false.append(int((made["fdr"] <= ALPHAS["n_5"]).sum()))
            table.add(
                **{"clusters": name, "rule": rule, "least": least, "tested": n_tested, "right_10": right},
                **numbers,
                alleles_10=same_alleles(significant) if args.tables else None,
                shuffled_5=float(np.mean(false)),
                any_5=float(np.mean(np.array(false) > 0)),
            )
    results.write(args, {"ways": table.rows}, ["scipy", "pyrepseq"])


if __name__ == "__main__":
    main()
