#!/usr/bin/env python3
"""
The published weights of SCEPTR, converted from the package ``sceptr`` to airrvec's model folders.

    python tests/published_weights.py

writes `airrvec.model.weights.PUBLISHED`. The tests hold the folders to what this converts, bit by bit.
"""

import hashlib
import importlib.util
import io
import json
import shutil
import sys
from importlib.metadata import distribution
from pathlib import Path

import torch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "bin"))

from airrvec.model import weights
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


def main():
    shutil.rmtree(weights.PUBLISHED, ignore_errors=True)
    for name in VARIANTS:
        published(name).save(weights.PUBLISHED / name, source=source(name))
    (licence,) = (file for file in distribution("sceptr").files if file.name == "LICENSE.txt")
    shutil.copy(licence.locate(), weights.PUBLISHED)


def source(name: str) -> dict[str, str]:
    """Return where a variant is from, for its ``config.json``."""
    version = distribution("sceptr").version
    file = f"sceptr/_model_saves/{VARIANTS[name][0]}/state_dict.pt"
    return {"package": "sceptr", "version": version, "file": file, "licence": "MIT (LICENSE.txt)"}


def published(name: str) -> weights.LoadedModel:
    """Return a variant as the package has it, with airrvec's names of the weights."""
    folder = _package_folder() / VARIANTS[name][0]
    config = _config(json.loads((folder / "config.json").read_text()))
    content = (folder / "state_dict.pt").read_bytes()
    read = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    state = {_renamed(key): value.numpy() for key, value in read.items() if key != _IMPLICIT}
    return weights.LoadedModel(name, hashlib.sha256(content).hexdigest(), config, state)


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


if __name__ == "__main__":
    main()
