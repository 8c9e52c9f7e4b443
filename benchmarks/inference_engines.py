#!/usr/bin/env python3
"""
Engines that could embed on a CPU, beside ours: torch, ONNX Runtime, OpenVINO.

The same receptors on one thread in float32, from tokens to vectors, in turn in one process; medians of the
processor's time. Each engine gets some 16 receptors of one length at a time. Then, in processes of their own,
what it takes to start: imports, loading the model, one receptor. The engines are no dependencies of airrvec:

    uv run --no-sync --with onnxruntime --with openvino --with onnx --with onnxscript \
        python benchmarks/inference_engines.py vdjdb_full_2023-06-01.txt.gz
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from importlib.metadata import distributions
from pathlib import Path
from types import SimpleNamespace

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "bin"))

import airrvec  # noqa: F401  before numpy, as in the scripts
from airrvec.model import tokens as tk
from airrvec.model import weights
from airrvec.model.cpu import inference

import numpy as np

# Packages that an engine needs beside numpy; the first words of their names.
PACKAGES = {
    "airrvec": ("numba", "llvmlite"),
    "torch": ("torch", "nvidia-", "triton", "cuda-"),
    "ONNX Runtime": ("onnxruntime",),
    "OpenVINO": ("openvino",),
}
TOKENS_PER_BATCH = 850  # 16 receptors


def parse_args(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", type=Path, help="receptors, in any format that airrvec reads")
    parser.add_argument("--receptors", type=int, default=7000)
    parser.add_argument("--rounds", type=int, default=5, help="alternations")
    parser.add_argument("--start", choices=PACKAGES, help="start this engine from the folder 'table', once")
    parser.add_argument("--json", type=Path, help="file for all figures")
    return parser.parse_args(argv)


def engine(name: str, folder: Path):
    """What turns tokens (B, T, 4) of uint8 into vectors (B, d), of the model in a folder."""
    if name == "airrvec":
        loaded = weights.load(str(folder))
        return inference.Network(loaded.config, loaded.state).forward
    if name == "torch":
        import torch

        torch.set_num_threads(1)
        encoder = weights.load(str(folder)).encoder

        def embed(tokens):
            with torch.inference_mode():
                return encoder(torch.from_numpy(tokens).long()).numpy()

        return embed
    if name == "ONNX Runtime":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(folder / "model.onnx", options)
        return lambda tokens: session.run(None, {"tokens": tokens.astype(np.int64)})[0]
    import openvino

    settings = {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32"}
    compiled = openvino.Core().compile_model(folder / "model.onnx", "CPU", settings)
    return lambda tokens: compiled(tokens.astype(np.int64))[0].copy()


def export(loaded: weights.LoadedModel, folder: Path) -> None:
    """The model's folder, and the same as ONNX for any number and length of receptors."""
    import torch

    loaded.save(folder)
    example = (torch.ones(3, 20, 4, dtype=torch.int64),)
    sizes = {0: torch.export.Dim("receptors", min=1), 1: torch.export.Dim("length", min=2)}
    torch.onnx.export(
        loaded.encoder, example, folder / "model.onnx", dynamo=True, input_names=["tokens"],
        dynamic_shapes=({0: sizes[0], 1: sizes[1]},), external_data=False, verbose=False,
    )  # fmt: skip


def installed_mb(prefixes: tuple[str, ...]) -> float:
    """Size of the packages whose names begin so."""
    found = {d.name: d for d in distributions() if d.name.lower().startswith(prefixes)}
    files = (file.locate() for d in found.values() for file in d.files or [])
    return sum(path.stat().st_size for path in map(Path, files) if path.exists()) / 1e6


def seconds_to_start(name: str, folder: Path, rounds: int) -> float:
    """From the start of Python to the first receptor's vector."""
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        subprocess.run([sys.executable, __file__, folder, "--start", name], check=True)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def main(argv=None):
    args = parse_args(argv)
    if args.start:
        engine(args.start, args.table)(np.ones((1, 20, 4), np.uint8))
        return
    from embedding_speed import alternate, paired_receptors, ratios

    warnings.simplefilter("ignore")
    loaded = weights.load("sceptr")
    tokens = tk.tokenise(paired_receptors(args.table, args.receptors), loaded.config.loops)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        export(loaded, folder)
        engines = {
            name: SimpleNamespace(forward=engine(name, folder), config=loaded.config) for name in PACKAGES
        }
        embed_all = partial(inference.embed, tokens=tokens, tokens_per_batch=TOKENS_PER_BATCH)
        ways = {name: partial(embed_all, network) for name, network in engines.items()}
        found = {name: way() for name, way in ways.items()}
        seconds = alternate(ways, args.rounds)
        figures = {
            name: {
                "receptors_per_second": len(tokens) / statistics.median(seconds[name]),
                "times_torch": ratios(seconds, name, "torch"),
                "largest_distance": float(np.linalg.norm(found[name] - found["torch"], axis=1).max()),
                "seconds_to_start": seconds_to_start(name, folder, args.rounds),
                "installed_mb": installed_mb(PACKAGES[name]),
            }
            for name in PACKAGES
        }
    print(f"{len(tokens):,} receptors, {args.rounds} alternations, load {os.getloadavg()[0]:.1f}")
    print(f"{'':<14}" + "".join(f"{column:>22}" for column in next(iter(figures.values()))))
    for name, row in figures.items():
        print(f"{name:<14}" + "".join(f"{value:>22.4g}" for value in row.values()))
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
