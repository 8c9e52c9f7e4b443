"""Encoders of users: each breach of the contract is one sentence with file, function and what it returned."""

import importlib
import json

from airrvec import encoders
from airrvec.core import tables
from airrvec.core.errors import InputError
from airrvec.core.own_code import OwnCode
from airrvec.encoders import NotMeasurable
from airrvec.encoders.own import CONTRACT, METHODS, OwnEncoder
from airrvec.evaluation.scoring import Distances
from airrvec.synthetic.synthesis import synthesise

import numpy as np
import pytest
from inputs import ROOT, normalised

N = 12
CODE = OwnCode(ROOT / "mine.py", CONTRACT)
FILE = """
import sys

import numpy as np

TITLE = "Mine"


class Mine:
    {attribute}

    def {signature}:
        n = len({receptors})
        {body}


def encoder():
    return Mine()
"""
EMBED = {"signature": "embed(self, receptors)", "receptors": "receptors"}
DISTANCES = {"signature": "distances(self, queries, receptors)", "receptors": "receptors"}
ROWS = {"signature": "distance_rows(self, receptors)", "receptors": "receptors"}


@pytest.fixture(scope="module")
def receptors():
    return synthesise(N, seed=1)


def written(path, method: dict, body: str, attribute: str = "pass"):
    path.write_text(FILE.format(**method, body=body, attribute=attribute))
    return str(path)


def measure(path, receptors) -> np.ndarray:
    """All distances between the receptors, as the benchmark computes them."""
    return Distances(encoders.load(path), receptors, receptors.slice(0, 3)).rows_to_all(np.arange(N))


NUMBERS = "and must return numbers in the shape (12, d)"
SQUARE = "and must return numbers in the shape (12, 12)"
BREACHES = {
    "one dimension": (EMBED, "return np.ones(n)", f"embed() returned the shape (12,), {NUMBERS}"),
    "three dimensions": (EMBED, "return np.ones((n, 2, 2))", f"returned the shape (12, 2, 2), {NUMBERS}"),
    "too few": (EMBED, "return np.ones((n - 1, 4))", f"embed() returned the shape (11, 4), {NUMBERS}"),
    "the wrong way round": (EMBED, "return np.ones((4, n))", f"returned the shape (4, 12), {NUMBERS}"),
    "no dimensions": (EMBED, "return np.ones((n, 0))", "embed() returned vectors of no dimensions, and must"),
    "text": (EMBED, "return np.full((n, 2), 'x')", "embed() returned text (a ndarray), and must return"),
    "objects": (EMBED, "return np.full((n, 2), None)", "embed() returned Python objects (a ndarray)"),
    "complex": (EMBED, "return np.full((n, 2), 1j)", "embed() returned complex numbers (a ndarray)"),
    "nothing": (EMBED, "return None", f"embed() returned Python objects (None), {NUMBERS}"),
    "a word": (EMBED, "return 'vectors'", "embed() returned text (the str 'vectors'), and must return"),
    "a number": (EMBED, "return 3", f"embed() returned the shape (), {NUMBERS}"),
    "a function": (EMBED, "return len", "embed() returned Python objects (a builtin_function_or_method)"),
    "a generator": (EMBED, "return (x for x in range(n))", "embed() returned Python objects (a generator)"),
    "ragged rows": (
        EMBED,
        "return [[1.0] * (i + 1) for i in range(n)]",
        f"embed() returned a list, {NUMBERS}",
    ),
    "infinity": (EMBED, "return np.full((n, 2), np.inf)", "embed() returned infinite numbers, and must"),
    "partly NaN": (
        EMBED,
        "return np.where(np.arange(2 * n).reshape(n, 2) == 5, np.nan, 1.0)",
        "embed() returned NaN beside numbers in 1 of 12 vectors",
    ),
    "two widths": (EMBED, "return np.ones((n, n))", "embed() returned 3 dimensions, and 12 for other"),
    "an error": (EMBED, "raise ValueError('no way')", "embed() fails with ValueError: no way (line 14)"),
    "an error of numpy": (EMBED, "return np.ones(3) @ np.ones(4)", "embed() fails with ValueError: matmul"),
    "exit 0": (EMBED, "sys.exit(0)", "embed() ends the program: sys.exit(0) (line 14)"),
    "exit": (EMBED, "sys.exit()", "embed() ends the program: sys.exit() (line 14)"),
    "exit with words": (EMBED, "raise SystemExit('bye')", "embed() ends the program: sys.exit('bye')"),
    "too few columns": (
        DISTANCES,
        "return np.ones((n, 2))",
        f"distances() returned the shape (12, 2), {SQUARE}",
    ),
    "distances of text": (
        DISTANCES,
        "return [['a'] * n] * n",
        f"distances() returned text (a list), {SQUARE}",
    ),
    "negative": (
        DISTANCES,
        "return -np.eye(n)",
        "distances() returned negative distances, the least -1; smaller is nearer, from 0 on",
    ),
    "infinite distances": (DISTANCES, "return np.full((n, n), np.inf)", "distances() returned infinite"),
    "another way back": (
        DISTANCES,
        "return np.arange(n * n).reshape(n, n)",
        "distances() returned another distance from a receptor to a second one than from the second to the",
    ),
    "distances exit": (DISTANCES, "sys.exit(0)", "distances() ends the program: sys.exit(0) (line 14)"),
    "rows are an array": (
        ROWS,
        "return np.ones((n, n))",
        "distance_rows() returned a ndarray, and must return a",
    ),
    "rows of another shape": (
        ROWS,
        "return lambda rows: np.ones((n, len(rows) + 1))",
        f"the function of distance_rows() returned the shape (12, 13), {SQUARE}",
    ),
    "rows are negative": (ROWS, "return lambda rows: -np.ones((n, n))", "returned negative distances"),
    "rows are not symmetric": (
        ROWS,
        "return lambda rows: np.arange(n * n).reshape(n, n)",
        "the function of distance_rows() returned another distance",
    ),
    "rows fail": (
        ROWS,
        "return lambda rows: rows['a']",
        "the function of distance_rows() fails with IndexError",
    ),
    "rows exit": (
        ROWS,
        "return lambda rows: sys.exit(0)",
        "the function of distance_rows() ends the program",
    ),
}


