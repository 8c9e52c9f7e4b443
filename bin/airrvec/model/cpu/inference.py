"""
The SCEPTR transformer on CPUs, in numpy and numba: the vectors of `airrvec.model.transformer`, several times
faster.

The code follows `airrvec.model.transformer` line by line; equal names do the same. All arrays are transposed,
(d, columns), one column per token. `airrvec.model.cpu.kernels` holds the functions that take most of the
time.
"""

from collections.abc import Callable

from airrvec.core.runtime import in_threads
from airrvec.model import tokens as tk
from airrvec.model.architecture import ModelConfig
from airrvec.model.cpu import kernels

import numpy as np

# Tokens per batch: few enough that the feed-forward's (256, tokens) stays in a core's cache, 1 MB.
TOKENS_PER_BATCH = 900
EPSILON = np.float32(1e-5)  # of the layer norms


class Network:
    """
    A model, prepared for embedding.

    Parameters
    ----------
    config : ModelConfig
        Shape of the model.
    state : dict of str to ndarray of float32
        Weights by their names in `airrvec.model.transformer.ReceptorEncoder`; shapes as `ModelConfig.shapes`.
    precision : {"fp32", "bf16"}
        Number format of the factors in the layers' matrix products; all else, sums too, is float32.
        ``bf16`` needs a processor with AVX-512 BF16 (`airrvec.core.devices.has_bf16`).
    """

    def __init__(self, config: ModelConfig, state: dict[str, np.ndarray], precision: str = "fp32"):
        self.config = config
        left_aligned = config.embedding == "left_aligned"
        self.embedding = (LeftAlignedEmbedding if left_aligned else RelativeEmbedding)(config, state)
        self.layers = [Layer(config, state, number, precision) for number in range(config.n_layers)]

    def forward(self, tokens: np.ndarray) -> np.ndarray:
        """
        Return the vectors of receptors of one length.

        Parameters
        ----------
        tokens : ndarray of uint8, shape (B, T, 4)
            Residue, position, length and loop of each token; see `airrvec.model.tokens.Tokens`.

        Returns
        -------
        ndarray of float32, shape (B, d_model)
            l2-normalised vectors.
        """
        b, t, _ = tokens.shape
        x = self.embedding.forward(tokens.reshape(b * t, 4))  # (d, columns)
        *all_but_last, last = self.layers
        for layer in all_but_last:
            x = layer.forward(x, b, t)
        if self.config.pooling == "cls":
            pooled = last.forward(x, b, t, cls_only=True)[:, :b]
        else:
            pooled = x[:, : b * t].reshape(-1, b, t)[:, :, 1:].mean(2)
        vectors = np.ascontiguousarray(pooled.T)  # the sum of a row does not depend on the number of rows
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class RelativeEmbedding:
    """Linear projection of a token's fixed features (residue, relative position, loop)."""

    def __init__(self, config: ModelConfig, state: dict[str, np.ndarray]):
        features = state["embedding.residue_features"]
        if "embedding.special" in state:
            features = np.concatenate([state["embedding.special"], features[tk.FIRST_AMINO_ACID :]])
        n_features = features.shape[1]
        weight = state["embedding.projection.weight"].T  # (n_features + 1 + n_loops, d)
        residues = features @ weight[:n_features]  # (23, d)
        loops = np.pad(weight[n_features + 1 :], ((1, 0), (0, 0)))  # (1 + n_loops, d): 0 is no loop
        self.word_vectors = _pair_sums(residues, loops)
        self.position_vectors = np.ascontiguousarray(weight[[n_features]].T)  # (d, 1)
        self.n_loops = len(loops)

    def forward(self, tokens: np.ndarray) -> np.ndarray:
        residue, position, length, loop = tokens.T.astype(np.int32)  # (B T,) each
        out = _columns(len(self.word_vectors), len(tokens))
        relative = relative_position(position, length)
        words, first = residue * self.n_loops + loop, np.zeros_like(residue)
        kernels.embed_tokens(words, relative, first, self.word_vectors, self.position_vectors, out)
        return out


