"""Chains of an input → standardised receptors, cells, and rejects with reasons, in constant memory."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airrvec import schema
from airrvec.errors import InputError
from airrvec.pairing import pair, pairing_words
from airrvec.readers import Batch, Source
from airrvec.standardise import FAILURES, OTHER_LOCUS, standardise

_NO_CHAIN = "the row holds no chain"


@dataclass(frozen=True)
class Normalised:
    """
    What became of an input, or of a part of it.

    Attributes
    ----------
    cells, receptors, rejects : pyarrow.Table
        As in `airrvec.schema`; ``cells`` in the input's order, ``receptors`` distinct.
    counts : dict, optional
        Of a whole input: rows, chains, cells, receptors, and how many of each pairing and reason.
    """

    cells: pa.Table
    receptors: pa.Table
    rejects: pa.Table
    counts: dict | None = None


@dataclass
class Counts:
    """What came in and what became of it; complete when the last part has been made."""

    rows_in: int = 0
    rows_out: int = 0
    rows_rejected: int = 0
    chains_in: int = 0
    chains_out: int = 0
    cells: int = 0
    pairing: Counter = field(default_factory=Counter)
    reject_reasons: Counter = field(default_factory=Counter)
    other_loci: Counter = field(default_factory=Counter)
    first_reject: dict | None = None
    receptor_hashes: list[np.ndarray] = field(default_factory=list)

    @property
    def receptors(self) -> int:
        """Distinct receptors, told by the first 64 bits of their ids."""
        return len(np.unique(np.concatenate(self.receptor_hashes))) if self.receptor_hashes else 0

    def as_dict(self) -> dict:
        """Numbers, and counts from the most frequent down."""
        numbers = {
            name: getattr(self, name)
            for name in (
                "rows_in",
                "rows_out",
                "rows_rejected",
                "chains_in",
                "chains_out",
                "cells",
                "receptors",
            )
        }
        return {
            **numbers,
            "pairing": dict(self.pairing.most_common()),
            "reject_reasons": dict(self.reject_reasons.most_common()),
        }


class Normaliser:
    """
    Standardises and pairs the chains of one input, batch by batch.

    A chain is kept if its locus is TRA or TRB, its junction is valid, and its V and J genes, where
    given, are functional genes of its locus. A row is rejected if none of its chains is kept. Rows
    that stand alone are done with their batch; chains of cells wait for the end, as a cell's rows
    may lie anywhere in the file.

    Parameters
    ----------
    sample_id : str
        Goes into ``cells`` and ``rejects``.
    species : str
        A key of `airrvec.schema.SPECIES`, for rows that name none.
    metadata : dict, optional
        Further columns of ``cells``, each with one value.
    """

    def __init__(self, *, sample_id: str, species: str, metadata: dict[str, str | None] | None = None):
        self.sample_id = sample_id
        self.species = species
        self.metadata = metadata or {}
        self.counts = Counts()

    @property
    def cells_schema(self) -> pa.Schema:
        """`airrvec.schema.CELLS` and the metadata."""
        return pa.schema([*schema.CELLS, *((name, pa.string()) for name in self.metadata)])

    def parts(self, source: Source) -> Iterator[Normalised]:
        """
        The tables of an input, part by part.

        Parameters
        ----------
        source : Source
            From `airrvec.readers.open_chains`.

        Yields
        ------
        Normalised
            Receptors are distinct within a part.

        Raises
        ------
        InputError
            If the input cannot be read, no chain can be kept, or rows are not conserved (which
            would be our fault).
        """
        waiting = []
        for batch in source.batches:
            self.counts.rows_in += batch.n_rows
            self.counts.chains_in += len(batch.chains)
            chains, failures = standardise(batch.chains, self.species)
            failures = pa.concat_tables([failures, *_rows_without_chain(batch)])
            if waiting or pc.count(chains["cell_key"]).as_py():
                waiting.append((chains, failures))
            else:
                yield self._part(chains, failures)
        if waiting:
            yield self._part(*(pa.concat_tables(tables) for tables in zip(*waiting, strict=True)))
        self._check()

    def summary(self, source: Source) -> dict:
        """What came in and what became of it, once all parts have been made; for a JSON file."""
        return {
            "sample_id": self.sample_id,
            "format": source.format,
            **self.counts.as_dict(),
            "warnings": source.warnings,
        }

    def _part(self, chains: pa.Table, failures: pa.Table) -> Normalised:
        cells, extra = pair(chains)
        failures = pa.concat_tables([failures, extra])
        kept_rows = np.unique(cells.pop("rows"))
        receptors, receptor_ids = _receptors(cells)
        n_cells = len(receptor_ids)
        columns = {
            "sample_id": pa.repeat(self.sample_id, n_cells),
            "receptor_id": receptor_ids,
            **cells,
            **{
                name: pa.repeat(pa.scalar(value, pa.string()), n_cells)
                for name, value in self.metadata.items()
            },
        }
        cells = pa.table([columns[name] for name in self.cells_schema.names], schema=self.cells_schema)
        rejects = pa.table(
            {
                "sample_id": pa.repeat(self.sample_id, len(failures)),
                **{name: failures[name] for name in FAILURES.names},
                "row_kept": np.isin(failures["row"].to_numpy(), kept_rows),
            },
            schema=schema.REJECTS,
        ).sort_by("row")
        self._count(cells, receptors, rejects, len(kept_rows), len(chains) - len(extra))
        return Normalised(cells, receptors, rejects)

    def _count(self, cells, receptors, rejects, n_rows: int, n_chains: int) -> None:
        counts = self.counts
        counts.rows_out += n_rows
        counts.chains_out += n_chains
        counts.cells += len(cells)
        lost = rejects.filter(pc.invert(rejects["row_kept"]))
        counts.rows_rejected += pc.count_distinct(lost["row"]).as_py()
        counts.pairing += _value_counts(cells["chain_pairing"])
        counts.reject_reasons += _value_counts(rejects["reason"])
        other_loci = rejects.filter(pc.equal(rejects["reason"], OTHER_LOCUS))
        counts.other_loci += _value_counts(other_loci["value"])
        if counts.first_reject is None and len(rejects):
            counts.first_reject = rejects.slice(0, 1).to_pylist()[0]
        digits = pc.utf8_slice_codeunits(receptors["receptor_id"], 0, 16).to_pylist()
        counts.receptor_hashes.append(np.array([int(digit, 16) for digit in digits], np.uint64))

    def _check(self) -> None:
        counts = self.counts
        if counts.rows_in != counts.rows_out + counts.rows_rejected:
            raise InputError(
                f"{self.sample_id}: {counts.rows_in} rows came in, but {counts.rows_out} were kept and"
                f" {counts.rows_rejected} rejected",
                fix="This is an error of airrvec: please report it with the file",
            )
        if not counts.cells:
            raise InputError(_nothing_kept(self.sample_id, counts))


def normalise(
    source: Source, *, sample_id: str, species: str, metadata: dict[str, str | None] | None = None
) -> Normalised:
    """Standardise and pair all chains of an input, in memory; see `Normaliser`."""
    normaliser = Normaliser(sample_id=sample_id, species=species, metadata=metadata)
    parts = list(normaliser.parts(source))
    receptors = pa.concat_tables([part.receptors for part in parts])
    first = receptors.append_column("n", pa.array(range(len(receptors)))).group_by("receptor_id")
    rows = first.aggregate([("n", "min")])["n_min"].sort()
    return Normalised(
        pa.concat_tables([part.cells for part in parts]),
        receptors.take(rows),
        pa.concat_tables([part.rejects for part in parts]),
        normaliser.summary(source),
    )


def _nothing_kept(sample_id: str, counts: Counts) -> str:
    if set(counts.reject_reasons) <= {OTHER_LOCUS}:
        loci = ", ".join(f"{n} {locus}" for locus, n in counts.other_loci.most_common(5))
        return (
            f"{sample_id}: none of the {counts.rows_in} rows is an α or β chain of a"
            f" T-cell receptor (loci: {loci}); airrvec reads T-cell receptors, not B-cell receptors"
        )
    reasons = "; ".join(f"{n} × {reason}" for reason, n in counts.reject_reasons.most_common(3))
    first = counts.first_reject
    return (
        f"{sample_id}: none of the {counts.rows_in} rows could be read as a receptor"
        f" ({reasons}; first: row {first['row']}, {first['field'] or 'row'} '{first['value'] or ''}')"
    )


def _value_counts(values: pa.ChunkedArray) -> Counter:
    return Counter({item["values"]: item["counts"] for item in pc.value_counts(values).to_pylist()})


def _rows_without_chain(batch: Batch) -> list[pa.Table]:
    """Failures of rows that hold no chain, and of rows that do not fit the header."""
    malformed = [bad.row for bad in batch.malformed]
    seen = np.concatenate([batch.chains["row"].to_numpy(), malformed])
    empty = np.setdiff1d(np.arange(batch.first_row, batch.first_row + batch.n_rows), seen)

    def failures(rows, reasons) -> pa.Table:
        nulls = pa.nulls(len(rows), pa.string())
        return pa.table([pa.array(rows, pa.int64()), nulls, nulls, nulls, reasons], schema=FAILURES)

    return [
        failures(empty, pa.repeat(_NO_CHAIN, len(empty))),
        failures(malformed, pa.array([bad.reason for bad in batch.malformed], pa.string())),
    ]


def _receptors(cells: dict) -> tuple[pa.Table, pa.Array]:
    """Distinct receptors, in order of appearance, and the receptor_id of every cell."""
    fields = ("species", *schema.RECEPTOR_FIELDS)
    # "|" is in no symbol of a gene and no sequence.
    keys = pc.binary_join_element_wise(*(pc.fill_null(cells[name], "") for name in fields), "|")
    keys = (keys.combine_chunks() if isinstance(keys, pa.ChunkedArray) else keys).dictionary_encode()
    distinct = keys.dictionary.to_pylist()
    ids = pa.array([receptor_id(key) for key in distinct], pa.string())
    values = list(zip(*(key.split("|") for key in distinct), strict=True)) or [()] * len(fields)
    columns = [pa.array([value or None for value in column], pa.string()) for column in values]
    junctions = [columns[fields.index(schema.field(locus, "junction_aa"))] for locus in schema.LOCI]
    has_chain = np.stack([pc.is_valid(column).to_numpy(zero_copy_only=False) for column in junctions], axis=1)
    words = pa.array(pairing_words(has_chain.astype(np.int64)), pa.string())
    return pa.table([ids, *columns, words], schema=schema.RECEPTORS), ids.take(keys.indices)


def receptor_id(key: str) -> str:
    """
    Identity of a receptor, equal across runs and machines.

    Parameters
    ----------
    key : str
        Species and the six standardised fields in the order of ``receptors``, joined by ``|``,
        missing ones empty.

    Returns
    -------
    str
        The first 24 hexadecimal digits of the key's SHA-256.
    """
    return hashlib.sha256(key.encode()).hexdigest()[:24]
