#!/usr/bin/env python3
"""
Annotation of receptors whose study the reference lacks: precision, recall, and claimed false discovery rates
beside those observed. Scores side by side: SCEPTR's share alone, its sum with TCRdist's, all evidence.

The studies of the labelled table are divided into five folds, once for each seed. Receptors of a fold, mixed
with background receptors of OLGA or of a real sample, are annotated with the other folds. Everything that is
trained or calibrated is nested in these other folds, and with other background receptors than those tested.
"""

import sys
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

from airrvec.core import runtime, tables

runtime.limit_threads(2)

from airrvec.annotation import calibrate, evidence, reference_set, scorer
from airrvec.annotation.calibrate import N_FOLDS, study_folds
from airrvec.annotation.evidence import COMPARED, Candidates, Sources, binds_epitope, stacked
from airrvec.annotation.scorer import CalibrationScores
from airrvec.core.chains import on_chains, with_chains
from airrvec.encoders.sceptr import Sceptr
from airrvec.synthetic.synthesis import synthesise

import numpy as np
import pandas as pd
import pyarrow as pa

from benchmarks.common import results
from benchmarks.common.material import normalised
from benchmarks.common.peer_measures import Calls, Ranking

MIN_REFERENCES = evidence.MIN_REFERENCES
PREVALENCES = (0.5, 0.1)
MIXED = (0.01, 0.05, 0.1, 0.3)  # shares of labelled receptors in the mixtures of claimed rates
CLAIMED = (0.05, 0.1, 0.2)
N_MIXTURES = 4


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("--labelled", type=Path, required=True, help="a VDJdb export")
    parser.add_argument("--sample", type=Path, help="a real sample, e.g. of 10x: background to test with")
    parser.add_argument("--exclude-references", default="10xgenomics")
    parser.add_argument("--chains", default="paired", help="paired, alpha or beta")
    parser.add_argument("--background", type=int, default=25_000, help="receptors that train and calibrate")
    parser.add_argument("--contrast", type=int, default=5_000, help="receptors in the densities")
    parser.add_argument("--test", type=int, default=20_000, help="receptors that test")
    parser.add_argument("--folds", type=int, default=N_FOLDS, help="the first folds alone")
    parser.add_argument("--seeds", type=int, default=3, help="divisions into folds")
    parser.add_argument("--innate", action="store_true", help="keep innate-like receptors (MAIT, iNKT)")
    parser.add_argument("--ablation", action="store_true", help="leave out each kind of evidence too")
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args(argv)


def divided(reference, seed: int) -> np.ndarray:
    """Fold of each study; from the second seed on, sizes vary by a half."""
    n = len(reference.study_names)
    return study_folds(reference, np.random.default_rng(seed).uniform(0.5, 1.5, n) if seed else 1.0)


def without(collected: evidence.Evidence, columns: list[int], typical: np.ndarray) -> evidence.Evidence:
    """Return evidence in which some measures are replaced by their typical value."""
    measures = collected.measures.copy()
    measures[:, columns] = typical[columns]
    return replace(collected, measures=measures)


