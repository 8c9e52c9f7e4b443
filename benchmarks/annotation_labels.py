#!/usr/bin/env python3
"""
Annotation with labels that differ in quality: VDJdb's confidence as a weight or a threshold, chosen by nested
cross-validation; calls right by epitope and by group.

Receptors are scored by SCEPTR's share alone, and studies of a fold with the references of the others.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "bin"))

from airrvec.core import runtime, tables

runtime.limit_threads(2)

from airrvec.annotation import calibrate, evidence, reference_set
from airrvec.annotation.evidence import binds_epitope
from airrvec.benchmark.rules import KERNEL
from airrvec.core.chains import on_chains
from airrvec.encoders.sceptr import Sceptr
from airrvec.search import neighbours
from airrvec.synthetic.synthesis import synthesise

import numpy as np

from annotation_material import calibrated, held_out, normalised
from label_changes import confidence_weights, group_labels, group_numbers, shifted_distances
from peer_measures import PREVALENCE, Calls, Ranking, bootstrap, interval

SEED = 420
CLAIMED = (0.05, 0.1, 0.2, 0.5)
DRAWS = 300  # of the bootstrap over studies
PARTS = ("confidence", "groups")


# Weights of references with VDJdb's scores 0 to 3; a weight of 0 removes them.
SCHEMES = {
    "none": (1, 1, 1, 1),
    "½, 1, 1, 1": (0.5, 1, 1, 1),
    "½, 1, 2, 3": (0.5, 1, 2, 3),
    "1, 1, 2, 2": (1, 1, 2, 2),
    "1, 2, 4, 8": (1, 2, 4, 8),
    "0.1, 1, 1, 1": (0.1, 1, 1, 1),
    "score ≥ 1 only": (0, 1, 1, 1),
    "score ≥ 2 only": (0, 0, 1, 1),
}


def parse_args(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labelled", type=Path, required=True, help="a VDJdb export")
    parser.add_argument("--exclude-references", default="10xgenomics")
    parser.add_argument("--chains", default="paired", help="paired, alpha, beta")
    parser.add_argument("--background", type=int, default=30_000, help="receptors: 1/10 density, rest halved")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--seeds", type=int, default=3, help="of the mixtures")
    parser.add_argument("--repeats", type=int, default=2, help="mixtures of a fold and seed")
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args(argv)


@dataclass(frozen=True)
class Material:
    """Labelled receptors, and vectors of three sets of background receptors."""

    reference: reference_set.ReferenceSet
    vectors: np.ndarray
    contrast: np.ndarray
    negatives: np.ndarray
    test: np.ndarray
    chains: str
    threads: int

    def inner(self, rows: np.ndarray) -> "Material":
        """Return the material of some labelled receptors; the negatives test."""
        known = self.reference.take(rows)
        sets = (self.contrast, self.negatives[:0], self.negatives)
        return Material(known, self.vectors[rows], *sets, self.chains, self.threads)

    def folds(self) -> np.ndarray:
        return calibrate.assign_folds(self.reference, seed=SEED)[0]


def material(args) -> Material:
    with TemporaryDirectory() as folder:
        cells, receptors = normalised(args.labelled, Path(folder))
    reference = reference_set.build_reference_set(
        cells,
        receptors,
        chains=args.chains,
        species="homosapiens",
        exclude_references=args.exclude_references,
    )
    made = on_chains(tables.distinct_receptors(synthesise(args.background, seed=1)), args.chains)
    encoder = Sceptr("sceptr")
    n_contrast = args.background // 10
    half = (len(made) - n_contrast) // 2
    sets = np.split(encoder.embed(made), [n_contrast, n_contrast + half])
    print(f"{len(reference):,} references of {len(reference.study_names)} studies; background: ", end="")
    print(", ".join(f"{len(part):,}" for part in sets), flush=True)
    return Material(reference, encoder.embed(reference.receptors), *sets, args.chains, args.threads)


def found(queries, known, vectors, to_contrast, weights, threads: int):
    """Return best epitopes and scores of queries with weighted references; a weight of 0 removes one."""
    kept = np.flatnonzero(weights)
    distances, rows = neighbours.nearest(queries, vectors[kept], evidence.N_NEIGHBOURS, threads=threads)
    shifted = shifted_distances(distances, weights[kept][np.maximum(rows, 0)], KERNEL)
    return evidence.score_neighbours(shifted, rows, to_contrast, known.take(kept)).best()


def calls_of_schemes(data: Material, fold: int, folds: np.ndarray) -> list[Calls]:
    """Return the calls of one fold's queries and of the test background with each of `SCHEMES`."""
    reference, threads = data.reference, data.threads
    asking, others, known, binds = held_out(reference, folds, fold)
    queries = np.concatenate([data.vectors[asking], data.test])
    to_contrast, _ = neighbours.nearest(queries, data.contrast, evidence.N_NEIGHBOURS, threads=threads)
    study = np.asarray(reference.studies[asking].argmax(axis=1)).ravel()
    calls = []
    for scheme in SCHEMES.values():
        weights = confidence_weights(known.confidence, scheme)
        epitope, score = found(queries, known, data.vectors[others], to_contrast, weights, threads)
        score[epitope < 0] = -np.inf
        right = binds_epitope(reference.labels[asking], epitope[: len(asking)])
        calls.append(
            Calls(score[: len(asking)], right, binds.any(axis=1), study, score[len(asking) :].copy())
        )
    return calls


