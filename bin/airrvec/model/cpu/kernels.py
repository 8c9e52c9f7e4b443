"""
Kernels of `airrvec.model.cpu.inference`: matrix products, attention, normalisation, embedding.

Arrays are transposed, (d, columns): one column per token. The receptors of a batch have one length; column
``t * B + b`` is token t of receptor b, and B is a multiple of 16, so that a token of 16 receptors is 16
neighbouring numbers. The number of columns is a multiple of `WIDTH`; surplus columns hold arbitrary numbers.
No column depends on another receptor's, hence not on the batch. The kernels work for any model size and
release the interpreter lock.
"""

from airrvec.core.compiled import compiled_fast, inlined_fast
from airrvec.model.cpu.lanes import (
    COLUMNS,
    FIRSTS,
    LANES,
    ROWS,
    SECONDS,
    add,
    divide,
    fill,
    inverse_root,
    load,
    maximum,
    multiply,
    multiply_and_add,
    multiply_pairs_and_add,
    pairs,
    power_of_two,
    store,
    subtract,
    sum_of_products,
    sums_of_block,
    sums_of_column,
    sums_of_row,
)

import numba
import numpy as np
from numba.extending import overload
from numpy import float32

WIDTH = COLUMNS * LANES  # columns of a product computed at once

LOG2_E = float32(1.4426950408889634)  # softmax by powers of two
LINE = 16  # float32 of a line of the processor's cache, 64 bytes


def pack_weights(weight: np.ndarray, precision: str = "fp32") -> np.ndarray:
    """
    Return weights (m, n) in the order in which the products read them: (m / ROWS, n, ROWS), zero-padded.

    For ``bf16`` two neighbours of a row, rounded, share one unsigned integer: (m / ROWS, n / 2, ROWS).
    """
    if precision == "bf16":
        rounded = np.pad(weight, ((0, 0), (0, weight.shape[1] % 2))).view(np.uint32) + (1 << 15)
        weight = rounded[:, ::2] >> 16 | rounded[:, 1::2] & 0xFFFF0000
    weight = np.pad(weight, ((0, -len(weight) % ROWS), (0, 0)))
    return np.ascontiguousarray(weight.reshape(-1, ROWS, weight.shape[1]).swapaxes(1, 2))


