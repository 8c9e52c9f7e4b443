#!/usr/bin/env python3
"""
Fine-tuning recipes on later studies: the table of docs/benchmarks/training.md.

Each recipe trains on two splits, by time (earlier studies train, later ones test) and by study, with several
seeds. Training receptors are the references; test receptors of an epitope are ranked against test receptors
of the other epitopes, before and after. Intervals of the mean difference are 2.5 and 97.5 percentiles of a
two-stage bootstrap: of test studies, then of each study's receptors; a second interval is one of epitopes.
Processes share the device. The figures are written after each recipe; `--seconds` ends the run.

    python benchmarks/training/recipes.py vdjdb_full_2023-06-01.txt.gz --device gpu --jobs 12 --seconds 400
"""

import multiprocessing
import sys
import tempfile
import time
import traceback
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

import airrvec  # noqa: F401  before numpy, as in the scripts
from airrvec.core import runtime
from airrvec.core.schema import MEAN, NOT_TRAINED
from airrvec.evaluation.heldout import gains
from airrvec.training import presets

import numpy as np
import pyarrow as pa

from benchmarks.common import results
from benchmarks.common.time_split import CUT
from benchmarks.common.tuning_tasks import Task, described, make_tasks

# Rules of the benchmark. The width of `contrast` is that of the loss; that of `contrast_spread` follows the
# spread of the distances, as for encoders other than SCEPTR.
RULES = ("contrast", "average_distance", "nearest_neighbour")
SPREAD = "contrast_spread"
# Weights of the tuned model in its average with the start; 1 is the tuned model itself.
WEIGHTS = (1.0, 0.25, 0.5, 0.75)
# Variants that are tabled side by side, and their names there.
VARIANTS = {
    "alone": "tuned",
    "weights, 0.5 tuned": "weights halfway to the start",
    "beside the start": "tuned and start, side by side",
    "beside the start, with TCRdist": "side by side, with TCRdist",
}
COMPARED = ("tuned", "default", "sceptr_tcrdist")  # models that tabled variants are compared with
BESIDE = -1.0  # stands for the vectors of both models, side by side
UNTRAINED_K = 20

# Steps and rates for batches of the size of the preset `neighbour`.
SHORT = {"steps": 300, "batch_size": 384, "warmup_steps": 50, "validate_every": 20, "patience": 5}
SLOW, FAST = SHORT | {"learning_rate": 1e-4}, SHORT | {"learning_rate": 3e-4}
FIXED = SLOW | {"patience": None}
WIDE = SLOW | {"batch_size": 768}
# The reference also trains the input projection and the head of masked-language modelling. A quarter of its
# steps and of its warm-up, in smaller batches, reach the same rate, 1e-3.
REFERENCE = "layers.2,embedding,mlm_head"
# What two shared cores train in an hour, with three seeds and both splits.
CHEAP = FAST | {"steps": 100, "batch_size": 192, "warmup_steps": 20}
QUARTER = {"steps": 293, "batch_size": 384, "warmup_steps": 250, "validate_every": 20, "patience": 5}


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """
    A way to fine-tune: a preset of the product, and what differs from it.

    Attributes
    ----------
    name : str
    preset : str or None
        File in conf/models; None for the start, not trained.
    published : str or None
        Published model with the weights of a training by its authors, in place of a training here.
    start : str
        Published model that training starts from.
    many : bool
        Whether further epitopes train too: those with fewer receptors, or without later studies.
    layers : str or None
    objective, schedule : dict
        Values in place of the preset's.
    """

    name: str
    preset: str | None = "finetuned"
    published: str | None = None
    start: str = "sceptr"
    many: bool = False
    layers: str | None = None
    objective: dict[str, Any] = field(default_factory=dict)
    schedule: dict[str, Any] = field(default_factory=dict)

    @property
    def is_tuned(self) -> bool:
        """Whether the weights differ from the start."""
        return bool(self.preset or self.published)

    def full_preset(self, max_steps: int | None = None, max_batch: int | None = None) -> presets.Preset:
        """Return the preset with these changes, of at most these steps and this batch size."""
        preset = presets.load(ROOT / f"conf/models/{self.preset}.json")
        schedule = replace(preset.schedule, **self.schedule)
        schedule = replace(
            schedule,
            steps=min(schedule.steps, max_steps or schedule.steps),
            batch_size=min(schedule.batch_size, max_batch or schedule.batch_size),
        )
        objective = replace(preset.objective, **self.objective)
        return replace(preset, layers=self.layers or preset.layers, objective=objective, schedule=schedule)


