#!/usr/bin/env python3
"""
Training steps a second: airrvec against a plain loop with the reference's own modules, in one run.

The peer tokenises, censors and masks one receptor after another in Python, pads to the longest, and
trains `libtcrlm`'s model (the one in the ``sceptr`` package), as the reference's loop does. Both take
the same receptors, batch, objective (autocontrastive and masked-language), threads and float32.
"""

import json
import random
import statistics
import sys
import tempfile
import time
from importlib import resources
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

from airrvec.model.architecture import ModelConfig
from airrvec.model.tokens import tokenise
from airrvec.model.transformer import ReceptorEncoder
from airrvec.synthetic import synthesis
from airrvec.training import trainer
from airrvec.training.data import Receptors
from airrvec.training.presets import Objective, Schedule

import torch
import torch.nn.functional as F
from libtcrlm import schema as tcr_schema
from libtcrlm.config_reader import ConfigReader
from torch.nn.utils.rnn import pad_sequence

from benchmarks.common import results

ALPHA_LOOPS = 3
FIRST_AMINO_ACID = 3


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("--batch-size", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--receptors", type=int, help="synthetic; ten batches if not given")
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args(argv)


def censored(tokens: torch.Tensor) -> torch.Tensor:
    """One view of one receptor: a chain less with even odds, then a fifth of the residues less."""
    residues = list(range(1, len(tokens)))
    if random.random() < 0.5:
        keep_alpha = random.random() < 0.5
        residues = [n for n in residues if (tokens[n, 3] <= ALPHA_LOOPS) == keep_alpha]
    kept = sorted(random.sample(residues, len(residues) - -(-len(residues) // 5)))
    return tokens[[0, *kept]]


def masked(tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Some residues hidden, and which they were; 0 where there is nothing to guess."""
    shown, targets = tokens.clone(), torch.zeros(len(tokens), dtype=torch.long)
    for n in random.sample(range(1, len(tokens)), -(-3 * (len(tokens) - 1) // 20)):
        targets[n] = tokens[n, 0]
        fate = random.random()
        if fate < 0.8:
            shown[n, 0] = 1
        elif fate < 0.9:
            shown[n, 0] = random.randint(FIRST_AMINO_ACID, FIRST_AMINO_ACID + 19)
    return shown, targets


def plain_steps(receptors, batch_size: int, n_steps: int) -> list[float]:
    """Seconds of each step of the plain loop."""
    config = resources.files("sceptr") / "_model_saves/SCEPTR/config.json"
    reader = ConfigReader(json.loads(config.read_text()))
    tokeniser, bert = reader.get_tokeniser(), reader.get_bert().train()
    optimiser = torch.optim.Adam(bert.parameters(), lr=1e-4)
    columns = ("tra_v_call", "tra_junction_aa", "trb_v_call", "trb_junction_aa")
    rows = zip(*(receptors[name].to_pylist() for name in columns), strict=True)
    tcrs = [
        tcr_schema.make_tcr_from_components(
            trav_symbol=v_a, junction_a_sequence=a, trbv_symbol=v_b, junction_b_sequence=b
        )
        for v_a, a, v_b, b in rows
    ]
    seconds = []
    for _ in range(n_steps):
        start = time.perf_counter()
        batch = [tokeniser.tokenise(tcr) for tcr in random.sample(tcrs, batch_size)]
        views = [censored(tokens) for tokens in batch for _ in range(2)]
        shown, hidden = map(list, zip(*map(masked, batch), strict=True))
        vectors = bert.get_vector_representations_of(pad_sequence(views, batch_first=True))
        similarities = vectors @ vectors.T / 0.05
        similarities.fill_diagonal_(-torch.inf)
        other = torch.arange(len(vectors)) ^ 1
        logits = bert.get_mlm_token_predictions_for(pad_sequence(shown, batch_first=True))
        targets = pad_sequence(hidden, batch_first=True) - FIRST_AMINO_ACID
        loss = F.cross_entropy(similarities, other) + F.cross_entropy(
            logits.flatten(0, 1), targets.flatten(), ignore_index=-FIRST_AMINO_ACID, label_smoothing=0.1
        )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        seconds.append(time.perf_counter() - start)
    return seconds


def our_steps(receptors, batch_size: int, n_steps: int) -> list[float]:
    """Seconds of each step of `airrvec.training.trainer`."""
    data = Receptors(tokenise(receptors))
    schedule = Schedule(steps=n_steps, batch_size=batch_size, validate_every=n_steps + 1)
    with tempfile.TemporaryDirectory() as folder:
        trained = trainer.train(
            ReceptorEncoder(ModelConfig()).train(), data, None, Objective(), schedule,
            seed=1, folder=Path(folder), device="cpu",
        )  # fmt: skip
    ends = [row["seconds"] for row in trained.times.to_pylist()]
    return [end - start for start, end in pairwise(ends)]


def main(argv=None):
    args = parse_args(argv)
    torch.set_num_threads(args.threads)
    receptors = synthesis.synthesise(args.receptors or 10 * args.batch_size, seed=1)
    our_steps(receptors, args.batch_size, 2)
    plain_steps(receptors, args.batch_size, 1)
    # In turn, so that a slow minute of the machine falls on both.
    pairs = []
    for _ in range(args.steps):
        pairs.append(
            (our_steps(receptors, args.batch_size, 3)[-1], plain_steps(receptors, args.batch_size, 1)[0])
        )
    ours, plain = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratios = [theirs / own for own, theirs in pairs]
    table = results.Table(way="", steps_a_second=".3f", times_plain_loop=".1f", least=".1f", most=".1f")
    times = {"times_plain_loop": statistics.median(ratios), "least": min(ratios), "most": max(ratios)}
    table.add(way="airrvec", steps_a_second=1 / ours, **times)
    table.add(way="plain loop", steps_a_second=1 / plain)
    sizes = {"batch_size": args.batch_size, "threads": args.threads, "rounds": args.steps}
    results.write(args, {**sizes, "ways": table.rows}, ["torch", "lightning", "sceptr", "libtcrlm"])


if __name__ == "__main__":
    main()
