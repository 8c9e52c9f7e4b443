"""The map of receptors: a page of its own, with its data inside of it."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from airrvec.core import schema, tables
from airrvec.model.variants import VARIANTS

PIXELS = 4096  # places are whole numbers below it
CELLS_OF_DENSITY = 160
MOST_CALLS = 20_000
MOST_JOINED = 3  # values of a receptor that make a category of their own

_TITLES = {
    "sample_id": "Sample",
    "chain_pairing": "Chain pairing",
    "species": "Species",
    "epitope": "Epitope (labelled)",
    "call": "Epitope (annotated)",
    "cluster_id": "Cluster",
}
_CALLS = {
    "receptor_id": "Receptor",
    "sample_id": "Samples",
    "n_cells": "Cells",
    "epitope": "Epitope",
    "antigen_species": "Organism",
    "mhc_a": "MHC",
    "probability": "Probability",
    "fdr": "FDR",
    "nearest_1_distance": "Distance",
    "nearest_1_id": "Nearest reference",
}
CALL_COLUMNS = [name for name in _CALLS if name != "n_cells"]  # of `airrvec.core.schema.ANNOTATION`


def page(data: dict, folder: Path) -> str:
    """
    The page, with data, style and code inside.

    Parameters
    ----------
    data : dict
        From `content`. It goes in as JSON in which no tag can begin; the code sets text alone.
    folder : Path
        ``map.html``, ``map.css`` and ``map.js``.
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
    for mark, part in parts.items():  # the data last, whose words may look like marks
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
    What the page shows.

    Parameters
    ----------
    points : DataFrame
        `airrvec.core.schema.MAP`, the receptors that are points.
    receptors : DataFrame
        ``receptors``, those of ``points`` at least.
    cells : DataFrame
        Their ``cells`` of all samples, one below the other.
    members : DataFrame, optional
        ``receptor_id``, ``cluster_id``.
    calls : DataFrame, optional
        `airrvec.repertoire.map_tables.calls` of all samples.
    n : int
        Receptors that have a place.
    density : Density, optional
        Of all receptors, where not all are points.
    method : {"umap", "pca"}
        What made the places.
    model : str
        What made the vectors.
    """
    ids = pd.Index(points["receptor_id"])
    of_points = receptors.set_index("receptor_id").loc[ids]
    of_cells = cells[cells["receptor_id"].isin(ids)]
    clonotypes = of_points["clonotype_id"]
    of_clonotypes = cells[cells["clonotype_id"].isin(clonotypes)]
    colours = {"sample_id": _joined(of_clonotypes, "sample_id", clonotypes)}
    if calls is not None:
        colours["call"] = (
            calls.drop_duplicates("receptor_id").set_index("receptor_id")["epitope"].reindex(ids)
        )
    colours["epitope"] = _joined(of_clonotypes, "epitope", clonotypes)
    if members is not None:
        colours["cluster_id"] = members.set_index("receptor_id")["cluster_id"].reindex(ids)
    colours["chain_pairing"] = of_points["chain_pairing"]
    if len(set(of_points["species"])) > 1:
        colours["species"] = of_points["species"]
    for name in cells.columns.difference(schema.CELLS.names, sort=False):
        colours[f"{name} "] = _joined(of_clonotypes, name, clonotypes)  # no name of ours ends so
    scale = Scale(points[["map_1", "map_2"]].to_numpy())
    x, y = scale(points[["map_1", "map_2"]].to_numpy()).T.tolist()
    return {
        "method": method.upper(),
        "model": VARIANTS[model][1] if model in VARIANTS else model,
        "n": n,
        "x": x,
        "y": y,
        "ids": ids.tolist(),
        "cells": of_cells["receptor_id"].value_counts().reindex(ids, fill_value=0).tolist(),
        "colours": [
            {"title": _TITLES.get(name, name.strip()), **_coded(values)}
            for name, values in colours.items()
            if values.notna().any()
        ],
        "fields": {name: _coded(of_points[name]) for name in schema.RECEPTOR_FIELDS},
        "density": None if density is None else density.shades(),
        "calls": None if calls is None else _calls(calls),
    }


def _joined(cells: pd.DataFrame, name: str, clonotypes: pd.Series) -> pd.Series:
    """Distinct values of the cells of each receptor's clonotype as one text; null where there are none."""
    pairs = cells[["clonotype_id", name]].dropna().drop_duplicates().sort_values([name, "clonotype_id"])
    groups = pairs.groupby("clonotype_id")[name]
    first, counts = groups.first(), groups.size()
    several = groups.agg(", ".join)[counts > 1] if (counts > 1).any() else first[:0]
    words = first.astype(object)
    words[several.index] = [
        text if counts[clonotype] <= MOST_JOINED else f"{counts[clonotype]} of them"
        for clonotype, text in several.items()
    ]
    return clonotypes.map(words)


def _coded(values: pd.Series) -> dict:
    """Distinct values, the most frequent first, and each row's, -1 for none."""
    words = values.value_counts(sort=True).index
    codes = pd.Categorical(values, categories=words).codes
    return {"values": [str(word) for word in words], "codes": codes.tolist()}


def _calls(calls: pd.DataFrame) -> dict:
    """Receptors with an annotation, the surest first."""
    groups = calls.groupby("receptor_id", sort=True)
    rows = groups.first()
    rows["n_cells"] = groups.size()
    rows["sample_id"] = groups["sample_id"].agg(lambda names: ", ".join(sorted(set(names))))
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
    """Places → whole numbers from 0 to `PIXELS`, both axes alike."""

    def __init__(self, places: np.ndarray):
        self.low = places.min(axis=0) if len(places) else np.zeros(2)
        self.span = float(np.ptp(places, axis=0).max()) if len(places) else 1
        self.span = self.span or 1.0

    def __call__(self, places: np.ndarray) -> np.ndarray:
        return ((places - self.low) / self.span * (PIXELS - 1)).round().astype(int)


class Density:
    """Receptors in the squares of a grid, counted batch by batch."""

    def __init__(self, scale: Scale):
        self.edges = [low + scale.span * np.linspace(0, 1, CELLS_OF_DENSITY + 1) for low in scale.low]
        self.counts = np.zeros((CELLS_OF_DENSITY, CELLS_OF_DENSITY))

    def add(self, places: np.ndarray) -> None:
        """Count places, shape (n, 2), within the bounds of the scale."""
        inside = [
            np.clip(axis, edges[0], edges[-1]) for axis, edges in zip(places.T, self.edges, strict=True)
        ]
        self.counts += np.histogram2d(*inside, bins=self.edges)[0]

    def shades(self) -> dict:
        """Whole numbers from 0 to 255 on a scale of roots."""
        roots = np.sqrt(self.counts)
        values = (255 * roots / roots.max()).round().astype(int)
        return {"size": CELLS_OF_DENSITY, "values": values.ravel().tolist()}
