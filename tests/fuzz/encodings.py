"""One table in many spellings, of which each must give the same receptors."""

import bz2
import csv
import gzip
import io
import json
import re
from collections.abc import Callable
from random import Random

from airrvec.input.reading import FORMATS

import pyarrow as pa
import pyarrow.parquet as pq

from fuzz.corpus import Table

PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda content: gzip.compress(content, mtime=0),
    "bzip2": bz2.compress,
    "zstd": lambda content: pa.Codec("zstd").compress(content, asbytes=True),
    "gzip members": lambda content: b"".join(
        gzip.compress(part, mtime=0) for part in (content[:99], b"", content[99:])
    ),
}
_FLAGS = re.compile("productive|is_cell|high_confidence", re.IGNORECASE)
_NEEDED = {name for reader in FORMATS.values() for layout in reader.LAYOUTS for name in layout}
# Formats that are told by having no further column.
_CLOSED = [
    {*reader.LAYOUTS[0], *reader.OPTIONAL} for reader in FORMATS.values() if getattr(reader, "CLOSED", False)
]
_UNREADABLE = re.compile("[\r\n\0]")


def packed(content: bytes, random: Random) -> bytes:
    """The bytes, most often as they are."""
    return random.choice(list(PACKED.values()))(content) if random.random() < 0.2 else content


def spelled(table: Table, random: Random) -> tuple[str, bytes]:
    """
    A spelling of a table, in words and as bytes.

    The order of the columns is another, and there may be one more; the rows keep their order.
    """
    order = random.sample(range(len(table.names)), len(table.names))
    table, words = table.columns(order), ["columns in another order"]
    closed = any(columns.issuperset(table.names) for columns in _CLOSED)
    if random.random() < 0.3 and not closed:
        words.append("a further column")
        for number, row in enumerate([*table.header, *table.rows]):
            row.append(random.choice(["", "é", "1", 'a "b", c']) if number else "further")
    container = random.choice([_json, _parquet, *[_text] * 4])
    content = container(table, random, words)
    if random.random() < 0.3:
        name = random.choice(list(PACKED))
        words.append(name)
        content = PACKED[name](content)
    return ", ".join(words), content


def _text(table: Table, random: Random, words: list[str]) -> bytes:
    def chosen(word: str, share: float = 0.3) -> bool:
        if random.random() >= share:
            return False
        words.append(word)
        return True

    if cut := chosen("rows without their empty last cells"):
        table = Table(table.header, [_cut(row, table.names) for row in table.rows], table.delimiter)
    other = {",": "\t", "\t": ","}[table.delimiter]
    if chosen("another separator") and (other == "\t" or not _has_tab(table)):
        table = Table(table.header, table.rows, other)
    if chosen("blanks around values"):
        table = Table(
            *([[f" {cell} " for cell in row] for row in part] for part in (table.header, table.rows)),
            table.delimiter,
        )
    quoting = csv.QUOTE_ALL if chosen("all quoted") else csv.QUOTE_MINIMAL
    newline = next((end for word, end in (("CRLF", "\r\n"), ("CR", "\r")) if chosen(word, 0.2)), "\n")
    text = table.text(newline, quoting)
    if not cut and chosen("no last line end"):  # a short row there is one that was cut off
        text = text.removesuffix(newline)
    if chosen("blank lines"):
        lines = text.split(newline)
        for _ in range(random.randint(1, 4)):
            lines.insert(random.choice([0, *range(len(table.header), len(lines) + 1)]), "")
        text = newline.join(lines)
    if chosen("comments", 0.1):
        text = f"## by a program{newline}# of 2026{newline}{text}"
    return text.encode("utf-8-sig" if chosen("byte order mark") else "utf-8")


def _cut(row: list[str], names: list[str]) -> list[str]:
    """A row without the empty cells at its end that no format needs."""
    end = len(row)
    while end and not row[end - 1].strip() and not _is_needed(names[end - 1].strip()):
        end -= 1
    return row[:end] or row


def _has_tab(table: Table) -> bool:
    """Whether the header holds a tab, which would then separate."""
    return any("\t" in cell for row in table.header for cell in row)


def _json(table: Table, random: Random, words: list[str]) -> bytes:
    words.append("JSON")
    columns = {name: _typed(name, values, random) for name, values in _columns(table)}
    if random.random() < 0.5:  # fields without a value may be missing
        records = [
            {name: value for name, value in zip(columns, row, strict=True) if value is not None}
            for row in zip(*columns.values(), strict=True)
        ]
        records[0] = dict(zip(columns, next(zip(*columns.values(), strict=True)), strict=True))
    else:
        records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return json.dumps(records, ensure_ascii=random.random() < 0.5, indent=random.choice([None, 2])).encode()


def _parquet(table: Table, random: Random, words: list[str]) -> bytes:
    words.append("Parquet")
    arrays = []
    for name, values in _columns(table):
        array = pa.array(_typed(name, values, random))
        if pa.types.is_string(array.type):
            kind = random.choice([pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
            array = array.dictionary_encode() if pa.types.is_dictionary(kind) else array.cast(kind)
        arrays.append(array)
    out = io.BytesIO()
    content = pa.table(arrays, names=[name for name, _ in _columns(table)])
    pq.write_table(content, out, row_group_size=random.choice([1, 2, 1000]))
    return out.getvalue()


def _columns(table: Table):
    """Names and values of the columns, as words, empty ones as None."""
    for name, values in zip(table.names, zip(*table.rows, strict=True), strict=True):
        yield name, [value or None for value in values]


def _typed(name: str, values: list[str | None], random: Random) -> list:
    """The values as numbers or truth values, where they can be and their spelling stays."""
    given = [value for value in values if value is not None]
    if random.random() < 0.5 or not given:
        return values
    if all(re.fullmatch("0|[1-9][0-9]{0,17}", value) for value in given):
        return [None if value is None else int(value) for value in values]
    if _FLAGS.search(name) and {value.lower() for value in given} <= {"true", "false"}:
        return [None if value is None else value.lower() == "true" for value in values]
    return values


def can_be_spelled(table: Table) -> bool:
    """Whether all spellings can hold a table: no line ends within cells, and each name once."""
    cells = [cell for row in [*table.header, *table.rows] for cell in row]
    names = [name.strip() for name in table.names]
    return not any(map(_UNREADABLE.search, cells)) and len(set(names)) == len(names) and bool(table.rows)


def _is_needed(name: str) -> bool:
    return name in _NEEDED or any(r.further([name]) for r in FORMATS.values() if hasattr(r, "further"))
