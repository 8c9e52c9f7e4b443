"""
The profile `apptainer` for real, in an image file made of docker's image, by a user without privileges.

Where Apptainer is missing, and this is root on Debian: Apptainer of Debian sid, in a root of its own.
"""

import os
import shutil
import stat
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[1] / "containers"))
from airrvec.core import tables
from airrvec.core.version import __version__

from engines import MAKE_BASE, REGISTRY, ROOT, Pipeline, User, docker_daemon, install, must, open_folder

IMAGE = f"{REGISTRY}/airrvec:{__version__}"
# What Nextflow calls its file.
FILE = f"{IMAGE.replace('/', '-').replace(':', '-')}.img"


@pytest.fixture(scope="session")
def folder():
    with open_folder() as folder, docker_daemon(folder / "dockerd.log"):
        yield folder


@pytest.fixture(scope="session")
def user(folder):
    with User(folder) as user:
        yield user


def fuse_device(folder):
    """Return a device of FUSE in a folder, which every user may open, as on the nodes of a cluster."""
    device = folder / "fuse"
    os.mknod(device, stat.S_IFCHR, os.stat("/dev/fuse").st_rdev)
    device.chmod(0o666)
    return device


@pytest.fixture(scope="session")
def path(folder):
    """PATH with apptainer."""
    if shutil.which("apptainer"):
        return os.environ["PATH"]
    install("debootstrap")
    must(MAKE_BASE, ROOT / "containers/r/Dockerfile", stderr=None)
    programs, root = folder / "programs", folder / "root"
    programs.mkdir()
    dockerfile = (
        "FROM made-from-debian:sid\n"
        "RUN apt-get update"
        " && apt-get install --yes --no-install-recommends apptainer fuse-overlayfs squashfuse\n"
    )
    must("docker", "build", "--network=host", "--tag=airrvec-apptainer", "-", input=dockerfile, stdin=None)
    must("docker", "create", "--name=airrvec-apptainer", "airrvec-apptainer")
    try:
        root.mkdir()
        must("bash", "-c", f"docker export airrvec-apptainer | tar --directory {root} --extract")
    finally:
        must("docker", "rm", "airrvec-apptainer")
    wrapper = programs / "apptainer"
    text = (Path(__file__).parent / "root.sh").read_text()
    wrapper.write_text(text.replace("@ROOT@", str(root)).replace("@FUSE@", str(fuse_device(programs))))
    wrapper.chmod(0o755)
    return f"{programs}{os.pathsep}{os.environ['PATH']}"


@pytest.fixture(scope="session")
def cache(user, path):
    """The folder of the image file, which `make sif` writes."""
    options = must(MAKE_BASE, ROOT / "containers/Dockerfile", stderr=None).split()
    cache = user.make("cache")
    words = ("make", "sif", f"SIF={cache}", f"BUILD_OPTIONS={' '.join(options)}")
    printed = must(*words, cwd=ROOT, env={**os.environ, "PATH": path})
    assert f"export NXF_APPTAINER_CACHEDIR={cache}" in printed
    assert sorted(file.name for file in cache.iterdir()) == [FILE]
    return cache


def test_vectors_are_those_of_the_local_run(folder, user, path, cache):
    pipeline = Pipeline(folder)
    local = pipeline.run_locally(folder / "local", "-profile", "test")
    assert local.status == 0, local.output
    env = {"PATH": path, "NXF_APPTAINER_CACHEDIR": cache, "NXF_HOME": user.home / ".nextflow"}
    run = pipeline.run(user, "run", "-profile", "test,apptainer", **env)
    assert run.status == 0, run.output
    scripts = [file.read_text() for file in run.folder.glob("work/??/*/.command.run")]
    assert len(scripts) >= 10
    assert all("apptainer exec" in text and f" {cache / FILE} " in text for text in scripts)
    one, other = (tables.read(one.results / "embeddings/sceptr.parquet") for one in (local, run))
    assert one["receptor_id"].equals(other["receptor_id"])
    vectors, expected = (table.drop(["receptor_id"]).to_pandas().to_numpy() for table in (other, one))
    np.testing.assert_allclose(vectors, expected, rtol=0, atol=1e-5)
    assert {file.stat().st_uid for file in run.results.rglob("*")} == {user.entry.pw_uid}
    assert (run.results / "multiqc/multiqc_report.html").stat().st_size > 100_000
