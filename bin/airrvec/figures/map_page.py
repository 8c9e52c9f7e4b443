"""Map of receptors: a self-contained HTML page that holds its data."""

import base64
import json
import re
from pathlib import Path

from airrvec.core import antigens, chains, imgt, schema, tables
from airrvec.core.progress import step
from airrvec.input.calls import read_call
from airrvec.input.germline import j_anchors, v_loops
from airrvec.input.junctions import MAX_LENGTH
from airrvec.model.cpu import inference
from airrvec.model.variants import VARIANTS
from airrvec.model.weights import LoadedModel

import numpy as np
import pandas as pd

MAX_BYTES = 8_000_000  # of weights in a page; the largest published variant has 3.2 MB
# Receptors that the page embeds for comparison, times weights: 50,000 receptors and the default model take a
# browser less than a minute.
MAX_WORK = 50_000 * 160_000

_LAYER = ("qkv", "out", "expand", "contract", "norm1", "norm2")


def embedder(model: LoadedModel, receptors: pd.DataFrame, clusters: dict | None = None) -> dict:
    """
    Return the weights and tables with which the page embeds receptors as `airrvec.model.cpu.inference` does.

    Parameters
    ----------
    model : LoadedModel
        The model that embedded the receptors of the run.
    receptors : DataFrame
        ``receptors`` that are points of the map.
    clusters : dict, optional
        QC of ``cluster_receptors.py``.

    Returns
    -------
    dict
        ``shape``: the configuration, with the numbers of ``words`` (pairs of residue and loop) and ``places``
        (positions) of the embedding; ``weights``: float32, little-endian, base64, in the order of
        ``Network`` in ``embedding.js``; ``species``: V genes by species; ``compared``: number of points
        with which pasted receptors are compared; ``radii``: species → radius of the clusters of pairs, and
        the neighbours of a pair within it by chance. With more than `MAX_BYTES` of weights only ``absent``:
        the reason.
    """
    config, state = model.config, model.state
    left_aligned = config.embedding == "left_aligned"
    embedding = (inference.LeftAlignedEmbedding if left_aligned else inference.RelativeEmbedding)(
        config, state
    )
    arrays = [embedding.word_vectors, embedding.position_vectors]
    for layer in range(config.n_layers):
        arrays += [state[f"layers.{layer}.{name}.{part}"] for name in _LAYER for part in ("weight", "bias")]
    weights = np.concatenate([array.ravel() for array in arrays]).astype("<f4")
    if weights.nbytes > MAX_BYTES:
        return {
            "absent": f"The model has {weights.nbytes / 1e6:.1f} MB of weights; this page holds at most"
            f" {MAX_BYTES / 1e6:.0f} MB. airrvec embed and airrvec annotate take receptors of your own."
        }
    clustering = clusters or {}
    return {
        "model": VARIANTS[model.name][1] if model.name in VARIANTS else model.name,
        "shape": {
            "d": config.d_model,
            "heads": config.n_heads,
            "wide": config.d_feedforward,
            "layers": config.n_layers,
            "pooling": config.pooling,
            "relative": not left_aligned,
            "loops": list(config.loops),
            "words": embedding.word_vectors.shape[1],
            "places": embedding.position_vectors.shape[1],
        },
        "weights": base64.b64encode(weights.tobytes()).decode(),
        "longest": MAX_LENGTH,
        "species": {name: genes(name) for name in sorted(set(receptors["species"]))},
        "radii": {
            group["species"]: [group["radius"], clustering["chance"]]
            for group in clustering.get("groups", [])
            if group["chains"] == "paired"
        },
        "compared": int(min(len(receptors), max(1, MAX_WORK // config.n_parameters))),
    }


def genes(species: str) -> dict:
    """
    Return the V genes, alleles and families of the α and β loci, and their germline loops.

    Parameters
    ----------
    species : str
        A key of `airrvec.core.schema.SPECIES`.

    Returns
    -------
    dict
        ``title`` of the species; ``loops``: distinct pairs of CDR1 and CDR2; ``genes``: name → number of its
        pair, or -1 if it is a pseudogene, as `airrvec.input.calls.read_call` reads it; ``frames``: names of
        open reading frames, which chains of the run may have, but pasted ones may not, as nothing calls these
        productive; ``ends``: last residues of junctions that end neither in F nor in W, such as those of
        TRAJ35.
    """
    pair_numbers: dict[str, int] = {}
    pairs: dict[tuple[str, str], int] = {}
    frames = []
    for name in _names(species):
        call = read_call(name, "V", species)
        if call.functionality == imgt.OPEN_READING_FRAME:
            frames.append(name)
        if call.symbol is None:
            pair_numbers[name] = -1
        else:
            pair = v_loops(call.symbol, species)
            pair_numbers[name] = pairs.setdefault(pair, len(pairs))
    ends = {
        anchor.before[-2:] + anchor.residue
        for locus in schema.LOCI
        for anchor in j_anchors(None, locus, species)
        if anchor.residue not in "FW"
    }
    return {
        "title": schema.SPECIES[species][2],
        "loops": [list(pair) for pair in pairs],
        "genes": pair_numbers,
        "frames": frames,
        "ends": sorted(ends),
    }


def _names(species: str) -> list[str]:
    alleles = imgt.alleles(r"^TR[AB]V|/DV", species)
    names = set(alleles)
    for allele in alleles:
        gene = allele.split("*")[0]
        names |= {gene, re.sub(r"-\d+$", "", gene)}  # and its family
    return sorted(names)


# --- Map of receptors: a self-contained HTML page that holds its data

# Style and code of the page, in the folder of its template.
PARTS = ("map.css", "kernels.js", "embedding.js", "map.js", "pasted.js", "ask.js")
PIXELS = 4096  # coordinates are whole numbers below it
CELLS_OF_DENSITY = 160  # grid squares per side
MOST_CALLS = 20_000  # rows in the table of calls
SEVERAL = "several"  # colour of receptors with several values, such as a public receptor's samples
MOST_LISTED = 10  # of these values under the pointer; more are counted

_TITLES = {
    "sample_id": "Sample",
    "chain_pairing": "Chain pairing",
    "innate_like": "Innate-like",
    "species": "Species",
    "epitope": "Epitope (labelled)",
    "call": "Epitope (annotated)",
    "cluster_id": "Cluster",
    "tra_v_call": "V gene (α chain)",
    "trb_v_call": "V gene (β chain)",
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
    "n_cells": "Count",
    "count_unit": "Unit",
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
    *("mhc_a", "mhc_b", "abundance", *schema.RECEPTOR_FIELDS),
]


@step("page of the map")
def page(data: dict, folder: Path, model: dict | None = None) -> str:
    """
    Return the page as HTML, with data, model, style and code inside.

    Parameters
    ----------
    data : dict
        From `content`. The page holds it as JSON with ``<``, ``>`` and ``&`` escaped, so that no tag can
        begin in it; the code inserts it as text, never as HTML.
    folder : Path
        Folder of ``map.html`` and of `PARTS`.
    model : dict, optional
        From `embedder`. Without it the page takes no receptors from its reader.
    """
    parts = {f"@{name}@": (folder / name).read_text("utf-8") for name in PARTS}
    parts |= {"@model@": _escaped(model), "@data@": _escaped(data)}
    text = (folder / "map.html").read_text("utf-8")
    for mark, part in parts.items():  # the data come last: their texts may look like marks
        before, after = text.split(mark)
        text = before + part + after
    return text


def _escaped(content: dict | None) -> str:
    text = tables.json_text(content, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@step("content of the map")
def content(
    points: pd.DataFrame,
    receptors: pd.DataFrame,
    cells: pd.DataFrame,
    abundances: pd.DataFrame,
    *,
    clusters: pd.Series | None = None,
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
    abundances : DataFrame
        `airrvec.repertoire.layout.abundances` of the points.
    clusters : Series, optional
        Number of the cluster in the report, by ``receptor_id``; null in none.
    calls : DataFrame, optional
        `airrvec.repertoire.layout.read_calls` of all samples.
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
    colours, details = _colours(point_receptors, cells, clusters, calls)
    shown = [name for name, values in colours.items() if values.notna().any()]
    scale = Scale(points[["map_1", "map_2"]].to_numpy())
    x, y = scale(points[["map_1", "map_2"]].to_numpy()).T.tolist()
    return {
        "method": method.upper(),
        "model": VARIANTS[model][1] if model in VARIANTS else model,
        "n": n,
        "x": x,
        "y": y,
        "ids": ids.tolist(),
        "cells": [None if pd.isna(n) else int(n) for n in abundances["n"]],
        "units": _coded(abundances["unit"]),
        "colours": [
            {
                "title": _TITLES.get(name, name.strip()),
                **_coded(colours[name]),
                **({"details": details[name]} if details.get(name) else {}),
            }
            for name in shown
        ],
        "first": _first_colour(shown, colours) if shown else 0,
        "fields": {name: _coded(point_receptors[name]) for name in schema.RECEPTOR_FIELDS},
        "species": _species(point_receptors["species"]),
        "density": None if density is None else density.shades(),
        "calls": None if calls is None else _calls(calls),
    }


def _colours(
    point_receptors: pd.DataFrame,
    cells: pd.DataFrame,
    clusters: pd.Series | None,
    calls: pd.DataFrame | None,
) -> tuple[dict[str, pd.Series], dict[str, dict[int, str]]]:
    """
    Return the values that can colour the points, by name, and details of those with several values.

    Parameters
    ----------
    point_receptors : DataFrame
        Receptors of the points in their order, indexed by ``receptor_id``.
    cells, clusters, calls
        As in `content`.
    """
    ids = point_receptors.index
    clonotypes = point_receptors["clonotype_id"]
    clonotype_cells = cells[cells["clonotype_id"].isin(clonotypes)]
    details: dict[str, dict[int, str]] = {}

    def clonotype_values(name: str) -> pd.Series:
        values, details[name] = _distinct(clonotype_cells, name, clonotypes)
        return values

    colours = {"sample_id": clonotype_values("sample_id")}
    if calls is not None:
        colours["call"] = (
            calls.drop_duplicates("receptor_id").set_index("receptor_id")["epitope"].reindex(ids)
        )
    colours["epitope"] = clonotype_values("epitope")
    if clusters is not None:
        colours["cluster_id"] = clusters.reindex(ids)
    colours["chain_pairing"] = point_receptors["chain_pairing"]
    colours["innate_like"] = point_receptors["innate_like"]
    if len(set(point_receptors["species"])) > 1:
        colours["species"] = point_receptors["species"]
    for locus in schema.LOCI:
        name = schema.field(locus, "v_call")
        colours[name] = point_receptors[name].str.replace(r"\*.*", "", regex=True)
    metadata = list(cells.columns.difference(schema.CELLS.names, sort=False))
    for name in metadata:
        # The trailing space keeps metadata apart from the categories above.
        colours[f"{name} "] = clonotype_values(name)
        details[f"{name} "] = details.pop(name)
    return colours, details


def _distinct(cells: pd.DataFrame, name: str, clonotypes: pd.Series) -> tuple[pd.Series, dict[int, str]]:
    """
    Return the value of each receptor's clonotype, null or `SEVERAL`, and the values of the several ones.

    Returns
    -------
    Series of str, length n
    dict
        Row number → values, joined.
    """
    pairs = cells[["clonotype_id", name]].dropna().drop_duplicates().sort_values([name, "clonotype_id"])
    groups = pairs.groupby("clonotype_id")[name]
    first, counts = groups.first().astype(object), groups.size()
    several = counts[counts > 1].index
    first[several] = SEVERAL
    listed = {
        clonotype: ", ".join(map(str, values[:MOST_LISTED]))
        + (f" and {len(values) - MOST_LISTED} more" if len(values) > MOST_LISTED else "")
        for clonotype, values in pairs[pairs["clonotype_id"].isin(several)]
        .groupby("clonotype_id")[name]
        .agg(list)
        .items()
    }
    rows = enumerate(clonotypes)
    return clonotypes.map(first), {row: listed[word] for row, word in rows if word in listed}


def _first_colour(shown: list[str], colours: dict[str, pd.Series]) -> int:
    """
    Return the column that colours the map when it opens: a condition, else the sample.

    A condition is the first column of metadata with at least two values, fewer than there are samples.
    """

    def n_values(name: str) -> int:
        return colours[name][colours[name] != SEVERAL].nunique()

    conditions = (name for name in shown if name.endswith(" "))
    chosen = next((name for name in conditions if 2 <= n_values(name) < n_values("sample_id")), shown[0])
    return shown.index(chosen)


def _coded(values: pd.Series) -> dict:
    """Return the distinct values, most frequent first, and the code of each row, -1 for null."""
    words = values.value_counts(sort=True).index
    codes = pd.Categorical(values, categories=words).codes
    return {"values": [str(word) for word in words], "codes": codes.tolist()}


def _species(values: pd.Series) -> dict:
    """Return the species of the receptors, without codes if there is one."""
    coded = _coded(values)
    return coded if len(coded["values"]) > 1 else {"values": coded["values"]}


def _calls(calls: pd.DataFrame) -> dict:
    """Return the called receptors, those with most cells, UMIs or reads first, with those of each sample."""
    groups = calls.groupby("receptor_id", sort=True)
    rows = groups.first()
    rows["n_cells"] = groups["abundance"].sum(min_count=1)
    units = groups["count_unit"].agg(lambda words: sorted(set(words)))
    rows["count_unit"] = units.str.join(", ")
    rows.loc[units.str.len() > 1, "n_cells"] = None  # numbers of several units have no sum
    rows["sample_id"] = _samples_of(calls)
    rows["alpha_chain"], rows["beta_chain"] = (
        chains.chain_names(rows, locus).to_pylist() for locus in schema.LOCI
    )
    rows["mhc"] = [
        antigens.mhc_name(*(None if pd.isna(chain) else chain for chain in chains))
        for chains in zip(rows["mhc_a"], rows["mhc_b"], strict=True)
    ]
    order = ["n_cells", "probability"]
    rows = rows.sort_values(order, ascending=False, kind="stable").reset_index()[list(_CALLS)]
    for name, digits in (("probability", 3), ("fdr", 4), ("nearest_1_distance", 3)):
        rows[name] = rows[name].astype(float).round(digits)
    shown = rows.head(MOST_CALLS)
    return {
        "n": len(rows),
        "titles": list(_CALLS.values()),
        "names": list(_CALLS),
        "rows": json.loads(shown.to_json(orient="values")),
    }


def _samples_of(calls: pd.DataFrame) -> pd.Series:
    """Return the samples of each receptor with their counts, the largest first: ``lung 12, blood 3``."""
    counts = calls.groupby(["receptor_id", "sample_id"])["abundance"].sum(min_count=1).reset_index()
    counts = counts.sort_values(["abundance", "sample_id"], ascending=[False, True], kind="stable")
    numbers = counts["abundance"].map(lambda n: "" if pd.isna(n) else f" {int(n):,}")
    return (counts["sample_id"] + numbers).groupby(counts["receptor_id"]).agg(", ".join)


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
