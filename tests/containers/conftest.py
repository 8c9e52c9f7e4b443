"""Engines, images and runs, each made once."""

import os
import time
from pathlib import Path

from airrvec.core.version import __version__

import pytest
from engines import (
    DOCKERFILES,
    MAKE_BASE,
    REGISTRY,
    ROOT,
    Pipeline,
    User,
    call,
    docker_daemon,
    install,
    must,
    open_folder,
)


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
    """The images, by `make images`: the end of a name → full name."""
    started = time.monotonic()
    if os.getuid() == 0:  # others need a registry
        install("debootstrap")
    options = must(MAKE_BASE, *DOCKERFILES, stderr=None).split()
    # Stopped at the first that fails, whose words are then the last ones, also below a make that keeps going.
    command = ("make", "--no-print-directory", "--stop", "images", f"BUILD_OPTIONS={' '.join(options)}")
    done = call(*command, cwd=ROOT)
    if done.returncode:
        print(f"make images, tried again after:\n{done.stdout[-3000:]}", flush=True)
        done = call(*command, cwd=ROOT)  # a gigabyte is downloaded; docker has kept the steps that were done
    assert done.returncode == 0, done.stdout[-3000:]
    images = {name: f"{REGISTRY}/airrvec{name}:{__version__}" for name in ("", "-learn", "-r")}
    # Stages, and images of earlier commits, have no names: gigabytes each.
    label = "org.opencontainers.image.source"
    source = must(
        "docker", "inspect", "--format", f'{{{{index .Config.Labels "{label}"}}}}', images[""]
    ).strip()
    must("docker", "image", "prune", "--force", "--filter", f"label={label}={source}")
    print(f"make images: {time.monotonic() - started:.0f} s\n{must('docker', 'images')}", flush=True)
    return images


@pytest.fixture(scope="session", params=["", "-learn", "-r"], ids=["airrvec", "airrvec-learn", "airrvec-r"])
def image(images, request):
    return images[request.param]


@pytest.fixture
def inside(docker, image):
    """Run a command in the image, with options of docker before it."""

    def run(*command, options=()):
        return call(docker, "run", "--rm", "--network=none", *options, image, *command)

    return run


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
    """Podman of a user without privileges, with the image of the core that docker built."""
    install("podman")
    if os.getuid() == 0:  # rootless containers have their network through it; without udev it is root's alone
        Path("/dev/net/tun").chmod(0o666)
    done = user.call("podman", "pull", "--quiet", f"docker-daemon:{images['']}")
    assert done.returncode == 0, done.stdout
    return "podman"


def pytest_terminal_summary(terminalreporter):
    """The figures that tests leave."""
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{name}: {value}")
