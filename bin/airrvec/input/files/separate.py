"""
A process that reads files with native libraries, which may crash or never end on a damaged one.

It reads one request per line, a JSON object, on its standard input. It answers with one JSON object per line,
followed by a table in Arrow's format if there is one (`airrvec.input.files.separate_process`).
"""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

from airrvec.core.arrow_stream import unpacked
from airrvec.core.errors import InputError
from airrvec.input.files.container import unreadable

import pyarrow as pa

ANNDATA, PARQUET = "AnnData", "Parquet"
LIBRARIES = {ANNDATA: "HDF5", PARQUET: "Arrow"}  # that read a kind of file


class Process:
    """The reading process; started on first use, and again after a file has ended it."""

    def __init__(self):
        self._lock = threading.Lock()
        self._running: subprocess.Popen | None = None

    def ask(self, kind: str, path: str, **request) -> tuple[dict, pa.Table | None]:
        """
        Return an answer of a reader, and its table, if there is one.

        Parameters
        ----------
        kind : str
            A key of `LIBRARIES`.
        path : str
            The file.
        **request
            Other parameters of the reader's ``answer``.

        Raises
        ------
        InputError
            The reader's, or that the file has ended the process.
        MemoryError
            If the system has ended the process for its memory.
        """
        # The process stays in the folder where it began, and a notebook may have changed its own.
        request = {"kind": kind, "path": os.path.abspath(path), **request}
        with self._lock:
            if self._running is None:
                self._running = _start()
            process = self._running
            assert process.stdin is not None  # pipes
            assert process.stdout is not None
            try:
                process.stdin.write(json.dumps(request, allow_nan=False).encode() + b"\n")
                process.stdin.flush()
                answer = json.loads(process.stdout.readline())
                content = process.stdout.read(answer["n_bytes"])
            except (OSError, ValueError):  # the process ended before or during its answer
                self._running = None
                raise _ended(kind, path, process.wait()) from None
        if "error" in answer:
            raise InputError(**answer["error"])
        return answer, unpacked(content) if content else None


process = Process()


def _start() -> subprocess.Popen:
    library = str(Path(__file__).parents[3])
    path = os.pathsep.join(filter(None, [library, os.environ.get("PYTHONPATH")]))
    return subprocess.Popen(
        # -P: a file in the working folder, such as the user's table, is never imported as a module.
        [sys.executable, "-P", "-c", "from airrvec.input.files.separate_process import serve; serve()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
    )


def _ended(kind: str, path: str, status: int) -> Exception:
    """Return the error for a process that ended while it read a file."""
    if status == -signal.SIGKILL:
        return MemoryError(f"{Path(path).name}: there was too little memory to read it")
    if status == -signal.SIGXCPU:
        return unreadable(path, kind, RuntimeError(f"{LIBRARIES[kind]} did not finish reading it"))
    name = signal.Signals(-status).name if status < 0 else f"status {status}"
    return unreadable(path, kind, RuntimeError(f"{LIBRARIES[kind]} crashed on it, {name}"))
