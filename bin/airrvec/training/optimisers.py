"""Optimisers: name in a preset → a function that makes one. To add one, add an entry."""

from collections.abc import Callable

from airrvec.training.presets import Schedule

import torch
from torch import nn
from torch.optim import Optimizer


def _adam(parameters: list[nn.Parameter], schedule: Schedule) -> Optimizer:
    first, second = schedule.betas
    return torch.optim.Adam(
        parameters, lr=0.0, betas=(first, second), eps=1e-9, weight_decay=schedule.weight_decay
    )


def _adamw(parameters: list[nn.Parameter], schedule: Schedule) -> Optimizer:
    first, second = schedule.betas
    return torch.optim.AdamW(
        parameters, lr=0.0, betas=(first, second), eps=1e-9, weight_decay=schedule.weight_decay
    )


def _sgd(parameters: list[nn.Parameter], schedule: Schedule) -> Optimizer:
    return torch.optim.SGD(parameters, lr=0.0, momentum=schedule.betas[0], weight_decay=schedule.weight_decay)


# The loop sets the learning rate of each step.
OPTIMISERS: dict[str, Callable[[list[nn.Parameter], Schedule], Optimizer]] = {
    "adam": _adam,
    "adamw": _adamw,
    "sgd": _sgd,
}
