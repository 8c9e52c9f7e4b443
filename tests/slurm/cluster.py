"""
A real Slurm of two nodes on this one machine, for as long as it is needed.

As a script it runs a command on it: ``python tests/slurm/cluster.py nextflow run . -profile test,slurm``.
"""

import ctypes
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

COMMANDS = ("munged", "slurmctld", "slurmd", "sbatch")
HANGS = 1200  # seconds after which what is waited for will not come; no measure of how long it takes
PACKAGES = ("munge", "slurmctld", "slurmd", "slurm-client")
# The partition `all` is the default one; `cpu` holds the node without GPUs.
SLURM_CONF = """
ClusterName=airrvec
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmUser=root
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=500
TaskPlugin=task/cgroup
ProctrackType=proctrack/linuxproc
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
MinJobAge=86400
SchedulerParameters=sched_interval=2,bf_interval=2
GresTypes=gpu
NodeName={cpu} NodeHostname={host} NodeAddr=127.0.0.1 Port={cpu_port} CPUs=2 RealMemory=8000
NodeName={gpu} NodeHostname={host} NodeAddr=127.0.0.1 Port={gpu_port} CPUs=2 RealMemory=8000 Gres=gpu:2
PartitionName=all Nodes={cpu},{gpu} Default=YES MaxTime=INFINITE State=UP
PartitionName=cpu Nodes={cpu} MaxTime=INFINITE State=UP
"""
# Without a constraint on devices, any two files pass for GPUs.
GRES_CONF = """
NodeName={gpu} Name=gpu File=/dev/null
NodeName={gpu} Name=gpu File=/dev/zero
"""
CGROUP_CONF = """
CgroupPlugin=cgroup/v1
ConstrainRAMSpace=yes
"""