SUM = "supervised_and_neighbour"  # a loss of this benchmark: see `extra_losses`
WHOLE = {"dropped_chains": 0.0}
LARGE = "sceptr_large"
DEFAULT = "neighbour (default)"
STARTS = {
    start: Recipe(name=f"not trained, {start}", preset=None, start=start) for start in ("sceptr", LARGE)
}
# The most promising first: the time may end before the last.
TRAINED = (
    Recipe(name=DEFAULT, preset="neighbour"),
    Recipe(name="supervised, all layers", layers="all", schedule=SLOW),
    Recipe(name="both losses, all layers", layers="all", objective={"contrastive": SUM}, schedule=SLOW),
    Recipe(name="supervised, last layer", schedule=FAST),
    Recipe(name="large: neighbour", preset="neighbour", start=LARGE),
    Recipe(name="neighbour, many epitopes", preset="neighbour", many=True, schedule={"batch_size": 768}),
    Recipe(name="large: supervised, last layer", start=LARGE, schedule=FAST),
    Recipe(name="supervised, all layers, many epitopes", layers="all", many=True, schedule=WIDE),
    Recipe(name="paper's way"),
    Recipe(name="neighbour, 160 steps", preset="neighbour", schedule={"steps": 160, "patience": None}),
    Recipe(name="large: supervised, all layers", start=LARGE, layers="all", schedule=SLOW),
    Recipe(name="neighbour, whole receptors", preset="neighbour", objective=WHOLE),
    Recipe(name="supervised, all layers, 300 steps", layers="all", schedule=FIXED),
    Recipe(name="large: both losses, all layers, many epitopes", start=LARGE, layers="all", many=True,
           objective={"contrastive": SUM}, schedule=WIDE),
    Recipe(name="supervised, all layers, whole receptors", layers="all", objective=WHOLE, schedule=SLOW),
    Recipe(name="supervised without masking, all layers", layers="all", objective={"masked_language": False},
           schedule=SLOW),
    Recipe(name="paper's way, all layers", layers="all", schedule={"learning_rate": 3e-4}),
    Recipe(name="published weights", preset=None, published="sceptr_finetuned"),
    Recipe(name="neighbour, whole receptors, 160 steps", preset="neighbour", objective=WHOLE,
           schedule={"steps": 160, "patience": None}),
    Recipe(name="reference's layers, a quarter of its steps", layers=REFERENCE, schedule=QUARTER),
    Recipe(name="the same, many epitopes", layers=REFERENCE, many=True, schedule=QUARTER),
    Recipe(name="supervised, all layers, 100 steps of 192", layers="all", schedule=CHEAP),
)  # fmt: skip
RECIPES = {recipe.name: recipe for recipe in (*STARTS.values(), *TRAINED)}


@dataclass(frozen=True)
class Job:
    """A recipe and the number of a task."""

    recipe: Recipe
    task: int


