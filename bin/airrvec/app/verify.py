"""The verb ``verify``: whether a folder of results is what its run wrote, file by file and table by table."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from airrvec.app.manifest import FOLDERS, MANIFEST, Row, read_manifest
from airrvec.core import identity, schema, tables
from airrvec.core.errors import InputError
from airrvec.core.pages import check_pages
from airrvec.core.progress import counter
from airrvec.core.records import measure
from airrvec.core.schema.gamma_delta import FOLDER
from airrvec.core.terminal import counted, print_lines, print_warning
from airrvec.repertoire import clone_table

import pyarrow as pa
import pyarrow.compute as pc


class _Run:
    """Tables of a run, by their paths in its results; a table that the manifest lacks is None."""

    def __init__(self, results: Path, rows: list[Row], damaged: set[str]):
        self.results = results
        self.rows = {row.path: row for row in rows if row.kind == "result" and row.path not in damaged}
        self.incomplete = {str(Path(path).parent) for path in damaged}  # folders
        self.damaged = damaged
        self.inputs = [row for row in rows if row.kind == "input" and row.sample]

    def within(self, folder: str, suffix: str = ".parquet") -> list[str]:
        """Return the tables of a folder, not of those in it, sorted."""
        return sorted(p for p in self.rows if str(Path(p).parent) == folder and p.endswith(suffix))

    def ids(self, *paths: str) -> pa.ChunkedArray:
        """Return the column ``receptor_id`` of tables, one after the other."""
        parts = [self.column(path, "receptor_id") for path in paths]
        return pa.chunked_array([chunk for part in parts for chunk in part.chunks], pa.string())

    def column(self, path: str, name: str) -> pa.ChunkedArray:
        table = tables.read(self.results / path, [name])
        if name not in table.column_names:
            raise InputError(f"there is no column {name}", file=path)
        return table[name]


def check(results: Path, rows: list[Row], damaged: set[str]) -> tuple[int, list[str]]:
    """
    Check the relations between the tables of a run.

    Parameters
    ----------
    results : Path
        Folder of the results.
    rows : list of Row
        Manifest.
    damaged : set of str
        Paths of files that differ from it or are missing: relations with them are not checked.

    Returns
    -------
    int
        Number of relations that were checked.
    list of str
        One sentence for each that does not hold, which begins with the path of a table.
    """
    run = _Run(results, rows, damaged)
    relations = list(_relations(run))
    update = counter("relations checked", len(relations))
    problems = []
    for path, relation in relations:
        try:
            problem = relation()
        except (InputError, OSError, pa.ArrowException, ValueError) as error:
            problem = f"cannot be compared with other tables ({error})"
        problems += [f"{path}: {problem}"] if problem else []
        update(1)
    return len(relations), problems


def _relations(run: _Run) -> Iterator[tuple[str, Callable[[], str | None]]]:
    """Yield the path of a table and a function that returns its problem, or None."""
    receptors, cells = run.within("receptors"), run.within("cells")
    for source in run.inputs:
        rejects = f"rejects/{source.sample}.parquet"
        both = [f"{folder}/{source.sample}.parquet" for folder in ("cells", f"{FOLDER}/cells")]
        kept = [path for path in both if path in run.rows]
        if source.rows is not None and kept and rejects in run.rows and not run.damaged.intersection(both):
            yield kept[0], lambda n=source.rows, kept=kept, rejects=rejects: _rows(run, n, kept, rejects)
    if (apart := f"{FOLDER}/receptors.parquet") in run.rows:
        yield apart, lambda: _identity(run, apart, schema.GAMMA_DELTA)
    for path in (*cells, *run.within(f"{FOLDER}/cells")):
        chains, calls = (path.replace("cells/", f"{folder}/") for folder in ("chains", "annotation"))
        if chains in run.rows:
            yield chains, lambda path=path, chains=chains: _chains(run, path, chains)
        if calls in run.rows:
            yield calls, lambda path=path, calls=calls: _annotated(run, path, calls)
    for path in run.within("airr", ".tsv"):
        chains = f"chains/{Path(path).stem}.parquet"
        if chains in run.rows:
            yield path, lambda path=path, chains=chains: _same_number(run, path, chains)
    for path, row in run.rows.items():
        twin = str(Path(path).with_suffix(".parquet"))
        if path.endswith(".tsv") and twin in run.rows and row.rows is not None:
            yield path, lambda path=path, twin=twin: _same_number(run, path, twin)
    for path in receptors:
        yield path, lambda path=path: _identity(run, path)
    if not receptors or "receptors" in run.incomplete:
        return
    if cells and "cells" not in run.incomplete:
        yield receptors[0], lambda: _distinct(run, cells, receptors)
    for path in ("map/map.parquet", "clusters/members.parquet", "comparison/public.parquet"):
        if path in run.rows:
            yield path, lambda path=path: _among(run, path, receptors)
    models = {path: [path] for path in run.within("embeddings")}
    for path in run.rows:
        if path.startswith("embeddings/") and path.count("/") == 2:
            models.setdefault(str(Path(path).parent), []).append(path)
    for path, parts in models.items():
        if len(parts) == len(receptors):
            yield path, lambda parts=parts: _embedded(run, sorted(parts), receptors)


def _rows(run: _Run, n_rows: int, cells: list[str], rejects: str) -> str | None:
    kept = sum(pc.sum(run.column(path, "input_rows"), min_count=0).as_py() for path in cells)
    table = tables.read(run.results / rejects, ["row", "row_kept"])
    rejected = pc.count_distinct(table["row"].filter(pc.invert(table["row_kept"]))).as_py()
    if kept + rejected != n_rows:
        return f"{n_rows} rows were read, but {kept} are in the cells and {rejected} in the rejects"
    return None


def _chains(run: _Run, cells: str, chains: str) -> str | None:
    table = tables.read(run.results / chains, ["cell_row", "receptor_id"])
    ids = run.ids(cells)
    place = pc.subtract(table["cell_row"], 1)
    if len(place) and not 0 <= pc.min(place).as_py() <= pc.max(place).as_py() < len(ids):
        return f"cell_row names rows that {cells} does not have"
    if not ids.take(place).equals(table["receptor_id"]):
        return f"its receptors are not those of the cells in {cells}"
    return None


def _annotated(run: _Run, cells: str, path: str) -> str | None:
    """Compare receptors row by row; a cell that joined a clone has the call of the clone's receptor."""
    expected = run.ids(cells)
    if "clones/members.parquet" in run.rows:
        expected = clone_table.receptors_counted(run.results / "clones", Path(cells).stem, expected)
    return None if expected.equals(run.ids(path)) else f"its rows are not the cells of {cells}"


