"""
What a single edit of a junction costs, along its length.

The paper's appendix "Effects of different position embedding methods" and its figure "Investigating TCR
co-specificity rules as learned by different PLMs": the mean distance between a receptor and the same with
one residue inserted, deleted or substituted, by fifths of the junction. The two conserved ends stay.
"""

import numpy as np
import pyarrow as pa
from matplotlib import pyplot as plt

from airrvec.analyses import EACH_ENCODER, NotDone
from airrvec.analyses.material import Material, pair_distances
from airrvec.core import schema
from airrvec.core.chains import GREEK
from airrvec.core.seeds import generator
from airrvec.encoders import title
from airrvec.model.tokens import AMINO_ACIDS
from airrvec.report.figures import style

TITLE = "Cost of an edit along the junction"
SCOPE = EACH_ENCODER
SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("encoder", "chain", "edit", "region")),
        ("n_edits", pa.int32()),
        ("mean_distance", pa.float64()),
        ("std_distance", pa.float64()),
        ("relative", pa.float64()),
    ]
)
EDITS = ("insertion", "deletion", "substitution")
REGIONS = ("start", "second", "middle", "fourth", "end")
# Each is edited once in every chain, region and way: the paper has at least 100 of each.
N_EDITED = 200


def measure(material: Material) -> pa.Table:
    """Mean and standard deviation of the distances, also relative to that of two random receptors."""
    receptors = material.sample.receptors.slice(0, N_EDITED)
    n = len(receptors)
    if n < 2:
        raise NotDone("there are fewer than two receptors")
    variants, described = [], []
    rng = generator(material.seed, "edits")
    for row, receptor in enumerate(receptors.to_pylist()):
        for locus, chain in GREEK.items():
            column = schema.field(locus, "junction_aa")
            for edit in EDITS:
                for region, words in enumerate(REGIONS):
                    edited = edited_junction(receptor[column], edit, region, rng)
                    if edited is not None:
                        variants.append({**receptor, column: edited})
                        described.append((chain, edit, words, row))
    table = pa.concat_tables([receptors, pa.Table.from_pylist(variants, receptors.schema)])
    originals = np.array([row for *_, row in described])
    distances = pair_distances(material.encoder, table, originals, n + np.arange(len(variants)))
    i, j = np.triu_indices(n, 1)
    unit = np.nanmean(pair_distances(material.encoder, receptors, i, j))
    groups: dict[tuple, list] = {}
    for (chain, edit, region, _), distance in zip(described, distances, strict=True):
        groups.setdefault((chain, edit, region), []).append(distance)
    rows = [
        {
            **dict(zip(("chain", "edit", "region"), key, strict=True)),
            "encoder": material.name,
            "n_edits": len(values),
            "mean_distance": np.mean(values),
            "std_distance": np.std(values, ddof=1) if len(values) > 1 else None,
            "relative": np.mean(values) / unit if unit > 0 else None,
        }
        for key, values in groups.items()
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


def edited_junction(junction: str, edit: str, region: int, rng: np.random.Generator) -> str | None:
    """
    A junction with one residue inserted, deleted or substituted in a fifth of its length.

    Parameters
    ----------
    junction : str
        With its conserved ends.
    edit : str
        Of `EDITS`.
    region : int
        Of `REGIONS`, counted from the N terminus.

    Returns
    -------
    str or None
        None where the fifth holds nothing but a conserved end.
    """
    n = len(junction)
    # Residue p, or the gap before it, lies in the fifth that its middle lies in.
    places = [p for p in range(1, n - 1) if (2 * p + 1) * len(REGIONS) // (2 * n) == region]
    if not places:
        return None
    place = rng.choice(places)
    if edit == "deletion":
        return junction[:place] + junction[place + 1 :]
    residues = AMINO_ACIDS if edit == "insertion" else AMINO_ACIDS.replace(junction[place], "")
    residue = residues[rng.integers(len(residues))]
    return junction[:place] + residue + junction[place + (edit == "substitution") :]


def draw(table: pa.Table):
    """A row a chain, a column an encoder; a line an edit."""
    data = table.to_pandas()
    names = list(data["encoder"].unique())
    figure, axes = plt.subplots(
        2,
        len(names),
        figsize=(max(3.2 * len(names), 6), 6),
        squeeze=False,
        layout="constrained",
        sharey="col",
    )
    for column, name in enumerate(names):
        for row, chain in enumerate(GREEK.values()):
            axis = axes[row][column]
            own = data[(data["encoder"] == name) & (data["chain"] == chain)]
            for index, edit in enumerate(EDITS):
                line = own[own["edit"] == edit].set_index("region").reindex(REGIONS)
                axis.errorbar(
                    REGIONS, line["mean_distance"], yerr=line["std_distance"], label=edit, capsize=2,
                    markersize=4, **style(index),
                )  # fmt: skip
            axis.set_title(f"{title(name)}, {chain}", fontsize=9)
            axis.tick_params(axis="x", rotation=45, labelsize=8)
            axis.set_ylim(0)
            axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("Distance to the receptor before")
    axes[1][0].set_ylabel("Distance to the receptor before")
    axes[0][0].legend(frameon=False, fontsize=8)
    return figure


def plot(table: pa.Table) -> dict:
    data = table.to_pandas().dropna(subset=["relative"])
    return {
        "kind": "linegraph",
        "data": [
            {
                f"{edit}, {chain}": {row.region: round(row.relative, 4) for row in line.itertuples()}
                for (chain, edit), line in of_encoder.groupby(["chain", "edit"])
            }
            for _, of_encoder in data.groupby("encoder", sort=False)
        ],
        "pconfig": {
            "xlab": "Fifth of the junction, from the N terminus",
            "ylab": "Distance (1: mean of two random receptors)",
            "categories": True,
            "ymin": 0,
            "tt_decimals": 3,
            "style": "lines+markers",
            "showlegend": True,
            "data_labels": [{"name": title(name)} for name in data["encoder"].unique()],
        },
    }


def reading(table: pa.Table) -> str:
    data = table.to_pandas()
    indel = data[data["edit"] != "substitution"]
    found = []
    for name in data["encoder"].unique():
        of_indels = indel[indel["encoder"] == name]
        means = of_indels.groupby("region")["mean_distance"].mean().reindex(REGIONS)
        substitution = data[(data["encoder"] == name) & (data["edit"] == "substitution")][
            "mean_distance"
        ].mean()
        found.append(
            f"{title(name)} {_ratio(means.mean(), substitution)} and {_ratio(means['start'], means['end'])}"
        )
    return (
        "What an insertion or deletion costs against a substitution, and such an indel in the first against"
        f" one in the last fifth of the junction: {'; '.join(found)}. In the paper indels cost more than"
        " substitutions, evenly along the junction for SCEPTR, and most at one end for models with"
        " left-aligned positions."
    )


def _ratio(a: float, b: float) -> str:
    return f"{a / b:.2f}" if b > 0 else "-"
