"""Write the table of roles in `docs/reference/input.md` from the formats: ``make generated``."""

from pathlib import Path

from airrvec.input import role_names
from airrvec.input.formats.registry import FORMATS

PAGE = Path(__file__).parent / "reference/input.md"
START, END = "<!-- written by docs/column_roles.py -->\n", "<!-- end -->\n"
_ALL = "all with a role here"


def with_table(page: str) -> str:
    """Return a page with the table of today between its marks."""
    before, _, rest = page.partition(START)
    return before + START + table() + END + rest.partition(END)[2]


def table() -> str:
    """Return the table: format, what a row is, role, unit of a count, and the columns in their order."""
    lines = ["| `format` | Row | Role | Unit | Columns |", "|---|---|---|---|---|"]
    for name, reader in FORMATS.items():
        first = f"`{name}`", getattr(reader, "ROW", "")
        for role, names in getattr(reader, "ROLES", {"—": ()}).items():
            kind, unit = ("count", role) if role in role_names.UNITS else (role, "")
            lines.append(_line(*first, kind, unit, names))
            first = "", ""
    of_all = {"sample": role_names.SAMPLE, **role_names.FLAGS, "quality": role_names.FLAWS}
    lines += [_line(_ALL, "", role, "", names) for role, names in of_all.items()]
    return "\n".join(lines) + "\n"


def _line(format: str, row: str, role: str, unit: str, names) -> str:
    columns = ", ".join(f"`{name}`" for name in names).replace("|", r"\|")
    return f"| {' | '.join((format, row, role, unit, columns))} |"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text()))
