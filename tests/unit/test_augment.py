"""Views and masks have the paper's proportions exactly, touch nothing else, and are a seed's."""

from fractions import Fraction
from math import ceil

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from airrvec.model import tokens as tk
from airrvec.model.transformer import ModelConfig, ReceptorEncoder
from airrvec.training import views
from airrvec.training.views import NO_TARGET, PaddedTokens, censor, mask, pad

CDR3 = ("cdr3a", "cdr3b")
BETA = ("cdr1b", "cdr2b", "cdr3b")
DEVICES = [
    "cpu",
    pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")),
]
SEARCH = settings(max_examples=60, deadline=None, derandomize=True)


def generator(seed: int = 0, device: str = "cpu") -> torch.Generator:
    return torch.Generator(device).manual_seed(seed)


def tokens_of(loop_lengths: list[list[int]], seed: int = 0) -> tk.Tokens:
    """Receptors of random residues with loops of these lengths, laid out one token after another."""
    rng = np.random.default_rng(seed)
    values, offsets = [], [0]
    for lengths in loop_lengths:
        values.append((tk.CLS, 0, 0, 0))
        for loop, length in enumerate(lengths, start=1):
            for position in range(1, length + 1):
                residue = rng.integers(tk.FIRST_AMINO_ACID, tk.N_RESIDUES)
                values.append((residue, position, length, loop))
        offsets.append(len(values))
    return tk.Tokens(np.array(values, np.uint8).reshape(-1, 4), np.array(offsets))


def batch_of(loop_lengths: list[list[int]], seed: int = 0) -> PaddedTokens:
    return pad(tokens_of(loop_lengths, seed), np.arange(len(loop_lengths)))


def rows_of(batch: PaddedTokens) -> list[list[tuple]]:
    """Tokens of each receptor, after a look at the padding: at the end, zeros, and none to spare."""
    rows = []
    for tokens, padding in zip(batch.tokens.tolist(), batch.padding.tolist(), strict=True):
        n = padding.index(True) if True in padding else len(padding)
        assert all(padding[n:])
        assert all(token == [0, 0, 0, 0] for token in tokens[n:])
        rows.append([tuple(token) for token in tokens[:n]])
    assert batch.tokens.shape[:2] == batch.padding.shape
    assert batch.tokens.shape[1] == max(len(row) for row in rows)
    assert batch.tokens.dtype == torch.int64
    return rows


def chain_of(token: tuple, loops: tuple[str, ...]) -> str:
    return loops[token[tk.LOOP] - 1][-1]


def share(fraction: Fraction, n: int) -> int:
    return ceil(fraction * n)


hundredths = st.integers(0, 100).map(lambda hundredth: Fraction(hundredth, 100))
seeds = st.integers(0, 2**32)
six_loops = st.lists(st.integers(0, 9), min_size=6, max_size=6)
batches = st.lists(six_loops, min_size=1, max_size=6)
PAIRED = [5, 4, 12, 5, 6, 13]


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
    monkeypatch.setattr(views, "P_MASK", 0.0)
    monkeypatch.setattr(views, "P_REPLACE", 1.0)
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
