"""Some hundreds of cases, all former crashers, and whether the fuzzer sees what goes wrong."""

import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from fuzz import cases, properties
from fuzz.__main__ import main
from fuzz.corpus import DATA, ROOT, Case, crashers
from fuzz.minimise import minimised, smallest
from fuzz.workers import Worker, outcomes

N_CASES = 150
N_ROWS = len((DATA / "10x.csv").read_text().splitlines()) - 1
ROWS = b"a\tb\tc\n1\t2\t3\n4\tbad\t6\n7\t8\t9\n"


def test_some_hundred_cases():
    failures, results = [], Counter()
    for number, outcome in outcomes(0, range(N_CASES)):
        results[outcome.result] += 1
        failures += [(number, outcome.failure)] if outcome.failure else []
    assert not failures
    # Inputs that are all refused, or none of them, would test little.
    assert min(results["read"], results["refused"]) > N_CASES / 4


@pytest.fixture(scope="module")
def worker():
    with Worker() as worker:
        yield worker


@pytest.mark.parametrize("name", crashers())
def test_former_crasher(name, worker):
    outcome = worker.outcome(crashers()[name])
    assert outcome.result in ("read", "refused"), outcome.details


def test_a_case_is_the_same_in_every_process():
    digest = (
        "import hashlib; from fuzz import cases;"
        " print(hashlib.sha256(repr([cases.case(1, number) for number in range(150)]).encode()).hexdigest())"
    )
    printed = set()
    for hash_seed in "12":
        environment = {
            **os.environ,
            "PYTHONPATH": f"{ROOT / 'bin'}:{ROOT / 'tests'}",
            "PYTHONHASHSEED": hash_seed,
        }
        command = [sys.executable, "-c", digest]
        printed.add(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)
    assert len(printed) == 1


# --- The fuzzer sees faults, and goes on


def test_what_goes_wrong_is_seen_and_the_next_case_is_checked(worker):
    expected = {
        "abort": "signal SIGABRT",
        "exit": "exit status 3",
        "memory": "MiB of memory",
        "memory once more": "MiB of memory",
        "outside": "AssertionError: files outside of the folder of results",
        "error": "ValueError: planted",
    }
    for word, failure in expected.items():
        assert failure in worker.outcome(Case("fault", {"fault": word.encode()})).failure
        assert worker.outcome(Case("fault", {"fault": b"none"})).result == "read"


def test_a_case_that_does_not_end_is_stopped_where_it_hangs():
    with Worker(limit=1) as worker:
        outcome = worker.outcome(Case("fault", {"fault": b"hang"}))
    assert outcome.failure.startswith("no end after 1 s")
    assert "faults.py" in outcome.details


def test_a_case_that_fails_is_repeated_from_its_folder(tmp_path, capsys):
    Case("fault", {"fault": b"error"}).write(tmp_path / "case")
    assert main(["--repeat", str(tmp_path / "case")]) == 1
    assert "ValueError: planted" in capsys.readouterr().out
    Case("fault", {"fault": b"none"}).write(tmp_path / "case")
    assert main(["--repeat", str(tmp_path / "case")]) == 0


def test_smallest_case():
    case = Case("table", {"table": ROWS, "other": b"none"}, {"sample": "s", "species": "homosapiens"})
    smaller = minimised(case, lambda other: b"bad" in other.files["table"])
    assert smaller.files["table"] == b"bad"
    assert len(smaller.files["other"]) == 1
    assert smaller.options == {"sample": "s"}


def test_no_element_of_the_smallest_part_can_be_left_out():
    assert smallest(list(range(100)), lambda part: {3, 50, 97} <= set(part)) == [3, 50, 97]


# --- The properties see what is wrong


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    options = {"sample": "s", "multichain": "top", "n_rows": N_ROWS}
    return properties.normalised(DATA / "10x.csv", tmp_path_factory.mktemp("out"), options)


def _set(table: pa.Table, name: str, values) -> pa.Table:
    return table.set_column(table.column_names.index(name), table.schema.field(name), [values])


TAMPERED = {
    "a cell is lost": lambda r: replace(r, cells=r.cells.slice(1)),
    "a reject is lost": lambda r: replace(r, rejects=r.rejects.slice(1)),
    "a receptor is lost": lambda r: replace(r, receptors=r.receptors.slice(1)),
    "a row is counted twice": lambda r: replace(
        r, cells=_set(r.cells, "input_rows", pc.add(r.cells["input_rows"], 1).combine_chunks())
    ),
    "a reject names no row": lambda r: replace(
        r, rejects=_set(r.rejects, "row", pc.add(r.rejects["row"], 1000).combine_chunks())
    ),
    "an identity is another's": lambda r: replace(
        r, receptors=_set(r.receptors, "receptor_id", pa.array(r.receptors["receptor_id"].to_pylist()[::-1]))
    ),
    "a junction is no junction": lambda r: replace(
        r, receptors=_set(r.receptors, "trb_junction_aa", pa.array(["CASS*F"] * len(r.receptors)))
    ),
    "the sample is another": lambda r: replace(
        r, cells=_set(r.cells, "sample_id", pa.array(["t"] * len(r.cells)))
    ),
    "a column is gone": lambda r: replace(
        r,
        rejects=r.rejects.drop_columns("row_kept").append_column(
            "row_kept", r.rejects["row_kept"].cast(pa.int8())
        ),
    ),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_what_is_wrong_is_seen(name, result):
    def check(checked):
        properties.check_conserved(checked, N_ROWS)
        properties.check_receptors(checked)
        properties.check_tables(checked, "s")

    check(result)
    with pytest.raises(AssertionError):
        check(TAMPERED[name](result))


def test_what_is_wrong_with_gamma_delta_cells_is_seen(tmp_path):
    result = properties.normalised(DATA / "10x_gamma_delta.csv", tmp_path, {"sample": "s"})
    assert min(len(result.cells), len(result.apart)) > 0
    with pytest.raises(AssertionError, match="input_rows sum to"):
        properties.check_conserved(replace(result, apart=result.apart.slice(1)))
    junctions = _set(result.apart, "trd_junction_aa", pa.array(["CALF"] * len(result.apart)))
    with pytest.raises(AssertionError, match="is not the hash of γδ"):
        properties.check_receptors(replace(result, apart=junctions))


def test_other_receptors_are_not_the_same(result):
    properties.check_same(result, result)
    with pytest.raises(AssertionError, match="cells differ"):
        properties.check_same(result, replace(result, cells=result.cells.slice(1)))


def test_each_kind_is_drawn():
    drawn = Counter(cases.case(0, number).kind for number in islice(range(10_000), 400))
    assert set(drawn) == {name for name, kind in cases.KINDS.items() if kind.share}
