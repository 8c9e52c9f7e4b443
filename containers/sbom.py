#!/usr/bin/env python3
"""
Write the software bill of materials of an image, CycloneDX 1.6: its packages of Debian and of Python.

    sbom.py IMAGE OUT [ENGINE]
"""

import json
import subprocess
import sys
import uuid
from pathlib import Path
from urllib.parse import quote

DEBIAN = r"dpkg-query --show --showformat '${Package}\t${Version}\t${Architecture}\n'"
PYTHON = """command -v python > /dev/null || exit 0; python -c '
from importlib.metadata import distributions
for package in distributions():
    print(package.name, package.version, sep="\\t")'"""


def debian_component(name: str, version: str, architecture: str) -> dict:
    purl = f"pkg:deb/debian/{quote(name)}@{quote(version)}?arch={architecture}"
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}


def python_component(name: str, version: str) -> dict:
    purl = f"pkg:pypi/{name.lower().replace('_', '-').replace('.', '-')}@{quote(version)}"
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}


def bill(image: str, about: dict, debian: list[list[str]], python: list[list[str]]) -> dict:
    """Return the document; `about` is what the engine says of the image."""
    name, _, tag = image.rpartition(":")
    components = [debian_component(*row) for row in debian] + [python_component(*row) for row in python]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, about['Id'])}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "container",
                "bom-ref": image,
                "name": name,
                "version": tag,
                "properties": [
                    {"name": "image:id", "value": about["Id"]},
                    {"name": "image:architecture", "value": about["Architecture"]},
                ],
            }
        },
        "components": sorted(components, key=lambda component: component["purl"]),
    }


def main(image: str, out: str, engine: str = "docker") -> None:
    def inside(command: str) -> list[list[str]]:
        run = [engine, "run", "--rm", "--network=none", image, "bash", "-c", command]
        printed = subprocess.run(run, check=True, stdout=subprocess.PIPE, text=True).stdout
        return [line.split("\t") for line in printed.splitlines()]

    inspect = [engine, "image", "inspect", image]
    about = json.loads(subprocess.run(inspect, check=True, stdout=subprocess.PIPE).stdout)[0]
    document = bill(image, about, inside(DEBIAN), inside(PYTHON))
    Path(out).parent.mkdir(parents=True, exist_ok=True)
    Path(out).write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
