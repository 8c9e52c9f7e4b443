"""Conversion of receptors to token arrays, without a Python loop over receptors."""

from collections.abc import Iterator
from dataclasses import dataclass

from airrvec.core import schema
from airrvec.core.errors import InputError, kind
from airrvec.input.germline import v_loops

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"
NULL, MASK, CLS = 0, 1, 2
FIRST_AMINO_ACID = 3
N_RESIDUES = FIRST_AMINO_ACID + len(AMINO_ACIDS)

# Columns of a token, in the order of the reference implementation.
RESIDUE, POSITION, LENGTH, LOOP = range(4)

ALL_LOOPS = ("cdr1a", "cdr2a", "cdr3a", "cdr1b", "cdr2b", "cdr3b")

_CLS_BYTE = ord("<")
_INVALID = 255


def _residue_of_byte() -> np.ndarray:
    table = np.full(256, _INVALID, np.uint8)
    for index, letter in enumerate(AMINO_ACIDS):
        table[ord(letter)] = FIRST_AMINO_ACID + index
    table[ord("*")] = NULL
    table[_CLS_BYTE] = CLS
    return table


_RESIDUE_OF_BYTE = _residue_of_byte()


@dataclass(frozen=True)
class Tokens:
    """
    Tokens of many receptors, concatenated.

    Attributes
    ----------
    values : ndarray of uint8, shape (n_tokens, 4)
        Residue, 1-based position in its loop, length of the loop, and 1-based number of the loop.
        Each receptor starts with ``<cls>``, whose position, length and loop are 0.
    offsets : ndarray of int64, shape (n_receptors + 1,)
        Receptor ``i`` has the tokens ``offsets[i]`` to ``offsets[i + 1]``.
    """

    values: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def take(self, rows: np.ndarray) -> "Tokens":
        """Return the tokens of some receptors, in the order of their row numbers."""
        lengths = self.lengths[rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        index = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], lengths)
        return Tokens(self.values[index], offsets)

    @property
    def lengths(self) -> np.ndarray:
        """Number of tokens of each receptor, ``<cls>`` included; shape (n_receptors,)."""
        return np.diff(self.offsets)

    @property
    def contents(self) -> np.ndarray:
        """Number of each receptor's token sequence, from 0, equal for equal ones; shape (n_receptors,)."""
        buffers = [None, pa.py_buffer(self.offsets * 4), pa.py_buffer(np.ascontiguousarray(self.values))]
        texts = pa.Array.from_buffers(pa.large_binary(), len(self), buffers)
        return texts.dictionary_encode().indices.to_numpy()


def tokenise(receptors: pa.Table, loops: tuple[str, ...] = ALL_LOOPS) -> Tokens:
    """
    Turn receptors into tokens (paper, Methods, "SCEPTR architecture").

    Parameters
    ----------
    receptors : pyarrow.Table
        Columns ``species``, ``tra_v_call``, ``tra_junction_aa``, ``trb_v_call`` and
        ``trb_junction_aa``, standardised; null if unknown.
    loops : tuple of str
        Loops that the model reads, in its order.

    Returns
    -------
    Tokens
        A receptor with no known loop has only ``<cls>``.

    Raises
    ------
    InputError
        If the receptors are no Arrow table.
    ValueError
        If a junction has a residue that is not an amino acid, or a loop has more than 254 residues.
    """
    if not isinstance(receptors, pa.Table):
        raise InputError(
            f"the receptors are {kind(receptors)}, and must be a pyarrow.Table, standardised",
            fix="airrvec.embed standardises and takes any table; of one that is standardised,"
            " pyarrow.Table.from_pandas(receptors) is the Arrow table",
        )
    buffer, starts, lengths = _loop_slices(receptors, loops)
    n_receptors, n_columns = lengths.shape  # <cls> and the loops

    flat_lengths = lengths.ravel()
    segment_starts = np.cumsum(flat_lengths) - flat_lengths
    n_tokens = int(flat_lengths.sum())
    position = np.arange(n_tokens) - np.repeat(segment_starts, flat_lengths)

    values = np.empty((n_tokens, 4), np.uint8)
    values[:, RESIDUE] = _RESIDUE_OF_BYTE[buffer[np.repeat(starts.ravel(), flat_lengths) + position]]
    loop = np.tile(np.arange(n_columns, dtype=np.uint8), n_receptors)
    values[:, LOOP] = np.repeat(loop, flat_lengths)
    values[:, POSITION] = position + 1
    values[:, LENGTH] = np.repeat(flat_lengths, flat_lengths)
    values[values[:, LOOP] == 0, POSITION : LENGTH + 1] = 0

    if (values[:, RESIDUE] == _INVALID).any():
        first = int(np.argmax(values[:, RESIDUE] == _INVALID))
        row = int(np.searchsorted(np.cumsum(lengths.sum(axis=1)), first, side="right"))
        raise ValueError(
            f"receptor {row} has a residue that is no amino acid: {receptors.slice(row, 1).to_pylist()[0]}"
        )

    counts = lengths.sum(axis=1)
    unknown = values[:, RESIDUE] == NULL  # '*' in a germline loop counts as a position but has no token
    if unknown.any():
        receptor = np.repeat(np.arange(n_receptors), counts)
        counts = counts - np.bincount(receptor[unknown], minlength=n_receptors)
        values = values[~unknown]
    return Tokens(values, np.concatenate([[0], np.cumsum(counts)]))


