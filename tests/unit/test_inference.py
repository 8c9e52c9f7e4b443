"""The CPU's path is the model: every published variant, own models, whole and incomplete receptors."""

from airrvec.core.errors import InputError
from airrvec.model import transformer, weights
from airrvec.model.architecture import ModelConfig
from airrvec.model.cpu import inference, kernels
from airrvec.model.tokens import Tokens, tokenise
from airrvec.model.variants import VARIANTS

import numpy as np
import pyarrow as pa
import pytest
import torch
from test_model import reference_vectors, thousand_receptors, visible  # noqa: F401
from vectors_compared import largest_distance, multiplies_bf16

OWN = {
    "one head, wide": ModelConfig(n_layers=1, d_model=24, n_heads=1, d_feedforward=40),
    "heads of 5": ModelConfig(n_layers=2, d_model=15, n_heads=3, d_feedforward=31, embedding="blosum62"),
    "one chain, average": ModelConfig(loops=("cdr3b",), pooling="average", d_model=32, n_heads=2),
    "left-aligned": ModelConfig(embedding="left_aligned", d_model=48, n_heads=4, d_feedforward=100),
}

PRECISIONS = ["fp32", pytest.param("bf16", marks=multiplies_bf16)]


def on_a_cpu(loaded: weights.LoadedModel, tokens: Tokens, precision: str = "fp32") -> np.ndarray:
    return inference.embed(inference.Network(loaded.config, loaded.state, precision), tokens)


@pytest.mark.parametrize("name", VARIANTS)
def test_both_paths_give_sceptrs_vectors(name, thousand_receptors):  # noqa: F811
    loaded = weights.load(name)
    tokens = tokenise(thousand_receptors, loaded.config.loops)
    vectors = on_a_cpu(loaded, tokens)
    seen = visible(name, thousand_receptors)
    expected = reference_vectors(name, thousand_receptors.filter(pa.array(seen)))
    assert largest_distance(vectors[seen], expected) < 1e-5
    assert np.isnan(vectors[~seen]).all()
    assert largest_distance(vectors, transformer.embed(loaded.encoder, tokens)) < 1e-5


@pytest.mark.parametrize("name", OWN)
def test_both_paths_agree_for_an_own_model(name, thousand_receptors, tmp_path):  # noqa: F811
    torch.manual_seed(1)
    encoder = transformer.ReceptorEncoder(OWN[name])
    for parameter in encoder.parameters():  # biases and norms other than 0 and 1, vectors of tokens as learnt
        parameter.data = parameter.data / 3 + 0.1 * torch.randn_like(parameter)
    weights.save(encoder, "own", tmp_path / "own")
    loaded = weights.load(str(tmp_path / "own"))
    tokens = tokenise(thousand_receptors, loaded.config.loops)
    assert largest_distance(on_a_cpu(loaded, tokens), transformer.embed(encoder, tokens)) < 1e-5


@pytest.mark.parametrize("length", [2, 8, 15, 16, 17, 33, 120])
@pytest.mark.parametrize("n_receptors", [1, 3, 17])
def test_any_length_and_number_of_receptors(length, n_receptors):
    """Lengths on both sides of multiples of 8 and 16, by which the kernels go."""
    loaded = weights.load("sceptr")
    rng = np.random.default_rng(length)
    values = np.zeros((n_receptors, length, 4), np.uint8)
    values[:, 0, 0] = 2  # <cls>
    values[:, 1:, 0] = rng.integers(3, 23, (n_receptors, length - 1))
    values[:, 1:, 1] = np.arange(1, length)
    values[:, 1:, 2] = length - 1
    values[:, 1:, 3] = rng.integers(1, 7, (n_receptors, 1))
    tokens = Tokens(values.reshape(-1, 4), np.arange(n_receptors + 1) * length)
    vectors = on_a_cpu(loaded, tokens)
    assert largest_distance(vectors, transformer.embed(loaded.encoder, tokens)) < 1e-5


@pytest.mark.parametrize("precision", PRECISIONS)
def test_neither_order_nor_batches_change_a_bit(precision, thousand_receptors):  # noqa: F811
    loaded = weights.load("sceptr_average_pooling")
    network = inference.Network(loaded.config, loaded.state, precision)
    vectors = inference.embed(network, tokenise(thousand_receptors))
    order = np.random.default_rng(1).permutation(1000)
    shuffled = tokenise(thousand_receptors.take(pa.array(order)))
    for size in (1, 60, 5000):
        found = inference.embed(network, shuffled, tokens_per_batch=size)
        assert np.array_equal(found, vectors[order], equal_nan=True)


def rounded(array) -> np.ndarray:
    """To the eight binary digits of bfloat16, halves away from zero."""
    digits, power = np.frexp(array.astype(float))
    return np.ldexp(np.trunc(digits * 256 + np.copysign(0.5, digits)) / 256, power)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("shape", [(192, 64), (64, 256), (24, 24), (1, 1), (31, 15)])
