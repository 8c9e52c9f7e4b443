"""
AnnData (``.h5ad``) and MuData (``.h5mu``): chains in ``obsm/airr`` or columns of ``obs``, to Arrow.

Columns are named by their place: ``obs_names``, ``obs/epitope``, ``obsm/airr/junction_aa``. The file is
read by another process (`airrvec.input.files.hdf5`), as HDF5 may crash on a damaged one.
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

# HDF5 begins with its signature, MuData with its name in a block before that.
MAGIC = (b"\x89HDF\r\n\x1a\n", b"MuData")


class AnnDataTable:
    """
    The observations of an AnnData file, or of the modality of a MuData file that has chains.

    Parameters
    ----------
    path : str or Path
        The file.
    limit : int
        Bytes that it, or one of its elements, may take unpacked.

    Raises
    ------
    InputError
        If the file is damaged, too large, or holds no observations; `batches` may raise it too.
    """

    delimiter = None

    def __init__(self, path: str | Path, limit: int = MAX_UNPACKED):
        self._request = {"path": str(path), "limit": limit}
        answer, _ = _process.ask(**self._request, columns=None)
        self._names, self._n_observations = answer["names"], answer["n_observations"]
        if not self._n_observations:
            raise InputError("the file has no observations", file=path)

    def names(self, header_rows: int = 1) -> list[str]:
        """Places of the columns."""
        return self._names

    def batches(
        self, columns: list[str], header_rows: int = 1, needed: tuple[str, ...] = ()
    ) -> Iterator[TextBatch]:
        """All observations at once; each as often as it has chains, if fields of chains are asked for."""
        wanted = [name for name in columns if name in self._names]
        _, content = _process.ask(**self._request, columns=wanted)
        yield TextBatch(pa.ipc.open_stream(content).read_all(), self._n_observations, [])


class _Process:
    """The process that reads; started when it is needed, and anew when a file has ended it."""

    def __init__(self):
        self._lock = threading.Lock()
        self._running: subprocess.Popen | None = None

    def ask(self, path: str, **request) -> tuple[dict, bytes]:
        """An answer of `airrvec.input.files.hdf5`, and the bytes behind it."""
        with self._lock:
            if self._running is None:
                self._running = _start()
            process = self._running
            try:
                process.stdin.write(json.dumps({"path": path, **request}, allow_nan=False).encode() + b"\n")
                process.stdin.flush()
                answer = json.loads(process.stdout.readline())
                content = process.stdout.read(answer["n_bytes"])
            except (OSError, ValueError):  # it has ended, before its answer or within
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
        # -P: a file of the working folder, which may be the user's table, is never taken for a module.
        [sys.executable, "-P", "-c", "from airrvec.input.files.hdf5 import serve; serve()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
    )


def _ended(path: str, status: int) -> Exception:
    """What to say of a process that ended over a file."""
    if status == -signal.SIGKILL:
        return MemoryError(f"{Path(path).name}: there was too little memory to read it")
    if status == -signal.SIGXCPU:
        return unreadable(path, "AnnData", RuntimeError("HDF5 does not come to an end of it"))
    name = signal.Signals(-status).name if status < 0 else f"status {status}"
    return unreadable(path, "AnnData", RuntimeError(f"HDF5 crashed on it, {name}"))
