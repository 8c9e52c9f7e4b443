"""
Run a command as on a processor without AVX-512: ``python tests/older_processor.py make unit``.

Each numerical library is told by its own variable to use nothing newer than AVX2.
"""

import os
import subprocess
import sys

from llvmlite.binding import get_host_cpu_features
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__


def environment() -> dict[str, str]:
    """Return the variables that hide AVX-512 from numba, OpenBLAS, numpy, torch, oneDNN, MKL and Arrow."""
    features = {name: has and not name.startswith("avx512") for name, has in get_host_cpu_features().items()}
    dispatched = [name for name in __cpu_dispatch__ if __cpu_features__[name]]
    newer = [name for name in dispatched if name.startswith(("AVX512", "X86_V4"))]
    return {
        "NUMBA_CPU_FEATURES": ",".join(f"{'+' if has else '-'}{name}" for name, has in features.items()),
        "OPENBLAS_CORETYPE": "Haswell",
        "NPY_DISABLE_CPU_FEATURES": " ".join(newer),
        "ATEN_CPU_CAPABILITY": "avx2",
        "DNNL_MAX_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "ARROW_USER_SIMD_LEVEL": "AVX2",
    }


if __name__ == "__main__":
    sys.exit(subprocess.run(sys.argv[1:], env={**os.environ, **environment()}).returncode)
