"""Losses, callbacks and loggers of users: what they do, and what is said of each breach of the contract."""

import logging
import re
import warnings

from airrvec.core import errors
from airrvec.core.errors import InputError
from airrvec.model.tokens import tokenise
from airrvec.synthetic import synthesis
from airrvec.training import loggers, losses, own, presets
from airrvec.training.losses import Loss
from airrvec.training.presets import Objective
from airrvec.training.trainer import Receptors

import numpy as np
import pandas as pd
import pytest
import torch
from lightning.pytorch.loggers import CSVLogger
from plain_losses import labels_of, views_of
from short_training import losses as losses_of
from short_training import run, tiny_encoder

# The built-in loss, by the names of its arguments, and without knowing of devices.
NEIGHBOUR = """
from airrvec.training import losses

TITLE = "Neighbours"


def loss(views, labels, known_labels, receptors, temperature, anchors=None):
    return losses.neighbour_loss(views, labels, temperature, anchors, receptors, known_labels)
"""
WHOLE = NEIGHBOUR.replace(", anchors=None", "").replace("anchors, ", "None, ")
CALLBACKS = """
import warnings

import lightning as L


class Watch(L.Callback):
    def __init__(self):
        self.seen = []

    def on_train_batch_end(self, trainer, loop, outputs, batch, batch_idx):
        self.seen.append(float(outputs["loss"]))
        if trainer.global_step == 3:
            warnings.warn("three steps", stacklevel=1)
            trainer.should_stop = True


def callbacks():
    return [Watch()]
"""


def written(path, text: str):
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def data():
    tokens = tokenise(synthesis.synthesise(90, seed=2))
    return Receptors(tokens, np.arange(90) % 3)


def objective(loss) -> Objective:
    return Objective(contrastive=loss if callable(loss) else str(loss), masked_language=False)


@pytest.mark.parametrize("text", [NEIGHBOUR, WHOLE])
def test_a_file_with_the_built_in_loss_trains_the_same(text, data, tmp_path):
    path = written(tmp_path / "mine.py", text)
    expected = run(tiny_encoder(), data, tmp_path / "a", objective=objective("neighbour"))
    trained = run(tiny_encoder(), data, tmp_path / "b", objective=objective(path))
    assert losses_of(trained) == losses_of(expected)


def test_a_function_serves_from_python(data, tmp_path):
    def pull(views, labels, temperature=0.1):
        assert temperature == 0.05  # that of the objective
        return (views[labels == 0] - views[labels == 0].mean((0, 1))).square().sum()

    trained = run(tiny_encoder(), data, tmp_path, objective=objective(pull))
    assert losses_of(trained)[-1] < losses_of(trained)[0]
    named = objective(pull)
    assert named.needs_labels
    assert named.loss_name.endswith(".test_a_function_serves_from_python.<locals>.pull")
    assert not objective(lambda views: views.sum()).needs_labels


@pytest.mark.parametrize("text", [NEIGHBOUR, WHOLE])
def test_the_shares_of_devices_add_up(text, tmp_path):
    loss = own.load_loss(written(tmp_path / "mine.py", text))
    views, labels = views_of(12), labels_of(12, 3)
    known = torch.nn.functional.one_hot(labels, 3).bool()
    options = {"labels": labels, "known_labels": known, "receptors": torch.arange(12), "temperature": 0.5}
    parts = [loss.function(views, anchors=slice(start, start + 4), **options) for start in (0, 4, 8)]
    whole = losses.neighbour_loss(views, labels, 0.5)
    torch.testing.assert_close(sum(parts), whole)
    assert loss == Loss(loss.function, needs_labels=True, title="Neighbours")


HEAD = "import sys\n\nimport torch\n\nTITLE = 'Mine'\n\n\n"
BREACHES = {
    "no title": ("def loss(views):\n    return views.sum()\n", "defines no TITLE"),
    "no loss": (HEAD, "defines no loss"),
    "no function": (HEAD + "loss = 3\n", "loss is the int 3, and must be a function"),
    "no argument": (HEAD + "def loss():\n    pass\n", "loss() takes no argument, and must take the views"),
    "another argument": (
        HEAD + "def loss(views, margin):\n    pass\n",
        "loss() takes 'margin', which is none of labels, known_labels, receptors, temperature, anchors",
    ),
    "syntax": (HEAD + "def loss(views:\n", "the file fails with SyntaxError"),
}
VALUES = {
    "nothing": ("pass", "loss() returned None, and must return a tensor of one number, of the shape ()"),
    "a number": ("return 3.0", "loss() returned the float 3.0, and must return a tensor"),
    "several": ("return views.sum((1, 2))", "loss() returned the shape (16,), and must return a tensor"),
    "whole": ("return views.sum().long()", "loss() returned torch.int64, and must return a floating"),
    "detached": ("return views.detach().sum()", "loss() returned a number without a gradient; compute it"),
    "an error": ("return views @ views", "loss() fails with RuntimeError"),
    "an exit": ("sys.exit(2)", "loss() ends the program: sys.exit(2) (line 9)"),
}


@pytest.mark.parametrize(("text", "problem"), BREACHES.values(), ids=BREACHES)
def test_a_file_that_breaks_the_contract_is_refused(text, problem, tmp_path):
    with pytest.raises(InputError, match=rf"^mine.py: {re.escape(problem)}"):
        own.load_loss(written(tmp_path / "mine.py", text))


@pytest.mark.parametrize(("body", "problem"), VALUES.values(), ids=VALUES)
def test_a_loss_that_is_no_number_is_refused(body, problem, tmp_path):
    loss = own.load_loss(written(tmp_path / "mine.py", f"{HEAD}def loss(views):\n    {body}\n")).function
    with pytest.raises(InputError, match=rf"^mine.py: {re.escape(problem)}"):
        loss(views_of(16).requires_grad_(), anchors=slice(0, 16))


