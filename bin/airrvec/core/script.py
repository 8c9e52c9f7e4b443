"""Options, versions and units that the scripts of ``bin/`` share."""

import argparse
import sys
from importlib.metadata import version
from pathlib import Path

from airrvec.core import tables
from airrvec.core.version import __version__

GB = 1 << 30


def parser(description: str) -> argparse.ArgumentParser:
    """A parser with the options that every process of the pipeline passes."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"airrvec {__version__}")
    parser.add_argument("--process", default="airrvec", help="name that heads --versions")
    parser.add_argument(
        "--versions", type=Path, help="YAML file for the versions of what was used", metavar="YAML"
    )
    return parser


_OPTIONS = {
    "seed": {"type": int, "default": 420},
    "cpus": {"type": int, "default": 1, "help": "threads"},
    "outdir": {"type": Path, "default": Path(".")},
    "missing": {
        "type": Path,
        "help": "<name>.missing.json: write here why nothing could be made, and end with status 0",
    },
}


def add_options(parser: argparse.ArgumentParser, *names: str) -> None:
    """Options that many scripts have: ``seed``, ``cpus``, ``outdir``, ``missing``."""
    for name in names:
        parser.add_argument(f"--{name}", **_OPTIONS[name])


def write_versions(args: argparse.Namespace, *packages: str) -> None:
    """Write the versions of Python, airrvec and some packages, where ``--versions`` asks for them."""
    if args.versions is None:
        return
    found = {"python": ".".join(map(str, sys.version_info[:3])), "airrvec": __version__}
    found.update({package: version(package) for package in packages})
    lines = [f'"{args.process}":', *(f'    {name}: "{value}"' for name, value in found.items())]
    tables.write_text("\n".join(lines) + "\n", args.versions)
