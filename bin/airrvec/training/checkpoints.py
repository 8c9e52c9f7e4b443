"""
Checkpoints of training, from which an interrupted run resumes.

The last two are kept. The checksum at the end of a file shows whether it is damaged; training then resumes
from the one before.
"""

import logging
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

from airrvec.core import tables
from airrvec.core.errors import InputError
from airrvec.core.sealed import DamagedError, check, seal

import lightning as L
import torch

ABANDONED = 3600  # seconds after which a temporary file that nobody writes to is one of a killed process


class Checkpoints(L.Callback):
    """Write the state of training every ``every`` steps, to a temporary name that is then renamed."""

    def __init__(self, folder: Path, every: int, fingerprint: str):
        self.folder, self.every, self.fingerprint = Path(folder), every, fingerprint

    @property
    def path(self) -> Path:
        return self.folder / "last.ckpt"

    @property
    def previous(self) -> Path:
        return self.folder / "previous.ckpt"

    def last(self) -> Path | None:
        """
        Return the checkpoint to resume from; None if there is none of this training.

        Damaged files are renamed, so that no later start reads them again.
        """
        self._remove_abandoned()
        warnings = []
        found = next((path for path in (self.path, self.previous) if self._usable(path, warnings)), None)
        start = f"training resumes from {found}" if found else "training starts from step 0"
        for warning in warnings:
            logging.getLogger(__name__).warning("%s: %s", warning, start)
        return found

    def _usable(self, path: Path, warnings: list[str]) -> bool:
        """Return whether training can resume from a file; if not, add the reason to ``warnings``."""
        try:
            saved = read(path)
        except FileNotFoundError:  # also where another process of this training has just renamed it
            return False
        except DamagedError as problem:
            aside = path.with_suffix(".damaged")
            with suppress(FileNotFoundError):  # another process of this training was faster
                os.replace(path, aside)
            warnings.append(f"{path} is damaged ({problem}) and now named {aside.name}")
            return False
        if saved.get("fingerprint") == self.fingerprint:
            return True
        warnings.append(f"{path} belongs to other data or settings")
        return False

    def _remove_abandoned(self) -> None:
        """Delete what processes killed in the middle of a checkpoint have left."""
        for path in self.folder.glob(f".{self.path.stem}.*.tmp"):
            if time.time() - path.stat().st_mtime > ABANDONED:
                path.unlink(missing_ok=True)

    def on_save_checkpoint(self, trainer, loop, saved):
        saved["fingerprint"] = self.fingerprint

    def on_load_checkpoint(self, trainer, loop, saved):
        if saved.get("fingerprint") != self.fingerprint:
            raise InputError(
                "another training has just written a checkpoint into this folder",
                fix="Give each training a folder of its own",
                file=self.folder,
            )

    def on_train_batch_end(self, trainer, loop, *_):
        if trainer.global_step % self.every == 0:
            if not trainer.is_global_zero:
                trainer.save_checkpoint(self.path)  # all processes must call it; only the first one writes
                return
            with tables.atomic_path(self.path) as temporary:
                trainer.save_checkpoint(temporary)
                seal(temporary)
                self._keep_previous()
            log = loop.history().append_column("seconds", loop.times()["seconds"])
            tables.write_tsv(log, self.folder / "log.tsv")

    def _keep_previous(self) -> None:
        """Give the last checkpoint a second name, under which it stays when the new one takes the first."""
        if not self.path.exists():
            return
        with tables.atomic_path(self.previous) as temporary:
            try:
                os.link(self.path, temporary)
            except OSError:  # no hard links on this file system
                shutil.copyfile(self.path, temporary)


def read(path: Path) -> dict:
    """
    Return what a checkpoint holds.

    Raises
    ------
    DamagedError
        If the file is incomplete or differs from its SHA-256. The checksums that PyTorch writes (CRC-32) are
        not enough: a changed byte in the directory of the zip file gives other content.
    FileNotFoundError, PermissionError
        As `open`.
    """
    check(path)
    return torch.load(path, map_location="cpu", weights_only=True)  # PyTorch reads what is before the seal