def test_lack_of_memory_is_no_fault_of_the_file(tmp_path):
    path = written(
        tmp_path / "mine.py", HEAD + "def loss(views):\n    raise torch.OutOfMemoryError('full')\n"
    )
    with pytest.raises(torch.OutOfMemoryError):
        own.load_loss(path).function(views_of(4), anchors=slice(0, 4))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"there is no file '.*mine.py'"):
        presets.load("neighbour").changed(loss=tmp_path / "mine.py").check_finetuning()


# --- Callbacks


def test_callbacks_see_each_step_and_may_end_training(data, tmp_path):
    callbacks = own.load_callbacks(written(tmp_path / "watch.py", CALLBACKS))
    with pytest.warns(UserWarning, match="three steps"):
        trained = run(tiny_encoder(), data, tmp_path, objective=objective("neighbour"), callbacks=callbacks)
    assert callbacks[0].seen == pytest.approx(losses_of(trained))
    assert len(callbacks[0].seen) == 3


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "defines no callbacks"),
        ("callbacks = []", "callbacks is the list [], and must be a function"),
        ("def callbacks():\n    pass\n", "callbacks() returned None, and must return a list of lightning."),
        ("def callbacks():\n    return [3]\n", "callbacks() returned a list with the int 3, and must return"),
    ],
)
def test_callbacks_that_are_none_are_refused(text, problem, tmp_path):
    with pytest.raises(InputError, match=rf"^watch.py: {re.escape(problem)}"):
        own.load_callbacks(written(tmp_path / "watch.py", text))


# --- Loggers, and what Lightning says


def test_a_logger_of_lightning_receives_the_log(data, tmp_path):
    logger = CSVLogger(tmp_path / "logs", name="mine", version="", flush_logs_every_n_steps=1)
    trained = run(tiny_encoder(), data, tmp_path, objective=objective("neighbour"), logger=logger)
    logged = pd.read_csv(tmp_path / "logs/mine/metrics.csv").dropna(subset="train/loss")
    np.testing.assert_allclose(logged["train/loss"], losses_of(trained), rtol=1e-6)


@pytest.mark.parametrize("name", loggers.LOGGERS)
def test_a_logger_that_is_not_installed_is_one_sentence_with_its_command(name, monkeypatch, tmp_path):
    monkeypatch.setattr(errors, "find_spec", lambda package: None)
    with pytest.raises(InputError, match=rf"{name} needs {name}, not .* pip install 'airrvec\[{name}\]'"):
        loggers.load(name, tmp_path)


def test_tensorboard_and_mlflow_have_every_step(data, tmp_path, monkeypatch):
    accumulators = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    mlflow = pytest.importorskip("mlflow")
    written_by = {}
    for name in loggers.LOGGERS:
        trained = run(tiny_encoder(), data, tmp_path / name, objective=objective("neighbour"), logger=name)
        written_by[name] = losses_of(trained)
    events = accumulators.EventAccumulator(str(tmp_path / "tensorboard/tensorboard")).Reload()
    logged = [event.value for event in events.Scalars("train/loss")]
    np.testing.assert_allclose(logged, written_by["tensorboard"], rtol=1e-6)
    client = mlflow.MlflowClient(tracking_uri=(tmp_path / "mlflow/mlruns").as_uri())
    experiment = client.get_experiment_by_name("airrvec").experiment_id
    (kept,) = client.search_runs([experiment])
    logged = [metric.value for metric in client.get_metric_history(kept.info.run_id, "train/loss")]
    np.testing.assert_allclose(logged, written_by["mlflow"])
    assert (kept.info.run_name, kept.info.status) == ("mlflow", "FINISHED")
    assert kept.data.params["batch_size"] == "32"


@pytest.mark.parametrize(
    ("logger", "problem"),
    [
        ("wandb", "no logger 'wandb'. Give tensorboard or mlflow"),
        ([3], "the logger is an int, which"),
    ],
)
def test_a_logger_that_is_none_is_refused(logger, problem, tmp_path):
    with pytest.raises(InputError, match=problem):
        loggers.load(logger, tmp_path)


@pytest.mark.parametrize("slurm", [False, True])
def test_training_leaves_the_warnings_of_the_process_as_they_were(slurm, data, tmp_path, monkeypatch):
    folder = tmp_path / "programs"
    folder.mkdir()
    if slurm:
        (folder / "srun").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(folder))
    level = logging.getLogger("lightning.pytorch").level
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        filters = list(warnings.filters)
        run(tiny_encoder(), data, tmp_path, objective=objective("neighbour"))
        assert warnings.filters == filters
    assert [str(warning.message) for warning in shown] == []
    assert logging.getLogger("lightning.pytorch").level == level
    assert not torch.are_deterministic_algorithms_enabled()


def test_layers_that_no_parameter_has_are_named(data, tmp_path):
    trainable = presets.Preset(name="x", title="x", layers="layer.1").trainable(2)
    with pytest.raises(InputError, match=r"name no parameter of the model\. Give all, last, .* layers"):
        run(tiny_encoder(), data, tmp_path, objective=objective("neighbour"), trainable=trainable)


@pytest.mark.parametrize("optimiser", ["adam", "adamw", "sgd"])
def test_each_optimiser_learns(optimiser, data, tmp_path):
    schedule = presets.Schedule(
        steps=12, batch_size=48, learning_rate=3e-3, warmup_steps=2, decay="cosine", optimiser=optimiser
    )
    trained = run(tiny_encoder(), data, tmp_path, objective=objective("supervised"), schedule=schedule)
    assert np.mean(losses_of(trained)[-3:]) < np.mean(losses_of(trained)[:3])
