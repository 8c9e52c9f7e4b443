"""Correction of OpenBLAS's processor detection; must run before numpy is imported."""

import os
from pathlib import Path

_AVX512 = {"avx512f", "avx512cd", "avx512dq", "avx512bw", "avx512vl"}


def set_openblas_kernels(described: Path = Path("/proc/cpuinfo")) -> None:
    """
    Select OpenBLAS's AVX-512 kernels on AMD processors with AVX-512, unless the user has selected kernels.

    OpenBLAS 0.3.31 treats AMD processors of 2024 (Zen 5) as processors without AVX-512 and multiplies at
    half their speed. It reads the environment variable ``OPENBLAS_CORETYPE`` when it is loaded.
    """
    try:
        text = described.read_text()
    except OSError:  # not Linux
        return
    flags = next((line for line in text.splitlines() if line.startswith("flags")), "")
    if "AuthenticAMD" in text and set(flags.split()) >= _AVX512:
        os.environ.setdefault("OPENBLAS_CORETYPE", "SkylakeX")
