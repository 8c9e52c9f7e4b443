"""
The SCEPTR transformer on CPUs, in numpy and numba: the vectors of `airrvec.model.transformer`, several times
faster.

It reads beside `airrvec.model.transformer` line by line; what is named alike does the same. All arrays are
transposed, (d, columns), a column a token; what takes time is in `airrvec.model.cpu.kernels`.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from airrvec.model import tokens as tk
from airrvec.model.architecture import ModelConfig
from airrvec.model.cpu import kernels

# Tokens of a batch: few enough that the feed-forward's (256, tokens) stays in a core's cache, 1 MB.
TOKENS_PER_BATCH = 900
EPSILON = np.float32(1e-5)  # of the layer norms


class Network:
    """
    A model's weights, ready to embed.

    Parameters
    ----------
    config : ModelConfig
        Shape of the model.
    state : dict of str to ndarray of float32
        Weights by their names in `airrvec.model.transformer.ReceptorEncoder`; shapes as `ModelConfig.shapes`.
    precision : {"fp32", "bf16"}
        Numbers that the layers' matrix products multiply; all else computes in float32, sums too.
        ``bf16`` needs a processor for which `airrvec.core.devices.multiplies_bf16`.
    """

    def __init__(self, config: ModelConfig, state: dict[str, np.ndarray], precision: str = "fp32"):
        self.config = config
        left_aligned = config.embedding == "left_aligned"
        self.embedding = (LeftAlignedEmbedding if left_aligned else RelativeEmbedding)(config, state)
        self.layers = [Layer(config, state, number, precision) for number in range(config.n_layers)]

    def forward(self, tokens: np.ndarray) -> np.ndarray:
        """
        Vectors of receptors of one length.

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
        vectors = np.ascontiguousarray(pooled.T)  # numpy sums rows alike, however many there are
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class RelativeEmbedding:
    """Fixed features of a token (residue, relative position, loop), linearly projected."""

    def __init__(self, config: ModelConfig, state: dict[str, np.ndarray]):
        features = state["embedding.residue_features"]
        if "embedding.special" in state:
            features = np.concatenate([state["embedding.special"], features[tk.FIRST_AMINO_ACID :]])
        n_features = features.shape[1]
        weight = state["embedding.projection.weight"].T  # (n_features + 1 + n_loops, d)
        of_residue = features @ weight[:n_features]  # (23, d)
        of_loop = np.pad(weight[n_features + 1 :], ((1, 0), (0, 0)))  # (1 + n_loops, d): 0 is no loop
        self.of_word = _table(of_residue, of_loop)
        self.of_position = np.ascontiguousarray(weight[[n_features]].T)  # (d, 1)
        self.n_loops = len(of_loop)

    def forward(self, tokens: np.ndarray) -> np.ndarray:
        residue, position, length, loop = tokens.T.astype(np.int32)  # (B T,) each
        out = _columns(len(self.of_word), len(tokens))
        relative = relative_position(position, length)
        words, first = residue * self.n_loops + loop, np.zeros_like(residue)
        kernels.embed_tokens(words, relative, first, self.of_word, self.of_position, out)
        return out


