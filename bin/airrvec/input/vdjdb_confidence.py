"""
VDJdb's confidence score of a record, from the methods that the record names.

The rules are those by which VDJdb scores its own releases (Shugay et al. 2018, Nucleic Acids Research 46,
D419; ``VdjdbScoreFactory`` of its repository). The full table, from which a release is made, has the methods,
but no score.
"""

import re

from airrvec.input.formats.chains import column

import pyarrow as pa
import pyarrow.compute as pc

COLUMNS = (
    "method.identification",
    "method.frequency",
    "method.singlecell",
    "method.sequencing",
    "method.verification",
    "meta.structure.id",
)
MAX_SCORE = 3

_SORTED = re.compile("sort|beads|separation|stain")
_STIMULATED = re.compile("targets")
_CULTURED = re.compile("culture|cloning")
# Kind of identification → frequency of the receptor among the identified cells from which it is believed.
_ENOUGH = ((_CULTURED, 0.5), (_SORTED, 0.05), (_STIMULATED, 0.25))
_FRACTION = re.compile(r"([0-9.]+)/+([0-9.]+)")


def confidence(table: pa.Table) -> pa.ChunkedArray:
    """
    Return the score of each record as text, from 0 (critical information is missing) to 3 (very high).

    Parameters
    ----------
    table : pyarrow.Table
        Columns of strings, of which `COLUMNS` are read.

    Returns
    -------
    pyarrow.ChunkedArray of string
        Null everywhere if the table has none of `COLUMNS`.
    """
    if not set(COLUMNS) & set(table.column_names):
        return pa.chunked_array([pa.nulls(len(table), pa.string())])
    rows = zip(*(pc.fill_null(column(table, name), "").to_pylist() for name in COLUMNS), strict=True)
    return pa.chunked_array([pa.array([str(score(*row)) for row in rows], pa.string())])


def score(
    identification: str, frequency: str, singlecell: str, sequencing: str, verification: str, structure: str
) -> int:
    """
    Return the score of a record: the smaller of the certainty of the sequence and that of the specificity.

    A record with a structure has the highest score. The sequence is certain if it is of single cells, of a
    verified clone, of two or more cells by Sanger sequencing, or of at least 1 % of the reads of an amplicon.
    The specificity gains a point if the receptor is frequent among the cells that the antigen selected, and
    up to three by a verification: 3 if binding was observed directly, 2 by target cells, 1 by another stain.

    Parameters
    ----------
    identification, frequency, singlecell, sequencing, verification, structure : str
        `COLUMNS`; empty if not given. A frequency that is no number counts as not given.
    """
    if structure:
        return MAX_SCORE
    identification, verification = identification.lower(), verification.lower()
    n_cells, share = _frequency(frequency)
    limit = next((limit for kind, limit in _ENOUGH if kind.search(identification)), None)
    specificity = int(limit is not None and share >= limit)
    sequence = _sequence(singlecell.lower(), sequencing.lower(), n_cells, share)
    if "direct" in verification:
        specificity += 3
    elif _STIMULATED.search(verification):
        specificity, sequence = specificity + 2, MAX_SCORE
    elif _SORTED.search(verification):
        specificity, sequence = specificity + 1, MAX_SCORE
    return min(sequence, specificity)


def _sequence(singlecell: str, sequencing: str, n_cells: float, share: float) -> int:
    if singlecell and singlecell != "no":
        return MAX_SCORE
    if sequencing == "sanger":
        return MAX_SCORE if n_cells >= 2 else 2
    return MAX_SCORE if sequencing == "amplicon-seq" and share >= 0.01 else 1


def _frequency(text: str) -> tuple[float, float]:
    """Return cells and share of a frequency such as ``3/27``, ``11%`` or ``0.11``; zeros if it is neither."""
    fraction = _FRACTION.fullmatch(text.strip())
    try:
        if fraction:
            n_cells, n = float(fraction[1]), float(fraction[2])
            return (n_cells, n_cells / n) if n else (0.0, 0.0)
        return 0.0, float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        return 0.0, 0.0
