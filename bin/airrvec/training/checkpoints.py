"""The state of training on the disk, from which an interrupted run goes on."""

import logging
from pathlib import Path

import lightning as L
import torch

from airrvec.core import tables


class Checkpoints(L.Callback):
    """The state of training every so many steps, written to a temporary name and renamed."""

    def __init__(self, folder: Path, every: int, fingerprint: str):
        self.folder, self.every, self.fingerprint = Path(folder), every, fingerprint

    @property
    def path(self) -> Path:
        return self.folder / "last.ckpt"

    def last(self) -> Path | None:
        """The checkpoint to go on from."""
        if not self.path.exists():
            return None
        saved = torch.load(self.path, map_location="cpu", weights_only=True)
        if saved.get("fingerprint") == self.fingerprint:
            return self.path
        logging.getLogger(__name__).warning(
            "%s is of other data or settings: training starts anew", self.path
        )
        return None

    def on_save_checkpoint(self, trainer, loop, saved):
        saved["fingerprint"] = self.fingerprint

    def on_train_batch_end(self, trainer, loop, *_):
        if trainer.global_step % self.every == 0:
            if not trainer.is_global_zero:
                trainer.save_checkpoint(self.path)  # takes part in it; the first process writes
                return
            with tables.written(self.path) as temporary:
                trainer.save_checkpoint(temporary)
            tables.write_tsv(loop.history(), self.folder / "log.tsv")
