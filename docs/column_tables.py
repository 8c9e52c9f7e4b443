"""Write the tables of columns in the pages of results from the schemas: ``make generated``."""

import re
from itertools import groupby
from pathlib import Path

from airrvec.core.schema import NEVER, TABLES, Column, Table

DOCS = Path(__file__).parent
PAGES = (DOCS / "output.md", DOCS / "explanations/analyses.md")
# Tables to whose columns others on the page refer, instead of saying the same again.
REFERRED_TO = ("receptors", "cells", "chains", "auroc", "auroc_summary", "gene_usage", "merged")
_SHORT = 6  # words of a meaning that is said again
_PART = re.compile(r"^(#+ [^\n]*)$|<!-- columns: (\w+) -->\n.*?<!-- end -->\n", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?!https?:)([^)#]*)(#[^)]*)?\)")


def with_tables(text: str, page: Path) -> str:
    """Return the text of a page with the tables of today between their marks."""
    anchors, heading = {}, ""
    for part in _PART.finditer(text):
        if part[1]:
            heading = re.sub(r"[^\w\- ]", "", part[1].lstrip("# ").lower()).replace(" ", "-")
        else:
            anchors[part[2]] = heading
    places: dict[Column, str] = {}
    for name in REFERRED_TO:
        for column in TABLES[name].columns if name in anchors else ():
            places.setdefault(column, name)

    def written(part: re.Match) -> str:
        if part[1]:
            return part[0]
        table = TABLES[part[2]]
        elsewhere = {column: place for column, place in places.items() if place != table.name}
        lines = [_about(table), "", "|Column|Type|Meaning|Null|", "|---|---|---|---|"]
        lines += ["|" + "|".join(row) + "|" for row in _rows(table, elsewhere, anchors)]
        text = _links("\n".join(lines), page)
        return f"<!-- columns: {table.name} -->\n\n{text}\n\n<!-- end -->\n"

    return _PART.sub(written, text)


def _about(table: Table) -> str:
    twin = " and `.tsv`" if table.twin else ""
    return f"`{table.file}`{twin}: {table.about[0].lower()}{table.about[1:]}"


def _rows(table: Table, elsewhere: dict[Column, str], anchors: dict[str, str]) -> list[list[str]]:
    """Return the cells of rows: one row for columns that are alike, and for neighbours said elsewhere."""
    rows: dict[tuple, list[Column]] = {}
    for place, run in groupby(table.all_columns, elsewhere.get):
        found = list(run)
        if place and (len(found) > 1 or len(found[0].meaning.split()) > _SHORT):
            rows[(place, found[0].name)] = found
            continue
        for column in found:
            rows.setdefault(("", column.type, column.meaning, column.null, column.unit), []).append(column)
    return [_row(found, place, anchors) for (place, *_), found in rows.items()]


def _row(columns: list[Column], place: str, anchors: dict[str, str]) -> list[str]:
    names = [f"`{column.name}`" for column in columns]
    if place:
        listed = f"{names[0]} … {names[-1]}" if len(names) > 3 else ", ".join(names)
        return [listed, "", f"As in [{place}](#{anchors[place]})", ""]
    null = "" if columns[0].null == NEVER else columns[0].null
    cells = [", ".join(names), _types(columns), columns[0].meaning, null]
    return [cell.replace("|", r"\|") for cell in cells]


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
