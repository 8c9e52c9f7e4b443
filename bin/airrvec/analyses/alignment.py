r"""
Alignment and uniformity of an encoder's vectors, beside its AUROC.

The paper's Discussion, ``eq:alignment`` and ``eq:uniformity``, after Wang & Isola 2020:

.. math:: \mathrm{Align.} = E_{(x, x^+)} |f(x) - f(x^+)|, \quad
    \mathrm{Unif.} = \log E_{x, y} e^{-|f(x) - f(y)|^2}

over co-specific pairs and over all pairs of random labelled receptors. Vectors are l2-normalised, as the
equations are for points on a sphere. Every receptor that shares an epitope counts the same.
"""

import numpy as np
import pandas as pd
import pyarrow as pa
import torch
from matplotlib import pyplot as plt

from airrvec.analyses import EACH_ENCODER, NotDone
from airrvec.analyses.material import Material
from airrvec.benchmark.fewshot import LabelledReceptors
from airrvec.core.seeds import generator
from airrvec.encoders import title
from airrvec.report.figures import style
from airrvec.training import objectives

TITLE = "Alignment and uniformity"
SCOPE = EACH_ENCODER
SCHEMA = pa.schema(
    [
        ("encoder", pa.string()),
        ("n_receptors", pa.int32()),
        ("n_dimensions", pa.int32()),
        ("alignment", pa.float64()),
        ("uniformity", pa.float64()),
        ("alignment_squared", pa.float64()),
        ("uniformity_t2", pa.float64()),
        ("k", pa.int32()),
        ("auroc", pa.float64()),
    ]
)
PARTNERS = 10  # co-specific ones drawn for a receptor of an epitope
MOST = 4_000  # receptors whose pairs uniformity takes: 8 million distances


def measure(material: Material) -> pa.Table:
    """Alignment and uniformity, by the paper's equations and as training logs them."""
    if not hasattr(material.encoder, "embed"):
        raise NotDone("it gives distances, and no vectors")
    vectors = np.asarray(material.encoder.embed(material.sample.receptors), np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    seen = np.isfinite(vectors).all(axis=1)
    i, j = positive_pairs(material.sample, generator(material.seed, "alignment"))
    known = seen[i] & seen[j]
    if not known.any():
        raise NotDone("no two of its receptors with a vector share an epitope")
    a, b = (torch.from_numpy(vectors[rows[known]]) for rows in (i, j))
    some = torch.from_numpy(vectors[seen][:MOST])
    row = {
        "encoder": material.name,
        "n_receptors": int(seen.sum()),
        "n_dimensions": vectors.shape[1],
        "alignment": objectives.alignment(a, b, exponent=1).item(),
        "uniformity": objectives.uniformity(some, t=1).item(),
        "alignment_squared": objectives.alignment(a, b).item(),
        "uniformity_t2": objectives.uniformity(some).item(),
    }
    return pa.Table.from_pylist([row], SCHEMA)


def positive_pairs(labelled: LabelledReceptors, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """`PARTNERS` other receptors of the epitope for each receptor of each epitope: row numbers."""
    of_pairs = [(np.array([], np.int64), np.array([], np.int64))]
    for rows in labelled.epitopes.values():
        if len(rows) > 1:
            own = np.repeat(np.arange(len(rows)), PARTNERS)
            other = (own + rng.integers(1, len(rows), len(own))) % len(rows)
            of_pairs.append((rows[own], rows[other]))
    first, second = zip(*of_pairs, strict=True)
    return np.concatenate(first), np.concatenate(second)


def conclude(measured: pa.Table, auroc: pd.DataFrame) -> pa.Table:
    """Beside them the mean AUROC of the epitopes."""
    means = auroc[auroc["epitope"] == "mean"].set_index("encoder")
    data = measured.to_pandas().drop(columns=["k", "auroc"])
    data = data.join(means[["k", "auroc"]], on="encoder")
    return pa.Table.from_pandas(data, SCHEMA, preserve_index=False)


def draw(table: pa.Table):
    """Uniformity against alignment; the number beside a point is the AUROC."""
    figure, axis = plt.subplots(figsize=(7, 5), layout="constrained")
    for index, row in enumerate(table.to_pandas().itertuples()):
        look = {**style(index), "linestyle": ""}
        words = f"{title(row.encoder)}" + ("" if pd.isna(row.auroc) else f" ({row.auroc:.3f})")
        axis.plot(row.alignment, row.uniformity, label=words, markersize=8, **look)
    axis.set_xlabel("Alignment: mean distance of co-specific pairs")
    axis.set_ylabel("Uniformity: log mean exp(−d²) of all pairs")
    axis.legend(
        frameon=False, fontsize=8, title="Encoder (AUROC)", loc="center left", bbox_to_anchor=(1, 0.5)
    )
    axis.grid(alpha=0.3)
    return figure


def plot(table: pa.Table) -> dict:
    data = table.to_pandas().astype({"auroc": float, "k": float})
    columns = {
        "auroc": {"title": "AUROC", "format": "{:,.3f}", "min": 0.5, "max": 1, "scale": "Blues"},
        "alignment": {"title": "Alignment", "format": "{:,.3f}", "scale": "Oranges"},
        "uniformity": {"title": "Uniformity", "format": "{:,.3f}", "scale": "Greens"},
        "n_dimensions": {"title": "Dimensions", "format": "{:,.0f}", "scale": False},
    }
    return {
        "kind": "table",
        "data": {
            title(row["encoder"]): {name: None if pd.isna(row[name]) else row[name] for name in columns}
            for row in data.to_dict("records")
        },
        "headers": columns,
        "pconfig": {"col1_header": "Encoder", "sort_rows": False},
    }


def reading(table: pa.Table) -> str:
    data = table.to_pandas().astype({"auroc": float})
    known = data.dropna(subset=["auroc"])
    words = (
        "Alignment is the mean distance of co-specific receptors, uniformity how evenly all are spread; less"
        " is better of both."
    )
    if len(known) > 3:
        rho = {
            name: known["auroc"].corr(known[name], method="spearman") for name in ("alignment", "uniformity")
        }
        words += (
            f" Spearman's ρ with AUROC over {len(known)} encoders: alignment {rho['alignment']:.2f},"
            f" uniformity {rho['uniformity']:.2f}."
        )
    return words + (
        " The paper holds the uniformity that contrastive learning brings to be a key benefit: it undoes what"
        " recombination prefers."
    )
