#!/usr/bin/env python3
"""
Calls of a state of the code on two public splits: by time and by study.

By time, studies up to a PMID are references, and receptors that only later studies report are queries. By
study, each of five folds is annotated with the others. Each seed draws other background receptors and, by
study, another division. A trial is calibrated and annotated as by the product; its queries are mixed with
background receptors that neither trained nor calibrated. Intervals: studies drawn again, 2.5 to 97.5 %.
`--before` adds the differences to an earlier result file of equal options, draw by draw. *Counted*: claims
whose background receptors are counted up to the highest, without the exponential tail.

    python benchmarks/annotation/public_splits.py --labelled vdjdb_full_2023-06-01.txt.gz --json after.json
"""

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

from airrvec.core import runtime, tables

runtime.limit_threads(2)

from airrvec.annotation import calibrate, evidence, reference_set, scorer
from airrvec.annotation.annotator import Annotator
from airrvec.annotation.calibrate import N_FOLDS
from airrvec.annotation.evidence import COMPARED, Sources, binds_epitope
from airrvec.annotation.known_vectors import KnownVectors
from airrvec.annotation.reference_set import ReferenceSet
from airrvec.annotation.scorer import Calibration
from airrvec.core.chains import on_chains
from airrvec.encoders.sceptr import Sceptr
from airrvec.synthetic.synthesis import synthesise

import numpy as np
import pyarrow as pa

from benchmarks.annotation.annotation import divided
from benchmarks.common import results
from benchmarks.common.material import normalised
from benchmarks.common.peer_measures import PREVALENCE, Calls, Ranking, interval
from benchmarks.common.time_split import CUT, pmid

SHARES = (0.02, 0.1, 0.3)  # labelled receptors in the mixtures
CLAIMED = (0.05, 0.1, 0.2)
N_MIXTURES = 4
NO_TAIL = 10**9  # least receptors of a tail, so that there is none
MEASURED = ("ap", "recall_5", "recall_10", "recall_20", "top_1")


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("--labelled", type=Path, required=True, help="a VDJdb export")
    parser.add_argument("--exclude-references", default="10xgenomics")
    parser.add_argument("--species", default="homosapiens")
    parser.add_argument("--chains", default="paired", help="paired, alpha or beta")
    parser.add_argument("--splits", nargs="+", choices=("time", "study"), default=["time", "study"])
    parser.add_argument("--cut", type=int, default=CUT, help="first PMID of the later studies")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--folds", type=int, default=N_FOLDS, help="the first folds alone")
    parser.add_argument("--contrast", type=int, default=5_000, help="receptors in the densities")
    parser.add_argument("--background", type=int, default=25_000, help="receptors that train and calibrate")
    parser.add_argument("--test", type=int, default=20_000, help="receptors that test")
    parser.add_argument("--reachable", action="store_true", help="mix queries whose epitope has references")
    parser.add_argument("--draws", type=int, default=200, help="of the bootstrap")
    parser.add_argument("--before", type=Path, help="an earlier result file of equal options")
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args(argv)


# --- Splits


@dataclass(frozen=True)
class Part:
    """Rows left out of the references, the names of their studies, and the rows that are queries."""

    left_out: np.ndarray
    studies: set[str]
    queries: np.ndarray


def split_by_time(reference: ReferenceSet, cut: int) -> Part:
    """Return later receptors as queries; those without a time are neither queries nor references."""
    numbers = [pmid(name) for name in reference.study_names]
    is_known = np.array([number is not None for number in numbers])
    is_later = np.array([number is not None and number >= cut for number in numbers])

    def reported(studies: np.ndarray) -> np.ndarray:
        return np.asarray(reference.studies[:, studies].sum(axis=1)).ravel() > 0

    reported_before = reported(~is_later)
    studies = {name for name, out in zip(reference.study_names, is_later | ~is_known, strict=True) if out}
    left_out = np.flatnonzero(reported(is_later | ~is_known))
    return Part(left_out, studies, np.flatnonzero(reported(is_later) & ~reported_before))


def split_by_study(reference: ReferenceSet, seed: int) -> Iterator[Part]:
    """Yield each fold of studies as queries."""
    fold_of = divided(reference, seed)
    members = reference.studies @ (fold_of[:, None] == np.arange(N_FOLDS)).astype(np.float32) > 0
    for fold in range(N_FOLDS):
        names = {name for name, own in zip(reference.study_names, fold_of, strict=True) if own == fold}
        queries = np.flatnonzero(members[:, fold] & (members.sum(axis=1) == 1))
        yield Part(np.flatnonzero(members[:, fold]), names, queries)


def first_studies(reference: ReferenceSet, queries: np.ndarray) -> np.ndarray:
    """Return the number of the first study of each query."""
    studies = reference.studies[queries]
    return studies.indices[studies.indptr[:-1]].astype(np.int64)


def are_reachable(left: Sources, reference: ReferenceSet, queries: np.ndarray) -> np.ndarray:
    """Return whether an epitope of each query has enough references among those that are left."""
    possible = np.zeros(len(reference.epitopes), np.float32)
    possible[left.candidates] = 1
    return reference.labels[queries] @ possible > 0


