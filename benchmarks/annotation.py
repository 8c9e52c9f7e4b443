#!/usr/bin/env python3
"""
The first look of annotation, SCEPTR's share, for receptors whose study the reference lacks: precision and
recall, beside TCRdist and exact match; claimed false discovery rates beside those observed; labelled
receptors hidden in a real sample. `annotation_scores` measures the score of calls, with all evidence.

The studies of the labelled table are divided into five folds. Receptors of a fold, mixed with background
receptors of OLGA, are annotated with the other folds; the calibration sees neither.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "bin"))

from airrvec.core import runtime, schema, tables

runtime.limit_threads(2)

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy.spatial.distance import pdist

from airrvec.annotation import cross_validation, reference_set, search, validation
from airrvec.annotation.calibration import CalibrationScores
from airrvec.annotation.candidates import stacked
from airrvec.core.chains import chain_classes, on_chains
from airrvec.synthetic.synthesis import synthesise
from annotation_measures import MIN_REFERENCES, Exact, FirstLook, Ours, Peer

PREVALENCES = (0.01, 0.05, 0.1, 0.3)
CLAIMED = (0.05, 0.1, 0.2, 0.5)
N_SPIKED = 100


def parse_args(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labelled", type=Path, required=True, help="a VDJdb export")
    parser.add_argument("--sample", type=Path, help="a real sample, e.g. of 10x, to hide receptors in")
    parser.add_argument("--exclude-references", default="10xgenomics")
    parser.add_argument("--chains", default="paired", help="paired, alpha, beta; peers are for paired alone")
    parser.add_argument("--background", type=int, default=50_000, help="receptors: 1/10 density, rest halved")
    parser.add_argument("--repeats", type=int, default=4, help="random mixtures a fold and prevalence")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--innate", action="store_true", help="keep innate-like receptors (MAIT, iNKT)")
    parser.add_argument("--no-peers", action="store_true", help="leave out TCRdist and exact match")
    return parser.parse_args(argv)


def normalised(path: Path, folder: Path):
    """Cells and receptors of a file."""
    command = [ROOT / "bin" / "normalise_receptors.py", path, "--sample", path.name.split(".")[0]]
    subprocess.run([sys.executable, *map(str, command), "--outdir", str(folder)], check=True, cwd=folder)
    name = path.name.split(".")[0]
    receptors = [tables.read(part) for part in sorted(folder.glob(f"{name}.receptors_*.parquet"))]
    return tables.read(folder / f"{name}.cells.parquet"), tables.distinct_receptors(
        pa.concat_tables(receptors)
    )


def held_out(reference, folds, fold: int):
    """
    Labelled receptors of a fold's studies alone, as queries against the receptors of no study of it.

    Returns
    -------
    asking, others : ndarray of int64
        Rows of the queries, and of the references.
    known : annotation.Reference
        The references.
    binds : ndarray of bool, shape (n_asking, n_epitopes)
        Which of the epitopes that may be called a query binds.
    """
    asking = np.flatnonzero(folds[:, fold] & (folds.sum(axis=1) == 1))
    others = np.flatnonzero(~folds[:, fold])
    known = reference.take(others)
    candidate = (known.epitopes["n_references"] >= MIN_REFERENCES).to_numpy()
    return asking, others, known, (reference.labels[asking].toarray() > 0) & candidate


def calibrated(chains: str, known, vectors, contrast, negatives, threads: int) -> FirstLook:
    """The first look of references and a background, given as vectors, with its calibration."""
    folds, _ = cross_validation.assign_folds(known, seed=420)
    rows, found = [], []
    for fold in range(folds.shape[1]):
        asking, others, left, _ = held_out(known, folds, fold)
        if len(asking) and len(others):
            found.append(
                search.search_candidates(vectors[asking], left, vectors[others], contrast, threads=threads)
            )
            rows.append(asking)
    scores = search.search_candidates(negatives, known, vectors, contrast, threads=threads)
    fitted = CalibrationScores(stacked(found), scores, known.labels[np.concatenate(rows)])
    return FirstLook(chains, known, vectors, contrast, fitted)


def measured(measure, reference, folds, n_test: int):
    """Queries of all folds and the test background, against the references of other folds."""
    queries, background = [], []
    for fold in range(folds.shape[1]):
        asking, others, known, binds = held_out(reference, folds, fold)
        epitope, score = measure.found("reference", asking, known, others)
        right = binds[np.arange(len(asking)), epitope] & (epitope >= 0)
        queries.append(pd.DataFrame({"score": score, "right": right, "findable": binds.any(axis=1)}))
        background.append(measure.found("test", np.arange(n_test), known, others)[1])
    return pd.concat(queries, ignore_index=True), np.concatenate(background)


def show_precision_recall(measures, reference, folds, n_test: int) -> None:
    print(f"\nRecall (%) of {'findable labelled receptors':<30} by precision and share of labelled receptors")
    print(
        f"{'':<14}" + "".join(f"{f'{p:.0%}, of {v:.0%}':>14}" for v in (0.1, 0.01) for p in (0.95, 0.8, 0.5))
    )
    for measure in measures:
        started = time.time()
        queries, background = measured(measure, reference, folds, n_test)
        shown = []
        for prevalence in (0.1, 0.01):
            curve = validation.precision_recall(
                *(queries[name].to_numpy() for name in ("score", "right", "findable")), background, prevalence
            )
            if isinstance(measure, Exact):
                curve = curve[curve["score"] > 0]
                point = curve.iloc[0] if len(curve) else None
                print(
                    f"  {measure.title}, {prevalence:.0%} labelled: {point.to_dict() if len(curve) else None}"
                )
            shown += [
                curve.loc[curve["precision"] >= precision, "recall"].max() for precision in (0.95, 0.8, 0.5)
            ]
        numbers = "".join(f"{100 * np.nan_to_num(value):>14.1f}" for value in shown)
        print(f"{measure.title:<14}{numbers}   {time.time() - started:.0f} s", flush=True)


def show_rates(ours: Ours, reference, folds, n_test: int, repeats: int, chains: str) -> list:
    """Claimed and observed false discovery rates of mixtures; the annotator of each fold."""
    rng = np.random.default_rng(420)
    n_folds = folds.shape[1]
    counted = {(share, claimed): np.zeros((n_folds, 3)) for share in PREVALENCES for claimed in CLAIMED}
    errors, annotators = {prevalence: [] for prevalence in PREVALENCES}, []
    vectors, contrast = ours.vectors["reference"], ours.vectors["contrast"]
    for fold in range(n_folds):
        asking, others, known, binds = held_out(reference, folds, fold)
        annotators.append(
            calibrated(chains, known, vectors[others], contrast, ours.vectors["negatives"], ours.threads)
        )
        fitted = annotators[-1].calibration
        epitope, labelled = ours.found("reference", asking, known, others)
        _, test = ours.found("test", np.arange(n_test), known, others)
        right = binds[np.arange(len(asking)), epitope] & (epitope >= 0)
        findable = binds.any(axis=1)
        for prevalence in PREVALENCES:
            n_labelled = int(prevalence / (1 - prevalence) * n_test)
            n_labelled = min(n_labelled, len(asking))
            n_background = int(n_labelled * (1 - prevalence) / prevalence)
            for _ in range(repeats):
                chosen = rng.permutation(len(asking))[:n_labelled]
                others_chosen = rng.permutation(n_test)[:n_background]
                scores = np.concatenate([labelled[chosen], test[others_chosen]])
                truth = np.concatenate([right[chosen], np.zeros(n_background, bool)])
                share = fitted.prevalence(scores)
                rates = fitted.fdr(scores, share)
                errors[prevalence].append(np.mean((fitted.probability(scores, share) - truth) ** 2))
                for claimed in CLAIMED:
                    called = rates <= claimed
                    found = called.sum(), (called & ~truth).sum(), findable[chosen].sum()
                    counted[prevalence, claimed][fold] += found
        print(f"  fold {fold}: {len(asking):,} queries, {len(others):,} references", flush=True)
    print(f"\nClaimed and observed false discovery rate ({chains}), {repeats} mixtures a fold")
    print(
        f"{'labelled':>9}{'claimed':>9}{'observed':>10}{'ratio':>7}{'calls':>8}{'recall':>8}{'Brier':>9}"
        "   false of calls in each fold"
    )
    for (prevalence, claimed), of_folds in counted.items():
        calls, false, n_findable = of_folds.sum(axis=0)
        observed = false / calls if calls else float("nan")
        print(
            f"{prevalence:>9.0%}{claimed:>9.0%}{observed:>10.3f}{observed / claimed:>7.2f}{calls:>8.0f}"
            f"{(calls - false) / n_findable:>8.3f}{np.mean(errors[prevalence]):>9.4f}   "
            + ", ".join(f"{n_false:.0f}/{n:.0f}" for n, n_false, _ in of_folds)
        )
    return annotators


def show_spiked(annotator: FirstLook, spiked, binds, own, threads: int) -> None:
    """Vectors of labelled receptors hidden among those of a real sample."""
    from sklearn.metrics import roc_auc_score

    vectors = np.concatenate([spiked, own])
    is_spiked = np.arange(len(vectors)) < len(spiked)
    number = {name: row for row, name in enumerate(annotator.reference.epitopes["epitope"])}
    for claimed in (0.05, 0.1, 0.2):
        calls, share = annotator.annotate(vectors, fdr=claimed, threads=threads)
        called = (calls["call"] == "called").to_numpy()
        epitopes = calls["best_epitope"][is_spiked].map(number).to_numpy()
        right = binds[np.arange(len(spiked)), epitopes] & called[is_spiked]
        print(
            f"  claimed {claimed:.0%}: {called.sum()} calls, {called[is_spiked].sum()} of spiked receptors"
            f" ({right.sum()} right), {called[~is_spiked].sum()} of the sample's own; share like the"
            f" reference {share:.3f}"
        )
    order = np.argsort(-calls["score"].to_numpy(), kind="stable")
    print(f"  AUROC of the spiked receptors {roc_auc_score(is_spiked, calls['score']):.3f}")
    for n in (10, 20, 50):
        print(f"  of the {n} highest scores, spiked: {is_spiked[order[:n]].sum()}")
    highest = order[~is_spiked[order]][:10]
    print("  the highest scores of the sample's own receptors:")
    print(calls.iloc[highest][["best_epitope", "fdr", "nearest_1_distance"]].to_string(index=False))


def show_sample(annotator: FirstLook, ours: Ours, reference, folds, receptors) -> None:
    """Labelled receptors of the first fold in a real sample: OLGA's background, or half of the sample."""
    from airrvec.encoders.sceptr import Sceptr

    asking, _, known, binds = held_out(reference, folds, 0)
    chosen = np.random.default_rng(420).choice(np.flatnonzero(binds.any(axis=1)), N_SPIKED, replace=False)
    spiked, binds = ours.vectors["reference"][asking[chosen]], binds[chosen]
    own = Sceptr("sceptr").embed(receptors.filter(pa.array(chain_classes(receptors) == annotator.chains)))
    print(f"\n{N_SPIKED} labelled receptors of other studies among {len(own):,} of the sample")
    show_spiked(annotator, spiked, binds, own, ours.threads)
    order = np.random.default_rng(420).permutation(len(own))
    background, rest = own[order[: len(own) // 2]], own[order[len(own) // 2 :]]
    contrast, negatives = np.split(background, [len(background) // 6])
    real = calibrated(annotator.chains, known, annotator.vectors, contrast, negatives, ours.threads)
    print(f"\nThe same among {len(rest):,} of them, with the other {len(background):,} as background")
    show_spiked(real, spiked, binds, rest, ours.threads)


def main(argv=None):
    args = parse_args(argv)
    with TemporaryDirectory() as folder:
        cells, receptors = normalised(args.labelled, Path(folder))
        own = normalised(args.sample, Path(folder))[1] if args.sample else None
    reference = reference_set.build_reference_set(
        cells,
        receptors,
        chains=args.chains,
        species="homosapiens",
        exclude_references=args.exclude_references,
        innate=args.innate,
    )
    if not args.no_peers:  # they need all fields
        frame = reference.receptors.select(list(schema.RECEPTOR_FIELDS)).to_pandas()
        reference = reference.take(np.flatnonzero(frame.notna().all(axis=1)))
    made = on_chains(tables.distinct_receptors(synthesise(args.background, seed=1)), args.chains)
    n_contrast = args.background // 10
    half = (len(made) - n_contrast) // 2
    sets = {
        "reference": reference.receptors,
        "contrast": made.slice(0, n_contrast),
        "negatives": made.slice(n_contrast, half),
        "test": made.slice(n_contrast + half),
    }
    print({name: len(part) for name, part in sets.items()}, len(reference.study_names), "studies", flush=True)
    folds, _ = cross_validation.assign_folds(reference, seed=420)
    ours = Ours(sets, args.threads)
    measures = [ours]
    if not args.no_peers:
        first = ours.vectors["reference"][:1000]
        of_peers = {name: part for name, part in sets.items() if name != "negatives"}
        measures += [Peer(of_peers, pdist(first).std()), Exact(of_peers)]
    show_precision_recall(measures, reference, folds, len(sets["test"]))
    annotators = show_rates(ours, reference, folds, len(sets["test"]), args.repeats, args.chains)
    if own is not None:
        show_sample(annotators[0], ours, reference, folds, own)


if __name__ == "__main__":
    main()
