"""The kernels of the search stay within their arrays, whatever the shapes of the vectors."""

import os
import subprocess
import sys
from pathlib import Path

from inputs import ROOT


def test_no_shape_of_vectors_leads_out_of_an_array(tmp_path):
    """With numba's checks of bounds, for which kernels are compiled anew, into a cache of their own."""
    checks = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT / "bin")}
    command = [sys.executable, str(Path(__file__).with_name("hostile_search.py"))]
    done = subprocess.run(command, env=os.environ | checks, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "within bounds\n"


def test_explicit_vectors_are_checked_too(tmp_path):
    """Loads and stores of `airrvec.model.cpu.lanes` bypass numba's own checks."""
    program = """
import numpy as np
from airrvec.model.cpu import lanes
from numba import njit

@njit
def copied(x, column):
    out = np.empty((1, 16), np.float32)
    lanes.store(out, 0, 0, lanes.load(x, 0, column))
    return out

x = np.arange(20, dtype=np.float32)[None]
assert copied(x, 4)[0, -1] == 19
for column in (5, -1):
    try:
        copied(x, column)
    except IndexError:
        continue
    raise AssertionError(column)
print("checked")
"""
    checks = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT / "bin")}
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | checks, capture_output=True, text=True
    )
    assert done.stdout == "checked\n", done.stderr
