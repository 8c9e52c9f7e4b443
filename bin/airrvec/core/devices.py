"""Choice of the device and the number format for embedding."""

import logging
from pathlib import Path

from airrvec.core.environment import compiled_features
from airrvec.core.errors import InputError, is_installed, require_choice, require_extra
from airrvec.core.settings import SETTINGS

DEVICES, PRECISIONS = (SETTINGS[name].choices for name in ("device", "precision"))


def has_gpu() -> bool:
    """Return whether torch can use a GPU; import torch, which takes seconds, only if there is a driver."""
    if not any(Path("/dev").glob("nvidia[0-9]*")) and not Path("/dev/dxg").exists():
        return False
    if not is_installed("torch"):
        logging.getLogger(__name__).warning("there is a GPU, but torch, which would use it, is not installed")
        return False
    import torch

    return torch.cuda.is_available()


def require_torch() -> None:
    """Raise `InputError` without torch, which a GPU needs; the rest of its extra serves training alone."""
    if not is_installed("torch"):
        require_extra("learn", "a GPU")


def has_bf16() -> bool:
    """Return whether the processor multiplies bfloat16 natively (AVX-512 BF16), and numba may use that."""
    return "avx512bf16" in compiled_features()


def choose_device(device: str, precision: str) -> tuple[str, str]:
    """
    Return the device and the precision of an embedding.

    Parameters
    ----------
    device : {"auto", "cpu", "gpu"}
        ``auto`` is a GPU if there is one, else the CPU.
    precision : {"auto", "fp32", "bf16"}
        ``auto`` is fp32, so that vectors do not depend on the device.

    Returns
    -------
    tuple of str
        ``cpu`` or ``gpu``; ``fp32`` or ``bf16``.

    Raises
    ------
    InputError
        If ``gpu`` is requested without a GPU, or bf16 without a GPU or a processor with AVX-512 BF16; if a
        word is none of these.
    """
    require_choice("device", device, DEVICES)
    require_choice("precision", precision, PRECISIONS)
    if device == "gpu":
        require_torch()
    on_gpu = device != "cpu" and has_gpu()
    if device == "gpu" and not on_gpu:
        raise InputError(
            "the device gpu was requested, but there is no GPU here",
            fix="Choose auto to use a GPU only if there is one",
        )
    if precision == "bf16" and not on_gpu and not has_bf16():
        raise InputError(
            "the precision bf16 needs a GPU or a processor with AVX-512 BF16; there is neither here",
            fix="Choose auto or fp32",
        )
    return "gpu" if on_gpu else "cpu", "bf16" if precision == "bf16" else "fp32"
