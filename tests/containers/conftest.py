"""Engines, images and runs, each made once."""

import os
import time
from pathlib import Path

import pytest
from engines import MAKE_BASE, ROOT, Pipeline, User, call, docker_daemon, install, must, open_folder


@pytest.fixture(scope="session")
def folder():
    with open_folder() as folder:
        yield folder


@pytest.fixture(scope="session")
def docker(folder):
    """Docker, with its daemon."""
    with docker_daemon(folder / "dockerd.log"):
        yield "docker"


@pytest.fixture(scope="session")
def images(docker):
    """The images, by `make images`: name → tag of the pipeline's version."""
    started = time.monotonic()
    dockerfiles = sorted((ROOT / "containers").rglob("Dockerfile"))
    if os.getuid() == 0:  # others need a registry
        install("debootstrap")
    print(must(MAKE_BASE, *dockerfiles, stderr=None), flush=True)
    # Through the host's network, as not every machine lets a bridge reach the name servers.
    done = call("make", "--no-print-directory", "images", "BUILD_OPTIONS=--network host", cwd=ROOT)
    assert done.returncode == 0, done.stdout[-3000:]
    built = must("docker", "images", "airrvec*")
    print(f"make images: {time.monotonic() - started:.0f} s\n{built}", flush=True)
    version = must("sed", "-n", "s/^ *version *= '\\(.*\\)'/\\1/p", ROOT / "nextflow.config").strip()
    return {path.parent.name: f"airrvec{'-r' * (path.parent.name == 'r')}:{version}" for path in dockerfiles}


@pytest.fixture(scope="session")
def image(images):
    return images["containers"]


@pytest.fixture(scope="session")
def user(folder, docker):
    with User(folder) as user:
        yield user


@pytest.fixture(scope="session")
def pipeline(folder):
    return Pipeline(folder)


@pytest.fixture(scope="session")
def local_run(pipeline, folder):
    """The profile `test` in the locked environment."""
    run = pipeline.run_locally(folder / "local", "-profile", "test")
    assert run.status == 0, run.output
    return run


@pytest.fixture(scope="session")
def podman(user, images):
    """Podman of a user without privileges, with the images that docker built."""
    install("podman")
    if os.getuid() == 0:  # rootless containers have their network through it; without udev it is root's alone
        Path("/dev/net/tun").chmod(0o666)
    for image in images.values():
        done = user.call("podman", "pull", "--quiet", f"docker-daemon:{image}")
        assert done.returncode == 0, done.stdout
    return "podman"


def pytest_terminal_summary(terminalreporter):
    """The figures that tests leave."""
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{name}: {value}")