@pytest.mark.parametrize("breach", BREACHES)
def test_a_breach_of_the_contract_is_one_sentence(breach, receptors, tmp_path):
    method, body, sentence = BREACHES[breach]
    path = written(tmp_path / "mine.py", method, body)
    with pytest.raises(InputError) as error:
        measure(path, receptors)
    assert str(error.value).startswith("mine.py: ")
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


FILES = {
    "no module": ("import nowhere_to_be_found", "the file fails with ModuleNotFoundError: No module named"),
    "no Python": ("def encoder(:", "the file fails with SyntaxError: invalid syntax (mine.py, line 1)"),
    "exit": ("import sys\nsys.exit(0)", "the file ends the program: sys.exit(0) (line 2)"),
    "no title": ("def encoder(): pass", "defines no TITLE"),
    "no encoder": ("TITLE = 'x'", "defines no encoder"),
    "title": ("TITLE = 3\ndef encoder(): pass", "TITLE is the int 3, and must be text"),
    "not callable": ("TITLE = 'x'\nencoder = 3", "encoder is the int 3, and must be a function"),
    "arguments": ("TITLE = 'x'\ndef encoder(device): pass", "encoder() fails with TypeError: "),
    "fails": (
        "TITLE = 'x'\ndef encoder(): 1 / 0",
        "encoder() fails with ZeroDivisionError: division by zero",
    ),
    "exits": ("TITLE = 'x'\ndef encoder(): raise SystemExit", "encoder() ends the program: sys.exit()"),
    "no methods": (
        "TITLE = 'x'\ndef encoder(): pass",
        "none of the methods embed, distances, distance_rows: it is",
    ),
    "a class": ("TITLE = 'x'\nclass encoder:\n embed = 3", "embed is the int 3, and must be a function"),
    "kernel": (
        "TITLE = 'x'\nclass encoder:\n embed = len\n kernel = -1",
        "kernel is the int -1, and must be",
    ),
    "kernel word": ("TITLE = 'x'\nclass encoder:\n embed = len\n kernel = '1'", "kernel is the str '1', and"),
    "needs": (
        "TITLE = 'x'\nclass encoder:\n embed = len\n needs = 'trb_v_call'",
        "needs is the str 'trb_v_call'",
    ),
    "needs what": (
        "TITLE = 'x'\nclass encoder:\n embed = len\n needs = ('v',)",
        "needs is the tuple ('v',), and",
    ),
    "size": (
        "TITLE = 'x'\nclass encoder:\n embed = len\n n_parameters = 'big'",
        "n_parameters is the str 'big'",
    ),
    "property": (
        "TITLE = 'x'\nclass encoder:\n @property\n def embed(self): return 1 / 0",
        "what encoder() returned fails with ZeroDivisionError",
    ),
}


