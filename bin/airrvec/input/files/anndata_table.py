"""
AnnData (``.h5ad``) and MuData (``.h5mu``) files: chains from ``obsm/airr`` or ``obs`` as Arrow tables.

Columns are named by their path: ``obs_names``, ``obs/epitope``, ``obsm/airr/junction_aa``. A separate
process reads the file (`airrvec.input.files.hdf5`), because HDF5 may crash on a damaged file.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from airrvec.core.errors import InputError
from airrvec.input.files.container import MAX_UNPACKED, TextBatch, unreadable
from airrvec.input.files.hdf5 import OBS_NAMES

__all__ = ["MAGIC", "OBS_NAMES", "AnnDataTable"]

# HDF5 starts with its signature; MuData has a block with its name before the signature.
MAGIC = (b"\x89HDF\r\n\x1a\n", b"MuData")


class AnnDataTable:
    """
    Observations of an AnnData file, or of the MuData modality that has chains.

    Parameters
    ----------
    path : str or Path
        Path of the file.
    limit : int
        Maximum number of unpacked bytes of the file, or of one of its elements.

    Raises
    ------
    InputError
        If the file is damaged, too large, or has no observations; `batches` may raise it too.
    """

    delimiter = None

    def __init__(self, path: str | Path, limit: int = MAX_UNPACKED):
        self._request = {"path": str(path), "limit": limit}
        answer, _ = _process.ask(**self._request, columns=None)
        self._names, self._n_observations = answer["names"], answer["n_observations"]
        if not self._n_observations:
            raise InputError("the file has no observations", file=path)

    def names(self, header_rows: int = 1) -> list[str]:
        """Return the paths of the columns."""
        return self._names

    def batches(
        self, columns: list[str], header_rows: int = 1, needed: tuple[str, ...] = ()
    ) -> Iterator[TextBatch]:
        """Yield all observations in one batch; one row per chain if chain fields are requested."""
        wanted = [name for name in columns if name in self._names]
        _, content = _process.ask(**self._request, columns=wanted)
        yield TextBatch(pa.ipc.open_stream(content).read_all(), self._n_observations, [])


class _Process:
    """The reading process; started on first use, and again after a file has ended it."""

    def __init__(self):
        self._lock = threading.Lock()
        self._running: subprocess.Popen | None = None

    def ask(self, path: str, **request) -> tuple[dict, bytes]:
        """Return an answer of `airrvec.input.files.hdf5` and the bytes that follow it."""
        with self._lock:
            if self._running is None:
                self._running = _start()
            process = self._running
            try:
                process.stdin.write(json.dumps({"path": path, **request}, allow_nan=False).encode() + b"\n")
                process.stdin.flush()
                answer = json.loads(process.stdout.readline())
                content = process.stdout.read(answer["n_bytes"])
            except (OSError, ValueError):  # the process ended before or during its answer
                self._running = None
                raise _ended(path, process.wait()) from None
        if "error" in answer:
            raise InputError(**answer["error"])
        return answer, content


_process = _Process()


def _start() -> subprocess.Popen:
    library = str(Path(__file__).parents[3])
    path = os.pathsep.join(filter(None, [library, os.environ.get("PYTHONPATH")]))
    return subprocess.Popen(
        # -P: a file in the working folder, such as the user's table, is never imported as a module.
        [sys.executable, "-P", "-c", "from airrvec.input.files.hdf5 import serve; serve()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
    )


def _ended(path: str, status: int) -> Exception:
    """Return the error for a process that ended while it read a file."""
    if status == -signal.SIGKILL:
        return MemoryError(f"{Path(path).name}: there was too little memory to read it")
    if status == -signal.SIGXCPU:
        return unreadable(path, "AnnData", RuntimeError("HDF5 did not finish reading it"))
    name = signal.Signals(-status).name if status < 0 else f"status {status}"
    return unreadable(path, "AnnData", RuntimeError(f"HDF5 crashed on it, {name}"))
