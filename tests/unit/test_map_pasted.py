"""Receptors pasted into the page of the map: lines read or refused, answers, and no request."""

import csv
import json
from pathlib import Path

from airrvec.input.calls import read_call
from airrvec.input.germline import v_loops

import pandas as pd
import pytest
from test_map import held

import browser
from map_runs import HOSTILE, ask, real_receptors, texts, write_run

READ = {
    "TRBV19 CASSIRSSYEQYF": ("TRBV19", "CASSIRSSYEQYF"),
    "trbv19*01,cassirssyeqyf;TRBJ2-7": ("TRBV19*01", "CASSIRSSYEQYF"),
    "pair1\tCASSIRSSYEQYF\tTCRBV06-02*01\t12\tNone": ("TRBV6-2*01", "CASSIRSSYEQYF"),
    "TRBV19*77 CASSIRSSYEQYF": ("TRBV19", "CASSIRSSYEQYF"),
    "TCRBV19-01*00(850) / CASSIRSSYEQYF": ("TRBV19", "CASSIRSSYEQYF"),
    '"TRBV20-1:02" | "CASSIRSSYEQYF"': ("TRBV20-1*02", "CASSIRSSYEQYF"),
    "TRBV12-1,TRBV12-3 CASSIRSSYEQYF": ("TRBV12-3", "CASSIRSSYEQYF"),
    "TRBV23-1,TRBV19 CASSIRSSYEQYF": ("TRBV19", "CASSIRSSYEQYF"),
    "TRBV6-2/6-3 CASSIRSSYEQYF": ("TRBV6-2", "CASSIRSSYEQYF"),
    "TRBJ2-7 CASSIRSSYEQYF": (None, "CASSIRSSYEQYF"),
    "TRB CASSIRSSYEQYF": (None, "CASSIRSSYEQYF"),
}
REFUSED = {
    "TRBV91 CASSIRSSYEQYF": "TRBV91 is not a V gene listed by IMGT; the nearest name is TRBV9",
    "TRBV1 CASSIRSSYEQYF": "TRBV1 is a pseudogene according to IMGT",
    "TRBV23-1 CASSIRSSYEQYF": "TRBV23-1 is an open reading frame according to IMGT",
    "TRGV9 CALWEVQELGKKIKVF": "TRGV9 is no gene of an α or β chain",
    "TRBV19 CASSXRSSYEQYF": "CASSXRSSYEQYF holds X, which is no amino acid",
    "TRBV19 CASS*RSSYEQYF": "CASS*RSSYEQYF holds a stop codon (*)",
    "TRBV19 CASS_RSSYEQYF": "CASS_RSSYEQYF is out of frame (_)",
    "TRBV19 ASSIRSSYEQY": "ASSIRSSYEQY is no junction from C to F or W; if the conserved ends are missing,"
    " write CASSIRSSYEQYF",
    f"TRBV19 C{'A' * 60}F": "the junction has more than 60 residues",
    "TRBV19": "there is no junction",
    "CASSIRSSYEQYF": "CASSIRSSYEQYF has no V or J gene, which tell the chain",
    "TRAV27 TRBV19 CASSIRSSYEQYF": "there is one junction for two chains",
    "TRBV19 CASSIRSSYEQYF CASSF": "there are 2 junctions, and genes of one chain",
    HOSTILE: None,
}


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


def test_lines_are_read_or_refused_with_the_reason(made, page):
    page.open((made / "map.html").as_uri())
    answers = ask(page, "\n\n".join([*READ, *REFUSED]))
    assert [(answer["trb"].get("v"), answer["trb"]["junction"]) for answer in answers] == [*READ.values()]
    wanted = [problem for problem in REFUSED.values() if problem]
    found = texts(page, "#refused li")
    assert [line.split(": ", 1)[1].removesuffix(".") for line in found[:-1]] == wanted
    assert found[0].startswith(f"Line {2 * len(READ) + 1}: ")
    assert texts(page, "#answers summary b") == [f"Line {2 * n + 1}" for n in range(len(READ))]
    assert page.value("document.title") == "airrvec: map of receptors"
    assert page.value("document.images.length") == 0
    assert page.errors == []


