"""Reading and writing of models: published variants of SCEPTR (``sceptr`` package) and model folders."""

import hashlib
import importlib.util
import io
import json
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import safetensors.numpy
from safetensors import SafetensorError

from airrvec.core import tables
from airrvec.core.errors import InputError
from airrvec.core.json_files import read_object, to_dataclass
from airrvec.core.version import __version__
from airrvec.model.architecture import ModelConfig
from airrvec.model.tokens import ALL_LOOPS
from airrvec.model.variants import VARIANTS

_LOOPS = {
    "CdrTokeniser": ALL_LOOPS,
    "Cdr3Tokeniser": ("cdr3a", "cdr3b"),
    "AlphaCdrTokeniser": ("cdr1a", "cdr2a", "cdr3a"),
    "BetaCdrTokeniser": ("cdr1b", "cdr2b", "cdr3b"),
}
_EMBEDDINGS = {
    "CdrSimpleEmbedder": "one_hot",
    "Cdr3SimpleEmbedder": "one_hot",
    "SingleChainCdrSimpleEmbedder": "one_hot",
    "CdrBlosumEmbedder": "blosum62",
    "CdrEmbedder": "left_aligned",
}
_POOLINGS = {
    "ClsVectorRepresentationDelegate": "cls",
    "AveragePoolVectorRepresentationDelegate": "average",
}

# Parameter names of the reference implementation → ours; all replacements are applied, in this order.
_RENAMED = {
    "_self_attention_stack._initial_projector.": "embedding.projection.",
    "_self_attention_stack._standard_stack._self_attention_stack.layers.": "layers.",
    "_self_attention_stack._self_attention_stack.layers.": "layers.",
    ".self_attn.in_proj_": ".qkv.",
    ".self_attn.out_proj.": ".out.",
    ".linear1.": ".expand.",
    ".linear2.": ".contract.",
    "_mlm_token_prediction_projector.projector.": "mlm_head.",
    "_token_embedder._blosum_embedding._blosum_embeddings": "embedding.residue_features",
    "_token_embedder._blosum_embedding._special_token_embeddings.weight": "embedding.special",
    "_token_embedder._token_embedding._token_embeddings": "embedding.residue_features",
    "_token_embedder.token_embedding.": "embedding.residue.",
    "_token_embedder.compartment_embedding.": "embedding.loop.",
    "_token_embedder.position_embedding.position_embedding_matrix": "embedding.position",
}
# One-hot rows of the loops; in our model they are columns of the projection.
_IMPLICIT = "_token_embedder._compartment_embedding._token_embeddings"


@dataclass(frozen=True)
class LoadedModel:
    """
    A model: configuration and weights.

    Attributes
    ----------
    name, checksum : str
        Name in reports, and SHA-256 of the original file of the weights.
    config : ModelConfig
        Shape of the model.
    state : dict of str to ndarray of float32
        Weights by name.
    """

    name: str
    checksum: str
    config: ModelConfig
    state: dict[str, np.ndarray]

    @cached_property
    def encoder(self):
        """An `airrvec.model.transformer.ReceptorEncoder` in evaluation mode, to train or embed on GPUs."""
        import torch

        from airrvec.model.transformer import ReceptorEncoder

        encoder = ReceptorEncoder(self.config)
        encoder.load_state_dict({name: torch.tensor(array) for name, array in self.state.items()})
        return encoder.eval()

    def save(self, folder: Path) -> None:
        """Write a model folder; the checksum remains that of the original file."""
        _write(folder, self.name, self.config, self.state, {"weights_sha256": self.checksum})


# Far above any trained weight; sums of products of such weights stay finite in float32.
LARGEST_WEIGHT = 1e6

# Files of a model folder.
WEIGHTS, CONFIG = "model.safetensors", "config.json"


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
    if source in VARIANTS:
        return _published(source)
    folder = Path(source)
    if not folder.is_dir():
        raise InputError(
            f"there is no model '{source}'",
            fix=f"Give the folder of a model, or one of {', '.join(VARIANTS)}",
        )
    return _own(folder)


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
    described = {"name": name, "airrvec_version": __version__, "model": asdict(config), **details}
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
    checksum = described.get("weights_sha256") or hashlib.sha256(content).hexdigest()
    return LoadedModel(described.get("name", folder.name), checksum, config, state)


def _check(config: ModelConfig, state: dict[str, np.ndarray]) -> None:
    """Raise `ValueError` unless the weights have the configuration's names and shapes and valid numbers."""
    expected, found = config.shapes(), {name: array.shape for name, array in state.items()}
    for name in sorted(expected | found):
        if expected.get(name) != found.get(name):
            actual, wanted = (shapes.get(name, "absent") for shapes in (found, expected))
            raise ValueError(f"{name} is {actual} in the weights, but {wanted} in the configuration")
        if state[name].dtype != np.float32:
            raise ValueError(f"{name} is {state[name].dtype}, not float32")
        if not np.all(abs(state[name]) < LARGEST_WEIGHT):  # also false for NaN
            raise ValueError(
                f"{name} contains an invalid weight: NaN, infinite, or at least {LARGEST_WEIGHT:.0e}"
            )


def _published(name: str) -> LoadedModel:
    import torch

    folder = _package_folder() / VARIANTS[name][0]
    config = _config(json.loads((folder / "config.json").read_text()))
    content = (folder / "state_dict.pt").read_bytes()
    read = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    state = {_renamed(key): value.numpy() for key, value in read.items() if key != _IMPLICIT}
    return LoadedModel(name, hashlib.sha256(content).hexdigest(), config, state)


def _package_folder() -> Path:
    # Without importing sceptr, which would build its gene tables.
    package = importlib.util.find_spec("sceptr")
    return Path(package.submodule_search_locations[0]) / "_model_saves"


def _config(published: dict) -> ModelConfig:
    model = published["model"]
    stack = model["self_attention_stack"]["initargs"]
    return ModelConfig(
        loops=_LOOPS[published["data"]["tokeniser"]["class"]],
        embedding=_EMBEDDINGS[model["token_embedder"]["class"]],
        pooling=_POOLINGS[model["vector_representation_delegate"]["class"]],
        n_layers=stack["num_layers"],
        d_model=stack["d_model"],
        n_heads=stack["nhead"],
        d_feedforward=stack.get("dim_feedforward", 4 * stack["d_model"]),
    )


def _renamed(key: str) -> str:
    for old, new in _RENAMED.items():
        key = key.replace(old, new)
    return key
