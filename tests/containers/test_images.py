"""What is in the Python image, and what is not."""

import json
import shutil
import tomllib
from pathlib import Path

import pytest
from engines import ROOT, call, must
from packaging.markers import Marker

LIMIT = 1.2e9  # bytes that are neither torch nor CUDA
SITE = "/opt/airrvec/lib/python3.11/site-packages"
# torch with its compiler, and what NVIDIA brings
TORCH = ("torch", "torchgen", "functorch", "triton", "nvidia", "cuda")


@pytest.fixture
def inside(docker, image):
    """Run a command in the image, with options of docker before it."""

    def run(*command, options=()):
        return call(docker, "run", "--rm", "--network=none", *options, image, *command)

    return run


def test_size(docker, image, inside, record_property):
    everything = json.loads(must(docker, "image", "inspect", image))[0]["Size"]
    listed = inside("bash", "-c", f"cd {SITE} && du --bytes --summarize {' '.join(TORCH)}").stdout
    sizes = {name: int(size) for size, name in (line.split("\t") for line in listed.splitlines())}
    assert set(sizes) == set(TORCH), listed
    rest = everything - sum(sizes.values())
    record_property("image, GB", f"{everything / 1e9:.2f}, of them {rest / 1e9:.2f} neither torch nor CUDA")
    assert 0.5e9 < rest < LIMIT


def test_user_and_labels(docker, image, inside):
    assert inside("id", "--user").stdout.strip() == "1000"
    labels = json.loads(must(docker, "image", "inspect", image))[0]["Config"]["Labels"]
    named = {key.removeprefix("org.opencontainers.image."): value for key, value in labels.items()}
    assert (
        named["version"]
        == image.split(":")[1]
        == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    )
    assert {"title", "description", "licenses"} < set(named)


def test_ps_and_bash_are_there(inside):
    assert "procps" in inside("ps", "--version").stdout
    assert inside("bash", "-c", "echo $BASH_VERSION").returncode == 0


@pytest.mark.parametrize("program", ["gcc", "cc", "g++", "make", "ld", "strip", "uv", "pip", "git"])
def test_no_tool_of_building_is_left(inside, program):
    assert inside("bash", "-c", f"command -v {program}").returncode == 1


def test_no_cache_and_no_code_of_ours_is_left(inside):
    left = (
        "*.whl",
        "*/.cache/*",
        "/var/lib/apt/lists/*",
        "/var/cache/apt/*",
        "*/uv.lock",
        "/build",
        f"{SITE}/airrvec*",
    )
    tests = [part for pattern in left for part in ("-o", "-path", pattern)][1:]
    listed = inside("find", "/", "-xdev", "(", *tests, ")", "-not", "-type", "d", options=["--user", "0"])
    assert listed.returncode == 0
    assert listed.stdout == ""


def test_packages_are_those_of_the_lock(inside):
    """All that run the pipeline but those that the Dockerfile leaves out, and none that develop it."""
    script = (
        "from importlib.metadata import distributions as d; print(*(f'{p.name}=={p.version}' for p in d()))"
    )
    installed = {
        line.lower().replace("_", "-").replace(".", "-")
        for line in inside("python", "-c", script).stdout.split()
    }
    exported = must(
        _uv(),
        "export",
        "--locked",
        "--no-dev",
        "--no-emit-project",
        "--no-hashes",
        "--no-annotate",
        "--quiet",
        cwd=ROOT,
    )
    wanted = set()
    for line in exported.splitlines():
        requirement, _, marker = line.partition(" ; ")
        if "==" in requirement and (not marker or _holds(marker)):
            wanted.add(requirement.strip().lower().replace("_", "-").replace(".", "-"))
    left_out = {"kaleido", "hf-xet", "polars-runtime-32", "boto3", "botocore", "s3transfer", "jmespath"}
    assert {name for name in wanted if name.split("==")[0] not in left_out} == installed


def _uv() -> Path:
    """As in the Makefile."""
    return Path(shutil.which("uv") or ROOT / ".uv" / "bin" / "uv")


def _holds(marker: str) -> bool:
    image = {
        "python_full_version": "3.11.2",
        "python_version": "3.11",
        "sys_platform": "linux",
        "platform_machine": "x86_64",
    }
    return Marker(marker).evaluate(image)


def test_any_user_finds_places_for_caches(inside):
    """A user whom the image does not know, and who has no home."""
    script = """
import getpass, logging, os
logging.basicConfig(level=logging.INFO)
import matplotlib.font_manager, numba
assert os.getuid() == 4321
open('/tmp/kernel.py', 'w').write('import numba\\n@numba.njit(cache=True)\\ndef one(): return 1\\n')
os.chdir('/tmp'); import sys; sys.path.insert(0, '/tmp')
import kernel
assert kernel.one() == 1
assert sum(kernel.one.stats.cache_misses.values()) == 1 and os.listdir(os.environ['NUMBA_CACHE_DIR'])
"""
    done = inside("python", "-c", script, options=["--user", "4321:4321"])
    assert done.returncode == 0, done.stdout
    for word in ("writable", "writeable", "font cache"):
        assert word not in done.stdout
