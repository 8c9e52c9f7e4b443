"""Command-line options, version files and units shared by the scripts of ``bin/``."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from airrvec.core import records, tables
from airrvec.core.settings import SETTINGS
from airrvec.core.version import __version__

GB = 1 << 30


class Parser(argparse.ArgumentParser):
    """Parser to which ``--train_steps`` and ``--train-steps`` are one option."""

    def parse_known_args(self, args=None, namespace=None):
        words = sys.argv[1:] if args is None else args
        return super().parse_known_args([_dashed(word) for word in words], namespace)


def _dashed(word: str) -> str:
    name, equals, value = word.partition("=")
    return name.replace("_", "-") + equals + value if name.startswith("--") else word


def parser(description: str) -> argparse.ArgumentParser:
    """Return a parser with the options that every process of the pipeline passes."""
    records.begin()
    formatter = argparse.ArgumentDefaultsHelpFormatter
    parser = Parser(description=description, formatter_class=formatter, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"airrvec {__version__}")
    parser.add_argument("--process", default="airrvec", help="process name in the --versions file")
    parser.add_argument(
        "--versions", type=Path, help="write the versions of the packages used to this file", metavar="YAML"
    )
    return parser


def at_least(least: int) -> Callable[[str], int]:
    """Return a type of options: whole numbers that are not below ``least``."""

    def number(text: str) -> int:
        if (value := int(text)) < least:
            raise argparse.ArgumentTypeError(f"{value} is less than {least}")
        return value

    return number


def named_path(text: str) -> Path:
    """Return the path of an option; the empty one, which would be the working folder, is refused."""
    if not text:
        raise argparse.ArgumentTypeError("the path is empty")
    return Path(text)


_OPTIONS: dict[str, dict[str, Any]] = {
    "seed": {"type": int, "default": SETTINGS["seed"].default, "help": "seed of all random numbers"},
    "threads": {"type": at_least(1), "default": 1, "help": "number of threads"},
    "outdir": {"type": Path, "default": Path("."), "help": "folder of the results"},
    "background": {
        "type": Path,
        "help": "background receptors of another run, file or folder; if not given, generated with OLGA",
    },
    "memory": {"default": "2GB", "help": "memory limit of duckdb, which then spills to disk"},
    "missing": {
        "type": Path,
        "action": "append",
        "help": "<name>.missing.json, once for each result: on an error in the input, write the reason here"
        " and exit with status 0",
    },
}


def add_options(parser: argparse.ArgumentParser, *names: str) -> None:
    """Add options that several scripts share to a parser, by their names in `_OPTIONS`."""
    for name in names:
        parser.add_argument(f"--{name}", **_OPTIONS[name])


def each(parse_args: Callable, argv: Sequence[str] | None = None) -> list[argparse.Namespace]:
    """
    Return the options of every run of a script that does several in one process.

    Parameters
    ----------
    parse_args : callable
        Of the script: list of words → options.
    argv : sequence of str, optional
        Options of all runs, and ``--each``: a JSON file, a list with a list of words per run. Without
        ``--each`` there is one run.
    """
    option = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    option.add_argument("--each", type=Path)
    known, common = option.parse_known_args(argv)
    runs = json.loads(known.each.read_text()) if known.each else [[]]
    return [parse_args([*words, *common]) for words in runs]


def write_versions(args: argparse.Namespace, *packages: str, inputs: list[dict] | None = None) -> None:
    """
    Write the versions of Python, airrvec and some packages if ``--versions`` is given. Call it last.

    The file ends with the records of all files that the script wrote, for the manifest of the run.

    Parameters
    ----------
    args : argparse.Namespace
        Options of `parser`.
    *packages : str
        Names of packages.
    inputs : list of dict, optional
        Files of the user, as `airrvec.core.records.lines` takes them.
    """
    if args.versions is None:
        return
    versions = {"python": ".".join(map(str, sys.version_info[:3])), "airrvec": __version__}
    versions.update({package: version(package) for package in packages})
    lines = [f'"{args.process}":', *(f'    {name}: "{value}"' for name, value in versions.items())]
    process = args.process.split(":")[-1]
    lines += records.lines(process=process, script=Path(sys.argv[0]).stem, inputs=inputs)
    tables.write_text("\n".join(lines) + "\n", args.versions)
