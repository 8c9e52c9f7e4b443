"""What a case is, and the files that cases are made from."""

import csv
import io
import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests/data"
CRASHERS = Path(__file__).parent / "crashers"
DESCRIPTION = "case.json"

_NO_SEEDS = {"README.md", "reference_vectors.parquet"}
_TWO_HEADER_ROWS = {"iedb.csv"}


@dataclass(frozen=True)
class Case:
    """
    An input, and how it is read.

    Attributes
    ----------
    kind : str
        A key of `fuzz.cases.KINDS`.
    files : dict
        Name → content of each file.
    options : dict
        What the kind's check needs to know, in JSON's types.
    """

    kind: str
    files: dict[str, bytes]
    options: dict = field(default_factory=dict)

    def write(self, folder: Path, **more) -> None:
        """Write the files, and kind and options as JSON; ``more`` stands before them."""
        folder.mkdir(parents=True, exist_ok=True)
        self.write_files(folder)
        description = {**more, "kind": self.kind, "options": self.options}
        (folder / DESCRIPTION).write_text(json.dumps(description, indent=2) + "\n")

    def write_files(self, folder: Path) -> None:
        """Write the files alone."""
        for name, content in self.files.items():
            (folder / name).write_bytes(content)

    @classmethod
    def read(cls, folder: Path) -> "Case":
        """Read what `write` has written."""
        description = json.loads((folder / DESCRIPTION).read_text())
        files = {
            path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.name != DESCRIPTION
        }
        return cls(description["kind"], files, description["options"])


@dataclass(frozen=True)
class Table:
    """
    A text table, taken apart.

    Attributes
    ----------
    header, rows : list of list of str
        One header row, or two, and the rows of data.
    delimiter : str
        Tab or comma.
    """

    header: list[list[str]]
    rows: list[list[str]]
    delimiter: str

    @property
    def names(self) -> list[str]:
        """Names of the columns, those of two header rows joined."""
        return [" ".join(cells) for cells in zip(*self.header, strict=True)]

    def columns(self, order: list[int]) -> "Table":
        """The table with these columns, in this order."""
        header, rows = ([[line[i] for i in order] for line in lines] for lines in (self.header, self.rows))
        return Table(header, rows, self.delimiter)

    def text(self, newline: str = "\n", quoting: int = csv.QUOTE_MINIMAL) -> str:
        """The table as text."""
        out = io.StringIO()
        writer = csv.writer(out, delimiter=self.delimiter, lineterminator=newline, quoting=quoting)
        writer.writerows([*self.header, *self.rows])
        return out.getvalue()


@cache
def seeds() -> dict[str, bytes]:
    """Files that tables are mutated from: the fixtures, and the tables of former crashers."""
    fixtures = {path.name: path.read_bytes() for path in sorted(DATA.iterdir()) if path.name not in _NO_SEEDS}
    tables = {name: case.files["table"] for name, case in crashers().items() if case.kind == "table"}
    former = {f"{name}/table": content for name, content in tables.items()}
    return fixtures | former


@cache
def crashers() -> dict[str, Case]:
    """Cases that failed once, each in a folder of its own."""
    return {path.name: Case.read(path) for path in sorted(CRASHERS.iterdir()) if path.is_dir()}


@cache
def tables() -> dict[str, Table]:
    """The fixtures that are text."""
    return {name: _table(name) for name in seeds() if name.endswith((".csv", ".tsv")) and "/" not in name}


def _table(name: str) -> Table:
    lines = [line for line in seeds()[name].decode().splitlines() if not line.startswith("##")]
    delimiter = "," if name.endswith(".csv") else "\t"
    rows = list(csv.reader(lines, delimiter=delimiter))
    n_header = 2 if name in _TWO_HEADER_ROWS else 1
    return Table(rows[:n_header], rows[n_header:], delimiter)
