"""Embedding in portions, by threads, and on devices."""

import subprocess
import sys
import threading
from types import SimpleNamespace

from airrvec.core import devices, runtime, tables
from airrvec.core.errors import InputError
from airrvec.encoders.sceptr import Sceptr
from airrvec.model import transformer, weights
from airrvec.model.tokens import tokenise

import numpy as np
import pytest
import torch
from inputs import ROOT
from test_model import thousand_receptors  # noqa: F401
from vectors_compared import largest_distance, multiplies_bf16


@pytest.mark.parametrize(
    ("cpus", "precision"), [(1, "fp32"), (2, "fp32"), pytest.param(2, "bf16", marks=multiplies_bf16)]
)
def test_a_shard_in_portions_is_the_whole(cpus, precision, thousand_receptors, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.syspath_prepend(ROOT / "bin")
    import embed_receptors

    monkeypatch.setattr(embed_receptors, "PORTION", 90)
    receptors = thousand_receptors.append_column("receptor_id_", thousand_receptors["receptor_id"])
    tables.write(receptors, tmp_path / "in.parquet")
    weights.load("sceptr").save(tmp_path / "model")
    arguments = [tmp_path / "in.parquet", "--model", tmp_path / "model", "--out", tmp_path / "out.parquet"]
    arguments += ["--threads", cpus, "--device", "cpu", "--precision", precision]
    embed_receptors.main([str(word) for word in arguments])
    found = tables.read(tmp_path / "out.parquet")
    assert found["receptor_id"].equals(receptors["receptor_id"])
    expected = Sceptr("sceptr", precision=precision).embed(receptors)
    assert np.array_equal(found.drop("receptor_id").to_pandas().to_numpy(), expected, equal_nan=True)
    metadata = tables.metadata(tmp_path / "out.parquet")
    assert {name: metadata[name] for name in ("model", "device", "precision")} == {
        "model": "sceptr", "device": "cpu", "precision": precision,
    }  # fmt: skip


def test_a_gpu_computes_for_one_thread(thousand_receptors, tmp_path, monkeypatch):  # noqa: F811
    """Two threads that moved one model at once gave it weights of freed memory."""
    monkeypatch.syspath_prepend(ROOT / "bin")
    import embed_receptors

    threads = []

    def on_gpu(encoder, tokens, *, device, **options):
        assert device == "cuda"
        threads.append(threading.current_thread())
        return embed(encoder, tokens, device="cpu", **options)

    embed = transformer.embed
    monkeypatch.setattr(transformer, "embed", on_gpu)
    monkeypatch.setattr(devices, "has_gpu", lambda: True)
    monkeypatch.setattr(embed_receptors, "GPU_PORTION", 90)
    tables.write(thousand_receptors, tmp_path / "in.parquet")
    arguments = [tmp_path / "in.parquet", "--device", "gpu", "--out", tmp_path / "out.parquet"]
    embed_receptors.main([str(word) for word in arguments])
    assert threads == [threading.main_thread()] * 12
    found = tables.read(tmp_path / "out.parquet")
    assert found["receptor_id"].equals(thousand_receptors["receptor_id"])
    expected = Sceptr("sceptr").embed(thousand_receptors)
    vectors = found.drop("receptor_id").to_pandas().to_numpy()
    assert np.allclose(vectors, expected, atol=1e-5, equal_nan=True)


def test_a_model_that_is_on_its_device_is_not_moved(thousand_receptors, monkeypatch):  # noqa: F811
    loaded = weights.load("sceptr_tiny")
    tokens = tokenise(thousand_receptors.slice(0, 5), loaded.config.loops)
    monkeypatch.setattr(loaded.encoder, "to", lambda device: pytest.fail("moved"))
    transformer.embed(loaded.encoder, tokens)


def test_vectors_that_are_no_numbers_are_an_error(thousand_receptors):  # noqa: F811
    loaded = weights.load("sceptr_tiny")
    encoder = transformer.ReceptorEncoder(loaded.config)
    torch.nn.init.constant_(encoder.layers[0].out.weight, torch.nan)
    tokens = tokenise(thousand_receptors.slice(0, 5), loaded.config.loops)
    with pytest.raises(RuntimeError, match=r"cpu computed vectors of . receptors? that are not numbers"):
        transformer.embed(encoder, tokens)


def test_who_embeds_a_folder_imports_no_torch(tmp_path):
    weights.load("sceptr_tiny").save(tmp_path / "model")
    program = (
        "import sys\nfrom airrvec.encoders.sceptr import Sceptr\n"
        "Sceptr(sys.argv[1]).network\nassert 'torch' not in sys.modules"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "model")]
    subprocess.run(command, check=True, env={"PYTHONPATH": str(ROOT / "bin")})


