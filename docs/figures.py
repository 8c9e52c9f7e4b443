"""
Write the tables of measured figures in docs/benchmarks from benchmarks/results: ``make generated``.

A table stands between marks. The first names a result file, or ``file#table`` if the file has several tables;
it holds the header and one row of fields::

    <!-- figures: embedding/models
    | Model | Receptors a second | Share of matrix products |
    | {model} | {receptors_a_second:,} | {share} % |
    -->
    …
    <!-- end -->

Fields have Python's format; ``.3p`` is a number below 1 without the zero before the point. Null is an empty
cell, a dict a list of its numbers and names. Brackets without values are left out:
``{auroc:.3p} ({lowest:.3p}–{highest:.3p})``. A row may name bold fields in ``bold``.
"""

import json
import re
from functools import reduce
from pathlib import Path
from string import Formatter
from typing import Any

DOCS = Path(__file__).parent
RESULTS = DOCS.parent / "benchmarks/results"
PAGES = sorted((DOCS / "benchmarks").glob("*.md"))
MARKED = re.compile(r"<!-- figures: (\S+)\n([^\n]+)\n([^\n]+)\n-->\n.*?<!-- end -->\n", re.DOTALL)
_BRACKETS = re.compile(r" ?\([^()]*\)")


class _Value:
    """A value of a row, with the formats of the marks."""

    def __init__(self, value: Any):
        self.value = value

    def __format__(self, form: str) -> str:
        if self.value is None or isinstance(self.value, str):
            return self.value or ""
        if isinstance(self.value, dict):
            return ", ".join(f"{format(_Value(value), form)} ({name})" for name, value in self.value.items())
        plain = form.removesuffix("p")
        text = format(self.value, plain + "f" if plain != form and plain else plain or ",")
        if form != plain:
            text = re.sub(r"^([+-]?)0\.", r"\1.", text)
        return text.replace("-", "−") if self.value < 0 else text


def with_figures(text: str) -> str:
    """Return the text of a page with the tables of today's results between their marks."""

    def written(part: re.Match) -> str:
        name, header, fields = part.groups()
        titles, cells = _split(header), _split(fields)
        lines = [titles, ["---"] * len(titles)]
        lines += [[_cell(cell, row) for cell in cells] for row in rows(name)]
        table = "\n".join("|" + "|".join(line) + "|" for line in lines)
        return f"<!-- figures: {name}\n{header}\n{fields}\n-->\n\n{table}\n\n<!-- end -->\n"

    return MARKED.sub(written, text)


def rows(name: str) -> list[dict[str, Any]]:
    """Return the rows of a table, ``file`` or ``file#table``."""
    file, _, table = name.partition("#")
    figures = json.loads((RESULTS / f"{file}.json").read_text())["figures"]
    if not table:
        (found,) = figures.values()
        return found
    return reduce(lambda part, key: part[int(key) if key.isdigit() else key], table.split("."), figures)


def _split(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def _cell(template: str, row: dict[str, Any]) -> str:
    def is_empty(part: str) -> bool:
        values = [row[name] for name in _fields(part)]
        return bool(values) and all(value is None for value in values)

    for bracket in filter(is_empty, _BRACKETS.findall(template)):
        template = template.replace(bracket, "")
    if is_empty(template):
        return ""
    text = template.format_map({name: _Value(value) for name, value in row.items()})
    return f"**{text}**" if _fields(template) & set(row.get("bold", ())) else text


def _fields(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name}


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(with_figures(page.read_text()))
