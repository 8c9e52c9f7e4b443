"""The training loop: it learns, resumes as if nothing had happened, and shares batches exactly."""

import json
import os
import signal
import stat
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
import torch.nn.functional as F
from inputs import ROOT

from airrvec.core.errors import InputError
from airrvec.model import transformer, weights
from airrvec.model.dropout import Dropout
from airrvec.model.tokens import Tokens, tokenise
from airrvec.model.transformer import ModelConfig, ReceptorEncoder
from airrvec.stats.metrics import auroc
from airrvec.synthetic import synthesis
from airrvec.training import loop, portions, presets
from airrvec.training.objectives import autocontrastive_loss, neighbour_loss
from airrvec.training.presets import Objective, Schedule
from airrvec.training.trainer import Receptors, train

TINY = ModelConfig(n_layers=2, d_model=16, n_heads=2, d_feedforward=32)
SHORT = Schedule(
    steps=12, batch_size=32, learning_rate=1e-3, warmup_steps=4, decay=False, validate_every=6, clip=1.0
)


def tiny_encoder(seed: int = 0, config: ModelConfig = TINY) -> ReceptorEncoder:
    torch.manual_seed(seed)
    return ReceptorEncoder(config).train()


@pytest.fixture(scope="module")
def receptors() -> pa.Table:
    return synthesis.synthesise(200, seed=1)


@pytest.fixture(scope="module")
def tokens(receptors):
    return tokenise(receptors)


def run(encoder, data, folder, *, validation=None, objective=None, schedule=SHORT, seed=1, **options):
    options = {"device": "cpu", **options}
    objective = objective or Objective()
    return train(encoder, data, validation, objective, schedule, seed=seed, folder=folder, **options)


def losses(trained, part: str = "train") -> list[float]:
    return [row["loss"] for row in trained.history.to_pylist() if row["part"] == part]


# --- Dropout


def test_dropout_zeroes_a_share_and_scales_the_rest():
    torch.manual_seed(1)
    x = torch.ones(1000, 1000, requires_grad=True)
    y = Dropout(0.1).train()(x)
    assert y.unique().tolist() == [0, pytest.approx(1 / 0.9)]
    assert (y == 0).double().mean().item() == pytest.approx(0.1, abs=0.0015)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    assert torch.equal(gradient, y.detach())
    zeros = (y == 0).double().numpy()
    for shifted in (zeros[:, 1:], zeros[1:]):
        here = zeros[: shifted.shape[0], : shifted.shape[1]]
        assert abs(np.corrcoef(here.ravel(), shifted.ravel())[0, 1]) < 0.004


def test_dropout_follows_torchs_seed_and_not_the_threads():
    layer, x, found = Dropout(0.3).train(), torch.randn(64, 999), []
    for threads, seed in ((1, 7), (2, 7), (2, 8)):
        torch.set_num_threads(threads)
        torch.manual_seed(seed)
        found.append(layer(x))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])
    assert torch.equal(layer.eval()(x), x)


# --- Batches and schedules


def test_every_receptor_comes_once_before_any_comes_again(tokens):
    data = Receptors(tokens)
    rows = np.concatenate([data.rows(step, 64, seed=3) for step in range(25)])  # 8 × 200
    assert all(sorted(rows[start : start + 200]) == list(range(200)) for start in range(0, 1600, 200))
    assert rows[:200].tolist() != rows[200:400].tolist()
    assert np.array_equal(data.rows(7, 64, seed=3), rows[7 * 64 : 8 * 64])
    assert not np.array_equal(data.rows(0, 64, seed=4), rows[:64])


def test_batches_are_balanced_over_labels(tokens):
    labels = np.array([0] * 150 + [1] * 40 + [5] * 10)
    data = Receptors(tokens, labels)
    for step in range(5):
        assert np.bincount(labels[data.rows(step, 32, seed=0)]).tolist() == [10, 10, 0, 0, 0, 10]
    own = np.concatenate([data.rows(step, 32, seed=0)[20:] for step in range(3)])
    assert sorted(own[:10]) == list(range(190, 200)) == sorted(own[10:20])


