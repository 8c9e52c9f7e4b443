"""
Reading and writing of model folders; those of the published variants of SCEPTR are in `PUBLISHED`.
"""

import hashlib
import os
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from airrvec.core import records, tables
from airrvec.core.errors import InputError
from airrvec.core.json_files import read_object, to_dataclass
from airrvec.core.vectors import VectorModel
from airrvec.core.version import __version__
from airrvec.model.architecture import ModelConfig
from airrvec.model.variants import VARIANTS

import numpy as np
import safetensors.numpy
from safetensors import SafetensorError


@dataclass(frozen=True)
class LoadedModel:
    """
    A model: configuration and weights.

    Attributes
    ----------
    name, checksum : str
        Name in reports, and SHA-256 of the original file of the weights; that of the folder's own file if the
        folder does not name another, or if its file has been replaced since.
    config : ModelConfig
        Shape of the model.
    state : dict of str to ndarray of float32
        Weights by name.
    """

    name: str
    checksum: str
    config: ModelConfig
    state: dict[str, np.ndarray]

    @property
    def vector_model(self) -> VectorModel:
        """Name and checksum, which vectors carry: those of two models are never compared."""
        return VectorModel(self.name, self.checksum, self.config.d_model)

    @cached_property
    def encoder(self):
        """An `airrvec.model.transformer.ReceptorEncoder` in evaluation mode, to train or embed on GPUs."""
        from airrvec.model.transformer import ReceptorEncoder

        import torch

        encoder = ReceptorEncoder(self.config)
        encoder.load_state_dict({name: torch.tensor(array) for name, array in self.state.items()})
        return encoder.eval()

    def save(self, folder: Path, **details) -> None:
        """Write a model folder; the checksum remains that of the original file. ``details``: see `save`."""
        _write(folder, self.name, self.config, self.state, {"weights_sha256": self.checksum, **details})


# Far above any trained weight; sums of products of such weights stay finite in float32.
LARGEST_WEIGHT = 1e6

# Word by which Hugging Face tells kinds of models apart.
MODEL_TYPE = "sceptr"

# Files of a model folder.
WEIGHTS, CONFIG = "model.safetensors", "config.json"

# A model folder of each variant, written by tests/published_weights.py from the package `sceptr`.
PUBLISHED = Path(__file__).parent / "published"


def load(source: str) -> LoadedModel:
    """
    Load a model.

    Parameters
    ----------
    source : str
        A name in `airrvec.model.variants.VARIANTS`, or the path of a folder written by `save`.

    Returns
    -------
    LoadedModel

    Raises
    ------
    InputError
        If there is no such model, or its folder is incomplete or damaged.
    """
    return _own(model_folder(source))


def model_folder(source: str) -> Path:
    """Return the folder of a model; ``source`` and the error as in `load`."""
    folder = PUBLISHED / source if source in VARIANTS else Path(source)
    if not os.path.isdir(folder):
        raise InputError(
            f"there is no model '{source}'",
            fix=f"Give the folder of a model, or one of {', '.join(VARIANTS)}",
        )
    return folder


def save(encoder, name: str, folder: Path, details: dict | None = None) -> None:
    """
    Write a model folder: ``model.safetensors`` and ``config.json``.

    Parameters
    ----------
    encoder : airrvec.model.transformer.ReceptorEncoder
        The model.
    name : str
        Name in reports.
    folder : Path
        Created if it does not exist.
    details : dict, optional
        Additional entries of ``config.json``.
    """
    state = {key: value.detach().cpu().numpy() for key, value in encoder.state_dict().items()}
    _write(folder, name, encoder.config, state, details or {})


def _write(folder: Path, name: str, config: ModelConfig, state: dict[str, np.ndarray], details: dict) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tables.atomic_path(folder / WEIGHTS) as temporary:
        arrays = {key: np.ascontiguousarray(array) for key, array in state.items()}
        safetensors.numpy.save_file(arrays, temporary)
    described = {
        "model_type": MODEL_TYPE,
        "architectures": ["ReceptorEncoder"],
        "name": name,
        "airrvec_version": __version__,
        "model": asdict(config),
        **details,
    }
    if "weights_sha256" in details:
        described["safetensors_sha256"] = records.sha256(folder / WEIGHTS)  # the file that it belongs to
    tables.write_text(tables.json_text(described, indent=2, ensure_ascii=False) + "\n", folder / CONFIG)


def read_configuration(folder: Path) -> dict:
    """Return the ``config.json`` of a model folder; raise `InputError` if it cannot be read."""
    return read_object(folder / CONFIG, "the configuration of the model", "Copy the folder again")


def _own(folder: Path) -> LoadedModel:
    for name in (WEIGHTS, CONFIG):
        if not (folder / name).is_file():
            raise InputError(f"the model folder has no {name}", file=folder, fix="Give the complete folder")
    described = read_configuration(folder)
    try:
        config = to_dataclass(ModelConfig, described["model"])
        content = (folder / WEIGHTS).read_bytes()
        state = safetensors.numpy.load(content)
        _check(config, state)
    except (KeyError, ValueError, TypeError, SafetensorError) as error:
        raise InputError(
            f"the model cannot be read ({str(error).splitlines()[0]})", file=folder, fix="Copy it again"
        ) from error
    own = hashlib.sha256(content).hexdigest()
    original = described.get("weights_sha256") if described.get("safetensors_sha256") == own else None
    return LoadedModel(described.get("name", folder.name), original or own, config, state)


def _check(config: ModelConfig, state: dict[str, np.ndarray]) -> None:
    """Raise `ValueError` unless the weights have the configuration's names and shapes and valid numbers."""
    expected, present = config.shapes(), {name: array.shape for name, array in state.items()}
    for name in sorted(expected | present):
        if expected.get(name) != present.get(name):
            actual, wanted = (shapes.get(name, "absent") for shapes in (present, expected))
            raise ValueError(f"{name} is {actual} in the weights, but {wanted} in the configuration")
        if state[name].dtype != np.float32:
            raise ValueError(f"{name} is {state[name].dtype}, not float32")
        if not np.all(abs(state[name]) < LARGEST_WEIGHT):  # also false for NaN
            raise ValueError(
                f"{name} contains an invalid weight: NaN, infinite, or at least {LARGEST_WEIGHT:.0e}"
            )
