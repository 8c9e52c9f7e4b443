#!/usr/bin/env python3
"""
All that needs a GPU, in one run of less than 25 minutes: tests, vectors, speed, training, memory.

A part that fails is named in the results; the others still run, and the exit status is 1. On a CPU the same
code runs with small sizes, where a limit on the receptors of a batch stands for a full memory.

    make gpu
    make gpu DEVICE=cpu SIZE=small
"""

import json
import logging
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

import airrvec  # noqa: F401  before numpy, as in the scripts
from airrvec.core import devices, tables
from airrvec.model import transformer, weights
from airrvec.model.architecture import ModelConfig
from airrvec.model.cpu import inference
from airrvec.model.tokens import Tokens, tokenise
from airrvec.search import neighbours
from airrvec.training import loop, trainer
from airrvec.training.data import Receptors
from airrvec.training.presets import Objective, Schedule

import numpy as np
import pyarrow as pa
import torch

from benchmarks.common import results
from benchmarks.common.gpu_run import SIZES, Run, little_memory, matrix_products
from benchmarks.common.material import SCEPTR_COLUMNS, normalised
from benchmarks.training import finetuning, pretraining_curve

PRECISIONS = ("fp32", "tf32", "bf16")
FP32_TOLERANCE = 1e-4  # largest Euclidean distance to the CPU's vectors
MANY = 300  # receptors of an epitope; two such epitopes allow the paper's task