# --- Trials


@dataclass(frozen=True)
class Trial:
    """Calls of a split's part, the calibration that they have, and processor seconds of both steps."""

    calls: Calls
    calibration: Calibration
    calibrating_s: float
    annotating_s: float


def measured(sources: Sources, part: Part, background: pa.Table, test: pa.Table) -> Trial:
    """Calibrate on the other studies, and annotate the queries and the tested background."""
    reference, vectors = sources.reference, sources.vectors[sources.chains]
    left = sources.without(part.left_out, part.studies)
    background_vectors, test_vectors = sources.embed(background), sources.embed(test)
    begin = time.process_time()
    fitted = calibrate.fit(left, background, background_vectors)
    calibrated = time.process_time()
    annotator = Annotator(left, fitted.scorer, fitted.scores)
    queries = reference.receptors.take(pa.array(part.queries))
    hits, test_hits = (
        annotator.search(receptors, own, [(np.arange(len(own)), None)])[0]
        for receptors, own in ((queries, vectors[part.queries]), (test, test_vectors))
    )
    calls = Calls(
        hits.score,
        binds_epitope(reference.labels[part.queries], hits.epitope),
        are_reachable(left, reference, part.queries),
        first_studies(reference, part.queries),
        test_hits.score,
    )
    done = time.process_time()
    return Trial(calls, annotator.calibration, calibrated - begin, done - calibrated)


def trials(args, references: dict[str, ReferenceSet], made: pa.Table) -> Iterator[tuple[str, int, Trial]]:
    """Yield split, seed and trial."""
    embed = KnownVectors(Sceptr("sceptr").embed)
    for chains, reference in references.items():
        shown = on_chains(reference.receptors.select(made.column_names), chains)
        pairs = on_chains(references[args.chains].receptors.select(made.column_names), chains)
        embed.learn(on_chains(made, chains), shown, pairs)
    for seed in range(args.seeds):
        order = np.random.default_rng(seed).permutation(len(made))
        drawn = np.split(order, np.cumsum([args.contrast, args.background]))
        contrast, background, test = (
            on_chains(made.take(pa.array(np.sort(rows))), args.chains) for rows in drawn
        )
        limits = {"min_references": evidence.MIN_REFERENCES, "threads": args.threads}
        sources = Sources.embedded(args.chains, references, contrast, embed, **limits)
        for split in args.splits:
            folds = split_by_study(sources.reference, seed)
            parts = [split_by_time(sources.reference, args.cut)] if split == "time" else list(folds)
            for part in parts[: args.folds]:
                trial = measured(sources, part, background, test)
                n, reachable = len(part.queries), int(trial.calls.reachable.sum())
                print(
                    f"{split}, seed {seed}: {n:,} queries, {reachable:,} reachable;"
                    f" {trial.calibrating_s:.1f} s to calibrate, {trial.annotating_s:.1f} s to annotate",
                    flush=True,
                )
                yield split, seed, trial


# --- Measures


def drawn_studies(calls: list[Calls], draws: int) -> np.ndarray:
    """Return how often each study is drawn, shape (draws, n_studies); studies without queries never are."""
    present = np.unique(np.concatenate([part.study for part in calls]))
    times = np.zeros((draws, present.max() + 1), np.int64)
    shares = np.full(len(present), 1 / len(present))
    times[:, present] = np.random.default_rng(420).multinomial(len(present), shares, size=draws)
    return times


