"""Refusal of instructions that the processor lacks; must run before numpy and numba are imported."""

import os
import sys
import warnings
from collections.abc import Callable, Mapping, MutableMapping

# Kernels of OpenBLAS → an instruction set that they use, in LLVM's words. Kernels that are not named need no
# more than numpy does.
_KERNELS = {
    **dict.fromkeys(("cooperlake", "sapphirerapids", "skylakex"), "avx512f"),
    **dict.fromkeys(("excavator", "haswell", "zen"), "avx2"),
    **dict.fromkeys(("bulldozer", "piledriver", "sandybridge", "steamroller"), "avx"),
    **dict.fromkeys(("a64fx", "armv8sve", "armv9sme", "neoversen2", "neoversev1"), "sve"),
}


def host_features() -> Mapping[str, bool]:
    """
    Return whether the processor that runs this process has each instruction set, by LLVM's names.

    Empty where llvmlite is not installed: tasks that compile nothing do without.
    """
    try:
        from llvmlite.binding import get_host_cpu_features
    except ImportError:
        return {}
    return get_host_cpu_features()


def compiled_features() -> set[str]:
    """Return the instruction sets for which numba compiles, as its own variables choose them."""
    generic = os.environ.get("NUMBA_CPU_NAME", "").lower() == "generic"
    listed = os.environ.get("NUMBA_CPU_FEATURES", "" if generic else None)
    return {name for name, has in host_features().items() if has} if listed is None else _required(listed)


def drop_foreign_kernels(
    environ: MutableMapping[str, str] = os.environ, features: Callable[[], Mapping[str, bool]] = host_features
) -> None:
    """
    Remove variables of the environment that name instructions which this processor lacks.

    A head node exports its environment to nodes of another kind, and neither OpenBLAS nor numba compares
    ``OPENBLAS_CORETYPE`` and ``NUMBA_CPU_FEATURES`` with the processor: the process would end by SIGILL.
    (With ``NUMBA_CPU_NAME`` alone, numba uses the instructions that the processor has.)

    Warns
    -----
    UserWarning
        If a variable is removed.

    Raises
    ------
    ImportError
        If a variable is wrong and the library that reads it has been imported already.
    """
    coretype = environ.get("OPENBLAS_CORETYPE", "")
    needed = {
        "OPENBLAS_CORETYPE": {*filter(None, [_KERNELS.get(coretype.lower())])},
        "NUMBA_CPU_FEATURES": _required(environ.get("NUMBA_CPU_FEATURES", "")),
    }
    if not any(needed.values()):
        return
    present = features()
    for name, library in (("OPENBLAS_CORETYPE", "numpy"), ("NUMBA_CPU_FEATURES", "numba")):
        lacking = sorted(feature for feature in needed[name] if not present.get(feature))
        if not lacking:
            continue
        problem = f"{name} names instructions that this processor lacks ({', '.join(lacking)})"
        if library in sys.modules:
            raise ImportError(f"{problem}, and {library} has read it: unset {name}, or import airrvec first")
        del environ[name]
        warnings.warn(f"{problem}: it is ignored", stacklevel=3)


def _required(text: str) -> set[str]:
    """Return the instruction sets that a list such as ``+avx2,-avx512f`` asks for."""
    return {word[1:] for word in text.replace(" ", "").split(",") if word.startswith("+")}