def alike(n_rows: int, n_receptors: int) -> Tokens:
    """Rows of few receptors, one after the other, over and over."""
    few = synthesis.synthesise(n_receptors, seed=3)
    return tokenise(few.take(pa.array(np.arange(n_rows) % n_receptors)))


def test_receptors_with_equal_tokens_have_one_number(tokens, receptors):
    assert alike(11, 4).contents.tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2]
    assert tokens.contents.tolist() == list(range(200))
    of_v = tokenise(receptors, ("cdr1b",))
    parts = [of_v.values[i:j].tobytes() for i, j in pairwise(of_v.offsets)]
    contents = of_v.contents
    for i, j in combinations(range(200), 2):
        assert (contents[i] == contents[j]) == (parts[i] == parts[j])


def test_a_batch_for_validation_holds_no_row_twice(tokens):
    labels = np.array([0] * 150 + [1] * 40 + [5] * 10)
    for data, sizes in ((Receptors(tokens), [64]), (Receptors(tokens, labels), [21, 21, 0, 0, 0, 10])):
        batches = [data.rows(step, 64, seed=0, distinct=True) for step in range(8)]
        for rows in batches:
            assert len(np.unique(rows)) == len(rows)
            counts = np.bincount(labels[rows]).tolist() if data.labels is not None else [len(rows)]
            assert counts == sizes
    # Of one label, every receptor comes in the first batches.
    assert (
        len(
            np.unique(
                np.concatenate([Receptors(tokens).rows(step, 64, 0, distinct=True) for step in range(3)])
            )
        )
        == 192
    )
    assert len(Receptors(alike(10, 4)).rows(0, 64, seed=0)) == 10


def test_a_receptor_of_two_labels_is_known_by_both():
    data = Receptors(alike(6, 3), np.array([0, 0, 1, 2, 0, 1]))
    assert data.known_labels.tolist() == [[True, False, True], [True, False, False], [False, True, False]] * 2


@pytest.mark.parametrize(
    ("n_receptors", "labels", "comparable"),
    [
        (1, [0, 1, 0, 1], {"auto": False, "supervised": False, "neighbour": False, None: True}),
        (4, [0, 0, 0, 0], {"auto": True, "supervised": True, "neighbour": False, None: True}),
        (4, [0, 1, 2, 3], {"auto": True, "supervised": True, "neighbour": False, None: True}),
        (3, [0, 1, 2, 0], {"auto": True, "supervised": True, "neighbour": False, None: True}),
        (4, [0, 0, 1, 2], {"auto": True, "supervised": True, "neighbour": True, None: True}),
    ],
)
def test_a_loss_that_no_model_changes_is_found(n_receptors, labels, comparable):
    data = Receptors(alike(4, n_receptors), np.array(labels))
    assert {kind: data.comparable(np.arange(4), kind) for kind in comparable} == comparable
    views = [
        F.normalize(torch.randn(4, 2, 8, generator=torch.Generator().manual_seed(s)), dim=-1) for s in (0, 1)
    ]
    copies, of_rows = torch.from_numpy(data.contents.copy()), torch.tensor(labels)
    known = torch.from_numpy(data.known_labels)
    losses = {
        "auto": [autocontrastive_loss(v, receptors=copies).item() for v in views],
        **{
            kind: [loss(v, of_rows, receptors=copies, known_labels=known).item() for v in views]
            for kind, loss in loop.LABELLED.items()
        },
    }
    assert {kind: len(set(found)) > 1 for kind, found in losses.items()} == {
        kind: found for kind, found in comparable.items() if kind
    }


def test_learning_rates_are_those_of_the_reference():
    d_model, warmup = 64, 10_000
    base = presets.load(ROOT / "conf/models/base.json").schedule
    for step in (1, 500, 10_000, 10_001, 143_200):
        noam = d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
        assert base.rate(step) == pytest.approx(noam, rel=1e-12)
    finetuned = presets.load(ROOT / "conf/models/finetuned.json").schedule
    assert [finetuned.rate(step) for step in (1, 500, 1000, 1172)] == [1e-6, 5e-4, 1e-3, 1e-3]


# --- Presets


