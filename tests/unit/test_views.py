"""Views have the paper's proportions exactly, touch nothing else, and are their slow selves."""

from airrvec.model import tokens as tk
from airrvec.model.transformer import ModelConfig, ReceptorEncoder
from airrvec.training.data import censor, mask, pad

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
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
    tokens_of,
)

CDR3 = ("cdr3a", "cdr3b")
BETA = ("cdr1b", "cdr2b", "cdr3b")


def chain_of(token: tuple, loops: tuple[str, ...]) -> str:
    return loops[token[tk.LOOP] - 1][-1]


@SEARCH
@given(batches, st.data())
def test_padded_holds_the_rows_asked_for(loop_lengths, data):
    tokens = tokens_of(loop_lengths)
    rows = data.draw(st.lists(st.integers(0, len(loop_lengths) - 1), min_size=1, max_size=9))
    expected = [
        [tuple(token) for token in tokens.values[tokens.offsets[row] : tokens.offsets[row + 1]].tolist()]
        for row in rows
    ]
    assert rows_of(pad(tokens, np.array(rows))) == expected


def test_no_rows_are_an_empty_batch():
    empty = pad(tokens_of([PAIRED]), np.array([], int))
    assert empty.tokens.shape == (0, 0, 4)
    assert len(censor(empty, tk.ALL_LOOPS, generator=generator())) == 0
    assert len(mask(empty, generator=generator())[0]) == 0


def test_repeated_puts_the_views_of_a_receptor_next_to_each_other():
    batch = batch_of([[1] * 6, [2] * 6])
    first, second = rows_of(batch)
    assert rows_of(batch.repeated()) == [first, first, second, second]


@SEARCH
@given(batches, hundredths, st.sampled_from([0, 0.5, 1]), seeds)
def test_censored_removes_a_chain_and_then_the_exact_share(loop_lengths, residues, chain, seed):
    batch = batch_of(loop_lengths)
    view = censor(batch, tk.ALL_LOOPS, residues=float(residues), chain=chain, generator=generator(seed))
    for whole, left in zip(rows_of(batch), rows_of(view), strict=True):
        assert left[0] == whole[0] == (tk.CLS, 0, 0, 0)
        kept = set(left)
        assert left == [token for token in whole if token in kept]  # nothing changed, and in order

        chains = {chain_of(token, tk.ALL_LOOPS) for token in whole[1:]}
        chains_left = {chain_of(token, tk.ALL_LOOPS) for token in left[1:]}
        possible = set()  # numbers of residues left: with all chains, and with each alone
        if chain < 1 or len(chains) < 2:
            possible.add(len(whole) - 1)
        if chain > 0 and len(chains) == 2 and len(chains_left) == 1:
            possible.add(sum(chain_of(token, tk.ALL_LOOPS) in chains_left for token in whole[1:]))
        assert len(left) - 1 in {n and max(1, n - share(residues, n)) for n in possible}


@pytest.mark.parametrize("device", DEVICES)
def test_censored_is_its_slow_self(device):
    """Removing the tokens that are gone, receptor by receptor, gives the same tensors."""
    rng = np.random.default_rng(1)
    batch = batch_of(rng.integers(0, 15, (200, 6)).tolist()).to(device)
    view = censor(batch, tk.ALL_LOOPS, generator=generator(1, device))
    rows = [
        [token for token in whole if token in set(left)]
        for whole, left in zip(rows_of(batch), rows_of(view), strict=True)
    ]
    expected = torch.zeros(len(rows), max(map(len, rows)), 4, dtype=torch.int64)
    padding = torch.ones(expected.shape[:2], dtype=torch.bool)
    for number, row in enumerate(rows):
        expected[number, : len(row)] = torch.tensor(row)
        padding[number, : len(row)] = False
    assert torch.equal(view.tokens.cpu(), expected)
    assert torch.equal(view.padding.cpu(), padding)
    assert view.tokens.shape[1] < batch.tokens.shape[1]
    assert view.tokens.device == batch.tokens.device


