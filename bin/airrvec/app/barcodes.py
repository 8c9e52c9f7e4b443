"""Cells of airrvec's tables for the names of cells in an object of gene expression."""

import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from airrvec.app import frames
from airrvec.core.errors import InputError, kind

import numpy as np
import pandas as pd

# Reasons. A test compares them with those of airrvecr/R/match_barcodes.R.
NO_BARCODE = "the sample has no such barcode"
OTHER_SUFFIX = "the barcode has another number in the sample"
NO_SAMPLE = "the name holds no sample, and the cells are of several"
UNKNOWN_SAMPLE = "what stands beside the barcode is the name of no sample"
TWO_SAMPLES = "the name holds two samples"
SEVERAL_CELLS = "several cells have the barcode"
SAME_CELL = "another name fits the same cell"

# Prefix, nucleotides, number of the library (`-1`), and what a merge appends (`_2`, `-sample`).
_NAME = re.compile(r"(?:(.+)[^A-Za-z0-9])?([ACGTN]{8,})(?:[-_.]([0-9]{1,4}))?(?:[-_.#:](.+))?")
_SIGN = re.compile("[^A-Za-z0-9]")


@dataclass(frozen=True)
class _Parts:
    """Parts of a name; "" if the name lacks a part. A name without nucleotides is its own ``core``."""

    core: str
    number: str = ""
    prefix: str = ""
    label: str = ""


def match_barcodes(
    names: Iterable[str],
    cells: pd.DataFrame,
    *,
    samples: str | Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
    prefix: str = "",
) -> pd.DataFrame:
    """
    Return the cell of each name, for objects whose barcodes have other suffixes and prefixes.

    Two names of a barcode are the same with and without the number of the library (``-1``), written ``-1``,
    ``_1`` or ``.1``; two different numbers are never the same. The sample is read from what stands before
    the barcode (``pbmc_AAACCTGAGAGTGAGA-1``) or after it (``AAACCTGAGAGTGAGA-1-pbmc``), and from numbers if
    ``samples`` explains them. Nothing is guessed: a name that fits no cell or several cells gets none.

    Parameters
    ----------
    names : iterable of str
        Names of cells, such as ``adata.obs_names``.
    cells : DataFrame
        A table of airrvec with ``cell_id``, one row per cell, of one sample or of several samples with
        ``sample_id``.
    samples : str or dict, optional
        The sample of all names, or prefix, suffix or number → sample, such as ``{"1": "pbmc", "2": "csf"}``
        for objects merged by Seurat.
    columns : list of str, optional
        Columns of ``cells`` to return; by default all.
    prefix : str
        Before the name of each column of the result, such as ``"tcr_"``: no column of ``adata.obs`` then has
        the same name.

    Returns
    -------
    DataFrame
        One row per name, which is the index. ``match``: matched, unmatched or ambiguous; ``match_reason``:
        missing if matched; then the columns of ``cells``, missing if not matched, in the types of
        `airrvec.app.frames`. ``attrs["counts"]`` holds the
        numbers of ``names``, ``matched``, ``unmatched``, ``ambiguous``, ``cells`` and ``cells_without_name``.

    Warns
    -----
    UserWarning
        If names are unmatched or ambiguous, with the reasons.

    Raises
    ------
    InputError
        If ``cells`` lacks a column, or ``samples`` names a sample that ``cells`` lacks.

    Examples
    --------
    >>> import airrvec
    >>> cells = pd.DataFrame({"sample_id": ["pbmc"], "cell_id": ["AAACCTGAGAGTGAGA-1"], "clone": [7]})
    >>> airrvec.match_barcodes(["pbmc_AAACCTGAGAGTGAGA"], cells)[["match", "clone"]]
                             match  clone
    pbmc_AAACCTGAGAGTGAGA  matched      7
    """
    if not isinstance(cells, pd.DataFrame):
        raise InputError(f"cells is {kind(cells)}, and must be a DataFrame with cell_id")
    barcodes = [str(name) for name in names]
    for column in {"cell_id", "match", "match_reason"}:
        if (column in cells) != (column == "cell_id"):
            problem = "lacks" if column == "cell_id" else "already has"
            raise InputError(f"the table of cells {problem} the column {column}")
    chosen = list(cells.columns if columns is None else columns)
    missing = [name for name in chosen if name not in cells]
    if missing:
        raise InputError(f"the table of cells has no column '{missing[0]}'", fix="Correct columns")
    matcher = _Matcher(cells, samples, barcodes)
    matches = [matcher.find(name) for name in barcodes]
    times = Counter(row for row, _ in matches if row >= 0)
    matches = [(-1, SAME_CELL) if times[row] > 1 else (row, reason) for row, reason in matches]
    rows = [row for row, _ in matches]
    table = (
        _with_nulls(cells[chosen].reset_index(drop=True)).reindex(rows).set_axis(pd.Index(barcodes), axis=0)
    )
    reasons = [reason for _, reason in matches]
    words = [_word(reason) for reason in reasons]
    table.insert(0, "match", words)
    table.insert(1, "match_reason", pd.Series(reasons, table.index, object))
    table = frames.savable(table).add_prefix(prefix)
    table.attrs["counts"] = {
        "names": len(barcodes),
        **{word: words.count(word) for word in ("matched", "unmatched", "ambiguous")},
        "cells": len(cells),
        "cells_without_name": len(cells) - len({row for row in rows if row >= 0}),
    }
    left = Counter(reason for reason in reasons if reason)
    if left:
        listed = "; ".join(f"{n} × {reason}" for reason, n in left.most_common())
        warnings.warn(f"{left.total()} of {len(barcodes)} names have no cell ({listed})", stacklevel=2)
    return table