def test_presets_have_the_shapes_of_the_published_models():
    names = {
        "base": "sceptr",
        "finetuned": "sceptr_finetuned",
        "mlm_only": "sceptr_mlm_only",
        "average_pooling": "sceptr_average_pooling",
        "synthetic": "sceptr_synthetic_data",
        "shuffled": "sceptr_shuffled_data",
        "left_aligned": "sceptr_left_aligned",
        "dropout_noise_only": "sceptr_dropout_noise_only",
        "cdr3_only": "sceptr_cdr3_only",
        "cdr3_only_mlm_only": "sceptr_cdr3_only_mlm_only",
        "tiny": "sceptr_tiny",
        "small": "sceptr_small",
        "large": "sceptr_large",
        "blosum": "sceptr_blosum",
        "alpha": "sceptr_alpha_only",
        "beta": "sceptr_beta_only",
    }
    ours = {"neighbour", "short"}
    assert {path.stem for path in (ROOT / "conf/models").iterdir()} == set(names) | ours
    for name, published in names.items():
        preset = presets.load(ROOT / f"conf/models/{name}.json")
        assert preset.model == weights.load(published).encoder.config, name


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "the preset is not valid JSON"),
        ('{"steps": 3}', "'steps' is not one of name, title, data, layers, model, objective, schedule"),
        ('{"schedule": {"step": 3}}', "'step' is not one of steps, batch_size"),
        (
            '{"objective": {"contrastive": "both"}}',
            "contrastive is 'both', not one of auto, supervised, neighbour or null",
        ),
        (
            '{"objective": {"contrastive": null, "masked_language": false}}',
            "an objective needs a contrastive or a masked-language term",
        ),
        ('{"schedule": {"steps": "3"}}', "steps is '3', not a whole number"),
        ('{"schedule": {"steps": 0}}', "steps is 0, not 1 or more"),
        ('{"schedule": {"learning_rate": "1"}}', "learning_rate is '1', not a number"),
        ('{"schedule": {"patience": true}}', "patience is True, not a whole number or null"),
        ('{"objective": {"temperature": 0}}', "temperature is 0, not above 0"),
        ('{"objective": {"dropped_chains": 2}}', "dropped_chains is 2, not from 0 to 1"),
        ('{"model": {"loops": "cdr3a"}}', "loops is 'cdr3a', not a list of words"),
        ('{"model": {"loops": ["cdr3a", "cdr3a"]}}', "give one or more of cdr1a, .*, each once"),
        ('{"model": {"n_layers": 1000000000}}', "n_layers is 1000000000, not from 1 to 1,000"),
        ('{"model": {"n_heads": 7}}', "d_model, 64, is not a multiple of n_heads, 7"),
        ('{"model": {"d_model": 9, "n_heads": 3, "embedding": "left_aligned"}}', "needs an even number"),
        ('{"data": "olga"}', "data is 'olga', not one of receptors, synthetic, shuffled"),
    ],
)
def test_a_bad_preset_is_explained(content, problem, tmp_path):
    path = tmp_path / "my.json"
    path.write_text(content)
    with pytest.raises(InputError, match=rf"^my.json: .*{problem}"):
        presets.load(path)


@pytest.mark.parametrize(
    ("layers", "trained"),
    [
        ("all", ["embedding.projection.weight", "layers.0.qkv.bias", "layers.1.out.bias", "mlm_head.bias"]),
        ("last", ["layers.1.out.bias"]),
        ("layers.1,mlm_head", ["layers.1.out.bias", "mlm_head.bias"]),
    ],
)
def test_layers_to_train(layers, trained):
    names = ["embedding.projection.weight", "layers.0.qkv.bias", "layers.1.out.bias", "mlm_head.bias"]
    is_trained = presets.Preset(name="x", title="x", layers=layers).trainable(n_layers=2)
    assert [name for name in names if is_trained(name)] == trained


# --- Learning


def planted(seed: int, n: int = 400) -> tuple[pa.Table, np.ndarray]:
    """Receptors with a motif in the β junction, behind its beginning or before its end."""
    receptors = synthesis.synthesise(n, seed=seed)
    labels = np.arange(n) % 2
    junctions = [
        junction[:4] + "HMW" + junction[4:] if label else junction[:-4] + "HMW" + junction[-4:]
        for junction, label in zip(receptors["trb_junction_aa"].to_pylist(), labels, strict=True)
    ]
    column = receptors.schema.get_field_index("trb_junction_aa")
    return receptors.set_column(column, "trb_junction_aa", pa.array(junctions)), labels


