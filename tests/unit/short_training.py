"""A small model and short trainings of it."""

from airrvec.model.tokens import Tokens, tokenise
from airrvec.model.transformer import ModelConfig, ReceptorEncoder
from airrvec.synthetic import synthesis
from airrvec.training.presets import Objective, Schedule
from airrvec.training.trainer import train

import numpy as np
import pyarrow as pa
import torch

TINY = ModelConfig(n_layers=2, d_model=16, n_heads=2, d_feedforward=32)
SHORT = Schedule(
    steps=12, batch_size=32, learning_rate=1e-3, warmup_steps=4, decay=False, validate_every=6, clip=1.0
)


def tiny_encoder(seed: int = 0, config: ModelConfig = TINY) -> ReceptorEncoder:
    torch.manual_seed(seed)
    return ReceptorEncoder(config).train()


def run(encoder, data, folder, *, validation=None, objective=None, schedule=SHORT, seed=1, **options):
    options = {"device": "cpu", **options}
    objective = objective or Objective()
    return train(encoder, data, validation, objective, schedule, seed=seed, folder=folder, **options)


def losses(trained, part: str = "train") -> list[float]:
    return [row["loss"] for row in trained.history.to_pylist() if row["part"] == part]


def alike(n_rows: int, n_receptors: int) -> Tokens:
    """Rows of few receptors, one after the other, over and over."""
    few = synthesis.synthesise(n_receptors, seed=3)
    return tokenise(few.take(pa.array(np.arange(n_rows) % n_receptors)))
