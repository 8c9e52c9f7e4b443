"""Dropout: the share of zeros and the scale, and its random numbers."""

from airrvec.model.dropout import Dropout

import numpy as np
import pytest
import torch

import process_state


def test_dropout_zeroes_a_share_and_scales_the_rest():
    torch.manual_seed(1)
    x = torch.ones(1000, 1000, requires_grad=True)
    y = Dropout(0.1).train()(x)
    assert y.unique().tolist() == [0, pytest.approx(1 / 0.9)]
    assert (y == 0).double().mean().item() == pytest.approx(0.1, abs=0.0015)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    assert torch.equal(gradient, y.detach())
    zeros = (y == 0).double().numpy()
    for shifted in (zeros[:, 1:], zeros[1:]):
        here = zeros[: shifted.shape[0], : shifted.shape[1]]
        assert abs(np.corrcoef(here.ravel(), shifted.ravel())[0, 1]) < 0.004


def test_dropout_follows_torchs_seed_and_not_the_threads():
    layer, x, found = Dropout(0.3).train(), torch.randn(64, 999), []
    with process_state.restored_threads():
        for threads, seed in ((1, 7), (2, 7), (2, 8)):
            torch.set_num_threads(threads)
            torch.manual_seed(seed)
            found.append(layer(x))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])
    assert torch.equal(layer.eval()(x), x)
