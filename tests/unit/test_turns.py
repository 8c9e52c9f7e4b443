"""`make check` runs the slow tests by turns: what the list holds, and what a turn leaves out."""

import re
from itertools import chain
from types import SimpleNamespace

import pytest

import turns

TURNS = [str(turn) for turn in range(1, turns.N_TURNS + 1)]
LOG = """\
============================= slowest durations ==============================
90.00s setup    tests/pipeline/test_a.py::test_one
5.00s call     tests/pipeline/test_a.py::test_two
99.00s call     tests/pipeline/test_run.py::test_always
39.00s call     tests/pipeline/test_b.py::test_quick
6.00s setup    tests/unit/test_c.py::test_with_fixtures
0.60s call     tests/unit/test_c.py::test_after_it
3.00s call     tests/unit/test_d.py::test_cases[a case: b.py]
2.00s call     tests/unit/test_d.py::test_cases[other]
0.60s call     tests/unit/test_d.py::test_quick
9.00s call     tests/unit/test_conventions.py::test_always
"""


def test_files_that_share_runs_or_fixtures_take_turns_as_a_whole():
    assert turns.slow_tests(LOG) == {
        "tests/pipeline/test_a.py": 95,
        "tests/unit/test_c.py": 6.6,
        "tests/unit/test_d.py::test_cases[a case: b.py]": 3,
        "tests/unit/test_d.py::test_cases[other]": 2,
    }


def test_turns_take_equally_long():
    rows = turns.divided(turns.slow_tests(LOG))
    assert [turn for _, turn, _ in rows] == [1, 2, 3, 4]
    assert rows[0] == ("95.0", 1, "tests/pipeline/test_a.py")


def kept(tests: list[str], turn: str, monkeypatch) -> list[str]:
    """Return the ids of the tests that run in a turn."""
    monkeypatch.setenv("AIRRVEC_TURN", turn)
    items, left_out = [SimpleNamespace(nodeid=test) for test in tests], []
    hook = SimpleNamespace(pytest_deselected=lambda items: left_out.extend(items))
    turns.pytest_collection_modifyitems(SimpleNamespace(hook=hook), items)
    assert len(items) + len(left_out) == len(tests)
    return [item.nodeid for item in items]


def test_every_turn_has_its_places():
    text = (turns.ROOT / "Makefile").read_text()
    assert re.findall(r"^PLACES_(\d+) :=", text, re.MULTILINE) == TURNS
    assert f" % {turns.N_TURNS} + 1" in text


def test_every_slow_test_has_its_turn(monkeypatch):
    listed = [f"{name}::test_all" if "::" not in name else name for name in turns.read()]
    quick = [f"{turns.file_of(__file__)}::test_quick", *(f"{test} quick" for test in listed if "[" in test)]
    parts = [kept(listed + quick, turn, monkeypatch) for turn in TURNS]
    assert all(set(quick) <= set(part) for part in parts)
    assert sorted(chain.from_iterable(parts)) == sorted(listed + turns.N_TURNS * quick)
    assert kept(listed + quick, "", monkeypatch) == listed + quick


@pytest.mark.parametrize("turn", ["0", "5", "one"])
def test_another_turn_is_refused(turn, monkeypatch):
    with pytest.raises(pytest.UsageError, match="not a number from 1 to 4"):
        kept([], turn, monkeypatch)


def test_a_list_of_files_that_are_gone_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(turns, "LIST", tmp_path / "turns.tsv")
    turns.LIST.write_text("seconds\tturn\ttests\n9\t1\ttests/unit/test_gone.py::test_it\n")
    with pytest.raises(pytest.UsageError, match=r"turns.tsv names files that are not there: .*test_gone.py"):
        kept([], "1", monkeypatch)