def _with_nulls(cells: pd.DataFrame) -> pd.DataFrame:
    """Return cells whose whole numbers stay whole, and flags flags, where a row is missing."""
    kinds = {"i": "Int", "u": "UInt"}
    types = {
        name: f"{kinds[dtype.kind]}{8 * dtype.itemsize}" if dtype.kind in kinds else "boolean"
        for name, dtype in cells.dtypes.items()
        if isinstance(dtype, np.dtype) and dtype.kind in "iub"
    }
    return cells.astype(types)


def _word(reason: str | None) -> str:
    if reason is None:
        return "matched"
    return "ambiguous" if reason in (SEVERAL_CELLS, SAME_CELL, TWO_SAMPLES) else "unmatched"


class _Matcher:
    """Cells by barcode, and the samples that labels stand for."""

    def __init__(self, cells: pd.DataFrame, samples: str | Mapping[str, str] | None, names: list[str]):
        ids = [None if pd.isna(name) else str(name) for name in cells["cell_id"]]
        cell_samples = [str(name) for name in cells["sample_id"]] if "sample_id" in cells else [""] * len(ids)
        self.known = set(cell_samples)
        self.only = samples if isinstance(samples, str) else None
        self.samples = {} if samples is None or isinstance(samples, str) else dict(samples)
        for sample in (*self.samples.values(), *([] if self.only is None else [self.only])):
            if sample not in self.known:
                known = ", ".join(sorted(self.known))
                raise InputError(f"samples names '{sample}', which the cells lack", fix=f"They have {known}")
        self.exact: dict[str, list[int]] = defaultdict(list)  # name → rows
        self.cores: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)  # → rows, numbers
        for row, (name, sample) in enumerate(zip(ids, cell_samples, strict=True)):
            if name is None:
                continue
            parts = _parts(name)
            if parts.prefix or parts.label:  # the barcode of a joined table names its sample itself
                self.exact[name].append(row)
                parts = _Parts(name)
            if sample:
                self.exact[f"{sample}_{name}"].append(row)
            self.cores[sample, parts.core].append((row, parts.number))
        # The number of a merge says nothing in an object of one sample, in which all names have the same.
        self.one_merge = len(self.known) == 1 and len({_parts(name).label for name in names}) == 1

    def find(self, name: str) -> tuple[int, str | None]:
        """Return the row of the cell that a name stands for, or -1 and the reason."""
        rows = self.exact.get(name, [])
        if rows:
            return (rows[0], None) if len(rows) == 1 else (-1, SEVERAL_CELLS)
        parts = _parts(name)
        if parts.core == name:
            divisions = self._without_nucleotides(name)
            if len(divisions) > 1:
                return -1, TWO_SAMPLES
            parts = divisions[0] if divisions else parts
        sample, number, reason = self._sample(parts)
        if reason:
            return -1, reason
        candidates = self.cores.get((sample, parts.core), [])
        rows = [row for row, own in candidates if not own or not number or own == number]
        if len(rows) == 1:
            return rows[0], None
        return -1, SEVERAL_CELLS if rows else OTHER_SUFFIX if candidates else NO_BARCODE

    def _without_nucleotides(self, name: str) -> list[_Parts]:
        """Return the divisions of a name into a known prefix and the cell_id of a cell."""
        divisions = []
        for label in sorted({*self.known, *self.samples} - {""}):
            if name.startswith(label) and _SIGN.match(name, len(label)):
                core = name[len(label) + 1 :]
                if (self.samples.get(label, label), core) in self.cores:
                    divisions.append(_Parts(core, prefix=label))
        return divisions

    def _sample(self, parts: _Parts) -> tuple[str, str, str | None]:
        """Return the sample of a name, the number of its library, and the reason if there is no sample."""
        if self.only is not None:
            return self.only, parts.number, None
        label = parts.label
        if label.isdigit() and label not in self.samples and (parts.prefix or self.one_merge):
            label = ""
        named = {self.samples.get(text, text) for text in (parts.prefix, label) if text}
        if named - self.known:
            return "", "", UNKNOWN_SAMPLE
        if named:
            return (named.pop(), parts.number, None) if len(named) == 1 else ("", "", TWO_SAMPLES)
        if parts.number in self.samples:
            return self.samples[parts.number], "", None
        if len(self.known) == 1:
            return next(iter(self.known)), parts.number, None
        return "", "", NO_SAMPLE


def _parts(name: str) -> _Parts:
    match = _NAME.fullmatch(name)
    if not match:
        return _Parts(name)
    prefix, core, number, label = (part or "" for part in match.groups())
    return _Parts(core, number, prefix, label)
