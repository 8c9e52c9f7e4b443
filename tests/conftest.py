"""What holds for all tests: a test leaves no trace in its process; `make check` runs some files by turns."""

import os
from pathlib import Path

import pytest

import process_state

# Files of a minute or more that guard what seldom changes: `make check` runs those of one turn, by commit.
TURNS = (
    (
        *("pipeline/test_bystanders.py", "pipeline/test_canaries.py", "pipeline/test_kept_calibrations.py"),
        *("pipeline/test_lock.py", "pipeline/test_retries.py", "pipeline/test_own_loss.py"),
    ),
    (
        *("pipeline/test_earlier_runs.py", "pipeline/test_cloud.py", "pipeline/test_odd_values.py"),
        *("pipeline/test_own_encoder.py", "pipeline/test_column_map.py"),
    ),
    (
        *("pipeline/test_devices.py", "pipeline/test_batches.py", "pipeline/test_inputs_in_place.py"),
        *("unit/test_bystanders_of_verbs.py", "pipeline/test_task_images.py"),
    ),
)


def pytest_collection_modifyitems(config, items):
    """Leave out the files of other turns than AIRRVEC_TURN, from 1; without it all tests run."""
    turn, tests = os.environ.get("AIRRVEC_TURN"), Path(__file__).parent
    missing = [name for names in TURNS for name in names if not (tests / name).exists()]
    if missing or turn not in (None, "", *map(str, range(1, len(TURNS) + 1))):
        raise pytest.UsageError(f"AIRRVEC_TURN is {turn!r}; files of TURNS that are not there: {missing}")
    if not turn:
        return
    others = {tests / name for number, names in enumerate(TURNS, 1) if str(number) != turn for name in names}
    left_out = [item for item in items if item.path in others]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item.path not in others]


def pytest_terminal_summary(terminalreporter, config):
    """Name the seed of the order of tests, which -q would hide."""
    seed = config.getoption("randomly_seed", None)
    if seed is not None:
        terminalreporter.write_line(f"The order of this run: --randomly-seed={seed}")


@pytest.fixture(autouse=True, scope="module")
def no_trace_of_a_file():
    """Fail a file whose fixtures change what the next file meets."""
    with process_state.unchanged("the fixtures of this file leave"):
        yield


@pytest.fixture(autouse=True)
def no_trace(no_trace_of_a_file):
    """Fail a test that changes what the next one meets: environment, working folder, umask, threads."""
    with process_state.unchanged("the test leaves"):
        yield
