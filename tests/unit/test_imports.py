"""Each module of `airrvec.app` can be the first that a program imports: no circle of imports."""

import os
import subprocess
import sys

from inputs import ROOT

PROGRAM = """
import importlib, os, sys
sys.path.insert(0, sys.argv[1])
import airrvec, pandas, pyarrow.parquet, scipy.sparse, numba

for name in sys.argv[2:]:
    child = os.fork()
    if not child:
        try:
            importlib.import_module(name)
        except BaseException as error:
            print(f"{name}: {error}", flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


def test_every_module_can_be_imported_first():
    modules = [f"airrvec.app.{path.stem}" for path in sorted((ROOT / "bin/airrvec/app").glob("[a-z]*.py"))]
    assert "airrvec.app.find_api" in modules
    command = [sys.executable, "-c", PROGRAM, ROOT / "bin", *modules]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "MPLBACKEND": "agg"}
    )
    assert done.stdout == ""
