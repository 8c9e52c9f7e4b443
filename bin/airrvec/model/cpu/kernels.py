"""
Kernels of `airrvec.model.cpu.inference`: matrix products, attention, normalisation, embedding.

Arrays are transposed, (d, columns): one column per token, receptors concatenated, so that 16 neighbouring
tokens are 16 neighbouring numbers. The number of columns is a multiple of 16 and at least `WIDTH`; surplus
columns hold arbitrary numbers. The kernels work for any model size and release the interpreter lock.
"""

from airrvec.model.cpu.lanes import (
    COLUMNS,
    LANES,
    ROWS,
    add,
    divide,
    fill,
    load,
    maximum,
    multiply,
    multiply_block,
    multiply_block_of_pairs,
    multiply_narrow_block,
    pairs,
    power_of_two,
    store,
    subtract,
)

import numba
import numpy as np
from numpy import float32

WIDTH = COLUMNS * LANES  # columns of a product computed at once

_compiled = numba.njit(fastmath=True, nogil=True, cache=True)
# Compiled separately, a function gives different last digits when freshly compiled and when cached.
_inlined = numba.njit(fastmath=True, nogil=True, forceinline=True)
LOG2_E = float32(1.4426950408889634)


@_compiled
def matrix_product(weight, x, out):
    """
    Multiply matrices in float32. A column depends on no other column, hence not on the batch.

    Parameters
    ----------
    weight : ndarray, shape (m / ROWS, n, ROWS)
        Left factor, from `pack_weights`.
    x : ndarray, shape (n, columns)
        Right factor.
    out : ndarray, shape (m, columns)
        Receives the product.
    """
    part = np.empty((len(x), WIDTH), float32)
    for first in range(0, x.shape[1], WIDTH):
        column = min(first, x.shape[1] - WIDTH)  # the last block may overlap the one before
        for j in range(len(x)):
            for lane in range(0, WIDTH, LANES):
                store(part, j, lane, load(x, j, column + lane))
        for i in range(len(weight)):
            multiply_block(weight[i], part, out, i * ROWS, column)