class Fold:
    """Evidence of a fold's labelled receptors and of the tested background, and all that calibrates."""

    def __init__(self, sources: Sources, fold_of: np.ndarray, fold: int, background: tuple, test: tuple):
        reference, vectors = sources.reference, sources.vectors[sources.chains]
        members = reference.studies @ (fold_of[:, None] == np.arange(N_FOLDS)).astype(np.float32) > 0
        held_out = np.flatnonzero(members[:, fold])
        query_rows = np.flatnonzero(members[:, fold] & (members.sum(axis=1) == 1))
        studies = {
            name
            for name, study_fold in zip(reference.study_names, fold_of, strict=True)
            if study_fold == fold
        }
        self.left = sources.without(held_out, studies)
        started = time.process_time()
        self.collected = calibrate.collect(self.left, *background)
        self.collecting = time.process_time() - started
        self.labels = reference.labels[query_rows]
        possible = np.zeros(len(reference.epitopes), np.float32)
        possible[self.left.candidates] = 1
        self.reachable = self.labels @ possible > 0
        self.study = np.array([reference.studies[[row]].indices[0] for row in query_rows])
        queries = reference.receptors.take(pa.array(query_rows)), vectors[query_rows]
        self.queries, self.test = (
            evidence.collect_evidence(self.left, receptors, vectors, self.collected.threshold)
            for receptors, vectors in (queries, test)
        )

    def calls(self, queries: Candidates, test: Candidates) -> Calls:
        epitope, score = queries.best()
        right = binds_epitope(self.labels, epitope)
        return Calls(score, right, self.reachable, self.study, test.best()[1])

    def measured(self, score: str, columns: list[int]) -> tuple[Calls, CalibrationScores]:
        """Return the calls by a score, and the scores that calibrate it."""
        collected = self.collected
        labelled = collected.fold_evidence
        # The sum of SCEPTR's and TCRdist's log odds: nothing is trained.
        plain = scorer.untrained(0.0, np.zeros(len(evidence.NAMES[self.left.chains])))
        candidates_of = {"SCEPTR": lambda part: part.first, "sum": plain.candidates}.get(score)
        if candidates_of:
            queries, test, background = map(candidates_of, (self.queries, self.test, collected.background))
            scores = CalibrationScores(
                stacked(list(map(candidates_of, labelled))), background, collected.labels
            )
            return self.calls(queries, test), scores
        cut = [without(part, columns, collected.typical) for part in (*labelled, collected.background)]
        fitted = calibrate.train(replace(collected, fold_evidence=cut[:-1], background=cut[-1]))
        candidates = [
            fitted.scorer.candidates(without(part, columns, collected.typical))
            for part in (self.queries, self.test)
        ]
        return self.calls(*candidates), fitted.scores


def rates(calls: Calls, scores: CalibrationScores, rng) -> list[tuple]:
    """Share of labelled receptors, claimed rate, calls, false and right calls, and queries of mixtures."""
    calibration, counts_of_mixture = scores.calibration(), []
    for share in MIXED:
        n = min(len(calls.score), int(len(calls.background) * share / (1 - share)))
        for _ in range(N_MIXTURES):
            labelled_rows = rng.permutation(len(calls.score))[:n]
            background_rows = rng.permutation(len(calls.background))[: int(n * (1 - share) / share)]
            score = np.concatenate([calls.score[labelled_rows], calls.background[background_rows]])
            right = np.concatenate([calls.right[labelled_rows], np.zeros(len(background_rows), bool)])
            estimated = calibration.fdr(score, calibration.prevalence(score))
            for claimed in CLAIMED:
                is_called = estimated <= claimed
                counts = is_called.sum(), (is_called & ~right).sum(), (is_called & right).sum()
                counts_of_mixture.append((share, claimed, *counts, n, calls.reachable[labelled_rows].sum()))
    return counts_of_mixture


COUNTS = ["score", "labelled", "claimed", "calls", "false", "right", "queries", "reachable"]


def with_background(sources: Sources, receptors: pa.Table) -> tuple[Sources, tuple, tuple]:
    """
    Sources with a part of real receptors as background, the part that calibrates, and the part that tests.

    Half of the receptors are for the run, as with ``--background``, a sixth of these in the densities.
    """
    half = len(receptors) // 2
    sizes = half // 6, half - half // 6, len(receptors) - half
    order = np.random.default_rng(420).permutation(len(receptors))
    taken = np.split(order, np.cumsum(sizes)[:2])
    contrast, *rest = (receptors.take(pa.array(rows)) for rows in taken)
    vectors = {chains: sources.embed(on_chains(contrast, chains)) for chains in sources.references}
    changed = replace(sources, contrast=contrast, contrast_vectors=vectors)
    calibrating, tested = ((table, sources.embed(table)) for table in rest)
    return changed, calibrating, tested


