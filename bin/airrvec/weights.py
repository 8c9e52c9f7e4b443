"""Where models come from: the published variants of SCEPTR, read from the ``sceptr`` package."""

import hashlib
import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path

import torch

from airrvec.model import ModelConfig, ReceptorEncoder
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


def load(name: str) -> LoadedModel:
    """
    Load a model by name.

    Parameters
    ----------
    name : str
        A name in `airrvec.variants.VARIANTS`.

    Returns
    -------
    LoadedModel
        In evaluation mode.

    Raises
    ------
    ValueError
        If there is no model of this name.
    """
    if name not in VARIANTS:
        raise ValueError(f"no model is called '{name}'; there are: {', '.join(VARIANTS)}")
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
