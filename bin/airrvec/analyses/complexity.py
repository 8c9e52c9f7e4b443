"""
AUROC against the size of an encoder.

The paper's figure "Model complexity does not correlate with downstream performance": mean few-shot AUROC
against the number of parameters, and of the dimensions of a vector.
"""

from collections.abc import Iterable

import pandas as pd
import pyarrow as pa
import torch

from airrvec.analyses import EACH_ENCODER, NotDone
from airrvec.analyses.material import Material

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
