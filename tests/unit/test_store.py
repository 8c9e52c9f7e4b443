"""Neighbours among segments on the disk, against all distances at once."""

from pathlib import Path

from airrvec.core import chains
from airrvec.core.errors import InputError
from airrvec.encoders.sceptr import Sceptr
from airrvec.search import neighbours, store
from airrvec.synthetic.synthesis import synthesise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_neighbours import brute_force, unit_vectors


def stored(folder: Path, parts: list[np.ndarray], centres: np.ndarray) -> store.Store:
    """A segment a part, whose rows are its own."""
    made = []
    for number, part in enumerate(parts):
        (folder / str(number)).mkdir(parents=True)
        cell = neighbours.cells_of(part, centres)
        store.write_segment(folder / str(number), part, np.arange(len(part)), cell, len(centres))
        made.append(store.Segment(folder / str(number), centres.shape[1], "Make it again"))
    return store.Store(made, [len(part) for part in parts], centres)


@pytest.fixture(scope="module")
def beta():
    """Vectors of β chains of OLGA, in its order."""
    receptors = chains.on_chains(synthesise(33_000, seed=5), "beta")
    return Sceptr("sceptr", threads=2).embed(receptors)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 300), st.integers(1, 30), st.integers(1, 12), st.integers(1, 9), st.integers(0, 1000))
def test_all_cells_are_all_distances(tmp_path_factory, n, m, k, n_cells, seed):
    references = unit_vectors(n + 1, 6, seed)
    queries = np.concatenate([unit_vectors(m, 6, seed + 1), references[:1]])
    centres = neighbours.cell_centres(unit_vectors(20, 6, seed + 2), n_cells, seed=1)
    parts = np.array_split(references, 3)
    made = stored(tmp_path_factory.mktemp("store"), parts, centres)
    distances, rows = store.nearest(made, queries, k)
    expected, expected_rows = brute_force(queries, references, k)
    found = min(k, len(references))
    assert np.array_equal(rows[:, :found], expected_rows)
    assert distances[:, :found] == pytest.approx(expected, abs=1e-6)
    assert (rows[:, found:] == -1).all()
    assert np.isinf(distances[:, found:]).all()
    assert distances[-1, 0] == 0


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 300), st.sampled_from([0.0, 0.6, 1.0, 2.5]), st.integers(0, 1000))
def test_all_within_a_radius(tmp_path_factory, n, radius, seed):
    references, queries = unit_vectors(n, 6, seed), unit_vectors(20, 6, seed + 1)
    queries[3] = references[0]
    centres = neighbours.cell_centres(references, min(n, 4), seed=1)
    made = stored(tmp_path_factory.mktemp("store"), np.array_split(references, 2), centres)
    query, rows, distances = store.within(made, queries, radius, threads=2)
    whole = np.sqrt(((queries[:, None] - references) ** 2).sum(2))
    assert sorted(zip(query, rows, strict=True)) == list(zip(*np.nonzero(whole <= radius), strict=True))
    assert distances == pytest.approx(whole[query, rows], abs=1e-6)
    assert all(np.diff(distances[query == number]).min(initial=0) >= 0 for number in range(20))


def test_too_many_within_a_radius_are_refused(tmp_path, monkeypatch):
    references = unit_vectors(100, 6, 1)
    made = stored(tmp_path, [references], references[:1])
    monkeypatch.setattr(store, "MOST_PAIRS", 999)
    with pytest.raises(InputError, match="more than 999 pairs are within 2\\. Choose a smaller radius"):
        store.within(made, references[:10], 2)


