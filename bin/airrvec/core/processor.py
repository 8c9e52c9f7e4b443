"""What numpy's OpenBLAS does not know of a processor; read before numpy is imported."""

import os
from pathlib import Path

_AVX512 = {"avx512f", "avx512cd", "avx512dq", "avx512bw", "avx512vl"}


def name_it_for_openblas(described: Path = Path("/proc/cpuinfo")) -> None:
    """
    Choose OpenBLAS's kernels for AVX-512 on a processor of AMD that has it, unless the user has chosen.

    OpenBLAS 0.3.31 takes those of 2024 (Zen 5) for ones without, and multiplies at half their speed. It is
    told by its variable ``OPENBLAS_CORETYPE``, which it reads when it is loaded.
    """
    try:
        text = described.read_text()
    except OSError:  # not Linux
        return
    flags = next((line for line in text.splitlines() if line.startswith("flags")), "")
    if "AuthenticAMD" in text and set(flags.split()) >= _AVX512:
        os.environ.setdefault("OPENBLAS_CORETYPE", "SkylakeX")
