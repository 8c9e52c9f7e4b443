"""The columns of the tables that a run has written, beside `airrvec.core.schema.TABLES`."""

import re
from pathlib import Path

from airrvec.core import tables
from airrvec.core.schema import NEVER, TABLES

import pyarrow.parquet as pq

PATTERNS = {
    name: re.compile(re.sub("<[^>]*>", "[^/]+", table.file.replace(".", r"\.")))
    for name, table in TABLES.items()
}


def name_of(path: str) -> str:
    """Return the name of the table of a file, by its path in the results."""
    if re.search(r"(^|/)rejects[./]", path):  # those of references lie with them
        return "rejects"
    exact = [name for name, table in TABLES.items() if table.file == path]
    found = exact or [name for name, pattern in PATTERNS.items() if pattern.fullmatch(path)]
    assert len(found) == 1, path
    return found[0]


def check_columns(results: Path) -> set[str]:
    """Compare all Parquet files of a folder of results with their tables; return the names of these."""
    names = set()
    for path in sorted(results.rglob("*.parquet")):
        place = path.relative_to(results).as_posix()
        table = TABLES[name_of(place)]
        names.add(table.name)
        written, n = list(pq.read_schema(path)), len(table.columns)
        expected = [(column.name, column.type) for column in table.columns]
        assert [(field.name, field.type) for field in written[:n]] == expected, place
        assert table.further or len(written) == n, place
        assert all(field.type == table.further.type for field in written[n:]), place
        assert all({b"description", b"null"} <= field.metadata.keys() for field in written), place
        content = tables.read(path)
        full = [column.name for column in table.columns if column.null == NEVER]
        assert [name for name in full if content[name].null_count] == [], place
    return names
