"""The verb ``verify``: whether a folder of results is what its run wrote, file by file and table by table."""

import sys
from collections.abc import Iterator
from pathlib import Path

from airrvec.app import invariants
from airrvec.app.manifest import FOLDERS, MANIFEST, Row, read_manifest
from airrvec.core.errors import InputError
from airrvec.core.pages import check_pages
from airrvec.core.plural import counted
from airrvec.core.progress import counter
from airrvec.core.records import measure
from airrvec.core.terminal import print_lines, print_warning


def verify(results: Path) -> None:
    """
    Print a line for each problem of a folder of results, or one line with what was compared.

    Raises
    ------
    InputError
        If the folder has no manifest.
    SystemExit
        With status 1, if there is a problem.
    """
    rows, problems = read_manifest(results)
    files, n_absent = check_files(results, rows)
    problems += files
    problems += [f"{name}: left over: not in {MANIFEST}" for name in left_over(results, rows)]
    damaged = {problem.split(": ")[0] for problem in problems}
    compared, found = invariants.check(results, rows, damaged)
    problems += found
    print_lines(*problems)
    n_results = sum(row.kind == "result" for row in rows)
    n_inputs = len(rows) - n_results
    if problems:
        print_warning(f"{results}: {counted(len(problems), 'problem', 'problems')}")
        sys.exit(1)
    absent = f" ({n_absent} of them not on this machine, not compared)" if n_absent else ""
    size = sum(row.size for row in rows) / 1e6
    print_lines(
        f"{results}: {counted(n_results, 'file', 'files')} and {counted(n_inputs, 'input', 'inputs')}{absent}"
        f" are as the run wrote and read them ({size:,.1f} MB); {counted(compared, 'relation', 'relations')}"
        " between the tables hold"
    )


def check_files(results: Path, rows: list[Row]) -> tuple[list[str], int]:
    """Return the problems of all files of the manifest, and the number of inputs that are not here."""
    update = counter("bytes compared", sum(row.size for row in rows))
    folders = _folders_of_inputs(rows)
    problems, n_absent = [], 0
    for row in rows:
        path = results / row.path if row.kind == "result" else _input_path(row, folders)
        if path is None:
            n_absent += 1
        else:
            problems += [f"{row.path}: {problem}" for problem in file_problems(path, row)]
        update(row.size)
    return problems, n_absent


def file_problems(path: Path, row: Row) -> Iterator[str]:
    """Yield how a file differs from its row of the manifest."""
    if not path.is_file():
        yield "missing"
        return
    found = measure(path)
    if found.sha256 != row.sha256:
        size = f"{row.size:,} bytes, now {found.size:,}" if found.size != row.size else "of the same size"
        yield f"differs from what the run {'wrote' if row.kind == 'result' else 'read'} ({size})"
    elif row.kind == "result":
        for name in ("size", "rows", "schema"):
            if getattr(row, name) not in (None, getattr(found, name)):
                yield f"its {name} is {getattr(found, name)}, in the manifest {getattr(row, name)}"
    if row.kind == "result" and path.suffix == ".parquet":
        try:
            check_pages(path)
        except InputError as error:
            yield error.described["problem"]
        except MemoryError:
            yield "the Parquet file is damaged: its pages do not fit into memory"


def left_over(results: Path, rows: list[Row]) -> list[str]:
    """Return the files in folders of results that no row of the manifest names."""
    known = {(results / row.path).absolute() for row in rows if row.kind == "result"}
    folders = _folders_of_inputs(rows)
    inputs = [_input_path(row, folders) for row in rows if row.kind == "input"]
    known.update(path.resolve() for path in inputs if path)
    # A link to a folder is published as one: known if it leads to known files.
    known.update([parent for path in known for parent in path.parents if parent.is_symlink()])
    found = [path for name in FOLDERS for path in (results / name).rglob("*")]
    found = [path for path in found if path.is_symlink() or not path.is_dir()]
    return [
        str(path.relative_to(results))
        for path in sorted(found)
        if path.absolute() not in known and path.resolve() not in known
    ]


def _folders_of_inputs(rows: list[Row]) -> list[Path]:
    """Return where a relative path of an input may begin: here, or beside the samplesheet, an input too."""
    given = [Path(row.path) for row in rows if row.kind == "input"]
    return list(dict.fromkeys([Path(), *(path.parent for path in given if path.is_file())]))


def _input_path(row: Row, folders: list[Path]) -> Path | None:
    return next((folder / row.path for folder in folders if (folder / row.path).is_file()), None)
