"""Parquet files with a flipped bit."""

from pathlib import Path

import pyarrow.parquet as pq


def page_bytes(path: Path) -> range:
    """Places of the pages: between the first magic word and the footer."""
    content = path.read_bytes()
    return range(4, len(content) - 8 - int.from_bytes(content[-8:-4], "little"))


def flipped(source: Path, place: int, bit: int, target: Path) -> Path:
    content = bytearray(source.read_bytes())
    content[place] ^= 1 << bit
    target.write_bytes(content)
    return target


def in_column(path: Path, number: int = 0) -> int:
    """The last byte of a column: content of its page, which has a checksum."""
    column = pq.read_metadata(path).row_group(0).column(number)
    start = min(filter(None, (column.dictionary_page_offset, column.data_page_offset)))
    return start + column.total_compressed_size - 1
