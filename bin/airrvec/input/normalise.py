"""
Chains of an input → standardised receptors, cells and rejects with reasons.

Memory is constant unless chains have cell keys.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from airrvec.core import identity, imgt, schema
from airrvec.core.antigens import study_ids
from airrvec.core.errors import InputError, require_choice
from airrvec.core.schema.gamma_delta import NOT_LEARNT
from airrvec.core.terminal import counted, printable
from airrvec.input import species_names
from airrvec.input.calls import IS_PSEUDOGENE, LOOPS_UNKNOWN
from airrvec.input.mhc_names import count_unknown_mhc, unknown_mhc_warning
from airrvec.input.pairing import (
    DUPLICATE_ROW,
    EXTRA_CHAIN,
    MULTIPLE_CHAINS,
    POLICIES,
    cell_numbers,
    chain_pairing_classes,
    pair,
    split_lineages,
    with_cells,
)
from airrvec.input.plausibility import Plausibility, check_cells, check_contigs
from airrvec.input.reading import Batch, Source
from airrvec.input.roles import UnreadValues
from airrvec.input.standardise import FAILURES, NO_T_CELL, OTHER_LOCUS, UNPROVEN_FRAME, standardise
from airrvec.input.units import Unit

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

WARN_ABOVE = 5  # per cent of rows rejected


@dataclass
class GammaDelta:
    """Counts of the γδ cells of one input: their rows, chains, cells, abundance and classes of pairing."""

    rows: int = 0
    chains: int = 0
    cells: int = 0
    abundance: int = 0
    pairing: Counter = field(default_factory=Counter)
    receptor_bits: list[np.ndarray] = field(default_factory=list)

    def add(self, cells: pa.Table, n_rows: int, n_chains: int) -> None:
        """Count the cells of a part, and the numbers of rows and chains that are kept in them."""
        self.rows += n_rows
        self.chains += n_chains
        self.cells += len(cells)
        self.abundance += pc.sum(cells["abundance"]).as_py() or 0
        self.pairing += _value_counts(cells["chain_pairing"])
        self.receptor_bits.append(identity.id_prefixes(pc.unique(cells["receptor_id"])))

    def as_dict(self) -> dict:
        """Return all counts."""
        numbers = {name: getattr(self, name) for name in ("rows", "chains", "cells", "abundance")}
        receptors = _distinct(self.receptor_bits)
        return {**numbers, "receptors": receptors, "pairing": dict(self.pairing.most_common())}


@dataclass
class Counts:
    """
    Counts of one input; complete after the last part.

    ``rows_of_cells`` is the sum of ``input_rows`` over the cells and must equal ``rows_out``.
    ``rows_filled`` counts rows of a text whose missing last cells were read as empty.
    ``uncertain_calls``, ``orf_chains`` (with a gene that is an open reading frame), ``mended_junctions`` and
    ``built_junctions`` (from the field ``cdr3_aa``) count accepted chains before pairing. ``species``,
    ``pairing`` and ``equal_junctions`` count cells, ``unknown_mhc`` the labels whose MHC is no molecule, by
    its text; ``reject_reasons`` and ``other_loci`` count rejects. ``roles`` says what the columns mean,
    ``unread`` which of their values cannot be read. ``abundance`` is the sum over the cells,
    ``uncounted`` the number of cells without one. All of them count αβ cells, and their chains; the rows
    are those of the input, and `GammaDelta` counts the γδ cells.
    """

    rows_in: int = 0
    rows_out: int = 0
    rows_rejected: int = 0
    rows_of_cells: int = 0
    rows_filled: int = 0
    chains_in: int = 0
    chains_out: int = 0
    cells: int = 0
    abundance: int = 0
    uncounted: int = 0
    uncertain_calls: int = 0
    orf_chains: int = 0
    mended_junctions: int = 0
    built_junctions: int = 0
    equal_junctions: int = 0
    species: Counter = field(default_factory=Counter)
    pairing: Counter = field(default_factory=Counter)
    reject_reasons: Counter = field(default_factory=Counter)
    other_loci: Counter = field(default_factory=Counter)
    unknown_mhc: Counter = field(default_factory=Counter)
    roles: str = ""
    unread: UnreadValues = field(default_factory=UnreadValues)
    first_reject: dict | None = None
    receptor_bits: list[np.ndarray] = field(default_factory=list)
    gamma_delta: GammaDelta = field(default_factory=GammaDelta)

    def add_chains(self, chains: pa.Table) -> None:
        """Count the accepted chains of a part, before pairing."""
        uncertain = pc.or_(*(chains[schema.uncertain(name)] for name in ("v_call", "j_call")))
        raw_junctions = pc.utf8_upper(chains[schema.raw("junction_aa")])
        self.uncertain_calls += pc.sum(uncertain).as_py() or 0
        frames = pc.equal(chains["functionality"], imgt.OPEN_READING_FRAME)
        self.orf_chains += pc.sum(frames).as_py() or 0
        self.mended_junctions += pc.sum(pc.not_equal(raw_junctions, chains["junction_aa"])).as_py() or 0
        self.built_junctions += pc.sum(chains["from_cdr3"]).as_py() or 0

    def add_cells(self, cells: pa.Table, *, n_rows: int, n_chains: int) -> None:
        """Count the αβ cells of a part, and the numbers of rows and chains that are kept in them."""
        self.rows_out += n_rows
        self.rows_of_cells += pc.sum(cells["input_rows"]).as_py() or 0
        self.chains_out += n_chains
        self.cells += len(cells)
        self.abundance += pc.sum(cells["abundance"]).as_py() or 0
        self.uncounted += cells["abundance"].null_count
        self.equal_junctions += pc.sum(cells["equal_junctions"]).as_py() or 0
        self.unknown_mhc += count_unknown_mhc(cells)
        self.species += _value_counts(cells["species"])
        self.pairing += _value_counts(cells["chain_pairing"])

    def add_gamma_delta(self, cells: pa.Table, *, n_rows: int, n_chains: int) -> None:
        """Count the γδ cells of a part, and the numbers of rows and chains that are kept in them."""
        self.rows_out += n_rows
        self.rows_of_cells += pc.sum(cells["input_rows"]).as_py() or 0
        self.gamma_delta.add(cells, n_rows, n_chains)

    def add_rejects(self, rejects: pa.Table) -> None:
        """Count the rejects of a part."""
        lost = rejects.filter(pc.invert(rejects["row_kept"]))
        self.rows_rejected += pc.count_distinct(lost["row"]).as_py()
        self.reject_reasons += _value_counts(rejects["reason"])
        other_loci = rejects.filter(pc.is_in(rejects["reason"], pa.array([OTHER_LOCUS, NO_T_CELL])))
        self.other_loci += _value_counts(other_loci["value"])
        if self.first_reject is None and len(rejects):
            self.first_reject = rejects.slice(0, 1).to_pylist()[0]

    @property
    def receptors(self) -> int:
        """Number of distinct receptors, by the first 64 bits of their ids."""
        return _distinct(self.receptor_bits)

    @property
    def per_cent_rejected(self) -> float:
        return 100 * self.rows_rejected / max(self.rows_in, 1)

    @property
    def main_reasons(self) -> str:
        """The three most frequent reject reasons, each with its count."""
        return "; ".join(f"{n} × {reason}" for reason, n in self.reject_reasons.most_common(3))

    @property
    def per_cent_functional(self) -> float:
        """Per cent of chains with functional genes, among valid chains whose genes IMGT lists."""
        unusable = sum(
            n
            for reason, n in self.reject_reasons.items()
            if reason.endswith((IS_PSEUDOGENE, UNPROVEN_FRAME, LOOPS_UNKNOWN))
        )
        excluded = sum(
            self.reject_reasons[reason] for reason in (EXTRA_CHAIN, DUPLICATE_ROW, MULTIPLE_CHAINS)
        )
        listed = self.chains_out + excluded
        return 100 * (listed - self.orf_chains) / max(listed + unusable, 1)

    def warnings(self) -> list[str]:
        """Return a sentence on each kind of row, chain or cell that the user should know of."""
        sentences = self.unread.sentences()
        if self.rows_filled:
            sentences.append(
                f"{self.rows_filled:,} of {self.rows_in:,} rows have fewer cells than the header;"
                " their missing last cells were read as empty"
            )
        if self.built_junctions:
            n = counted(self.built_junctions, "junction was", "junctions were")
            sentences.append(f"{n} built from cdr3_aa because junction_aa is empty")
        if self.uncounted:
            n = counted(self.uncounted, "row of cells has", "rows of cells have")
            sentences.append(
                f"{n} no count; clone sizes, shares, overlap and diversity leave them out (abundance)"
            )
        if self.equal_junctions:
            n = counted(self.equal_junctions, "cell has", "cells have")
            sentences.append(
                f"{n} the same α and β junction, of which one was copied by mistake; annotation does not use"
                " such receptors as references (equal_junctions)"
            )
        if self.unknown_mhc:
            sentences.append(unknown_mhc_warning(self.unknown_mhc))
        if self.gamma_delta.cells:
            n = counted(self.gamma_delta.cells, "γδ cell is", "γδ cells are")
            sentences.append(f"{n} in tables of their own (gamma_delta), without vectors: {NOT_LEARNT}")
        if self.per_cent_rejected > WARN_ABOVE:
            sentences.append(f"{self.per_cent_rejected:.1f} % of the rows rejected ({self.main_reasons})")
        return sentences

    def as_dict(self) -> dict:
        """Return all counts; counters are sorted by frequency, highest first."""
        numbers = {
            name: getattr(self, name)
            for name in (
                "rows_in",
                "rows_out",
                "rows_rejected",
                "rows_filled",
                "chains_in",
                "chains_out",
                "cells",
                "abundance",
                "receptors",
                "uncertain_calls",
                "orf_chains",
                "mended_junctions",
                "built_junctions",
                "equal_junctions",
                "per_cent_functional",
            )
        }
        return {
            **numbers,
            "roles": self.roles,
            "labels_without_molecule": self.unknown_mhc.total(),
            "species": dict(self.species.most_common()),
            "other_loci": dict(self.other_loci.most_common()),
            "pairing": dict(self.pairing.most_common()),
            "reject_reasons": dict(self.reject_reasons.most_common()),
            "gamma_delta": self.gamma_delta.as_dict(),
        }


def no_receptor_message(sample_id: str, counts: Counts) -> str:
    reasons = counts.reject_reasons
    kind = None
    if set(reasons) <= {OTHER_LOCUS}:
        kind = "an α or β chain of a T-cell receptor"
    elif 2 * reasons[NO_T_CELL] > reasons.total():
        kind = "a chain of a T-cell receptor that could be read"
    if kind:
        loci = ", ".join(f"{n:,} {locus}" for locus, n in counts.other_loci.most_common(5))
        return (
            f"{sample_id}: none of the {counted(counts.rows_in, 'row')} is {kind}"
            f" (loci: {loci}); airrvec reads T-cell receptors, not B-cell receptors"
        )
    first = counts.first_reject or {}
    value = f"{first['field'] or 'row'} '{first['value'] or ''}'"
    return (
        f"{sample_id}: none of the {counted(counts.rows_in, 'row')} could be read as a receptor"
        f" ({counts.main_reasons}; first: row {first['row']}, {value})"
    )


def _distinct(bits: list[np.ndarray]) -> int:
    """Return the number of distinct values."""
    values = np.sort(np.concatenate([*bits, np.empty(0, np.uint64)]))
    return int(np.count_nonzero(values[1:] != values[:-1])) + (len(values) > 0)


def _value_counts(values: pa.ChunkedArray) -> Counter:
    return Counter({item["values"]: item["counts"] for item in pc.value_counts(values).to_pylist()})


# --- Chains of an input → standardised receptors, cells and rejects with reasons

TRAINING_SPECIES = "homosapiens"

_NO_CHAIN = "the row holds no chain"


@dataclass(frozen=True)
class Normalised:
    """
    Tables of a normalised input, or of a part of it.

    Attributes
    ----------
    cells, receptors, rejects : pyarrow.Table
        Tables as in `airrvec.core.schema`; ``cells`` in input order, ``receptors`` distinct.
    counts : dict
        Counts of a whole input: rows, chains, cells, receptors, pairing classes and reject reasons. Empty
        for a part.
    chains : pyarrow.Table
        Chains of the cells, with the input's fields that are only kept.
    gamma_delta_cells, gamma_delta_chains : pyarrow.Table
        γδ cells, with the fields of their receptors, and their chains.
    """

    cells: pa.Table
    receptors: pa.Table
    rejects: pa.Table
    counts: dict[str, Any] = field(default_factory=dict)
    chains: pa.Table = field(default_factory=schema.CHAINS.empty_table)
    gamma_delta_cells: pa.Table = field(default_factory=schema.GAMMA_DELTA_CELLS.empty_table)
    gamma_delta_chains: pa.Table = field(default_factory=schema.CHAINS.empty_table)


class _Paired(NamedTuple):
    """Cells of a part and lineage, their receptors and chains, the rows used, and the chains left out."""

    cells: pa.Table
    receptors: pa.Table
    chains: pa.Table
    rows: np.ndarray
    extra: pa.Table


class Normaliser:
    """
    Standardisation and pairing of the chains of one input, batch by batch.

    A chain is kept if its locus is TRA or TRB (with γδ cells TRG or TRD), its junction is valid, and its V
    and J genes, if given, are genes of its locus and no pseudogenes. A row is rejected if none of its chains
    is kept. A batch without cell keys is finished at once. Chains of cells wait for the end of the file,
    because the rows of a cell may be anywhere in it.

    Parameters
    ----------
    sample_id : str
        Name of the sample, written to ``cells`` and ``rejects``.
    species : str
        A key of `airrvec.core.schema.SPECIES`, for rows without a species.
    metadata : dict, optional
        Further columns of ``cells``, one value each.
    max_rejected : float
        Maximum per cent of rejected rows.
    multichain : str
        One of `airrvec.input.pairing.POLICIES`.
    gamma_delta : bool
        Whether γδ cells are read, into tables of their own.
    """

    def __init__(
        self,
        *,
        sample_id: str,
        species: str,
        metadata: dict[str, str | None] | None = None,
        max_rejected: float = 100,
        multichain: str = "top",
        gamma_delta: bool = False,
    ):
        require_choice("species", species, schema.SPECIES)
        require_choice("multichain", multichain, POLICIES)
        self.sample_id = sample_id
        self.species = species
        self.metadata = metadata or {}
        self.max_rejected = max_rejected
        self.multichain = multichain
        self.gamma_delta = gamma_delta
        self.counts = Counts()
        self.unit: Unit | None = None  # until a chain is kept
        self.plausibility = Plausibility()
        self._evidence = species_names.VGeneCounts(species)

    @property
    def cells_schema(self) -> pa.Schema:
        """`airrvec.core.schema.CELLS` and the metadata columns."""
        return self._with_metadata(schema.CELLS)

    @property
    def gamma_delta_schema(self) -> pa.Schema:
        """`airrvec.core.schema.GAMMA_DELTA_CELLS` and the metadata columns."""
        return self._with_metadata(schema.GAMMA_DELTA_CELLS)

    def _with_metadata(self, columns: pa.Schema) -> pa.Schema:
        return pa.schema([*columns, *((name, pa.string()) for name in self.metadata)])

    def parts(self, source: Source) -> Iterator[Normalised]:
        """
        Yield the tables of an input, part by part.

        Parameters
        ----------
        source : Source
            From `airrvec.input.reading.open_chains`.

        Yields
        ------
        Normalised
            Receptors are distinct within a part.

        Raises
        ------
        InputError
            If the input cannot be read, no chain is kept, most V genes are of another species, more rows
            are rejected than allowed, or row counts do not add up (a bug in airrvec).
        """
        waiting = []
        for batch in source.batches:
            self.counts.rows_in += batch.n_rows
            self.counts.rows_filled += batch.n_filled
            self.counts.chains_in += len(batch.chains)
            self.counts.roles = batch.roles.described
            self.counts.unread.add(batch.unread)
            self.plausibility.add_batch(batch)
            self._evidence.add(batch.chains)
            chains, failures = standardise(batch.chains, self.species, gamma_delta=self.gamma_delta)
            failures = pa.concat_tables([failures, *_rows_without_chain(batch)])
            if self.unit is None and len(chains):
                alpha_beta = chains.filter(pc.is_in(chains["locus"], pa.array(schema.LOCI)))
                self.unit = batch.unit(alpha_beta if len(alpha_beta) else chains)
            chains = self.unit.counted(chains) if self.unit else chains
            if waiting or pc.count(chains["cell_key"]).as_py():
                waiting.append((chains, failures))
            else:
                yield self._part(chains, failures)
        if waiting:
            yield self._part(*(pa.concat_tables(tables) for tables in zip(*waiting, strict=True)))
        self._check(source)

    def summary(self, source: Source) -> dict:
        """Return counts and warnings for a JSON file; call it after the last part."""
        told = (*self.doubts, *source.warnings, *self.counts.warnings(), *self._other_species())
        return {
            "sample_id": self.sample_id,
            "format": source.format,
            **(self.unit or Unit()).words,
            **self.counts.as_dict(),
            "warnings": [printable(sentence) for sentence in told],
        }

    @property
    def doubts(self) -> list[str]:
        """Signs that the table was read in a wrong format or unit, each with a remedy."""
        contradiction = self.contradiction
        species = [f"{contradiction.sentence}. {contradiction.fix}"] if contradiction else []
        return [*self.plausibility.sentences(self.counts.pairing), *species]

    @property
    def contradiction(self) -> species_names.SpeciesConflict | None:
        """Conflict between the V genes and the given species, or None."""
        return self._evidence.contradiction()

    def _other_species(self) -> list[str]:
        if self.contradiction:
            return []
        cells, species = self.counts.cells, self.counts.species
        warnings = []
        if self.species != TRAINING_SPECIES and species[self.species] < cells:
            warnings.append(
                f"{cells - species[self.species]:,} of {cells:,} cells are not {self.species}:"
                " their rows name another species"
            )
        if species[TRAINING_SPECIES] < cells:
            warnings.append(
                f"{cells - species[TRAINING_SPECIES]:,} of {cells:,} cells are not human;"
                " the published models were trained on human receptors only"
            )
        return warnings

    def _part(self, chains: pa.Table, failures: pa.Table) -> Normalised:
        split, misplaced = split_lineages(chains)
        chains = split[schema.ALPHA_BETA]
        self.counts.add_chains(chains)
        for part in split.values():
            check_contigs(self.sample_id, part)
            if self.unit and self.unit.row == "cell":
                check_cells(self.sample_id, part)
        cell = cell_numbers(chains)
        self.plausibility.add_chains(chains, cell)
        made = self._paired(chains, cell, schema.ALPHA_BETA)
        parts = [made]
        self.counts.receptor_bits.append(identity.id_prefixes(made.receptors["receptor_id"]))
        # Rows of cells repeat where a clone has expanded.
        if self.unit and self.unit.row != "cell" and not pc.count(chains["cell_key"]).as_py():
            self.plausibility.add_cells(made.cells)
        cell_chains = with_cells(made.chains, made.cells, self.counts.cells)
        self.counts.add_cells(made.cells, n_rows=len(made.rows), n_chains=len(chains) - len(made.extra))
        gamma_delta = {}
        if len(chains := split.get(schema.GAMMA_DELTA, [])):
            parts.append(self._paired(chains, cell_numbers(chains), schema.GAMMA_DELTA))
            gamma_delta = self._gamma_delta(parts[-1], n_chains=len(chains) - len(parts[-1].extra))
        failures = pa.concat_tables([failures, *(part.extra for part in parts), misplaced])
        kept_rows = np.concatenate([part.rows for part in parts])
        rejects = pa.table(
            {
                "sample_id": pa.repeat(self.sample_id, len(failures)),
                **{name: failures[name] for name in FAILURES.names},
                "row_kept": np.isin(failures["row"].to_numpy(), kept_rows),
            },
            schema=schema.REJECTS,
        ).sort_by("row")
        self.counts.add_rejects(rejects)
        return Normalised(made.cells, made.receptors, rejects, chains=cell_chains, **gamma_delta)

    def _gamma_delta(self, made: _Paired, *, n_chains: int) -> dict[str, pa.Table]:
        """Count γδ cells; return their tables."""
        chains = with_cells(made.chains, made.cells, self.counts.gamma_delta.cells)
        self.counts.add_gamma_delta(made.cells, n_rows=len(made.rows), n_chains=n_chains)
        return {"gamma_delta_cells": made.cells, "gamma_delta_chains": chains}

    def _paired(self, chains: pa.Table, cell: np.ndarray, lineage: schema.Lineage) -> _Paired:
        """Return the cells of a part, all of one lineage."""
        cells, extra = pair(chains, cell, self.multichain, lineage)
        kept_rows, cell_chains = cells.pop("rows"), cells.pop("chains")
        receptors, receptor_of_cell = _receptors(cells, lineage)
        n_cells, unit = len(receptor_of_cell), self.unit or Unit()
        columns = {
            "sample_id": pa.repeat(self.sample_id, n_cells),
            **{name: receptors[name].take(receptor_of_cell) for name in ("receptor_id", "clonotype_id")},
            **cells,
            "abundance": unit.abundances(cells, n_cells),
            "count_unit": pa.repeat(unit.count, n_cells),
            "reference_id": study_ids(cells["reference_id"]),
            **{
                name: pa.repeat(pa.scalar(value, pa.string()), n_cells)
                for name, value in self.metadata.items()
            },
        }
        columns_of_cells = self.cells_schema if lineage == schema.ALPHA_BETA else self.gamma_delta_schema
        table = pa.table([columns[name] for name in columns_of_cells.names], schema=columns_of_cells)
        return _Paired(table, receptors, cell_chains, kept_rows, extra)

    def _check(self, source: Source) -> None:
        counts = self.counts
        counts.unread.check(self.sample_id)
        if not counts.rows_in - counts.rows_rejected == counts.rows_out == counts.rows_of_cells:
            raise InputError(
                f"{self.sample_id}: {counts.rows_in} rows were read, but {counts.rows_out} were kept,"
                f" {counts.rows_of_cells} are in cells and {counts.rows_rejected} rejected",
                fix="This is a bug in airrvec: please report it with the file",
            )
        contradiction = self.contradiction
        if contradiction and contradiction.is_sure:
            raise InputError(f"{self.sample_id}: {contradiction.sentence}", fix=contradiction.fix)
        if not counts.cells and not counts.gamma_delta.cells:
            columns = source.suggest(self.species)
            raise InputError(
                no_receptor_message(self.sample_id, counts),
                fix=columns and f"Other columns contain receptors: try the column map {columns}",
            )
        if counts.per_cent_rejected > self.max_rejected:
            raise InputError(
                f"{self.sample_id}: {counts.per_cent_rejected:.1f} % of the rows were rejected, more than"
                f" the {self.max_rejected:g} % that --max_rejected allows ({counts.main_reasons})"
            )


def normalise(source: Source, **settings) -> Normalised:
    """Standardise and pair all chains of an input in memory; ``settings`` as in `Normaliser`."""
    normaliser = Normaliser(**settings)
    parts = list(normaliser.parts(source))
    receptors = pa.concat_tables([part.receptors for part in parts])
    first = receptors.append_column("n", pa.array(range(len(receptors)))).group_by("receptor_id")
    rows = first.aggregate([("n", "min")])["n_min"].sort()
    return Normalised(
        pa.concat_tables([part.cells for part in parts]),
        receptors.take(rows),
        pa.concat_tables([part.rejects for part in parts]),
        normaliser.summary(source),
        pa.concat_tables([part.chains for part in parts]),
    )


def _rows_without_chain(batch: Batch) -> list[pa.Table]:
    """Return the failures of rows without a chain, and of malformed rows."""
    malformed = np.array([bad.row for bad in batch.malformed], np.int64)
    seen = np.zeros(batch.n_rows, bool)
    seen[batch.chains["row"].to_numpy() - batch.first_row] = True
    seen[malformed - batch.first_row] = True
    empty = np.flatnonzero(~seen) + batch.first_row

    def failures(rows, reasons) -> pa.Table:
        nulls = pa.nulls(len(rows), pa.string())
        return pa.table([pa.array(rows, pa.int64()), nulls, nulls, nulls, reasons], schema=FAILURES)

    return [
        failures(empty, pa.repeat(_NO_CHAIN, len(empty))),
        failures(malformed, pa.array([bad.reason for bad in batch.malformed], pa.string())),
    ]


def _receptors(cells: dict, lineage: schema.Lineage) -> tuple[pa.Table, pa.Array]:
    """Return the distinct receptors in order of appearance, and the receptor row of each cell."""
    keys = identity.receptor_keys(cells, lineage).dictionary_encode()
    number = keys.indices.to_numpy(zero_copy_only=False)
    first = np.flatnonzero(np.diff(np.maximum.accumulate(number), prepend=-1))  # numbers rise as they appear
    fields = ("species", *lineage.receptor_fields)
    distinct = pa.table([cells[name] for name in fields], names=fields).take(pa.array(first))
    junctions = [distinct[schema.field(locus, "junction_aa")] for locus in lineage.loci]
    has_chain = np.stack([pc.is_valid(column).to_numpy() for column in junctions], axis=1)
    words = chain_pairing_classes(has_chain.astype(np.int64))
    return identity.receptors_table(distinct, words, lineage), keys.indices
