"""Fixtures of the pipeline's tests; what runs it is in `pipeline_runs`."""

import fcntl
import pickle
import shutil
import subprocess
from pathlib import Path

import pytest
from pipeline_runs import ROOT, Run, run_pipeline


@pytest.fixture(scope="session")
def real_run(tmp_path_factory, worker_id) -> Run:
    """The profile ``test``, once for all workers: no test may change it."""
    shared = tmp_path_factory.getbasetemp()
    shared = shared if worker_id == "master" else shared.parent
    with (shared / "real.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the other worker waits
        kept = shared / "real.pickle"
        if not kept.exists():
            (shared / "real").mkdir()
            kept.write_bytes(pickle.dumps(run_pipeline(shared / "real", "-profile", "test")))
    run = pickle.loads(kept.read_bytes())  # noqa: S301 - of this run of pytest
    assert run.status == 0, run.output
    assert "MISSING" not in run.output
    return run


@pytest.fixture
def project_copy(tmp_path) -> Path:
    """A copy of the pipeline that a test may edit."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    for name in listed:
        if (ROOT / name).is_file() and not name.startswith(("tests/", "docs/")):
            (tmp_path / "project" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tmp_path / "project" / name)
    return tmp_path / "project"
