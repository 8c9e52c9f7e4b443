"""
Clones, overlap and tests of 10x samples in plain lines of pandas and scipy, from the raw tables.

They know neither our readers nor our tables. `test_cohort.py` holds a small cohort to them; a run of a larger
one is held to them by

    python tests/unit/plain_cohort.py samplesheet.csv results
"""

import sys
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

LARGE = 0.01  # of a sample's cells


def read_cells(sheet: pd.DataFrame) -> pd.DataFrame:
    """Donor, sample, α chains (two in a cell with one β chain or none) and best β chain of each cell."""
    cells = []
    for sample, path, donor in zip(sheet["sample"], sheet["path"], sheet["donor"], strict=True):
        rows = pd.read_csv(path, keep_default_na=False)
        rows = rows[rows["productive"].astype(str).str.lower() == "true"]
        rows = rows[rows["cdr3"].str.fullmatch("C.*[FWC]")]  # TRAJ35 ends in C
        rows = rows[[j.startswith(chain) for j, chain in zip(rows["j_gene"], rows["chain"], strict=True)]]
        rows = rows[rows["chain"].isin(["TRA", "TRB"])].sort_values(
            ["umis", "reads"], ascending=False, kind="stable"
        )
        chains: dict[str, dict[str, list]] = {}
        for row in rows.itertuples():
            fields = (f"{row.v_gene}|{row.cdr3_nt}", (row.v_gene, row.cdr3, row.j_gene))
            chains.setdefault(row.barcode, {"TRA": [], "TRB": []})[row.chain].append(fields)
        for cell in chains.values():
            alphas, betas = cell["TRA"], cell["TRB"]
            alphas = alphas[: 2 if len(alphas) == 2 and len(betas) < 2 else 1]
            cells.append({"donor": donor, "sample": sample, "α": alphas, "β": betas[:1]})
    return pd.DataFrame(cells)


def read_ids(results: Path) -> dict[tuple, str]:
    """Receptor, as in `with_clones`, → its id in a run."""
    rows = pd.read_parquet(results / "receptors/receptors.parquet").astype(object)
    chains = {
        side: [
            None if pd.isna(row[1]) else (row[0].split("*")[0], row[1], (row[2] or "").split("*")[0])
            for row in rows[[f"{side}_{name}" for name in ("v_call", "junction_aa", "j_call")]].to_numpy()
        ]
        for side in ("tra", "trb")
    }
    return dict(zip(zip(chains["tra"], chains["trb"], strict=True), rows["receptor_id"], strict=True))


def plain_clones(cells: list[tuple[list, list]]) -> list:
    """
    A name for the clone of each cell of one donor, of its α chains, the best first, and its β chains.

    Pairs of a β chain with either α chain of a cell are one clone; a cell with one chain joins the only clone
    of pairs that has it.
    """
    clone = {pair: pair for pair in sorted({(a[0], b[0]) for a, b in cells if a and b})}

    def same(pair):
        while clone[pair] != pair:
            pair = clone[pair]
        return pair

    for alphas, betas in cells:
        if len(alphas) == 2 and betas and (alphas[1], betas[0]) in clone:
            clone[same((alphas[1], betas[0]))] = same((alphas[0], betas[0]))
    clones_of_chain: dict[tuple, set] = {}
    for pair in clone:
        for chain in zip("αβ", pair, strict=True):
            clones_of_chain.setdefault(chain, set()).add(same(pair))
    names = []
    for alphas, betas in cells:
        chain = ("α", alphas[0]) if alphas else ("β", betas[0])
        fitting = clones_of_chain.get(chain, set())
        if alphas and betas:
            names.append(same((alphas[0], betas[0])))
        else:
            names.append(min(fitting) if len(fitting) == 1 else chain)
    return names


def with_clones(cells: pd.DataFrame, ids: dict[tuple, str]) -> pd.DataFrame:
    """
    Add the clone of each cell, and the receptor of the clone: the most frequent of its complete cells, and of
    equally frequent ones that with the first id.
    """
    parts = []
    for donor, own in cells.groupby("donor"):
        keys = [([key for key, _ in row.α], [key for key, _ in row.β]) for row in own.itertuples()]
        parts.append(own.assign(clone=[f"{donor}|{name}" for name in plain_clones(keys)]))
    cells = pd.concat(parts)
    cells["receptor"] = [
        (row.α[0][1] if row.α else None, row.β[0][1] if row.β else None) for row in cells.itertuples()
    ]
    n_chains = cells["receptor"].map(lambda chains: sum(chain is not None for chain in chains))
    complete = cells[n_chains == n_chains.groupby(cells["clone"]).transform("max")]
    counts = complete.groupby(["clone", "receptor"]).size().rename("n").reset_index()
    counts["id"] = counts["receptor"].map(ids)
    most = (
        counts.sort_values(["n", "id"], ascending=[False, True]).drop_duplicates("clone").set_index("clone")
    )
    return cells.assign(receptor=cells["clone"].map(most["receptor"]))


def sizes(cells: pd.DataFrame) -> pd.Series:
    """Cells of each clone in each sample."""
    return cells.groupby(["sample", "clone"]).size()


