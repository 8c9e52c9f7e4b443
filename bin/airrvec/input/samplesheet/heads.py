"""What the beginning of a table tells, before the whole is read: its format, species and chains."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from airrvec.core import schema
from airrvec.core.errors import InputError
from airrvec.input import reading
from airrvec.input.normalise import Normaliser

FIRST_LOOK = 1 << 20  # bytes, unpacked
SECOND_LOOK = 16 << 20  # where the first shows no receptor
# JSON and AnnData are read whole or not at all.
LARGEST_WHOLE = 32 << 20


@dataclass(frozen=True)
class Head:
    """
    What the beginning of a table holds.

    Attributes
    ----------
    format : str or None
        None where the table was not looked into.
    species : dict
        Species → cells.
    chains : dict
        Paired, alpha and beta → cells.
    rows, kept : int
        That were looked at, and that hold a receptor.
    share : float
        Of the table that was looked at, from 0 to 1.
    """

    format: str | None
    species: dict[str, int]
    chains: dict[str, int]
    rows: int
    kept: int
    share: float


NOT_SEEN = Head(None, {}, {}, 0, 0, 0.0)


def look(
    path: str | Path,
    format: str | None,
    columns: dict[str, str] | None,
    species: str,
    max_unpacked: int = reading.MAX_UNPACKED,
) -> Head:
    """
    Look at the beginning of a table.

    Parameters
    ----------
    path : str or Path
        As for `airrvec.input.reading.open_chains`, and so are ``format``, ``columns`` and ``max_unpacked``.
    species : str
        Of rows that name none.

    Raises
    ------
    InputError
        If the table cannot be read, is in no known format, holds no receptor (where it was read to its
        end) or the genes of another species than it says.
    """
    head = _look(Path(path), format, columns, species, FIRST_LOOK, max_unpacked)
    if head.kept or head.share == 1 or not head.rows:
        return head
    # Rows may be sorted by locus: only the whole table tells that it has no receptor.
    return _look(Path(path), format, columns, species, SECOND_LOOK, max_unpacked)


def _look(path: Path, format, columns, species: str, n_bytes: int, max_unpacked: int) -> Head:
    with tempfile.TemporaryDirectory() as folder:
        part, share = reading.beginning(path, Path(folder), n_bytes, max_unpacked)
        if not part.stat().st_size and path.stat().st_size:  # a line that is longer than the look
            return NOT_SEEN
        if part == path and path.stat().st_size > LARGEST_WHOLE:
            return NOT_SEEN
        return _counted(reading.open_chains(part, format, columns, max_unpacked), path.name, species, share)


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
    return Head(source.format, dict(counts.species), chains, counts.rows_in, counts.rows_out, share)
