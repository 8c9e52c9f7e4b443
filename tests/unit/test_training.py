"""The training loop: it learns, keeps the best weights, and refuses what nothing can be learnt from."""

from dataclasses import replace

from airrvec.core.errors import InputError
from airrvec.model import transformer
from airrvec.model.tokens import tokenise
from airrvec.model.transformer import ReceptorEncoder
from airrvec.stats.metrics import auroc
from airrvec.synthetic import synthesis
from airrvec.training import loop, presets
from airrvec.training.losses import neighbour_loss
from airrvec.training.presets import Objective
from airrvec.training.trainer import Receptors

import numpy as np
import pyarrow as pa
import pytest
import torch
from short_training import SHORT, TINY, alike, losses, run, tiny_encoder


@pytest.fixture(scope="module")
def receptors() -> pa.Table:
    return synthesis.synthesise(200, seed=1)


@pytest.fixture(scope="module")
def tokens(receptors):
    return tokenise(receptors)


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
        for precision in ("fp32", "bf16")
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
        (Receptors(alike(30, 1)), "auto", "differ in what the model reads, and there are none"),
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
    monkeypatch.setitem(loop.MICRO_BATCH, "cpu", 64)
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
    assert "32 receptors are processed at a time" in found.notes[1]
    assert np.allclose(losses(found), losses(expected), atol=1e-5)
