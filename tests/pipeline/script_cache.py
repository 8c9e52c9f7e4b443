"""Scripts of the pipeline are compiled once for all runs of the tests, by the agent in `script_cache`."""

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


@functools.cache
def option() -> str:
    """Return Java's option with the agent; '' without a compiler of Java, or without the pinned Nextflow."""
    jars = pinned_jars()
    if not jars.is_dir():  # the first start fetches them
        subprocess.run([NEXTFLOW, "-version"], capture_output=True, check=False)
    if not (jars.is_dir() and shutil.which("javac") and shutil.which("jar")) or " " in str(ROOT):
        return ""
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in SOURCES)).hexdigest()[:16]
    folder = ROOT / ".pytest_cache/d/script_cache" / digest
    agent = folder / "agent.jar"
    if not agent.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as made:
            _compile(jars, Path(made))
            os.replace(f"{made}/agent.jar", agent)
    return f"-javaagent:{agent}={folder}"


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
