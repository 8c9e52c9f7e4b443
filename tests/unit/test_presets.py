"""Presets: learning rates, shapes, and the layers that are trained."""

import dataclasses
import hashlib
import json
import re

from airrvec.core.errors import InputError
from airrvec.model import weights
from airrvec.model.architecture import ModelConfig
from airrvec.training import presets

import pytest
from inputs import ROOT

FILES = ("mine.py", "watch.py")
# Fields whose default the page says in words.
UNLISTED = {"name", "title", "model", "objective", "schedule", "loops"}


def test_learning_rates_are_those_of_the_reference():
    d_model, warmup = 64, 10_000
    base = presets.load(ROOT / "conf/models/base.json").schedule
    for step in (1, 500, 10_000, 10_001, 143_200):
        noam = d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
        assert base.rate(step) == pytest.approx(noam, rel=1e-12)
    finetuned = presets.load(ROOT / "conf/models/finetuned.json").schedule
    assert [finetuned.rate(step) for step in (1, 500, 1000, 1172)] == [1e-6, 5e-4, 1e-3, 1e-3]


@pytest.mark.parametrize(
    ("decay", "rates"),
    [
        (False, [0.5, 1, 1, 1, 1]),
        ("linear", [0.5, 1, 0.75, 0.5, 0.25]),
        ("cosine", [0.5, 1, 0.8536, 0.5, 0.1464]),
    ],
)
def test_rates_warm_up_and_fall(decay, rates):
    schedule = presets.Schedule(steps=5, warmup_steps=2, learning_rate=1.0, decay=decay)
    assert [schedule.rate(step) for step in range(1, 6)] == pytest.approx(rates, abs=1e-4)


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
        ('{"steps": 3}', "'steps' is not one of name, title, data, layers, callbacks, model, objective"),
        ('{"schedule": {"step": 3}}', "'step' is not one of steps, batch_size"),
        (
            '{"objective": {"contrastive": "both"}}',
            "contrastive is 'both', not one of auto, supervised, neighbour, a Python file or null",
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
        ('{"schedule": {"optimiser": "lion"}}', "optimiser is 'lion', not one of adam, adamw, sgd"),
        ('{"schedule": {"betas": [0.9]}}', r"betas are \[0.9\], not two numbers from 0 to below 1"),
        ('{"schedule": {"betas": ["x", 1]}}', "betas is .*, not a list of numbers"),
        ('{"schedule": {"weight_decay": -1}}', "weight_decay is -1, not 0 or more"),
        ('{"schedule": {"decay": "sine"}}', "decay is 'sine', not true or false or one of linear, cosine"),
        ('{"data": "olga"}', "data is 'olga', not one of receptors, synthetic, shuffled"),
    ],
)
def test_a_bad_preset_is_explained(content, problem, tmp_path):
    path = tmp_path / "my.json"
    path.write_text(content)
    with pytest.raises(InputError, match=rf"^my.json: .*{problem}"):
        presets.load(path)


LABELLED = ("supervised", "neighbour")


def test_presets_that_ignore_labels_are_no_presets_of_finetuning():
    for path in (ROOT / "conf/models").iterdir():
        preset = presets.load(path)
        if preset.name in ("finetuned", "neighbour"):
            preset.check_finetuning()
            continue
        with pytest.raises(
            InputError, match=f"'{preset.name}' does not learn from labels, which fine-tuning"
        ):
            preset.check_finetuning()


def test_losses_that_need_labels_are_refused_without_them():
    losses = pytest.importorskip("airrvec.training.losses").LOSSES
    needs = {name: presets.Objective(contrastive=name).needs_labels for name in (None, *losses)}
    assert needs == {None: False, "auto": False, "supervised": True, "neighbour": True}
    for name in losses:
        assert f'`"{name}"`' in (ROOT / "docs/reference/presets.md").read_text()


def test_steps_and_batch_size_go_before_the_presets():
    preset = presets.load(ROOT / "conf/models/base.json")
    changed = preset.changed(name="mine", steps=7, batch_size=None)
    assert (changed.name, changed.schedule.steps) == ("mine", 7)
    assert changed.schedule.batch_size == preset.schedule.batch_size
    for given in ({"steps": 0, "batch_size": None}, {"steps": None, "batch_size": 0}):
        with pytest.raises(InputError, match="is 0, not 1 or more"):
            preset.changed(name=None, **given)


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


# --- Presets by their names, and files that they name


def test_a_name_and_a_file_are_alike():
    assert presets.load("neighbour") == presets.load(ROOT / "conf/models/neighbour.json")
    with pytest.raises(InputError, match=r"'bass' is neither a JSON file nor one of alpha, .*, tiny"):
        presets.load("bass")
    with pytest.raises(InputError, match="there is no such file"):
        presets.load("bass.json")


def test_files_of_a_preset_lie_beside_it_and_are_recorded_by_name_and_digest(tmp_path):
    (tmp_path / "mine.py").write_text("TITLE = 'Mine'\n\n\ndef loss(views):\n    return views.sum()\n")
    (tmp_path / "watch.py").write_text("def callbacks():\n    return []\n")
    path = tmp_path / "my.json"
    path.write_text('{"callbacks": "watch.py", "objective": {"contrastive": "mine.py"}}')
    preset = presets.load(path)
    assert preset.objective.own_file == tmp_path / "mine.py"
    settings = preset.as_dict()
    assert str(tmp_path) not in json.dumps(settings)
    assert settings["objective"]["contrastive"] == "mine.py"
    assert settings["callbacks"] == "watch.py"
    digests = [settings["objective"]["contrastive_sha256"], settings["callbacks_sha256"]]
    assert digests == [hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in FILES]


def test_a_loss_replaces_that_of_the_preset(tmp_path):
    preset = presets.load("neighbour")
    changed = preset.changed(loss=tmp_path / "mine.py", steps=3)
    assert changed.objective.own_file == tmp_path / "mine.py"
    assert (changed.schedule.steps, changed.name) == (3, "neighbour")
    assert preset.changed() == preset
    with pytest.raises(InputError, match="contrastive is 'both', not one of"):
        preset.changed(loss="both")


# --- The page of the fields


def test_the_page_has_every_field_with_its_default():
    page = (ROOT / "docs/reference/presets.md").read_text()
    for heading, kind in (
        ("## Fields", presets.Preset),
        ("### model", ModelConfig),
        ("### objective", presets.Objective),
        ("### schedule", presets.Schedule),
    ):
        table = page.split(f"{heading}\n")[1].split("| Field |")[1].split("\n\n")[0]
        rows = re.findall(r"^\| (`.*?) \| (.*?) \|", table, re.MULTILINE)
        listed = {}
        for names, defaults in rows:
            names = re.findall(r"`(\w+)`", names)
            values = re.split(r", (?![^\[]*\])", defaults) if len(names) > 1 else [defaults]
            listed |= dict(zip(names, values * (len(names) // len(values)), strict=True))
        assert list(listed) == [field.name for field in dataclasses.fields(kind)]
        for field in dataclasses.fields(kind):
            default = listed[field.name].strip("`").replace(",", "" if "[" not in listed[field.name] else ",")
            if field.name not in UNLISTED:
                value = list(field.default) if isinstance(field.default, tuple) else field.default
                assert json.loads(default) == value, field.name