@_compiled
def matrix_product_bf16(weight, x, out):
    """Multiply like `matrix_product`, factors rounded to bfloat16; ``weight``: (m / ROWS, n / 2, ROWS)."""
    n = len(x)
    part = np.empty((weight.shape[1], WIDTH), float32)
    for first in range(0, x.shape[1], WIDTH):
        column = min(first, x.shape[1] - WIDTH)
        for j in range(0, n, 2):
            for lane in range(0, WIDTH, LANES):
                second = load(x, j + 1, column + lane) if j + 1 < n else fill(float32(0))
                store(part, j // 2, lane, pairs(load(x, j, column + lane), second))
        for i in range(len(weight)):
            multiply_block_of_pairs(weight[i], part, out, i * ROWS, column)


def pack_weights(weight: np.ndarray, precision: str) -> np.ndarray:
    """
    Return weights (m, n) in the order in which the products read them: (m / ROWS, n, ROWS), zero-padded.

    For ``bf16`` two neighbours of a row, rounded, share one float32: (m / ROWS, n / 2, ROWS).
    """
    if precision == "bf16":
        rounded = np.pad(weight, ((0, 0), (0, weight.shape[1] % 2))).view(np.uint32) + (1 << 15)
        weight = (rounded[:, ::2] >> 16 | rounded[:, 1::2] & 0xFFFF0000).view(np.float32)
    weight = np.pad(weight, ((0, -len(weight) % ROWS), (0, 0)))
    return np.ascontiguousarray(weight.reshape(-1, ROWS, weight.shape[1]).swapaxes(1, 2))


@_compiled
def attention(query, key_value, query_bias, value_bias, out, n_heads, n_receptors, length, n_queries):
    """
    Compute self-attention of receptors of one length (`airrvec.model.transformer.Layer.attention`).

    The keys' bias is omitted: it adds the same number to all scores of a query.

    Parameters
    ----------
    query : ndarray, shape (d, columns)
        One column per token; or one per receptor, if ``<cls>`` is the only query.
    key_value : ndarray, shape (2 d, columns)
        Keys above values, one column per token.
    query_bias, value_bias : ndarray, shape (d,)
        Biases of queries and values.
    out : ndarray, shape (d, columns)
        Receives the attended values of the queries.
    n_heads, n_receptors, length, n_queries : int
        ``length``: tokens of a receptor; ``n_queries``: queries of a receptor, ``length`` or 1.
    """
    d = len(query)
    hs = d // n_heads
    n_at_once = min(LANES, n_queries)  # queries
    scale = fill(LOG2_E / np.sqrt(float32(hs)))  # softmax by powers of two
    k = np.zeros((_blocks(length), hs, ROWS), float32)
    v = np.zeros((_blocks(hs), length, ROWS), float32)
    q = np.zeros((hs, LANES), float32)
    scores = np.empty((len(k) * ROWS, LANES), float32)
    attended = np.empty((len(v) * ROWS, LANES), float32)
    for receptor in range(n_receptors):
        for head in range(n_heads):
            start = receptor * length
            for c in range(hs):
                for t in range(length):
                    k[t // ROWS, c, t % ROWS] = key_value[head * hs + c, start + t]
            for t in range(length):
                for c in range(hs):
                    v[c // ROWS, t, c % ROWS] = key_value[d + head * hs + c, start + t]
            for first in range(0, n_queries, LANES):
                # The last 16 queries may overlap those before them, with the same results.
                column = receptor * n_queries + max(0, min(first, n_queries - LANES))
                for c in range(hs):
                    row = head * hs + c
                    if n_at_once == LANES:
                        x = load(query, row, column)
                    else:
                        for lane in range(n_at_once):
                            q[c, lane] = query[row, column + lane]
                        x = load(q, c, 0)
                    store(q, c, 0, multiply(add(x, fill(query_bias[row])), scale))
                _product(k, q, scores)  # (keys, 16)
                total = _exponentials(scores[:length])
                _product(v, scores[:length], attended)  # (hs, 16)
                for c in range(hs):
                    row = head * hs + c
                    x = add(divide(load(attended, c, 0), total), fill(value_bias[row]))
                    if n_at_once == LANES:
                        store(out, row, column, x)
                    else:
                        store(attended, c, 0, x)
                        for lane in range(n_at_once):
                            out[row, column + lane] = attended[c, lane]


@_inlined
def _blocks(n):
    """Return the number of blocks of `ROWS` rows that hold n rows."""
    return -(-n // ROWS)


@_inlined
def _product(w, x, out):
    """Compute ``w.T @ x``: (m / ROWS, n, ROWS), (n, 16) → (m, 16)."""
    for i in range(len(w)):
        multiply_narrow_block(w[i], x, out, i * ROWS, 0)


@_inlined
def _exponentials(scores):
    """Replace scores of 16 queries by 2^(score - largest); return the sums over the keys."""
    largest = load(scores, 0, 0)
    for j in range(1, len(scores)):
        largest = maximum(largest, load(scores, j, 0))
    total = fill(float32(0))
    for j in range(len(scores)):
        power = power_of_two(subtract(load(scores, j, 0), largest))
        store(scores, j, 0, power)
        total = add(total, power)
    return total


@_compiled
def add_and_normalise(x, y, bias, scale, shift, epsilon):
    """Replace ``x`` by the layer norm of ``x + y + bias`` over the d numbers of each column (d, columns)."""
    d = len(x)
    share = fill(float32(1) / float32(d))
    centred = np.empty((d, LANES), float32)
    for column in range(0, x.shape[1], LANES):
        mean = fill(float32(0))
        for i in range(d):
            z = add(load(x, i, column), add(load(y, i, column), fill(bias[i])))
            store(centred, i, 0, z)
            mean = add(mean, z)
        mean = multiply(mean, share)
        variance = fill(float32(0))
        for i in range(d):
            z = subtract(load(centred, i, 0), mean)
            store(centred, i, 0, z)
            variance = add(variance, multiply(z, z))
        factor = _inverse_root(add(multiply(variance, share), fill(epsilon)))
        for i in range(d):
            z = multiply(load(centred, i, 0), multiply(factor, fill(scale[i])))
            store(x, i, column, add(z, fill(shift[i])))


@_inlined
def _inverse_root(x):
    numbers = np.empty((1, LANES), float32)
    store(numbers, 0, 0, x)
    for lane in range(LANES):
        numbers[0, lane] = float32(1) / np.sqrt(numbers[0, lane])
    return load(numbers, 0, 0)


@_compiled
def add_and_rectify(x, bias):
    """Replace ``x`` by max(x + bias, 0): (d, columns)."""
    nothing = fill(float32(0))
    for i in range(len(x)):
        b = fill(bias[i])
        for column in range(0, x.shape[1], LANES):
            store(x, i, column, maximum(add(load(x, i, column), b), nothing))


@_compiled
def embed_tokens(words, relative, places, word_vectors, place_vectors, out):
    """
    Set ``out[:, n] = of_words[:, words[n]] + relative[n] · of_places[:, places[n]]``: (d, columns).

    Parameters
    ----------
    words, places : ndarray of int32, shape (n_tokens,)
        Columns of ``word_vectors`` (pairs of residue and loop) and of ``place_vectors`` (positions).
    relative : ndarray of float32, shape (n_tokens,)
        Factors of the position vectors.
    word_vectors, place_vectors : ndarray, shape (d, words) and (d, places)
        Vectors of pairs of residue and loop, and of positions.
    """
    for i in range(len(out)):
        for n in range(len(words)):
            out[i, n] = word_vectors[i, words[n]] + relative[n] * place_vectors[i, places[n]]
        for n in range(len(words), out.shape[1]):
            out[i, n] = 0
