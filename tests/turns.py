#!/usr/bin/env python3
"""
The slow tests that `make check` runs by turns: a quarter of them, by the commit; `make test` runs all.

    turns.py LOG ...   # what pytest --durations 0 printed, of other tests each time; writes turns.tsv

Tests that run Nextflow take turns by their file, and so does a file whose fixtures take long: its tests share
them. Others take turns one by one, each case by itself. A test that the list does not name always runs.
"""

import csv
import os
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_name("turns.tsv")  # seconds, turn, and a file of tests or the id of one

N_TURNS = 4
SLOW, SLOW_FILE = 0.7, 40.0  # seconds from which a test takes turns, and a file of tests that run Nextflow
SLOW_FIXTURES = 5.0  # seconds of fixtures from which their file takes turns
# What few changes leave alone.
ALWAYS = (
    *(f"tests/pipeline/test_{name}.py" for name in ("parameters", "refusals", "run")),
    "tests/unit/test_conventions.py",
)

_DURATION = re.compile(r"^([\d.]+)s (call|setup|teardown) +((\S+?\.py)::.*)$", re.MULTILINE)


def pytest_collection_modifyitems(config, items):
    """Leave out the tests of other turns than AIRRVEC_TURN, from 1; without it all tests run."""
    turn, turns = os.environ.get("AIRRVEC_TURN"), read()
    missing = sorted({file for file in map(file_of, turns) if not (ROOT / file).exists()})
    if missing:
        raise pytest.UsageError(f"{LIST.name} names files that are not there: {missing}; `make turns`")
    if turn not in (None, "", *map(str, range(1, N_TURNS + 1))):
        raise pytest.UsageError(f"AIRRVEC_TURN is {turn!r}, not a number from 1 to {N_TURNS}")
    if not turn:
        return

    def is_of_turn(item) -> bool:
        return turns.get(file_of(item.nodeid), turns.get(item.nodeid)) in (None, int(turn))

    config.hook.pytest_deselected(items=[item for item in items if not is_of_turn(item)])
    items[:] = filter(is_of_turn, items)


def file_of(test: str) -> str:
    """Return the file of the id of a test, or of a file."""
    return test.split("::")[0]


def read() -> dict[str, int]:
    """Return the turn of each file and test of the list."""
    with LIST.open(newline="") as handle:
        return {row["tests"]: int(row["turn"]) for row in csv.DictReader(handle, delimiter="\t")}


def slow_tests(log: str) -> Counter:
    """Return the seconds of files and tests that take turns, from what pytest printed of the durations."""
    lines = [(float(seconds), *words) for seconds, *words in _DURATION.findall(log)]
    fixtures: Counter = Counter()
    for seconds, phase, _, file in lines:
        fixtures[file] += seconds * (phase != "call")
    slow: Counter = Counter()
    for seconds, _, test, file in lines:
        whole = "/pipeline/" in file or fixtures[file] >= SLOW_FIXTURES
        slow[file if whole else test] += seconds
    least = {name: SLOW_FILE if "/pipeline/" in name else SLOW for name in slow}
    taking = (name for name in slow if slow[name] >= least[name] and file_of(name) not in ALWAYS)
    return Counter({name: slow[name] for name in taking})


def divided(slow: Counter) -> list[tuple[str, int, str]]:
    """Return seconds, turn and name of each, in turns that take equally long."""
    filled, rows = dict.fromkeys(range(1, N_TURNS + 1), 0.0), []
    for name, seconds in sorted(slow.items(), key=lambda entry: (-entry[1], entry[0])):
        turn = min(filled, key=filled.__getitem__)
        filled[turn] += seconds
        rows.append((f"{seconds:.1f}", turn, name))
    return rows


def main(paths: list[str]) -> None:
    """Write the list; the tests of each log are divided by themselves."""
    rows = [row for path in paths for row in divided(slow_tests(Path(path).read_text()))]
    with LIST.open("w", newline="") as handle:
        csv.writer(handle, delimiter="\t", lineterminator="\n").writerows(
            [("seconds", "turn", "tests"), *rows]
        )


if __name__ == "__main__":
    main(sys.argv[1:])