def relative_position(position: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Return the position in the loop from 0 to 1; 0.5 in a loop of one residue, 0 outside of loops."""
    relative = ((position - 1) / np.maximum(length - 1, 1)).astype(np.float32)
    relative[length == 1] = 0.5
    relative[position == 0] = 0
    return relative


class LeftAlignedEmbedding:
    """Learnt residue and loop vectors plus sinusoidal positions counted from the loop's start."""

    def __init__(self, config: ModelConfig, state: dict[str, np.ndarray]):
        scale = np.float32(config.d_model**0.5)
        loops = state["embedding.loop.weight"]
        self.word_vectors = _pair_sums(state["embedding.residue.weight"] * scale, loops * scale)
        self.position_vectors = np.ascontiguousarray(state["embedding.position"].T * scale)
        self.n_loops = len(loops)

    def forward(self, tokens: np.ndarray) -> np.ndarray:
        residue, position, _, loop = tokens.T.astype(np.int32)  # (B T,) each
        out = _columns(len(self.word_vectors), len(tokens))
        ones, words = np.ones(len(tokens), np.float32), residue * self.n_loops + loop
        kernels.embed_tokens(words, ones, position, self.word_vectors, self.position_vectors, out)
        return out


def _pair_sums(residues: np.ndarray, loops: np.ndarray) -> np.ndarray:
    """Return the sum of each pair of residue and loop vectors: (d, n_residues n_loops)."""
    return np.ascontiguousarray((residues[:, None] + loops).reshape(-1, loops.shape[1]).T)


def _columns(n_rows: int, n_columns: int) -> np.ndarray:
    """Return an uninitialised array with the columns, padded as the kernels require."""
    return np.empty((n_rows, max(-(-n_columns // 16) * 16, kernels.WIDTH)), np.float32)


class Matrix:
    """Weights (m, n) as the left factor of ``matrix @ x``: (n, columns) → (m, columns)."""

    def __init__(self, weight: np.ndarray, precision: str):
        self.n_rows = len(weight)
        self.weight = kernels.pack_weights(weight, precision)
        self.product = kernels.matrix_product_bf16 if precision == "bf16" else kernels.matrix_product

    def __matmul__(self, x: np.ndarray) -> np.ndarray:
        out = np.empty((len(self.weight) * kernels.ROWS, x.shape[1]), np.float32)
        self.product(self.weight, x, out)
        return out[: self.n_rows]


class Layer:
    """Self-attention and feed-forward, each followed by a residual connection and layer normalisation."""

    def __init__(self, config: ModelConfig, state: dict[str, np.ndarray], number: int, precision: str):
        self.n_heads, d = config.n_heads, config.d_model

        def part(name: str) -> tuple[np.ndarray, np.ndarray]:
            return state[f"layers.{number}.{name}.weight"], state[f"layers.{number}.{name}.bias"]

        self.norm1, self.norm2 = part("norm1"), part("norm2")
        weight, bias = part("qkv")
        self.query, self.query_bias = Matrix(weight[:d], precision), bias[:d]
        self.key_value, self.value_bias = Matrix(weight[d:], precision), bias[2 * d :]

        def product(name: str) -> tuple[Matrix, np.ndarray]:
            weight, bias = part(name)
            return Matrix(weight, precision), bias

        self.out, self.expand, self.contract = product("out"), product("expand"), product("contract")

    def forward(self, x: np.ndarray, b: int, t: int, cls_only: bool = False) -> np.ndarray:
        """Return a column per token; with ``cls_only`` the query is ``<cls>``: a column per receptor."""
        attended = self.out[0] @ self.attention(x, b, t, cls_only)
        if cls_only:
            x = _cls(x, b, t)
        kernels.add_and_normalise(x, attended, self.out[1], *self.norm1, EPSILON)
        expanded = self.expand[0] @ x
        kernels.add_and_rectify(expanded, self.expand[1])
        contracted = self.contract[0] @ expanded
        kernels.add_and_normalise(x, contracted, self.contract[1], *self.norm2, EPSILON)
        return x

    def attention(self, x: np.ndarray, b: int, t: int, cls_only: bool) -> np.ndarray:
        query = self.query @ (_cls(x, b, t) if cls_only else x)
        attended = np.zeros_like(query)
        sizes = self.n_heads, b, t, 1 if cls_only else t
        kernels.attention(query, self.key_value @ x, self.query_bias, self.value_bias, attended, *sizes)
        return attended


def _cls(x: np.ndarray, b: int, t: int) -> np.ndarray:
    """Return the columns of ``<cls>``, (d, B), padded as the kernels require."""
    out = _columns(len(x), b)
    out[:, :b] = x[:, : b * t : t]
    out[:, b:] = 0
    return out


def embed(
    network: Network,
    tokens: tk.Tokens,
    *,
    tokens_per_batch: int = TOKENS_PER_BATCH,
    threads: int = 1,
    progress: Callable[[int], None] | None = None,
) -> np.ndarray:
    """
    Return vectors of tokenised receptors.

    Parameters
    ----------
    network : Network
        The model.
    tokens : Tokens
        The receptors.
    tokens_per_batch : int
        Approximate number of tokens per batch.
    threads : int
        Number of threads. A vector does not depend on it.
    progress : callable, optional
        Called after each batch with its number of receptors.

    Returns
    -------
    ndarray of float32, shape (n_receptors, d_model)
        l2-normalised vectors; NaN for a receptor without a loop that the model reads.
    """
    vectors = np.full((len(tokens), network.config.d_model), np.nan, np.float32)

    def embed_batch(rows: np.ndarray) -> int:
        length = tokens.offsets[rows[0] + 1] - tokens.offsets[rows[0]]
        index = tokens.offsets[rows][:, None] + np.arange(length)  # (B, T)
        vectors[rows] = network.forward(tokens.values[index])
        return len(rows)

    for n in in_threads(embed_batch, tk.equal_length_batches(tokens.lengths, tokens_per_batch), threads):
        if progress is not None:
            progress(n)
    return vectors