def cuda_tests(run: Run) -> dict[str, Any]:
    """Return the outcomes of the unit tests that compute on a CUDA device, and are skipped without one."""
    paths = [
        path
        for path in sorted((ROOT / "tests/unit").glob("test_*.py"))
        if "token_batches" in path.read_text() and "DEVICES" in path.read_text()
    ]
    report = run.folder / "tests.xml"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:randomly",
        "-k",
        "cuda",
        f"--junitxml={report}",
    ]
    done = subprocess.run([*command, f"--junitxml={report}", *map(str, paths)], cwd=ROOT, stdout=sys.stderr)
    suite = next(ElementTree.parse(report).getroot().iter("testsuite"))  # noqa: S314 - pytest wrote it
    counts = {name: int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")}
    if done.returncode or (run.device == "gpu" and counts["skipped"] == counts["tests"]):
        raise RuntimeError(f"pytest ended with {done.returncode}: {counts}")
    return counts


def on_cpu(loaded: weights.LoadedModel, receptors: pa.Table) -> tuple[Tokens, np.ndarray]:
    """Return the tokens of receptors, and the vectors that a CPU computes."""
    tokens = tokenise(receptors, loaded.config.loops)
    return tokens, inference.embed(inference.Network(loaded.config, loaded.state), tokens)


def vectors(run: Run) -> dict[str, Any]:
    """Return largest distances to the CPU's vectors, and the share of receptors with another neighbour."""
    receptors = run.receptors.slice(0, run.size.compared)
    table = results.Table(model="", precision="", largest_distance=".1e", other_neighbour=".3%")
    for model in run.size.models:
        loaded = weights.load(model)
        tokens, expected = on_cpu(loaded, receptors)
        _, near = neighbours.nearest(expected, expected, 2, approximate_above=np.inf)
        for precision in PRECISIONS:
            with matrix_products(precision) as number_format:
                computed = transformer.embed(
                    loaded.encoder, tokens, device=run.torch, precision=number_format
                )
            distance = float(np.linalg.norm(computed - expected, axis=1).max())
            _, rows = neighbours.nearest(computed, computed, 2, device=run.device, approximate_above=np.inf)
            changed = float((np.sort(rows) != np.sort(near)).any(axis=1).mean())
            table.add(model=model, precision=precision, largest_distance=distance, other_neighbour=changed)
            if precision == "fp32" and not distance < FP32_TOLERANCE:
                raise RuntimeError(f"{model}: vectors differ from the CPU's by {distance:.1e}")
    return {"receptors": len(receptors), "models": table.rows}


def speed(run: Run) -> dict[str, Any]:
    """Return receptors a second, from a table in memory to an array, beside sceptr on the same device."""
    loaded = weights.load("sceptr")
    ways: dict[str, tuple[int, Callable[[pa.Table], object]]] = {}

    def own(precision: str) -> Callable[[pa.Table], object]:
        def embed(receptors: pa.Table) -> object:
            with matrix_products(precision) as number_format:
                tokens = tokenise(receptors, loaded.config.loops)
                return transformer.embed(loaded.encoder, tokens, device=run.torch, precision=number_format)

        return embed

    for precision in PRECISIONS:
        ways[f"airrvec, {precision}"] = run.size.embedded, own(precision)
    if results.installed("sceptr"):
        for batch in (512, 8192):  # 512 is its default
            ways[f"sceptr, batches of {batch}"] = run.size.peer, peer(run.device, batch)
    else:
        print("sceptr is not installed: left out")
    table = results.Table(way="", receptors=",", seconds=".2f", receptors_a_second=",.0f")
    for way, (n, embed) in ways.items():
        receptors = run.receptors.slice(0, n)
        embed(receptors.slice(0, 200))  # compiles, and takes memory
        seconds = []
        for _ in range(run.size.rounds):
            run.wait()
            start = time.perf_counter()
            embed(receptors)
            run.wait()
            seconds.append(time.perf_counter() - start)
        median = float(np.median(seconds))
        table.add(way=way, receptors=n, seconds=median, receptors_a_second=n / median)
    return {"model": "sceptr", "rounds": run.size.rounds, "ways": table.rows}


def peer(device: str, batch: int) -> Callable[[pa.Table], object]:
    """Return a function that embeds receptors with the package sceptr, on the same device."""
    import sceptr

    model = sceptr.variant.default()
    (model.enable_hardware_acceleration if device == "gpu" else model.disable_hardware_acceleration)()
    model.set_batch_size(batch)

    def embed(receptors: pa.Table) -> object:
        frame = receptors.select(list(SCEPTR_COLUMNS)).to_pandas().rename(columns=SCEPTR_COLUMNS)
        return model.calc_vector_representations(frame)

    return embed


def sharing(run: Run) -> dict[str, Any]:
    """Return the seconds of one task that embeds, and of two at the same time on the same device."""
    source = run.folder / "shared.parquet"
    tables.write(run.receptors.slice(0, run.size.embedded), source)

    def start(number: int) -> subprocess.Popen:
        command = [sys.executable, ROOT / "bin/embed_receptors.py", source, "--device", run.device]
        command += ["--threads", 1, "--out", run.folder / f"shared_{number}.parquet"]
        return subprocess.Popen(list(map(str, command)), stdout=sys.stderr)

    seconds = {}
    for name, numbers in (("alone_s", (0,)), ("together_s", (1, 2))):
        begin = time.perf_counter()
        statuses = [process.wait() for process in [start(number) for number in numbers]]
        seconds[name] = time.perf_counter() - begin
        if any(statuses):
            raise RuntimeError(f"embed_receptors.py ended with {statuses}")
    written = [tables.read(run.folder / f"shared_{number}.parquet") for number in range(3)]
    embedded = [np.column_stack(table.drop_columns("receptor_id").columns) for table in written]
    _, expected = on_cpu(weights.load("sceptr"), run.receptors.slice(0, run.size.compared))
    pairs = [(part[: len(expected)], expected) for part in embedded]
    pairs += [(part, embedded[0]) for part in embedded[1:]]
    distance = float(np.max([np.linalg.norm(one - other, axis=1).max() for one, other in pairs]))
    if not distance < FP32_TOLERANCE:
        raise RuntimeError(f"tasks that embed the same receptors wrote vectors {distance} apart")
    return {"receptors": run.size.embedded, **seconds, "largest_distance": distance}


def memory(run: Run) -> dict[str, Any]:
    """Return how embedding and training halve what does not fit into memory, and what it changes."""
    loaded = weights.load("sceptr")
    batches: list[int] = []
    tokens = tokenise(run.receptors.slice(0, run.size.compared), loaded.config.loops)
    # All receptors of a length at once; on a GPU each many times, so that they need more than is left.
    many = tokens.take(np.tile(np.arange(len(tokens)), 1 if run.device == "cpu" else 50))
    expected = transformer.embed(loaded.encoder, tokens, device=run.torch)
    with little_memory(run, 4):
        computed = transformer.embed(
            loaded.encoder, many, device=run.torch, tokens_per_batch=2**31, progress=batches.append
        )
    largest = int(np.bincount(many.lengths).max())
    distance = float(np.linalg.norm(computed[: len(expected)] - expected, axis=1).max())
    if max(batches) >= largest or not distance < FP32_TOLERANCE:
        raise RuntimeError(f"batches of {max(batches)} of {largest} receptors, vectors {distance:.1e} away")
    schedule = Schedule(steps=2, batch_size=run.size.batch, validate_every=2)
    config = ModelConfig(d_model=16, d_feedforward=32, n_layers=1) if run.device == "cpu" else ModelConfig()
    with little_memory(run, 32), patch.dict(loop.MICRO_BATCH, {run.torch: run.size.batch}):
        trained = trainer.train(
            transformer.ReceptorEncoder(config).train(), Receptors(tokens), None, Objective(), schedule,
            seed=1, folder=run.folder / "memory", device=run.device,
        )  # fmt: skip
    if not trained.notes:
        raise RuntimeError("training did not run out of memory")
    return {
        "embedding": {"largest_batch": max(batches), "requested": largest, "largest_distance": distance},
        "training": {"batch": run.size.batch, "notes": trained.notes},
    }


def is_large(cells: pa.Table) -> bool:
    """Return whether the labels allow the paper's task: two epitopes of `MANY` receptors or more."""
    counts = cells.group_by("epitope").aggregate([("receptor_id", "count_distinct")]).drop_null()
    return sum(n >= MANY for n in counts["receptor_id_count_distinct"].to_pylist()) >= 2


def measured(main: Callable, run: Run, name: str, *words) -> dict[str, Any]:
    """Return the figures of another benchmark."""
    path = run.folder / f"{name}.json"
    main([str(word) for word in (*words, "--json", path)])
    return json.loads(path.read_text())["figures"]


def pretraining(run: Run) -> dict[str, Any]:
    """Return the AUROC against the seconds of pre-training on synthetic receptors."""
    cells, receptors = normalised(run.labelled, run.folder)
    names = ("cells.parquet", "receptors.parquet")
    for name, table in zip(names, (cells, receptors), strict=True):
        tables.write(table, run.folder / name)
    task = () if is_large(cells) else ("--k", 20, "--splits", 20, "--positives", 20)
    return measured(
        pretraining_curve.main, run, "pretraining", *(run.folder / name for name in names),
        *task, "--synthetic", run.size.synthetic, "--budget", run.size.pretraining, "--device", run.device,
        "--points", *run.size.steps, "--outdir", run.folder / "pretraining",
    )  # fmt: skip


def fine_tuning(run: Run) -> dict[str, Any]:
    """Return seconds and AUROCs of a fine-tuning with the preset ``neighbour``."""
    cells, _ = normalised(run.labelled, run.folder)
    options = "" if is_large(cells) else "--finetune-split random --finetune-min-receptors 60 --train-steps 1"
    begin = time.perf_counter()
    aurocs = measured(
        finetuning.main, run, "finetuning", run.labelled, "--presets", "neighbour", "--starts", "sceptr",
        "--seeds", 420, "--device", run.device, f"--options={options}", "--outdir", run.folder / "finetuning",
    )  # fmt: skip
    return {"seconds": time.perf_counter() - begin, **aurocs}


PARTS = {
    part.__name__: part for part in (cuda_tests, vectors, speed, sharing, memory, fine_tuning, pretraining)
}


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("labelled", type=Path, help="labelled receptors, in any format that airrvec reads")
    parser.add_argument("--device", choices=("gpu", "cpu"), default="gpu")
    parser.add_argument("--size", choices=SIZES, default="full")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    return parser.parse_args(argv)


def main(argv=None):
    args = parse_args(argv)
    devices.choose_device(args.device, "auto")
    warnings.simplefilter("ignore")
    logging.disable()  # sceptr doubts some junctions, in each round
    figures: dict[str, Any] = {"device": "cpu", "size": args.size, "cuda": torch.version.cuda}
    if args.device == "gpu":
        figures["device"] = torch.cuda.get_device_name(0)
        figures["memory_GB"] = torch.cuda.get_device_properties(0).total_memory / 1e9
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        run = Run(args.device, SIZES[args.size], args.labelled.resolve(), Path(folder))
        for name in args.parts:
            print(f"\n{name}", flush=True)
            begin = time.perf_counter()
            try:
                figures[name] = PARTS[name](run)
            except Exception as error:  # the other parts still run
                traceback.print_exc()
                figures[name] = {"error": f"{type(error).__name__}: {error}"}
                failed.append(name)
            figures[name]["part_s"] = time.perf_counter() - begin
            results.write(args, figures, ["torch", "lightning", "sceptr", "numba"])
    logging.disable(logging.NOTSET)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
