"""The SCEPTR transformer (paper, Methods, "SCEPTR architecture")."""

import threading

from airrvec.core.devices import choose_device
from airrvec.core.terminal import print_warning
from airrvec.model import tokens as tk
from airrvec.model.architecture import MAX_LENGTH, ModelConfig
from airrvec.model.dropout import Dropout

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn


class RelativeEmbedding(nn.Module):
    """
    Linear projection of a token's fixed features (residue, relative position, loop).

    The projection of a one-hot vector is a row of the weights, so no zeros are multiplied.
    """

    residue_features: Tensor

    def __init__(self, config: ModelConfig):
        super().__init__()
        n_features = config.n_features
        residues = torch.zeros(tk.N_RESIDUES, n_features)
        if config.embedding == "one_hot":
            residues[1:] = torch.eye(n_features)
        self.register_buffer("residue_features", residues)
        # Learnt vectors of <mask> and <cls>, which BLOSUM lacks.
        self.special = (
            nn.Parameter(torch.randn(tk.FIRST_AMINO_ACID, n_features))
            if config.embedding == "blosum62"
            else None
        )
        self.projection = nn.Linear(n_features + 1 + len(config.loops), config.d_model, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        residue, position, length, loop = tokens.unbind(-1)  # (B, T) each
        features = self.residue_features
        if self.special is not None:
            features = torch.cat([self.special, features[tk.FIRST_AMINO_ACID :]])
        n_features = features.shape[1]
        weight = self.projection.weight.T  # (n_features + 1 + n_loops, d)
        residues = features @ weight[:n_features]  # (23, d)
        position_weight = weight[n_features]  # (d,)
        loops = F.pad(weight[n_features + 1 :], (0, 0, 1, 0))  # (1 + n_loops, d): 0 is no loop
        pairs = (residues[:, None] + loops).flatten(0, 1)  # (23 * (1 + n_loops), d)
        vectors = F.embedding(residue * len(loops) + loop, pairs)  # (B, T, d)
        return torch.addcmul(vectors, relative_position(position, length)[..., None], position_weight)


def relative_position(position: Tensor, length: Tensor) -> Tensor:
    """Return the position in the loop from 0 to 1; 0.5 in a loop of one residue, 0 outside of loops."""
    relative = (position - 1) / (length - 1).clamp(min=1)
    return torch.where(length == 1, 0.5, relative).masked_fill(position == 0, 0.0)


class LeftAlignedEmbedding(nn.Module):
    """Learnt residue and loop vectors plus sinusoidal positions counted from the loop's start."""

    position: Tensor

    def __init__(self, config: ModelConfig):
        super().__init__()
        d = config.d_model
        self.residue = nn.Embedding(tk.N_RESIDUES, d, padding_idx=tk.NULL)
        self.loop = nn.Embedding(1 + len(config.loops), d, padding_idx=0)
        angle = torch.arange(MAX_LENGTH)[:, None] / 30 ** (torch.arange(0, d, 2) / d)
        position = torch.zeros(1 + MAX_LENGTH, d)  # row 0 is <cls>
        position[1:, 0::2] = angle.sin()
        position[1:, 1::2] = angle.cos()
        self.register_buffer("position", position)

    def forward(self, tokens: Tensor) -> Tensor:
        residue, position, _, loop = tokens.unbind(-1)  # (B, T) each
        vectors = self.residue(residue) + self.position[position] + self.loop(loop)
        return vectors * vectors.shape[-1] ** 0.5


class Layer(nn.Module):
    """Self-attention and feed-forward, each followed by a residual connection and layer normalisation."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        d = config.d_model
        self.n_heads = config.n_heads
        self.qkv = nn.Linear(d, 3 * d)
        self.out = nn.Linear(d, d)
        self.norm1 = nn.LayerNorm(d)
        self.expand = nn.Linear(d, config.d_feedforward)
        self.contract = nn.Linear(config.d_feedforward, d)
        self.norm2 = nn.LayerNorm(d)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, padding: Tensor | None, cls_only: bool = False) -> Tensor:
        """Return (B, T, d); with ``cls_only`` the query is ``<cls>``, the keys are all tokens: (B, 1, d)."""
        attended = self.out(self.attention(x, padding, cls_only))
        x = self.norm1((x[:, :1] if cls_only else x) + self.dropout(attended))
        expanded = self.dropout(F.relu(self.expand(x)))
        return self.norm2(x + self.dropout(self.contract(expanded)))

    def attention(self, x: Tensor, padding: Tensor | None, cls_only: bool) -> Tensor:
        b, t, d = x.shape
        n_queries = 1 if cls_only else t
        if cls_only:
            query = F.linear(x[:, :1], self.qkv.weight[:d], self.qkv.bias[:d])
            key, value = F.linear(x, self.qkv.weight[d:], self.qkv.bias[d:]).chunk(2, -1)
        else:
            query, key, value = self.qkv(x).chunk(3, -1)
        query, key, value = (
            part.reshape(b, -1, self.n_heads, d // self.n_heads).transpose(1, 2)  # (B, nh, T, hs)
            for part in (query, key, value)
        )
        # torch's fused attention is slow for heads of 8 dimensions; plain products are fast.
        scores = query * (d // self.n_heads) ** -0.5 @ key.mT  # (B, nh, n_queries, T)
        if padding is not None:
            scores = scores.masked_fill(padding[:, None, None], -torch.inf)
        weights = self.dropout(scores.softmax(-1))
        # (hs × T)(T × n_queries) is 2.5 times faster than its transpose, because heads are narrow.
        attended = value.mT @ weights.mT  # (B, nh, hs, n_queries)
        return attended.permute(0, 3, 1, 2).reshape(b, n_queries, d)


class ReceptorEncoder(nn.Module):
    """
    Transformer from tokens of receptors to vectors on the unit sphere.

    Parameters
    ----------
    config : ModelConfig
        Shape of the model.
    """

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.config = config
        left_aligned = config.embedding == "left_aligned"
        self.embedding = (LeftAlignedEmbedding if left_aligned else RelativeEmbedding)(config)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.n_layers))
        self.mlm_head = nn.Linear(config.d_model, len(tk.AMINO_ACIDS))

    def forward(self, tokens: Tensor, padding: Tensor | None = None) -> Tensor:
        """
        Return the vectors of receptors.

        Parameters
        ----------
        tokens : Tensor of int64, shape (B, T, 4)
            Residue, position, length and loop of each token; see `airrvec.model.tokens.Tokens`.
        padding : Tensor of bool, shape (B, T), optional
            True where there is no token.

        Returns
        -------
        Tensor, shape (B, d_model)
            l2-normalised vectors.
        """
        x = self.embedding(tokens)
        *all_but_last, last = self.layers
        for layer in all_but_last:
            x = layer(x, padding)
        if self.config.pooling == "cls":
            pooled = last(x, padding, cls_only=True)[:, 0]
        elif padding is None:
            pooled = x[:, 1:].mean(1)
        else:
            residues = (~padding[:, 1:, None]).to(x.dtype)
            pooled = (x[:, 1:] * residues).sum(1) / residues.sum(1)
        return F.normalize(pooled.float(), dim=-1)

    def guess_residues(self, tokens: Tensor, padding: Tensor | None, masked: Tensor) -> Tensor:
        """
        Return unnormalised log probabilities of the amino acids at some tokens (masked-language modelling).

        Parameters
        ----------
        tokens, padding : Tensor
            As in `forward`.
        masked : Tensor of bool, shape (B, T)
            Tokens to predict, n in all.

        Returns
        -------
        Tensor, shape (n, 20)
        """
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, padding)
        return self.mlm_head(x[masked])


def torch_device(device: str) -> str:
    """Return torch's name of a device of `airrvec.core.devices.choose_device`."""
    return "cuda" if choose_device(device, "auto")[0] == "gpu" else "cpu"


# Tokens per batch: few enough for a core's cache, or enough to keep a GPU busy.
TOKENS_PER_BATCH = {"cpu": 1_200, "cuda": 262_144}

# Two threads that move one model copy weights that the other has just freed.
_moving = threading.Lock()


@torch.inference_mode()
def embed(
    model: ReceptorEncoder,
    tokens: tk.Tokens,
    *,
    device: str = "cpu",
    precision: str = "fp32",
    tokens_per_batch: int | None = None,
    progress=None,
) -> np.ndarray:
    """
    Return vectors of tokenised receptors, computed by torch on a GPU.

    On a CPU it serves for comparison; `airrvec.model.cpu.inference` is faster. Receptors are sorted by length
    and each batch has one length, so that nothing is padded. The next batch goes to the GPU while one is
    computed, and vectors return meanwhile; the loop waits only for the batch before the last. A batch that
    does not fit into the device's memory is halved, and so are later batches.

    Parameters
    ----------
    model : ReceptorEncoder
        The model; set to evaluation mode.
    tokens : Tokens
        The receptors.
    device : {"cpu", "cuda"}
        torch's name of the device.
    precision : {"fp32", "bf16"}
        Number format of the matrix products; with bf16, softmax and normalisation still use float32. fp32
        is float32 on GPUs as well, not TF32: `torch.backends.cuda.matmul.allow_tf32` is off by default.
    tokens_per_batch : int, optional
        Tokens per batch; `TOKENS_PER_BATCH` by default.
    progress : callable, optional
        Called after each batch with its number of receptors.

    Returns
    -------
    ndarray of float32, shape (n_receptors, d_model)
        l2-normalised vectors; NaN for a receptor without a loop that the model reads.

    Raises
    ------
    RuntimeError
        If the device returns numbers that are none.
    """
    with _moving:
        if model.mlm_head.weight.device.type != device:
            model.to(device)
    model.eval()
    vectors = np.full((len(tokens), model.config.d_model), np.nan, np.float32)
    max_tokens = tokens_per_batch or TOKENS_PER_BATCH[device]
    waiting = list(tk.equal_length_batches(tokens.lengths, max_tokens))[::-1]
    returning = []  # rows, vectors, and the event of their arrival

    def take_first():
        rows, returned, arrival = returning.pop(0)
        if arrival is not None:
            arrival.synchronize()
        vectors[rows] = returned.numpy()
        if not np.isfinite(vectors[rows]).all():
            raise RuntimeError(f"{device} computed vectors of {len(rows):,} receptors that are not numbers")
        if progress is not None:
            progress(len(rows))

    while waiting:
        rows = waiting.pop()
        length = int(tokens.offsets[rows[0] + 1] - tokens.offsets[rows[0]])
        n = max(1, max_tokens // length)
        if len(rows) > n:
            waiting += [rows[n:], rows[:n]]
            continue
        batch = tokens.values[tokens.offsets[rows][:, None] + np.arange(length)]  # (B, T, 4)
        try:
            returning.append((rows, *_start(model, torch.from_numpy(batch), device, precision)))
        except torch.OutOfMemoryError:
            if len(rows) == 1:
                raise
            max_tokens = len(rows) * length // 2
            print_warning(f"{len(rows):,} receptors do not fit into memory; taking half as many")
            waiting.append(rows)
            continue
        if len(returning) == 2:
            take_first()
    while returning:
        take_first()
    return vectors


def _start(model: ReceptorEncoder, batch: Tensor, device: str, precision: str):
    """Start a batch; return its vectors, in transfer to CPU memory, and their arrival (None on a CPU)."""
    if device == "cuda":
        batch = batch.pin_memory()
    with torch.autocast(device, torch.bfloat16, enabled=precision == "bf16"):
        vectors = model(batch.to(device, non_blocking=True).long())
    if device == "cpu":
        return vectors, None
    vectors = vectors.to("cpu", non_blocking=True)  # into pinned memory
    arrival = torch.cuda.Event()
    arrival.record()
    return vectors, arrival
