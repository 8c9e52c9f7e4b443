"""What a benchmark says that a program took."""

import sys

import pytest

from benchmarks.common import timing


def test_the_memory_of_a_program_is_its_own():
    """Not the least that the kernel counts: that of the process which starts it."""
    small = timing.program(sys.executable, "-c", "pass")
    large = timing.program(sys.executable, "-c", "b'x' * 80_000_000")
    assert small["memory_MB"] < 40 < timing.peak_memory()
    assert large["memory_MB"] - small["memory_MB"] == pytest.approx(76, abs=4)


def test_the_time_of_a_program_is_its_own():
    used = timing.program(sys.executable, "-c", "import time; time.sleep(0.2); sum(range(2_000_000))")
    assert used["wall_s"] > used["processor_s"] > 0
    assert used["wall_s"] > 0.2


def test_a_program_that_fails_ends_the_benchmark():
    with pytest.raises(SystemExit, match="-c failed"):
        timing.program(sys.executable, "-c", "raise SystemExit(3)")
