"""Clonal expansion of each sample: shares of cells in clones by their size."""

from airrvec.figures.run.material import Results, bars, sample_labels, shown_samples

import pandas as pd

TITLE = "Clonal expansion"
LEGEND = (
    "Share of each sample's cells in clones by their size. A clone that was seen once is not expanded,"
    " however few cells its sample has; the others stand by their share of the sample."
)
ONCE = "seen once"
_COLOURS = {ONCE: "#DADADA", "Rare": "#C6DBEF", "Small": "#9ECAE1", "Medium": "#6BAED6", "Large": "#2171B5"}
_COLOURS["Hyperexpanded"] = "#08306B"


def table(results: Results) -> pd.DataFrame:
    """
    Return cells of each sample by the size of their clones.

    Returns
    -------
    DataFrame
        One row per sample and class: ``above`` and ``up_to`` are the limits of a clone's share, null in the
        class of clones that were seen once; ``share`` is of all cells of the sample.
    """
    sizes = results.read("clone_sizes")
    kept = ["sample_id", "count_unit", "clone_size", "above", "up_to", "n_clones", "n_cells"]
    several = sizes.assign(
        n_clones=sizes["n_clones"] - sizes["n_singletons"], n_cells=sizes["n_cells"] - sizes["n_singletons"]
    )[kept]
    once = sizes.groupby(["sample_id", "count_unit"], as_index=False, sort=False)["n_singletons"].sum()
    once = once.rename(columns={"n_singletons": "n_clones"}).assign(clone_size=ONCE)
    rows = pd.concat([once.assign(n_cells=once["n_clones"]), several])
    rows["share"] = rows["n_cells"] / rows.groupby("sample_id")["n_cells"].transform("sum")
    rows["place"] = rows["clone_size"].map({name: place for place, name in enumerate(_COLOURS)})
    rows = results.with_conditions(rows.sort_values(["sample_id", "place"])[[*kept, "share"]])
    return rows


def draw(table: pd.DataFrame):
    """Draw a bar for each sample, its expanded clones dark."""
    samples, note = shown_samples(table, "n_cells")
    shares = table.pivot_table("share", "sample_id", "clone_size", fill_value=0).reindex(samples)
    names = [name for name in _COLOURS if name in shares and shares[name].max() > 0]
    limits = table.drop_duplicates("clone_size").set_index("clone_size")
    titles = {
        name: ONCE
        if name == ONCE
        else f"{_per_cent(limits['above'][name])}–{_per_cent(limits['up_to'][name])} %"
        for name in names
    }
    unit = ", ".join(sorted(table["count_unit"].unique()))
    return bars(
        shares[names].rename(columns=titles),
        sample_labels(table, samples),
        [_COLOURS[name] for name in names],
        note,
        f"Share of the sample's {unit} (%), by share of their clone",
    )


def _per_cent(share: float) -> str:
    return f"{100 * share:g}"
