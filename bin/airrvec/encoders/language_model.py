"""
Published protein language models, used as in the paper.

Paper, appendix "Generating TCR vector embeddings using existing protein language models": each chain is
embedded separately, its residue vectors are averaged, and the vectors of the two chains are concatenated.
The weights come from a local folder. Nothing is downloaded, and no code in that folder is executed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

from airrvec.core import schema
from airrvec.core.errors import InputError
from airrvec.core.progress import counter
from airrvec.encoders import ENCODERS, NotMeasurable, present_loci
from airrvec.input.germline import chain_sequence
from airrvec.model.tokens import AMINO_ACIDS
from airrvec.model.transformer import torch_device

import numpy as np
import pyarrow as pa
import torch
from huggingface_hub import snapshot_download
from huggingface_hub.errors import LocalEntryNotFoundError
from transformers import AutoConfig, AutoModel, AutoTokenizer
from transformers.utils import logging

# Largest number of tokens in a batch, padding included.
BATCH_TOKENS = 8192
# In a cache of the hub, `refs/main` names the commit that the user has downloaded; a run downloads nothing.
REVISION = "main"


@dataclass(frozen=True)
class Published:
    """
    A model on the Hugging Face hub, and how the paper uses it.

    Attributes
    ----------
    repository : str
        Owner and name on the hub.
    fields : tuple of str
        Fields of a chain that the model needs.
    sequences : callable
        Receptors and locus → one sequence per receptor.
    layer : int, optional
        Layer whose vectors are used, counted from 1; None for the last layer.
    separator : str
        Text between residues in the input of the tokeniser.
    """

    repository: str
    fields: tuple[str, ...]
    sequences: Callable[[pa.Table, str], list[str]]
    layer: int | None = None
    separator: str = ""


def junctions(receptors: pa.Table, locus: str) -> list[str]:
    """Return the junctions of a locus."""
    return receptors[schema.field(locus, "junction_aa")].to_pylist()


def full_chains(receptors: pa.Table, locus: str) -> list[str]:
    """
    Return V region, junction and J region of a locus; see `airrvec.input.germline.chain_sequence`.

    Raises
    ------
    NotMeasurable
        If the germline sequence of a gene is unknown.
    """
    columns = [
        receptors[name] for name in ("species", *(schema.field(locus, n) for n in schema.CHAIN_FIELDS))
    ]
    try:
        return [
            chain_sequence(v_call, j_call, junction, species)
            for species, v_call, j_call, junction in zip(*(c.to_pylist() for c in columns), strict=True)
        ]
    except ValueError as error:
        raise NotMeasurable(f"a full chain could not be built: {error}") from error


MODELS = {
    "tcr_bert": Published("wukevin/tcr-bert", ("junction_aa",), junctions, layer=8, separator=" "),
    "esm2": Published("facebook/esm2_t6_8M_UR50D", schema.CHAIN_FIELDS, full_chains),
    "protbert": Published("Rostlab/prot_bert", schema.CHAIN_FIELDS, full_chains, separator=" "),
}


class LanguageModel:
    """
    Vectors of a protein language model.

    Parameters
    ----------
    name : str
        A name in `MODELS`.
    hub_cache : str or Path, optional
        Folder with the model's files, in a subfolder with the model's name or in the cache layout of the
        hub client.
    device : {"cpu", "auto", "gpu"}
        See `airrvec.model.transformer.torch_device`.

    Raises
    ------
    InputError
        If the folder lacks the model or holds a different one.
    """

    def __init__(self, name: str, *, hub_cache: str | Path | None = None, device: str = "cpu"):
        self.title = ENCODERS[name][2]
        self.published = MODELS[name]
        self.device = torch_device(device)
        folder = _model_folder(self.title, self.published.repository, hub_cache)
        self.model = _load_model(self.title, folder, self.published.layer).to(self.device).eval()
        self.tokeniser = _load_tokeniser(self.title, folder, self.published.repository)

    def embed(self, receptors: pa.Table) -> np.ndarray:
        """
        Return the vectors of receptors.

        Parameters
        ----------
        receptors : pyarrow.Table
            ``receptors``. The required fields of a chain are known for all of them, or for none.

        Returns
        -------
        ndarray of float32, shape (n_receptors, n_chains · d_model)
            Not normalised; α chain first.

        Raises
        ------
        NotMeasurable
            If a field is missing for some receptors, or the germline sequence of a gene is unknown.
        """
        loci = present_loci(self.title, self.published.fields, receptors)
        chains = [self.published.sequences(receptors, locus) for locus in loci]
        distinct, row = np.unique(np.concatenate(chains), return_inverse=True)
        vectors = self._embed_sequences(distinct.tolist())
        return np.concatenate([vectors[part] for part in np.split(row, len(loci))], axis=1)

    @torch.inference_mode()
    def _embed_sequences(self, sequences: list[str]) -> np.ndarray:
        """Return the mean residue vector of each sequence, (n, d_model)."""
        vectors = np.empty((len(sequences), self.model.config.hidden_size), np.float32)
        progress = counter(f"chains embedded by {self.title}", len(sequences))
        for batch in _batches([len(sequence) for sequence in sequences]):
            tokens = self._tokens([sequences[row] for row in batch]).to(self.device)
            residues = tokens["attention_mask"] * (1 - tokens.pop("special_tokens_mask"))
            hidden = self.model(**tokens).last_hidden_state  # (batch, tokens, d_model)
            summed = torch.einsum("btd,bt->bd", hidden, residues.to(hidden.dtype))
            vectors[batch] = (summed / residues.sum(1, keepdim=True)).float().cpu().numpy()
            progress(len(batch))
        return vectors

    def _tokens(self, sequences: list[str]):
        return self.tokeniser(
            [self.published.separator.join(sequence) for sequence in sequences],
            padding=True,
            return_attention_mask=True,
            return_token_type_ids=False,
            return_special_tokens_mask=True,
            return_tensors="pt",
        )


def _batches(lengths: list[int]) -> Iterator[list[int]]:
    """Yield rows of sequences of similar length, longest first: a batch too large for memory fails early."""
    batch = []
    for row in np.argsort(lengths, kind="stable")[::-1].tolist():
        if batch and (len(batch) + 1) * (lengths[batch[0]] + 2) > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def _model_folder(model: str, repository: str, hub_cache: str | Path | None) -> Path:
    name = repository.split("/")[1]
    get = f"hf download {repository} --local-dir HUB/{name}"
    if hub_cache is None:
        raise InputError(
            f"{model} needs its weights",
            fix=f"Download them with `{get}` and set --hub_cache HUB",
        )
    folder = Path(hub_cache) / name
    if (folder / "config.json").exists():
        return folder
    try:
        return Path(
            snapshot_download(repository, revision=REVISION, cache_dir=hub_cache, local_files_only=True)
        )
    except LocalEntryNotFoundError:
        cached = "models--" + repository.replace("/", "--")
        raise InputError(
            f"the weights of {model} are missing: '{hub_cache}' contains neither '{name}' nor '{cached}'",
            fix=f"Download them with `{get}`, where HUB is the folder of --hub_cache",
        ) from None


def _load_model(model: str, folder: Path, layer: int | None) -> Any:  # its own methods have wrapped types
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        n_layers = AutoConfig.from_pretrained(folder, local_files_only=True).num_hidden_layers
        if layer is not None and n_layers < layer:
            raise InputError(
                f"'{folder}' is not {model}: it has {n_layers} layers, the paper uses layer {layer}"
            )
        loaded, loading_info = AutoModel.from_pretrained(
            folder,
            num_hidden_layers=layer or n_layers,
            add_pooling_layer=False,
            local_files_only=True,
            weights_only=True,
            output_loading_info=True,
        )
    except UnpicklingError as error:
        raise InputError(
            f"the weights of {model} in '{folder}' contain objects other than tensors and are not loaded"
        ) from error
    except (OSError, ValueError) as error:
        raise InputError(f"the weights of {model} in '{folder}' could not be read: {error}") from error
    if loading_info["missing_keys"]:
        raise InputError(f"'{folder}' is not {model}: it lacks {sorted(loading_info['missing_keys'])[0]}")
    return loaded


def _load_tokeniser(model: str, folder: Path, repository: str):
    try:
        tokeniser = AutoTokenizer.from_pretrained(folder, local_files_only=True, do_lower_case=False)
        residues = tokeniser(list(AMINO_ACIDS))["input_ids"]
    except Exception as error:  # of any type, also a bare Exception, depending on what is missing or damaged
        raise InputError(
            f"the tokeniser of {model} in '{folder}' could not be read: {error}",
            fix=f"Download all files of {repository} into the folder",
        ) from error
    if {tokeniser.unk_token_id, None} & set(chain.from_iterable(residues)):
        raise InputError(f"the tokeniser in '{folder}' lacks some of the twenty amino acids")
    return tokeniser