class Cluster:
    """
    Started and stopped as a context.

    Attributes
    ----------
    cpu, gpu : str
        Names of the nodes: two cores and 8,000 MB each, the second with two things that pass for GPUs.
    env : dict of str
        What programs need in order to find this Slurm.
    """

    def __init__(self):
        # munged wants a path that everyone may enter.
        self.folder = Path(tempfile.mkdtemp(prefix="airrvec-slurm-"))
        self.folder.chmod(0o755)
        # Nodes of two such clusters must not share a cgroup.
        self.cpu, self.gpu = f"cpu-{os.getpid()}", f"gpu-{os.getpid()}"
        self.env = {"SLURM_CONF": str(self.folder / "slurm.conf")}
        self._daemons: list[subprocess.Popen] = []

    def __enter__(self) -> "Cluster":
        install()
        try:
            self._configure()
            self._start("munged", "--foreground", *self._munge_paths())
            wait(lambda: (self.folder / "munge.socket").exists(), "munged")
            self._start("slurmctld", "-D")
            for node in (self.cpu, self.gpu):
                self._start("slurmd", "-D", "-N", node)
            wait(
                lambda: self.states() == {self.cpu: "idle", self.gpu: "idle"}, "two idle nodes", self._failure
            )
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        if len(self._daemons) > 1:
            subprocess.run(["scancel", "--user=root"], env={**os.environ, **self.env}, check=False)
            deadline = time.monotonic() + 20
            while self._unfinished() and time.monotonic() < deadline:
                time.sleep(0.2)
        for daemon in reversed(self._daemons):
            daemon.terminate()
        for daemon in reversed(self._daemons):
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def command(self, *words: str) -> str:
        """Run a command of Slurm, and return what it prints."""
        done = subprocess.run(words, env={**os.environ, **self.env}, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def states(self) -> dict[str, str]:
        """State of each node, such as idle, mixed, draining."""
        try:
            lines = self.command("sinfo", "--noheader", "--Node", "--partition=all", "--format=%N %T")
        except RuntimeError:
            return {}
        return dict(line.split() for line in lines.splitlines())

    def jobs(self, under: Path | None = None) -> list[dict[str, str]]:
        """What the controller remembers of each job, or of those with a work folder ``under`` a path."""
        lines = self.command("scontrol", "--oneliner", "show", "jobs").splitlines()
        jobs = [dict(re.findall(r"(\w+)=(\S*)", line)) for line in lines if line.startswith("JobId=")]
        return [job for job in jobs if under is None or Path(job["WorkDir"]).is_relative_to(under)]

    def set_node(self, node: str, state: str) -> None:
        """Drain a node, or call it down."""
        self.command("scontrol", "update", f"nodename={node}", f"state={state}", "reason=test")

    def resume_node(self, node: str) -> None:
        """Let a node serve again, unless it has come back by itself (``ReturnToService``)."""

        def serves() -> bool:
            # Slurm refuses to resume a node that is back by now, and that may be between two questions.
            with suppress(RuntimeError):
                self.command("scontrol", "update", f"nodename={node}", "state=resume")
            return not self.states().get(node, "down").startswith(("down", "drain"))

        wait(serves, f"{node} to serve again", self._failure)

    def _configure(self) -> None:
        if not Path("/sys/fs/cgroup/memory").is_dir():
            raise RuntimeError("this Slurm limits memory by cgroups of version 1, which this machine has not")
        facts = {"folder": self.folder, "host": socket.gethostname().split(".")[0]}
        facts |= {"cpu": self.cpu, "gpu": self.gpu}
        facts |= dict(zip(("controller_port", "cpu_port", "gpu_port"), free_ports(3), strict=True))
        for name, text in (("slurm", SLURM_CONF), ("gres", GRES_CONF), ("cgroup", CGROUP_CONF)):
            (self.folder / f"{name}.conf").write_text(text.format(**facts))
        (self.folder / "state").mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)

    def _munge_paths(self) -> list[str]:
        names = {
            "key-file": "key",
            "socket": "socket",
            "pid-file": "pid",
            "log-file": "log",
            "seed-file": "seed",
        }
        return [f"--{option}={self.folder}/munge.{name}" for option, name in names.items()]

    def _start(self, *words: str) -> None:
        with (self.folder / f"{words[0]}.{len(self._daemons)}.out").open("w") as log:
            self._daemons.append(
                subprocess.Popen(
                    words,
                    env={**os.environ, **self.env},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    preexec_fn=_end_with_parent,
                )
            )

    def _unfinished(self) -> bool:
        try:
            return bool(self.command("squeue", "--noheader").strip())
        except RuntimeError:
            return False

    def _failure(self) -> str:
        """The last words of every daemon."""
        logs = sorted(self.folder.glob("*.out"))
        return "\n".join(f"--- {log.name}\n{''.join(log.read_text()[-1000:])}" for log in logs)


def _end_with_parent() -> None:
    """Let the kernel end a daemon whose starter was killed (prctl, PR_SET_PDEATHSIG)."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def install() -> None:
    """Install Slurm from Debian where it is not."""
    if os.geteuid() != 0:
        raise RuntimeError("Slurm's daemons limit the memory of their jobs, for which they need root")
    if all(map(shutil.which, COMMANDS)):
        return
    install_from_debian(*PACKAGES)


def install_from_debian(*packages: str) -> None:
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "-qq", "update"], check=True, env=env, stdout=sys.stderr)
    install = ["apt-get", "-qq", "install", "--no-install-recommends", *packages]
    subprocess.run(install, check=True, env=env, stdout=sys.stderr)


def wait(until: Callable, what: str, failure: Callable[[], str] = lambda: "", *, timeout=HANGS, every=0.1):
    """The first true value of ``until``, asked every so many seconds."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if value := until():
            return value
        time.sleep(every)
    raise TimeoutError(f"waited {timeout} s for {what}\n{failure()}")


def free_ports(n: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


if __name__ == "__main__":
    with Cluster() as cluster:
        sys.exit(subprocess.run(sys.argv[1:], env={**os.environ, **cluster.env}).returncode)
