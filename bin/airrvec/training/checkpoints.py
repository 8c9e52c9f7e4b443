"""Checkpoints of training, from which an interrupted run resumes."""

import logging
from pathlib import Path

import lightning as L
import torch

from airrvec.core import tables


class Checkpoints(L.Callback):
    """Write the state of training every ``every`` steps, to a temporary name that is then renamed."""

    def __init__(self, folder: Path, every: int, fingerprint: str):
        self.folder, self.every, self.fingerprint = Path(folder), every, fingerprint

    @property
    def path(self) -> Path:
        return self.folder / "last.ckpt"

    def last(self) -> Path | None:
        """Return the checkpoint to resume from; None if there is none of this training."""
        if not self.path.exists():
            return None
        saved = torch.load(self.path, map_location="cpu", weights_only=True)
        if saved.get("fingerprint") == self.fingerprint:
            return self.path
        logging.getLogger(__name__).warning(
            "%s belongs to other data or settings: training starts from step 0", self.path
        )
        return None

    def on_save_checkpoint(self, trainer, loop, saved):
        saved["fingerprint"] = self.fingerprint

    def on_train_batch_end(self, trainer, loop, *_):
        if trainer.global_step % self.every == 0:
            if not trainer.is_global_zero:
                trainer.save_checkpoint(self.path)  # all processes must call it; only the first one writes
                return
            with tables.atomic_path(self.path) as temporary:
                trainer.save_checkpoint(temporary)
            tables.write_tsv(loop.history(), self.folder / "log.tsv")
