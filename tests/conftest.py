"""What holds for all tests: a test leaves no trace in its process; `make check` runs slow ones by turns."""

import pytest

import process_state
from turns import pytest_collection_modifyitems  # noqa: F401


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