@SEARCH
@given(batches, seeds)
def test_no_censoring_gives_the_same_tokens(loop_lengths, seed):
    batch = batch_of(loop_lengths)
    view = censor(batch, tk.ALL_LOOPS, residues=0, chain=0, generator=generator(seed))
    assert torch.equal(view.tokens, batch.tokens)
    assert torch.equal(view.padding, batch.padding)


def test_chains_go_with_the_right_frequency():
    n, chain = 8000, 0.5
    batch = batch_of([PAIRED] * n)
    view = censor(batch, tk.ALL_LOOPS, residues=0, chain=chain, generator=generator())
    lengths = (~view.padding).sum(1)
    alpha, beta = 1 + sum(PAIRED[:3]), 1 + sum(PAIRED[3:])
    assert set(lengths.tolist()) == {alpha, beta, alpha + beta - 1}
    four_sigma = 4 * (n * 0.25 * 0.75) ** 0.5
    for length in (alpha, beta):
        assert abs((lengths == length).sum().item() - n * chain / 2) < four_sigma


@pytest.mark.parametrize(
    ("loops", "loop_lengths", "n_loops_left"),
    [
        (tk.ALL_LOOPS, [0, 0, 9, 0, 0, 0], 1),
        (tk.ALL_LOOPS, [0, 0, 0, 5, 6, 0], 2),
        (tk.ALL_LOOPS, PAIRED, 3),
        (CDR3, [7, 8], 1),
        (CDR3, [0, 8], 1),
        (BETA, [5, 6, 7], 3),
        (("cdr1a", "cdr2a", "cdr3a"), [5, 6, 7], 3),
        (("cdr3b", "cdr3a"), [5, 6], 1),
        (("cdr3b", "cdr1b", "cdr3a"), [5, 6, 0], 2),
    ],
)
def test_the_only_chain_stays(loops, loop_lengths, n_loops_left):
    view = censor(batch_of([loop_lengths] * 40), loops, residues=0, chain=1, generator=generator())
    chains = set()
    for row in rows_of(view):
        assert len({token[tk.LOOP] for token in row[1:]}) == n_loops_left
        of_row = {chain_of(token, loops) for token in row[1:]}
        assert len(of_row) == 1
        chains |= of_row
    both = len({loop[-1] for loop, length in zip(loops, loop_lengths, strict=True) if length}) == 2
    assert len(chains) == (2 if both else 1)


def test_every_subset_of_residues_is_as_likely():
    """45 pairs of 10 residues; the chi-squared of 44 degrees of freedom has its 99.9th percentile at 78."""
    n, n_pairs = 9000, 45
    view = censor(batch_of([[0, 0, 10, 0, 0, 0]] * n), tk.ALL_LOOPS, generator=generator())
    assert view.tokens.shape[1] == 9
    position = view.tokens[:, 1:, tk.POSITION]
    kept = (2**position).sum(1)
    _, counts = kept.unique(return_counts=True)
    assert len(counts) == n_pairs
    assert ((counts - n / n_pairs) ** 2 / (n / n_pairs)).sum() < 78


@pytest.mark.parametrize("n_residues", [0, 1, 2])
def test_cls_is_never_left_alone(n_residues):
    batch = batch_of([[0, 0, n_residues, 0, 0, 0]] * 20)
    for residues in (0.2, 0.9, 1.0):
        view = censor(batch, tk.ALL_LOOPS, residues=residues, chain=1, generator=generator())
        assert (~view.padding).sum(1).tolist() == [1 + min(n_residues, 1)] * 20


def test_gaps_closed_or_not_are_the_same_to_the_model():
    """The reference leaves removed tokens where they are, as padding."""
    batch = batch_of([PAIRED, [0, 0, 12, 0, 0, 0], [5, 4, 9, 0, 0, 13]] * 5)
    view = censor(batch, tk.ALL_LOOPS, generator=generator(3))
    removed = batch.padding.clone()
    for number, (whole, left) in enumerate(zip(rows_of(batch), rows_of(view), strict=True)):
        for column, token in enumerate(whole):
            removed[number, column] = token not in set(left)
    encoder = ReceptorEncoder(ModelConfig()).eval()
    with torch.inference_mode():
        torch.testing.assert_close(
            encoder(view.tokens, view.padding), encoder(batch.tokens, removed), atol=1e-5, rtol=0
        )
