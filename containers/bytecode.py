#!/usr/bin/env python3
"""
Import what airrvec imports, so that an image holds its bytecode: tasks may not write it there.

    bytecode.py FOLDER [MISSING …]    MISSING: packages that this image does not have
"""

import ast
import importlib
import sys
from pathlib import Path

# What these import by name only, when they are used.
LATER = ("matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg", "multiqc.multiqc")


def imported(folder: Path) -> set[str]:
    """Return modules of other projects that code imports, also within functions."""
    names = set(LATER)
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names.add(node.module)
    return {name for name in names if name.split(".")[0] not in {"airrvec", *sys.stdlib_module_names}}


def main(folder: str, *missing: str) -> None:
    for name in sorted(imported(Path(folder))):
        if name.split(".")[0] not in missing:
            importlib.import_module(name)
    import numba

    numba.njit(lambda number: number + 1)(1)  # loads the compiler


if __name__ == "__main__":
    main(*sys.argv[1:])
