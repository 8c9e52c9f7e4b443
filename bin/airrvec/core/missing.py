"""Parts of a run that could not be made, and the reasons."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path

from airrvec.core import records, script, tables
from airrvec.core.errors import InputError, exit_on_input_error, script_name
from airrvec.core.progress import reported
from airrvec.core.terminal import print_tracebacks, print_warning

PARTS = {
    "sample": "Sample",
    "labelled": "Labelled table",
    "reference": "Reference",
    "model": "Model",
    "benchmark": "Benchmark",
    "analysis": "Analysis",
    "samples": "Description of samples",
    "gamma_delta": "γδ T cells",
    "annotation": "Annotation",
    "background": "Background",
    "clusters": "Clusters",
    "comparison": "Comparison",
    "conditions": "Comparison of conditions",
    "hla": "Clusters beside donors' HLA",
    "places": "Places on the map",
    "map": "Map",
    "export": "Export",
    "report": "Report",
    "handover": "Handover",
}


def optional_part(part: str):
    """
    Return a decorator that makes a script's ``main`` optional: the run continues without its results.

    With the option ``--missing <name>.missing.json``, once for each result, the script writes an `InputError`
    there and exits with status 0. Without it the script exits as with `exit_on_input_error`.

    Parameters
    ----------
    part : str
        One of `PARTS`.
    """

    def decorate(main):
        @wraps(main)
        def wrapped(argv=None) -> None:
            if argv is None:  # the process is this script's own
                print_tracebacks()
            option = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
            option.add_argument("--missing", type=Path, action="append")
            option.add_argument("--versions", type=Path)
            option.add_argument("--process", default="airrvec")
            known = option.parse_known_args(argv)[0]
            paths = known.missing
            if paths is None:
                return exit_on_input_error(main)(argv)
            with or_missing(part, paths), reported(script_name(main)):
                try:
                    return main(argv)
                except InputError:
                    if records.noted():  # of several results some are there, and will be published
                        script.write_versions(known)
                    raise

        return wrapped

    return decorate


@contextmanager
def or_missing(part: str, paths: list[Path] | None) -> Iterator[None]:
    """
    Write an `InputError` of the block to ``<name>.missing.json`` of each result, and go on; part: of `PARTS`.

    Without paths the error is raised.
    """
    try:
        yield
    except InputError as error:
        if not paths:
            raise
        for path in paths:
            name = path.name.removesuffix(".missing.json")
            write_missing([{"part": part, "name": name, "reason": str(error)}], path)
            print_warning(*f"WARNING: {PARTS[part]} {name} could not be made: {error}".split("\n"))


def write_missing(missing: list[dict[str, str]], path: str | Path) -> None:
    """
    Write the parts that a task could not make (read by `airrvec.report.sections.missing.read_missing`).

    Parameters
    ----------
    missing : list of dict
        Each with ``part`` (one of `PARTS`), ``name`` (of the sample, encoder, file …) and ``reason`` (a
        sentence).
    path : str or Path
        ``<name>.missing.json``.
    """
    for entry in missing:
        if entry.keys() != {"part", "name", "reason"} or entry["part"] not in PARTS:
            raise ValueError(f"invalid entry of a missing part: {entry}")
    tables.write_json(missing, path)
