"""`airrvec.find` in a notebook, beside the verb."""

import airrvec
from airrvec.core.errors import InputError

import numpy as np
import pandas as pd
import pytest
from finished_runs import FLU, WORDS, found, write_index, write_two
from results_folder import write_manifest


@pytest.mark.parametrize("options", [{"k": 3}, {"radius": 0.5}, {"chains": "beta", "exact": True}])
def test_a_file_gives_what_the_verb_writes(made, tmp_path, options):
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    expected = found(
        made, tmp_path / "out.parquet", FLU["flu_1"], *[word for word in words if word is not True]
    )
    table = airrvec.find(FLU["flu_1"], made, threads=2, **options)
    for name in expected:
        missing = expected[name].isna()
        assert table[name].isna().equals(missing)
        assert table.loc[~missing, name].tolist() == expected.loc[~missing, name].tolist()
    assert list(table) == list(expected)
    assert table.attrs["problems"] == []


def test_words_and_the_index_of_the_environment(made, monkeypatch):
    monkeypatch.setenv("AIRRVEC_INDEX", str(made))
    table = airrvec.find(WORDS, k=2)
    assert table["query"].tolist() == [WORDS] * 2
    assert table["distance"][0] == 0


def test_rows_of_a_table_keep_their_labels(made):
    frame = airrvec.read(FLU["flu_1"]).iloc[:3].set_index(pd.Index(["x", "y", "z"]))
    frame.loc["y", ["tra_junction_aa", "trb_junction_aa"]] = "not a junction"
    with pytest.warns(UserWarning, match="queries without an answer: 2 × "):
        table = airrvec.find(frame, made, k=2)
    assert table["query"].tolist() == ["x", "x", "z", "z"]
    assert np.array_equal(table["distance"][::2], [0, 0])
    assert {problem["query"] for problem in table.attrs["problems"]} == {"y"}


def test_results_without_an_index(runs, made):
    direct = airrvec.find(WORDS, runs["flu"], k=2)
    indexed = airrvec.find(WORDS, made, k=500)
    expected = indexed[indexed["run"] == str(runs["flu"].resolve())].head(2)
    assert direct["receptor_id"].tolist() == expected["receptor_id"].tolist()


def test_a_changed_run_is_a_warning_in_the_users_line(tmp_path):
    runs = write_two(tmp_path)
    index = write_index(tmp_path / "index", runs)
    (runs["flu"] / "new.txt").write_text("x")
    write_manifest(runs["flu"])
    with pytest.warns(UserWarning, match="has changed since; index it again: ") as warned:
        airrvec.find(WORDS, index, k=1)
    assert warned[0].filename == __file__


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k is 0, and must be a whole number from 1 on"),
        ({"k": 2.5}, "k is 2.5, and must be a whole number from 1 on"),
        ({"threads": 0}, "threads is 0, and must be a whole number from 1 on"),
        ({"radius": -1}, "radius is -1, and must be at least 0"),
        ({"radius": float("nan")}, "radius is nan, and must be at least 0"),
        ({"chains": "both"}, "chains is 'both', and must be paired, alpha or beta"),
        ({"species": "human"}, "species is 'human', and must be homosapiens or musmusculus"),
        ({"format": "word"}, "there is no format 'word'"),
    ],
)
def test_impossible_numbers_and_words_are_refused(made, options, message):
    with pytest.raises(InputError, match=message):
        airrvec.find(FLU["flu_1"], made, **options)


@pytest.mark.parametrize("k", [10**9, 10**18])
def test_more_neighbours_than_there_are_receptors_are_all(made, k):
    table = airrvec.find(WORDS, made, k=k)
    assert len(table) == len(airrvec.find(WORDS, made, k=10_000)) > 50
