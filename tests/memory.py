"""How much memory a part of this process takes (Linux)."""

import re
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


@contextmanager
def added() -> Callable[[], float]:
    """
    A function that tells how many MiB the process has held, at its peak, beyond what it held at first.

    The kernel's peak is set back first. ``ru_maxrss`` will not do: it is the peak of the whole process, and
    that of its parent with it, so that after one large test nothing is seen any more.
    """
    _CLEAR.write_text("5")
    before = _peak_mib()
    yield lambda: _peak_mib() - before


def _peak_mib() -> float:
    return int(re.search(r"^VmHWM:\s*(\d+) kB$", _STATUS.read_text(), re.M)[1]) / 1024
