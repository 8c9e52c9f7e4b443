"""Device, sizes and receptors of `gpu`, the precision of torch's products, and a memory that is too small."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from unittest.mock import patch

from airrvec.model import transformer
from airrvec.synthetic import synthesis

import pyarrow as pa
import torch


@dataclass(frozen=True)
class Size:
    """Numbers of receptors and rounds, and seconds of pre-training."""

    compared: int  # receptors whose vectors are compared with the CPU's
    embedded: int
    peer: int  # receptors that sceptr embeds
    rounds: int
    models: tuple[str, ...]
    pretraining: float
    steps: tuple[int, ...]  # of pre-training, where the AUROC is measured
    synthetic: int
    batch: int  # of the training that runs out of memory
    memory_gb: float  # that is left to it on a GPU


SIZES = {
    "full": Size(
        20_000, 500_000, 20_000, 3, ("sceptr", "sceptr_large", "sceptr_tiny", "sceptr_beta_only"),
        120.0, tuple(100 * 2**i for i in range(12)), 100_000, 4096, 1.5,
    ),
    "small": Size(200, 200, 60, 1, ("sceptr_tiny",), 1.0, (2,), 500, 64, 1.5),
}  # fmt: skip


@dataclass(frozen=True)
class Run:
    """What the parts share: device, sizes, receptors, folder."""

    device: str  # cpu or gpu
    size: Size
    labelled: Path
    folder: Path

    @property
    def torch(self) -> str:
        return "cuda" if self.device == "gpu" else "cpu"

    @cached_property
    def receptors(self) -> pa.Table:
        return synthesis.synthesise(max(self.size.embedded, self.size.compared), seed=1)

    def wait(self) -> None:
        """Wait for the GPU, whose work is not done when a call returns."""
        if self.device == "gpu":
            torch.cuda.synchronize()


@contextmanager
def matrix_products(precision: str) -> Iterator[str]:
    """Set torch's float32 products, TF32 or not; give the precision of `transformer.embed`."""
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    try:
        yield "bf16" if precision == "bf16" else "fp32"
    finally:
        torch.set_float32_matmul_precision("highest")


@contextmanager
def little_memory(run: Run, most: int) -> Iterator[None]:
    """Leave little memory on the GPU; on a CPU, more than ``most`` receptors at once do not fit."""
    if run.device == "gpu":
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.empty_cache()
        torch.cuda.set_per_process_memory_fraction(run.size.memory_gb * 1e9 / total)
        try:
            yield
        finally:
            torch.cuda.set_per_process_memory_fraction(1.0)
        return
    forward = transformer.ReceptorEncoder.forward

    def limited(self, tokens, *padding):
        if len(tokens) > most:
            raise torch.OutOfMemoryError(f"more than {most} receptors")
        return forward(self, tokens, *padding)

    with patch.object(transformer.ReceptorEncoder, "forward", limited):
        yield
