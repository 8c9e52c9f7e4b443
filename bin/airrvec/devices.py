"""Where models embed, and in which numbers."""

from pathlib import Path

from airrvec.errors import InputError

DEVICES = ("auto", "cpu", "gpu")
PRECISIONS = ("auto", "fp32", "bf16")


def has_gpu() -> bool:
    """Whether torch can use a GPU. Torch, which takes seconds, is asked only where there is a driver."""
    if not any(Path("/dev").glob("nvidia[0-9]*")) and not Path("/dev/dxg").exists():
        return False
    import torch

    return torch.cuda.is_available()


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
        If there is no GPU and one is asked for, by itself or by bf16.
    """
    on_gpu = device != "cpu" and has_gpu()
    if device == "gpu" and not on_gpu:
        raise InputError(
            "a GPU was asked for, and this task has none", fix="Give --device auto, to embed on what there is"
        )
    if precision == "bf16" and not on_gpu:
        raise InputError("bf16 is for GPUs, and this task has none", fix="Give --precision auto or fp32")
    return "gpu" if on_gpu else "cpu", "bf16" if precision == "bf16" else "fp32"
