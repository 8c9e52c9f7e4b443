"""Map of receptors: a self-contained HTML page that holds its data."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from airrvec.core import antigens, names, schema, tables
from airrvec.model.variants import VARIANTS

PIXELS = 4096  # coordinates are whole numbers below it
CELLS_OF_DENSITY = 160  # grid squares per side
MOST_CALLS = 20_000  # rows in the table of calls
MOST_JOINED = 3  # values of a receptor that are listed; more are counted

_TITLES = {
    "sample_id": "Sample",
    "chain_pairing": "Chain pairing",
    "species": "Species",
    "epitope": "Epitope (labelled)",
    "call": "Epitope (annotated)",
    "cluster_id": "Cluster",
}
# Columns of the list of calls, and of the file that the page writes; ids last.
_CALLS = {
    "alpha_chain": "α chain",
    "beta_chain": "β chain",
    "epitope": "Epitope",
    "antigen_gene": "Antigen",
    "antigen_species": "Organism",
    "mhc": "MHC",
    "probability": "Probability",
    "fdr": "FDR",
    "sample_id": "Samples",
    "n_cells": "Cells",
    "nearest_1_receptor": "Nearest reference",
    "nearest_1_epitope": "Its epitope",
    "nearest_1_study": "Its study",
    "nearest_1_distance": "Distance",
    "receptor_id": "Receptor id",
    "nearest_1_id": "Reference id",
}
# Columns of `airrvec.core.schema.ANNOTATION` that the page needs.
CALL_COLUMNS = [
    *(name for name in _CALLS if name in schema.ANNOTATION.names),
    *("mhc_a", "mhc_b", *schema.RECEPTOR_FIELDS),
]


def page(data: dict, folder: Path) -> str:
    """
    Return the page as HTML, with data, style and code inside.

    Parameters
    ----------
    data : dict
        From `content`. The page holds it as JSON with ``<``, ``>`` and ``&`` escaped, so that no tag can
        begin in it; the code inserts it as text, never as HTML.
    folder : Path
        Folder of ``map.html``, ``map.css`` and ``map.js``.
    """
    parts = {
        "@style@": (folder / "map.css").read_text("utf-8"),
        "@code@": (folder / "map.js").read_text("utf-8"),
        "@data@": tables.json_text(data, separators=(",", ":"))
        .replace("<", "\\u003c")
        .replace(">", "\\u003e")
        .replace("&", "\\u0026"),
    }
    text = (folder / "map.html").read_text("utf-8")
    for mark, part in parts.items():  # the data come last: their texts may look like marks
        before, after = text.split(mark)
        text = before + part + after
    return text


def content(
    points: pd.DataFrame,
    receptors: pd.DataFrame,
    cells: pd.DataFrame,
    *,
    members: pd.DataFrame | None = None,
    calls: pd.DataFrame | None = None,
    n: int,
    density: "Density | None" = None,
    method: str,
    model: str,
) -> dict:
    """
    Return the data of the page.

    Parameters
    ----------
    points : DataFrame
        `airrvec.core.schema.MAP`: the receptors drawn as points.
    receptors : DataFrame
        ``receptors``, at least those of ``points``.
    cells : DataFrame
        ``cells`` of their clonotypes, all samples concatenated.
    members : DataFrame, optional
        ``receptor_id`` and ``cluster_id`` of clustered receptors.
    calls : DataFrame, optional
        `airrvec.repertoire.map_tables.read_calls` of all samples.
    n : int
        Number of receptors with coordinates.
    density : Density, optional
        Density of all receptors, if only some are points.
    method : {"umap", "pca"}
        Projection of the vectors.
    model : str
        Model of the vectors.
    """
    ids = pd.Index(points["receptor_id"])
    point_receptors = receptors.set_index("receptor_id").loc[ids]
    point_cells = cells[cells["receptor_id"].isin(ids)]
    clonotypes = point_receptors["clonotype_id"]
    clonotype_cells = cells[cells["clonotype_id"].isin(clonotypes)]
    colours = {"sample_id": _joined(clonotype_cells, "sample_id", clonotypes)}
    if calls is not None:
        colours["call"] = (
            calls.drop_duplicates("receptor_id").set_index("receptor_id")["epitope"].reindex(ids)
        )
    colours["epitope"] = _joined(clonotype_cells, "epitope", clonotypes)
    if members is not None:
        colours["cluster_id"] = members.set_index("receptor_id")["cluster_id"].reindex(ids)
    colours["chain_pairing"] = point_receptors["chain_pairing"]
    if len(set(point_receptors["species"])) > 1:
        colours["species"] = point_receptors["species"]
    for name in cells.columns.difference(schema.CELLS.names, sort=False):
        # The trailing space keeps metadata apart from the categories above.
        colours[f"{name} "] = _joined(clonotype_cells, name, clonotypes)
    scale = Scale(points[["map_1", "map_2"]].to_numpy())
    x, y = scale(points[["map_1", "map_2"]].to_numpy()).T.tolist()
    return {
        "method": method.upper(),
        "model": VARIANTS[model][1] if model in VARIANTS else model,
        "n": n,
        "x": x,
        "y": y,
        "ids": ids.tolist(),
        "cells": point_cells["receptor_id"].value_counts().reindex(ids, fill_value=0).tolist(),
        "colours": [
            {"title": _TITLES.get(name, name.strip()), **_coded(values)}
            for name, values in colours.items()
            if values.notna().any()
        ],
        "fields": {name: _coded(point_receptors[name]) for name in schema.RECEPTOR_FIELDS},
        "density": None if density is None else density.shades(),
        "calls": None if calls is None else _calls(calls),
    }


def _joined(cells: pd.DataFrame, name: str, clonotypes: pd.Series) -> pd.Series:
    """Return the distinct values in the cells of each receptor's clonotype as one text, or null."""
    pairs = cells[["clonotype_id", name]].dropna().drop_duplicates().sort_values([name, "clonotype_id"])
    groups = pairs.groupby("clonotype_id")[name]
    first, counts = groups.first(), groups.size()
    several = groups.agg(", ".join)[counts > 1] if (counts > 1).any() else first[:0]
    words = first.astype(object)
    words[several.index] = [
        text if counts[clonotype] <= MOST_JOINED else f"{counts[clonotype]} values"
        for clonotype, text in several.items()
    ]
    return clonotypes.map(words)