def main(argv=None):
    args = parse_args(argv)
    with TemporaryDirectory() as folder:
        cells, receptors = normalised(args.labelled, Path(folder))
        own = normalised(args.sample, Path(folder))[1] if args.sample else None
    options = {"species": "homosapiens", "exclude_references": args.exclude_references, "innate": args.innate}
    references = {
        chains: reference_set.build_reference_set(cells, receptors, chains=chains, **options)
        for chains in COMPARED[args.chains]
    }
    embed = Sceptr("sceptr").embed
    made = tables.distinct_receptors(synthesise(args.contrast + args.background + args.test, seed=1))
    parts = [made.slice(0, args.contrast), made.slice(args.contrast, args.background)]
    parts.append(made.slice(args.contrast + args.background))
    contrast, background, test = (on_chains(part, args.chains) for part in parts)
    limits = {"min_references": MIN_REFERENCES, "threads": args.threads}
    sources = Sources.embedded(args.chains, references, contrast, embed, **limits)
    background, test = ((table, embed(table)) for table in (background, test))
    trials = {"OLGA": (sources, background, test)}
    if own is not None:
        own = on_chains(reference_set.conventional(with_chains(own, args.chains)), args.chains)
        trials["OLGA; tested with the sample"] = sources, background, (own, embed(own))
        trials["half of the sample; tested with the other"] = with_background(sources, own)
    trials_measured = []
    for name, trial in trials.items():
        sizes = len(sources.reference), *(len(part[0]) for part in trial[1:])
        print("\nBackground of {}: {:,} references, {:,} that calibrate, {:,} tested".format(name, *sizes))
        counts = dict(zip(("references", "calibrating", "tested"), sizes, strict=True))
        trials_measured.append({"background": name, **counts, **compare(*trial, args)})
    results.write(args, {"chains": args.chains, "trials": trials_measured}, ["scikit-learn", "numba"])


def compare(sources: Sources, background: tuple, test: tuple, args) -> dict[str, list[dict]]:
    """Print and return the measures of each score over all folds and divisions."""
    names = evidence.NAMES[args.chains]
    variants: dict[str, list[int]] = {"SCEPTR": [], "sum": [], "all": []}
    if args.ablation:
        kinds = {name: [number] for number, name in enumerate(names)}
        kinds |= {"genes": [n for n, name in enumerate(names) if "genes" in name]}
        kinds |= {"single chains": [n for n, name in enumerate(names) if name in ("alpha", "beta")]}
        variants |= {f"all but {name}": columns for name, columns in kinds.items() if columns}
    rows, claims = [], []
    for seed in range(args.seeds):
        fold_of = divided(sources.reference, seed)
        fold_calls: dict[str, list[Calls]] = {name: [] for name in variants}
        for number in range(args.folds):
            fold = Fold(sources, fold_of, number, background, test)
            print(f"division {seed}, fold {number}: {fold.collecting:.0f} s of processor", flush=True)
            for name, columns in variants.items():
                calls, scores = fold.measured(name, columns)
                fold_calls[name].append(calls)
                if not columns:
                    claims += [(name, *counts) for counts in rates(calls, scores, np.random.default_rng(420))]
        for name, parts in fold_calls.items():
            pooled = Calls.pooled(parts)
            for prevalence in PREVALENCES:
                measured = Ranking(pooled, prevalence).measure()
                recall = measured["recall_10"] * pooled.reachable.mean()
                rows.append({"score": name, "labelled": prevalence, **measured, "recall_10_all": recall})
    return show(pd.DataFrame(rows), pd.DataFrame(claims, columns=COUNTS))


def show(rows: pd.DataFrame, claims: pd.DataFrame) -> dict[str, list[dict]]:
    """Print and return means over the divisions, and sums over their mixtures."""
    means = rows.groupby(["labelled", "score"], sort=False).mean()
    print(means.round(4).to_string())
    print(f"share of all best epitopes right {rows['top_1'].mean():.3f}")
    sums = claims.groupby(["labelled", "score", "claimed"], sort=False).sum()
    sums["observed"] = (sums["false"] / sums["calls"]).round(4)
    sums["recall"] = (sums["right"] / sums["reachable"]).round(3)
    print(sums.to_string())
    return {
        "scores": means.reset_index().to_dict("records"),
        "claims": sums.reset_index().to_dict("records"),
    }


if __name__ == "__main__":
    main()
