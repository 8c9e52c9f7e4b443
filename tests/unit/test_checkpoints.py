"""Training resumes as if nothing had happened, and shares batches exactly."""

import argparse
import inspect
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

from airrvec.model.tokens import tokenise
from airrvec.synthetic import synthesis
from airrvec.training import trainer
from airrvec.training.presets import add_training_options
from airrvec.training.trainer import Receptors, train

import numpy as np
import pyarrow as pa
import pytest
import torch
from inputs import ROOT
from processes_that_train import run_script, start, status
from short_training import SHORT, losses, run, tiny_encoder


@pytest.fixture(scope="module")
def receptors() -> pa.Table:
    return synthesis.synthesise(200, seed=1)


@pytest.fixture(scope="module")
def tokens(receptors):
    return tokenise(receptors)


def test_the_same_seed_gives_the_same_weights(tokens, tmp_path):
    one, two, other = (
        run(tiny_encoder(), Receptors(tokens), tmp_path / name, seed=seed).encoder.state_dict()
        for name, seed in (("one", 5), ("two", 5), ("other", 6))
    )
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not all(torch.equal(one[name], other[name]) for name in one)


SCRIPT = """
    import json, os, sys
    import torch
    from airrvec.synthetic import synthesis
    from airrvec.training import losses, trainer
    from airrvec.model.transformer import ModelConfig, ReceptorEncoder
    from airrvec.training.presets import Objective, Schedule
    from airrvec.model.tokens import tokenise
    from pathlib import Path

    folder, out, options = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])
    fails = options.pop("fails", None)

    def failing(function, ends):
        # The third call in training runs out of memory, now or in the backward pass.
        calls = []
        def called(*arguments, **options):
            calls.extend([1] if torch.is_grad_enabled() else [])
            if len(calls) == 3 and not ends:
                raise torch.OutOfMemoryError("no memory left")
            result = function(*arguments, **options)
            if len(calls) == 3 and result.requires_grad:
                result.register_hook(no_memory)
            return result
        return called

    def no_memory(gradient):
        raise torch.OutOfMemoryError("no memory left")

    if fails and int(os.environ.get("LOCAL_RANK", 0)) == 1:
        if fails["name"] == "loss":
            losses.LOSSES["auto"] = losses.Loss(failing(losses.autocontrastive_loss, fails["backward"]))
        else:
            method = failing(getattr(ReceptorEncoder, fails["name"]), fails["backward"])
            setattr(ReceptorEncoder, fails["name"], method)

    torch.set_num_threads(1)
    torch.manual_seed(0)
    shape = dict(n_layers=2, d_model=16, n_heads=2, d_feedforward=32, dropout=options.pop("dropout"))
    encoder = ReceptorEncoder(ModelConfig(**shape)).train()
    data = trainer.Receptors(tokenise(synthesis.synthesise(200, seed=1)))
    schedule = Schedule(
        steps=options.pop("steps"), batch_size=options.pop("batch_size"), learning_rate=1e-3,
        warmup_steps=4, decay=False, validate_every=10,
    )
    trained = trainer.train(
        encoder, data, data, Objective(), schedule, seed=1, folder=folder, device="cpu",
        **options,
    )
    torch.save(trained.encoder.state_dict(), out / "state.pt")
    (out / "history.json").write_text(json.dumps(trained.history.to_pylist()))
    (out / "notes.json").write_text(json.dumps(trained.notes))
"""


def script(tmp_path, name: str, **options) -> list[str]:
    """Write the script, and return what starts it."""
    path = tmp_path / "train.py"
    path.write_text(textwrap.dedent(SCRIPT))
    out = tmp_path / name
    out.mkdir(exist_ok=True)
    return [str(path), str(tmp_path / f"{name}_checkpoints"), str(out), json.dumps(options)]