def token_counts(receptors: pa.Table) -> np.ndarray:
    """
    Return the number of tokens of each receptor with all loops; a few too many if a germline loop has gaps.

    Parameters
    ----------
    receptors : pyarrow.Table
        As for `tokenise`.

    Returns
    -------
    ndarray of int64, shape (n_receptors,)
    """
    return _loop_slices(receptors, ALL_LOOPS)[2].sum(axis=1)


def shards(receptors: pa.RecordBatchReader, n_tokens: int) -> Iterator[pa.Table]:
    """
    Yield receptors in shards of about equally many tokens, so that all take a similar time to embed.

    Parameters
    ----------
    receptors : pyarrow.RecordBatchReader
        ``receptors``, in batches of any size.
    n_tokens : int
        Tokens per shard, plus or minus those of one receptor; the last shard has the remainder.

    Yields
    ------
    pyarrow.Table
        At least one shard, empty if there are no receptors.
    """
    waiting, last, done = [receptors.schema.empty_table()], 0, 0
    for batch in receptors:
        if not len(batch):
            continue
        table = pa.Table.from_batches([batch])
        counts = token_counts(table)
        number = (done + np.cumsum(counts) - counts) // n_tokens  # shard in which each receptor starts
        start = 0
        for edge in np.flatnonzero(np.diff(number, prepend=last)).tolist():
            yield pa.concat_tables([*waiting, table.slice(start, edge - start)])
            waiting, start = [], edge
        waiting.append(table.slice(start))
        last, done = number[-1], done + int(counts.sum())
    yield pa.concat_tables(waiting)


def equal_length_batches(
    lengths: np.ndarray, tokens_per_batch: int, multiple: int = 1
) -> Iterator[np.ndarray]:
    """
    Yield row numbers of receptors with equally many tokens; exclude receptors that have only ``<cls>``.

    A batch has a multiple of so many receptors, at least one, except for the last of its length.
    """
    order = np.argsort(lengths, kind="stable")
    order = order[np.searchsorted(lengths[order], 2) :]
    breaks = np.flatnonzero(np.diff(lengths[order])) + 1
    for group in np.split(order, breaks):
        if len(group):
            size = max(1, tokens_per_batch // int(lengths[group[0]]) // multiple) * multiple
            yield from (group[start : start + size] for start in range(0, len(group), size))


def _loop_slices(receptors: pa.Table, loops: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a byte buffer, and start and length of ``<cls>`` and each loop in it: (n, 1 + n_loops)."""
    n_receptors = len(receptors)
    starts = np.zeros((n_receptors, 1 + len(loops)), np.int64)
    lengths = np.zeros_like(starts)
    lengths[:, 0] = 1
    buffers = [np.array([_CLS_BYTE], np.uint8)]
    size = 1
    for column, loop in enumerate(loops, start=1):
        locus = {"a": "tra", "b": "trb"}[loop[-1]]
        if loop.startswith("cdr3"):
            strings = receptors[schema.field(locus, "junction_aa")]
        else:
            number = int(loop[3])
            strings = _germline_loop(receptors[schema.field(locus, "v_call")], receptors["species"], number)
        bytes_, loop_starts, loop_lengths = _string_bytes(strings)
        starts[:, column] = loop_starts + size
        lengths[:, column] = loop_lengths
        buffers.append(bytes_)
        size += len(bytes_)
    if lengths.size and lengths.max() >= _INVALID:
        row = int(lengths.max(axis=1).argmax())
        raise ValueError(f"receptor {row} has a loop of {lengths.max()} residues; the maximum is 254")
    return np.concatenate(buffers), starts, lengths


def _germline_loop(v_calls: pa.ChunkedArray, species: pa.ChunkedArray, number: int) -> pa.Array:
    """Return CDR1 (``number`` 1) or CDR2 (2) of every V call; empty if the call is null."""
    calls = pc.binary_join_element_wise(species, v_calls, " ").combine_chunks().dictionary_encode()
    distinct = [
        v_loops(v_call, name)[number - 1]
        for name, v_call in (value.split(" ") for value in calls.dictionary.to_pylist())
    ]
    return pa.array(distinct, pa.large_string()).take(calls.indices)


def _string_bytes(
    strings: pa.Array | pa.ChunkedArray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the bytes of a string column, and start and length of each string; nulls have length 0."""
    if isinstance(strings, pa.ChunkedArray):
        strings = strings.combine_chunks()
    strings = pc.fill_null(strings.cast(pa.large_string()), "")
    _, offsets, data = strings.buffers()
    offsets = np.frombuffer(offsets, np.int64)[strings.offset : strings.offset + len(strings) + 1]
    bytes_ = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return bytes_, offsets[:-1], np.diff(offsets)