def overlaps(cells: pd.DataFrame) -> pd.DataFrame:
    """Overlap of each two samples in their receptors with both chains."""
    pairs = cells[cells["receptor"].map(lambda chains: None not in chains)]
    counts = {sample: rows["receptor"].value_counts() for sample, rows in pairs.groupby("sample")}
    table = []
    for first, second in combinations(sorted(counts), 2):
        both = pd.concat([counts[first], counts[second]], axis=1).fillna(0).to_numpy()
        shares = both / both.sum(axis=0)
        shared = (both > 0).all(axis=1)
        table.append(
            {
                "sample_1": first,
                "sample_2": second,
                "n_shared": shared.sum(),
                "jaccard": shared.mean(),
                "morisita_horn": 2 * shares.prod(axis=1).sum() / (shares**2).sum(),
                "frequency_overlap": np.sqrt(shares[shared].sum(axis=0).prod()),
            }
        )
    return pd.DataFrame(table).set_index(["sample_1", "sample_2"])


def measures(cells: pd.DataFrame) -> pd.DataFrame:
    """
    Of each sample: the share of cells in large clones; the probability that two cells with both chains are of
    one clone; the share of clones with each V gene of the β chain.
    """
    n = sizes(cells)
    shares = n / n.groupby("sample").transform("sum")
    pairs = sizes(cells[cells["receptor"].map(lambda chains: None not in chains)]).groupby("sample")
    table = {
        "large_clones": shares.where(shares > LARGE, 0).groupby("sample").sum(),
        "coincidence": pairs.agg(lambda n: (n * (n - 1)).sum() / (n.sum() * (n.sum() - 1))),
    }
    clones = cells.drop_duplicates(["sample", "clone"])
    genes = clones["receptor"].map(lambda chains: chains[1] and chains[1][0])
    for gene in sorted(set(genes.dropna())):
        table[gene] = (genes == gene).groupby(clones["sample"]).sum() / genes.notna().groupby(
            clones["sample"]
        ).sum()
    return pd.DataFrame(table)


def paired_p(numbers: pd.Series, sheet: pd.DataFrame, by: str) -> float:
    """Two-sided exact p of two values within donors: aligned ranks, all exchanges, twice the smaller tail."""
    table = sheet.assign(number=sheet["sample"].map(numbers)).pivot_table(
        index="donor", columns=by, values="number"
    )
    aligned = table.to_numpy() - table.to_numpy().mean(axis=1, keepdims=True)
    ranks = stats.rankdata(np.round(aligned / max(np.abs(table.to_numpy()).max(), 1e-300), 12)).reshape(
        aligned.shape
    )
    exchanged = [
        sum(row[side] for row, side in zip(ranks, sides, strict=True))
        for sides in product((0, 1), repeat=len(ranks))
    ]
    observed = exchanged[0]
    tails = [np.mean(np.array(exchanged) <= observed), np.mean(np.array(exchanged) >= observed)]
    return min(1.0, 2 * min(tails))


def differences(sheet: pd.DataFrame, results: Path, by: str) -> list[str]:
    """What a run says of its 10x samples that plain lines do not."""
    cells = with_clones(read_cells(sheet), read_ids(results))
    wrong = []
    counts = pd.read_parquet(results / "clones/counts.parquet")
    for sample, n in sizes(cells).groupby("sample"):
        ours = sorted(counts.loc[counts["sample_id"] == sample, "n_cells"])
        if ours != sorted(n):
            wrong.append(f"{sample}: {len(ours)} clones of {sum(ours)} cells; plainly {len(n)} of {sum(n)}")
    n_samples = cells.groupby("clone")["sample"].nunique()
    clones = pd.read_parquet(results / "clones/clones.parquet").query("donor in @sheet.donor")
    if (ours := (clones["n_samples"] > 1).sum()) != (n_samples > 1).sum():
        wrong.append(f"{ours} clones are in several samples; plainly {(n_samples > 1).sum()}")
    pairs = pd.read_parquet(results / "comparison/pairs.parquet").query("chains == 'paired'")
    pairs = pairs.set_index(["sample_1", "sample_2"])
    plain = overlaps(cells)
    for name in plain.columns:
        ours = pairs.loc[plain.index, name]
        if not np.allclose(ours, plain[name], rtol=1e-9, atol=0):
            rows = plain.index[~np.isclose(ours, plain[name], rtol=1e-9, atol=0)]
            wrong += [f"{name} of {row}: {ours[row]}; plainly {plain.loc[row, name]}" for row in rows]
    tests = pd.read_parquet(results / "comparison/tests.parquet").query("design == 'two values'")
    for name, numbers in measures(cells).items():
        whole = (tests["measure"] == name) & (tests["chains"].isna() | (tests["chains"] == "paired"))
        for row in tests[(tests["feature"] == name) | whole].itertuples():
            p = paired_p(numbers, sheet, by)
            if not np.isclose(row.p, p, rtol=1e-9):
                wrong.append(f"p of {name}: {row.p}; plainly {p}")
    return wrong


def main() -> None:
    path, results, by = sys.argv[1:]
    sheet = pd.read_csv(path)
    sheet = sheet.assign(path=[Path(path).parent / name for name in sheet["path"]])
    of_cohort = sheet[sheet[by].notna() & sheet["donor"].duplicated(keep=False)]
    wrong = differences(of_cohort, Path(results), by)
    print(*wrong, f"{len(of_cohort)} samples, {len(wrong)} differences", sep="\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
