"""Our SCEPTR is SCEPTR: every published variant, on real receptors, whole and incomplete."""

import hashlib
import shutil
from pathlib import Path

from airrvec.core import tables
from airrvec.core.errors import InputError
from airrvec.input import normalise, reading
from airrvec.model import transformer, weights
from airrvec.model.tokens import equal_length_batches, tokenise
from airrvec.model.variants import VARIANTS

import numpy as np
import pyarrow as pa
import pytest
import sceptr
import torch
from sceptr import variant as reference

import published_weights

ROOT = Path(__file__).parents[2]
STORED = ROOT / "tests/data/reference_vectors.parquet"
SINGLE_CHAIN = {"sceptr_alpha_only": "tra", "sceptr_beta_only": "trb"}
REFERENCE_NAMES = {"sceptr": "default", "sceptr_alpha_only": "a_sceptr", "sceptr_beta_only": "b_sceptr"}


@pytest.fixture(scope="module")
def thousand_receptors() -> pa.Table:
    """1,000 real receptors; from two thirds of them one or more fields are taken away."""
    parts = []
    for name in ("10x_pbmc_filtered_contig_annotations.csv.gz", "dash_human.csv"):
        chains = reading.open_chains(ROOT / "assets/demo" / name)
        parts.append(normalise.normalise(chains, sample_id="x", species="homosapiens").receptors)
    frame = pa.concat_tables(parts).to_pandas().query("chain_pairing == 'single pair'").head(1000)
    frame = frame.reset_index(drop=True)
    taken = [
        [],
        ["tra_v_call", "tra_junction_aa"],
        [],
        ["trb_v_call", "trb_junction_aa"],
        ["tra_v_call"],
        ["trb_v_call", "tra_v_call"],
    ]
    for index, columns in enumerate(taken):
        frame.loc[frame.index % len(taken) == index, columns] = None
    assert len(frame) == 1000
    return pa.Table.from_pandas(frame, preserve_index=False)


def reference_vectors(name: str, receptors: pa.Table) -> np.ndarray:
    columns = {
        "tra_v_call": "TRAV",
        "tra_junction_aa": "CDR3A",
        "trb_v_call": "TRBV",
        "trb_junction_aa": "CDR3B",
    }
    frame = receptors.to_pandas()[list(columns)].rename(columns=columns)
    loaded = getattr(reference, REFERENCE_NAMES.get(name, name.removeprefix("sceptr_")))()
    return loaded.calc_vector_representations(frame)


def visible(name: str, receptors: pa.Table) -> np.ndarray:
    """Receptors of which the variant sees a loop, told without the tokeniser."""
    loci = [SINGLE_CHAIN[name]] if name in SINGLE_CHAIN else ["tra", "trb"]
    fields = ["junction_aa"] if "cdr3_only" in name else ["v_call", "junction_aa"]
    columns = [f"{locus}_{field}" for locus in loci for field in fields]
    return receptors.to_pandas()[columns].notna().any(axis=1).to_numpy()


@pytest.mark.parametrize("name", VARIANTS)
def test_vectors_are_sceptrs_own(name, thousand_receptors):
    seen = visible(name, thousand_receptors)
    assert seen.sum() > 800
    loaded = weights.load(name)
    vectors = transformer.embed(loaded.encoder, tokenise(thousand_receptors, loaded.encoder.config.loops))
    expected = reference_vectors(name, thousand_receptors.filter(pa.array(seen)))
    np.testing.assert_allclose(vectors[seen], expected, atol=1e-5)
    assert np.isnan(vectors[~seen]).all()
    np.testing.assert_allclose(np.linalg.norm(vectors[seen], axis=1), 1, atol=1e-5)


def test_vectors_are_those_stored():
    """Written once with sceptr 1.2.0: holds also where the installed sceptr has changed."""
    stored = tables.read(STORED)
    loaded = weights.load("sceptr")
    vectors = transformer.embed(loaded.encoder, tokenise(stored))
    np.testing.assert_allclose(vectors, stored.to_pandas().filter(like="dim_"), atol=1e-5)


