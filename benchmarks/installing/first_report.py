#!/usr/bin/env python3
"""
Measure what a stranger waits for: `make demo` in a new clone, with an empty home and empty caches.

For each commit: seconds until the environment is complete and until the report is there, megabytes fetched
(received by this machine's interfaces: nothing else may use the network meanwhile), and megabytes on disk.
With ``--again``: then as many more times in that clone, from an empty work folder, where everything is
there; the median.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

from benchmarks.common import results

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


def measure(repository: Path, commit: str, target: str, again: int) -> dict[str, float | None]:
    """Return seconds and megabytes of ``make`` in a new clone of a repository."""
    with tempfile.TemporaryDirectory() as name:
        home, clone = Path(name, "home"), Path(name, "airrvec")
        home.mkdir()
        subprocess.run(["git", "clone", "--quiet", repository, clone], check=True)
        subprocess.run(["git", "-C", clone, "checkout", "--quiet", commit], check=True)
        before = fetched()
        ready, report = seconds(clone, home, target)
        figures = {
            "environment_s": ready,
            "report_s": report,
            "fetched_MB": (fetched() - before) / MB,
            "installed_MB": on_disk(clone / ".venv", clone / ".uv", home / ".cache" / "airrvec") / MB,
        }
        if again:
            figures["again_s"] = statistics.median(seconds(clone, home, target)[1] for _ in range(again))
        return figures


def seconds(clone: Path, home: Path, target: str) -> tuple[float | None, float]:
    """Return after how many seconds of ``make`` the environment is complete, and the report there."""
    for left in filter(Path.exists, (clone / "results", clone / "work", clone / ".nextflow")):
        shutil.rmtree(left)  # resumed otherwise
    start, ready = time.time(), None
    process = subprocess.Popen(
        ["make", target],
        cwd=clone,
        env=stranger(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    for line in process.stdout or ():
        print(f"{time.time() - start:7.1f} s  {line}", end="", file=sys.stderr, flush=True)
        if ready is None and "nextflow run" in line:
            ready = time.time() - start
    if process.wait():
        raise SystemExit(f"make {target} in {clone} failed")
    report = next(clone.glob("results/*/multiqc/multiqc_report.html"))
    return ready, report.stat().st_mtime - start


def main(argv=None) -> None:
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("commits", nargs="*", default=["HEAD"], help="commits to measure, one after another")
    parser.add_argument("--target", default="demo", help="target of make")
    parser.add_argument("--repository", type=Path, default=ROOT)
    parser.add_argument(
        "--again", type=int, default=0, metavar="TIMES", help="also where everything is there"
    )
    args = parser.parse_args(argv)
    names = {"environment_s": ".1f", "report_s": ".1f", "fetched_MB": ",.0f", "installed_MB": ",.0f"}
    table = results.Table(commit="", **names, **({"again_s": ".1f"} if args.again else {}))
    rows = [(commit, measure(args.repository, commit, args.target, args.again)) for commit in args.commits]
    for commit, figures in rows:
        table.add(commit=commit, **figures)
    results.write(args, {"target": args.target, "commits": table.rows})


if __name__ == "__main__":
    main()
