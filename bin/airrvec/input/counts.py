"""Counts of the rows, chains, cells and rejects of one input."""

from collections import Counter
from dataclasses import dataclass, field

from airrvec.core import imgt, schema
from airrvec.core.terminal import counted
from airrvec.input.calls import IS_PSEUDOGENE, LOOPS_UNKNOWN
from airrvec.input.mhc_names import count_unknown_mhc, unknown_mhc_warning
from airrvec.input.pairing import DUPLICATE_ROW, EXTRA_CHAIN, MULTIPLE_CHAINS
from airrvec.input.roles import UnreadValues
from airrvec.input.standardise import OTHER_LOCUS, UNPROVEN_FRAME

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

WARN_ABOVE = 5  # per cent of rows rejected


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
    ``uncounted`` the number of cells without one.
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

    def add_chains(self, chains: pa.Table) -> None:
        """Count the accepted chains of a part, before pairing."""
        uncertain = pc.or_(*(chains[schema.uncertain(name)] for name in ("v_call", "j_call")))
        given = pc.utf8_upper(chains[schema.raw("junction_aa")])
        self.uncertain_calls += pc.sum(uncertain).as_py() or 0
        frames = pc.equal(chains["functionality"], imgt.OPEN_READING_FRAME)
        self.orf_chains += pc.sum(frames).as_py() or 0
        self.mended_junctions += pc.sum(pc.not_equal(given, chains["junction_aa"])).as_py() or 0
        self.built_junctions += pc.sum(chains["from_cdr3"]).as_py() or 0

    def add_part(self, cells: pa.Table, rejects: pa.Table, *, n_rows: int, n_chains: int) -> None:
        """Count the cells and rejects of a part, and the numbers of rows and chains that are kept."""
        self.rows_out += n_rows
        self.rows_of_cells += pc.sum(cells["input_rows"]).as_py() or 0
        self.chains_out += n_chains
        self.cells += len(cells)
        self.abundance += pc.sum(cells["abundance"]).as_py() or 0
        self.uncounted += cells["abundance"].null_count
        self.equal_junctions += pc.sum(cells["equal_junctions"]).as_py() or 0
        self.unknown_mhc += count_unknown_mhc(cells)
        lost = rejects.filter(pc.invert(rejects["row_kept"]))
        self.rows_rejected += pc.count_distinct(lost["row"]).as_py()
        self.species += _value_counts(cells["species"])
        self.pairing += _value_counts(cells["chain_pairing"])
        self.reject_reasons += _value_counts(rejects["reason"])
        other_loci = rejects.filter(pc.equal(rejects["reason"], OTHER_LOCUS))
        self.other_loci += _value_counts(other_loci["value"])
        if self.first_reject is None and len(rejects):
            self.first_reject = rejects.slice(0, 1).to_pylist()[0]

    @property
    def receptors(self) -> int:
        """Number of distinct receptors, by the first 64 bits of their ids."""
        bits = np.sort(np.concatenate([*self.receptor_bits, np.empty(0, np.uint64)]))
        return int(np.count_nonzero(bits[1:] != bits[:-1])) + (len(bits) > 0)

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
        found = self.unread.sentences()
        if self.rows_filled:
            found.append(
                f"{self.rows_filled:,} of {self.rows_in:,} rows have fewer cells than the header;"
                " their missing last cells were read as empty"
            )
        if self.built_junctions:
            n = counted(self.built_junctions, "junction was", "junctions were")
            found.append(f"{n} built from cdr3_aa because junction_aa is empty")
        if self.uncounted:
            n = counted(self.uncounted, "row of cells has", "rows of cells have")
            found.append(
                f"{n} no count; clone sizes, shares, overlap and diversity leave them out (abundance)"
            )
        if self.equal_junctions:
            n = counted(self.equal_junctions, "cell has", "cells have")
            found.append(
                f"{n} the same α and β junction, of which one was copied by mistake; annotation does not use"
                " such receptors as references (equal_junctions)"
            )
        if self.unknown_mhc:
            found.append(unknown_mhc_warning(self.unknown_mhc))
        if self.per_cent_rejected > WARN_ABOVE:
            found.append(f"{self.per_cent_rejected:.1f} % of the rows rejected ({self.main_reasons})")
        return found

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
        }


def no_receptor_message(sample_id: str, counts: Counts) -> str:
    if set(counts.reject_reasons) <= {OTHER_LOCUS}:
        loci = ", ".join(f"{n:,} {locus}" for locus, n in counts.other_loci.most_common(5))
        return (
            f"{sample_id}: none of the {counted(counts.rows_in, 'row')} is an α or β chain of a"
            f" T-cell receptor (loci: {loci}); airrvec reads T-cell receptors, not B-cell receptors"
        )
    first = counts.first_reject
    value = f"{first['field'] or 'row'} '{first['value'] or ''}'"
    return (
        f"{sample_id}: none of the {counted(counts.rows_in, 'row')} could be read as a receptor"
        f" ({counts.main_reasons}; first: row {first['row']}, {value})"
    )


def _value_counts(values: pa.ChunkedArray) -> Counter:
    return Counter({item["values"]: item["counts"] for item in pc.value_counts(values).to_pylist()})
