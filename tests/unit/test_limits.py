"""A small limit of the address space is an error at once, not an import that never ends."""

import resource
import subprocess
import sys
from pathlib import Path

from airrvec.core import environment

import pytest

SCRIPTS = sorted((Path(__file__).parents[2] / "bin").glob("*.py"))


def limited(n_bytes: int):
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (n_bytes, n_bytes))


@pytest.mark.parametrize("script", SCRIPTS, ids=[path.stem for path in SCRIPTS])
def test_every_script_looks_before_it_loads_libraries(script):
    command = [sys.executable, script, "--help"]
    done = subprocess.run(
        command, preexec_fn=limited(environment.LEAST // 2), capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert "is limited to 0.6 GB (ulimit -v)" in done.stderr
