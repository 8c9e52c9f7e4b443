"""Make a release: `make release VERSION=0.2.0`. Refuses an unclean one. Pushes nothing.

Writes the version and the changelog, makes generated files again, builds the package, commits and tags.
"""

import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import changelog
import versions

BEFORE = ("lint",)
AFTER = ("generated", "package", "sbom")
OWN = ("CHANGELOG.md", "CITATION.cff")


def git(root: Path, *args: str) -> str:
    """Return what git prints."""
    return subprocess.run(["git", *args], cwd=root, check=True, capture_output=True, text=True).stdout.strip()


def number(version: str) -> tuple[int, ...]:
    """Return a version's parts, to compare."""
    return tuple(map(int, version.split(".")))


def problems(root: Path, version: str) -> list[str]:
    """Return why a version cannot be released from here, a sentence each."""
    if not re.fullmatch(versions.NUMBER, version):
        return [f"'{version}' is no version such as 0.2.0"]
    text = (root / "CHANGELOG.md").read_text()
    tags = [tag for tag in git(root, "tag").splitlines() if re.fullmatch(versions.NUMBER, tag)]
    earlier = sorted({"0.0.0", *tags, *changelog.released(text)}, key=number)
    now = versions.current(root)
    branch = git(root, "rev-parse", "--abbrev-ref", "HEAD")
    found = [
        (git(root, "status", "--porcelain"), "there are changes that are not committed"),
        (branch != "main", f"this is the branch {branch}, not main"),
        (version in tags, f"the tag {version} exists"),
        (number(version) < number(earlier[-1]), f"{version} is older than {earlier[-1]}"),
        (version in changelog.released(text), f"CHANGELOG.md has the version {version}"),
        (number(version) < number(now), f"{version} is older than {now}, the version in nextflow.config"),
        (not changelog.entries(text, "Unreleased"), "CHANGELOG.md has no entry under [Unreleased]"),
    ]
    return [sentence for wrong, sentence in found if wrong] + versions.differences(root, now)


def write(root: Path, version: str, date: str) -> None:
    """Write version and date to all places."""
    versions.write(root, version)
    log, citation = (root / name for name in OWN)
    log.write_text(changelog.release(log.read_text(), version, date))
    dated = re.sub(r"^date-released: .*\n", "", citation.read_text(), flags=re.MULTILINE)
    citation.write_text(re.sub(r"^(version: .*\n)", rf"\1date-released: {date}\n", dated, flags=re.MULTILINE))


def main() -> None:
    """Release the version that the command line names."""
    root, version = Path.cwd(), sys.argv[1]
    if found := problems(root, version):
        sys.exit("\n".join(f"ERROR: {sentence}" for sentence in found))
    try:
        subprocess.run(["make", *BEFORE], cwd=root, check=True)
        write(root, version, f"{datetime.now(UTC):%Y-%m-%d}")
        subprocess.run(["make", *AFTER], cwd=root, check=True)
        git(root, "commit", "--quiet", "--all", "--message", f"Version {version}")
    except (subprocess.CalledProcessError, KeyboardInterrupt):
        git(root, "checkout", "--quiet", "HEAD", "--", ".")
        sys.exit(f"ERROR: {version} was not released; all files are as before")
    git(root, "tag", "--annotate", version, "--message", f"airrvec {version}")
    print(f"{version} is committed and tagged. To publish it: git push origin main {version}")


if __name__ == "__main__":
    main()
