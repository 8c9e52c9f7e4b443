"""Faults of disks: full, read-only, slow, with files that are gone or damaged."""

import re
import shutil
from contextlib import suppress
from pathlib import Path

from soak import machine
from soak.fault import Fault

# In the errors of tasks and in those of the end of a run.
FOLDER_TO_DELETE = re.compile(r"(?:It lies in|delete) (\S+/work/[0-9a-f]{2}/[0-9a-f]+)")


class FullDisk(Fault):
    """Work folders and results are on a small disk that another program fills."""

    def prepare(self):
        machine.mount_memory(self.case.folder, "200m")
        self.filler = self.case.folder / "filler"

    def inject(self, head):
        with suppress(OSError), self.filler.open("wb") as handle:
            while True:
                handle.write(bytes(1 << 16))
        return "a full disk"

    def repair(self):
        self.filler.unlink(missing_ok=True)

    def __exit__(self, *_):
        machine.unmount(self.case.folder)


class ReadOnlyDisk(FullDisk):
    """The disk of work folders and results cannot be written any more."""

    def inject(self, head):
        machine.remount(self.case.folder, "ro")
        return "a disk that is read-only"

    def repair(self):
        machine.remount(self.case.folder, "rw")


class SlowDisk(Fault):
    """A disk that writes at once, and only some times a second; killed on it."""

    def prepare(self):
        self.disk = machine.Disk(self.case.folder, megabytes=200)
        self.group = machine.cgroup("blkio", self.case.folder.name)
        rate = f"{self.disk.number} {int(self.rng.integers(300, 1000))}"
        (self.group / "blkio.throttle.write_iops_device").write_text(rate)
        self.rate = rate.split()[1]

    def start(self):
        return self.case.start(group=self.group)

    def inject(self, head):
        head.kill()
        return f"a disk of {self.rate} writes a second, SIGKILL to Nextflow and its tasks"

    def __exit__(self, *_):
        self.disk.remove()
        machine.remove(self.group)


class Purge(Fault):
    """A killed run whose work folders are half cleaned away, as scratch disks are."""

    def inject(self, head):
        head.kill()
        folders = sorted(self.case.work.glob("??/*"))
        chosen = [folder for folder in folders if self.rng.random() < 0.5]
        for folder in chosen:
            shutil.rmtree(folder)
        return f"SIGKILL, and {len(chosen)} of {len(folders)} work folders deleted"


class Damage(Fault):
    """A killed run with a damaged table of a finished task: the resumed run says which folder to delete."""

    def inject(self, head):
        head.kill()
        done = re.findall(r"status: COMPLETED; .*workDir: (\S+)\]", head.log())
        tables = sorted(
            path for folder in done for path in Path(folder).glob("*.parquet") if not path.is_symlink()
        )
        if not tables:
            return "SIGKILL, no table yet"
        table = tables[int(self.rng.integers(len(tables)))]
        content = bytearray(table.read_bytes())
        place = int(self.rng.integers(4, len(content) - 8))
        content[place] ^= 1 << int(self.rng.integers(8))
        table.write_bytes(content)
        return f"SIGKILL, and a flipped bit in byte {place} of {table.name}"

    def resume(self):
        for number in range(1, 4):
            status = self.case.start("-resume").ended()
            told = set(FOLDER_TO_DELETE.findall(self.case.output))
            if status == 0 and not told:
                # A resumed run without the damaged part has moved that part's earlier files aside.
                shutil.rmtree(self.case.results / "previous", ignore_errors=True)
                return number
            if not told:
                raise RuntimeError(f"exit status {status}, and no folder to delete is named")
            for folder in told:
                shutil.rmtree(folder)
        raise RuntimeError("the run is not complete after three resumes")