def show_confidence(data: Material) -> None:
    confidence = data.reference.confidence
    values, n = np.unique(confidence, return_counts=True)
    print("\nVDJdb's score of the references:", dict(zip(values.tolist(), n.tolist(), strict=True)))
    folds = data.folds()
    outer = [calls_of_schemes(data, fold, folds) for fold in range(folds.shape[1])]
    chosen, titles = [], list(SCHEMES)
    print("\nAverage precision of the inner cross-validation, by outer fold")
    for fold in range(folds.shape[1]):
        inner = data.inner(np.flatnonzero(~folds[:, fold]))
        inner_folds = inner.folds()
        of_folds = [calls_of_schemes(inner, number, inner_folds) for number in range(inner_folds.shape[1])]
        pooled = [Calls.pooled(list(of_scheme)) for of_scheme in zip(*of_folds, strict=True)]
        values = [Ranking(calls).measure()["ap"] for calls in pooled]
        chosen.append(int(np.argmax(values)))
        print(
            f"{fold}: {titles[chosen[-1]]:<16}" + " ".join(f"{value:.4f}" for value in values),
            flush=True,
        )
    trusted = [confidence[held_out(data.reference, folds, fold)[0]] >= 1 for fold in range(len(outer))]
    trusted = np.concatenate(trusted)
    of_score = f"{trusted.sum():,} of {len(trusted):,} queries of score ≥ 1"
    print(f"\nOuter folds, {PREVALENCE:.0%} labelled; {of_score}")
    print(f"{'weights':<16}precision  of score ≥ 1  recall at 10 %  precision minus that of none, 95 %")
    rows = [(title, [of_fold[k] for of_fold in outer]) for k, title in enumerate(titles)]
    rows.append(("chosen", [of_fold[k] for of_fold, k in zip(outer, chosen, strict=True)]))
    plain = bootstrap(Calls.pooled(rows[0][1]), DRAWS)
    for title, of_folds in rows:
        calls = Calls.pooled(of_folds)
        measures, of_trusted = Ranking(calls).measure(), Ranking(calls).measure(trusted)["ap"]
        low, high = interval(bootstrap(calls, DRAWS) - plain)[:, 0]
        print(f"{title:<16}{measures['ap']:.4f}  {of_trusted:.4f}  {measures['recall_10']:.4f}", end="")
        print(f"  {low:.4f} to {high:.4f}", flush=True)


@dataclass(frozen=True)
class Tested:
    """Scores of one fold's queries and of the test background, with their calibration."""

    epitope: np.ndarray
    score: np.ndarray
    background: np.ndarray
    calibration: object


def annotated(data: Material, asking, others, known) -> Tested:
    """Annotate queries and test background with references whose labels may be wrong."""
    vectors = data.vectors[others]
    fitted = calibrated(known, vectors, data.contrast, data.negatives, data.threads)
    queries = np.concatenate([data.vectors[asking], data.test])
    candidates = evidence.search_candidates(queries, known, vectors, data.contrast, threads=data.threads)
    epitope, score = candidates.best()
    n = len(asking)
    return Tested(epitope[:n], score[:n], score[n:], fitted.calibration())