@pytest.mark.parametrize("file", FILES)
def test_a_file_that_makes_no_encoder_is_one_sentence(file, tmp_path):
    text, sentence = FILES[file]
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(InputError) as error:
        encoders.load(str(tmp_path / "mine.py"))
    assert str(error.value).startswith("mine.py: ")
    assert sentence in str(error.value)


VALID = {
    "integers": (EMBED, "return np.arange(2 * n).reshape(n, 2)"),
    "lists": (EMBED, "return [[float(i)] for i in range(n)]"),
    "float64": (EMBED, "return np.arange(2.0 * n).reshape(n, 2)"),
    "yes and no": (EMBED, "return np.arange(2 * n).reshape(n, 2) % 2 == 0"),
    "whole distances": (DISTANCES, "return np.ones((len(queries), n), int)"),
    "rows": (ROWS, "return lambda rows: np.ones((len(rows), n))"),
}


@pytest.mark.parametrize("case", VALID)
def test_what_keeps_the_contract_is_measured(case, receptors, tmp_path):
    found = measure(written(tmp_path / "mine.py", *VALID[case]), receptors)
    assert found.shape == (N, N)
    assert np.isfinite(found).all()


def test_rounding_below_zero_is_no_breach(receptors, tmp_path):
    body = "return np.ones((len(queries), n)) - (1 + 1e-7) * np.eye(len(queries), n)"
    assert measure(written(tmp_path / "mine.py", DISTANCES, body), receptors).min() < 0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("method", [EMBED, DISTANCES, ROWS])
def test_receptors_without_a_vector_or_distance_are_no_breach(method, receptors, tmp_path):
    body = (
        "return (lambda rows: np.full((n, n), np.nan))"
        if method is ROWS
        else "return np.full((n, n), np.nan)"
    )
    path = written(tmp_path / "mine.py", method, body)
    with pytest.raises(NotMeasurable, match="it has no"):
        Distances(encoders.load(path), receptors, None).keep(np.arange(N))


def test_an_encoder_may_say_what_it_cannot_measure_and_what_it_is(receptors, tmp_path):
    attribute = "needs, kernel, n_parameters = ['tra_v_call'], 0.5, 7"
    body = "from airrvec.encoders import NotMeasurable; raise NotMeasurable('no such chain')"
    encoder = encoders.load(written(tmp_path / "mine.py", EMBED, body, attribute))
    assert (encoder.needs, encoder.kernel, encoder.n_parameters) == (["tra_v_call"], 0.5, 7)
    with pytest.raises(NotMeasurable, match="no such chain"):
        encoder.embed(receptors)


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_what_is_not_the_files_doing_passes(error, receptors, tmp_path):
    path = written(tmp_path / "mine.py", EMBED, f"raise {error.__name__}")
    with pytest.raises(error):
        measure(path, receptors)


def test_the_checked_encoder_has_the_methods_of_the_users():
    class All:
        embed = distances = distance_rows = len

    for name in METHODS:
        alone = OwnEncoder(type("One", (), {name: len})(), CODE)
        due = {"distances": {"distances", "distance_rows"}}.get(name, {name})
        assert {method for method in METHODS if hasattr(alone, method)} == due
    assert all(hasattr(OwnEncoder(All(), CODE), name) for name in METHODS)


@pytest.mark.parametrize(("part", "optional"), [("", False), ("", True), ("+cdr3_levenshtein", False)])
def test_the_benchmark_ends_with_the_sentence_and_no_table(part, optional, monkeypatch, tmp_path, capsys):
    """Without --missing the status is 1; with it the part is missing, with the sentence as the reason."""
    monkeypatch.syspath_prepend(ROOT / "bin")
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "mine.py", EMBED, "sys.exit(0)")
    table = normalised(ROOT / "assets/demo/dash_human.csv", sample_id="labelled")
    tables.write(table.cells, "cells.parquet")
    tables.write(table.receptors, "receptors.parquet")
    arguments = [
        "--cells",
        "cells.parquet",
        "--receptors",
        "receptors.parquet",
        "--encoder",
        f"mine.py{part}",
    ]
    arguments += [
        "--name",
        "mine",
        "--benchmark-k",
        "5",
        "--benchmark-splits",
        "2",
        "--benchmark-min-positives",
        "50",
    ]
    sentence = "embed() ends the program: sys.exit(0)"
    main = importlib.import_module("benchmark_fewshot").main
    if optional:
        main([*arguments, "--missing", "mine.missing.json"])
        (entry,) = json.loads((tmp_path / "mine.missing.json").read_text())
        assert sentence in entry["reason"]
    else:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 1
        assert sentence in capsys.readouterr().err
    assert not (tmp_path / "mine.auroc.parquet").exists()
