"""What names the same packages and versions in several places."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


def test_conda_gets_the_packages_of_the_lock():
    """`make containers/environment.yml` brings it up to date."""
    uv = shutil.which("uv") or str(ROOT / ".uv" / "bin" / "uv")
    exported = subprocess.run(
        [
            uv,
            "export",
            "--locked",
            "--no-dev",
            "--no-emit-project",
            "--no-hashes",
            "--no-annotate",
            "--no-header",
        ],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    environment = yaml.safe_load((ROOT / "containers/environment.yml").read_text())
    assert environment["dependencies"][-1]["pip"] == exported
    assert any(line.startswith("torch==") for line in exported)


def test_images_carry_the_version_of_the_pipeline():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    config = (ROOT / "nextflow.config").read_text()
    assert re.findall(r"^ *version += '(.*)'$", config, re.M) == [version]
    assert set(re.findall(r"^ *image\w* += [\"']airrvec(?:-r)?:(.*)[\"']$", config, re.M)) == {version}