def _same_number(run: _Run, path: str, other: str) -> str | None:
    n, expected = run.rows[path].rows, run.rows[other].rows
    return None if n == expected else f"has {n} rows, {other} {expected}"


def _identity(run: _Run, path: str, lineage: schema.Lineage = schema.ALPHA_BETA) -> str | None:
    table = tables.read(run.results / path)
    expected = identity.digests(identity.receptor_keys(table, lineage))
    wrong = pc.sum(pc.not_equal(table["receptor_id"], expected), min_count=0).as_py()
    if wrong:
        return f"{counted(wrong, 'receptor_id is', 'receptor_ids are')} not that of the receptor's fields"
    return None


def _distinct(run: _Run, cells: list[str], receptors: list[str]) -> str | None:
    ids = run.ids(*receptors)
    if len(pc.unique(ids)) < len(ids):
        return "a receptor_id occurs twice"
    cell_receptors = pc.unique(run.ids(*cells))
    lacking = len(cell_receptors) - pc.sum(pc.is_in(cell_receptors, pc.unique(ids)), min_count=0).as_py()
    if lacking:
        return f"{counted(lacking, 'receptor of the cells is', 'receptors of the cells are')} missing"
    more = len(ids) - len(cell_receptors)
    return f"{counted(more, 'receptor is', 'receptors are')} of no cell" if more else None


def _among(run: _Run, path: str, receptors: list[str]) -> str | None:
    is_known = pc.is_in(run.ids(path), pc.unique(run.ids(*receptors)))
    lacking = len(is_known) - pc.sum(is_known, min_count=0).as_py()
    if lacking:
        return f"{counted(lacking, 'receptor is', 'receptors are')} not in the receptors of the run"
    return None


def _embedded(run: _Run, parts: list[str], receptors: list[str]) -> str | None:
    for path, expected in zip(parts, receptors, strict=True):
        if not run.ids(path).equals(run.ids(expected)):
            return f"its receptors are not those of {expected}, row by row"
    return None


# --- The verb ``verify``: whether a folder of results is what its run wrote, file by file and table by table


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
    compared, mismatches = check(results, rows, damaged)
    problems += mismatches
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
    actual = measure(path)
    if actual.sha256 != row.sha256:
        size = f"{row.size:,} bytes, now {actual.size:,}" if actual.size != row.size else "of the same size"
        yield f"differs from what the run {'wrote' if row.kind == 'result' else 'read'} ({size})"
    elif row.kind == "result":
        for name in ("size", "rows", "schema"):
            if getattr(row, name) not in (None, getattr(actual, name)):
                yield f"its {name} is {getattr(actual, name)}, in the manifest {getattr(row, name)}"
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
    paths = [path for name in FOLDERS for path in (results / name).rglob("*")]
    paths = [path for path in paths if path.is_symlink() or not path.is_dir()]
    return [
        str(path.relative_to(results))
        for path in sorted(paths)
        if path.absolute() not in known and path.resolve() not in known
    ]


def _folders_of_inputs(rows: list[Row]) -> list[Path]:
    """Return where a relative path of an input may begin: here, or beside the samplesheet, an input too."""
    inputs = [Path(row.path) for row in rows if row.kind == "input"]
    return list(dict.fromkeys([Path(), *(path.parent for path in inputs if path.is_file())]))


def _input_path(row: Row, folders: list[Path]) -> Path | None:
    return next((folder / row.path for folder in folders if (folder / row.path).is_file()), None)
