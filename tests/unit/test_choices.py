"""Devices, species and other words that name a choice mean what they say; any other word is refused."""

import argparse
from typing import get_args

import airrvec
from airrvec import encoders
from airrvec.app import api
from airrvec.core import devices, schema
from airrvec.core.errors import InputError
from airrvec.encoders.sceptr import Sceptr
from airrvec.input import reading
from airrvec.input.normalise import normalise
from airrvec.model import transformer
from airrvec.repertoire import clustering
from airrvec.search import neighbours
from airrvec.training.presets import training_options

import numpy as np
import pytest
from inputs import ROOT
from scipy import sparse

LABELLED = ROOT / "assets/demo/dash_human.csv"


def test_a_device_is_the_one_that_computes(monkeypatch):
    frame = airrvec.read(LABELLED).head(3)
    computed = []

    def on_gpu(encoder, tokens, *, device, **options):
        computed.append(device)
        return np.zeros((len(tokens.lengths), 64), np.float32)

    monkeypatch.setattr(transformer, "embed", on_gpu)
    monkeypatch.setattr(devices, "require_torch", lambda: None)
    for has_gpu, device, expected in (
        *((True, device, ["cuda"]) for device in ("auto", "gpu")),
        *((False, device, []) for device in ("auto", "cpu")),
        (True, "cpu", []),
    ):
        monkeypatch.setattr(devices, "has_gpu", lambda has_gpu=has_gpu: has_gpu)
        computed.clear()
        airrvec.embed(frame, device=device)
        assert computed == expected, (has_gpu, device)


def test_a_gpu_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(devices, "has_gpu", lambda: False)
    frame = airrvec.read(LABELLED).head(3)
    message = "the device gpu was requested, but there is no GPU here. Choose auto"
    with pytest.raises(InputError, match=message):
        airrvec.embed(frame, device="gpu")
    for name in ("sceptr", "tcr_bert"):
        with pytest.raises(InputError, match=message):
            encoders.load(name, device="gpu", hub_cache="x")
    with pytest.raises(InputError, match=message):
        training_options(argparse.Namespace(device="gpu"))


@pytest.mark.parametrize("device", ["GPU", "cuda", "tpu", "", None])
def test_another_word_for_a_device_is_refused(device):
    message = f"device is {device!r}, and must be auto, cpu or gpu"
    frame = airrvec.read(LABELLED).head(3)
    with pytest.raises(InputError, match=message):
        airrvec.embed(frame, device=device)
    for name in ("sceptr", "tcrdist", "tcr_bert"):
        with pytest.raises(InputError, match=message):
            encoders.load(name, device=device, hub_cache="x")


def test_words_that_are_no_choice_are_refused(tmp_path):
    message = "species is 'human', and must be homosapiens or musmusculus"
    with pytest.raises(InputError, match=message):
        airrvec.read(LABELLED, species="human")
    with pytest.raises(InputError, match="precision is 'fp16', and must be auto, fp32 or bf16"):
        Sceptr("sceptr", precision="fp16")
    source = reading.open_chains(LABELLED)
    with pytest.raises(InputError, match="multichain is 'both', and must be top, split or drop"):
        normalise(source, sample_id="x", species="homosapiens", multichain="both")
    with pytest.raises(InputError, match="method is 'louvain', and must be leiden or components"):
        clustering.assign_clusters(sparse.csr_array((3, 3)), "louvain")
    with pytest.raises(InputError, match="device is 'tpu', and must be cpu or gpu"):
        neighbours.nearest(np.ones((1, 3)), np.ones((1, 3)), 1, device="tpu")


def test_the_types_name_species_and_devices():
    assert get_args(api.Species) == tuple(schema.SPECIES)
    assert set(get_args(api.Device)) == set(devices.DEVICES)
