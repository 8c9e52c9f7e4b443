"""
AUROC against encoder size.

The paper's figure "Model complexity does not correlate with downstream performance": mean few-shot AUROC
against the number of parameters and the number of vector dimensions.
"""

import sys
from collections.abc import Iterable

from airrvec.analyses import EACH_ENCODER, AnalysisSkipped
from airrvec.analyses.material import Material, with_mean_auroc
from airrvec.core import schema

import pandas as pd
import pyarrow as pa

SCOPE = EACH_ENCODER
SCHEMA = schema.COMPLEXITY


def measure(material: Material) -> pa.Table:
    """Return the numbers of learnt parameters, without heads used only in training, and of dimensions."""
    vectors = material.embed(material.sample.receptors.slice(0, 1))  # may load the weights
    row = {
        "encoder": material.name,
        "n_parameters": n_parameters(material.encoder),
        "n_dimensions": vectors.shape[1],
    }
    return pa.Table.from_pylist([row], SCHEMA)


def n_parameters(encoder) -> int:
    """
    Return the number of learnt parameters.

    This is the encoder's attribute ``n_parameters`` if it exists. Otherwise it is the sum over the torch
    modules that the encoder or its parts hold as attributes, in lists or in dictionaries.
    """
    if hasattr(encoder, "n_parameters"):
        return int(encoder.n_parameters)
    torch = sys.modules.get("torch")  # imported by the encoder itself if it holds a module
    if torch is None:
        return 0
    seen, waiting, modules = {id(encoder)}, [(encoder, 0)], []
    while waiting:
        thing, depth = waiting.pop()
        if isinstance(thing, torch.nn.Module):
            modules.append(thing)
        elif depth < 4:  # a sum, its list, the check of an own encoder, the encoder
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
    """Add the mean AUROC over epitopes to the sizes."""
    table = with_mean_auroc(measured, auroc)
    if table["auroc"].null_count == len(table):
        raise AnalysisSkipped("none of these encoders has an AUROC: no epitope was evaluated")
    return table
