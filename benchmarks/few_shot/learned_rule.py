#!/usr/bin/env python3
"""
Few-shot rules that learn from other epitopes: a table of docs/benchmarks/few_shot.md.

The evidence of a receptor for an epitope are log shares (`contrast`) and log densities of several distances,
at several kernel widths. A logistic regression learns their weights from all epitopes but one, and ranks the
receptors for the one that is left out. Intervals are over epitopes, drawn again.

In the table `tuned`, SCEPTR is fine-tuned on all epitopes but those of a fold, and is evidence for these. No
method is tested there on receptors that trained.

    python benchmarks/few_shot/learned_rule.py vdjdb_full_2023-06-01.txt.gz --json learned_rule.json
"""

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

import airrvec  # noqa: F401  before numpy, as in the scripts
from airrvec import encoders
from airrvec.core import runtime
from airrvec.core.chains import on_chains
from airrvec.core.seeds import generator
from airrvec.encoders.combined import Embedded, Sum
from airrvec.encoders.sceptr import Sceptr
from airrvec.evaluation import fewshot
from airrvec.evaluation.fewshot import LabelledReceptors, Splits
from airrvec.evaluation.scoring import Distances
from airrvec.model import weights
from airrvec.stats import metrics
from airrvec.training import presets

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.common import results
from benchmarks.common.material import normalised

# Distances: title → name of an encoder, and the chains that it gets.
DISTANCES = {
    "SCEPTR": ("sceptr", "paired"),
    "TCRdist": ("tcrdist", "paired"),
    "SCEPTR + TCRdist": ("sceptr+tcrdist", "paired"),
    "SCEPTR α": ("sceptr", "alpha"),
    "SCEPTR β": ("sceptr", "beta"),
    "TCRdist α": ("tcrdist", "alpha"),
    "TCRdist β": ("tcrdist", "beta"),
    "V and J genes": ("v_j_genes", "paired"),
    "CDR3 Levenshtein": ("cdr3_levenshtein", "paired"),
}
RULES = ("SCEPTR", "TCRdist", "SCEPTR + TCRdist")  # by contrast, without learning
CHAINS = tuple(name for name in DISTANCES if name.startswith(("SCEPTR", "TCRdist")))
WIDTHS = (1.0, 2.0, 3.0)  # of kernels, in those of the benchmark; the first is the benchmark's own
TUNED = "SCEPTR, fine-tuned on other epitopes"
PARTS = ("rules", "tuned")
C = 0.01  # inverse of the regularisation of the regression


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("labelled", type=Path, help="labelled table, in any input format")
    parser.add_argument("--k", type=int, nargs="+", default=[10, 20, 50, 100, 200])
    parser.add_argument("--splits", type=int, default=20, help="reference sets of an epitope")
    parser.add_argument("--positives", type=int, default=100, help="receptors left to test, at least")
    parser.add_argument("--negatives", type=int, default=150, help="receptors of a class that a split trains")
    parser.add_argument("--resamples", type=int, default=2000, help="of the epitopes, for intervals")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="tables to measure")
    parser.add_argument("--folds", type=int, default=2, help="of epitopes, for fine-tuning")
    parser.add_argument("--steps", type=int, help="of fine-tuning; by default those of the preset")
    parser.add_argument("--per-epitope", type=int, default=200, help="receptors that fine-tuning learns from")
    parser.add_argument("--seed", type=int, default=420)
    return parser.parse_args(argv)


# --- Evidence


class OnChains:
    """An encoder that gets some chains of the receptors."""

    def __init__(self, name: str, chains: str):
        self.encoder, self.chains = encoders.load(name), chains
        self.kernel = getattr(self.encoder, "kernel", None)

    def distance_rows(self, receptors) -> Callable[[np.ndarray], np.ndarray]:
        return encoders.distance_rows(self.encoder, on_chains(receptors, self.chains))


