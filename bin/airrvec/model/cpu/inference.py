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

# Tokens per batch: few enough that queries, keys and values of its receptors, 3 d numbers a token, stay in a
# core's cache, 1 MB.
TOKENS_PER_BATCH = 900
EPSILON = np.float32(1e-5)  # of the layer norms
_BYTES = np.arange(256)  # every length and position that a token can have


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
        last = config.n_layers - 1
        self.layers = [Layer(config, state, number, precision) for number in range(last)]
        if config.pooling == "cls":  # averages are of what the last layer would get
            self.layers.append(Layer(config, state, last, precision, cls_only=True))

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
        n, t, _ = tokens.shape
        b = -(-n // kernels.LANES) * kernels.LANES
        placed = np.zeros((t, b, 4), np.uint8)
        placed[:, :n] = tokens.swapaxes(0, 1)
        x = self.embedding.forward(placed.reshape(t * b, 4))  # (d, columns)
        for layer in self.layers:
            x = layer.forward(x, b, t)
        # Contiguous: numpy then sums in an order that does not depend on the number of receptors.
        if self.config.pooling == "cls":
            vectors = np.ascontiguousarray(x[:, :n].T)
        else:
            residues = x[:, b : b * t].reshape(-1, t - 1, b)[:, :, :n]
            vectors = np.ascontiguousarray(residues.transpose(2, 0, 1)).mean(2)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class _Embedding:
    """Vectors of tokens: that of residue and loop, plus a factor times that of the position."""

    word_vectors: np.ndarray  # (d, n_residues n_loops)
    position_vectors: np.ndarray  # (d, positions), or (d, 1): one for all
    factors: np.ndarray  # (lengths, positions)
    n_loops: int  # 0, no loop, included

    def forward(self, tokens: np.ndarray) -> np.ndarray:
        out = _columns(len(self.word_vectors), len(tokens))
        kernels.embed_tokens(
            tokens, self.n_loops, self.word_vectors, self.factors, self.position_vectors, out
        )
        return out


class RelativeEmbedding(_Embedding):
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
        self.factors = relative_position(*np.meshgrid(_BYTES, _BYTES))
        self.n_loops = len(loops)


def relative_position(position: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Return the position in the loop from 0 to 1; 0.5 in a loop of one residue, 0 outside of loops."""
    relative = ((position - 1) / np.maximum(length - 1, 1)).astype(np.float32)
    relative[length == 1] = 0.5
    relative[position == 0] = 0
    return relative


class LeftAlignedEmbedding(_Embedding):
    """Learnt residue and loop vectors plus sinusoidal positions counted from the loop's start."""

    def __init__(self, config: ModelConfig, state: dict[str, np.ndarray]):
        scale = np.float32(config.d_model**0.5)
        loops = state["embedding.loop.weight"]
        self.word_vectors = _pair_sums(state["embedding.residue.weight"] * scale, loops * scale)
        self.position_vectors = np.ascontiguousarray(state["embedding.position"].T * scale)
        self.factors = np.ones((len(_BYTES), len(_BYTES)), np.float32)
        self.n_loops = len(loops)


def _pair_sums(residues: np.ndarray, loops: np.ndarray) -> np.ndarray:
    """Return the sum of each pair of residue and loop vectors: (d, n_residues n_loops)."""
    return np.ascontiguousarray((residues[:, None] + loops).reshape(-1, loops.shape[1]).T)


def _columns(n_rows: int, n_columns: int) -> np.ndarray:
    """Return an uninitialised array with the columns, padded as the kernels require."""
    return kernels.lines(n_rows, -(-n_columns // kernels.WIDTH) * kernels.WIDTH)


class Linear:
    """A weight (m, n) and its bias, as the left factor of a product: (n, columns) → (m, columns)."""

    def __init__(self, weight: np.ndarray, bias: np.ndarray | None = None, precision: str = "fp32"):
        self.n_rows = len(weight)
        self.weight = kernels.pack_weights(weight, precision)
        self.bias = np.zeros(len(self.weight) * kernels.ROWS, np.float32)
        if bias is not None:
            self.bias[: len(bias)] = bias

    def __matmul__(self, x: np.ndarray) -> np.ndarray:
        out = _columns(len(self.bias), x.shape[1])
        kernels.linear(self.weight, self.bias, x, out)
        return out[: self.n_rows]

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Weight and bias, as the kernels take them."""
        return self.weight, self.bias


class Layer:
    """
    Self-attention and feed-forward, each followed by a residual connection and layer normalisation.

    With ``cls_only`` the one query is ``<cls>``.
    """

    def __init__(
        self,
        config: ModelConfig,
        state: dict[str, np.ndarray],
        number: int,
        precision: str,
        *,
        cls_only: bool = False,
    ):
        self.n_heads, self.d, self.cls_only = config.n_heads, config.d_model, cls_only

        def part(name: str) -> tuple[np.ndarray, np.ndarray]:
            return state[f"layers.{number}.{name}.weight"], state[f"layers.{number}.{name}.bias"]

        weight, bias = (numbers.copy() for numbers in part("qkv"))
        for numbers in (weight, bias):
            numbers[: self.d] *= kernels.LOG2_E / np.sqrt(np.float32(self.d // self.n_heads))
        bias[self.d : 2 * self.d] = 0  # of the keys
        if cls_only:
            self.query = Linear(weight[: self.d], bias[: self.d], precision)
            self.key_value = Linear(weight[self.d :], bias[self.d :], precision)
        else:
            self.query_key_value = Linear(weight, bias, precision)
        out, expand, contract = (Linear(*part(name), precision) for name in ("out", "expand", "contract"))
        self.rest = out.arrays, part("norm1"), expand.arrays, contract.arrays, part("norm2"), EPSILON

    def forward(self, x: np.ndarray, b: int, t: int) -> np.ndarray:
        """Return the layer's values: of each token, in the place of ``x``, or of ``<cls>``."""
        if self.cls_only:
            key_value, x = self.key_value @ x, _cls(x, b)
            query = self.query @ x
        else:
            together = self.query_key_value @ x
            query, key_value = together[: self.d], together[self.d :]
        n_queries, attended = 1 if self.cls_only else t, _columns(*x.shape)
        attended[:, b * n_queries :] = 0
        kernels.attention(query, key_value, attended, self.n_heads, b, t, n_queries)
        kernels.finish_layer(attended, x, *self.rest)
        return x


def _cls(x: np.ndarray, b: int) -> np.ndarray:
    """Return the columns of ``<cls>``."""
    out = _columns(len(x), b)
    out[:, :b] = x[:, :b]
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

    batches = tk.equal_length_batches(tokens.lengths, tokens_per_batch, kernels.LANES)
    for n in in_threads(embed_batch, batches, threads):
        if progress is not None:
            progress(n)
    return vectors
