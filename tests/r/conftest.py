"""
The R of these tests: an Rscript with their packages on the path; else the image of containers/r.

The image is made if it is missing, or an older one lacks a package.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from airrvec.core.version import __version__

import pytest
from pipeline_runs import ROOT, run_pipeline

sys.path += [str(ROOT / "tests/containers"), str(ROOT / "tests/unit")]
from engines import MAKE_BASE, REGISTRY, call, docker_daemon, install, must

IMAGE = f"{REGISTRY}/airrvec-r:{__version__}"
PACKAGES = ("arrow", "dplyr", "ggplot2", "jsonlite", "knitr", "openssl", "SingleCellExperiment", "testthat")
R_IN_DOCKER = """
docker { enabled = true
  runOptions = '-u $(id -u):$(id -g)' }
process { container = null
  withName: 'BENCHMARK_FEWSHOT|ANALYSE_RECEPTORS' { container = null } }
"""
INSTALL = """
command <- c("CMD", "INSTALL", "--no-docs", "--library=.", commandArgs(trailingOnly = TRUE))
quit(status = system2(file.path(R.home("bin"), "R"), command))
"""


@pytest.fixture(scope="session")
def image(tmp_path_factory) -> str | None:
    """None where R itself is here, else the image, with docker's daemon up."""
    lacking = "quit(status = !all(vapply(commandArgs(TRUE), requireNamespace, TRUE, quietly = TRUE)))"
    if shutil.which("Rscript") and not subprocess.run(["Rscript", "-e", lacking, *PACKAGES]).returncode:
        yield None
        return
    with docker_daemon(tmp_path_factory.mktemp("docker") / "dockerd.log"):
        run = ("docker", "run", "--rm", "--pull=never", "--network=none", IMAGE)
        if call(*run, "Rscript", "-e", lacking, *PACKAGES).returncode:
            install("debootstrap")
            options = must(MAKE_BASE, ROOT / "containers/r/Dockerfile", stderr=None).split()
            must("make", "image-airrvec-r", f"BUILD_OPTIONS={' '.join(options)}", cwd=ROOT)
        yield IMAGE


@pytest.fixture(scope="session")
def rscript(image) -> Callable[..., subprocess.CompletedProcess]:
    """Run Rscript in a folder; what it needs lies there, in the repository or in a library of packages."""

    def run(
        folder: Path, *args: str | Path, locale: str = "C.UTF-8", library: Path | None = None
    ) -> subprocess.CompletedProcess:
        command = ["Rscript", *map(str, args)]
        libraries = {"R_LIBS": str(library)} if library else {}
        if image:
            user = f"--user={os.getuid()}:{os.getgid()}"
            volumes = [f"--volume={folder}:{folder}", f"--volume={ROOT}:{ROOT}:ro"]
            where = [f"--workdir={folder}", f"--env=LC_ALL={locale}"]
            if library:
                volumes.append(f"--volume={library}:{library}")
                where.append(f"--env=R_LIBS={library}")
            command = ["docker", "run", "--rm", "--network=none", user, *volumes, *where, image, *command]
        env = {**os.environ, **libraries, "LC_ALL": locale}
        return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)

    return run


@pytest.fixture(scope="session")
def demo(image, tmp_path_factory) -> Path:
    """Folder of a run of the profile `demo`, whose only processes in a container are those of R."""
    folder = tmp_path_factory.mktemp("demo")
    (folder / "r.config").write_text(R_IN_DOCKER if image else "")
    quick = ("--benchmark_splits", "2", "--compare_permutations", "99")
    run = run_pipeline(folder, "-profile", "demo", *quick, "--export_sce", "-c", "r.config", timeout=1500)
    assert run.status == 0, run.output
    # Where docs/guides/r.md looks for them.
    run.results.rename(folder / "demo")
    run.results.mkdir()
    (folder / "demo").rename(folder / "results/demo")
    return folder


@pytest.fixture(scope="session")
def package_library(rscript, tmp_path_factory) -> Path:
    """Library into which airrvecr/ is installed."""
    folder = tmp_path_factory.mktemp("library")
    (folder / "install.R").write_text(INSTALL)
    done = rscript(folder, "install.R", ROOT / "airrvecr")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder
