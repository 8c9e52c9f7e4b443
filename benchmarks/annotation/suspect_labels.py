#!/usr/bin/env python3
"""
Whether annotation gains if references with suspect labels are left out, on receptors of other studies.

Two splits: the studies in five folds, and studies by time (earlier ones are references, later ones queries).
Suspect labels are those of the references alone: contradictions come from a cross-validation among them. The
queries are the same with and without the suspect references, and keep all of their labels.
"""

import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

from airrvec.core import runtime, schema, tables

runtime.limit_threads(2)

from airrvec.annotation import calibrate, evidence, reference_set, suspect_labels
from airrvec.annotation.calibrate import N_FOLDS
from airrvec.annotation.evidence import COMPARED, Sources, binds_epitope
from airrvec.encoders.sceptr import Sceptr
from airrvec.evaluation import study_identity
from airrvec.synthetic.synthesis import synthesise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.annotation import public_splits
from benchmarks.annotation.public_splits import Part
from benchmarks.common import results
from benchmarks.common.material import normalised
from benchmarks.common.peer_measures import MEASURES, Calls, Ranking, bootstrap, interval
from benchmarks.common.time_split import CUT

SPECIES = "homosapiens"
MIXED = 0.1  # share of labelled receptors in the mixtures of claimed rates
CLAIMED = (0.05, 0.1, 0.2)
LEFT_OUT = {
    "none": (),
    schema.CONTRADICTED: (schema.CONTRADICTED,),
    schema.SORTED_TOGETHER: (schema.SORTED_TOGETHER,),
    "both": (schema.CONTRADICTED, schema.SORTED_TOGETHER),
}


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("--labelled", type=Path, required=True, help="a VDJdb export")
    parser.add_argument("--exclude-references", default="10xgenomics")
    parser.add_argument("--background", type=int, default=12_000, help="receptors that train and calibrate")
    parser.add_argument("--contrast", type=int, default=5_000, help="receptors in the densities")
    parser.add_argument("--test", type=int, default=12_000, help="receptors that test")
    parser.add_argument("--folds", type=int, default=N_FOLDS, help="the first folds alone")
    parser.add_argument("--cut", type=int, default=CUT, help="first PMID of the later studies")
    parser.add_argument("--draws", type=int, default=1000, help="draws of the bootstrap over studies")
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args(argv)


def fitted_to(left: Sources, background: tuple):
    """Return the collected evidence of the references, and scorer and calibration."""
    collected = calibrate.collect(left, *background)
    return collected, calibrate.train(collected, threads=left.threads)


def suspect_rows(left: Sources, fitted, together: set[str], reasons: tuple) -> np.ndarray:
    """Return the rows of the references that are suspect for one of the reasons."""
    ids = left.reference.receptors
    suspect = np.zeros(len(left.reference), bool)
    if schema.SORTED_TOGETHER in reasons:
        suspect |= pc.is_in(ids["clonotype_id"], pa.array(sorted(together), pa.string())).to_numpy()
    if schema.CONTRADICTED in reasons:
        rows = suspect_labels.contradictions(left.reference, fitted, SPECIES, left.chains)["receptor_id"]
        suspect |= pc.is_in(ids["receptor_id"], pa.array(rows.tolist(), pa.string())).to_numpy()
    return np.flatnonzero(suspect)


def measured(sources: Sources, left: Sources, fit: tuple, queries: np.ndarray, test: tuple):
    """Return the calls of the queries, and the false and right calls at each claimed rate in mixtures."""
    reference, vectors = sources.reference, sources.vectors[sources.chains]
    collected, fitted = fit
    table = reference.receptors.take(pa.array(queries))
    known, unknown = (
        fitted.scorer.candidates(evidence.collect_evidence(left, receptors, matrix, collected.threshold))
        for receptors, matrix in ((table, vectors[queries]), test)
    )
    epitope, score = known.best()
    labels = reference.labels[queries]
    study = public_splits.first_studies(reference, queries)
    calls = Calls(
        score, binds_epitope(labels, epitope), np.ones(len(queries), bool), study, unknown.best()[1]
    )
    return calls, _rates(calls, fitted.scores.calibration())


def _rates(calls: Calls, calibration) -> list[tuple]:
    rng, rows = np.random.default_rng(420), []
    n = min(len(calls.score), int(len(calls.background) * MIXED / (1 - MIXED)))
    for _ in range(4):
        labelled = rng.permutation(len(calls.score))[:n]
        background = rng.permutation(len(calls.background))[: int(n * (1 - MIXED) / MIXED)]
        score = np.concatenate([calls.score[labelled], calls.background[background]])
        right = np.concatenate([calls.right[labelled], np.zeros(len(background), bool)])
        estimated = calibration.fdr(score, calibration.prevalence(score))
        for claimed in CLAIMED:
            is_called = estimated <= claimed
            rows.append((claimed, int(is_called.sum()), int((is_called & ~right).sum()), n))
    return rows


def trial(sources: Sources, parts: list[Part], together: set[str], background, test, args) -> list[dict]:
    """Return the measures with each kind of suspect references left out, over all parts of a split."""
    calls: dict[str, list] = {name: [] for name in LEFT_OUT}
    claims: dict[str, list] = {name: [] for name in LEFT_OUT}
    n_left_out = dict.fromkeys(LEFT_OUT, 0)
    for part in parts:
        left, queries = sources.without(part.left_out, part.studies), part.queries
        # The same queries count with and without: those whose epitope has enough references before.
        reachable = public_splits.are_reachable(left, sources.reference, queries)
        whole = fitted_to(left, background)
        for name, reasons in LEFT_OUT.items():
            rows = suspect_rows(left, whole[1], together, reasons)
            n_left_out[name] += len(rows)
            fewer = left.without(rows, None) if len(rows) else left
            fit = fitted_to(fewer, background) if len(rows) else whole
            epitope_calls, rates = measured(sources, fewer, fit, queries, test)
            calls[name].append(replace(epitope_calls, reachable=reachable))
            claims[name] += rates
            print(f"{name}: {len(rows)} references left out, {len(queries)} queries", flush=True)
    return [
        {"left_out": name, "references_left_out": n_left_out[name], **_row(calls, claims, name, args)}
        for name in LEFT_OUT
    ]


def _row(calls: dict, claims: dict, name: str, args) -> dict:
    pooled, base = Calls.pooled(calls[name]), Calls.pooled(calls["none"])
    row: dict = {"queries": len(pooled.score), **Ranking(pooled).measure()}
    low, high = interval(bootstrap(pooled, args.draws) - bootstrap(base, args.draws))
    for place, measure in enumerate(MEASURES):
        row[f"{measure}_change_low"], row[f"{measure}_change_high"] = float(low[place]), float(high[place])
    sums = pd.DataFrame(claims[name], columns=["claimed", "calls", "false", "n"]).groupby("claimed").sum()
    for claimed in CLAIMED:
        n_calls, false, n = (int(number) for number in sums.loc[claimed].to_numpy())
        key = f"{100 * claimed:.0f}"
        row |= {
            f"calls_{key}": n_calls,
            f"observed_{key}": false / n_calls if n_calls else None,
            f"right_{key}": (n_calls - false) / n if n else None,
        }
    return row


def main(argv=None):
    args = parse_args(argv)
    with TemporaryDirectory() as folder:
        cells, receptors = normalised(args.labelled, Path(folder))
    cells = study_identity.unite(cells, study_identity.same_studies(cells, receptors))
    excluded = {"exclude_references": args.exclude_references}
    references = {
        chains: reference_set.build_reference_set(
            cells, receptors, chains=chains, species=SPECIES, **excluded
        )
        for chains in COMPARED["paired"]
    }
    table = reference_set.reference_table({(SPECIES, "paired"): references["paired"]}, cells, receptors)
    suspects = suspect_labels.suspect_labels(
        table, cells, receptors, suspect_labels.together([]), species=[SPECIES], **excluded
    )
    is_together = pc.match_substring(suspects["reason"], schema.SORTED_TOGETHER)
    together = set(suspects.filter(is_together)["clonotype_id"].to_pylist())
    embed = Sceptr("sceptr").embed
    made = tables.distinct_receptors(synthesise(args.contrast + args.background + args.test, seed=1))
    contrast, background, test = (
        made.slice(start, size)
        for start, size in (
            (0, args.contrast),
            (args.contrast, args.background),
            (args.contrast + args.background, args.test),
        )
    )
    limits = {"min_references": evidence.MIN_REFERENCES, "threads": args.threads}
    sources = Sources.embedded("paired", references, contrast, embed, **limits)
    background, test = ((part, embed(part)) for part in (background, test))
    splits = {
        "time": [public_splits.split_by_time(sources.reference, args.cut)],
        "studies": [*public_splits.split_by_study(sources.reference, 0)][: args.folds],
    }
    rows = []
    for split, parts in splits.items():
        for row in trial(sources, parts, together, background, test, args):
            rows.append({"split": split, **row})
            print(
                {
                    name: round(value, 4) if value else value
                    for name, value in row.items()
                    if name != "left_out"
                }
            )
    results.write(args, {"suspects": rows}, ["scikit-learn", "numba"])


if __name__ == "__main__":
    main()