def test_the_search_of_some_cells_finds_most_and_the_same_on_any_threads(beta, tmp_path, monkeypatch):
    references, queries = beta[:30_000], beta[30_000:30_500]
    centres = neighbours.cell_centres(beta[31_000:], 500, seed=1, threads=2)
    made = stored(tmp_path, np.array_split(references, 3), centres)
    expected, _ = brute_force(queries, references, 10)
    monkeypatch.setattr(store, "CANDIDATES", 3000)
    distances, rows = store.nearest(made, queries, 10)
    recall = (distances <= expected[:, -1:] + 1e-6).mean()
    assert 0.9 < recall < 1
    again = store.nearest(made, queries, 10, threads=2)
    assert np.array_equal(again[0], distances)
    assert np.array_equal(again[1], rows)
    exact, _ = store.nearest(made, queries, 10, exact=True, threads=2)
    assert exact == pytest.approx(expected, abs=1e-6)


def test_centres_do_not_depend_on_the_threads(beta):
    one, two = (neighbours.cell_centres(beta[:3000], 50, seed=1, threads=n) for n in (1, 2))
    assert np.array_equal(one, two)
    assert np.isfinite(one).all()


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 2000), st.integers(1, 20), st.integers(0, 1000))
def test_background_as_near_is_counted(m, k, seed):
    background, queries = unit_vectors(m, 5, seed), unit_vectors(9, 5, seed + 1)
    queries[0] = background[0]
    whole = np.sqrt(((queries[:, None].astype(float) - background) ** 2).sum(2))
    distances = np.sort(np.random.default_rng(seed).uniform(0, 2, (9, k)).astype(np.float32), axis=1)
    distances[0, 0] = 0  # as near as the query itself
    query = np.repeat(np.arange(9), k)[k // 2 :]  # the first query has fewer neighbours than others
    flat = distances.ravel()[len(distances.ravel()) - len(query) :]
    near = store.n_near(queries, background, query, flat, threads=2)
    beyond = np.abs(whole[query] - flat[:, None]).min(axis=1) > 2e-6 / 1e-3  # rounding near a limit
    expected = (whole[query] <= flat[:, None]).sum(axis=1)
    assert np.array_equal(near[beyond], expected[beyond])
    if len(query) == 9 * k:
        assert near[0] >= 1


@pytest.mark.parametrize("place", [0, 3, 4, 100, 259, 260, 10_000, 77_999])
def test_a_flipped_byte_of_the_vectors_is_refused(beta, tmp_path, place):
    centres = neighbours.cell_centres(beta[:500], 7, seed=1)
    made = stored(tmp_path, [beta[:300]], centres)
    path = tmp_path / "0" / store.RECORDS
    content = bytearray(path.read_bytes())
    assert len(content) == 78_000
    content[place] ^= 4
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"records\.bin: the file is damaged.*checksum\. Make it again\."):
        store.nearest(made, beta[:2], 3)


def test_a_truncated_file_is_refused(beta, tmp_path):
    made = stored(tmp_path, [beta[:300]], neighbours.cell_centres(beta[:500], 7, seed=1))
    path = tmp_path / "0" / store.RECORDS
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match="damaged"):
        store.nearest(made, beta[:2], 3)


def test_spans_hold_each_wanted_cell_once():
    starts = np.array([0, 10, 10, 70_000, 70_001, 70_002])
    wanted = np.array([True, True, True, False, True])
    assert list(store.spans(starts, wanted)) == [(0, 2), (2, 3), (4, 5)]
    assert list(store.spans(starts, np.zeros(5, bool))) == []


def test_as_many_are_expected_by_chance_as_are_near_in_receptors_that_are_chance(beta):
    """Queries, background and searched receptors of OLGA: the k-th neighbour has k expected as near."""
    queries, searched, background = beta[:1000], beta[1000:21_000], beta[21_000:]
    distances, _ = neighbours.nearest(queries, searched, 10, threads=2)
    near = store.n_near(queries, background, np.repeat(np.arange(1000), 10), distances.ravel(), threads=2)
    expected = near.reshape(-1, 10).mean(axis=0) * len(searched) / len(background)
    assert expected == pytest.approx(np.arange(1, 11), rel=0.1)
