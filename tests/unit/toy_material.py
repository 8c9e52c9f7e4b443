"""Labelled receptors and an encoder of two numbers, for the analyses."""

from airrvec.analyses import material
from airrvec.core import tables
from airrvec.core.seeds import generator
from airrvec.evaluation import fewshot
from airrvec.synthetic import synthesis

import numpy as np


def labelled(n=60, seed=5) -> fewshot.LabelledReceptors:
    """Synthetic receptors; A has the first half, B the second and some of the first, C one."""
    receptors = tables.distinct_receptors(synthesis.synthesise(n, seed=seed))
    epitopes = {"A": np.arange(n // 2), "B": np.arange(n // 3, n), "C": np.array([1])}
    return fewshot.LabelledReceptors(receptors, epitopes, {}, None)


def of(receptors, encoder=None, **more) -> material.Material:
    options = {"n_receptors": 1000, "min_receptors": 10, "seed": 1, "name": "toy", "encoder": encoder}
    return material.Material(receptors, **{**options, **more})


class Toy:
    """Vectors that a receptor's junctions determine."""

    def __init__(self, n_dimensions=5):
        self.n_dimensions = n_dimensions

    def embed(self, receptors):
        words = zip(
            receptors["tra_junction_aa"].to_pylist(), receptors["trb_junction_aa"].to_pylist(), strict=True
        )
        seeds = (generator(0, *pair) for pair in words)
        return np.stack([rng.normal(size=self.n_dimensions) for rng in seeds]).astype(np.float32)
