"""
AUROC against the size of an encoder.

The paper's figure "Model complexity does not correlate with downstream performance": mean few-shot AUROC
against the number of parameters, and of the dimensions of a vector.
"""

from collections.abc import Iterable

import pandas as pd
import pyarrow as pa
import torch
from matplotlib import pyplot as plt

from airrvec.analyses import EACH_ENCODER, NotDone
from airrvec.analyses.material import Material
from airrvec.encoders import title
from airrvec.report.figures import style

TITLE = "AUROC and model size"
SCOPE = EACH_ENCODER
SCHEMA = pa.schema(
    [
        ("encoder", pa.string()),
        ("n_parameters", pa.int64()),
        ("n_dimensions", pa.int32()),
        ("k", pa.int32()),
        ("auroc", pa.float64()),
    ]
)


def measure(material: Material) -> pa.Table:
    """Parameters that were learnt, those of the heads that training alone needs left out, and dimensions."""
    if not hasattr(material.encoder, "embed"):
        raise NotDone("it gives distances, and no vectors")
    vectors = material.encoder.embed(material.sample.receptors.slice(0, 1))  # weights may be read now
    row = {
        "encoder": material.name,
        "n_parameters": n_parameters(material.encoder),
        "n_dimensions": vectors.shape[1],
    }
    return pa.Table.from_pylist([row], SCHEMA)


def n_parameters(encoder) -> int:
    """
    Parameters that were learnt: ``n_parameters`` of an encoder that has it, else those of its torch modules,
    which it or a part of it holds as attributes, or in lists and dictionaries.
    """
    if hasattr(encoder, "n_parameters"):
        return int(encoder.n_parameters)
    seen, waiting, modules = {id(encoder)}, [(encoder, 0)], []
    while waiting:
        thing, depth = waiting.pop()
        if isinstance(thing, torch.nn.Module):
            modules.append(thing)
        elif depth < 3:
            for part in _parts(thing):
                if id(part) not in seen:
                    seen.add(id(part))
                    waiting.append((part, depth + 1))
    distinct = {id(parameter): parameter.numel() for module in modules for parameter in module.parameters()}
    return sum(distinct.values())


def _parts(thing) -> Iterable:
    if isinstance(thing, dict):
        return thing.values()
    if isinstance(thing, list | tuple):
        return thing
    return vars(thing).values() if hasattr(thing, "__dict__") else ()


def conclude(measured: pa.Table, auroc: pd.DataFrame) -> pa.Table:
    """Beside the sizes the mean AUROC of the epitopes."""
    means = auroc[auroc["epitope"] == "mean"].set_index("encoder")
    data = measured.to_pandas().drop(columns=["k", "auroc"])
    data = data.join(means[["k", "auroc"]], on="encoder")
    if data["auroc"].isna().all():
        raise NotDone("none of these encoders has an AUROC: no epitope was evaluated")
    return pa.Table.from_pandas(data, SCHEMA, preserve_index=False)


def draw(table: pa.Table):
    """A panel for parameters, one for dimensions."""
    data = _evaluated(table)
    figure, axes = plt.subplots(1, 2, figsize=(11.5, 4.4), sharey=True, layout="constrained")
    for axis, column, words in zip(
        axes, ("n_parameters", "n_dimensions"), ("Parameters", "Dimensions of a vector"), strict=True
    ):
        for index, row in enumerate(data.itertuples()):
            look = {**style(index), "linestyle": ""}
            axis.plot(getattr(row, column), row.auroc, label=title(row.encoder), markersize=8, **look)
        axis.set_xscale("symlog" if (data[column] < 1).any() else "log")
        axis.set_xlabel(words)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel(f"AUROC, mean of the epitopes, k = {data['k'].iloc[0]}")
    axes[1].legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def plot(table: pa.Table) -> dict:
    return {
        "kind": "scatter",
        "data": {
            title(row.encoder): {"x": row.n_parameters, "y": round(row.auroc, 4)}
            for row in _evaluated(table).itertuples()
        },
        "pconfig": {"xlab": "Parameters", "ylab": "AUROC", "xlog": True, "marker_size": 8, "tt_decimals": 3},
    }


def reading(table: pa.Table) -> str:
    data = _evaluated(table)
    best = data.loc[data["auroc"].idxmax()]
    words = (
        f"The best of {len(data)} encoders has {best['n_parameters']:,} parameters and"
        f" {best['n_dimensions']:,} dimensions."
    )
    if len(data) > 3:
        rho = data["auroc"].corr(data["n_parameters"], method="spearman")
        words += f" Spearman's ρ of AUROC and number of parameters: {rho:.2f}."
    return words + (
        " In the paper SCEPTR, the smallest language model by a wide margin, does best: size is not what"
        " limits prediction."
    )


def _evaluated(table: pa.Table) -> pd.DataFrame:
    return table.to_pandas().dropna(subset=["auroc"]).astype({"k": int})
