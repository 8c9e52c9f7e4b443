"""Sections of CHANGELOG.md. `python3 release/changelog.py 0.2.0` prints what changed in that version."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REPOSITORY = "https://github.com/airrvec/airrvec"


def section(text: str, name: str) -> str:
    """Return what stands below the heading of a version or of `Unreleased`; empty if there is none."""
    match = re.search(rf"^## \[{re.escape(name)}\].*\n((?:(?!## |\[[\w.]+\]: ).*\n?)*)", text, re.MULTILINE)
    return match.group(1).strip() if match else ""


def entries(text: str, name: str) -> list[str]:
    """Return the entries of a section: the lines that begin with a dash."""
    return re.findall(r"^- .+", section(text, name), re.MULTILINE)


def released(text: str) -> list[str]:
    """Return the released versions, as they stand in the text."""
    return re.findall(r"^## \[(\d+\.\d+\.\d+)\]", text, re.MULTILINE)


def release(text: str, version: str, date: str) -> str:
    """Return the text with the entries of `Unreleased` as those of a version, and its link at the end."""
    heading = "## [Unreleased]\n"
    link = f"[{version}]: {REPOSITORY}/releases/tag/{version}\n"
    return text.replace(heading, f"{heading}\n## [{version}] - {date}\n", 1) + link


def main() -> None:
    """Print the section of a version; exit with a sentence if it is empty."""
    name = sys.argv[1]
    changes = section((ROOT / "CHANGELOG.md").read_text(), name)
    if not changes:
        sys.exit(f"CHANGELOG.md has no section [{name}]")
    print(changes)


if __name__ == "__main__":
    main()
