"""The fixture of all tests that fails one which leaves a trace in its process."""

import os

from airrvec.core import runtime

import numba
import pytest
import threadpoolctl

import process_state


def variable():
    os.environ["AIRRVEC_TRACE"] = "1"


def folder():
    os.chdir("/")


def umask():
    os.umask(0o027)


def threads_of_numba():
    numba.set_num_threads(1)


def threads_of_blas():
    threadpoolctl.threadpool_limits(7, "blas")


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (variable, r"\$AIRRVEC_TRACE: None → '1'"),
        (folder, "working folder"),
        (umask, "umask: .*0027"),
        (threads_of_numba, "threads of numba: . → 1"),
        (threads_of_blas, "threads of .*openblas.* → 7"),
    ],
)
def test_a_trace_fails(change, name):
    if change is threads_of_numba and numba.config.NUMBA_NUM_THREADS == 1:
        pytest.skip("one core")
    here, mask = os.getcwd(), os.umask(0)
    os.umask(mask)
    with process_state.restored_threads():
        try:
            with pytest.raises(pytest.fail.Exception, match=name), process_state.unchanged("the test leaves"):
                change()
        finally:
            os.environ.pop("AIRRVEC_TRACE", None)
            os.chdir(here)
            os.umask(mask)


def test_what_scripts_set_for_their_process_is_put_back():
    before = process_state.state()
    with process_state.unchanged("the test leaves"):
        runtime.limit_threads(1)
        assert os.environ["OMP_NUM_THREADS"] == "1"
        runtime.limit_threads(3)
        assert os.environ["OMP_NUM_THREADS"] == "3"
    assert process_state.state() == before