def mean_auroc(encoder, train_set, test_set) -> float:
    (known, labels), (tests, truth) = train_set, test_set
    references, vectors = (transformer.embed(encoder, tokenise(table)) for table in (known, tests))
    values = []
    for label in (0, 1):
        distances = np.linalg.norm(vectors[:, None] - references[labels == label], axis=2).mean(axis=1)
        values.append(auroc(distances[truth == label], distances[truth != label]))
    return float(np.mean(values))


@pytest.mark.parametrize("contrastive", ["supervised", "neighbour"])
def test_learning_from_labels_finds_a_planted_motif(contrastive, tmp_path):
    train_set, test_set = planted(1), planted(2)
    encoder = tiny_encoder()
    before = mean_auroc(encoder.eval(), train_set, test_set)
    schedule = replace(SHORT, steps=150, batch_size=128, learning_rate=5e-3, warmup_steps=10)
    objective = Objective(contrastive=contrastive, dropped_chains=0.0)
    data = Receptors(tokenise(train_set[0]), train_set[1])
    trained = run(encoder.train(), data, tmp_path, objective=objective, schedule=schedule)
    assert abs(before - 0.5) < 0.1
    assert mean_auroc(trained.encoder, train_set, test_set) > 0.95
    assert losses(trained)[-1] < losses(trained)[0] - 1


@pytest.mark.parametrize("contrastive", ["auto", None])
def test_unsupervised_losses_fall(contrastive, tokens, tmp_path):
    schedule = replace(SHORT, steps=60, batch_size=64, learning_rate=3e-3, warmup_steps=10)
    trained = run(
        tiny_encoder(), Receptors(tokens), tmp_path,
        validation=Receptors(tokens), objective=Objective(contrastive=contrastive), schedule=schedule,
    )  # fmt: skip
    first, *_, last = losses(trained, "validation")
    assert last < first - 0.15
    row = trained.history.to_pylist()[-2]
    expected = row["mlm_loss"] + (row["contrastive_loss"] or 0)
    assert row["loss"] == pytest.approx(expected)
    assert (row["alignment"] is None) == (contrastive is None)


def test_bf16_trains_as_float32_does(tokens, tmp_path):
    config = replace(TINY, dropout=0.0)  # which draws other numbers for other types
    runs = [
        run(tiny_encoder(config=config), Receptors(tokens), tmp_path / precision, precision=precision)
        for precision in ("float32", "bf16")
    ]
    full, half = (np.array(losses(trained)) for trained in runs)
    assert not np.array_equal(full, half)
    np.testing.assert_allclose(half, full, rtol=0.02)
    assert all(value.dtype == torch.float32 for value in runs[1].encoder.state_dict().values())


def test_only_the_chosen_layers_change(tokens, tmp_path):
    encoder = tiny_encoder()
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    preset = presets.Preset(name="x", title="x", layers="last")
    trained = run(encoder, Receptors(tokens), tmp_path, trainable=preset.trainable(2))
    changed = {
        name for name, value in trained.encoder.state_dict().items() if not torch.equal(value, before[name])
    }
    assert changed
    assert all(name.startswith("layers.1.") for name in changed)


def test_the_best_weights_by_validation_are_kept_and_patience_ends(tokens, tmp_path):
    labels = np.random.default_rng(0).integers(0, 2, len(tokens))  # nothing to learn
    data = Receptors(tokens, labels)
    schedule = replace(SHORT, steps=200, learning_rate=0.02, validate_every=5, patience=2)
    objective = Objective(contrastive="supervised")
    trained = run(tiny_encoder(), data, tmp_path, validation=data, objective=objective, schedule=schedule)
    looks = [row for row in trained.history.to_pylist() if row["part"] == "validation"]
    best = min(looks, key=lambda row: row["contrastive_loss"])
    assert trained.step == best["step"]
    assert looks[-1]["step"] in (best["step"] + 10, 200)
    if looks[-1]["step"] < 200:
        assert trained.notes == [
            f"stopped at step {looks[-1]['step']}: the validation loss was lowest at step {best['step']}"
        ]


