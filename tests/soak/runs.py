"""One run of the pipeline, from outside: its events, its processes, its files."""

import re
import signal
import subprocess
import time
from pathlib import Path

from jobs import is_script, kill, processes
from pipeline_runs import NEXTFLOW, ROOT, Run, environment

LONGEST = 900  # seconds of a run of about 30
IDLE = 60  # seconds without a task and a line of the log


class Case:
    """A launch folder, where runs start one after the other."""

    def __init__(self, folder: Path, rng):
        self.folder, self.rng = folder, rng
        self.args: tuple[str, ...] = ("-profile", "test")
        self.env: dict[str, str] = {}
        self.output = ""

    @property
    def results(self) -> Path:
        return self.folder / "results"

    @property
    def work(self) -> Path:
        return self.folder / "work"

    def start(self, *args: str, group: Path | None = None) -> "Head":
        """Start Nextflow; ``group``: a cgroup for it and its tasks."""
        return Head(self, args, group)

    def tasks(self) -> list[dict]:
        return Run(self.folder, 0, "", "").tasks

    def last_words(self) -> str:
        return self.output[-2000:]


class Head:
    """Nextflow's process."""

    def __init__(self, case: Case, args: tuple[str, ...], group: Path | None):
        self.case = case
        self._log = case.folder / ".nextflow.log"
        self._log.unlink(missing_ok=True)
        command = [NEXTFLOW, "run", ROOT, "--outdir", "results", *case.args, *args]
        words = [str(word) for word in command]
        if group is not None:
            words = ["bash", "-c", 'echo $$ > "$0" && exec "$@"', str(group / "cgroup.procs"), *words]
        self._output = (case.folder / "output.txt").open("w+")
        self.process = subprocess.Popen(
            words,
            cwd=case.folder,
            env=environment(**case.env),
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            # A shell's background jobs ignore it, and so would Nextflow.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def log(self) -> str:
        return self._log.read_text() if self._log.exists() else ""

    def until(self, event: str, count: int) -> bool:
        """Wait until the log has named an event so often; False if the run ended before."""
        return self.when(lambda: len(re.findall(event, self.log())) >= count)

    def when(self, happened) -> bool:
        """Wait until something is true; False if the run ended before."""
        deadline = time.monotonic() + LONGEST
        while not happened():
            if self.process.poll() is not None:
                return False
            if time.monotonic() > deadline:
                self.kill()
                raise TimeoutError(f"waited {LONGEST} s")
            time.sleep(0.05)
        return True

    def ended(self, status: int | None = None) -> int | str:
        """The exit status, waited for; ``hung``: it did nothing any more and was killed, as a user would."""
        found: int | str | None = None
        size, since, start = -1, time.monotonic(), time.monotonic()
        while (found := self.process.poll()) is None:
            time.sleep(0.5)
            now = time.monotonic()
            if len(self.log()) != size or scripts(self.case.folder):
                size, since = len(self.log()), now
            if now - since > IDLE or now - start > LONGEST:
                self.kill()
                found = "hung"
                break
        self._output.seek(0)
        self.case.output = self._output.read()
        if status is not None and found != status:
            raise RuntimeError(f"exit status {found}, not {status}")
        return found

    def kill(self) -> None:
        """Kill Nextflow and all its tasks at once."""
        kill(processes(self.case.folder))
        self.process.kill()
        self.process.wait()


def scripts(folder: Path) -> dict[int, str]:
    """Process ids and scripts of tasks that run below a folder."""
    return {number: Path(words[1]).name for number, words in processes(folder).items() if is_script(words)}
