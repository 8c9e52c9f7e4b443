#!/usr/bin/env python3
"""
Vectors fine-tuned without the fold, as one more kind of evidence for calls.

A model is trained on the labels of the references: once for each fold of the calibration without this fold,
and once with all references for queries and background receptors. The epitope's share in the density of its
vectors is the evidence. `--model linear`: a linear layer on SCEPTR's vectors of the pair, of α and of β
(192 → 64 dimensions, started at the pair's vector), by the supervised contrastive loss. `last`, `all`: the
transformer's last layer, or all, by the loss of the preset `neighbour`;
`--beside` puts SCEPTR's vectors beside the tuned ones. Splits, trials and measures are those of
`public_splits.py`; with and without the evidence, all else is equal.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

from airrvec.core import runtime, tables

runtime.limit_threads(2)

from airrvec.annotation import calibrate, evidence, reference_set
from airrvec.annotation.evidence import COMPARED, Candidates, Evidence, Sources, binds_epitope
from airrvec.annotation.known_vectors import KnownVectors
from airrvec.core.chains import on_chains
from airrvec.encoders.sceptr import Sceptr
from airrvec.evaluation.rules import KERNEL
from airrvec.search import neighbours
from airrvec.synthetic.synthesis import synthesise

import numpy as np
import pyarrow as pa

from benchmarks.annotation import public_splits
from benchmarks.annotation.public_splits import MEASURED, Part
from benchmarks.common import results
from benchmarks.common.material import normalised
from benchmarks.common.peer_measures import Calls, interval
from benchmarks.common.time_split import CUT

TEMPERATURE = 0.1
RATE = 1e-3
PER_EPITOPE = 6  # receptors of an epitope in a batch
N_EPITOPES = 48  # epitopes in a batch
BATCH = 384  # receptors in a batch of the transformer, and at least two of each epitope
TRANSFORMER_RATE = 3e-4

Embed = Callable[[pa.Table], np.ndarray]  # receptors → vectors


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("--labelled", type=Path, required=True, help="a VDJdb export")
    parser.add_argument("--splits", nargs="+", choices=("time", "study"), default=["time", "study"])
    parser.add_argument("--cut", type=int, default=CUT)
    parser.add_argument("--folds", type=int, default=calibrate.N_FOLDS, help="the first folds alone")
    parser.add_argument(
        "--model", choices=("linear", "last", "all"), default="linear", help="what is trained"
    )
    parser.add_argument("--beside", action="store_true", help="SCEPTR's vectors beside the tuned ones")
    parser.add_argument("--steps", type=int, default=300, help="of a training")
    parser.add_argument("--least", type=int, default=3, help="references of an epitope that trains")
    parser.add_argument("--contrast", type=int, default=5_000, help="receptors in the densities")
    parser.add_argument("--background", type=int, default=25_000, help="receptors that train and calibrate")
    parser.add_argument("--test", type=int, default=20_000, help="receptors that test")
    parser.add_argument("--draws", type=int, default=200, help="of the bootstrap")
    return parser.parse_args(argv)


def inputs(sources: Sources, receptors: pa.Table) -> np.ndarray:
    """Return the vectors of pair, α and β beside each other, shape (n, 192)."""
    parts = [sources.embed(on_chains(receptors, chains)) for chains in ("paired", "alpha", "beta")]
    return np.nan_to_num(np.concatenate(parts, axis=1))


def trained_layer(vectors: np.ndarray, labels, args) -> np.ndarray:
    """Return the weights of the layer, shape (192, 64), trained on references and their first labels."""
    import torch

    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    members = [labels.indices[labels.indptr[row]] for row in range(labels.shape[0])]
    epitopes = [np.flatnonzero(np.array(members) == epitope) for epitope in np.unique(members)]
    epitopes = [rows for rows in epitopes if len(rows) >= args.least]
    start = np.eye(vectors.shape[1], 64, dtype=np.float32)
    weights = torch.tensor(start, requires_grad=True)
    optimiser = torch.optim.Adam([weights], lr=RATE)
    for _ in range(args.steps):
        drawn = rng.permutation(len(epitopes))[:N_EPITOPES]
        rows = [rng.choice(epitopes[e], min(PER_EPITOPE, len(epitopes[e])), replace=False) for e in drawn]
        label = torch.tensor(np.repeat(np.arange(len(rows)), [len(part) for part in rows]))
        batch = torch.tensor(vectors[np.concatenate(rows)])
        tuned = torch.nn.functional.normalize(batch @ weights)
        similar = tuned @ tuned.T / TEMPERATURE
        similar = similar - torch.eye(len(similar)) * 1e9
        same = (label[:, None] == label) & ~torch.eye(len(label), dtype=torch.bool)
        log_share = similar - similar.logsumexp(dim=1, keepdim=True)
        loss = -(log_share * same).sum(dim=1) / same.sum(dim=1)
        optimiser.zero_grad()
        loss.mean().backward()
        optimiser.step()
    return weights.detach().numpy()


def linear_model(sources: Sources, args) -> Embed:
    """Return the vectors by a linear layer that the references have trained."""
    own = inputs(sources, sources.reference.receptors)
    weights = trained_layer(own, sources.reference.labels, args)

    def embed(receptors: pa.Table) -> np.ndarray:
        tuned = inputs(sources, receptors) @ weights
        return (tuned / np.linalg.norm(tuned, axis=1, keepdims=True)).astype(np.float32)

    return embed


def transformer(sources: Sources, args) -> Embed:
    """Return the vectors by a transformer of which the references have trained the last layer, or all."""
    from airrvec.training import presets, trainer

    preset = presets.load(ROOT / "conf/models/neighbour.json")
    model = Sceptr("sceptr", precision="fp32", threads=2)
    labels = sources.reference.labels
    epitopes = np.flatnonzero(np.asarray(labels.sum(axis=0)).ravel() >= args.least)
    rows, columns = labels[:, epitopes].nonzero()
    known = trainer.Receptors(model.tokens(sources.reference.receptors).take(rows), columns)
    schedule = replace(
        preset.schedule, steps=args.steps, batch_size=max(BATCH, 2 * len(epitopes)),
        learning_rate=TRANSFORMER_RATE, patience=None,
    )  # fmt: skip
    is_trained = replace(preset, layers=args.model).trainable(model.loaded.config.n_layers)
    with TemporaryDirectory() as folder:
        done = trainer.train(
            model.loaded.encoder.train(), known, None, preset.objective, schedule,
            seed=420, folder=Path(folder), trainable=is_trained, checkpoint_every=args.steps + 1,
            device="cpu",
        )  # fmt: skip
    state = {name: value.detach().numpy().copy() for name, value in done.encoder.state_dict().items()}
    tuned = Sceptr("sceptr", precision="fp32", threads=2)
    tuned.loaded = replace(tuned.loaded, state=state)

    def embed(receptors: pa.Table) -> np.ndarray:
        own = tuned.embed(receptors)
        beside = [sources.embed(receptors)] if args.beside else []
        parts = [np.nan_to_num(part) for part in (*beside, own)]
        return (np.hstack(parts) / np.sqrt(len(parts))).astype(np.float32)

    return embed


class Tuned:
    """Shares by vectors that the references of some sources have fine-tuned."""

    def __init__(self, sources: Sources, args):
        self.sources = sources
        self.embed = linear_model(sources, args) if args.model == "linear" else transformer(sources, args)
        self.vectors, self.contrast = map(self.embed, (sources.reference.receptors, sources.contrast))

    def added(self, part: Evidence, receptors: pa.Table) -> Evidence:
        """Return evidence with the share by tuned vectors as the last kind."""
        rows, place = np.unique(part.receptor, return_inverse=True)
        queries = self.embed(receptors.take(pa.array(rows)))
        distances, nearest = neighbours.nearest(queries, self.vectors, evidence.N_NEIGHBOURS)
        to_contrast, _ = neighbours.nearest(queries, self.contrast, evidence.N_NEIGHBOURS)
        candidates: Candidates = evidence.score_neighbours(
            distances, nearest, to_contrast, self.sources.reference, kernel=KERNEL
        )
        shares = np.maximum(candidates.scores.toarray(), evidence.LOWEST)
        shares[shares == 0] = evidence.LOWEST  # no reference among the neighbours
        values = shares[place, part.epitope][:, None]
        return replace(part, measures=np.concatenate([part.measures, values], axis=1))


def compared(sources: Sources, part: Part, background: pa.Table, test: pa.Table, args) -> dict[str, Calls]:
    """Return the calls of a part of a split with and without the tuned evidence."""
    reference, vectors = sources.reference, sources.vectors["paired"]
    left = sources.without(part.left_out, part.studies)
    collected = calibrate.collect(left, background, sources.embed(background))
    receptors = reference.receptors.take(pa.array(part.queries))
    parts = [
        evidence.collect_evidence(left, table, own, collected.threshold)
        for table, own in ((receptors, vectors[part.queries]), (test, sources.embed(test)))
    ]
    folds, _ = calibrate.assign_folds(left.reference, seed=420)
    fold_of_study = calibrate.study_folds(left.reference)
    fold_evidence = []
    for number, own in zip(np.unique(collected.queries["fold"]), collected.fold_evidence, strict=True):
        names = {
            name
            for name, fold in zip(left.reference.study_names, fold_of_study, strict=True)
            if fold == number
        }
        inner = Tuned(left.without(np.flatnonzero(folds[:, number]), names), args)
        rows = collected.queries.loc[collected.queries["fold"] == number, "row"].to_numpy()
        fold_evidence.append(inner.added(own, left.reference.receptors.take(pa.array(rows))))
    whole = Tuned(left, args)
    with_tuned = replace(
        collected,
        fold_evidence=fold_evidence,
        background=whole.added(collected.background, background),
        typical=np.append(collected.typical, evidence.LOWEST),
    )
    added = [whole.added(own, table) for own, table in zip(parts, (receptors, test), strict=True)]
    labels = reference.labels[part.queries]
    possible = np.zeros(len(reference.epitopes), np.float32)
    possible[left.candidates] = 1
    studies = reference.studies[part.queries]
    study = studies.indices[studies.indptr[:-1]].astype(np.int64)
    calls = {}
    for name, material, tested in (("without", collected, parts), ("with", with_tuned, added)):
        fitted = calibrate.train(material)
        (epitope, score), (_, test_score) = (fitted.scorer.candidates(one).best() for one in tested)
        right = binds_epitope(labels, epitope)
        calls[name] = Calls(score, right, labels @ possible > 0, study, test_score)
    return calls


def main(argv=None):
    args = parse_args(argv)
    with TemporaryDirectory() as folder:
        cells, receptors = normalised(args.labelled, Path(folder))
    options: dict[str, Any] = {"species": "homosapiens", "exclude_references": "10xgenomics"}
    references = {
        chains: reference_set.build_reference_set(cells, receptors, chains=chains, **options)
        for chains in COMPARED["paired"]
    }
    made = tables.distinct_receptors(synthesise(args.contrast + args.background + args.test, seed=1))
    embed = KnownVectors(Sceptr("sceptr").embed)
    for chains, reference in references.items():
        shown = on_chains(reference.receptors.select(made.column_names), chains)
        pairs = on_chains(references["paired"].receptors.select(made.column_names), chains)
        embed.learn(on_chains(made, chains), shown, pairs)
    contrast, background = made.slice(0, args.contrast), made.slice(args.contrast, args.background)
    test = made.slice(args.contrast + args.background)
    limits = {"min_references": evidence.MIN_REFERENCES, "threads": 2}
    sources = Sources.embedded("paired", references, contrast, embed, **limits)
    rows = []
    for split in args.splits:
        folds = public_splits.split_by_study(sources.reference, 0)
        later = [public_splits.split_by_time(sources.reference, args.cut)]
        parts = later if split == "time" else list(folds)[: args.folds]
        calls = [compared(sources, part, background, test, args) for part in parts]
        pooled = {name: Calls.pooled([part[name] for part in calls]) for name in ("without", "with")}
        times = public_splits.drawn_studies([pooled["with"]], args.draws)
        means, draws = {}, {}
        for name, own in pooled.items():
            means[name], draws[name] = public_splits.ranked([own], times)
        for measure in MEASURED:
            gain = np.subtract(draws["with"][measure], draws["without"][measure])
            low, high = interval(gain[:, None]).ravel()
            before, after = means["without"][measure], means["with"][measure]
            rows.append({"split": split, "measure": measure, "without": before, "with": after})
            rows[-1] |= {"gain": after - before, "low": low, "high": high}
            print(results.plain(rows[-1]), flush=True)
    results.write(args, {"gains": rows}, ["torch", "scikit-learn"])


if __name__ == "__main__":
    main()