@compiled_fast
def lines(n_rows, width):
    """Return an uninitialised array (n_rows, width) that begins with a line of the processor's cache."""
    numbers = np.empty(n_rows * width + LINE, float32)
    start = -(numbers.ctypes.data // 4) % LINE
    return numbers[start : start + n_rows * width].reshape(n_rows, width)


def _product(weight, bias, x, out, column):
    """Set `WIDTH` columns of ``out``, from ``column`` on, to ``weight @ x + bias``; ``x``: (n, `WIDTH`)."""
    raise NotImplementedError  # compiled code alone


@overload(_product, jit_options={"fastmath": True, "nogil": True, "forceinline": True})
def _product_of(weight, bias, x, out, column):
    def in_float32(weight, bias, x, out, column):
        for i in range(len(weight)):
            multiply_and_add(weight[i], x, out, i * ROWS, column, bias)

    def in_bfloat16(weight, bias, x, out, column):
        rounded = lines(weight.shape[1], WIDTH)
        for j in range(0, len(x), 2):
            for lane in range(0, WIDTH, LANES):
                second = load(x, j + 1, lane) if j + 1 < len(x) else fill(float32(0))
                store(rounded, j // 2, lane, pairs(load(x, j, lane), second))
        for i in range(len(weight)):
            multiply_pairs_and_add(weight[i].view(float32), rounded, out, i * ROWS, column, bias)

    return in_float32 if weight.dtype == numba.float32 else in_bfloat16


@inlined_fast
def copy_strip(x, column, strip):
    """Set the first rows of ``strip``, as many as ``x`` has, to its `WIDTH` columns from ``column`` on."""
    for j in range(len(x)):
        for lane in range(0, WIDTH, LANES):
            store(strip, j, lane, load(x, j, column + lane))


@compiled_fast
def linear(weight, bias, x, out):
    """
    Set ``out = weight @ x + bias``.

    Parameters
    ----------
    weight : ndarray, shape (m / ROWS, n, ROWS)
        From `pack_weights`.
    bias : ndarray, shape (m padded to ROWS,)
    x : ndarray, shape (n, columns)
    out : ndarray, shape (m padded to ROWS, columns)
    """
    part = lines(len(x), WIDTH)
    for column in range(0, x.shape[1], WIDTH):
        copy_strip(x, column, part)
        _product(weight, bias, part, out, column)


@compiled_fast
def finish_layer(attended, x, out, norm1, expand, contract, norm2, epsilon):
    """
    Replace ``x`` by what a layer makes of it and of the attended values: all but the attention.

    `WIDTH` columns go through all of it at once, and stay in the processor's nearest cache.

    Parameters
    ----------
    attended, x : ndarray, shape (d, columns)
    out, expand, contract : tuple of ndarray
        Weights and biases of the projection of attended values and of the feed-forward, as in `linear`.
    norm1, norm2 : tuple of ndarray, shape (d,)
        Scale and shift of the layer norms.
    epsilon : float32
        Of the layer norms.
    """
    d = len(x)
    part = lines(d, WIDTH)
    hidden = lines(len(expand[1]), WIDTH)
    change = lines(len(out[1]), WIDTH)
    for column in range(0, x.shape[1], WIDTH):
        copy_strip(attended, column, part)
        _product(out[0], out[1], part, change, 0)
        copy_strip(x, column, part)
        _add_and_normalise(part, change, norm1, epsilon)
        _product(expand[0], expand[1], part, hidden, 0)
        _rectify(hidden)
        _product(contract[0], contract[1], hidden, change, 0)
        _add_and_normalise(part, change, norm2, epsilon)
        for j in range(d):
            for lane in range(0, WIDTH, LANES):
                store(x, j, column + lane, load(part, j, lane))


@inlined_fast
def _rectify(x):
    """Replace x by max(x, 0)."""
    for i in range(len(x)):
        for lane in range(0, WIDTH, LANES):
            store(x, i, lane, maximum(load(x, i, lane), fill(float32(0))))


@inlined_fast
def _add_and_normalise(x, y, norm, epsilon):
    """Replace ``x`` by the layer norm of ``x + y`` over the d numbers of each column; (d, `WIDTH`)."""
    scale, shift = norm
    d = len(x)
    share = fill(float32(1) / float32(d))
    for lane in range(0, WIDTH, LANES):
        mean = fill(float32(0))
        for i in range(d):
            z = add(load(x, i, lane), load(y, i, lane))
            store(x, i, lane, z)
            mean = add(mean, z)
        mean = multiply(mean, share)
        variance = fill(float32(0))
        for i in range(d):
            z = subtract(load(x, i, lane), mean)
            store(x, i, lane, z)
            variance = add(variance, multiply(z, z))
        factor = inverse_root(add(multiply(variance, share), fill(epsilon)))
        for i in range(d):
            z = multiply(load(x, i, lane), multiply(factor, fill(scale[i])))
            store(x, i, lane, add(z, fill(shift[i])))


@compiled_fast
def attention(query, key_value, out, n_heads, n_receptors, length, n_queries):
    """
    Compute self-attention of receptors of one length (`airrvec.model.transformer.Layer.attention`).

    The keys' bias is omitted: it adds the same number to all scores of a query.

    Parameters
    ----------
    query : ndarray, shape (d, columns)
        Queries, times `LOG2_E` / √(d / n_heads): one column per token, or one per receptor, if ``<cls>`` is
        the only query.
    key_value : ndarray, shape (2 d, columns)
        Keys above values, one column per token.
    out : ndarray, shape (d, columns)
        Receives the attended values of the queries.
    n_heads, n_receptors, length, n_queries : int
        ``n_receptors``: B, a multiple of 16; ``length``: tokens of a receptor; ``n_queries``: its queries,
        ``length`` or 1.
    """
    d, width, columns = len(query), query.shape[1], key_value.shape[1]
    hs = d // n_heads
    n_at_once = min(FIRSTS, n_queries)
    scores = lines(FIRSTS * length, LANES)
    sums = lines(FIRSTS * hs, LANES)
    shares = lines(FIRSTS, LANES)
    for head in range(n_heads):
        for lane in range(0, n_receptors, LANES):
            keys = head * hs * columns + lane
            values = keys + d * columns
            for step in range(0, n_queries, FIRSTS):
                first = min(step, n_queries - n_at_once)  # the last queries may overlap those before them
                start = head * hs * width + first * n_receptors + lane
                place = (start, width, n_receptors)
                _sums(query, place, key_value, (keys, columns, n_receptors), scores, n_at_once, length, hs)
                for i in range(n_at_once):
                    total = _exponentials(scores, i * length, length)
                    store(shares, i, 0, divide(fill(float32(1)), total))
                place = (0, LANES, length * LANES)
                _sums(scores, place, key_value, (values, n_receptors, columns), sums, n_at_once, hs, length)
                for i in range(n_at_once):
                    column, share = (first + i) * n_receptors + lane, load(shares, i, 0)
                    for c in range(hs):
                        store(out, head * hs + c, column, multiply(load(sums, i * hs + c, 0), share))


@inlined_fast
def _sums(x, x_place, y, y_place, out, n_firsts, n_seconds, n_steps):
    """Set vector ``i · n_seconds + j`` of ``out`` to ``Σ x[step, i] · y[step, j]``: `lanes.sums_of_block`."""
    many = n_seconds >= SECONDS
    n_at_once = SECONDS if many else 1
    for step in range(0, n_seconds, n_at_once):
        j = min(step, n_seconds - n_at_once)  # the last block may overlap the one before
        second = (y_place[0] + j * y_place[2], y_place[1], y_place[2])
        place = (j * LANES, n_seconds * LANES, LANES)
        if n_firsts == FIRSTS and many:
            sums_of_block(x, x_place, y, second, out, place, n_steps)
        elif n_firsts == FIRSTS:
            sums_of_column(x, x_place, y, second, out, place, n_steps)
        else:
            for i in range(n_firsts):
                one = (x_place[0] + i * x_place[2], x_place[1], x_place[2])
                here = (place[0] + i * place[1], place[1], place[2])
                if many:
                    sums_of_row(x, one, y, second, out, here, n_steps)
                else:
                    sum_of_products(x, one, y, second, out, here, n_steps)


@inlined_fast
def _exponentials(scores, start, n):
    """Replace n scores by 2^(score - largest); return their sums, of 16 queries."""
    largest = load(scores, start, 0)
    for j in range(start + 1, start + n):
        largest = maximum(largest, load(scores, j, 0))
    total = fill(float32(0))
    for j in range(start, start + n):
        power = power_of_two(subtract(load(scores, j, 0), largest))
        store(scores, j, 0, power)
        total = add(total, power)
    return total


@compiled_fast
def embed_tokens(tokens, n_loops, word_vectors, factors, position_vectors, out):
    """
    Set column n of ``out`` to token n's vector: residue's and loop's, plus a factor times its position's.

    Parameters
    ----------
    tokens : ndarray of uint8, shape (n_tokens, 4)
        Residue, position, length and loop.
    n_loops : int
        ``word_vectors`` has the pairs of residue and loop at ``residue · n_loops + loop``.
    word_vectors : ndarray of float32, shape (d, n_residues n_loops)
    factors : ndarray of float32, shape (lengths, positions)
    position_vectors : ndarray of float32, shape (d, positions) or (d, 1)
    out : ndarray of float32, shape (d, columns)
        0 in columns beyond the tokens.
    """
    n_tokens = len(tokens)
    words, positions = np.empty(n_tokens, np.int32), np.zeros(n_tokens, np.int32)
    shares = np.empty(n_tokens, np.float32)
    for n in range(n_tokens):
        residue, position, length, loop = tokens[n, 0], tokens[n, 1], tokens[n, 2], tokens[n, 3]
        words[n] = residue * n_loops + loop
        shares[n] = factors[length, position]
        if position_vectors.shape[1] > 1:
            positions[n] = position
    for i in range(len(out)):
        for n in range(n_tokens):
            out[i, n] = word_vectors[i, words[n]] + shares[n] * position_vectors[i, positions[n]]
        for n in range(n_tokens, out.shape[1]):
            out[i, n] = 0