@pytest.mark.parametrize("name", ["sceptr", "sceptr_average_pooling", "sceptr_left_aligned", "sceptr_blosum"])
def test_padding_changes_nothing(name, thousand_receptors):
    """A padded batch with its mask gives what batches of one length give."""
    loaded = weights.load(name)
    tokens = tokenise(thousand_receptors.slice(0, 40), loaded.encoder.config.loops)
    batch = torch.zeros(len(tokens), tokens.lengths.max(), 4, dtype=torch.long)
    padding = torch.ones(batch.shape[:2], dtype=torch.bool)
    for row, (start, end) in enumerate(zip(tokens.offsets[:-1], tokens.offsets[1:], strict=True)):
        batch[row, : end - start] = torch.from_numpy(tokens.values[start:end].astype(np.int64))
        padding[row, : end - start] = False
    with torch.inference_mode():
        padded = loaded.encoder(batch, padding).numpy()
    np.testing.assert_allclose(padded, transformer.embed(loaded.encoder, tokens), atol=1e-5)


def test_neither_order_nor_batches_change_a_vector(thousand_receptors):
    encoder = weights.load("sceptr").encoder
    vectors = transformer.embed(encoder, tokenise(thousand_receptors))
    order = np.random.default_rng(1).permutation(1000)
    shuffled = transformer.embed(
        encoder, tokenise(thousand_receptors.take(pa.array(order))), tokens_per_batch=300
    )
    np.testing.assert_allclose(shuffled, vectors[order], atol=1e-6)


def test_batches_hold_one_length_each_and_all_rows_once():
    lengths = np.array([5, 1, 9, 5, 5, 2, 9, 1])
    batches = list(equal_length_batches(lengths, tokens_per_batch=10))
    assert all(len(set(lengths[rows])) == 1 for rows in batches)
    assert all(len(rows) * lengths[rows[0]] <= 10 for rows in batches)
    assert sorted(np.concatenate(batches)) == [0, 2, 3, 4, 5, 6]  # rows 1 and 7 hold <cls> alone


def test_progress_counts_every_receptor(thousand_receptors):
    done = []
    transformer.embed(weights.load("sceptr_tiny").encoder, tokenise(thousand_receptors), progress=done.append)
    assert sum(done) == 1000


def test_an_unknown_model_is_refused():
    with pytest.raises(InputError, match=r"there is no model 'scepter'\. Give the folder of a model"):
        weights.load("scepter")


@pytest.mark.parametrize("name", VARIANTS)
def test_shipped_weights_are_the_packages_bit_by_bit(name):
    path = Path(sceptr.__file__).parent / "_model_saves" / VARIANTS[name][0] / "state_dict.pt"
    shipped, expected = weights.load(name), published_weights.published(name)
    assert shipped.checksum == expected.checksum == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (shipped.name, shipped.config) == (name, expected.config)
    assert shipped.state.keys() == expected.state.keys()
    assert all(shipped.state[key].tobytes() == expected.state[key].tobytes() for key in expected.state)
    described = weights.read_configuration(weights.PUBLISHED / name)
    assert described["source"] == published_weights.source(name)


def test_replaced_weights_have_another_checksum(tmp_path):
    """A folder in which they were replaced is another model, whatever its configuration says."""
    published = weights.load("sceptr")
    shutil.copytree(weights.PUBLISHED / "sceptr", tmp_path / "copied")
    published.save(tmp_path / "saved")
    for folder in (tmp_path / "copied", tmp_path / "saved"):
        assert weights.load(str(folder)).vector_model == published.vector_model
        shutil.copy(weights.PUBLISHED / "sceptr_shuffled_data/model.safetensors", folder)
        replaced = weights.load(str(folder))
        assert replaced.checksum == hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
        assert not replaced.vector_model.is_comparable(published.vector_model)


def test_the_folder_of_shipped_weights_holds_nothing_else():
    assert {path.name for path in weights.PUBLISHED.iterdir()} == {*VARIANTS, "LICENSE.txt"}


def test_relative_positions():
    position = torch.tensor([[0, 1, 2, 3, 1]])
    length = torch.tensor([[0, 3, 3, 3, 1]])
    assert transformer.relative_position(position, length).tolist() == [[0.0, 0.0, 0.5, 1.0, 0.5]]


def test_embeddings_table_has_nulls_where_there_is_no_vector():
    vectors = np.array([[1, 0], [np.nan, np.nan]], np.float32)
    table = tables.embeddings_table(pa.chunked_array([["r1", "r2"]]), vectors)
    assert table.to_pylist() == [
        {"receptor_id": "r1", "dim_01": 1.0, "dim_02": 0.0},
        {"receptor_id": "r2", "dim_01": None, "dim_02": None},
    ]
    assert table.schema.field("dim_01").type == pa.float32()