@pytest.mark.parametrize("n_columns", [32, 64, 480])
def test_products_are_those_of_float64(precision, shape, n_columns):
    """Rows and what is summed on both sides of multiples of 2, 6 and 8."""
    rng = np.random.default_rng(5)
    weight, x = (
        rng.normal(size=shape).astype(np.float32),
        rng.normal(size=(shape[1], n_columns)).astype(np.float32),
    )
    bias = rng.normal(size=shape[0]).astype(np.float32)
    product = inference.Linear(weight, bias, precision) @ x
    expected = rounded(weight) @ rounded(x) if precision == "bf16" else weight.astype(float) @ x
    np.testing.assert_allclose(product, expected + bias[:, None], rtol=0, atol=1e-6 * (8 + shape[1]))


@multiplies_bf16
def test_bf16_on_a_cpu_is_near_and_reads_what_float32_reads(thousand_receptors):  # noqa: F811
    for name in ("sceptr", "sceptr_blosum", "sceptr_tiny"):
        loaded = weights.load(name)
        tokens = tokenise(thousand_receptors, loaded.config.loops)
        vectors = on_a_cpu(loaded, tokens, "bf16")
        assert 1e-4 < largest_distance(vectors, on_a_cpu(loaded, tokens)) < 0.05
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


@pytest.mark.parametrize(("scale", "tolerance"), [(1, 3e-6), (10, 1e-3)])
@pytest.mark.parametrize(("length", "n_queries"), [(1, 1), (3, 3), (19, 19), (19, 1)])
@pytest.mark.parametrize("heads", [1, 4, 6])
def test_attention_is_softmax_of_products(scale, tolerance, length, n_queries, heads):
    """Heads, keys and queries fewer than a block of sums, or no multiple; also all weight on one key."""
    d, b = 12, 32
    rng = np.random.default_rng(3)
    query = rng.normal(size=(d, n_queries * b)).astype(np.float32) * scale
    key_value = rng.normal(size=(2 * d, length * b)).astype(np.float32) * scale
    out = np.zeros_like(query)
    factor = kernels.LOG2_E / np.sqrt(d // heads).astype(np.float32)
    kernels.attention(query * factor, key_value, out, heads, b, length, n_queries)

    def by_head(x, n):
        return torch.tensor(x.astype(float).reshape(heads, d // heads, n, b).transpose(3, 0, 2, 1))

    parts = by_head(query, n_queries), by_head(key_value[:d], length), by_head(key_value[d:], length)
    expected = torch.nn.functional.scaled_dot_product_attention(*parts)
    np.testing.assert_allclose(by_head(out, n_queries), expected, atol=tolerance)


def test_the_rest_of_a_layer_is_torchs():
    """Projection, residual, norm, feed-forward, residual, norm."""
    d, wide, n = 20, 31, 64
    rng = np.random.default_rng(4)
    weights_of = [rng.normal(size=size) / size[1] ** 0.5 for size in ((d, d), (wide, d), (d, wide))]
    biases = [rng.normal(size=len(weight)) for weight in weights_of]
    norms = rng.normal(1, 0.3, (2, 2, d)).astype(np.float32)
    attended, x = rng.normal(3, 2, (2, d, n)).astype(np.float32)

    def norm(x, number):
        scale, shift = map(torch.tensor, norms[number])
        return torch.nn.functional.layer_norm(x, (d,), scale, shift, 1e-5)

    layers = [
        (torch.tensor(w, dtype=torch.float32), torch.tensor(b, dtype=torch.float32))
        for w, b in zip(weights_of, biases, strict=True)
    ]
    middle = norm(torch.tensor(x.T) + torch.nn.functional.linear(torch.tensor(attended.T), *layers[0]), 0)
    hidden = torch.nn.functional.linear(middle, *layers[1]).relu()
    expected = norm(middle + torch.nn.functional.linear(hidden, *layers[2]), 1)

    out, expand, contract = (inference.Linear(w.numpy(), b.numpy()).arrays for w, b in layers)
    kernels.finish_layer(
        attended, x, out, tuple(norms[0]), expand, contract, tuple(norms[1]), np.float32(1e-5)
    )
    np.testing.assert_allclose(x.T, expected, atol=5e-6)


def test_a_prepared_model_is_the_published_one(tmp_path):
    published = weights.load("sceptr_blosum")
    published.save(tmp_path / "model")
    prepared = weights.load(str(tmp_path / "model"))
    assert (prepared.name, prepared.checksum) == (published.name, published.checksum)
    assert prepared.config == published.config
    assert all(np.array_equal(prepared.state[name], published.state[name]) for name in published.state)
    assert prepared.state.keys() == published.state.keys()


def test_weights_of_another_shape_are_refused(tmp_path):
    weights.save(transformer.ReceptorEncoder(ModelConfig(d_model=16)), "own", tmp_path)
    text = (tmp_path / "config.json").read_text()
    (tmp_path / "config.json").write_text(text.replace('"d_model": 16', '"d_model": 32'))
    with pytest.raises(InputError, match=r"embedding.projection.weight is \(16, 29\) in the weights, but"):
        weights.load(str(tmp_path))