def test_a_killed_run_resumes_and_ends_with_the_same_weights(tmp_path):
    options = {"dropout": 0.1, "steps": 30, "batch_size": 16, "checkpoint_every": 5}
    assert status(start(run_script, *script(tmp_path, "undisturbed", **options))) == 0
    process = start(run_script, *script(tmp_path, "killed", **options))
    checkpoint = tmp_path / "killed_checkpoints/last.ckpt"
    while not checkpoint.exists() and process.is_alive():
        time.sleep(0.01)
    process.kill()
    assert status(process) == -signal.SIGKILL
    assert not (tmp_path / "killed/state.pt").exists()
    assert status(start(run_script, *script(tmp_path, "killed", **options))) == 0
    states = [
        torch.load(tmp_path / name / "state.pt", weights_only=True) for name in ("undisturbed", "killed")
    ]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    histories = [
        json.loads((tmp_path / name / "history.json").read_text()) for name in ("undisturbed", "killed")
    ]
    assert histories[0] == histories[1]


def of_processes(tmp_path, name: str, **options) -> tuple[list[dict], list[str]]:
    """History and notes of a short training."""
    environment = {"PYTHONPATH": str(ROOT / "bin"), "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    words = script(tmp_path, name, dropout=0.0, steps=5, batch_size=16, **options)
    done = subprocess.run(
        [sys.executable, *words], env={**os.environ, **environment}, cwd=tmp_path,
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    history, notes = (
        json.loads(Path(tmp_path, name, f"{kind}.json").read_text()) for kind in ("history", "notes")
    )
    return history, notes


@pytest.fixture(scope="module")
def one_process(tmp_path_factory):
    return of_processes(tmp_path_factory.mktemp("one"), "one")


@pytest.mark.parametrize(
    "fails",
    [
        None,
        {"name": "forward", "backward": True},
        {"name": "guess_residues", "backward": False},
        {"name": "loss", "backward": True},
    ],
)
def test_two_processes_share_a_batch_exactly(fails, one_process, tmp_path):
    """Also where the memory of the second one runs out, wherever in a step: both repeat it together."""
    one, two = one_process, of_processes(tmp_path, "two", devices=2, fails=fails)
    for name in ("loss", "contrastive_loss", "mlm_loss", "alignment", "uniformity"):
        expected, found = ([row[name] for row in history] for history in (one[0], two[0]))
        assert np.allclose(expected, found, atol=1e-5), name
    repeated = [note.split(":")[0] for note in two[1]]
    assert repeated == ([] if fails is None else ["memory ran out at step 3"])


def test_a_checkpoint_of_another_precision_is_left_alone(tokens, tmp_path, caplog):
    for precision, steps in (("fp32", 4), ("bf16", 4), ("bf16", 6)):
        caplog.clear()
        trained = run(
            tiny_encoder(), Receptors(tokens), tmp_path, schedule=replace(SHORT, steps=steps),
            precision=precision, checkpoint_every=2, fingerprint="x",
        )  # fmt: skip
        assert len(losses(trained)) == steps
        restarts = "belongs to other data or settings: training starts from step 0" in caplog.text
        assert restarts == ((precision, steps) == ("bf16", 4))


@pytest.mark.parametrize("name", ["model/architecture", "model/transformer", "training/loop"])
def test_a_checkpoint_of_another_code_is_left_alone(name, tokens, tmp_path, monkeypatch, caplog):
    for package in ("model", "training"):
        shutil.copytree(trainer.LIBRARY / package, tmp_path / package)
    monkeypatch.setattr(trainer, "LIBRARY", tmp_path)
    for steps in (2, 4):
        run(
            tiny_encoder(), Receptors(tokens), tmp_path, schedule=replace(SHORT, steps=steps),
            checkpoint_every=2, fingerprint=trainer.fingerprint(seed=1),
        )  # fmt: skip
        with (tmp_path / f"{name}.py").open("a") as file:
            file.write("# another line\n")
    assert "training starts from step 0" in caplog.text


def test_the_default_of_the_steps_between_checkpoints_is_one():
    parser = argparse.ArgumentParser()
    add_training_options(parser)
    given = parser.parse_args(["--preset", "x.json"]).checkpoint_every
    assert given == inspect.signature(train).parameters["checkpoint_every"].default


def test_a_checkpoint_is_as_readable_as_any_file(tokens, tmp_path):
    before = os.umask(0o022)
    try:
        run(tiny_encoder(), Receptors(tokens), tmp_path, schedule=replace(SHORT, steps=2), checkpoint_every=2)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "last.ckpt").stat().st_mode) == 0o644
    assert sorted(path.name for path in tmp_path.iterdir()) == ["last.ckpt", "log.tsv"]