@dataclass(frozen=True)
class Outcome:
    """
    Scores of a trained model.

    Attributes
    ----------
    scores : dict
        Weight of the tuned model in its average with the start → rule → scores of the test receptors, shape
        (n_epitopes, n_test).
    beside : dict
        Rule → the same scores by the vectors of the tuned model and of the start, side by side.
    untrained : dict
        Weight → epitope that no recipe trains → AUROC of nearest neighbour, of `UNTRAINED_K`
        references, among receptors that do not train.
    step : int
        Step of the weights.
    seconds, training : float
        Of the whole job, and of its training.
    problem : str
        Why there are no scores.
    """

    job: Job
    scores: dict[float, dict[str, np.ndarray]] = field(default_factory=dict)
    beside: dict[str, np.ndarray] = field(default_factory=dict)
    untrained: dict[float, dict[str, float]] = field(default_factory=dict)
    step: int = 0
    seconds: float = 0.0
    training: float = 0.0
    problem: str = ""


# --- Options


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("labelled", type=Path, help="labelled table, in any input format")
    parser.add_argument("--device", choices=("gpu", "cpu"), default="gpu")
    parser.add_argument("--jobs", type=int, default=12, help="processes that share the device")
    parser.add_argument("--seconds", type=float, default=400, help="the run ends then, with what it has")
    parser.add_argument("--splits", nargs="+", choices=("time", "study"), default=["time", "study"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[420, 1, 2])
    parser.add_argument("--recipes", nargs="+", choices=[recipe.name for recipe in TRAINED], metavar="NAME")
    parser.add_argument("--cut", type=int, default=CUT, help="first PMID of the later studies")
    parser.add_argument("--per-epitope", type=int, default=200, help="most training receptors of an epitope")
    parser.add_argument("--min-train", type=int, default=50, help="earlier receptors of an epitope, at least")
    parser.add_argument("--min-test", type=int, default=10, help="later receptors of an epitope, at least")
    parser.add_argument("--min-receptors", type=int, default=300, help="of an epitope, split by study")
    parser.add_argument("--further", type=int, default=20, help="receptors of a further epitope, at least")
    parser.add_argument(
        "--draws", type=int, default=30, help="reference sets per epitope that is not trained"
    )
    parser.add_argument("--resamples", type=int, default=1000, help="of the bootstrap")
    parser.add_argument("--max-steps", type=int)
    parser.add_argument("--max-batch", type=int)
    return parser.parse_args(argv)


# --- A job, in a process of its own

STATE = SimpleNamespace()  # of a process: its tasks and options


def start_process(tasks: list[Task], args) -> None:
    """Keep what all jobs of this process need."""
    STATE.tasks, STATE.args = tasks, args
    runtime.limit_threads(1)


def extra_losses() -> dict[str, Any]:
    """Return the losses of this benchmark, by name, as entries of `airrvec.training.losses.LOSSES`."""
    from airrvec.training.losses import Loss, neighbour_loss, supervised_contrastive_loss

    def summed(*words, **options):
        return supervised_contrastive_loss(*words, **options) + neighbour_loss(*words, **options)

    return {SUM: Loss(summed, needs_labels=True, needs_pairs=True)}


def work(job: Job) -> Outcome:
    """Train and score one model; where that fails, the outcome names the reason."""
    from airrvec.training.losses import LOSSES

    begin = time.perf_counter()
    try:
        with patch.dict(LOSSES, extra_losses()):
            outcome = scored(job)
    except Exception as error:  # the other recipes still run
        traceback.print_exc()
        outcome = Outcome(job, problem=f"{type(error).__name__}: {error}"[:300])
    return replace(outcome, seconds=time.perf_counter() - begin)


def scored(job: Job) -> Outcome:
    """Return the scores of the trained model, and of averages of its weights with those of the start."""
    from airrvec.encoders.combined import Embedded
    from airrvec.encoders.sceptr import Sceptr
    from airrvec.evaluation.heldout import specificity
    from airrvec.evaluation.scoring import Distances

    task, recipe = STATE.tasks[job.task], job.recipe
    start = Sceptr(recipe.start, device=STATE.args.device, precision="fp32")
    receptors, initial = task.split.labelled.receptors, start.loaded.state
    tokens = start.tokens(receptors)
    tuned, step, begin = initial, 0, time.perf_counter()
    if recipe.preset:
        tuned, step = trained(job, start.loaded.encoder, tokens)
    elif recipe.published:
        tuned = Sceptr(recipe.published).loaded.state
    outcome = Outcome(job, step=step, training=time.perf_counter() - begin)

    def embedded(weight: float) -> Embedded:
        state = {name: (1 - weight) * initial[name] + weight * tuned[name] for name in initial}
        model = Sceptr(recipe.start, device=STATE.args.device, precision="fp32")
        model.loaded = replace(model.loaded, state=state)
        return stored(model.embed_tokens(tokens, progress=lambda n: None))

    def stored(vectors: np.ndarray) -> Embedded:
        return Embedded(SimpleNamespace(embed=lambda _: vectors), receptors)

    measured = receptors.take(pa.array(np.concatenate([task.split.rows(part) for part in ("train", "test")])))
    for weight in WEIGHTS if recipe.is_tuned else WEIGHTS[:1]:
        model = embedded(weight)
        scores = specificity.rule_scores(model, task.split, RULES)
        kernel = Distances(model, measured, None).kernel
        spread = specificity.rule_scores(model, task.split, ("contrast",), kernel=kernel)
        outcome.scores[weight] = {**scores, SPREAD: spread["contrast"]}
        outcome.untrained[weight] = untrained_aurocs(model, task)
    if recipe.is_tuned:
        both = np.hstack([embedded(0.0).vectors, embedded(1.0).vectors]) / np.sqrt(2)  # unit vectors
        outcome.beside.update(specificity.rule_scores(stored(both), task.split, RULES))
        outcome.untrained[BESIDE] = untrained_aurocs(stored(both), task)
    return outcome


def untrained_aurocs(encoder, task: Task) -> dict[str, float]:
    """Return the mean AUROC over reference sets of each epitope that no recipe trains."""
    from airrvec.evaluation.heldout import specificity

    options = {"ks": (UNTRAINED_K,), "n_splits": STATE.args.draws, "rules": ("nearest_neighbour",)}
    aurocs = specificity.evaluate_unseen_epitopes(encoder, "", task.untrained, **options)
    values = defaultdict(list)
    for row in aurocs.select(["test_set", "epitope", "auroc"]).to_pylist():
        if row["test_set"] == NOT_TRAINED:
            values[row["epitope"]].append(row["auroc"])
    return {epitope: float(np.mean(measured)) for epitope, measured in values.items()}


def trained(job: Job, encoder, tokens) -> tuple[dict[str, np.ndarray], int]:
    """Return the weights of the trained model, and their step."""
    from airrvec.training import trainer

    task, args = STATE.tasks[job.task], STATE.args
    preset = job.recipe.full_preset(args.max_steps, args.max_batch)
    training = {**task.split.train, **(task.further if job.recipe.many else {})}

    def receptors(rows: dict[str, np.ndarray]) -> trainer.Receptors | None:
        order = np.concatenate(list(rows.values()))
        labels = np.repeat(np.arange(len(rows)), [len(members) for members in rows.values()])
        return trainer.Receptors(tokens.take(order), labels) if len(order) else None

    known = receptors(training)
    assert known is not None  # a split has training receptors
    with tempfile.TemporaryDirectory() as folder:
        done = trainer.train(
            encoder.train(), known, receptors(task.split.validation), preset.objective, preset.schedule,
            seed=task.seed, folder=Path(folder), trainable=preset.trainable(encoder.config.n_layers),
            checkpoint_every=preset.schedule.steps + 1, device=args.device,
        )  # fmt: skip
    state = {name: value.detach().numpy().copy() for name, value in done.encoder.state_dict().items()}
    return state, done.step


# --- The run


def until(end: float, running) -> Iterator[Outcome]:
    """Yield the outcomes as they come, until the time is over."""
    with suppress(StopIteration, multiprocessing.TimeoutError):
        while True:
            yield running.next(max(end - time.monotonic(), 0.01))


def baselines(tasks: list[Task]) -> tuple[list[np.ndarray], list[dict[str, float]]]:
    """Return the contrast scores by TCRdist, and the AUROCs of V and J genes alone, of each task."""
    from airrvec import encoders
    from airrvec.evaluation.heldout import specificity
    from airrvec.evaluation.scoring import Distances

    tcrdist = encoders.load("tcrdist")
    scores, genes = [], []
    for task in tasks:
        kernel = Distances(tcrdist, task.split.labelled.receptors, None).kernel
        scores.append(specificity.rule_scores(tcrdist, task.split, ("contrast",), kernel=kernel)["contrast"])
        table = specificity.gene_baseline(task.split).to_pylist()
        genes.append({row["epitope"]: row["auroc"] for row in table if row["test_set"] == "all"})
    return scores, genes


@dataclass(frozen=True)
class Variant:
    """Scores of each seed by a rule, and the weight of the tuned model in an average of weights, if any."""

    name: str
    scores: list[np.ndarray]
    rule: str = "contrast"
    weight: float | None = None


class Report:
    """
    Table of the recipes that are done.

    Parameters
    ----------
    args : Namespace
    tasks : list of Task
    """

    def __init__(self, args, tasks: list[Task]):
        self.args, self.tasks = args, tasks
        self.done: dict[tuple[str, int], Outcome] = {}
        self.shown: set[tuple[str, str]] = set()
        self.tests = {task.kind: task.tests for task in tasks}  # which no seed changes
        self.weights = {kind: gains.resample(t, args.resamples) for kind, t in self.tests.items()}
        self.rows: list[dict[str, Any]] = []
        self.epitopes: list[dict[str, Any]] = []
        self.tcrdist, self.genes = baselines(tasks)
        self.table = results.Table(
            split="", recipe="", variant="", seeds="", before=".3f", after=".3f", difference="+.3f",
            low="+.3f", high="+.3f", better="", untrained=".3f", untrained_difference="+.3f",
            untrained_better="",
        )  # fmt: skip

    def add(self, outcome: Outcome) -> None:
        """Keep an outcome, and print its recipe's rows of a split when all seeds are there."""
        self.done[outcome.job.recipe.name, outcome.job.task] = outcome
        for recipe in RECIPES.values():
            for kind in self.args.splits:
                numbers = [number for number, task in enumerate(self.tasks) if task.kind == kind]
                if len(self.usable(recipe, kind)) == len(numbers):
                    self.show(recipe, kind)

    def finish(self) -> None:
        """Print the recipes that the time has cut, with the seeds that they have."""
        for recipe in RECIPES.values():
            for kind in self.args.splits:
                self.show(recipe, kind)

    def usable(self, recipe: Recipe, kind: str) -> list[int]:
        """Return the tasks of a split for which recipe and start have scores."""
        names = {recipe.name, STARTS[recipe.start].name, STARTS["sceptr"].name}
        names |= {DEFAULT} & set(self.args.recipes or ()) if recipe.is_tuned else set()
        return [
            number
            for number, task in enumerate(self.tasks)
            if task.kind == kind
            and all((done := self.done.get((name, number))) and not done.problem for name in names)
        ]

    def show(self, recipe: Recipe, kind: str) -> None:
        """Print and keep the rows of a recipe in a split, once."""
        numbers = self.usable(recipe, kind)
        if not numbers or (recipe.name, kind) in self.shown:
            return
        self.shown.add((recipe.name, kind))
        start, tuned, sceptr = (
            [self.done[name, number] for number in numbers]
            for name in (STARTS[recipe.start].name, recipe.name, STARTS["sceptr"].name)
        )
        for variant in self.variants(recipe, numbers, start, tuned):
            before = [outcome.scores[1.0][variant.rule] for outcome in start]
            gain = gains.gain(before, variant.scores, self.tests[kind], self.weights[kind])
            reference = [outcome.scores[1.0][variant.rule] for outcome in sceptr]
            over = gains.gain(reference, variant.scores, self.tests[kind], self.weights[kind]).row()
            keys = {"split": kind, "recipe": recipe.name, "variant": variant.name}
            row = {
                **keys, "rule": variant.rule, "seeds": len(numbers), **gain.row(),
                **{f"over_sceptr_{name}": over[name] for name in ("difference", "low", "high")},
                **self.compared(variant, numbers, tuned, kind),
                **untrained_row(start, tuned, variant.weight),
            }  # fmt: skip
            self.rows.append(row)
            if variant.rule == "contrast":
                self._print(row)
                self.epitopes += [
                    {**keys, "epitope": epitope, "before": gain.before[place], "after": gain.after[place]}
                    for place, epitope in enumerate(self.tests[kind].epitopes)
                ]
        results.write(self.args, self.figures(), ["torch", "lightning"])

    def compared(self, variant: "Variant", numbers: list[int], tuned: list[Outcome], kind: str):
        """Return differences of a tabled variant to the tuned model, the default, and SCEPTR with TCRdist."""
        tcrdist = [self.tcrdist[number] for number in numbers]
        sceptr, default = (
            [self.done[name, number].scores[1.0]["contrast"] for number in numbers]
            if all((name, number) in self.done for number in numbers)
            else None
            for name in (STARTS["sceptr"].name, DEFAULT)
        )
        only_tuned = [outcome.scores[1.0]["contrast"] for outcome in tuned]
        with_tcrdist = gains.sums(sceptr, tcrdist) if sceptr else None
        row: dict[str, float | None] = {}
        for name, scores in zip(COMPARED, (only_tuned, default, with_tcrdist), strict=True):
            values: dict[str, float | int] = {}
            if scores and variant.name in VARIANTS and variant.rule == "contrast":
                values = gains.gain(scores, variant.scores, self.tests[kind], self.weights[kind]).row()
            row |= {f"over_{name}_{part}": values.get(part) for part in ("difference", "low", "high")}
        return row

    def _print(self, row: dict[str, Any]) -> None:
        cells = {name: row[name] for name in self.table.columns}
        for name in ("", "untrained_"):
            cells[f"{name}better"] = f"{row[f'{name}better']} of {row[f'{name}epitopes']}"
        self.table.add(**cells)

    def variants(
        self, recipe: Recipe, numbers: list[int], start: list[Outcome], tuned: list[Outcome]
    ) -> Iterator["Variant"]:
        """Yield the trained model, averages of weights, and ensembles."""
        for weight in tuned[0].scores:
            name = "alone" if weight == 1 else f"weights, {weight} tuned"
            for rule in tuned[0].scores[weight]:
                yield Variant(name, [outcome.scores[weight][rule] for outcome in tuned], rule, weight)
        before, after = ([outcome.scores[1.0]["contrast"] for outcome in part] for part in (start, tuned))
        tcrdist = [self.tcrdist[number] for number in numbers]
        if recipe.is_tuned:
            for rule in RULES:
                yield Variant("beside the start", [outcome.beside[rule] for outcome in tuned], rule, BESIDE)
            beside = [outcome.beside["contrast"] for outcome in tuned]
            yield Variant("beside the start, with TCRdist", gains.sums(beside, tcrdist))
            yield Variant("sum with the start", list(map(np.add, before, after)))
            yield Variant("sum with the start, standardised", gains.sums(before, after))
        elif recipe.start == "sceptr":
            yield Variant("TCRdist alone", tcrdist)
        yield Variant("sum with TCRdist, standardised", gains.sums(after, tcrdist))
        if recipe.start != "sceptr" or recipe.is_tuned:
            sceptr = [self.done[STARTS["sceptr"].name, number].scores[1.0]["contrast"] for number in numbers]
            parts = gains.sums(after, sceptr, tcrdist)
            yield Variant("sum with SCEPTR and TCRdist, standardised", parts)

    def figures(self) -> dict[str, Any]:
        """Return all figures so far."""
        return {
            "device": self.args.device,
            "splits": [described(task, self.tests[task.kind]) for task in self.tasks],
            "recipes": [asdict(RECIPES[name]) for name in dict(self.shown)],
            "genes": [
                {"split": task.kind, "seed": task.seed, "auroc": genes[MEAN]}
                for task, genes in zip(self.tasks, self.genes, strict=True)
            ],
            "alone": side_by_side(self.rows, "alone"),
            "with_tcrdist": side_by_side(self.rows, "sum with TCRdist, standardised"),
            "variants": [
                {"variant": words, **row}
                for variant, words in VARIANTS.items()
                for row in side_by_side(self.rows, variant)
                if RECIPES[row["recipe"]].is_tuned
            ],
            "gains": self.rows,
            "epitopes": self.epitopes,
            "trainings": [
                {
                    "recipe": name, "split": self.tasks[number].kind, "seed": self.tasks[number].seed,
                    "step": outcome.step, "seconds": outcome.seconds, "training_s": outcome.training,
                    "problem": outcome.problem,
                }
                for (name, number), outcome in self.done.items()
            ],
        }  # fmt: skip


def side_by_side(rows: list[dict[str, Any]], variant: str) -> list[dict[str, Any]]:
    """Return a row for each recipe: the contrast of a variant on each split, by ``time_`` and ``study_``."""
    names = ["seeds", "before", "after", "difference", "low", "high", "untrained_difference"]
    names += [f"over_{model}_{part}" for model in COMPARED for part in ("difference", "low", "high")]
    recipes: dict[str, dict[str, Any]] = defaultdict(dict)
    for row in rows:
        if (row["variant"], row["rule"]) == (variant, "contrast"):
            recipes[row["recipe"]] |= {f"{row['split']}_{name}": row[name] for name in names}
    empty = {f"{kind}_{name}": None for kind in ("time", "study") for name in names}
    return [{"recipe": recipe, **empty, **values} for recipe, values in recipes.items()]


def untrained_row(start: list[Outcome], tuned: list[Outcome], weight: float | None) -> dict[str, Any]:
    """Return the mean AUROC of epitopes that no recipe trains, with the tuned model, and its difference."""
    names = ("untrained", "untrained_difference", "untrained_better", "untrained_epitopes")
    epitopes = [*start[0].untrained[1.0]]
    if weight is None or not epitopes:
        return dict(zip(names, (None, None, 0, 0), strict=True))
    before, after = (
        np.mean([[part.untrained[w][epitope] for epitope in epitopes] for part in parts], axis=0)
        for parts, w in ((start, 1.0), (tuned, weight))
    )
    values = (after.mean(), (after - before).mean(), int((after > before).sum()), len(epitopes))
    return dict(zip(names, values, strict=True))


def main(argv=None):
    end = time.monotonic()
    args = parse_args(argv)
    end += args.seconds
    tasks = make_tasks(args)
    chosen = [RECIPES[name] for name in args.recipes] if args.recipes else TRAINED
    starts = [recipe for start, recipe in STARTS.items() if start in {"sceptr", *(r.start for r in chosen)}]
    jobs = [Job(recipe, number) for recipe in (*starts, *chosen) for number in range(len(tasks))]
    # Spawned, because CUDA does not work in forked processes. The end of the block ends them all.
    with multiprocessing.get_context("spawn").Pool(args.jobs, start_process, (tasks, args)) as pool:
        running = pool.imap_unordered(work, jobs)
        report = Report(args, tasks)
        for outcome in until(end, running):
            report.add(outcome)
        report.finish()


if __name__ == "__main__":
    main()
