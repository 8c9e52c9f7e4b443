"""The package, built from this checkout and installed into an empty environment outside of it."""

import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import numba
import pytest

# As in the unit tests: a verb that runs before numba is loaded would set the number of its threads for good.
numba.get_num_threads()

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


class Installed:
    """An environment that has the wheel and the core's locked packages, and an empty home."""

    def __init__(self, folder: Path):
        self.folder, self.bin = folder, folder / "env/bin"
        self.environment = {"HOME": str(folder / "home"), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
        Path(self.environment["HOME"]).mkdir()

    def run(self, *words, cwd: Path) -> subprocess.CompletedProcess:
        """Run a program of the environment in a folder, with nothing of this session's variables."""
        program, *arguments = map(str, words)
        return subprocess.run(
            [self.bin / program, *arguments], cwd=cwd, env=self.environment, capture_output=True, text=True
        )


def uv(*words, cwd: Path = ROOT) -> str:
    """Run uv, that of `make` if the path has none, and return its output."""
    program = shutil.which("uv", path=f"{os.environ['PATH']}:{ROOT / '.uv/bin'}")
    assert program, "no uv: make env"
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run([program, *map(str, words)], cwd=cwd, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def dist(tmp_path_factory) -> Path:
    """Return the folder of the sdist, and of the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    uv("build", "--out-dir", folder)
    return folder


@pytest.fixture(scope="session")
def wheel(dist) -> Path:
    """Return the path of the wheel."""
    return next(dist.glob("*.whl"))


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory) -> Installed:
    """Install the wheel with the versions of uv.lock."""
    folder = tmp_path_factory.mktemp("elsewhere")
    locked, overrides = folder / "locked.txt", folder / "overrides.txt"
    locked.write_text(
        uv("export", "--locked", "--no-default-groups", "--no-emit-project", "--no-hashes", "--quiet")
    )
    overrides.write_text("\n".join(PROJECT["tool"]["uv"]["override-dependencies"]))
    here = Installed(folder)
    uv("venv", "--python", shutil.which("python"), folder / "env", cwd=folder)
    versions = ("--constraints", locked, "--overrides", overrides)
    uv("pip", "install", "--python", here.bin / "python", *versions, wheel, cwd=folder)
    return here
