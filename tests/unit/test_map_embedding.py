"""The model in the page of the map: vectors of pasted receptors, and their neighbours."""

import json
from pathlib import Path

from airrvec.encoders.sceptr import Sceptr
from airrvec.figures import map_page
from airrvec.input.germline import v_loops
from airrvec.model.variants import VARIANTS

import numpy as np
import pandas as pd
import pytest
from test_map import held

import browser
import map_receptors
from map_runs import PAGE, ask, lines, own_model, real_receptors, table_of, texts, write_run

TOLERANCE = 1e-4
# Models with sizes that are no multiples of four.
ODD = {"d_model": 30, "n_heads": 5, "d_feedforward": 50, "n_layers": 2, "loops": ("cdr3b", "cdr1a", "cdr3a")}
ODDER = {"d_model": 6, "n_heads": 1, "d_feedforward": 7, "n_layers": 1, "embedding": "left_aligned"}
EMBED = """
async text => {
    const {receptors, refused} = asked.read(text), helper = new asked.Helper();
    const loops = receptors.map(receptor => asked.loopsOf(locus => receptor[locus], receptor.loci));
    const vectors = await helper.do("embed", {receptors: loops});
    helper.worker.terminate();
    return [Array.from(vectors), receptors.length, refused.map(({line}) => line)];
}
"""


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return real_receptors()


