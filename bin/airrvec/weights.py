"""Where models come from: the published variants of SCEPTR in the ``sceptr`` package, and own folders."""

import hashlib
import importlib.util
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import safetensors.torch
import torch
from safetensors import SafetensorError

from airrvec import __version__, tables
from airrvec.errors import InputError
from airrvec.model import ModelConfig, ReceptorEncoder
from airrvec.presets import model_config
from airrvec.tokens import ALL_LOOPS
from airrvec.variants import VARIANTS

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

# The reference's parameter names → ours; the first match is applied, in this order.
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
# One-hot rows of the loops: in our model the projection's own columns.
_IMPLICIT = "_token_embedder._compartment_embedding._token_embeddings"


@dataclass(frozen=True)
class LoadedModel:
    """A model, its name, and the SHA-256 of the file its weights came from."""

    name: str
    checksum: str
    encoder: ReceptorEncoder


# The files of a model's folder.
WEIGHTS, CONFIG = "model.safetensors", "config.json"


def load(source: str) -> LoadedModel:
    """
    Load a model.

    Parameters
    ----------
    source : str
        A name in `airrvec.variants.VARIANTS`, or the path of a folder that `save` has written.

    Returns
    -------
    LoadedModel
        In evaluation mode.

    Raises
    ------
    InputError
        If there is no such model, or its folder is not whole.
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


def save(encoder: ReceptorEncoder, name: str, folder: Path, details: dict | None = None) -> None:
    """
    Write a model's folder: ``model.safetensors`` and ``config.json``.

    Parameters
    ----------
    encoder : ReceptorEncoder
        The model.
    name : str
        What reports call it.
    folder : Path
        Made if it is not there.
    details : dict, optional
        Goes into ``config.json`` as well.
    """
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / f"{WEIGHTS}.part"
    state = {key: value.contiguous() for key, value in encoder.state_dict().items()}
    safetensors.torch.save_file(state, temporary)
    temporary.replace(folder / WEIGHTS)
    config = {
        "name": name,
        "airrvec_version": __version__,
        "model": asdict(encoder.config),
        **(details or {}),
    }
    tables.write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n", folder / CONFIG)


def _own(folder: Path) -> LoadedModel:
    for name in (WEIGHTS, CONFIG):
        if not (folder / name).is_file():
            raise InputError(f"the model lacks its {name}", file=folder, fix="Give the whole folder")
    try:
        config = json.loads((folder / CONFIG).read_text())
        encoder = ReceptorEncoder(model_config(config["model"]))
        encoder.load_state_dict(safetensors.torch.load_file(folder / WEIGHTS))
    except (KeyError, ValueError, TypeError, RuntimeError, SafetensorError) as error:
        raise InputError(
            f"the model cannot be read ({str(error).splitlines()[0]})", file=folder, fix="Copy it once more"
        ) from error
    checksum = hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest()
    return LoadedModel(config.get("name", folder.name), checksum, encoder.eval())


def _published(name: str) -> LoadedModel:
    folder = _package_folder() / VARIANTS[name][0]
    config = _config(json.loads((folder / "config.json").read_text()))
    path = folder / "state_dict.pt"
    state = torch.load(path, map_location="cpu", weights_only=True)
    state.pop(_IMPLICIT, None)
    encoder = ReceptorEncoder(config)
    encoder.load_state_dict({_renamed(key): value for key, value in state.items()})
    return LoadedModel(name, hashlib.sha256(path.read_bytes()).hexdigest(), encoder.eval())


def _package_folder() -> Path:
    # Found without importing sceptr, which would build its tables of genes.
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
