"""Caches, the limit of the address space and the processor: set before numpy and numba are imported."""

import atexit
import os
import resource
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, MutableMapping
from pathlib import Path

LIBRARY = Path(__file__).parents[1]
COMPILED = ("annotation", "encoders", "model", "model/cpu", "repertoire", "search")  # have functions of numba


def set_folders() -> None:
    """
    Give numba and matplotlib a folder where theirs cannot be written.

    Numba stops without a cache, and matplotlib warns at each start. The folder is `.cache` in the folder of
    the task or, outside of the pipeline, a temporary one that is deleted at the end.
    """
    wanted = []
    compiled = [LIBRARY / package / "__pycache__" for package in COMPILED]
    if not (_own("NUMBA_CACHE_DIR") or all(map(_writable, compiled)) or _writable(_home("CACHE", "numba"))):
        wanted.append("NUMBA_CACHE_DIR")
    drawn = [_home("CACHE", "matplotlib"), _home("CONFIG", "matplotlib")]
    if not (_own("MPLCONFIGDIR") or all(map(_writable, drawn))):
        wanted.append("MPLCONFIGDIR")
    if not wanted:
        return
    if is_task() and _writable(Path.cwd()):
        folder = Path.cwd() / ".cache"
    else:
        folder = Path(tempfile.mkdtemp(prefix="airrvec-caches-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name in wanted:
        os.environ[name] = str(folder / ("numba" if name == "NUMBA_CACHE_DIR" else "matplotlib"))


def is_task() -> bool:
    """Return whether this process is in the folder of a task of Nextflow."""
    return Path(".command.sh").exists()


def _own(name: str) -> bool:
    """Return whether the user, or the image, has set a folder that can be written."""
    return bool(os.environ.get(name)) and _writable(Path(os.environ[name]))


def _home(kind: str, name: str) -> Path:
    """Return the folder in the user's home; `/dev/null/...`, which nobody can write, without a home."""
    base = os.environ.get(f"XDG_{kind}_HOME") or os.path.expanduser(f"~/.{kind.lower()}")
    return Path("/dev/null" if base.startswith("~") else base) / name


def _writable(folder: Path) -> bool:
    """Return whether a folder can be written, or made and then written."""
    while not os.path.lexists(folder) and folder != folder.parent:
        folder = folder.parent
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


# --- Limits of the process that libraries do not survive; must be checked before they are imported

LEAST = 1_200_000_000  # bytes; with less, imports fail or do not end


def check_address_space() -> None:
    """
    Refuse a small limit of the address space.

    OpenBLAS 0.3.31 asks for memory again and again while it is loaded, and never ends if there is none.

    Raises
    ------
    MemoryError
        The limit is below `LEAST`.
    """
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < LEAST:
        raise MemoryError(
            f"the address space of a process is limited to {limit / 1e9:.1f} GB (ulimit -v), and numerical"
            f" libraries reserve {LEAST / 1e9:.1f} GB when they are loaded: raise the limit"
        )


# --- Refusal of instructions that the processor lacks; must run before numpy and numba are imported

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
