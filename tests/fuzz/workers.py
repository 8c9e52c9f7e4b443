"""Processes that check cases; where a case ends its process, the next one is checked in a new process."""

import contextlib
import faulthandler
import multiprocessing
import os
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import memory
from fuzz.corpus import Case

LIMIT_S = 30
MEMORY_MIB = 1_024  # that one case may add
_ADDRESSES_MIB = 16_384
_CASES_OF_A_PROCESS = 2_000
_END_S = 60  # for a process to end
_IN_LIBRARY = re.compile(r'/bin/(\w+\.py|airrvec/[\w/]+\.py)", line \d+,? in (\w+)')
_VALUES = re.compile(r"""'[^']*'|"[^"]*"|[0-9]+|\[.*|\{.*""")


@dataclass(frozen=True)
class Outcome:
    """
    What became of a case.

    Attributes
    ----------
    result : str
        ``read``, ``refused``, or ``failed``.
    seconds : float
        How long it took.
    failure : str
        What went wrong, in a line; the same for cases that fail in the same way.
    details : str
        Traceback, or what the process left when it ended.
    kind : str
        Of the case.
    """

    result: str
    seconds: float
    failure: str = ""
    details: str = ""
    kind: str = ""


class Worker:
    """
    A process that checks cases.

    Parameters
    ----------
    limit : float
        Seconds that a case may take.
    """

    def __init__(self, limit: float = LIMIT_S):
        self.limit = limit
        self._process = None

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_) -> None:
        if self._process is not None and (failure := self._end()):
            raise RuntimeError(failure)

    def outcome(self, what: Case | tuple[int, int]) -> Outcome:
        """What becomes of a case, or of that with a seed and a number."""
        if self._process is None:
            self._start()
        start = time.monotonic()
        try:
            self._pipe.send(what)
            if not self._pipe.poll(self.limit):
                os.kill(self._process.pid, signal.SIGABRT)  # faulthandler then writes where it hangs
                return self._died(start, f"no end after {self.limit:g} s")
            outcome = self._pipe.recv()
        except (EOFError, ConnectionError):
            return self._died(start, None)
        self._left -= 1
        if self._left == 0 and (failure := self._end()):
            return Outcome("failed", 0, failure.splitlines()[0], failure, outcome.kind)
        return outcome

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._log = tempfile.NamedTemporaryFile(prefix="airrvec-fuzz-", suffix=".log")  # noqa: SIM115
        self._pipe, end = context.Pipe()
        self._process = context.Process(target=_serve, args=(end, self._log.name), daemon=True)
        self._process.start()
        end.close()
        self._pipe.recv()  # all is imported
        self._left = _CASES_OF_A_PROCESS

    def _end(self) -> str | None:
        """Let the process end, and say what went wrong with that."""
        self._pipe.close()
        self._process.join(_END_S)
        status, log = self._buried()
        return f"status {status} at the end of the process, after all of its cases\n{log}" if status else None

    def _died(self, start: float, failure: str | None) -> Outcome:
        self._process.join(_END_S)
        status, log = self._buried()
        ended = f"signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        failure = f"{failure or ended} ({_place(log)})"
        return Outcome("failed", time.monotonic() - start, failure, log)

    def _buried(self) -> tuple[int, str]:
        """Exit status of the process, killed if it goes on, and what it has written."""
        if self._process.exitcode is None:
            self._process.kill()
            self._process.join()
        status, self._process = self._process.exitcode, None
        log = Path(self._log.name).read_text(errors="replace")[-20_000:]
        self._log.close()
        self._pipe.close()
        return status, log


def outcomes(seed: int, numbers: Iterable[int], limit: float = LIMIT_S) -> Iterator[tuple[int, Outcome]]:
    """What becomes of the cases with these numbers, in one process after another."""
    with Worker(limit) as worker:
        for number in numbers:
            yield number, worker.outcome((seed, number))


def _serve(pipe, log: str) -> None:
    """Check the cases that come, until the pipe is closed."""
    import pyarrow as pa

    from fuzz import configurations, properties

    os.dup2(os.open(log, os.O_WRONLY | os.O_APPEND), 2)
    sys.stderr = os.fdopen(2, "w", closefd=False)
    faulthandler.enable(sys.stderr)
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES_MIB << 20,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pa.set_cpu_count(1)
    in_memory = Path("/dev/shm")  # noqa: S108 - only asked whether it is there
    folders = in_memory if os.access(in_memory, os.W_OK) else None
    properties.script("normalise_receptors")
    configurations.warm_up()
    pipe.send("ready")
    with contextlib.suppress(EOFError):
        while True:
            what = pipe.recv()
            with tempfile.TemporaryDirectory(prefix="airrvec-fuzz-", dir=folders) as folder:
                pipe.send(_outcome(what, Path(folder)))


def _outcome(what: Case | tuple[int, int], folder: Path) -> Outcome:
    from fuzz import cases, properties

    start = time.monotonic()
    result, failure, details, kind = "read", "", "", ""
    with memory.added() as added_mib:
        try:
            case = what if isinstance(what, Case) else cases.case(*what)
            kind = case.kind
            cases.check(case, folder)
        except properties.Refused:
            result = "refused"
        except BaseException as error:
            details = traceback.format_exc()
            result, failure = "failed", _in_a_line(f"{type(error).__name__}: {error}", details)
        if (more := added_mib()) > MEMORY_MIB and not failure:
            result, failure = "failed", f"{more:.0f} MiB of memory"
    seconds = time.monotonic() - start
    return Outcome(result, seconds, failure, details, kind)


def _in_a_line(failure: str, details: str) -> str:
    """A failure without values, so that those of one cause are alike, and its place."""
    return f"{_VALUES.sub('…', failure.splitlines()[0])[:80]} ({_place(details)})"


def _place(details: str) -> str:
    """The last place of the library that a traceback names."""
    places = [f"{file}:{function}" for file, function in _IN_LIBRARY.findall(details)]
    return places[-1] if places else "not in the library"
