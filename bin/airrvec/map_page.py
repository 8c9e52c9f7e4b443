"""The map of receptors: a page of its own, with its data inside of it."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.compute as pc

from airrvec import schema, tables
from airrvec.variants import VARIANTS

PIXELS = 4096  # places are whole numbers below it
CELLS_OF_DENSITY = 160
MOST_CALLS = 20_000
MOST_JOINED = 3  # values of a receptor that make a category of their own

_TITLES = {
    "sample_id": "Sample",
    "chain_pairing": "Chain pairing",
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
        "@data@": json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
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
    places: pd.DataFrame,
    shown: np.ndarray,
    receptors: pd.DataFrame,
    cells: pd.DataFrame,
    *,
    members: pd.DataFrame | None = None,
    calls: pd.DataFrame | None = None,
    method: str,
    model: str,
) -> dict:
    """
    What the page shows.

    Parameters
    ----------
    places : DataFrame
        `airrvec.schema.MAP`, the receptors that have a place.
    shown : ndarray of int64
        Rows of ``places`` that are points; the density is that of all.
    receptors : DataFrame
        ``receptors``, those of ``places`` at least.
    cells : DataFrame
        ``cells`` of all samples, one below the other.
    members : DataFrame, optional
        ``receptor_id``, ``cluster_id``.
    calls : DataFrame, optional
        `airrvec.schema.ANNOTATION` of all samples.
    method : {"umap", "pca"}
        What made the places.
    model : str
        What made the vectors.
    """
    points = places.iloc[shown]
    ids = pd.Index(points["receptor_id"])
    of_points = receptors.set_index("receptor_id").loc[ids]
    of_cells = cells[cells["receptor_id"].isin(ids)]
    colours = {"sample_id": _joined(of_cells, "sample_id", ids)}
    if calls is not None:
        calls = calls[calls["call"] == "called"]
        colours["call"] = (
            calls.drop_duplicates("receptor_id").set_index("receptor_id")["epitope"].reindex(ids)
        )
    colours["epitope"] = _joined(of_cells, "epitope", ids)
    if members is not None:
        colours["cluster_id"] = members.set_index("receptor_id")["cluster_id"].reindex(ids)
    colours["chain_pairing"] = of_points["chain_pairing"]
    for name in cells.columns.difference(schema.CELLS.names, sort=False):
        colours[f"{name} "] = _joined(of_cells, name, ids)  # no name of ours ends so
    scale = _Scale(places[["map_1", "map_2"]].to_numpy())
    x, y = scale(points[["map_1", "map_2"]].to_numpy()).T.tolist()
    return {
        "method": method.upper(),
        "model": VARIANTS[model][1] if model in VARIANTS else model,
        "n": len(places),
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
        "density": scale.density(places[["map_1", "map_2"]].to_numpy()) if len(shown) < len(places) else None,
        "calls": None if calls is None else _calls(calls),
    }


def _joined(cells: pd.DataFrame, name: str, ids: pd.Index) -> pd.Series:
    """The distinct values of a receptor's cells as one text; null where there are none."""
    pairs = cells[["receptor_id", name]].dropna().drop_duplicates().sort_values([name, "receptor_id"])
    groups = pairs.groupby("receptor_id")[name]
    first, counts = groups.first(), groups.size()
    several = groups.agg(", ".join)[counts > 1] if (counts > 1).any() else first[:0]
    words = first.astype(object)
    words[several.index] = [
        text if counts[receptor] <= MOST_JOINED else f"{counts[receptor]} of them"
        for receptor, text in several.items()
    ]
    return words.reindex(ids)


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


class _Scale:
    """Places → whole numbers from 0 to `PIXELS`, both axes alike."""

    def __init__(self, places: np.ndarray):
        self.low = places.min(axis=0) if len(places) else np.zeros(2)
        self.span = float(np.ptp(places, axis=0).max()) if len(places) else 1
        self.span = self.span or 1.0

    def __call__(self, places: np.ndarray) -> np.ndarray:
        return ((places - self.low) / self.span * (PIXELS - 1)).round().astype(int)

    def density(self, places: np.ndarray) -> dict:
        """Receptors in the squares of a grid, as whole numbers from 0 to 255 on a scale of roots."""
        edges = [low + self.span * np.linspace(0, 1, CELLS_OF_DENSITY + 1) for low in self.low]
        counts = np.sqrt(np.histogram2d(*places.T, bins=edges)[0])
        return {
            "size": CELLS_OF_DENSITY,
            "values": (255 * counts / counts.max()).round().astype(int).ravel().tolist(),
        }


def read_cells(paths: list[Path]) -> pd.DataFrame:
    """``sample_id``, ``receptor_id``, ``epitope`` and the metadata of all samples' cells."""
    frames = []
    for path in paths:
        names = [name for name in tables.arrow_schema(path).names if name not in schema.CELLS.names]
        frames.append(tables.read(path, ["sample_id", "receptor_id", "epitope", *names]).to_pandas())
    return pd.concat(frames, ignore_index=True)


def vectors(embeddings: Path) -> tuple[list[str], np.ndarray]:
    """receptor_ids that have a vector, and their vectors."""
    table = tables.read(embeddings)
    table = table.filter(pc.is_valid(table["dim_01"]))
    columns = [table[name].to_numpy() for name in table.column_names[1:]]
    return table["receptor_id"].to_pylist(), np.stack(columns, axis=1).astype(np.float32)