def test_few_validation_receptors_are_not_compared_with_themselves(tokens, tmp_path):
    """Five of them fill five places: the loss is that of the five, each once, and not of copies."""
    few, labels = np.arange(5), np.array([0, 0, 0, 1, 1])
    validation = Receptors(tokenise(synthesis.synthesise(5, seed=9)), labels)
    data = Receptors(tokens, np.arange(200) % 2)
    config = replace(TINY, dropout=0.0)
    objective = Objective(
        contrastive="neighbour", masked_language=False, censored_residues=0.0, dropped_chains=0.0
    )
    encoder = tiny_encoder(config=config)
    vectors = torch.from_numpy(transformer.embed(encoder.eval(), validation.tokens))[few]
    expected = neighbour_loss(vectors[:, None].expand(5, 2, -1), torch.from_numpy(labels)).item()
    trained = run(encoder.train(), data, tmp_path, validation=validation, objective=objective,
                  schedule=replace(SHORT, steps=1, batch_size=64))  # fmt: skip
    assert losses(trained, "validation")[0] == pytest.approx(expected, rel=1e-4)


def test_validation_receptors_without_a_neighbour_choose_no_weights(tokens, tmp_path):
    """One of each label: the loss is 0 from the start, which would keep the weights of step 0."""
    validation = Receptors(tokenise(synthesis.synthesise(2, seed=9)), np.array([0, 1]))
    trained = run(
        tiny_encoder(), Receptors(tokens, np.arange(200) % 2), tmp_path, validation=validation,
        objective=Objective(contrastive="neighbour"), schedule=replace(SHORT, validate_every=2, patience=1),
    )  # fmt: skip
    assert trained.step == 12
    assert trained.notes == [
        "the validation receptors are too few or too similar to select weights: the last ones are kept"
    ]


@pytest.mark.parametrize(
    ("data", "contrastive", "problem"),
    [
        (Receptors(alike(30, 1)), "auto", "two receptors that differ in what the model reads, and the 30"),
        (Receptors(alike(30, 2), np.arange(30) % 2), "neighbour", "two receptors of one label and one of"),
        (Receptors(alike(66, 66), np.arange(66) % 33), "neighbour", "of 32 has one place for each of 33"),
    ],
)  # fmt: skip
def test_receptors_that_leave_nothing_to_learn_are_refused(data, contrastive, problem, tmp_path):
    with pytest.raises(InputError, match=problem):
        run(tiny_encoder(), data, tmp_path, objective=Objective(contrastive=contrastive))


def test_pretraining_on_fewer_receptors_than_a_batch_has_each_once(tmp_path):
    """A batch of 256 places on 20 receptors is the batch of the 20."""
    data = Receptors(tokenise(synthesis.synthesise(20, seed=2)))
    found = [
        run(tiny_encoder(), data, tmp_path / str(size), schedule=replace(SHORT, steps=3, batch_size=size))
        for size in (20, 256)
    ]
    assert losses(found[0]) == losses(found[1])


def test_a_loss_that_is_no_number_ends_with_the_step(tokens, tmp_path):
    encoder = tiny_encoder()
    schedule = replace(SHORT, learning_rate=float("inf"), clip=None)
    with pytest.raises(InputError, match=r"the loss is not a number at step 2; the last good checkpoint is"):
        run(encoder, Receptors(tokens), tmp_path, schedule=schedule)


def test_where_memory_runs_out_portions_shrink_and_the_losses_stay(tokens, tmp_path, monkeypatch):
    expected = run(tiny_encoder(), Receptors(tokens), tmp_path / "a")
    monkeypatch.setitem(portions.MICRO_BATCH, "cpu", 64)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    forward = ReceptorEncoder.forward

    def greedy(self, batch, padding):
        if len(batch) > 32:
            raise torch.OutOfMemoryError("no memory left")
        return forward(self, batch, padding)

    monkeypatch.setattr(ReceptorEncoder, "forward", greedy)
    without_noise = replace(TINY, dropout=0.0)
    found = run(tiny_encoder(config=without_noise), Receptors(tokens), tmp_path / "b")
    monkeypatch.setattr(ReceptorEncoder, "forward", forward)
    expected = run(tiny_encoder(config=without_noise), Receptors(tokens), tmp_path / "c")
    assert [note.split(":")[0] for note in found.notes] == ["memory ran out at step 1"] * 2
    assert "32 receptors at a time" in found.notes[1]
    assert np.allclose(losses(found), losses(expected), atol=1e-5)