def relative_position(position: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Position in the loop from 0 to 1; 0.5 in a loop of one residue, 0 outside of loops."""
    relative = ((position - 1) / np.maximum(length - 1, 1)).astype(np.float32)
    relative[length == 1] = 0.5
    relative[position == 0] = 0
    return relative


class LeftAlignedEmbedding:
    """Learnt residue and loop vectors plus sinusoidal positions counted from the loop's start."""

    def __init__(self, config: ModelConfig, state: dict[str, np.ndarray]):
        scale = np.float32(config.d_model**0.5)
        of_loop = state["embedding.loop.weight"]
        self.of_word = _table(state["embedding.residue.weight"] * scale, of_loop * scale)
        self.of_position = np.ascontiguousarray(state["embedding.position"].T * scale)
        self.n_loops = len(of_loop)

    def forward(self, tokens: np.ndarray) -> np.ndarray:
        residue, position, _, loop = tokens.T.astype(np.int32)  # (B T,) each
        out = _columns(len(self.of_word), len(tokens))
        once, words = np.ones(len(tokens), np.float32), residue * self.n_loops + loop
        kernels.embed_tokens(words, once, position, self.of_word, self.of_position, out)
        return out


def _table(of_residue: np.ndarray, of_loop: np.ndarray) -> np.ndarray:
    """Their sums for each pair: (d, n_residues n_loops)."""
    return np.ascontiguousarray((of_residue[:, None] + of_loop).reshape(-1, of_loop.shape[1]).T)


def _columns(n_rows: int, n_columns: int) -> np.ndarray:
    """Room for columns, and as many more as the kernels ask for."""
    return np.empty((n_rows, max(-(-n_columns // 16) * 16, kernels.WIDTH)), np.float32)


class Matrix:
    """Weights (m, n), by which columns are multiplied: ``matrix @ x``, (n, columns) → (m, columns)."""

    def __init__(self, weight: np.ndarray, precision: str):
        self.n_rows = len(weight)
        self.weight = kernels.laid_out(weight, precision)
        self.product = kernels.matrix_product_bf16 if precision == "bf16" else kernels.matrix_product

    def __matmul__(self, x: np.ndarray) -> np.ndarray:
        out = np.empty((len(self.weight) * kernels.ROWS, x.shape[1]), np.float32)
        self.product(self.weight, x, out)
        return out[: self.n_rows]


class Layer:
    """Self-attention and feed-forward, each with a residual connection and normalised after it."""

    def __init__(self, config: ModelConfig, state: dict[str, np.ndarray], number: int, precision: str):
        self.n_heads, d = config.n_heads, config.d_model

        def part(name: str) -> tuple[np.ndarray, np.ndarray]:
            return state[f"layers.{number}.{name}.weight"], state[f"layers.{number}.{name}.bias"]

        self.norm1, self.norm2 = part("norm1"), part("norm2")
        weight, bias = part("qkv")
        self.query, self.query_bias = Matrix(weight[:d], precision), bias[:d]
        self.key_value, self.value_bias = Matrix(weight[d:], precision), bias[2 * d :]
        for name in ("out", "expand", "contract"):
            weight, bias = part(name)
            setattr(self, name, (Matrix(weight, precision), bias))

    def forward(self, x: np.ndarray, b: int, t: int, cls_only: bool = False) -> np.ndarray:
        """With ``cls_only`` the keys are all tokens, and only ``<cls>`` asks: a column a receptor."""
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
    """The columns of ``<cls>``: (d, B), and what the kernels ask for."""
    out = _columns(len(x), b)
    out[:, :b] = x[:, : b * t : t]
    out[:, b:] = 0
    return out


def embed(
    network: Network,
    tokens: tk.Tokens,
    *,
    tokens_per_batch: int = TOKENS_PER_BATCH,
    progress: Callable[[int], None] | None = None,
) -> np.ndarray:
    """
    Vectors of tokenised receptors, on one core.

    Parameters
    ----------
    network : Network
        The model.
    tokens : Tokens
        The receptors.
    tokens_per_batch : int
        Tokens in a batch, about.
    progress : callable, optional
        Called with the number of receptors done after each batch.

    Returns
    -------
    ndarray of float32, shape (n_receptors, d_model)
        l2-normalised vectors; NaN for a receptor of which the model sees no loop.
    """
    vectors = np.full((len(tokens), network.config.d_model), np.nan, np.float32)
    for rows in tk.batches_of_one_length(tokens.lengths, tokens_per_batch):
        length = tokens.offsets[rows[0] + 1] - tokens.offsets[rows[0]]
        index = tokens.offsets[rows][:, None] + np.arange(length)  # (B, T)
        vectors[rows] = network.forward(tokens.values[index])
        if progress is not None:
            progress(len(rows))
    return vectors


def in_threads(function: Callable, items: Iterator, n: int) -> Iterator:
    """
    ``map``, with ``n`` items in work at once and as many waiting; results in the items' order.

    Parameters
    ----------
    function : callable
        Compiled loops let other threads run.
    """
    with ThreadPoolExecutor(n) as pool:
        waiting = []
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) == 2 * n:
                yield waiting.pop(0).result()
        while waiting:
            yield waiting.pop(0).result()
