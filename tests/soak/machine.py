"""Parts of the machine that faults need: disks, cgroups, clocks. All need root."""

import os
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from cluster import install_from_debian

FAKETIME = Path("/usr/lib") / f"{os.uname().machine}-linux-gnu" / "faketime/libfaketime.so.1"


def do(*words) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout.strip()


def mount_memory(folder: Path, size: str) -> None:
    do("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder)


def remount(folder: Path, option: str) -> None:
    """``ro`` is refused while a file is open for writing; a bind mount is made read-only all the same."""
    if option == "ro":
        do("mount", "--bind", folder, folder)
        do("mount", "-o", "remount,bind,ro", folder)
    elif do("findmnt", "--noheadings", "--output", "TARGET", "--target", folder) and _mounts(folder) > 1:
        do("umount", "--lazy", folder)


def _mounts(folder: Path) -> int:
    return sum(line.split()[1] == str(folder) for line in Path("/proc/mounts").read_text().splitlines())


def unmount(folder: Path) -> None:
    while _mounts(folder):
        do("umount", "--lazy", folder)


class Disk:
    """A disk in a file, mounted at a folder; what is written to it is on it at once."""

    def __init__(self, folder: Path, *, megabytes: int):
        self.folder, self.image = folder, folder.with_suffix(".img")
        with self.image.open("wb") as handle:
            handle.truncate(megabytes << 20)
        do("mkfs.ext4", "-q", self.image)
        self.device = do("losetup", "--find", "--show", "--direct-io=on", self.image)
        do("mount", "-o", "sync", self.device, folder)
        status = os.stat(self.device)
        self.number = f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"

    def remove(self) -> None:
        unmount(self.folder)
        do("losetup", "--detach", self.device)
        self.image.unlink()


def cgroup(controller: str, name: str) -> Path:
    folder = Path("/sys/fs/cgroup") / controller / f"airrvec-soak-{os.getpid()}-{name}"
    folder.mkdir()
    return folder


def remove(group: Path) -> None:
    """Once its processes have ended, waited for."""
    deadline = time.monotonic() + 60
    while group.exists() and time.monotonic() < deadline:
        with suppress(OSError):
            group.rmdir()
        time.sleep(0.1)


def false_clock(file: Path) -> dict[str, str]:
    """Variables that let programs read the time from a file that says by how much it is wrong."""
    if not FAKETIME.exists():
        install_from_debian("libfaketime")
    return {
        "LD_PRELOAD": str(FAKETIME),
        "FAKETIME_TIMESTAMP_FILE": str(file),
        "FAKETIME_NO_CACHE": "1",
        # Java waits by the monotonic clock, which no setting of the time changes.
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_FORCE_MONOTONIC_FIX": "0",
        "NO_FAKE_STAT": "1",  # times of files are the disk's
    }
