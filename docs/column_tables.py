"""Write the tables of columns in the pages of results from the schemas: ``make generated``."""

import re
from pathlib import Path

from airrvec.core.schema import NEVER, TABLES, Column, Table

DOCS = Path(__file__).parent
PAGES = (DOCS / "output.md", DOCS / "explanations/analyses.md")
_PART = re.compile(r"^(#+ [^\n]*)$|<!-- columns: (\w+) -->\n.*?<!-- end -->\n", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?!https?:)([^)#]*)(#[^)]*)?\)")


def with_tables(text: str, page: Path) -> str:
    """
    Return the text of a page with the tables of today between their marks.

    A column that an earlier table of the page has with the same meaning refers to that table.
    """
    anchor: str = ""
    places: dict[Column, str] = {}

    def written(part: re.Match) -> str:
        nonlocal anchor
        if part[1]:
            anchor = re.sub(r"[^\w\- ]", "", part[1].lstrip("# ").lower()).replace(" ", "-")
            return part[0]
        table = TABLES[part[2]]
        lines = _links("\n".join([_about(table), "", *_lines(table, places)]), page)
        for column in table.columns:
            places.setdefault(column, f"As in [{table.name}](#{anchor})")
        return f"<!-- columns: {table.name} -->\n\n{lines}\n\n<!-- end -->\n"

    return _PART.sub(written, text)


def _about(table: Table) -> str:
    twin = " and `.tsv`" if table.twin else ""
    return f"`{table.file}`{twin}: {table.about[0].lower()}{table.about[1:]}"


def _lines(table: Table, places: dict[Column, str]) -> list[str]:
    """Return the lines of a table: a line for columns that are alike, and for neighbours in another table."""
    groups: dict[tuple, list[Column]] = {}
    before: tuple = ()
    for column in (*table.columns, *([table.further] if table.further else [])):
        place = places.get(column)
        if not place:
            before = ("", column.type, column.meaning, column.null, column.unit)
        elif before[:1] != (place,):
            before = (place, column.name)
        groups.setdefault(before, []).append(column)
    rows = [["Column", "Type", "Meaning", "Null"], ["---"] * 4]
    for (place, *_), columns in groups.items():
        null = "" if place or columns[0].null == NEVER else columns[0].null
        names = [f"`{column.name}`" for column in columns]
        first_to_last = f"{names[0]} … {names[-1]}" if place and len(names) > 3 else ", ".join(names)
        rows.append([first_to_last, "" if place else _types(columns), place or columns[0].meaning, null])
    return ["|" + "|".join(cell.replace("|", r"\|") for cell in row) + "|" for row in rows]


def _types(columns: list[Column]) -> str:
    """Return the types that are not string, each with its unit."""
    types = [(column.type_name, column.unit) for column in columns]
    return "; ".join(", ".join(filter(None, pair)) for pair in dict.fromkeys(types) if pair[0] != "string")


def _links(text: str, page: Path) -> str:
    """Return text whose links, which begin at ``docs/``, begin at a page."""
    up = "../" * (len(page.relative_to(DOCS).parts) - 1)

    def link(found: re.Match) -> str:
        here = not found[1] or page == DOCS / found[1]
        return f"]({'' if here else up + found[1]}{found[2] or ''})"

    return _LINK.sub(link, text)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(with_tables(page.read_text(), page))
