"""Overlap of each two samples, as a heat map by donor and condition."""

from airrvec.figures.run.material import MAX_SAMPLES, NotDrawn, Results, heat_map, joined_label
from airrvec.figures.samples import overlap_matrix

import pandas as pd

TITLE = "Overlap of samples"
LEGEND = (
    "Morisita–Horn overlap of each two samples, weighted by cells: 0 if nothing is shared, 1 if receptors and"
    " frequencies are equal. Samples stand by donor, condition and name."
)
_SIDES = ("1", "2")


def table(results: Results) -> pd.DataFrame:
    """Return `airrvec.core.schema.SAMPLE_PAIRS` of the class with most pairs, with donors and conditions."""
    pairs = results.read(
        "pairs", ["species", "chains", "sample_1", "sample_2", "n_shared", "morisita_horn", "jaccard"]
    )
    sizes = pairs.groupby(["species", "chains"]).size().sort_values(ascending=False, kind="stable")
    if sizes.empty:
        raise NotDrawn("there are no two samples of the same chains")
    species, chains = sizes.index[0]
    pairs = pairs[(pairs["species"] == species) & (pairs["chains"] == chains)]
    if not (pairs["morisita_horn"] > 0).any():
        raise NotDrawn("no two samples share a receptor")
    for side in _SIDES:
        samples = pairs[f"sample_{side}"]
        pairs[f"donor_{side}"] = samples.map(results.donors).astype(object)
        pairs[f"condition_{side}"] = samples.map(results.conditions).astype(object)
    return pairs.reset_index(drop=True)


def draw(table: pd.DataFrame):
    """Draw the samples with the largest overlaps; a sample beside itself is grey."""
    columns = ["sample", "donor", "condition"]
    samples = pd.concat(
        [table[[f"{name}_{side}" for name in columns]].set_axis(columns, axis=1) for side in _SIDES]
    ).drop_duplicates("sample")
    values = overlap_matrix(table)
    kept = values.max(axis=1).nlargest(MAX_SAMPLES, keep="first").index
    order = samples[samples["sample"].isin(kept)].sort_values(["donor", "condition", "sample"])
    places = zip(order["donor"].fillna(""), order["condition"].fillna(""), order["sample"], strict=True)
    names = [joined_label(*place) for place in places]
    note = f"{len(order)} of {len(samples):,} samples" if len(order) < len(samples) else ""
    shown = values.reindex(order["sample"], columns=order["sample"])
    return heat_map(shown, names, names, "Morisita–Horn overlap", note)
