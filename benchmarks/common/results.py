"""
Results of a benchmark: a table in Markdown while it is measured, and a JSON file of all figures.

The file has the keys of `KEYS`. ``figures`` holds numbers, texts and tables (lists of rows); a figure that
could not be measured is null.
"""

import argparse
import json
import math
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from airrvec.core.environment import compiled_features

import numpy as np

ROOT = Path(__file__).parents[2]
KEYS = ("command", "commit", "date", "processor", "versions", "figures")
UNITS = ("s", "ms", "MB", "GB")


class Parser(argparse.ArgumentParser):
    """Parser of a benchmark's options, with ``--json``; it keeps the command for `write`."""

    def __init__(self, file: str, description: str | None):
        super().__init__(
            prog=str(Path(file).resolve().relative_to(ROOT)),
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.add_argument("--json", type=Path, metavar="FILE", help="file for all figures")

    def parse_known_args(self, args=None, namespace=None):
        words = list(map(str, sys.argv[1:] if args is None else args))
        parsed, rest = super().parse_known_args(words, namespace)
        parsed.command = " ".join(["python", self.prog, *map(_without_folder, words)])
        return parsed, rest


class Table:
    """
    Rows that are printed as Markdown when they are added, and kept in ``rows``.

    Parameters
    ----------
    **columns : str
        Name of each column → format of its values, such as ``",.1f"``. A last word of `UNITS` is the unit.
    """

    def __init__(self, **columns: str):
        self.columns = columns
        self.rows: list[dict[str, Any]] = []
        print("\n| " + " | ".join(map(_title, columns)) + " |\n|" + "---|" * len(columns), flush=True)

    def add(self, **values) -> None:
        """Print and keep a row; None, NaN and infinite values are empty."""
        row = {name: plain(values.pop(name, None)) for name in self.columns}
        if values:
            raise KeyError(f"no columns of the table: {', '.join(values)}")
        self.rows.append(row)
        cells = ("" if row[name] is None else format(row[name], form) for name, form in self.columns.items())
        print("| " + " | ".join(cells) + " |", flush=True)


def write(args: argparse.Namespace, figures: dict[str, Any], packages: Iterable[str] = ()) -> None:
    """
    Write the figures to ``--json``, if it was given, with what they were measured with.

    Parameters
    ----------
    args : Namespace
        The parsed arguments of a `Parser`.
    figures : dict
        Numbers, texts, lists and dicts of them; numpy's numbers and arrays too.
    packages : iterable of str
        The packages that were measured; their versions are written, null for one that is not installed.
    """
    if args.json:
        content = {
            "command": args.command,
            "commit": commit(),
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "processor": processor(),
            "versions": {name: installed(name) for name in ("python", "numpy", *packages)},
            "figures": plain(figures),
        }
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def commit() -> str | None:
    """Return the commit of the checkout, with ``-dirty`` if files differ from it; None outside of one."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=40", "--exclude", "*"]
    if shutil.which("git") is None:
        return None
    revision = subprocess.run(command, capture_output=True, text=True)
    return None if revision.returncode else revision.stdout.strip()


def processor() -> dict[str, Any]:
    """Return name, cores, AVX-512 or not, and load average of this machine's processor."""
    return {
        "name": _processor_name(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "avx512": "avx512f" in compiled_features(),
        "load": round(os.getloadavg()[0], 1),
    }


def _processor_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def installed(package: str) -> str | None:
    """Return the version of a package, or of Python; None if it is not installed."""
    if package == "python":
        return platform.python_version()
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def plain(value: Any) -> Any:
    """Return a value that JSON can hold; null in place of NaN and infinity."""
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Path):
        return value.name
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _without_folder(word: str) -> str:
    """The word, without the machine's folders if it is an absolute path."""
    path = Path(word)
    if not path.is_absolute():
        return word
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name


def _title(name: str) -> str:
    words = name.split("_")
    return f"{' '.join(words[:-1])}, {words[-1]}" if words[-1] in UNITS and words[1:] else " ".join(words)
