"""Container engines of this machine made ready, and runs of the pipeline as a user without privileges."""

import contextlib
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from pipeline_runs import launcher_folders

ROOT = Path(__file__).parents[2]
NEXTFLOW = ROOT / "containers" / "nextflow" / "nextflow"
MAKE_BASE = ROOT / "tests" / "containers" / "make_base.sh"
DOCKERFILES = sorted((ROOT / "containers").rglob("Dockerfile"))
REGISTRY = "ghcr.io/airrvec"
# A program, and the Debian packages that bring it and what it needs for a user without privileges.
PACKAGES = {
    "dockerd": ["docker.io"],
    "debootstrap": ["debootstrap"],
    "podman": ["podman", "runc", "slirp4netns", "uidmap"],
    "tini": ["tini"],
}


def call(*command: str | Path, **options) -> subprocess.CompletedProcess:
    """Run a command; its two outputs come together as text."""
    command = [str(part) for part in command]
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT} | options
    return subprocess.run(command, text=True, **options)


def must(*command: str | Path, **options) -> str:
    """What a command prints; an AssertionError if it fails."""
    done = call(*command, **options)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}"
    return done.stdout


def install(program: str) -> None:
    """Install a program from Debian where it is missing."""
    if shutil.which(program):
        return
    packages = PACKAGES[program]
    if os.getuid() or not shutil.which("apt-get"):
        raise RuntimeError(f"{program} is missing: install {' '.join(packages)}, or run as root on Debian")
    print(f"Installing {' '.join(packages)}", flush=True)
    must("apt-get", "update")
    # No policy-rc.d is needed: without systemd nothing starts by itself.
    must(
        "apt-get", "install", "--yes", "--no-install-recommends", *packages,
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
    )  # fmt: skip


@contextlib.contextmanager
def docker_daemon(log: Path):
    """Docker's daemon: the one that runs, or one for as long as this context lasts."""
    if shutil.which("docker") and call("docker", "info").returncode == 0:
        yield
        return
    install("dockerd")
    with log.open("w") as output:
        daemon = subprocess.Popen(["dockerd"], stdout=output, stderr=output, start_new_session=True)
    try:
        for _ in range(60):
            if call("docker", "info").returncode == 0:
                break
            time.sleep(1)
        else:
            raise RuntimeError(f"dockerd does not answer:\n{log.read_text()[-2000:]}")
        yield
    finally:
        daemon.terminate()
        daemon.wait(60)


@dataclass
class User:
    """Who runs the pipeline: whoever runs the tests or, where that is root, a user made for them."""

    folder: Path
    name: str = field(init=False)

    def __enter__(self):
        self.folder.chmod(0o755)
        self.made = os.getuid() == 0
        self.name = f"airrvec-{os.getpid()}" if self.made else pwd.getpwuid(os.getuid()).pw_name
        self.home = self.folder / "home"
        if self.made:
            install("tini")
            groups = call("getent", "group", "docker").returncode == 0
            must(
                "useradd", "--create-home", "--home-dir", self.home, "--shell", "/bin/bash",
                *(["--groups", "docker"] if groups else []), self.name,
            )  # fmt: skip
        else:
            self.home.mkdir()
        self.entry = pwd.getpwnam(self.name)
        self.make("runtime").chmod(0o700)
        # Podman's first choice, crun, refuses machines whose cgroups are of both versions.
        (self.folder / "containers.conf").write_text('[engine]\nruntime = "runc"\n')
        return self

    def __exit__(self, *_):
        if self.made:
            # podman leaves a process of the user's behind, which holds the user's namespace open
            call("pkill", "--uid", self.name)
            must("userdel", "--force", self.name)

    def make(self, name: str) -> Path:
        """A folder of the user's."""
        folder = self.folder / name
        folder.mkdir()
        os.chown(folder, self.entry.pw_uid, self.entry.pw_gid)
        return folder

    def call(self, *command: str | Path, **env: str) -> subprocess.CompletedProcess:
        options = {}
        if self.made:
            options = {
                "user": self.entry.pw_uid,
                "group": self.entry.pw_gid,
                "extra_groups": os.getgrouplist(self.name, self.entry.pw_gid),
            }
            # Where a machine's first process is slow to notice the end of others, podman waits 20 s for each
            # container's monitor; tini notices at once.
            command = ("tini", "-s", "--", *command)
        own = {
            "HOME": self.home,
            "USER": self.name,
            "LOGNAME": self.name,
            "XDG_RUNTIME_DIR": self.folder / "runtime",
            # Debian's podman takes vfs for a new user, which copies the image for every container.
            "STORAGE_DRIVER": "overlay",
            "CONTAINERS_CONF": self.folder / "containers.conf",
        }
        everything = {**os.environ, **(own if self.made else {}), "NXF_ANSI_LOG": "false", **env}
        return call(*command, env={key: str(value) for key, value in everything.items()}, **options)


@dataclass(frozen=True)
class Run:
    folder: Path
    status: int
    output: str

    @property
    def results(self) -> Path:
        return self.folder / "results"


class Pipeline:
    """A copy of the pipeline that any user can read, as a site's checkout is, and its Nextflow."""

    def __init__(self, folder: Path):
        self.folder = folder / "airrvec"
        listed = must("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).split("\n")
        for name in listed:
            if (ROOT / name).is_file() and not name.startswith(("tests/", "docs/")):
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.folder / name)
        # The jars lie in the home of whoever runs the tests, where others may not look.
        self.env = {"AIRRVEC_NEXTFLOW": "24.10.0", "AIRRVEC_CACHE": str(folder / "cache")}
        must(NEXTFLOW, "-version", env={**os.environ, "AIRRVEC_NEXTFLOW": "24.10.0"})
        for made in launcher_folders():
            shutil.copytree(made, folder / "cache" / made.name)

    def run(self, user: User, name: str, *args: str | Path, **env: str) -> Run:
        """A run as the user, in a folder of its own."""
        folder = user.make(name)
        return self.again(user, folder, *args, **env)

    def again(self, user: User, folder: Path, *args: str | Path, **env: str) -> Run:
        nextflow = self.folder / "containers" / "nextflow" / "nextflow"
        command = [
            "env",
            f"--chdir={folder}",
            nextflow,
            "run",
            self.folder,
            "--outdir",
            folder / "results",
            *args,
        ]
        done = user.call(*command, **self.env, **env)
        return Run(folder, done.returncode, done.stdout)

    def run_locally(self, folder: Path, *args: str | Path) -> Run:
        """A run in the locked environment, no container."""
        folder.mkdir()
        env = {**os.environ, **self.env, "NXF_ANSI_LOG": "false"}
        env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
        command = [NEXTFLOW, "run", self.folder, "--outdir", folder / "results", *args]
        done = call(*command, cwd=folder, env=env)
        return Run(folder, done.returncode, done.stdout)


@contextlib.contextmanager
def open_folder():
    """A new folder that every user may look into; pytest's own are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="airrvec-containers-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        # rootless podman's files belong to the user's subordinate ids
        shutil.rmtree(folder, ignore_errors=True)