def test_errors_of_threads_arrive_and_order_stays():
    assert list(runtime.in_threads(lambda n: -n, iter(range(9)), 2)) == [-n for n in range(9)]
    with pytest.raises(ZeroDivisionError):
        list(runtime.in_threads(lambda n: 1 / n, iter([1, 0]), 2))


def test_devices_and_precisions(monkeypatch):
    monkeypatch.setattr(devices, "has_gpu", lambda: False)
    assert devices.choose_device("auto", "auto") == devices.choose_device("cpu", "fp32") == ("cpu", "fp32")
    with pytest.raises(InputError, match="the device gpu was requested, but there is no GPU here"):
        devices.choose_device("gpu", "auto")
    monkeypatch.setattr(devices, "has_bf16", lambda: True)
    assert devices.choose_device("auto", "bf16") == devices.choose_device("cpu", "bf16") == ("cpu", "bf16")
    monkeypatch.setattr(devices, "has_bf16", lambda: False)
    with pytest.raises(InputError, match="bf16 needs a GPU or a processor with AVX-512 BF16"):
        devices.choose_device("auto", "bf16")
    monkeypatch.setattr(devices, "has_gpu", lambda: True)
    assert devices.choose_device("auto", "auto") == ("gpu", "fp32")
    assert devices.choose_device("cpu", "auto") == ("cpu", "fp32")
    assert devices.choose_device("gpu", "bf16") == ("gpu", "bf16")
    with pytest.raises(InputError, match="bf16 needs a GPU or a processor with AVX-512 BF16"):
        devices.choose_device("cpu", "bf16")


def test_bf16_is_near(thousand_receptors):  # noqa: F811
    """torch's path on its CPU device."""
    encoder, tokens = weights.load("sceptr").encoder, tokenise(thousand_receptors.slice(0, 200))
    distance = largest_distance(
        transformer.embed(encoder, tokens, precision="bf16"), transformer.embed(encoder, tokens)
    )
    assert 1e-4 < distance < 0.1


def test_vectors_are_read_when_they_have_arrived(thousand_receptors, monkeypatch):  # noqa: F811
    """As from a GPU, whose vectors come later than the call that asks for them; two batches at a time."""
    encoder, tokens = weights.load("sceptr_tiny").encoder, tokenise(thousand_receptors)
    expected, start, on_the_way = transformer.embed(encoder, tokens), transformer._start, []

    def late(*arguments):
        vectors, _ = start(*arguments)
        returned = torch.full_like(vectors, np.nan)
        on_the_way.append(len(vectors))
        assert len(on_the_way) <= 2

        def arrive():
            on_the_way.pop(0)
            returned.copy_(vectors)

        return returned, SimpleNamespace(synchronize=arrive)

    monkeypatch.setattr(transformer, "_start", late)
    found = transformer.embed(encoder, tokens, tokens_per_batch=2000)
    assert not on_the_way
    assert largest_distance(found, expected) < 1e-5


def test_a_batch_that_does_not_fit_is_halved(thousand_receptors, monkeypatch, capsys):  # noqa: F811
    encoder, tokens = weights.load("sceptr_tiny").encoder, tokenise(thousand_receptors)
    expected = transformer.embed(encoder, tokens)
    forward, sizes = encoder.forward, []

    def small_memory(batch):
        if batch.shape[0] * batch.shape[1] > 600:
            raise torch.OutOfMemoryError("no memory")
        sizes.append(len(batch))
        return forward(batch)

    monkeypatch.setattr(encoder, "forward", small_memory)
    done = []
    found = transformer.embed(encoder, tokens, tokens_per_batch=5000, progress=done.append)
    assert largest_distance(found, expected) < 1e-5
    assert sum(done) == sum(sizes) == np.isfinite(expected[:, 0]).sum()
    said = capsys.readouterr().err.splitlines()
    assert 1 <= len(said) <= 4  # what did not fit is not tried again
    assert "receptors do not fit into memory; taking half as many" in said[0]
