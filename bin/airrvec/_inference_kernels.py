"""
What `airrvec.inference` does between two matrix products: attention, normalisation, embedding.

Arrays are transposed, (d, columns): a column a token, receptor after receptor, so that 16 neighbouring tokens
are 16 neighbouring numbers. The number of columns is a multiple of 16; what stands in those that are left
over means nothing. The kernels know no size of a model, and let other threads run.
"""

import numba
import numpy as np
from numpy import float32

from airrvec._lanes import LANES, add, divide, fill, load, maximum, multiply, power_of_two, store, subtract

ROWS = 8  # rows of a product that are summed at once, in a register each

_compiled = numba.njit(fastmath=True, nogil=True, cache=True)
LOG2_E = float32(1.4426950408889634)


@_compiled
def attention(query, key_value, query_bias, value_bias, out, n_heads, n_receptors, length, n_queries):
    """
    Self-attention of receptors of one length (`airrvec.model.Layer.attention`).

    The keys' bias is not needed: it adds the same to all scores of a query.

    Parameters
    ----------
    query : ndarray, shape (d, columns)
        A column a token, or one a receptor, its ``<cls>``, which alone asks then.
    key_value : ndarray, shape (2 d, columns)
        Keys above values, a column a token.
    query_bias, value_bias : ndarray, shape (d,)
    out : ndarray, shape (d, columns)
        Gets the attended values of the queries.
    n_heads, n_receptors, length, n_queries : int
        ``length`` is that of a receptor, in tokens; ``n_queries`` is as much, or 1.
    """
    d = len(query)
    hs = d // n_heads
    asked = min(LANES, n_queries)  # queries at once
    scale = fill(LOG2_E / np.sqrt(float32(hs)))  # softmax by powers of two
    k = np.zeros((hs, _up(length, ROWS)), float32)
    v = np.zeros((length, _up(hs, ROWS)), float32)
    q = np.zeros((hs, LANES), float32)
    scores = np.empty((k.shape[1], LANES), float32)
    attended = np.empty((v.shape[1], LANES), float32)
    for receptor in range(n_receptors):
        for head in range(n_heads):
            start = receptor * length
            for c in range(hs):
                for t in range(length):
                    k[c, t] = key_value[head * hs + c, start + t]
            for t in range(length):
                for c in range(hs):
                    v[t, c] = key_value[d + head * hs + c, start + t]
            for first in range(0, n_queries, LANES):
                # The last 16 queries overlap with those before them, and are the same again.
                column = receptor * n_queries + max(0, min(first, n_queries - LANES))
                for c in range(hs):
                    row = head * hs + c
                    if asked == LANES:
                        x = load(query, row, column)
                    else:
                        for lane in range(asked):
                            q[c, lane] = query[row, column + lane]
                        x = load(q, c, 0)
                    store(q, c, 0, multiply(add(x, fill(query_bias[row])), scale))
                _product(k, q, scores)  # (keys, 16)
                total = _exponentials(scores[:length])
                _product(v, scores[:length], attended)  # (hs, 16)
                for c in range(hs):
                    row = head * hs + c
                    x = add(divide(load(attended, c, 0), total), fill(value_bias[row]))
                    if asked == LANES:
                        store(out, row, column, x)
                    else:
                        store(attended, c, 0, x)
                        for lane in range(asked):
                            out[row, column + lane] = attended[c, lane]


@_compiled
def _up(n, multiple):
    return -(-n // multiple) * multiple


@_compiled
def _product(w, x, out):
    """``w.T @ x``: (m, n), (m, 16) → (n, 16), n a multiple of 8."""
    nothing = fill(float32(0))
    for i in range(0, w.shape[1], ROWS):
        a = b = c = d = e = f = g = h = nothing
        for j in range(len(w)):
            y = load(x, j, 0)
            a = add(a, multiply(y, fill(w[j, i])))
            b = add(b, multiply(y, fill(w[j, i + 1])))
            c = add(c, multiply(y, fill(w[j, i + 2])))
            d = add(d, multiply(y, fill(w[j, i + 3])))
            e = add(e, multiply(y, fill(w[j, i + 4])))
            f = add(f, multiply(y, fill(w[j, i + 5])))
            g = add(g, multiply(y, fill(w[j, i + 6])))
            h = add(h, multiply(y, fill(w[j, i + 7])))
        store(out, i, 0, a)
        store(out, i + 1, 0, b)
        store(out, i + 2, 0, c)
        store(out, i + 3, 0, d)
        store(out, i + 4, 0, e)
        store(out, i + 5, 0, f)
        store(out, i + 6, 0, g)
        store(out, i + 7, 0, h)


@_compiled
def _exponentials(scores):
    """Scores of 16 queries become 2^(score - largest), in place; returns their sums over the keys."""
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
    """``x`` becomes the layer norm of ``x + y + bias`` over the d numbers of each column (d, columns)."""
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


@_compiled
def _inverse_root(x):
    numbers = np.empty((1, LANES), float32)
    store(numbers, 0, 0, x)
    for lane in range(LANES):
        numbers[0, lane] = float32(1) / np.sqrt(numbers[0, lane])
    return load(numbers, 0, 0)


@_compiled
def add_and_rectify(x, bias):
    """``x`` becomes max(x + bias, 0): (d, columns)."""
    nothing = fill(float32(0))
    for i in range(len(x)):
        b = fill(bias[i])
        for column in range(0, x.shape[1], LANES):
            store(x, i, column, maximum(add(load(x, i, column), b), nothing))


@_compiled
def embed_tokens(words, relative, places, of_words, of_places, out):
    """
    ``out[:, n] = of_words[:, words[n]] + relative[n] · of_places[:, places[n]]``: (d, columns).

    Parameters
    ----------
    words, places : ndarray of int32, shape (n_tokens,)
    relative : ndarray of float32, shape (n_tokens,)
    of_words, of_places : ndarray, shape (d, words) and (d, places)
    """
    for i in range(len(out)):
        for n in range(len(words)):
            out[i, n] = of_words[i, words[n]] + relative[n] * of_places[i, places[n]]
        for n in range(len(words), out.shape[1]):
            out[i, n] = 0
