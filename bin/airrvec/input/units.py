"""
Units of a table: of its rows, and of its counts.

A cell counts once, a clonotype by its count: its cells if the table has their number, else its UMIs, else its
reads, templates or copies. The unit is one for a file: numbers of different units are never added.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from airrvec.core.errors import InputError
from airrvec.input.role_names import plain
from airrvec.input.roles import Roles

import pyarrow as pa
import pyarrow.compute as pc

MOST = 10**12  # more than any sequencer counts; sums of larger numbers may exceed int64
_COUNTS = ("cell_count", "umi_count", "duplicate_count")  # the first that a clonotype has is its abundance
_GROUP = "cellgroup"  # of the cells with one pair, whose chains have other counts
_ONCE = {"chain": "rows", "cell": "cells", "clonotype": "rows", "pair": "pairs"}  # each row counts once


@dataclass(frozen=True)
class Unit:
    """
    Unit of the rows of a table.

    Attributes
    ----------
    row : {"chain", "cell", "clonotype", "pair"}
        What a row is; the chains of one cell are bound by its name.
    count : str
        What the abundance counts, of `airrvec.core.schema.COUNT_UNITS`.
    field : str or None
        Column of the cells with the abundance; None if each counts once.
    """

    row: str = "cell"
    count: str = "cells"
    field: str | None = None

    @property
    def words(self) -> dict[str, str]:
        """The columns ``row_unit`` and ``count_unit``."""
        return {"row_unit": self.row, "count_unit": self.count}

    def counted(self, chains: pa.Table) -> pa.Table:
        """Return chain records whose ``cell_count`` is that of their clonotype: one for all of its chains."""
        if self.row != "clonotype" or self.field is None:
            return chains
        place = chains.schema.get_field_index("cell_count")
        return chains.set_column(place, "cell_count", chains[self.field])

    def abundances(self, columns: dict[str, pa.ChunkedArray], n_cells: int) -> pa.Array | pa.ChunkedArray:
        """Return the abundance of each cell; null if it has no count, or one above `MOST`."""
        if self.field is None:
            return pa.repeat(pa.scalar(1, pa.int64()), n_cells)
        counts = columns["cell_count" if self.row == "clonotype" else self.field]
        return pc.if_else(pc.less_equal(counts, MOST), counts, pa.scalar(None, pa.int64()))


@dataclass(frozen=True)
class DeclaredUnit:
    """Units that the samplesheet declares for a table; None where it declares none: they are detected."""

    row: str | None = None
    count: str | None = None

    @property
    def options(self) -> list[str]:
        """Options of ``normalise_receptors.py``."""
        words = {"--row-unit": self.row, "--count-unit": self.count}
        return [word for option, unit in words.items() if unit for word in (option, unit)]


NOTHING = DeclaredUnit()


def read_as(qc: Mapping[str, str]) -> str:
    """
    Return what the columns and rows of a table were taken for, for people.

    Parameters
    ----------
    qc : mapping
        ``roles``, ``row_unit`` and ``count_unit``, as in the QC of ``normalise_receptors.py``.

    Examples
    --------
    >>> read_as({"roles": "cell = barcode", "row_unit": "chain", "count_unit": "cells"})
    'cell = barcode · a row is a chain; counted in cells'
    """
    rows = f"a row is a {qc['row_unit']}; counted in {qc['count_unit']}"
    return " · ".join([*filter(None, [qc["roles"]]), rows])


def unit_of(chains: pa.Table, roles: Roles, row: str, declared: DeclaredUnit = NOTHING) -> Unit:
    """
    Return the unit of a file, by the chains of its first rows.

    Parameters
    ----------
    chains : pyarrow.Table
        Chain records that are kept. Copies of clonotypes with several chains are cells: nothing else shows
        which chains belong together.
    roles : Roles
        Columns of the file.
    row : {"chain", "cell", "clonotype", "pair"}
        What a row is in this format. A chain without the name of a cell, and a pair with a count and without
        the name of a cell, is a clonotype.
    declared : Given

    Raises
    ------
    InputError
        If the table has no count of the unit that is given.
    """
    counts = {name: roles.units[name] for name in _COUNTS if name in roles.counts and _counted(chains, name)}
    if row == "clonotype" and pc.count_distinct(chains["row"]).as_py() < len(chains):
        counts = {name: "cells" if unit == "copies" else unit for name, unit in counts.items()}
    if declared.row in (None, "chain"):  # a chain may have the name of a cell
        detected = _detected_unit(chains, roles, declared.row or row, {} if declared.row else counts)
    else:
        detected = _unit(declared.row, counts)
    if declared.count in (None, detected.count):
        return detected
    if declared.count in _ONCE.values() and declared.count != "cells":
        return Unit(detected.row, declared.count)
    names = [
        name for unit in (declared.count, "copies") for name, own_unit in counts.items() if own_unit == unit
    ]
    if not names:
        has = ", ".join(f"{roles.counts[name]} ({unit})" for name, unit in counts.items())
        raise InputError(
            f"count_unit is {declared.count}, and no column of the table counts {declared.count}",
            fix=f"Its counts: {has}" if has else "It has no count: leave count_unit empty",
        )
    return Unit(detected.row, declared.count, names[0])


def _detected_unit(chains: pa.Table, roles: Roles, row: str, counts: dict[str, str]) -> Unit:
    if "cell_count" in counts:
        return _unit("clonotype", counts)
    if roles.cell is not None and plain(roles.cell) == _GROUP:
        return Unit("clonotype", "rows")
    # A pair has the name of a cell in one column, or is named by its own two chains.
    named = row == "pair" and "+" not in (roles.cell or "+") and _has_values(chains, "cell_id")
    if named or (row == "chain" and _has_values(chains, "cell_key")):
        has_parts = any(part.counts for part in roles.parts.values())
        return Unit("cell" if named or has_parts else "chain")
    return _unit("clonotype" if counts and row in ("chain", "pair") else row, counts)


def _unit(row: str, counts: dict[str, str]) -> Unit:
    if row == "clonotype" and counts:
        name = next(iter(counts))
        return Unit(row, counts[name], name)
    return Unit(row, _ONCE[row])


def _counted(chains: pa.Table, name: str) -> bool:
    """Return whether a count is above 0; a column of zeros was not filled."""
    return (pc.max(chains[name]).as_py() or 0) > 0


def _has_values(chains: pa.Table, name: str) -> bool:
    return chains[name].null_count < len(chains)
