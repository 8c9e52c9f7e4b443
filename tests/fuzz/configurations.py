"""Cases of what describes a run: presets and models' folders, changed as JSON and as bytes."""

import io
import json
from dataclasses import asdict
from functools import cache
from pathlib import Path
from random import Random

from airrvec.core.errors import InputError
from airrvec.encoders.sceptr import Sceptr
from airrvec.model import weights
from airrvec.model.architecture import ModelConfig
from airrvec.model.cpu.inference import Network
from airrvec.model.tokens import tokenise
from airrvec.training import presets

import numpy as np
import pyarrow.parquet as pq
import safetensors.numpy

from fuzz import documents, mutations
from fuzz.corpus import DATA, ROOT, Case
from fuzz.properties import Refused, check_sentence

_PRESETS = sorted((ROOT / "conf/models").glob("*.json"))
_NUMBERS = (
    0,
    1,
    -1,
    2,
    7,
    64,
    2.5,
    "8",
    None,
    True,
    10**9,
    10**18,
    1e300,
    [],
    {},
    "one_hot",
    "cls",
    ["cdr3a"],
    ["x"],
)


def _document(content: dict, random: Random) -> bytes:
    """A JSON object with another number, or with any change."""
    if random.random() < 0.5:
        inner = random.choice([value for value in content.values() if isinstance(value, dict)] or [content])
        inner[random.choice(list(inner))] = random.choice(_NUMBERS)
        return json.dumps(content).encode()
    text = documents.json_bytes(documents.changed_json(content, random), random)
    return text if random.random() < 0.8 else mutations.changed_bytes(text, random)


@cache
def _weights() -> tuple[ModelConfig, bytes]:
    """A model of 8 dimensions with random weights."""
    config = ModelConfig(n_layers=1, d_model=8, n_heads=2, d_feedforward=16)
    random = np.random.default_rng(0)
    state = {name: random.normal(size=shape).astype(np.float32) for name, shape in config.shapes().items()}
    return config, safetensors.numpy.save(state)


def warm_up() -> None:
    """Compile, or read from the cache, what embeds; on a busy machine that takes longer than a case may."""
    config, state = _weights()
    Network(config, safetensors.numpy.load(state)).forward(
        tokenise(_receptors(), config.loops).values[None, :8]
    )


def changed_model(random: Random) -> Case:
    """A model's folder, most often with another configuration."""
    config, state = _weights()
    text = json.dumps({"name": "own", "model": asdict(config)}).encode()
    if random.random() < 0.8:
        text = _document(json.loads(text), random)
    else:
        state = mutations.changed_bytes(state, random)
    return Case("model", {weights.CONFIG: text, weights.WEIGHTS: state})


def check_model(case: Case, folder: Path) -> None:
    """A model embeds receptors, or is refused when it is read."""
    try:
        encoder = Sceptr(str(folder / "in"))
        vectors = encoder.embed(_receptors())
    except InputError as error:
        check_sentence(str(error))
        raise Refused(str(error)) from error
    assert vectors.shape == (len(_receptors()), encoder.loaded.config.d_model)
    assert isinstance(encoder.network, Network)
    lengths = np.linalg.norm(vectors, axis=1)
    assert np.all(np.isnan(lengths) | (abs(lengths - 1) < 1e-3)), f"vectors of lengths {lengths}"


@cache
def _receptors():
    return pq.read_table(io.BytesIO((DATA / "reference_vectors.parquet").read_bytes())).slice(0, 2)


def changed_preset(random: Random) -> Case:
    """A preset with other settings."""
    content = json.loads(random.choice(_PRESETS).read_text())
    return Case("preset", {"preset.json": _document(content, random)})


def check_preset(case: Case, folder: Path) -> None:
    """A preset has numbers where training needs them, or is refused when it is read."""
    try:
        preset = presets.load(folder / "in/preset.json")
    except InputError as error:
        check_sentence(str(error))
        raise Refused(str(error)) from error
    rates = [preset.schedule.rate(step) for step in (1, 10, 10**6)]
    assert all(0 <= rate < np.inf for rate in rates), f"learning rates {rates}"
    assert preset.schedule.steps >= 1
    assert preset.schedule.batch_size >= 1
    assert preset.schedule.validate_every >= 1
    assert isinstance(preset.trainable(preset.model.n_layers)("layers.0.qkv.weight"), bool)
    assert json.dumps(preset.as_dict(), allow_nan=False)
