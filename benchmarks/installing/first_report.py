#!/usr/bin/env python3
"""
Measure what a stranger waits for: `make demo` in a new clone, with an empty home and empty caches.

For each commit: seconds until the environment is complete and until the report is there, megabytes fetched
(received by this machine's interfaces: nothing else may use the network meanwhile), and megabytes on disk.
"""

import argparse
import os
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
MB = 1e6
# Caches and settings of this machine that a stranger's has not.
OWN = {
    *("UV_CACHE_DIR", "PIP_CACHE_DIR", "PIP_FIND_LINKS", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "NXF_HOME"),
    *("AIRRVEC_CACHE", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV"),
}


def stranger(home: Path) -> dict[str, str]:
    """Return the environment of a user with an empty home."""
    kept = {name: value for name, value in os.environ.items() if name not in OWN}
    system = [folder for folder in os.environ["PATH"].split(os.pathsep) if not folder.startswith(str(ROOT))]
    # Java asks the system for the home, not the environment.
    return kept | {"HOME": str(home), "PATH": os.pathsep.join(system), "MAVEN_OPTS": f"-Duser.home={home}"}


def fetched() -> int:
    """Return the bytes that this machine has received, loopback and bridges excluded."""
    interfaces = [path for path in Path("/sys/class/net").iterdir() if (path / "device").exists()]
    interfaces = interfaces or list(Path("/sys/class/net").glob("e*"))
    return sum(int((path / "statistics/rx_bytes").read_text()) for path in interfaces)


def on_disk(*folders: Path) -> int:
    """Return the bytes of all files below some folders."""
    return sum(path.lstat().st_size for folder in folders for path in folder.rglob("*") if path.is_file())


def measure(commit: str, target: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        home, clone = Path(name, "home"), Path(name, "airrvec")
        home.mkdir()
        subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
        subprocess.run(["git", "-C", clone, "checkout", "--quiet", commit], check=True)
        before, start, ready = fetched(), time.time(), None
        process = subprocess.Popen(
            ["make", target],
            cwd=clone,
            env=stranger(home),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for line in process.stdout:
            print(f"{time.time() - start:7.1f} s  {line}", end="", flush=True)
            if ready is None and "nextflow run" in line:
                ready = time.time() - start
        if process.wait():
            raise SystemExit(f"make {target} of {commit} failed")
        report = next(clone.glob("results/*/multiqc/multiqc_report.html"))
        print(f"\n{commit}: make {target}")
        print(f"  environment complete after  {ready:>7.1f} s")
        print(f"  report after                {report.stat().st_mtime - start:>7.1f} s")
        print(f"  fetched                     {(fetched() - before) / MB:>7.0f} MB")
        installed = on_disk(clone / ".venv", clone / ".uv", home / ".cache" / "airrvec")
        print(f"  installed                   {installed / MB:>7.0f} MB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commits", nargs="*", default=["HEAD"], help="commits to measure, one after another")
    parser.add_argument("--target", default="demo", help="target of make")
    args = parser.parse_args()
    for commit in args.commits:
        measure(commit, args.target)


if __name__ == "__main__":
    main()
