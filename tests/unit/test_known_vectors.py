"""Known vectors are not made again, in one calibration and in those of other references."""

from airrvec.annotation.known_vectors import KnownVectors
from airrvec.core import tables
from airrvec.core.chains import CHAIN_CLASSES, with_chains
from airrvec.encoders.sceptr import Sceptr
from airrvec.synthetic.synthesis import synthesise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from inputs import labelled_cells

import calibrate_annotation

RECEPTORS = tables.distinct_receptors(synthesise(60, seed=1))


class Counted:
    """The encoder, and how many receptors it was given."""

    def __init__(self):
        self.encoder, self.n = Sceptr("sceptr", threads=1), []

    def __call__(self, receptors: pa.Table) -> np.ndarray:
        self.n.append(len(receptors))
        return self.encoder.embed(receptors)


def test_each_receptor_is_embedded_once():
    counted = Counted()
    embed = KnownVectors(counted)
    embed.learn(RECEPTORS.slice(0, 20), RECEPTORS.slice(10, 20))
    embed.learn(RECEPTORS.slice(20, 20))
    embed.learn(RECEPTORS.slice(0, 40))
    np.testing.assert_array_equal(embed(RECEPTORS), Counted()(RECEPTORS))
    assert counted.n == [30, 10, 20]
    embed.learn(RECEPTORS.slice(0, 0), with_chains(RECEPTORS, "beta"))
    beta = with_chains(RECEPTORS.slice(7, 9), "beta")
    np.testing.assert_array_equal(embed(beta), Counted()(beta))
    assert counted.n == [30, 10, 20, len(RECEPTORS)]


def test_nothing_is_learnt_of_nothing():
    counted = Counted()
    embed = KnownVectors(counted)
    embed.learn(RECEPTORS.slice(0, 0))
    assert (embed.packed(), counted.n) == ({}, [])
    assert embed(RECEPTORS.slice(0, 0)).shape == (0, 64)


def test_packed_vectors_are_known_elsewhere():
    here, counted = KnownVectors(Counted()), Counted()
    for chains in CHAIN_CLASSES:
        here.learn(with_chains(RECEPTORS.slice(0, 40), chains))
    there = KnownVectors(counted)
    there.unpack(here.packed())
    for chains in CHAIN_CLASSES:
        receptors = with_chains(RECEPTORS, chains)
        there.learn(receptors)
        np.testing.assert_array_equal(there(receptors), here(receptors))
    assert counted.n == [20] * 3
    assert set(here.packed()) == set(CHAIN_CLASSES)


@pytest.fixture
def calibrated(tmp_path, monkeypatch, capsys):
    """Returns a function that calibrates a reference: how many receptors were embedded, and the tables."""
    embed = Sceptr.embed
    n = []

    def counted(encoder, receptors: pa.Table, *args, **kwargs) -> np.ndarray:
        n.append(len(receptors))
        return embed(encoder, receptors, *args, **kwargs)

    monkeypatch.setattr(Sceptr, "embed", counted)

    def calibrate(name: str, receptors: pa.Table, *options: str, kept: str = "kept") -> tuple[int, list, str]:
        folder = tmp_path / name
        tables.write(receptors, folder / "receptors.in.parquet")
        epitopes = (["a", "b"] * len(receptors))[: len(receptors)]
        studies = [f"PMID:{row // 2 % 7}" for row in range(len(receptors))]
        tables.write(labelled_cells(receptors, epitopes, studies), folder / "cells.parquet")
        given = [f"--cells={folder}/cells.parquet", f"--receptors={folder}/receptors.in.parquet"]
        given += ["--background-receptors", "1000", "--outdir", str(folder), "--calibrations"]
        n.clear()
        calibrate_annotation.main([*given, str(tmp_path / kept) if kept else "none", *options])
        made = [pd.read_parquet(folder / f"{table}.parquet") for table in ("calibration", "receptors")]
        return sum(n), made, capsys.readouterr().err

    return calibrate


def test_references_share_the_vectors_of_the_background(calibrated, tmp_path):
    first, _, said = calibrated("first", RECEPTORS)
    assert "taken" not in said
    # Another reference, and the same one with other options: its own receptors alone are embedded.
    other = tables.distinct_receptors(synthesise(60, seed=2))
    again, taken, said = calibrated("other", other)
    assert again <= 3 * len(other) < 2000 < first
    assert "vectors of the background: taken from" in said
    assert calibrated("rate", RECEPTORS, "--annotation-fdr", "0.2")[0] == again
    alone, made, _ = calibrated("alone", other, kept="")
    assert alone > again + 2000
    for left, right in zip(taken, made, strict=True):
        pd.testing.assert_frame_equal(left, right)
    # Another seed is another background.
    assert calibrated("seed", RECEPTORS, "--seed", "1")[0] > 2000
    assert len(list((tmp_path / "kept").glob("*.tar.zst"))) == 4 + 2


def test_damaged_vectors_of_the_background_are_made_again(calibrated, tmp_path):
    first, *_ = calibrated("first", RECEPTORS)
    for path in (tmp_path / "kept").glob("*.tar.zst"):
        content = path.read_bytes()
        path.write_bytes(content[:100] + bytes([content[100] ^ 1]) + content[101:])
    again, _, said = calibrated("rate", RECEPTORS, "--annotation-fdr", "0.2")
    assert again == first
    assert "is damaged" in said
    assert calibrated("third", RECEPTORS, "--annotation-fdr", "0.3")[0] < first - 2000
