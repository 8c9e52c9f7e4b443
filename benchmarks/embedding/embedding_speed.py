#!/usr/bin/env python3
"""
Receptors embedded a second, each way against the others and against what the processor could do.

All that is compared alternates in one process, on one thread in float32, from a table in memory to an array;
ratios are medians over the alternations, of the processor's time, so that other programs disturb them less.
Then models of all sizes, the steps of a task, growing numbers of synthetic receptors from Parquet to Parquet,
each in a process of its own, and two workers against one by the clock. Prints tables, and JSON with
``--json``.
"""

import contextlib
import logging
import os
import statistics
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

import airrvec  # noqa: F401  before numpy, as in the scripts
from airrvec.core import devices, tables
from airrvec.model import tokens as tk
from airrvec.model import transformer, weights
from airrvec.model.cpu import inference, kernels
from airrvec.model.tokens import tokenise
from airrvec.synthetic import synthesis

import numpy as np
import pyarrow as pa
import sceptr
import torch
from threadpoolctl import threadpool_info

from benchmarks.common import results
from benchmarks.common.embedding_tasks import SCALED, run_task, workers
from benchmarks.common.material import SCEPTR_COLUMNS, paired_receptors
from benchmarks.common.timing import alternate, ratio

PARTS = ["ways", "models", "steps", "growth", "scaling"]
MODELS = ["sceptr_tiny", "sceptr_small", "sceptr", "sceptr_large", "sceptr_beta_only"]


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("table", type=Path, help="receptors, in any format that airrvec reads")
    parser.add_argument("--receptors", type=int, default=7000)
    parser.add_argument("--rounds", type=int, default=5, help="alternations")
    parser.add_argument("--growth", default="10000,100000", help="synthetic receptors, Parquet to Parquet")
    parser.add_argument("--threads", type=int, default=2, help="workers of the larger runs")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=PARTS, help="parts to run")
    parser.add_argument("--steps", type=int, default=30_000, help="receptors of the steps of a task")
    parser.add_argument("--scaled", type=int, nargs=2, default=SCALED, help="sizes of the shards of workers")
    return parser.parse_args(argv)


def in_numpy(loaded: weights.LoadedModel, receptors: pa.Table, precision: str):
    """Return a function that embeds the receptors as the scripts do on CPUs."""
    network = inference.Network(loaded.config, loaded.state, precision)
    return lambda: inference.embed(network, tokenise(receptors, loaded.config.loops))


def ways(loaded: weights.LoadedModel, receptors: pa.Table) -> dict:
    """Return functions by name: each embeds the receptors, or computes only its matrix products."""
    frame = receptors.to_pandas()[list(SCEPTR_COLUMNS)].rename(columns=SCEPTR_COLUMNS)
    peer = sceptr.variant.default()

    def without_fast_path():
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            return peer.calc_vector_representations(frame)
        finally:
            torch.backends.mha.set_fastpath_enabled(True)

    functions = {
        "airrvec": in_numpy(loaded, receptors, "fp32"),
        "airrvec's torch path": lambda: transformer.embed(
            loaded.encoder, tokenise(receptors, loaded.config.loops), device="cpu"
        ),
        "sceptr": lambda: peer.calc_vector_representations(frame),
        "sceptr, its fast path off": without_fast_path,
        "matrix products alone": products(loaded, receptors, inference.Linear),
        "the same by numpy's BLAS": products(loaded, receptors, np.ascontiguousarray),
    }
    if devices.has_bf16():
        functions["airrvec, bf16"] = in_numpy(loaded, receptors, "bf16")
        functions["matrix products alone, bf16"] = products(
            loaded, receptors, lambda w: inference.Linear(w, precision="bf16")
        )
    if torch.cuda.is_available():
        for precision in ("fp32", "bf16"):
            functions[f"airrvec, GPU, {precision}"] = lambda precision=precision: transformer.embed(
                loaded.encoder, tokenise(receptors), device="cuda", precision=precision
            )
    return functions


