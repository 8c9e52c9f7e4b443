"""Faults of a cluster's nodes and jobs, on a Slurm."""

import threading
from contextlib import contextmanager
from pathlib import Path

from cluster import Cluster, wait
from jobs import QUICK, process_of, state_of

from soak.fault import Fault

_slurm_is_free = threading.Lock()
_services: dict = {}


@contextmanager
def services():
    """A Slurm that starts with the first fault that needs one, and ends with the context."""
    started: list[Cluster] = []

    def slurm() -> Cluster:
        if not started:
            started.append(Cluster().__enter__())
        return started[0]

    _services["slurm"] = slurm
    try:
        yield
    finally:
        for cluster in started:
            cluster.__exit__()


class LostNode(Fault):
    """On a Slurm, a node goes down under a job, and comes back.

    Before the script of a job runs, Nextflow 24.10's wrapper ends with 1, after which nothing is tried again.
    """

    def prepare(self):
        _slurm_is_free.acquire()
        self.slurm = _services["slurm"]()
        (self.case.folder / "quick.config").write_text(QUICK)
        self.case.args = ("-profile", "test,slurm", "-c", "quick.config")
        self.case.env = self.slurm.env

    def inject(self, head):
        jobs: list[dict] = []

        def running():
            jobs[:] = [job for job in self.slurm.jobs(self.case.folder) if job["JobState"] == "RUNNING"]
            return jobs

        if not head.when(running):
            return "no job was left"
        job = jobs[int(self.rng.integers(len(jobs)))]
        self.slurm.set_node(job["NodeList"], "down")
        wait(lambda: state_of(self.slurm, job) != "RUNNING", "the job to be given up")
        self.slurm.resume_node(job["NodeList"])
        return f"the node of {process_of(job)} down"

    def __exit__(self, *_):
        for job in self.slurm.jobs(self.case.folder):
            if job["JobState"] in ("PENDING", "RUNNING"):
                self.slurm.command("scancel", job["JobId"])
        _slurm_is_free.release()


class CancelledJob(LostNode):
    """On a Slurm, an administrator cancels a job whose script runs."""

    def inject(self, head):
        if not (found := self.script(head)):
            return "no job was left"
        folder = Path(f"/proc/{found[0]}/cwd").resolve()
        for job in self.slurm.jobs(folder):
            self.slurm.command("scancel", job["JobId"])
        return f"the job of {found[1]} cancelled"
