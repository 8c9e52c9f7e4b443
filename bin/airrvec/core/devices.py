"""Where models embed, and in which numbers."""

from pathlib import Path

from airrvec.core.errors import InputError

DEVICES = ("auto", "cpu", "gpu")
PRECISIONS = ("auto", "fp32", "bf16")


def has_gpu() -> bool:
    """Whether torch can use a GPU. Torch, which takes seconds, is asked only where there is a driver."""
    if not any(Path("/dev").glob("nvidia[0-9]*")) and not Path("/dev/dxg").exists():
        return False
    import torch

    return torch.cuda.is_available()


def multiplies_bf16() -> bool:
    """Whether the processor multiplies bfloat16 itself, by AVX-512."""
    from llvmlite.binding import get_host_cpu_features

    return get_host_cpu_features().get("avx512bf16", False)


def chosen(device: str, precision: str) -> tuple[str, str]:
    """
    Device and precision that an embedding uses.

    Parameters
    ----------
    device : {"auto", "cpu", "gpu"}
        ``auto`` is a GPU where there is one.
    precision : {"auto", "fp32", "bf16"}
        ``auto`` is fp32, so that vectors do not depend on the device.

    Returns
    -------
    tuple of str
        ``cpu`` or ``gpu``; ``fp32`` or ``bf16``.

    Raises
    ------
    InputError
        If a GPU is asked for and there is none, or bf16 and nothing here multiplies it.
    """
    on_gpu = device != "cpu" and has_gpu()
    if device == "gpu" and not on_gpu:
        raise InputError(
            "a GPU was asked for, and this task has none", fix="Give --device auto, to embed on what there is"
        )
    if precision == "bf16" and not on_gpu and not multiplies_bf16():
        raise InputError(
            "bf16 was asked for, and this task has no GPU, nor a processor that multiplies it (AVX-512 BF16)",
            fix="Give --precision auto or fp32",
        )
    return "gpu" if on_gpu else "cpu", "bf16" if precision == "bf16" else "fp32"
