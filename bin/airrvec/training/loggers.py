"""Loggers of training by name, from Lightning. To add one, add an entry; its packages are an extra."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from pathlib import Path

from airrvec.core.errors import InputError, kind, require_extra

from lightning.pytorch import loggers as lightning_loggers
from lightning.pytorch.loggers import Logger
from lightning.pytorch.utilities import rank_zero_only


def _tensorboard(folder: Path) -> Logger:
    return lightning_loggers.TensorBoardLogger(folder, name="tensorboard", version="")


class MlflowLogger(Logger):
    """
    Write to MLflow: to the server of ``MLFLOW_TRACKING_URI``, or into the folder ``mlruns``.

    Lightning's own logger needs the whole of MLflow; this one needs `mlflow-skinny`.

    Parameters
    ----------
    folder : Path
        Folder of the training; its name is that of the run.
    """

    def __init__(self, folder: Path):
        super().__init__()
        self._folder, self._run = folder, ""

    @property
    def name(self) -> str:
        """Name of the experiment."""
        return "airrvec"

    @property
    def version(self) -> str:
        """Identifier of the run; empty before its first metric."""
        return self._run

    @cached_property
    def client(self):
        """The client of MLflow, with a new run."""
        # By name: the environments of the tasks are made from the imports of their scripts.
        create = import_module("mlflow").MlflowClient
        uri = os.environ.get("MLFLOW_TRACKING_URI") or (self._folder / "mlruns").absolute().as_uri()
        with _file_store_allowed():
            client = create(tracking_uri=uri)
            experiment = client.get_experiment_by_name(self.name)
            number = experiment.experiment_id if experiment else client.create_experiment(self.name)
            self._run = client.create_run(number, run_name=self._folder.name).info.run_id
        return client

    @rank_zero_only
    def log_hyperparams(self, params, *_, **__) -> None:
        """Write the settings of the run."""
        client = self.client
        for name, value in dict(params).items():
            client.log_param(self._run, name, value)

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Write the terms of a step."""
        client = self.client
        metric = import_module("mlflow.entities").Metric
        now = int(time.time() * 1000)
        client.log_batch(self._run, [metric(name, value, now, step or 0) for name, value in metrics.items()])

    @rank_zero_only
    def finalize(self, status: str) -> None:
        """End the run."""
        if self._run:
            self.client.set_terminated(self._run, "FINISHED" if status == "success" else "FAILED")


@contextmanager
def _file_store_allowed() -> Iterator[None]:
    """Let MLflow open a folder, which needs no package beside it; MLflow advises a database."""
    name = "MLFLOW_ALLOW_FILE_STORE"
    before = os.environ.get(name)
    os.environ[name] = "true"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


# Name, which is that of the extra too → folder of the training → logger.
LOGGERS: dict[str, Callable[[Path], Logger]] = {"tensorboard": _tensorboard, "mlflow": MlflowLogger}


def load(logger: str | Logger | Sequence[Logger] | None, folder: Path) -> list[Logger]:
    """
    Return loggers of Lightning.

    Parameters
    ----------
    logger : str, Logger or sequence of Logger, optional
        A name in `LOGGERS`, or loggers; None for none.
    folder : Path
        Folder of the training, where a logger with a name writes.

    Raises
    ------
    InputError
        If there is no logger of this name, its packages are missing, or it is no logger of Lightning.
    """
    if logger is None:
        return []
    if isinstance(logger, str):
        if logger not in LOGGERS:
            raise InputError(f"there is no logger '{logger}'", fix=f"Give {' or '.join(LOGGERS)}")
        require_extra(logger, f"the logger {logger}")
        return [LOGGERS[logger](folder)]
    several = [logger] if isinstance(logger, Logger) else list(logger)
    for item in several:
        if not isinstance(item, Logger):
            raise InputError(
                f"the logger is {kind(item)}, which is no logger of Lightning",
                fix=f"Give {', '.join(LOGGERS)}, or a lightning.pytorch.loggers.Logger",
            )
    return several