def products(loaded: weights.LoadedModel, receptors: pa.Table, matrix):
    """Return a function of the network's matrix products alone; ``matrix``: weights → an operand of ``@``."""
    lengths = tokenise(receptors, loaded.config.loops).lengths
    batches = [
        (len(rows), int(lengths[rows[0]]))
        for rows in tk.equal_length_batches(lengths, inference.TOKENS_PER_BATCH, kernels.LANES)
    ]
    d, wide, layers = loaded.config.d_model, loaded.config.d_feedforward, loaded.config.n_layers
    rng = np.random.default_rng(1)
    most = max(b * t for b, t in batches) + kernels.WIDTH
    weight, x = (rng.standard_normal(size, np.float32) for size in ((4 * wide, wide), (wide, most)))

    def multiply(rows, inner, columns):
        left, right = weight[:rows, :inner], x[:inner, : -(-columns // kernels.WIDTH) * kernels.WIDTH]
        return matrix(left), np.ascontiguousarray(right)

    def all_of_it():
        for b, t in batches:
            for left, right, times in prepared[b, t]:
                for _ in range(times):
                    left @ right

    prepared = {}
    for b, t in set(batches):
        full = [(3 * d, d, b * t), (d, d, b * t), (wide, d, b * t), (d, wide, b * t)]
        last = [(2 * d, d, b * t), (d, d, b), (d, d, b), (wide, d, b), (d, wide, b)]
        prepared[b, t] = [(*multiply(*size), layers - 1) for size in full]
        prepared[b, t] += [(*multiply(*size), 1) for size in last]
    return all_of_it


def model_speeds(receptors: pa.Table, rounds: int) -> list[dict]:
    """Models of all sizes, and one chain alone: their speed, and the share of it that is matrix products."""
    speeds = []
    for name in MODELS:
        loaded = weights.load(name)
        functions = {
            "all": in_numpy(loaded, receptors, "fp32"),
            "products": products(loaded, receptors, inference.Linear),
        }
        seconds = alternate(functions, rounds)
        taken = statistics.median(seconds["all"])
        n_tokens = len(tokenise(receptors, loaded.config.loops).values)
        speeds.append(
            {
                "model": name,
                "dimensions": loaded.config.d_model,
                "receptors_a_second": len(receptors) / taken,
                "tokens_a_second": n_tokens / taken,
                "share_of_products": ratio(seconds, "all", "products"),
            }
        )
    return speeds


def steps(loaded: weights.LoadedModel, receptors: pa.Table, folder: Path, rounds: int) -> list[dict]:
    """Receptors a second of what a task does one after another."""
    path = folder / "steps.parquet"
    tables.write(receptors, path)
    tokens = tokenise(receptors, loaded.config.loops)
    network = inference.Network(loaded.config, loaded.state)
    vectors = inference.embed(network, tokens)
    functions = {
        "reading Parquet": lambda: list(tables.read_batches(path, 8_192)),
        "tokenising": lambda: tokenise(receptors, loaded.config.loops),
        "the model": lambda: inference.embed(network, tokens),
        "writing Parquet": lambda: tables.write(
            tables.embeddings_table(receptors["receptor_id"], vectors), folder / "written.parquet"
        ),
    }
    seconds = alternate(functions, rounds)
    return [
        {"step": name, "receptors_a_second": len(receptors) / statistics.median(taken)}
        for name, taken in seconds.items()
    ]


def show(title: str, rows: dict[str, str]) -> None:
    print(f"\n{title}")
    for name, text in rows.items():
        print(f"  {name:<34}{text}")


def compare(loaded: weights.LoadedModel, receptors: pa.Table, args) -> dict:
    """All ways of embedding, in turn."""
    n, load = len(receptors), os.getloadavg()[0]
    blas = next(pool["architecture"] for pool in threadpool_info() if pool["user_api"] == "blas")
    print(f"{n:,} paired receptors, one thread, {args.rounds} alternations; load {load:.1f}, BLAS for {blas}")
    seconds = alternate(ways(loaded, receptors), args.rounds)
    rates = {name: n / statistics.median(taken) for name, taken in seconds.items()}
    times = {name: ratio(seconds, name, "sceptr") for name in seconds}
    show(
        "Receptors a second of one core, and times as many as sceptr",
        {name: f"{rate:>10,.0f}{times[name]:>8.1f}" for name, rate in rates.items()},
    )
    figures = {
        "receptors": n,
        "rounds": args.rounds,
        "load": load,
        "ways": [
            {"way": name, "receptors_a_second": rate, "times_sceptr": times[name]}
            for name, rate in rates.items()
        ],
    }
    for suffix in ("", ", bf16"):
        if (way := f"airrvec{suffix}") in seconds:
            share = figures[f"share_of_products{suffix}"] = ratio(
                seconds, way, f"matrix products alone{suffix}"
            )
            print(f"  matrix products take {share:.0%} of the time of {way}")
    return figures


def growth(made: pa.Table, sizes: list[int], folder: Path, cpus: int) -> list[dict]:
    """Growing numbers of receptors, Parquet to Parquet."""
    usage = {}
    for size in sizes:
        tables.write(made.slice(0, size), folder / f"{size}.parquet")
        usage[size] = run_task(folder / f"{size}.parquet", folder, folder / "out.parquet", cpus)
    show(
        f"Parquet to Parquet, {cpus} workers: seconds, of the processor, peak memory in GiB",
        {f"{n:,} receptors": "".join(f"{x:>10.2f}" for x in row.values()) for n, row in usage.items()},
    )
    return [{"receptors": n, **row} for n, row in usage.items()]


def main(argv=None):
    args = parse_args(argv)
    warnings.simplefilter("ignore")
    logging.disable()  # the peer doubts some junctions, in each round
    torch.set_num_threads(1)
    loaded = weights.load("sceptr")
    figures: dict[str, Any] = {}
    if {"ways", "models"} & set(args.only):
        receptors = paired_receptors(args.table, args.receptors)
    if "ways" in args.only:
        figures |= compare(loaded, receptors, args)
    if "models" in args.only:
        figures["models"] = model_speeds(receptors, args.rounds)
        rows = {
            row["model"]: f"{row['dimensions']:>5}{row['receptors_a_second']:>10,.0f}"
            f"{row['tokens_a_second']:>12,.0f}{row['share_of_products']:>7.0%}"
            for row in figures["models"]
        }
        show("Models: dimensions, receptors and tokens a second of one core, share of matrix products", rows)
    sizes = [int(size) for size in args.growth.split(",")] if "growth" in args.only else []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        loaded.save(folder / "model")
        needed = max([*args.scaled, *sizes, args.steps]) if set(args.only) - {"ways", "models"} else 0
        made = synthesis.synthesise(needed, seed=1)
        if "steps" in args.only:
            figures["steps"] = steps(loaded, made.slice(0, args.steps), folder, args.rounds)
            rates = {row["step"]: f"{row['receptors_a_second']:>10,.0f}" for row in figures["steps"]}
            show("Steps, receptors a second", rates)
        if sizes:
            figures["growth"] = growth(made, sizes, folder, args.threads)
        if "scaling" in args.only:
            figures |= workers(made, folder, args.rounds, tuple(args.scaled))
            print(f"\nStart of a task {figures['start_seconds']:.2f} s")
            print(f"Two workers against one: {figures['two_workers']:.2f} times as fast")
            print(f"Two tasks of one worker, which share nothing: {figures['two_tasks']:.2f} times as fast")
    results.write(args, figures, ["sceptr", "torch", "numba"])


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
