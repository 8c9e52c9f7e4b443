"""Arrow tables of strings from blocks of delimited lines, and the lines that do not match the header."""

import codecs
from dataclasses import dataclass, field

from airrvec.core.plural import counted
from airrvec.input.files.container import MalformedRow, TextBatch
from airrvec.input.files.lines import Block
from airrvec.input.values import MISSING

import numpy as np
import pyarrow as pa
import pyarrow.csv


@dataclass(frozen=True)
class _Misfit:
    """A line whose number of cells differs from the header's; ``number`` counts from 0 in its block."""

    number: int
    n_cells: int
    text: str


@dataclass
class RowReader:
    """
    Reader of the blocks of a file, in order.

    Attributes
    ----------
    names : list of str
        All columns of the file, with unique names.
    wanted : list of str
        Columns to read.
    delimiter : str
        Tab or comma.
    least : int
        Minimum number of cells in a row; a row with fewer cells than the header is filled with empty cells.
    n_rows : int
        Number of rows read so far.
    """

    names: list[str]
    wanted: list[str]
    delimiter: str
    least: int
    n_rows: int = 0
    _fewest: int = field(init=False)

    def __post_init__(self):
        self._fewest = len(self.names)  # fewest cells of an accepted row so far

    def read(self, block: Block) -> TextBatch | None:
        """Return the rows of a block; None if an open quotation mark joins lines."""
        table, misfits = self._parsed(block.content)
        if len(table) + len(misfits) != block.n_lines:
            return None
        short, malformed = [], []
        for row in misfits:
            (short if self._is_filled(row, block) else malformed).append(row)
        numbers = np.delete(np.arange(block.n_lines), [row.number for row in misfits])
        if short:
            empty = [self.delimiter * (len(self.names) - row.n_cells) for row in short]
            lines = "\n".join(row.text + cells for row, cells in zip(short, empty, strict=True))
            filled, others = self._parsed(lines.encode())
            if others or len(filled) != len(short):
                return None
            numbers = np.append(numbers, [row.number for row in short])
            order = np.argsort(numbers)
            table, numbers = pa.concat_tables([table, filled]).take(order), numbers[order]
        table = table.append_column("row", pa.array(numbers + self.n_rows + 1))
        bad = [self._malformed(row) for row in malformed]
        self.n_rows += block.n_lines
        return TextBatch(table, block.n_lines, bad, len(short))

    def _malformed(self, row: _Misfit) -> MalformedRow:
        reason = f"holds {counted(row.n_cells, 'field')}, the header {len(self.names)}"
        return MalformedRow(self.n_rows + row.number + 1, reason)

    def _is_filled(self, row: _Misfit, block: Block) -> bool:
        """Return True if a row lacks only its last cells and the file was not truncated within it."""
        if not self.least <= row.n_cells < len(self.names):
            return False
        is_last = row.number == block.n_lines - 1 and not block.content.endswith((b"\n", b"\r"))
        if is_last and row.n_cells < self._fewest:
            return False
        self._fewest = min(self._fewest, row.n_cells)
        return True

    def _parsed(self, content: bytes) -> tuple[pa.Table, list[_Misfit]]:
        misfits: list[_Misfit] = []

        def skip_misfit(row) -> str:
            misfits.append(_Misfit(row.number - 1, row.actual_columns, row.text))
            return "skip"

        if content.startswith(codecs.BOM_UTF8):  # that of a cell: Arrow takes one away from what it is given
            content = codecs.BOM_UTF8 + content
        table = pyarrow.csv.read_csv(
            pa.py_buffer(content),
            # One thread: only then do misfits have row numbers. One block: no row may span two.
            read_options=pa.csv.ReadOptions(
                column_names=self.names, use_threads=False, block_size=len(content) + 1
            ),
            parse_options=pa.csv.ParseOptions(delimiter=self.delimiter, invalid_row_handler=skip_misfit),
            convert_options=pa.csv.ConvertOptions(
                include_columns=self.wanted,
                column_types={name: pa.string() for name in self.wanted},
                null_values=MISSING,
                strings_can_be_null=True,
            ),
        )
        return table, misfits
