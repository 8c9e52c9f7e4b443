"""What was found, for the terminal and as files."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from airrvec.app.finding import Answers
from airrvec.app.verb_files import rejects_path
from airrvec.core import chains as chain_words
from airrvec.core import table_parts
from airrvec.core.plural import counted
from airrvec.core.terminal import printable

import pyarrow as pa

WIDEST = 72  # characters of a column on the terminal
REASONS = 5  # of queries without an answer


def write(answers: Answers, out: Path) -> None:
    """Write all columns, and beside them the problems."""
    table_parts.write_as_named(answers.found, out)
    table_parts.write_as_named(answers.problems, rejects_path(out))


def written_line(answers: Answers, out: Path) -> str:
    """Return a sentence on what `write` has written."""
    n = len(answers.found["query_row"].unique())
    return f"{out}: {counted(len(answers.found), 'neighbour')} of {counted(n, 'query', 'queries')}"


def problem_lines(problems: pa.Table, out: Path | None) -> Iterator[str]:
    """Yield the first `REASONS` of queries without an answer, and of chains that could not be read."""
    for row in problems.slice(0, REASONS).to_pylist():
        where = f", row {row['query_row']}" if row["query"] != f"row {row['query_row']}" else ""
        value = f" ({row['field'] or 'query'} '{row['value']}')" if row["value"] else ""
        yield f"MISSING: {row['query']}{where}: {row['reason']}{value}"
    if len(problems) > REASONS:
        all_of_them = rejects_path(out) if out else "--out FILE writes them beside it"
        yield f"MISSING: {len(problems) - REASONS} more ({all_of_them})"


def shown(answers: Answers) -> Iterator[str]:
    """Yield the lines of the terminal: a table for each query."""
    rows = answers.found.to_pylist()
    starts = [number for number, row in enumerate(rows) if row["rank"] == 1]
    for begin, end in pairwise([*starts, len(rows)]):
        first = rows[begin]
        n = answers.n_searched[f"{first['species']}.{first['chains']}"]
        label = f"{first['query']}: " if len(starts) > 1 else ""
        compared = chain_words.CHAIN_TITLES[first["chains"]]
        yield f"{label}{first['query_receptor']} ({counted(n, 'receptor')} searched, {compared})"
        table = [_cells(row, n / answers.n_background) for row in rows[begin:end]]
        kept = [name for name in table[0] if any(row[name] for row in table)]
        if answers.n_runs == 1:
            kept.remove("run")
        lines = [kept, *([_cut(row[name]) for name in kept] for row in table)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            numbers = [cell.rjust(width) for cell, width in zip(line[:3], widths, strict=False)]
            words = [cell.ljust(width) for cell, width in zip(line[3:], widths[3:], strict=True)]
            yield "  ".join([*numbers, *words]).rstrip()
        yield ""


def _cells(row: dict, step: float) -> dict[str, str]:
    epitope = row["epitope"] or (f"{row['call_epitope']} (called)" if row["call_epitope"] else "")
    species = row["antigen_species"] or row["call_antigen_species"]
    return {
        "rank": str(row["rank"]),
        "distance": f"{row['distance']:.3f}",
        "by chance": f"{_number(row['n_expected'])}" if row["n_background"] else f"< {_number(step)}",
        "receptor": row["receptor"],
        "epitope": f"{epitope} ({species})" if species else epitope,
        "samples": row["samples"] or "",
        "metadata": row["metadata"] or "",
        "run": row["run"],
    }


def _number(value: float) -> str:
    """Return a number with two digits, without an exponent where it is large."""
    return f"{value:.2g}" if value < 10 else f"{value:,.0f}"


def _cut(cell: str) -> str:
    cell = printable(cell)
    return cell if len(cell) <= WIDEST else f"{cell[: WIDEST - 1]}…"
