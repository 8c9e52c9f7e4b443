"""
What all runs of the tests share: compiled scripts of the pipeline, by the agent in `script_cache`.

And classes of Nextflow, which Java reads from an archive (class data sharing).
"""

import fcntl
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
NEXTFLOW = ROOT / "containers" / "nextflow" / "nextflow"
SOURCES = sorted((ROOT / "tests/script_cache").glob("*.java"))


# An archive of other jars is not used; Java need not say so.
_QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off -Xlog:class+path=off"


@functools.cache
def options() -> str:
    """Return Java's options with both; '' without a compiler of Java, or without the pinned Nextflow."""
    jars = pinned_jars()
    if not jars.is_dir():  # the first start fetches them
        subprocess.run([NEXTFLOW, "-version"], capture_output=True, check=False)
    if not (jars.is_dir() and shutil.which("javac") and shutil.which("jar")) or " " in str(ROOT):
        return ""
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in SOURCES)).hexdigest()[:16]
    folder = ROOT / ".pytest_cache/d/script_cache" / digest
    folder.mkdir(parents=True, exist_ok=True)
    agent, archive = folder / "agent.jar", folder / "classes.jsa"
    with (folder / "lock").open("w") as lock, tempfile.TemporaryDirectory(dir=folder) as made:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other workers wait
        if not agent.exists():
            _compile(jars, Path(made))
            os.replace(f"{made}/agent.jar", agent)
        if not archive.exists():
            _archive(Path(made))
            os.replace(f"{made}/classes.jsa", archive)
    return f"-javaagent:{agent}={folder} -XX:SharedArchiveFile={archive} {_QUIET}"


def pinned_jars() -> Path:
    """Return where the launcher keeps the pinned Nextflow."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("AIRRVEC_CACHE") or Path(cache, "airrvec"), "nextflow-24.10.0")


def _compile(jars: Path, folder: Path) -> None:
    classes, manifest = folder / "classes", folder / "manifest"
    manifest.write_text("Premain-Class: ScriptCache\n")
    for command in (
        ["javac", "-proc:none", "-cp", f"{jars}/*", "-d", classes, *SOURCES],
        ["jar", "--create", "--file", folder / "agent.jar", "--manifest", manifest, "-C", classes, "."],
    ):
        subprocess.run(command, check=True)


def _archive(folder: Path) -> None:
    """Write the classes that a start of the pipeline loads; if it fails, an empty file: Java ignores it."""
    archive = folder / "classes.jsa"
    options = f"-XX:ArchiveClassesAtExit={archive} -Xlog:disable"
    environment = {**os.environ, "NXF_OPTS": options, "NXF_ANSI_LOG": "false"}
    command = [NEXTFLOW, "run", ROOT, "--help"]
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    archive.touch()