@pytest.fixture(scope="module")
def made(frame, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("map")
    write_run(folder, frame)
    return folder


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    if browser.CHROMIUM is None:
        pytest.skip("no chromium or chrome on the path")
    with browser.opened(tmp_path_factory.mktemp("browser")) as page:
        yield page


def embedded(page, text: str) -> tuple[np.ndarray, list[int]]:
    """Vectors that a worker of the page makes of a text, and the numbers of the lines refused."""
    values, n, refused = page.value(f"({EMBED})({json.dumps(text)})")
    return np.array(values).reshape(n, -1), refused


@pytest.mark.parametrize("model", [*VARIANTS, ODD, ODDER], ids=[*VARIANTS, "odd", "odder"])
def test_vectors_are_those_of_the_library(model, frame, made, page, tmp_path):
    """Of pairs, α chains alone and β chains alone, of each published model and of models with odd sizes."""
    encoder = Sceptr(model if isinstance(model, str) else own_model(tmp_path, **model))
    data = held((made / "map.html").read_text())
    text = map_page.page(data, PAGE, map_page.embedder(encoder.loaded, table_of(frame).to_pandas()))
    (tmp_path / "map.html").write_text(text)
    page.open((tmp_path / "map.html").as_uri())
    wanted, pasted = [], []
    for loci in (("tra", "trb"), ("tra",), ("trb",)):
        some = frame[frame[[f"{locus}_junction_aa" for locus in loci]].notna().all(axis=1)]
        assert len(some) > 500
        wanted.append(encoder.embed(table_of(some, loci)))
        pasted += lines(some, loci)
    found, refused = embedded(page, "\n".join(pasted))
    wanted = np.concatenate(wanted)
    unread = np.isnan(wanted).any(axis=1)
    assert refused == (np.flatnonzero(unread) + 1).tolist()
    np.testing.assert_allclose(found, wanted[~unread], atol=TOLERANCE, rtol=0)
    assert page.errors == []


@pytest.mark.parametrize("cores", [2, 4])
def test_neighbours_are_the_exact_ones(cores, frame, made, page):
    """By pairs among pairs, by one chain among all receptors with it; with one worker and with three."""
    page.open((made / "map.html").as_uri())
    page.value(f"(Object.defineProperty(navigator, 'hardwareConcurrency', {{value: {cores}}}), true)")
    pairs = frame[frame["chain_pairing"] == "single pair"].iloc[::9]
    pasted = [line for loci in (("tra", "trb"), ("tra",), ("trb",)) for line in lines(pairs, loci)]
    answers = ask(page, "\n".join(pasted))
    assert [answer["line"] for answer in answers] == list(range(1, len(pasted) + 1))
    encoder = Sceptr("sceptr")
    for loci, number in ((("tra", "trb"), 0), (("tra",), 1), (("trb",), 2)):
        some = answers[number * len(pairs) : (number + 1) * len(pairs)]
        queries = encoder.embed(table_of(pairs, loci)).astype(float)
        references = encoder.embed(table_of(frame, loci)).astype(float)
        present = frame[[f"{locus}_junction_aa" for locus in loci]].notna().all(axis=1)
        references[~present] = np.inf
        distances = np.linalg.norm(queries[:, None] - references, axis=2)
        rows = np.array([[row for row, _ in answer["nearest"]] for answer in some])
        found = np.array([[distance for _, distance in answer["nearest"]] for answer in some])
        assert all(len(set(row)) == 10 for row in rows.tolist())
        np.testing.assert_allclose(found, np.sort(distances, axis=1)[:, :10], atol=TOLERANCE)
        np.testing.assert_allclose(found, np.take_along_axis(distances, rows, axis=1), atol=TOLERANCE)
        assert all(answer["loci"] == list(loci) for answer in some)
    assert page.errors == []


def test_species_are_compared_with_themselves(made, page, frame, tmp_path):
    mouse = frame.head(12).assign(species="musmusculus", trb_v_call="TRBV13-1*01", tra_v_call="TRAV14-1*01")
    mouse["receptor_id"] = [f"{n:024x}" for n in range(12)]
    both = pd.concat([mouse, frame.tail(60)], ignore_index=True).sort_values("receptor_id", ignore_index=True)
    write_run(tmp_path, both)
    page.open((tmp_path / "map.html").as_uri())
    assert texts(page, "#ask-species option") == ["human", "mouse"]
    page.value("(s => { s.value = 'musmusculus'; return true; })(document.getElementById('ask-species'))")
    (answer,) = ask(page, "TRBV13-1 CASSDNYEQYF")
    rows = [row for row, _ in answer["nearest"]]
    assert set(both["species"].iloc[rows]) == {"musmusculus"}
    assert answer["trb"]["cdrs"] == list(v_loops("TRBV13-1", "musmusculus"))


def test_many_receptors_are_sampled(made, page, frame, tmp_path, monkeypatch):
    monkeypatch.setattr(map_page, "MAX_WORK", 100 * Sceptr("sceptr").n_parameters)
    write_run(tmp_path, frame)
    page.open((tmp_path / "map.html").as_uri())
    assert "100 of the" in texts(page, "#ask-about")[0]
    (answer,) = ask(page, lines(frame.head(1))[0])
    wanted = {n * len(frame) // 100 for n in range(100)}
    assert {row for row, _ in answer["nearest"]} <= wanted


def test_a_large_model_stays_out(made, page, frame, tmp_path, monkeypatch):
    monkeypatch.setattr(map_page, "MAX_BYTES", 100_000)
    write_run(tmp_path, frame)
    page.open((tmp_path / "map.html").as_uri())
    assert texts(page, "#ask-about")[0].startswith("The model has 0.6 MB of weights; this page holds at most")
    assert page.value("document.getElementById('ask-form').hidden")
    assert (tmp_path / "map.html").stat().st_size < (made / "map.html").stat().st_size / 2


def test_the_radius_of_the_clusters_is_a_scale_for_pairs(made, page, frame, tmp_path):
    group = {"species": "homosapiens", "chains": "paired", "radius": 0.21234}
    clusters = {"chance": 0.01, "groups": [group, {**group, "chains": "beta", "radius": 0.5}]}
    model = map_page.embedder(Sceptr("sceptr").loaded, table_of(frame).to_pandas(), clusters)
    text = map_page.page(held((made / "map.html").read_text()), PAGE, model)
    (tmp_path / "map.html").write_text(text)
    page.open((tmp_path / "map.html").as_uri())
    for pasted, shown in (
        ("TRAV27 CAGAGSQGNLIF TRBV19 CASSIRSSYEQYF", True),
        ("TRBV19 CASSIRSSYEQYF", False),
    ):
        ask(page, pasted)
        scale = texts(page, "details .hint")[0]
        assert ("within 0.212, where a pair has 0.01 neighbours by chance" in scale) == shown
        assert "have another one within" in scale


def test_two_runs_write_the_same_page_without_a_path(made, frame, tmp_path):
    model = own_model(tmp_path, **ODD)
    for name in "ab":
        (tmp_path / name).mkdir()
        write_run(tmp_path / name, frame, model)
    first, second = ((tmp_path / name / "map.html").read_bytes() for name in "ab")
    assert first == second
    assert str(tmp_path).encode() not in first


def test_the_model_is_the_one_of_the_vectors(made, tmp_path):
    options = ["--receptors", made / "receptors.parquet", "--embeddings", made / "embeddings.parquet"]
    options += [
        "--places",
        made / "map.parquet",
        "--cells",
        made / "cells.parquet",
        "--page",
        PAGE,
        "--model",
        "sceptr_tiny",
        "--outdir",
        tmp_path,
    ]
    with pytest.raises(SystemExit):
        map_receptors.main([str(option) for option in options])
