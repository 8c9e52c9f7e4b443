"""The map of receptors: what the page holds, and the page in a browser."""

import json
import re
from pathlib import Path

from airrvec.core import schema, tables
from airrvec.figures import map_page
from airrvec.repertoire import layout

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import browser
import map_receptors
import place_receptors

PAGE = Path(__file__).parents[2] / "assets/report"
HOSTILE = "</script><img src=x onerror=\"document.title='run'\">"
IDS = [f"{number:024x}" for number in range(120)]
MODEL = {"model": "sceptr", "weights_sha256": "0123"}  # metadata of the vectors


def vectors(n: int, seed: int = 1) -> np.ndarray:
    """Four groups of unit vectors."""
    rng = np.random.default_rng(seed)
    found = rng.normal(size=(4, 16))[np.arange(n) % 4] + 0.3 * rng.normal(size=(n, 16))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A map of 120 receptors in two samples, with labels, clusters, annotations and hostile words."""
    folder = tmp_path_factory.mktemp("map")
    receptors = {name: pa.array(["x"] * 120) for name in schema.RECEPTORS.names}
    receptors |= {
        "receptor_id": pa.array(IDS),
        "clonotype_id": pa.array(IDS),
        "trb_v_call": pa.array(["TRBV19*01", "TRBV7-9*01", None] * 40),
        "trb_junction_aa": pa.array(
            [f"CASS{'ACDEFGHIKL'[i % 10]}{'ACDEFGHIKL'[i // 10 % 10]}YEQYF" for i in range(120)]
        ),
        "chain_pairing": pa.array(["single pair"] * 80 + ["orphan VDJ"] * 40),
        "innate_like": pa.array(["MAIT"] * 10 + [None] * 110, pa.string()),
    }
    tables.write(pa.table(receptors).cast(schema.RECEPTORS), folder / "receptors.parquet")
    of_vectors = vectors(120)
    of_vectors[0] = np.nan
    tables.write(
        tables.embeddings_table(pa.chunked_array([IDS]), of_vectors),
        folder / "embeddings.parquet",
        MODEL,
    )
    for sample, rows in (("a", range(0, 70)), (HOSTILE, range(50, 120))):
        cells = pa.table(
            {
                "sample_id": [sample] * len(rows),
                **{name: [IDS[row] for row in rows] for name in ("receptor_id", "clonotype_id")},
                "epitope": [
                    HOSTILE if row % 10 == 0 else "GILGFVFTL" if row % 10 == 1 else None for row in rows
                ],
                "abundance": pa.array([1] * len(rows), pa.int64()),
                "count_unit": ["cells"] * len(rows),
                "tissue": [HOSTILE if sample == "a" else "blood"] * len(rows),
            }
        )
        tables.write(cells, folder / f"{len(sample)}.parquet")
    calls = pd.DataFrame({name: [None] * 120 for name in schema.ANNOTATION.names})
    calls = calls.assign(
        sample_id="a",
        receptor_id=IDS,
        call=["called", "no call"] * 60,
        epitope=[HOSTILE, None, "=NLVPMVATV", None] * 30,
        probability=np.linspace(1, 0, 120),
        abundance=1,
        count_unit="cells",
    )
    tables.write(
        pa.Table.from_pandas(calls, schema.ANNOTATION, preserve_index=False), folder / "calls.parquet"
    )
    members = {"receptor_id": IDS, "cluster_id": [f"c{i % 30}" for i in range(120)]}
    tables.write(pa.table(members), folder / "members.parquet")
    # their numbers are not in the order of their names
    clusters = {"cluster_id": [f"c{i}" for i in range(30)], "n_receptors": [*range(2, 32)]}
    tables.write(pa.table(clusters), folder / "clusters.parquet")
    (folder / "clusters.qc.json").write_text('{"chance": 0.01, "groups": []}')
    place_receptors.main(["--embeddings", str(folder / "embeddings.parquet"), "--outdir", str(folder)])
    map_receptors.main(
        [
            *("--places", str(folder / "map.parquet")),
            *("--cells", str(folder / "1.parquet"), str(folder / f"{len(HOSTILE)}.parquet")),
            *("--receptors", str(folder / "receptors.parquet")),
            *("--embeddings", str(folder / "embeddings.parquet")),
            *("--annotation", str(folder / "calls.parquet"), "--members", str(folder / "members.parquet")),
            *("--clusters", str(folder / "clusters.parquet")),
            *("--page", str(PAGE), "--outdir", str(folder)),
        ]
    )
    return folder


def held(text: str) -> dict:
    """The data of a page."""
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL).group(1))


def test_what_the_page_holds(made):
    text = (made / "map.html").read_text()
    data = held(text)
    assert data["ids"] == IDS[1:]  # the first has no vector
    titles = [column["title"] for column in data["colours"]]
    assert titles == [
        "Sample",
        "Epitope (annotated)",
        "Epitope (labelled)",
        "Cluster",
        "Chain pairing",
        "Innate-like",
        "V gene (α chain)",
        "V gene (β chain)",
        "tissue",
    ]
    sample = data["colours"][0]
    words = [sample["values"][code] for code in sample["codes"]]
    assert words == ["a"] * 49 + ["several"] * 20 + [HOSTILE] * 50
    assert sample["details"] == {str(row): f"{HOSTILE}, a" for row in range(49, 69)}
    cluster = data["colours"][3]
    assert [cluster["values"][code] for code in cluster["codes"][:3]] == ["29", "28", "27"]  # c1, c2, c3
    assert data["colours"][5]["codes"] == [0] * 9 + [-1] * 110
    genes = data["colours"][7]
    assert sorted(genes["values"]) == ["TRBV19", "TRBV7-9"]
    assert genes["codes"].count(-1) == 40
    assert data["first"] == 0  # each sample has a tissue of its own
    assert data["cells"] == [1] * 49 + [2] * 20 + [1] * 50
    assert data["units"] == {"values": ["cells"], "codes": [0] * 119}
    assert data["calls"]["n"] == 60
    row = dict(zip(data["calls"]["names"], data["calls"]["rows"][0], strict=True))
    assert (row["receptor_id"], row["sample_id"], row["n_cells"], row["epitope"]) == (
        IDS[0],
        "a 1",
        1,
        HOSTILE,
    )
    assert HOSTILE not in text
    places = tables.read(made / "map.parquet")
    assert places["receptor_id"].to_pylist() == IDS[1:]
    assert np.ptp(data["x"]) <= 4095
    assert tables.metadata(made / "map.parquet") == {"method": "umap", "seed": "420"}
    # Both axes have one scale.
    xy = np.stack([places["map_1"].to_numpy(), places["map_2"].to_numpy()])
    spans = np.ptp(xy, axis=1) / max(np.ptp(xy, axis=1)) * 4095
    np.testing.assert_allclose([np.ptp(data["x"]), np.ptp(data["y"])], spans, atol=1.1)


def test_what_counts_in_several_units_has_no_number(tmp_path):
    for unit, ids in (("cells", ["a", "b", "b"]), ("reads", ["a", "c"])):
        n = pa.array([7 if unit == "reads" else 1] * len(ids), pa.int64())
        cells = {"sample_id": [unit] * len(ids), "receptor_id": ids, "abundance": n}
        tables.write(pa.table({**cells, "count_unit": [unit] * len(ids)}), tmp_path / f"{unit}.parquet")
    counted = layout.abundances(sorted(tmp_path.glob("*.parquet")), None, ["c", "a", "b", "d"])
    assert counted["n"].fillna(-1).tolist() == [7, -1, 2, -1]
    assert counted["unit"].fillna("").tolist() == ["reads", "several units", "cells", ""]


@pytest.mark.parametrize("batch", [16, 1000])
def test_of_more_receptors_than_points_the_page_reads_the_points_alone(made, batch, tmp_path, monkeypatch):
    """119 receptors with a vector in two partitions, of which 60 are points and all have a place."""
    monkeypatch.setattr(layout, "MAX_MAPPED", 60)
    monkeypatch.setattr(tables, "BATCH", batch)
    for name in ("receptors", "embeddings"):
        table = tables.read(made / f"{name}.parquet")
        for part, rows in enumerate((table.slice(0, 50), table.slice(50))):
            tables.write(rows, tmp_path / name / f"{part}.parquet", MODEL)
    read = {}
    content = map_page.content

    def watched(points, receptors, cells, abundances, **options):
        read.update(receptors=receptors, cells=cells, **options)
        return content(points, receptors, cells, abundances, **options)

    monkeypatch.setattr(map_page, "content", watched)
    paths = [*("--receptors", tmp_path / "receptors"), *("--embeddings", tmp_path / "embeddings")]
    paths += ["--cells", made / "1.parquet", made / f"{len(HOSTILE)}.parquet", "--page", PAGE]
    paths += ["--annotation", made / "calls.parquet", "--members", made / "members.parquet"]
    paths += ["--clusters", made / "clusters.parquet"]
    place_receptors.main(["--embeddings", str(tmp_path / "embeddings"), "--outdir", str(tmp_path)])
    paths += ["--places", tmp_path / "map.parquet"]
    map_receptors.main([str(word) for word in (*paths, "--outdir", tmp_path)])
    points = [IDS[1 + row] for row in np.arange(60) * 119 // 60]
    data = held((tmp_path / "map.html").read_text())
    assert data["ids"] == points
    assert data["n"] == 119
    assert data["density"]["size"] == map_page.CELLS_OF_DENSITY
    assert set(read["receptors"]["receptor_id"]) == set(points)
    assert set(read["cells"]["receptor_id"]) == set(points)
    assert set(read["clusters"].index) == set(points)
    assert set(read["calls"]["receptor_id"]) == set(IDS[::2])  # the table has all calls
    assert np.sum(read["density"].counts) == 119
    places = tables.read(tmp_path / "map.parquet")
    assert places["receptor_id"].to_pylist() == IDS[1:]
    _, of_vectors = layout.read_vectors(tmp_path / "embeddings", np.arange(119))
    rows = np.arange(60) * 119 // 60
    expected, _ = layout.plane(of_vectors[rows], seed=420)
    found = np.stack([places["map_1"].to_numpy(), places["map_2"].to_numpy()], axis=1)
    np.testing.assert_array_equal(found[rows], expected)
    others = np.setdiff1d(np.arange(119), rows)
    of_others = layout.place_on_map(of_vectors[others], of_vectors[rows], expected)
    np.testing.assert_allclose(found[others], of_others, atol=1e-5)
    qc = json.loads((tmp_path / "map.qc.json").read_text())
    assert (qc["receptors"], qc["without_vector"], qc["shown"]) == (119, 1, 60)


@pytest.fixture(scope="module")
def page(made):
    if browser.CHROMIUM is None:
        pytest.skip("no chromium or chrome on the path")
    with browser.opened(made) as page:
        yield page


def shown(page) -> str:
    return page.value("document.getElementById('count').textContent")


def test_legend_and_search_filter(made, page):
    page.open(f"{(made / 'map.html').as_uri()}")
    assert shown(page) == "119 shown"
    page.click("#legend button[data-key='0']")  # the largest: the hostile sample
    assert shown(page) == "69 shown"
    assert page.value("document.querySelector('#legend button').getAttribute('aria-pressed')") == "false"
    page.type("#search", "trbv19")
    of_others = sum(row % 3 == 0 for row in range(1, 70))
    assert shown(page) == f"{of_others} of 69 match"
    page.click("#reset")
    assert shown(page) == "119 shown"


def test_colour_and_search_of_the_address(made, page):
    page.open(f"{(made / 'map.html').as_uri()}#colour=Cluster&search=CASSA")
    assert page.value("document.getElementById('legend-title').textContent") == "Cluster"
    assert shown(page) == f"{sum(row % 10 == 0 for row in range(1, 120))} of 119 match"
    # 30 clusters: 20 with a style, the others together.
    names = page.value("[...document.querySelectorAll('#legend .name')].map(e => e.textContent)")
    assert len(names) == 21
    assert names[-1] == "10 others"


@pytest.mark.parametrize(("theme", "paper"), [("light", 255), ("dark", 20)])
def test_the_map_follows_a_light_or_dark_screen(made, page, theme, paper):
    page.prefer(theme)
    page.open((made / "map.html").as_uri())
    corner = "document.getElementById('map').getContext('2d').getImageData(2, 2, 1, 1).data[0]"
    assert page.value(corner) == paper
    texts = page.contrasts("h1, h2, p, td, th, .name, .n, button, label, output", "color")
    assert len(texts) > 100
    assert [words for contrast, words in texts if contrast < 4.5] == []
    page.prefer("light")


def test_a_receptor_shows_its_junction(made, page):
    page.open((made / "map.html").as_uri())
    page.click("#calls tr:nth-child(2)")  # the second call, of the receptor 2: the first has no vector
    tip = page.value("document.getElementById('tip').textContent")
    assert "CASSDAYEQYF" in tip
    assert "=NLVPMVATV" in tip


def test_the_mouse_finds_a_receptor(made, page):
    page.open((made / "map.html").as_uri())
    hit = "document.getElementById('tip').hidden"
    assert page.value(hit)
    # Where a point is drawn, a colour is.
    x, y = page.value(
        "(c => { const pen = c.getContext('2d'), box = c.getBoundingClientRect();"
        " const bytes = pen.getImageData(0, 0, c.width, c.height).data;"
        " const i = bytes.findIndex((byte, place) => place % 4 === 0 && byte < 100) / 4;"
        " return [box.x + i % c.width, box.y + Math.floor(i / c.width)]; })(document.getElementById('map'))"
    )
    page.move(x, y)
    assert not page.value(hit)
    page.move(3, 3)
    assert page.value(hit)


@pytest.mark.parametrize(("groups", "top"), [([0, 0, 1], 1), ([1, 0, 0], 0), ([0, 1, -1], 1)])
def test_the_last_receptor_lies_on_top_and_those_without_a_name_behind(groups, top, made, page, tmp_path):
    data = held((made / "map.html").read_text())
    for columns in (data, *data["fields"].values()):
        columns |= {name: columns[name][:3] for name in ("ids", "cells", "codes") if name in columns}
    data |= {"x": [0] * 3, "y": [0] * 3, "n": 3}
    data["colours"] = [{"title": "Sample", "values": ["a", "b"], "codes": groups}]
    (tmp_path / "map.html").write_text(map_page.page(data, PAGE))
    page.open((tmp_path / "map.html").as_uri())
    red, _, blue, _ = page.value(
        "(c => [...c.getContext('2d').getImageData(c.width / 2, c.height / 2, 1, 1).data])"
        "(document.getElementById('map'))"
    )
    assert (red > blue) == (top == 1)  # the first group is blue, the second orange


def test_annotations_are_searched_and_downloaded(made, page):
    page.open((made / "map.html").as_uri())
    page.value("(URL.createObjectURL = blob => { window.saved = blob.text(); return '#'; }, true)")
    page.type("#calls-search", "NLVPM")
    assert page.value("document.querySelectorAll('#calls tr').length") == 30
    page.click("#download")
    lines = page.value("window.saved").splitlines()
    assert len(lines) == 31
    assert lines[0].startswith("alpha_chain,beta_chain,epitope,")
    assert lines[1].split(",")[2] == "'=NLVPMVATV"  # no formula in a spreadsheet


def test_hostile_words_are_words(made, page):
    page.open((made / "map.html").as_uri())
    for index in range(8):
        page.value(
            f"(s => {{ s.value = {index}; s.onchange({{target: s}}); }})(document.getElementById('colour'))"
        )
    page.click("#calls tr:nth-child(3)")
    assert page.value("document.title") == "airrvec: map of receptors"
    assert page.value("document.images.length") == 0
    assert HOSTILE in page.value("document.getElementById('tip').textContent")


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_is_wider_than_the_window(made, page, width):
    page.open((made / "map.html").as_uri(), width)
    assert page.value("document.documentElement.scrollWidth") <= width
    drawn = page.value(
        "(c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(byte => byte))"
        "(document.getElementById('map'))"
    )
    assert drawn
    page.screenshot(made / f"{width}.png")
    assert (made / f"{width}.png").stat().st_size > 10_000