def mixtures(tested: Tested, repeats: int, rng: np.random.Generator):
    """Yield the chosen queries of random mixtures, their false discovery rates, and those of background."""
    n, n_test = len(tested.score), len(tested.background)
    n_labelled = min(n, int(PREVALENCE / (1 - PREVALENCE) * n_test))
    n_background = int(n_labelled * (1 - PREVALENCE) / PREVALENCE)
    for _ in range(repeats):
        chosen, others = rng.permutation(n)[:n_labelled], rng.permutation(n_test)[:n_background]
        scores = np.concatenate([tested.score[chosen], tested.background[others]])
        rates = tested.calibration.fdr(scores, tested.calibration.prevalence(scores))
        yield chosen, rates[:n_labelled], rates[n_labelled:]


def counts(tested: Tested, right, reachable, repeats: int, rng: np.random.Generator) -> np.ndarray:
    """Return calls, false calls and reachable queries at each of `CLAIMED`, shape (n_claimed, 3)."""
    total = np.zeros((len(CLAIMED), 3))
    for chosen, rates, background in mixtures(tested, repeats, rng):
        for number, claimed in enumerate(CLAIMED):
            called = rates <= claimed
            false = (called & ~right[chosen]).sum() + (background <= claimed).sum()
            total[number] += called.sum() + (background <= claimed).sum(), false, reachable[chosen].sum()
    return total


def show_counts(title: str, of_seeds: np.ndarray) -> None:
    """Print a row for each claim; counts of shape (n_seeds, n_claimed, 3)."""
    for number, claimed in enumerate(CLAIMED):
        calls, false, reachable = of_seeds[:, number].sum(axis=0)
        each = ", ".join(f"{int(f):,}/{int(n):,}" for n, f, _ in of_seeds[:, number])
        observed = f"{false / calls:.3f}" if calls else "–"
        recall = (calls - false) / reachable
        print(f"{title:<18}{claimed:>5.0%}{observed:>8}{calls:>9,.0f}{recall:>8.3f}   {each}")


def show_groups(data: Material, seeds: int, repeats: int) -> None:
    reference, folds = data.reference, data.folds()
    group = group_numbers(reference.epitopes)
    size = np.bincount(group)
    candidate = (reference.epitopes["n_references"] >= evidence.MIN_REFERENCES).to_numpy()
    print(f"\n{len(group)} epitopes in {len(size)} groups; candidates: {candidate.sum()}, ", end="")
    print(f"{(np.bincount(group[candidate])[group[candidate]] > 1).sum()} in a group with another one")
    wide = group_labels(reference.labels, group)
    rows = {"epitope": [], "group": []}
    totals = {"epitope": np.zeros((seeds, len(CLAIMED), 3)), "group": np.zeros((seeds, len(CLAIMED), 3))}
    for fold in range(folds.shape[1]):
        asking, others, known, _ = held_out(reference, folds, fold)
        tested = annotated(data, asking, others, known)
        callable_ = (known.epitopes["n_references"] >= evidence.MIN_REFERENCES).to_numpy(np.float32)
        study = np.asarray(reference.studies[asking].argmax(axis=1)).ravel()
        for way, labels in (("epitope", reference.labels), ("group", wide)):
            right, reachable = binds_epitope(labels[asking], tested.epitope), labels[asking] @ callable_ > 0
            rows[way].append(Calls(tested.score, right, reachable, study, tested.background))
            for seed in range(seeds):
                rng = np.random.default_rng([SEED, seed, fold])
                totals[way][seed] += counts(tested, right, reachable, repeats, rng)
    for way, calls in rows.items():
        pooled = Calls.pooled(calls)
        shown = " ".join(f"{name} {value:.4f}" for name, value in Ranking(pooled).measure().items())
        print(f"{way}: {shown}; reachable {pooled.reachable.sum():,} of {len(pooled.score):,}")
        show_counts(f"right by {way}", totals[way])


def main(argv=None):
    args = parse_args(argv)
    data = material(args)
    if "groups" in args.parts:
        show_groups(data, args.seeds, args.repeats)
    if "confidence" in args.parts:
        show_confidence(data)


if __name__ == "__main__":
    main()