def _coded(values: pd.Series) -> dict:
    """Return the distinct values, most frequent first, and the code of each row, -1 for null."""
    words = values.value_counts(sort=True).index
    codes = pd.Categorical(values, categories=words).codes
    return {"values": [str(word) for word in words], "codes": codes.tolist()}


def _calls(calls: pd.DataFrame) -> dict:
    """Return the called receptors, those with the highest probability first."""
    groups = calls.groupby("receptor_id", sort=True)
    rows = groups.first()
    rows["n_cells"] = groups.size()
    rows["sample_id"] = groups["sample_id"].agg(lambda samples: ", ".join(sorted(set(samples))))
    rows["alpha_chain"], rows["beta_chain"] = (
        names.chain_names(rows, locus).to_pylist() for locus in schema.LOCI
    )
    rows["mhc"] = [
        antigens.mhc_name(*(None if pd.isna(chain) else chain for chain in chains))
        for chains in zip(rows["mhc_a"], rows["mhc_b"], strict=True)
    ]
    rows = rows.sort_values("probability", ascending=False, kind="stable").reset_index()[list(_CALLS)]
    for name, digits in (("probability", 3), ("fdr", 4), ("nearest_1_distance", 3)):
        rows[name] = rows[name].astype(float).round(digits)
    shown = rows.head(MOST_CALLS)
    return {
        "n": len(rows),
        "titles": list(_CALLS.values()),
        "names": list(_CALLS),
        "rows": json.loads(shown.to_json(orient="values")),
    }


class Scale:
    """Coordinates → whole numbers from 0 to `PIXELS` - 1, with the same scale for both axes."""

    def __init__(self, places: np.ndarray):
        self.low = places.min(axis=0) if len(places) else np.zeros(2)
        self.span = float(np.ptp(places, axis=0).max()) if len(places) else 1
        self.span = self.span or 1.0

    def __call__(self, places: np.ndarray) -> np.ndarray:
        return ((places - self.low) / self.span * (PIXELS - 1)).round().astype(int)


class Density:
    """Number of receptors in each square of a grid, counted batch by batch."""

    def __init__(self, scale: Scale):
        self.edges = [low + scale.span * np.linspace(0, 1, CELLS_OF_DENSITY + 1) for low in scale.low]
        self.counts = np.zeros((CELLS_OF_DENSITY, CELLS_OF_DENSITY))

    def add(self, places: np.ndarray) -> None:
        """Count coordinates, shape (n, 2); those beyond the bounds of the scale count at its edge."""
        inside = [
            np.clip(axis, edges[0], edges[-1]) for axis, edges in zip(places.T, self.edges, strict=True)
        ]
        self.counts += np.histogram2d(*inside, bins=self.edges)[0]

    def shades(self) -> dict:
        """Return the square roots of the counts, scaled to whole numbers from 0 to 255."""
        roots = np.sqrt(self.counts)
        values = (255 * roots / roots.max()).round().astype(int)
        return {"size": CELLS_OF_DENSITY, "values": values.ravel().tolist()}
