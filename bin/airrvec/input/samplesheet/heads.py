"""Format, species and chains of a table, from its beginning."""

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from airrvec.core import schema
from airrvec.core.errors import InputError
from airrvec.input import reading
from airrvec.input.normalise import Normaliser
from airrvec.input.units import NOTHING, Given, Unit

FIRST_LOOK = 1 << 20  # bytes, unpacked
SECOND_LOOK = 16 << 20  # bytes, if the first look finds no receptor
# Bytes; JSON and AnnData are read whole or not at all.
LARGEST_WHOLE = 32 << 20


@dataclass(frozen=True)
class Head:
    """
    Summary of the beginning of a table.

    Attributes
    ----------
    format : str or None
        None if the table was not inspected.
    species : dict
        Species → number of cells.
    chains : dict
        ``paired``, ``alpha``, ``beta`` → number of cells.
    rows, kept : int
        Number of rows inspected, and of rows with a receptor.
    share : float
        Share of the table that was inspected, from 0 to 1.
    roles : str
        What the columns mean (`airrvec.input.roles`).
    unit : Unit
        What a row is, and what is counted.
    doubts : tuple of str
        Signs that the table is not what it was read as (`airrvec.input.plausibility`).
    """

    format: str | None
    species: dict[str, int]
    chains: dict[str, int]
    rows: int
    kept: int
    share: float
    roles: str = ""
    unit: Unit = field(default_factory=Unit)
    doubts: tuple[str, ...] = ()


NOT_SEEN = Head(None, {}, {}, 0, 0, 0.0)


def look(
    path: str | Path,
    format: str | None,
    columns: dict[str, str] | None,
    species: str,
    max_unpacked: int = reading.MAX_UNPACKED,
    unit: Given = NOTHING,
) -> Head:
    """
    Inspect the beginning of a table.

    Parameters
    ----------
    path, format, columns, max_unpacked, unit
        As in `airrvec.input.reading.open_chains`.
    species : str
        Species of rows without one.

    Raises
    ------
    InputError
        If the table cannot be read, has no known format, contains no receptor (if it was read to its end),
        or contains genes of another species than stated.
    """
    head = _look(Path(path), format, columns, species, FIRST_LOOK, max_unpacked, unit)
    if head.kept or head.share == 1 or not head.rows:
        return head
    # Rows may be sorted by locus, so the first part of a table may contain no receptor.
    return _look(Path(path), format, columns, species, SECOND_LOOK, max_unpacked, unit)


def _look(path: Path, format, columns, species: str, n_bytes: int, max_unpacked: int, unit: Given) -> Head:
    with tempfile.TemporaryDirectory() as folder:
        part, share = reading.beginning(path, Path(folder), n_bytes, max_unpacked)
        if not part.stat().st_size and path.stat().st_size:  # its first lines are longer than n_bytes
            return NOT_SEEN
        if part == path and path.stat().st_size > LARGEST_WHOLE:
            return NOT_SEEN
        source = reading.open_chains(part, format, columns, max_unpacked, unit)
        return _counted(source, path.name, species, share)


def _counted(source: reading.Source, name: str, species: str, share: float) -> Head:
    normaliser = Normaliser(sample_id=name, species=species)
    counts = normaliser.counts
    try:
        for _ in normaliser.parts(source):
            pass
    except InputError:
        if share == 1 or not counts.rows_in or normaliser.contradiction:
            raise
    pairing = counts.pairing
    alpha, beta = pairing[schema.ORPHAN_VJ], pairing[schema.ORPHAN_VDJ]
    chains = {"paired": counts.cells - alpha - beta, "alpha": alpha, "beta": beta}
    rows = counts.rows_in, counts.rows_out, share
    told = counts.roles, normaliser.unit or Unit(), tuple(normaliser.doubts)
    return Head(source.format, dict(counts.species), chains, *rows, *told)