def ranked(pooled_seeds: list[Calls], times: np.ndarray) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Return the means of `MEASURED` over the seeds, and those of each draw of studies."""
    rankings = [Ranking(calls, PREVALENCE) for calls in pooled_seeds]

    def mean(weights: list[np.ndarray | None]) -> dict[str, float]:
        values = [ranking.measure(weight) for ranking, weight in zip(rankings, weights, strict=True)]
        return {name: float(np.mean([value[name] for value in values])) for name in MEASURED}

    drawn = [mean([row[calls.study] for calls in pooled_seeds]) for row in times]
    return mean([None] * len(pooled_seeds)), {name: [row[name] for row in drawn] for name in MEASURED}


@dataclass
class Counts:
    """Calls of the mixtures of one share and claim: false ones of background; by study, wrong and right."""

    background: int
    wrong: np.ndarray
    right: np.ndarray
    reachable: int = 0

    def row(self, times: np.ndarray) -> dict[str, Any]:
        """Return calls, false ones and their share, with the interval over studies."""
        false, right = self.background + self.wrong.sum(), self.right.sum()
        low = high = None
        if false + right:
            drawn_false, drawn_right = self.background + times @ self.wrong, times @ self.right
            drawn = drawn_false / np.maximum(drawn_false + drawn_right, 1)
            low, high = interval(drawn[:, None]).ravel()
        return {
            "calls": int(false + right),
            "false": int(false),
            "background": self.background,
            "observed": false / (false + right) if false + right else None,
            "low": low,
            "high": high,
            "recall": right / max(self.reachable, 1),
        }


def mixed(all_trials: list[Trial], times: np.ndarray, reachable: bool) -> list[dict[str, Any]]:
    """Return claimed and observed rates of mixtures of labelled, or reachable, and background receptors."""
    n_studies = times.shape[1]
    counts = {
        (share, claim): Counts(0, np.zeros(n_studies, int), np.zeros(n_studies, int))
        for share in SHARES
        for claim in CLAIMED
    }
    for number, trial in enumerate(all_trials):
        calls, rng = trial.calls, np.random.default_rng(number)
        usable = np.flatnonzero(calls.reachable | (not reachable))
        for share in SHARES:
            n = min(len(usable), int(len(calls.background) * share / (1 - share)))
            for _ in range(N_MIXTURES):
                rows = rng.permutation(usable)[:n]
                background_rows = rng.permutation(len(calls.background))[: int(n * (1 - share) / share)]
                scores = np.concatenate([calls.score[rows], calls.background[background_rows]])
                rates = trial.calibration.fdr(scores, trial.calibration.prevalence(scores))
                for claim in CLAIMED:
                    _count(counts[share, claim], rates <= claim, calls, rows)
    return [
        {"labelled": 100 * share, "claimed": 100 * claim, **count.row(times)}
        for (share, claim), count in counts.items()
    ]


def _count(counts: Counts, is_called: np.ndarray, calls: Calls, rows: np.ndarray) -> None:
    """Add the calls of a mixture of labelled receptors, the rows, and then background receptors."""
    chosen = rows[is_called[: len(rows)]]
    counts.background += int(is_called[len(rows) :].sum())
    counts.reachable += int(calls.reachable[rows].sum())
    for array, right in ((counts.wrong, False), (counts.right, True)):
        np.add.at(array, calls.study[chosen[calls.right[chosen] == right]], 1)


def differences(after: dict[str, list[float]], before: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    """Return the intervals of the differences of each measure, draw by draw."""
    gains = {name: np.subtract(after[name], before[name]) for name in MEASURED}
    return {
        name: dict(zip(("low", "high"), interval(gain[:, None]).ravel(), strict=True))
        for name, gain in gains.items()
    }


def main(argv=None):
    args = parse_args(argv)
    with TemporaryDirectory() as folder:
        cells, receptors = normalised(args.labelled, Path(folder))
    options = {"species": args.species, "exclude_references": args.exclude_references}
    references = {
        chains: reference_set.build_reference_set(cells, receptors, chains=chains, **options)
        for chains in COMPARED[args.chains]
    }
    n = args.contrast + args.background + args.test
    made = tables.distinct_receptors(synthesise(n, seed=1, species=args.species))
    done = list(trials(args, references, made))
    before = json.loads(args.before.read_text())["figures"] if args.before else None
    measures, claims, draws = [], [], {}
    for split in args.splits:
        own = [(seed, trial) for name, seed, trial in done if name == split]
        pooled_seeds = [
            Calls.pooled([trial.calls for number, trial in own if number == seed])
            for seed in range(args.seeds)
        ]
        times = drawn_studies(pooled_seeds, args.draws)
        means, draws[split] = ranked(pooled_seeds, times)
        limits = {name: interval(np.array(draws[split][name])[:, None]).ravel() for name in MEASURED}
        row: dict[str, Any] = {
            "split": split,
            "queries": len(pooled_seeds[0].score),
            "studies": int((times.sum(0) > 0).sum()),
        }
        for name, value in means.items():
            row |= {name: value, f"{name}_low": limits[name][0], f"{name}_high": limits[name][1]}
        row["calibrating_s"] = np.mean([trial.calibrating_s for _, trial in own])
        if before:
            (old,) = (part for part in before["measures"] if part["split"] == split)
            gains = differences(draws[split], before["draws"][split])
            for name, limit in gains.items():
                row |= {f"{name}_gain": row[name] - old[name]}
                row |= {f"{name}_gain_{side}": limit[side] for side in ("low", "high")}
        measures.append(row)
        mixtures = [trial for _, trial in own], times, args.reachable
        lines = mixed(*mixtures)
        with mock.patch.object(scorer, "TAIL_RECEPTORS", NO_TAIL):
            counted = mixed(*mixtures)
        claims += [
            {"split": split, **line, **{f"counted_{name}": row[name] for name in ("observed", "calls")}}
            for line, row in zip(lines, counted, strict=True)
        ]
        print(json.dumps(results.plain(row), indent=1))
    table = results.Table(
        split="", labelled=".0f", claimed=".0f", observed=".3f", low=".3f", high=".3f", calls=",",
        background=",", recall=".3f",
    )  # fmt: skip
    for line in claims:
        table.add(**{name: line[name] for name in table.columns})
    figures = {"measures": measures, "claims": claims, "draws": draws}
    results.write(args, figures, ["scikit-learn", "numba"])


if __name__ == "__main__":
    main()
