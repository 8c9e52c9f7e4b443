"""The bill of materials of the Python environment (`make sbom`) against `uv.lock`, walked independently."""

import json
import subprocess
import tomllib

import pytest
from inputs import ROOT
from packaging.markers import Marker

LOCK = tomllib.loads((ROOT / "uv.lock").read_text())["package"]


MACHINES = [
    {"python_full_version": f"{python}.1", "python_version": python, "sys_platform": system, "extra": ""}
    for python in ("3.11", "3.12", "3.13")
    for system in ("linux", "darwin")
]


def applies(entry: dict) -> bool:
    """Whether a dependency is one on any machine, outside of the groups dev and release."""
    marker = Marker(entry["marker"]) if "marker" in entry else None
    return marker is None or any(marker.evaluate(machine) for machine in MACHINES)


def closure() -> set[tuple[str, str]]:
    """Return names and versions of what airrvec with all extras and its default groups depends on."""
    by_name = {}
    for package in LOCK:
        by_name.setdefault(package["name"], []).append(package)
    (root,) = by_name["airrvec"]
    wanted = [
        *root["dependencies"],
        *(entry for extra in root["optional-dependencies"].values() for entry in extra),
    ]
    wanted += [entry for group in root["default-groups"] for entry in root["dev-dependencies"][group]]
    seen = set()
    while wanted:
        entry = wanted.pop()
        if not applies(entry):
            continue
        for package in by_name[entry["name"]]:
            if "version" in entry and entry["version"] != package["version"]:
                continue
            extras = tuple(entry.get("extra", ()))
            if (package["name"], package["version"], extras) in seen:
                continue
            seen.add((package["name"], package["version"], extras))
            wanted += package.get("dependencies", [])
            wanted += [more for extra in extras for more in package["optional-dependencies"][extra]]
    return {(name, version) for name, version, _extras in seen}


def hashes(component: dict) -> set[str]:
    references = component.get("externalReferences", [])
    return {entry["content"] for reference in references for entry in reference.get("hashes", [])}


@pytest.fixture(scope="module")
def components():
    uv = ROOT / ".uv/bin/uv"
    command = next(
        line for line in (ROOT / "Makefile").read_text().splitlines() if "--format cyclonedx" in line
    )
    words = command.split(">")[0].split()
    shown = subprocess.run(
        [uv if uv.exists() else "uv", *words[1:]], cwd=ROOT, check=True, capture_output=True
    )
    bill = json.loads(shown.stdout)
    assert bill["bomFormat"] == "CycloneDX"
    assert bill["metadata"]["component"]["name"] == "airrvec"
    return bill["components"]


def test_the_bill_holds_the_closure_of_the_lock_and_nothing_else(components):
    listed = {(component["name"], component["version"]) for component in components}
    assert listed == closure()
    assert {"numpy", "torch", "transformers", "multiqc"} <= {name for name, _version in listed}
    assert "nf-core" not in {name for name, _version in listed}


def test_each_package_has_its_address_and_the_checksums_of_the_lock(components):
    locked = {(package["name"], package["version"]): package for package in LOCK}
    for component in components:
        package = locked[component["name"], component["version"]]
        files = [*package.get("wheels", []), *([package["sdist"]] if "sdist" in package else [])]
        expected = {file["hash"].removeprefix("sha256:") for file in files}
        assert component["purl"] == f"pkg:pypi/{component['name']}@{component['version']}"
        assert hashes(component)
        assert hashes(component) <= expected
