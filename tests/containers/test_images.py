"""What is in the images, and what is not."""

import json
import shutil
from datetime import datetime

from airrvec.core.version import __version__

import pytest
from engines import ROOT, must
from packaging.markers import Marker

LIMIT = 1e9  # bytes of the core
SITE = "/opt/airrvec/lib/python3.11/site-packages"
EXTRAS = {"airrvec": (), "airrvec-learn": ("--extra", "learn", "--extra", "plm")}


def name_of(image: str) -> str:
    """Return `airrvec`, `airrvec-learn` or `airrvec-r`."""
    return image.rpartition(":")[0].rpartition("/")[2]


def about(image: str) -> dict:
    return json.loads(must("docker", "image", "inspect", image))[0]


@pytest.fixture
def python(image):
    """The name of an image that has Python."""
    name = name_of(image)
    if name not in EXTRAS:
        pytest.skip("R's image has no Python")
    return name


def test_size(image, record_property):
    size = about(image)["Size"]
    record_property(name_of(image), f"{size / 1e9:.3f} GB")
    if name_of(image) == "airrvec":
        assert 0.5e9 < size <= LIMIT


def test_learn_adds_to_the_core(images):
    """Who has one image of the two fetches its layers once."""
    core, learn = (about(images[name])["RootFS"]["Layers"] for name in ("", "-learn"))
    assert learn[: len(core)] == core


def test_user_and_labels(image, inside):
    assert inside("id", "--user").stdout.strip() == "1000"
    config = about(image)["Config"]
    assert config["User"] == "1000"
    assert not config.get("Healthcheck")
    prefix = "org.opencontainers.image."
    labels = {
        key.removeprefix(prefix): value for key, value in config["Labels"].items() if key.startswith(prefix)
    }
    assert labels["title"] == name_of(image)
    assert labels["version"] == image.rpartition(":")[2] == __version__
    assert labels["revision"] == must("git", "rev-parse", "HEAD", cwd=ROOT).strip()
    assert labels["source"] in (ROOT / "nextflow.config").read_text()
    assert labels["licenses"] == "MIT"
    assert labels["description"]
    assert datetime.fromisoformat(labels["created"])


def test_ps_and_bash_are_there(inside):
    assert "procps" in inside("ps", "--version").stdout
    assert inside("bash", "-c", "echo $BASH_VERSION").returncode == 0


@pytest.mark.parametrize("program", ["gcc", "cc", "g++", "make", "ld", "strip", "uv", "pip", "git"])
def test_no_tool_of_building_is_left(inside, image, program):
    if (name_of(image), program) == ("airrvec-r", "git"):
        pytest.skip("Debian's r-cran-xfun depends on git")
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


def test_packages_are_those_of_the_lock(python, inside):
    """All that run the pipeline, with torch or without, and none that develop it."""
    script = (
        "from importlib.metadata import distributions as d; print(*(f'{p.name}=={p.version}' for p in d()))"
    )
    installed = {normal(line) for line in inside("python", "-c", script).stdout.split()}
    assert installed == locked(python)


def test_what_tasks_import_has_bytecode(python, inside):
    """Modules of a few packages, and of torch; tasks write none."""
    modules = ["numba", "pandas", "multiqc.multiqc", "sklearn.svm"] + ["torch"] * (python == "airrvec-learn")
    script = f"""
import importlib, os, sys
for name in {modules}:
    importlib.import_module(name)
cached = [getattr(module, '__cached__', None) for module in sys.modules.values()]
of_packages = [path for path in cached if isinstance(path, str) and path.startswith('/opt')]
assert len(of_packages) > 500
print(*(path for path in of_packages if not os.path.exists(path)))
"""
    done = inside("python", "-c", script)
    assert done.returncode == 0, done.stdout
    assert done.stdout.strip() == ""


def test_bill_of_materials_is_complete(image, inside):
    """Debian's packages are those of dpkg, Python's those of the lock."""
    path = ROOT / f"results/images/{name_of(image)}-{__version__}.cdx.json"
    document = json.loads(path.read_text())
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    assert document["metadata"]["component"]["properties"][0]["value"] == about(image)["Id"]
    of_type = {"deb": set(), "pypi": set()}
    for component in document["components"]:
        kind = component["purl"].removeprefix("pkg:").partition("/")[0]
        of_type[kind].add((component["name"], component["version"]))
    assert sum(map(len, of_type.values())) == len(document["components"])
    shown = inside("dpkg-query", "--show", "--showformat", "${Package} ${Version}\n").stdout.splitlines()
    assert of_type["deb"] == {tuple(line.split()) for line in shown}
    assert len(shown) > 80
    wanted = locked(name_of(image)) if name_of(image) in EXTRAS else set()
    assert {normal("==".join(package)) for package in of_type["pypi"]} == wanted


def locked(name: str) -> set[str]:
    """Return the packages of the lock that belong into an image, as name==version."""
    uv = shutil.which("uv") or ROOT / ".uv/bin/uv"  # as in the Makefile
    options = ("--locked", "--no-emit-project", "--no-hashes", "--no-annotate", "--quiet")
    exported = must(uv, "export", *options, *EXTRAS[name], cwd=ROOT)
    wanted = set()
    for line in exported.splitlines():
        requirement, _, marker = line.partition(" ; ")
        if "==" in requirement and (not marker or _holds(marker)):
            wanted.add(normal(requirement.strip()))
    return wanted


def normal(requirement: str) -> str:
    name, _, version = requirement.partition("==")
    return f"{name.lower().replace('_', '-').replace('.', '-')}=={version}"


def _holds(marker: str) -> bool:
    image = {
        "python_full_version": "3.11.2",
        "python_version": "3.11",
        "sys_platform": "linux",
        "platform_machine": must("uname", "-m").strip(),
    }
    return Marker(marker).evaluate(image)


def test_any_user_finds_places_for_caches(python, inside):
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
