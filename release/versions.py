"""The version of airrvec, and every place that names it. Needs Python alone.

`python3 release/versions.py` prints it, or says which places differ; `--is 0.2.0` compares them with that.
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NUMBER = r"\d+\.\d+\.\d+"
IMAGE = r"airrvec(?:-\w+)?(?:'\})?:"
# Place → what stands before the number. These hold one, each.
SOURCES = {
    "pyproject.toml": r'^version = "',
    "uv.lock": r'^name = "airrvec"\nversion = "',
    "nextflow.config": r"^    version +(?:=) '",
    "bin/airrvec/core/version.py": r'^__version__ = "',
    "CITATION.cff": r"^version: ",
    "airrvecr/DESCRIPTION": r"^Version: ",
}
# These may name images, or hold the version of a recipe; `make generated` writes the crate.
OTHERS = {
    "*.config": IMAGE,
    "conf/*.config": IMAGE,
    "nextflow_schema.json": IMAGE,
    "README.md": IMAGE,
    "docs/**/*.md": IMAGE,
    "tests/**/*.py": IMAGE,
    "recipes/*/meta.yaml": r'^{% set version = "',
}


def places(root: Path) -> list[tuple[Path, str]]:
    """Return each file that names the version, with the pattern before the number."""
    sources = [(root / path, before) for path, before in SOURCES.items()]
    others = [(path, before) for glob, before in OTHERS.items() for path in sorted(root.glob(glob))]
    return sources + others


def found(root: Path) -> dict[str, list[str]]:
    """Return the versions that each file names."""
    named = {}
    for path, before in places(root):
        pattern = re.compile(rf"(?:{before})({NUMBER})", re.MULTILINE)
        named.setdefault(path.relative_to(root).as_posix(), []).extend(pattern.findall(path.read_text()))
    return named


def differences(root: Path, version: str) -> list[str]:
    """Return a sentence for each file that names another version, or none where it must name one."""
    named = found(root)
    silent = [f"{path} names no version" for path in SOURCES if not named[path]]
    return silent + [
        f"{path} names version {other}, not {version}"
        for path, versions in named.items()
        for other in sorted({*versions} - {version})
    ]


def current(root: Path) -> str:
    """Return the version in nextflow.config, which Nextflow shows."""
    return found(root)["nextflow.config"][0]


def write(root: Path, version: str) -> None:
    """Write a version to all places."""
    for path, before in places(root):
        text = path.read_text()
        path.write_text(re.sub(rf"({before}){NUMBER}", rf"\g<1>{version}", text, flags=re.MULTILINE))


def main() -> None:
    """Print the version, or exit with what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--is", dest="expected", default=current(ROOT))
    expected = parser.parse_args().expected
    if problems := differences(ROOT, expected):
        sys.exit("\n".join(problems))
    print(expected)


if __name__ == "__main__":
    main()