class Kernels:
    """
    Distances of the references' receptors to all, in kernel widths.

    Parameters
    ----------
    encoder
        From `airrvec.encoders.load`.
    labelled : LabelledReceptors
    rows : ndarray of int, shape (b,)
        Sorted receptors that may be references.
    """

    def __init__(self, encoder, labelled: LabelledReceptors, rows: np.ndarray):
        measured = Distances(encoder, labelled.receptors, None)
        self.rows = rows
        blocks = np.array_split(rows, max(len(rows) // 500, 1))
        self.distances = np.concatenate([measured.rows_to_all(block).astype(np.float32) for block in blocks])
        self.distances /= np.float32(measured.kernel)

    def log_density(self, references: np.ndarray, width: float) -> np.ndarray:
        """Return log Σ exp(−d / width) over the references, for all receptors; shape (n,)."""
        values = self.distances[np.searchsorted(self.rows, references)] / np.float32(-width)
        highest = values.max(axis=0)
        return highest + np.log(np.exp(values - highest).sum(axis=0))


@dataclass(frozen=True)
class Evidence:
    """
    What is known of the tested receptors of one split of one epitope.

    Attributes
    ----------
    columns : dict of str to ndarray
        Evidence → value of each tested receptor, the higher the nearer.
    positive : ndarray of bool, shape (n_tested,)
    """

    columns: dict[str, np.ndarray]
    positive: np.ndarray

    def auroc(self, scores: np.ndarray) -> float:
        return metrics.auroc(-scores[self.positive], -scores[~self.positive])

    def matrix(self, names: Sequence[str]) -> np.ndarray:
        """Return standardised evidence, shape (n_tested, len(names))."""
        return StandardScaler().fit_transform(np.stack([self.columns[name] for name in names], axis=1))


def collect(
    kernels: dict[str, Kernels],
    widths: Sequence[float],
    labelled: LabelledReceptors,
    planned: list[Splits],
    number: int,
    untested: np.ndarray | None = None,
) -> Iterator[tuple[str, Evidence]]:
    """
    Yield each epitope and its evidence in one split.

    As by the rule `contrast`, the other epitopes are those measured at this k, and no reference is tested.
    ``untested`` are rows of further receptors that are not tested.
    """
    references = [split.references[number] for split in planned]
    is_tested = np.ones(len(labelled.receptors), bool)
    is_tested[np.concatenate(references)] = False
    if untested is not None:
        is_tested[untested] = False
    columns: list[dict[str, np.ndarray]] = [{} for _ in planned]
    for title, kernel in kernels.items():
        for width in widths:
            own = np.stack([kernel.log_density(rows, width) for rows in references])
            for place in range(len(planned)):
                rivals = np.logaddexp.reduce(np.delete(own, place, axis=0), axis=0)
                columns[place][f"share, {title}, {width:g}"] = own[place] - rivals
                columns[place][f"density, {title}, {width:g}"] = own[place]
    for split, evidence in zip(planned, columns, strict=True):
        positive = np.isin(np.flatnonzero(is_tested), labelled.epitopes[split.epitope])
        yield split.epitope, Evidence({name: value[is_tested] for name, value in evidence.items()}, positive)


# --- Rules


def contrast(title: str, evidence: dict[str, list[Evidence]]) -> np.ndarray:
    """Return the AUROC of each epitope by the contrast of one distance, mean over splits."""
    name = f"share, {title}, 1"
    return np.array(
        [np.mean([split.auroc(split.columns[name]) for split in splits]) for splits in evidence.values()]
    )


def learned(names: Sequence[str], evidence: dict[str, list[Evidence]], args) -> np.ndarray:
    """Return the AUROC of each epitope by weights learned from the other epitopes, mean over splits."""
    rng = np.random.default_rng(args.seed)
    matrices = {epitope: [split.matrix(names) for split in splits] for epitope, splits in evidence.items()}
    examples = {
        epitope: [_examples(matrix, split.positive, args.negatives, rng)
                  for matrix, split in zip(matrices[epitope], splits, strict=True)]
        for epitope, splits in evidence.items()
    }  # fmt: skip
    aurocs = []
    for epitope, splits in evidence.items():
        training = [part for other, parts in examples.items() if other != epitope for part in parts]
        values, labels = (np.concatenate(parts) for parts in zip(*training, strict=True))
        model = make_pipeline(LogisticRegression(C=C, max_iter=500, class_weight="balanced"))
        model.fit(values, labels)
        scores = map(model.decision_function, matrices[epitope])
        aurocs.append(np.mean([split.auroc(score) for split, score in zip(splits, scores, strict=True)]))
    return np.array(aurocs)


def _examples(matrix: np.ndarray, positive: np.ndarray, most: int, rng) -> tuple[np.ndarray, np.ndarray]:
    """Return at most so many receptors of each class, and which are positive."""
    groups = [np.flatnonzero(positive), np.flatnonzero(~positive)]
    groups = [rng.choice(rows, min(most, len(rows)), replace=False) for rows in groups]
    rows = np.concatenate(groups)
    return matrix[rows], positive[rows]


def column_names(titles: Sequence[str], widths: Sequence[float], kinds: Sequence[str]) -> list[str]:
    return [f"{kind}, {title}, {width:g}" for title in titles for width in widths for kind in kinds]


# Rules that learn: title → names of their evidence.
LEARNED = {
    "learned: shares of pair, α and β": column_names(CHAINS, WIDTHS[:1], ["share"]),
    "learned: three widths": column_names(CHAINS, WIDTHS, ["share"]),
    "learned: three widths, densities": column_names(CHAINS, WIDTHS, ["share", "density"]),
    "learned: the same, genes and Levenshtein": column_names(tuple(DISTANCES), WIDTHS, ["share", "density"]),
}


def rows_of_table(k: int, aurocs: dict[str, np.ndarray], args) -> Iterator[dict]:
    """Yield the mean AUROC of each method, and its difference from the best that learns nothing."""
    best = max(RULES, key=lambda title: aurocs[title].mean())
    n = len(aurocs[best])
    drawn = np.random.default_rng(args.seed).integers(n, size=(args.resamples, n))
    for title, values in aurocs.items():
        difference = values - aurocs[best]
        low, high = np.percentile(difference[drawn].mean(axis=1), [2.5, 97.5])
        yield {
            "k": k, "method": title, "auroc": values.mean(), "difference": difference.mean(), "low": low,
            "high": high, "better": int((difference > 0).sum()), "epitopes": n,
        }  # fmt: skip


def method_rows(rows: list[dict]) -> list[dict]:
    """Return a row for each method: AUROC, difference and interval at each k, such as ``low_10``."""
    methods: dict[str, dict] = {}
    for row in rows:
        values = {f"{name}_{row['k']}": row[name] for name in ("auroc", "difference", "low", "high")}
        methods.setdefault(row["method"], {"method": row["method"]}).update(values)
    return list(methods.values())


def plain(
    labelled: LabelledReceptors, planned: list[Splits], kernels: dict[str, Kernels], args
) -> Iterator[dict]:
    """Yield rows of methods without fine-tuning, at each k."""
    for k in args.k:
        at_k = [split for split in planned if split.k == k]
        evidence: dict[str, list[Evidence]] = {split.epitope: [] for split in at_k}
        for number in range(args.splits):
            for epitope, part in collect(kernels, WIDTHS, labelled, at_k, number):
                evidence[epitope].append(part)
        aurocs = {title: contrast(title, evidence) for title in RULES}
        aurocs |= {title: learned(names, evidence, args) for title, names in LEARNED.items()}
        yield from rows_of_table(k, aurocs, args)


# --- Fine-tuning on other epitopes


def trained_vectors(
    labelled: LabelledReceptors, epitopes: Sequence[str], args
) -> tuple[Embedded, np.ndarray]:
    """Return the vectors of SCEPTR fine-tuned on some epitopes by the default, and the rows that trained."""
    from airrvec.training import trainer

    start = Sceptr("sceptr")
    tokens = start.tokens(labelled.receptors)
    groups = []
    for epitope in epitopes:
        rows = labelled.epitopes[epitope]
        n = min(args.per_epitope, len(rows))
        groups.append(generator(args.seed, epitope).choice(rows, n, replace=False))
    order = np.concatenate(groups)
    labels = np.repeat(np.arange(len(groups)), [len(rows) for rows in groups])
    preset = presets.load("neighbour").changed(steps=args.steps)
    with tempfile.TemporaryDirectory() as folder:
        done = trainer.train(
            start.loaded.encoder.train(), trainer.Receptors(tokens.take(order), labels), None,
            preset.objective, preset.schedule, seed=args.seed, folder=Path(folder), device="cpu",
            checkpoint_every=preset.schedule.steps + 1,
        )  # fmt: skip
        weights.save(done.encoder, "tuned", Path(folder, "model"))
        return Embedded(Sceptr(str(Path(folder, "model"))), labelled.receptors), np.unique(order)


def fine_tuned(
    labelled: LabelledReceptors, planned: list[Splits], kernels: dict[str, Kernels], args
) -> Iterator[dict]:
    """Yield rows of methods, with vectors that were fine-tuned on the epitopes of the other folds."""
    epitopes = sorted({split.epitope for split in planned})
    folds = [epitopes[number :: args.folds] for number in range(args.folds)]
    tcrdist = encoders.load("tcrdist")
    trained = []
    for fold in folds:
        vectors, rows = trained_vectors(labelled, [name for name in epitopes if name not in fold], args)
        tuned = {TUNED: vectors, f"{TUNED}, + TCRdist": Sum([vectors, tcrdist])}
        parts = {
            title: Kernels(encoder, labelled, kernels["SCEPTR"].rows) for title, encoder in tuned.items()
        }
        trained.append((parts, rows))
    base = {title: kernels[title] for title in CHAINS}
    for k in args.k:
        at_k = [split for split in planned if split.k == k]
        evidence: dict[str, list[Evidence]] = {}
        for fold, (parts, rows) in zip(folds, trained, strict=True):
            for number in range(args.splits):
                for epitope, part in collect(base | parts, WIDTHS, labelled, at_k, number, rows):
                    if epitope in fold:
                        evidence.setdefault(epitope, []).append(part)
        titles = (*RULES, TUNED, f"{TUNED}, + TCRdist")
        aurocs = {title: contrast(title, evidence) for title in titles}
        for name, used in (("learned: three widths", CHAINS), ("learned, with fine-tuned", (*CHAINS, TUNED))):
            aurocs[name] = learned(column_names(used, WIDTHS, ["share"]), evidence, args)
        yield from rows_of_table(k, aurocs, args)


# --- The run


def main(argv=None):
    args = parse_args(argv)
    runtime.limit_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        cells, receptors = normalised(args.labelled.resolve(), Path(folder))
    labelled = fewshot.select_labelled(
        cells, receptors, species="homosapiens", exclude_references="10xgenomics"
    )
    options = {"ks": args.k, "n_splits": args.splits, "min_positives": args.positives, "seed": args.seed}
    planned, _ = fewshot.plan_splits(labelled, **options)
    rows = np.unique(np.concatenate([labelled.epitopes[split.epitope] for split in planned]))
    kernels = {name: Kernels(OnChains(*words), labelled, rows) for name, words in DISTANCES.items()}
    table = results.Table(
        k="", method="", auroc=".3f", difference="+.3f", low="+.3f", high="+.3f", better="", epitopes=""
    )
    figures: dict = {"splits": args.splits}
    parts = {"rules": plain, "tuned": fine_tuned}
    for name in args.only:
        figures[name] = []
        for row in parts[name](labelled, planned, kernels, args):
            table.add(**row)
            figures[name].append(row)
            figures[f"{name}_by_method"] = method_rows(figures[name])
            results.write(args, figures, ["scikit-learn", "torch", "lightning"])


if __name__ == "__main__":
    main()
