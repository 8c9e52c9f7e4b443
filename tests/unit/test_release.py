"""`make release` in a small repository with all places of the version: what it refuses, what it writes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from inputs import ROOT

import changelog
import release
import versions

MAKEFILE = """\
lint generated package sbom:
\t@echo $@ >> steps.txt
\t@test $@ != "$(FAIL)"
"""
CHANGES = """\
# Changelog

## [Unreleased]

### Fixed

- An error.

## [0.0.9] - 2026-01-01

- The first.

[0.0.9]: https://example.org
"""


def git(root: Path, *args: str) -> str:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    return subprocess.run(
        ["git", *identity, *args], cwd=root, check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture
def repository(tmp_path):
    """A clean repository on main with our own places of the version; its commands only note their names."""
    for name in versions.found(ROOT):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((ROOT / name).read_bytes())
    versions.write(tmp_path, "0.1.0")
    (tmp_path / "Makefile").write_text(MAKEFILE)
    (tmp_path / "CHANGELOG.md").write_text(CHANGES)
    (tmp_path / ".gitignore").write_text("steps.txt\n")
    git(tmp_path, "init", "--quiet", "--initial-branch", "main")
    git(tmp_path, "config", "user.name", "A")
    git(tmp_path, "config", "user.email", "a@example.org")
    commit(tmp_path)
    return tmp_path


def commit(root: Path) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "Changes")


def replace(path: Path, old: str, new: str) -> None:
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    commit(path.parent if (path.parent / ".git").exists() else path.parent.parent)


def make_release(root: Path, version: str, **env: str):
    command = [sys.executable, ROOT / "release/release.py", version]
    path = {"PATH": str(Path(sys.executable).parent) + ":/usr/local/bin:/usr/bin:/bin"}
    return subprocess.run(command, cwd=root, env={**path, **env}, capture_output=True, text=True)


FAULTS = {
    "a file that is not committed": (
        lambda root: (root / "new.txt").write_text("x"),
        "there are changes that are not committed",
    ),
    "a changed file": (
        lambda root: (root / "pyproject.toml").write_text((root / "pyproject.toml").read_text() + "\n"),
        "there are changes that are not committed",
    ),
    "another branch": (lambda root: git(root, "switch", "-c", "x"), "this is the branch x, not main"),
    "the tag": (lambda root: git(root, "tag", "0.2.0"), "the tag 0.2.0 exists"),
    "a later tag": (lambda root: git(root, "tag", "0.10.0"), "0.2.0 is older than 0.10.0"),
    "no entry": (
        lambda root: replace(root / "CHANGELOG.md", "- An error.\n", ""),
        "CHANGELOG.md has no entry under [Unreleased]",
    ),
    "a later version in the changelog": (
        lambda root: replace(root / "CHANGELOG.md", "[0.0.9]", "[0.3.0]"),
        "0.2.0 is older than 0.3.0",
    ),
    "another version in the package": (
        lambda root: replace(root / "pyproject.toml", 'version = "0.1.0"', 'version = "0.1.1"'),
        "pyproject.toml names version 0.1.1, not 0.1.0",
    ),
    "another version in the lock": (
        lambda root: replace(
            root / "uv.lock", '"airrvec"\nversion = "0.1.0"', '"airrvec"\nversion = "0.0.1"'
        ),
        "uv.lock names version 0.0.1, not 0.1.0",
    ),
    "no version in the citation": (
        lambda root: replace(root / "CITATION.cff", "version: 0.1.0\n", ""),
        "CITATION.cff names no version",
    ),
}


def test_the_small_repository_is_clean(repository):
    assert release.problems(repository, "0.2.0") == []
    assert release.problems(repository, "0.1.0") == []  # named, but never released


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_refused_and_nothing_done(repository, fault):
    inject, sentence = FAULTS[fault]
    inject(repository)
    before = (
        git(repository, "rev-parse", "HEAD"),
        git(repository, "status", "--porcelain"),
        git(repository, "tag"),
    )
    run = make_release(repository, "0.2.0")
    assert run.returncode == 1
    assert f"ERROR: {sentence}\n" in run.stderr
    assert not (repository / "steps.txt").exists()
    assert before == (
        *(git(repository, "rev-parse", "HEAD"), git(repository, "status", "--porcelain")),
        git(repository, "tag"),
    )


@pytest.mark.parametrize(
    ("version", "sentence"),
    [
        ("0.0.9", "0.0.9 is older than 0.1.0, the version in nextflow.config"),
        ("0.0.8", "0.0.8 is older than 0.0.9"),
        ("v0.2.0", "'v0.2.0' is no version such as 0.2.0"),
    ],
)
def test_a_wrong_version_is_refused(repository, version, sentence):
    assert sentence in release.problems(repository, version)


def test_a_release(repository):
    run = make_release(repository, "0.2.0")
    assert run.returncode == 0, run.stderr
    assert run.stdout.endswith("To publish it: git push origin main 0.2.0\n")
    assert (repository / "steps.txt").read_text().split() == ["lint", "generated", "package", "sbom"]
    assert git(repository, "status", "--porcelain") == ""
    assert git(repository, "cat-file", "-t", "0.2.0").strip() == "tag"
    assert git(repository, "rev-parse", "0.2.0^{commit}") == git(repository, "rev-parse", "HEAD")
    assert versions.differences(repository, "0.2.0") == []
    text = (repository / "CHANGELOG.md").read_text()
    assert changelog.section(text, "Unreleased") == ""
    assert changelog.entries(text, "0.2.0") == ["- An error."]
    assert changelog.entries(text, "0.0.9") == ["- The first."]
    dated = re.search(r"^## \[0\.2\.0\] - (\d{4}-\d\d-\d\d)$", text, re.MULTILINE).group(1)
    assert f"version: 0.2.0\ndate-released: {dated}\n" in (repository / "CITATION.cff").read_text()
    # The second needs new entries.
    assert "CHANGELOG.md has no entry under [Unreleased]" in release.problems(repository, "0.3.0")
    assert "the tag 0.2.0 exists" in release.problems(repository, "0.2.0")


@pytest.mark.parametrize("step", ["lint", "generated", "package"])
def test_a_failed_step_leaves_everything_as_it_was(repository, step):
    head = git(repository, "rev-parse", "HEAD")
    run = make_release(repository, "0.2.0", FAIL=step)
    assert run.returncode == 1
    assert (git(repository, "rev-parse", "HEAD"), git(repository, "status", "--porcelain")) == (head, "")
    assert git(repository, "tag") == ""


def test_our_own_places_agree():
    assert versions.differences(ROOT, versions.current(ROOT)) == []
    named = [path for path, numbers in versions.found(ROOT).items() if numbers]
    assert len(named) > len(versions.SOURCES)
