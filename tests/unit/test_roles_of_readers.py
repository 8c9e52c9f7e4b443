"""
Each reader, whatever its columns are called and its values look like: the same chains.

That the order of rows and columns does not matter is in `test_reader_properties`.
"""

import csv
import random
import runpy
from functools import cache

from airrvec.input import reading, role_names, values

import pytest
from inputs import DATA, ROOT, text
from outcomes import chains_in

TEXTS = sorted(path.name for path in DATA.glob("*.[ct]sv"))


@cache
def table(name: str):
    """The reader of a table of tests/data, its roles, its header and its rows."""
    source = reading.open_chains(DATA / name)
    with (DATA / name).open() as file:
        lines = [line for line in csv.reader(file, delimiter=delimiter(name)) if line[0][:2] != "##"]
    n_header = 2 if name == "iedb.csv" else 1
    return reading.FORMATS[source.format], next(source.batches).roles, lines[:n_header], lines[n_header:]


def delimiter(name: str) -> str:
    return "," if name.endswith(".csv") else "\t"


def other_names(name: str) -> list[tuple[str, str]]:
    """Each column of a table that has a role and may be missing, with another name of this role."""
    reader, chosen, (header, *_), _ = table(name)
    if not hasattr(reader, "ROLES"):
        return []
    needed = {column for layout in reader.LAYOUTS for column in layout}
    found = []
    for prefix, part in {"": chosen, **chosen.parts}.items():
        of_part = role_names.with_prefix(reader.ROLES, prefix.replace("{}", "")) if prefix else {}
        names = role_names.FLAGS | reader.ROLES | of_part
        taken = {part.units[field]: column for field, column in part.counts.items()} | dict(part.flags)
        taken |= {"cell": part.cell} if part.cell else {}
        found += [
            (column, other)
            for role, column in taken.items()
            for other in names[role]
            if column in set(header) - needed
            and not set(other) & {"+", role_names.ELLIPSIS}
            and not role_names.spelled([other], header)
        ]
    return found


def read(path, name, header, rows):
    path.write_text(text(header[0], [*header[1:], *rows], delimiter(name)))
    # The field `consensus_count` is kept beside the count.
    return chains_in(path).drop_columns("consensus_count")


@pytest.mark.parametrize("name", [name for name in TEXTS if other_names(name)])
def test_another_name_of_a_role_changes_nothing(name, tmp_path):
    _, _, (header, *_), rows = table(name)
    expected = read(tmp_path / "x", name, [header], rows)
    for column, other in other_names(name):
        renamed = [other if title == column else title for title in header]
        assert read(tmp_path / "x", name, [renamed], rows).equals(expected), (column, other)


SPELLED = {
    "R": lambda number: f"{number:.6e}",
    "Java": lambda number: f"{number:.6E}".replace("E+", "E"),
    "Excel": lambda number: f"{number:,}",
    "pandas": lambda number: f"{number}.0",
}


@pytest.mark.parametrize("name", TEXTS)
def test_another_spelling_of_a_count_changes_nothing(name, tmp_path):
    _, chosen, header, rows = table(name)
    numbers, _ = chosen.numbers_and_truths()
    places = {at for at, title in enumerate(header[0]) if title in numbers}

    def written(spelled):
        def cell(at: int, given: str) -> str:
            return spelled(1000 * int(given)) if at in places and given.isdigit() else given

        changed = [[cell(at, given) for at, given in enumerate(row)] for row in rows]
        return read(tmp_path / "x", name, header, changed)

    expected = written(str)
    for program, spelled in SPELLED.items():
        assert written(spelled).equals(expected), program


@pytest.mark.parametrize("name", TEXTS)
def test_a_missing_word_is_an_empty_cell(name, tmp_path):
    _, _, header, rows = table(name)
    expected = read(tmp_path / "x", name, header, rows)
    seed = random.Random(name)  # noqa: S311 - no secret
    for _ in range(3):
        written = [
            [seed.choice(values.MISSING) if cell in values.MISSING else cell for cell in row] for row in rows
        ]
        assert read(tmp_path / "x", name, header, written).equals(expected)


def test_the_page_of_formats_has_the_roles_of_all_readers():
    page = (ROOT / "docs/reference/input.md").read_text()
    written = runpy.run_path(str(ROOT / "docs/column_roles.py"))["with_table"](page)
    assert page == written, "run `make generated`"