# --- The same again, resumed, and shared


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
    from airrvec.training import objectives, trainer
    from airrvec.model.transformer import ModelConfig, ReceptorEncoder
    from airrvec.training.presets import Objective, Schedule
    from airrvec.model.tokens import tokenise
    from pathlib import Path

    folder, out, options = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])
    fails = options.pop("fails", None)

    def failing(function, ends):
        # The third call in training runs out of memory, now or in the backward pass.
        calls = []
        def called(*arguments):
            calls.extend([1] if torch.is_grad_enabled() else [])
            if len(calls) == 3 and not ends:
                raise torch.OutOfMemoryError("no memory left")
            result = function(*arguments)
            if len(calls) == 3 and result.requires_grad:
                result.register_hook(no_memory)
            return result
        return called

    def no_memory(gradient):
        raise torch.OutOfMemoryError("no memory left")

    if fails and int(os.environ.get("LOCAL_RANK", 0)) == 1:
        owner = objectives if fails["name"].endswith("loss") else ReceptorEncoder
        setattr(owner, fails["name"], failing(getattr(owner, fails["name"]), fails["backward"]))

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


def started(tmp_path, name: str, **options) -> subprocess.Popen:
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(SCRIPT))
    out = tmp_path / name
    out.mkdir(exist_ok=True)
    environment = {"PYTHONPATH": str(ROOT / "bin"), "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, script, tmp_path / f"{name}_checkpoints", out, json.dumps(options)]
    return subprocess.Popen(
        command, env={**os.environ, **environment}, cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )


def finished(process: subprocess.Popen) -> None:
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors


def test_a_killed_run_resumes_and_ends_with_the_same_weights(tmp_path):
    options = {"dropout": 0.1, "steps": 40, "batch_size": 64, "checkpoint_every": 5}
    finished(started(tmp_path, "undisturbed", **options))
    process = started(tmp_path, "killed", **options)
    checkpoint = tmp_path / "killed_checkpoints/last.ckpt"
    while not checkpoint.exists() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "killed/state.pt").exists()
    finished(started(tmp_path, "killed", **options))
    states = [
        torch.load(tmp_path / name / "state.pt", weights_only=True) for name in ("undisturbed", "killed")
    ]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    histories = [
        json.loads((tmp_path / name / "history.json").read_text()) for name in ("undisturbed", "killed")
    ]
    for rows in histories:
        for row in rows:
            del row["seconds"]
    assert histories[0] == histories[1]


def of_processes(tmp_path, name: str, **options) -> tuple[list[dict], list[str]]:
    """History and notes of a short training."""
    finished(started(tmp_path, name, dropout=0.0, steps=5, batch_size=64, **options))
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
        {"name": "forward", "backward": False},
        {"name": "forward", "backward": True},
        {"name": "guess_residues", "backward": False},
        {"name": "autocontrastive_loss", "backward": False},
        {"name": "autocontrastive_loss", "backward": True},
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
    for precision, steps in (("float32", 4), ("bf16", 4), ("bf16", 6)):
        caplog.clear()
        trained = run(
            tiny_encoder(), Receptors(tokens), tmp_path, schedule=replace(SHORT, steps=steps),
            precision=precision, checkpoint_every=2, fingerprint="x",
        )  # fmt: skip
        assert len(losses(trained)) == steps
        restarts = "belongs to other data or settings: training starts from step 0" in caplog.text
        assert restarts == ((precision, steps) == ("bf16", 4))


def test_a_checkpoint_is_as_readable_as_any_file(tokens, tmp_path):
    before = os.umask(0o022)
    try:
        run(tiny_encoder(), Receptors(tokens), tmp_path, schedule=replace(SHORT, steps=2), checkpoint_every=2)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "last.ckpt").stat().st_mode) == 0o644
    assert sorted(path.name for path in tmp_path.iterdir()) == ["last.ckpt", "log.tsv"]