def test_both_chains_come_in_any_order(made, page):
    page.open((made / "map.html").as_uri())
    alpha, beta = {"v": "TRAV29/DV5", "junction": "CAASGF"}, {"v": "TRBV19", "junction": "CASSF"}
    orders = [
        "TRAV29/DV5 CAASGF TRAJ42 TRBV19 CASSF TRBJ2-7",
        "TRBV19 CASSF TRAV29DV5 CAASGF",
        "CAASGF TRAV29/DV5 CASSF TRBV19",
        "TRAV29/DV5/TRBV19/CAASGF/CASSF",
        "TRAV29/DV5 TRAJ42 TRBV19 TRBJ2-7 CAASGF CASSF",
    ]
    for answer in ask(page, "\n".join(orders)):
        for chain, wanted in ((answer["tra"], alpha), (answer["trb"], beta)):
            assert (chain["v"], chain["junction"]) == (wanted["v"], wanted["junction"])


def test_genes_have_the_loops_of_the_library(made, page):
    """In spellings of several programs."""
    page.open((made / "map.html").as_uri())
    names = [
        "TRBV19",
        "TRBV6",
        "TRBV6-1*01",
        "TCRBV07-09",
        "TRAV14DV4",
        "TRBV20-1:02",
        "TRBV12-3*00",
        "TRAV8-6*02",
    ]
    names += ["TRBV19*77", "TRBV5-1", "HomSap_TRBV9"]
    for answer, name in zip(ask(page, "\n".join(f"{name} CASSF" for name in names)), names, strict=True):
        symbol = read_call(name.removeprefix("HomSap_"), "V", "homosapiens").symbol
        chain = answer.get("trb") or answer["tra"]
        assert chain["cdrs"] == list(v_loops(symbol, "homosapiens")), name


def test_an_answer_leads_to_the_map_and_to_a_file(made, page):
    page.open((made / "map.html").as_uri())
    page.value(
        "(make => { URL.createObjectURL = blob => {"
        " if (!blob.type.includes('tab')) return make(blob); window.saved = blob.text(); return '#'; };"
        " return true; })(URL.createObjectURL.bind(URL))"
    )
    answers = ask(page, "TRBV19 CASSIRSSYEQYF\nTRAV27 CAGAGSQGNLIF")
    assert page.value("document.querySelector('details').open")
    page.click("#answers .small")
    assert "CASSIRSSYEQYF" in page.value("document.getElementById('tip').textContent")
    page.click("#ask-save")
    rows = list(
        csv.DictReader(page.value("window.saved").splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    )
    assert len(rows) == 20
    ids = held((made / "map.html").read_text())["ids"]
    assert [row["nearest_receptor_id"] for row in rows[:10]] == [ids[row] for row, _ in answers[0]["nearest"]]
    assert rows[0]["Sample"] == HOSTILE
    assert (rows[19]["line"], rows[19]["rank"], rows[19]["compared"]) == ("2", "10", "α chains")


def test_a_stopped_search_can_be_repeated(made, page):
    page.open((made / "map.html").as_uri())
    page.type("#pasted", "TRBV19 CASSIRSSYEQYF")
    page.value(
        "(document.getElementById('ask-find').click(), document.getElementById('ask-stop').click(), true)"
    )
    page._wait_for_same("!document.getElementById('ask-find').disabled", looks=2)
    assert texts(page, "#ask-state") == ["Stopped."]
    assert len(ask(page, "TRBV19 CASSIRSSYEQYF")[0]["nearest"]) == 10


def test_no_request_leaves_the_page(made, page):
    """Not that of the search; and neither the page nor a worker of it is able to make one."""
    page.open((made / "map.html").as_uri())
    ask(page, "TRBV19 CASSIRSSYEQYF")
    loaded = page.value("performance.getEntriesByType('resource').map(entry => entry.name)")
    assert all(name.startswith("blob:") for name in loaded)
    attempt = (
        "new Promise(done => { addEventListener('securitypolicyviolation', e => done(e.effectiveDirective));"
        " fetch('https://localhost/').catch(() => {}); })"
    )
    assert page.value(attempt) == "connect-src"
    script = f"{attempt}.then(found => postMessage(found))"
    from_worker = page.value(
        f"new Promise(done => {{ const blob = new Blob([{json.dumps(script)}]);"
        " new Worker(URL.createObjectURL(blob)).onmessage = e => done(e.data); })"
    )
    assert from_worker == "connect-src"


@pytest.mark.parametrize("width", [1280, 400])
def test_answers_are_not_wider_than_the_window(width, made, page):
    page.open((made / "map.html").as_uri(), width)
    ask(page, "TRBV19 CASSIRSSYEQYF\n" + "TRBV19 " + "X" * 200)
    assert page.value("document.documentElement.scrollWidth") <= width
