"""Masks have the paper's proportions exactly, and touch nothing else."""

from fractions import Fraction

from airrvec.model import tokens as tk
from airrvec.training import data
from airrvec.training.data import NO_TARGET, censor, mask

import pytest
import torch
from hypothesis import given
from token_batches import (
    DEVICES,
    PAIRED,
    SEARCH,
    batch_of,
    batches,
    generator,
    hundredths,
    rows_of,
    seeds,
    share,
)


@SEARCH
@given(batches, hundredths, seeds)
def test_masked_hides_the_exact_share_and_nothing_else(loop_lengths, fraction, seed):
    batch = batch_of(loop_lengths)
    shown, targets = mask(batch, fraction=float(fraction), generator=generator(seed))
    assert targets.dtype == torch.int64
    assert torch.equal(shown.padding, batch.padding)
    assert torch.equal(shown.tokens[..., 1:], batch.tokens[..., 1:])
    rows = zip(rows_of(batch), rows_of(shown), targets.tolist(), strict=True)
    for whole, seen, row_targets in rows:
        assert seen[0][tk.RESIDUE] == tk.CLS
        n = len(whole) - 1
        hidden = [column for column, target in enumerate(row_targets) if target != NO_TARGET]
        assert len(hidden) == share(fraction, n)
        for column in hidden:
            assert 1 <= column <= n
            assert row_targets[column] == whole[column][tk.RESIDUE] - tk.FIRST_AMINO_ACID
            assert seen[column][tk.RESIDUE] in {tk.MASK, *range(tk.FIRST_AMINO_ACID, tk.N_RESIDUES)}
        for column in set(range(n + 1)) - set(hidden):
            assert seen[column] == whole[column]


def test_masked_hides_at_least_one():
    _, targets = mask(batch_of([[0, 0, 1, 0, 0, 0], [0] * 6, [0, 0, 7, 0, 0, 0]]), generator=generator())
    assert (targets != NO_TARGET).sum(1).tolist() == [1, 0, 2]


def test_shares_are_exact_where_floats_are_not():
    """0.28 · 25 is 7.000000000000001 to a float."""
    _, targets = mask(batch_of([[0, 0, 25, 0, 0, 0]]), fraction=0.28, generator=generator())
    assert (targets != NO_TARGET).sum() == 7


@pytest.mark.parametrize("device", DEVICES)
def test_targets_are_masked_replaced_and_kept_as_the_paper_says(device):
    repeats = 4000
    batch = batch_of([PAIRED] * 10).repeated(repeats).to(device)
    shown, targets = mask(batch, generator=generator(device=device))
    is_target = targets != NO_TARGET
    residue = shown.tokens[..., tk.RESIDUE][is_target]
    original = targets[is_target] + tk.FIRST_AMINO_ACID
    n = len(residue)
    assert n == 10 * repeats * share(Fraction(15, 100), sum(PAIRED))
    is_masked, is_kept = residue == tk.MASK, residue == original
    for kind, p in ((is_masked, 0.8), (is_kept, 0.1), (~is_masked & ~is_kept, 0.1)):
        assert abs(kind.sum().item() - n * p) < 4 * (n * p * (1 - p)) ** 0.5


def test_a_replacement_is_any_other_amino_acid(monkeypatch):
    """The reference means the same, but compares a tensor to integers and may put back the original."""
    monkeypatch.setattr(data, "P_MASK", 0.0)
    monkeypatch.setattr(data, "P_REPLACE", 1.0)
    shown, targets = mask(batch_of([PAIRED] * 10).repeated(500), generator=generator())
    is_target = targets != NO_TARGET
    amino_acid = shown.tokens[..., tk.RESIDUE][is_target] - tk.FIRST_AMINO_ACID
    assert (amino_acid >= 0).all()
    assert (amino_acid != targets[is_target]).all()
    steps = (amino_acid - targets[is_target]) % len(tk.AMINO_ACIDS)
    counts = torch.bincount(steps, minlength=20)[1:]
    expected = len(steps) / 19
    assert ((counts - expected) ** 2 / expected).sum() < 42.3  # 99.9th percentile of 18 degrees of freedom


@pytest.mark.parametrize("device", DEVICES)
def test_every_residue_is_as_often_a_target(device):
    n = 8000
    _, targets = mask(batch_of([[0, 0, 10, 0, 0, 0]] * n).to(device), generator=generator(device=device))
    counts = (targets != NO_TARGET).sum(0)
    assert counts[0] == 0
    assert (abs(counts[1:] - n * 0.2) < 4.5 * (n * 0.2 * 0.8) ** 0.5).all()


@pytest.mark.parametrize("device", DEVICES)
def test_a_seed_decides_everything(device):
    batch = batch_of([PAIRED] * 50).to(device)
    before = batch.tokens.clone(), batch.padding.clone()
    state = torch.get_rng_state()

    def draw(source):
        view = censor(batch, tk.ALL_LOOPS, generator=source)
        return rows_of(view), rows_of(mask(batch, generator=source)[0])

    source = generator(7, device)
    first, second = draw(source), draw(source)
    assert draw(generator(7, device)) == first
    assert second[0] != first[0]
    assert second[1] != first[1]
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(batch.tokens, before[0])
    assert torch.equal(batch.padding, before[1])
