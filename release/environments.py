"""Write modules/local/*/environment.yml: what the scripts of a process import, in the versions of uv.lock.

conda.tsv has the names of each package: on PyPI, in Python, on a conda channel. pip installs those without
the last; they are on no channel, or in other versions.
"""

import ast
import csv
import tomllib
from functools import cache
from pathlib import Path

from packaging.markers import Marker

ROOT = Path(__file__).resolve().parents[1]
PYTHON = "3.11"  # the images' too
MACHINE = {"python_full_version": f"{PYTHON}.2", "sys_platform": "linux", "extra": ""}
with (ROOT / "release/conda.tsv").open() as file:
    NAMES = {row["import"]: row for row in csv.DictReader(file, delimiter="\t")}
# Packages of the extras, and the processes that need them: always, or on a GPU or for a language model only.
# The latter have an environment_torch.yml for it.
LEARN, PLM = frozenset({"lightning", "torch"}), frozenset({"torch", "transformers"})
ALWAYS = {"check_device": LEARN, "finetune": LEARN, "pretrain": LEARN}
# What scripts look for or call without an import.
CALLED = {
    "check_device": LEARN | PLM,
    "render_report": {"multiqc"},
    "report": {"multiqc"},  # for its version
}
SOMETIMES = {"analyse_receptors": PLM, "benchmark_fewshot": PLM, "embed_receptors": LEARN}
R = (
    "conda-forge::r-base",
    "bioconda::bioconductor-singlecellexperiment",
)


@cache
def file_of(name: str) -> Path | None:
    """Return the file of a module of airrvec, or None if the name is that of something else."""
    path = ROOT / "bin" / name.replace(".", "/")
    return next((found for found in (path.with_suffix(".py"), path / "__init__.py") if found.exists()), None)


@cache
def imported(path: Path, late: bool) -> frozenset[str]:
    """Return the full names that a file imports as it is loaded; with `late`, also in its functions."""
    nodes = list(statements(ast.parse(path.read_text()), late))
    plain = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    members = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    listed = {f"{node.module}.{name.name}" for node in members for name in node.names}
    return frozenset(plain | {node.module for node in members} | listed)


def statements(node: ast.AST, late: bool):
    """Yield the statements that run when a file is loaded, or with `late` also those of its functions."""
    for child in ast.iter_child_nodes(node):
        typing = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
        function = isinstance(child, ast.FunctionDef)
        # airrvec's __getattr__ is for notebooks.
        if not typing and not (function and (not late or child.name == "__getattr__")):
            yield child
            yield from statements(child, late)


@cache
def siblings(path: Path) -> set[Path]:
    """Return the files of the folder of a file that imports them by computed names."""
    return set(path.parent.rglob("*.py")) if 'import_module(f"{__name__}' in path.read_text() else set()


def files(names: set[str]) -> set[Path]:
    """Return the files of airrvec's modules among some names, and of the packages that hold them."""
    modules = {name for name in names if name.split(".")[0] == "airrvec"}
    parts = {name.rsplit(".", depth)[0] for name in modules for depth in range(name.count(".") + 1)}
    return {file_of(name) for name in parts} - {None}


def packages(names: set[str]) -> set[str]:
    """Return the third-party packages among some names."""
    return {name.split(".")[0] for name in names} & NAMES.keys()


@cache
def at_once(path: Path) -> frozenset[str]:
    """Return the third-party packages that a file of airrvec loads as it is loaded, through others too."""
    seen, waiting = set(), {path}
    while waiting:
        seen |= waiting
        waiting = {found for file in waiting for found in files(imported(file, late=False))} - seen
    return frozenset(name for file in seen for name in packages(imported(file, late=False)))


def needed(script: Path, extras: frozenset[str]) -> set[str]:
    """Return the third-party packages that a script may import, less those of extras that are not given."""
    without = (LEARN | PLM) - extras
    seen, waiting, found = set(), {script}, set()
    while waiting:
        seen |= waiting
        names = {path: imported(path, late=True) for path in waiting}
        found |= {package for path in waiting for package in packages(names[path])}
        waiting = {other for path in waiting for other in files(names[path]) | siblings(path)} - seen
        waiting = {path for path in waiting if not at_once(path) & without}
    return found - without


def versions() -> dict[str, str]:
    """Return the locked versions of our direct dependencies, for the Python of the environments."""
    locked = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    (root,) = [package for package in locked if package["name"] == "airrvec"]
    groups = [*root["optional-dependencies"].values(), root["dev-dependencies"]["report"]]
    direct = root["dependencies"] + [entry for group in groups for entry in group]
    found = {package["name"]: package["version"] for package in locked if "version" in package}
    for entry in direct:
        if "version" in entry and Marker(entry["marker"]).evaluate(MACHINE):
            found[entry["name"]] = entry["version"]
    return found


def environment(name: str, extras: frozenset[str]) -> str:
    """Return the text of a process's environment."""
    script = ROOT / f"bin/{name}.py"
    called = CALLED.get(name, set())
    if not script.exists():
        lines, pip = list(R), []
    else:
        locked = versions()
        rows = [NAMES[package] for package in sorted(needed(script, extras) | called)]
        lines = [f"conda-forge::python={PYTHON}"]
        lines += [f"{row['conda']}={locked[row['pypi']]}" for row in rows if row["conda"]]
        pip = [f"{row['pypi']}=={locked[row['pypi']]}" for row in rows if not row["conda"]]
    # Its name makes each file differ: Nextflow fails if two tasks make equal environments at the same time.
    text = f"# {name.upper()}, written by `make generated`.\n"
    text += "channels:\n  - conda-forge\n  - bioconda\ndependencies:\n"
    text += "".join(f"  - {line}\n" for line in lines)
    if pip:
        text += "  - pip\n  - pip:\n" + "".join(f"      - {line}\n" for line in pip)
    return text


def environments() -> dict[Path, str]:
    """Return the text of each file."""
    folders = sorted(path.parent for path in (ROOT / "modules/local").glob("*/main.nf"))
    plain = {
        folder / "environment.yml": environment(folder.name, ALWAYS.get(folder.name, frozenset()))
        for folder in folders
    }
    learning = {
        ROOT / f"modules/local/{name}/environment_torch.yml": environment(name, extras)
        for name, extras in SOMETIMES.items()
    }
    return plain | learning


if __name__ == "__main__":
    for path, text in environments().items():
        path.write_text(text)
