"""Checks of a table: signs that it was read in a wrong format or unit."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from airrvec.core import identity, schema
from airrvec.core.errors import InputError
from airrvec.core.terminal import counted
from airrvec.input.reading import REPEATED_HEADER, Batch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_CONTENT = ("locus", *schema.CHAIN_FIELDS)
# Chains of a cell, which expresses up to two α and two β chains; a droplet with ambient RNA has some more.
MOST_CHAINS = 20
MOST_OF_LOCUS = 2  # chains of one locus; in few cells there are more
# Share of the pairs. Expanded clones repeat, too; in a table with a row per program or assay most pairs do.
MOST_REPEATS = 0.1
_PAIR = ("receptor_id", "cell_id", *schema.LABELS)
FEWEST_CELLS = 3  # with one count for both chains, by chance in fewer
N_NAMES = 1_000
_CLONE_NAME = r"(?i)^(raw_)?clon(e|otype)?(_id)?[ _-]?[0-9]+$"
_BARCODE = r"[ACGTN]{10,}"


_JOINED = "; tables of several lanes or samples were joined, in which other cells have the same name"
_SEPARATE = "Give each table as a sample of its own, or add a column 'sample_id' that tells them apart"


@dataclass
class Plausibility:
    """
    Signs, in the parts of a table, that it was read in a wrong format or unit.

    Attributes
    ----------
    cell : str or None
        Column of the names of cells.
    headers : list of int
        Rows that repeat the header.
    has_pairs_in_rows : bool
        Whether a row has both chains.
    crowded : int
        Number of cells with more than `MOST_CHAINS` chains.
    most_crowded : tuple
        Number of chains, and the name, of the largest cell.
    cells, full : int
        Number of cells with a name, and of those with more than `MOST_OF_LOCUS` chains of a locus.
    named, clones, barcodes : int
        Of the first `N_NAMES` names of cells in each part, their number, and how many name clonotypes or
        hold a barcode.
    pairs : list of ndarray
        Hash of each row with both chains and no name of a cell, by part; equal rows have one hash.
    counted_cells, equal_counts : int
        Number of cells with a count above 1 in several chains, and of those with one count for all chains.
    counts : set of int
        Some of these counts; of clonotypes there are several.
    count : str or None
        Column of these counts, if they are copies; reads and UMIs are no numbers of cells.
    unused : dict
        As in `airrvec.input.roles.Roles`.
    """

    cell: str | None = None
    headers: list[int] = field(default_factory=list)
    has_pairs_in_rows: bool = False
    crowded: int = 0
    most_crowded: tuple[int, str] = (0, "")
    cells: int = 0
    full: int = 0
    named: int = 0
    clones: int = 0
    barcodes: int = 0
    pairs: list[np.ndarray] = field(default_factory=list)
    counted_cells: int = 0
    equal_counts: int = 0
    counts: set[int] = field(default_factory=set)
    count: str | None = None
    unused: Mapping[str, str] = field(default_factory=dict)

    def add_batch(self, batch: Batch) -> None:
        """Add the rows and chains of a batch, as read."""
        roles = batch.roles
        self.cell, self.unused = roles.cell, roles.unused
        is_copies = roles.units.get("duplicate_count") == "copies"
        self.count = roles.counts.get("duplicate_count") if is_copies else None
        self.headers += [bad.row for bad in batch.malformed if bad.reason == REPEATED_HEADER]
        rows = batch.chains["row"].to_numpy()
        self.has_pairs_in_rows = self.has_pairs_in_rows or bool((rows[1:] == rows[:-1]).any())

    def add_chains(self, chains: pa.Table, cell: np.ndarray) -> None:
        """
        Add the valid chains of a part; the chains of a cell are in one part.

        Parameters
        ----------
        chains : pyarrow.Table
            Standardised chains.
        cell : (n,) ndarray
            As from `airrvec.input.pairing.cell_numbers`.
        """
        keyed = chains.select(["cell_key", "cell_id", "locus", "duplicate_count"])
        if keyed["cell_key"].null_count:
            has_key = pc.is_valid(keyed["cell_key"])
            keyed, cell = keyed.filter(has_key), cell[has_key.to_numpy()]
        if not len(keyed):
            return
        place = 2 * cell + pc.equal(keyed["locus"], schema.LOCI[1]).to_numpy()
        chains_per_locus = np.bincount(place, minlength=2 * cell.max() + 2).reshape(-1, 2)
        sizes = chains_per_locus.sum(axis=1)
        self.cells += np.count_nonzero(sizes)
        self.full += np.count_nonzero((chains_per_locus > MOST_OF_LOCUS).any(axis=1))
        self.crowded += np.count_nonzero(sizes > MOST_CHAINS)
        if sizes.max() > MOST_CHAINS:
            first = int(np.argmax(cell == np.argmax(sizes)))
            self.most_crowded = max(self.most_crowded, (int(sizes.max()), keyed["cell_id"][first].as_py()))
        names = pc.unique(keyed["cell_key"].filter(pa.array(cell < cell.min() + N_NAMES)))
        self.named += len(names)
        self.clones += pc.sum(pc.match_substring_regex(names, _CLONE_NAME)).as_py() or 0
        self.barcodes += pc.sum(pc.match_substring_regex(names, _BARCODE)).as_py() or 0
        if self.count is not None:
            self._add_counts(keyed)

    def _add_counts(self, keyed: pa.Table) -> None:
        counts = [("duplicate_count", how) for how in ("min", "max", "count")]
        cells = keyed.group_by("cell_key").aggregate(counts)
        several = pc.and_(
            pc.greater(cells["duplicate_count_count"], 1), pc.greater(cells["duplicate_count_max"], 1)
        )
        equal = pc.equal(cells["duplicate_count_min"], cells["duplicate_count_max"])
        self.counted_cells += pc.sum(several).as_py() or 0
        self.counts |= {*pc.unique(cells["duplicate_count_max"].filter(several)).to_pylist()[:2]}
        self.equal_counts += pc.sum(pc.and_(several, equal)).as_py() or 0

    def add_cells(self, cells: pa.Table) -> None:
        """Add the cells of a part in which no row names its cell."""
        paired = cells.filter(pc.equal(cells["chain_pairing"], schema.SINGLE_PAIR))
        texts = [pc.fill_null(paired[name], "") for name in _PAIR]
        keys = pc.binary_join_element_wise(*texts, "\0").combine_chunks()
        self.pairs.append(identity.id_prefixes(identity.digests(keys)))

    def sentences(self, pairing: dict[str, int]) -> list[str]:
        """
        Return a sentence on each sign, with what to do.

        Parameters
        ----------
        pairing : dict
            Class of pairing → number of cells.
        """
        signs = (self._no_pair(pairing), self._crowd(), self._headers(), self._repeats(), self._clonotypes())
        unread = [
            f"the column '{name}' is not read, though its name is that of {role}; name it in a column map"
            for name, role in self.unused.items()
        ]
        return [*unread, *(sign for sign in signs if sign)]

    def _no_pair(self, pairing: dict[str, int]) -> str | None:
        has_both = pairing.get(schema.ORPHAN_VJ) and pairing.get(schema.ORPHAN_VDJ)
        further = set(pairing) - {schema.ORPHAN_VJ, schema.ORPHAN_VDJ}
        if not has_both or further or self.has_pairs_in_rows:
            return None
        if self.cell is None:
            return (
                "α and β chains, and no pair: no column names the cells; if the table is of single cells,"
                " call the column of their names cell_id, or name it in a column map"
            )
        return (
            f"α and β chains, and no pair: no name in '{self.cell}' is that of an α and of a β chain; write"
            " the names of the cells alike for both, or name another column in a column map"
        )

    def _crowd(self) -> str | None:
        if not self.crowded and 2 * self.full > self.cells:
            return (
                f"most cells have more than {MOST_OF_LOCUS} α or β chains ({self.full:,} of {self.cells:,}),"
                f" so '{self.cell}' hardly names cells; name the column that does in a column map"
            )
        if not self.crowded:
            return None
        n, name = self.most_crowded
        return (
            f"{counted(self.crowded, 'cell has', 'cells have')} more than {MOST_CHAINS} chains (most:"
            f" '{name}', {n:,}), so '{self.cell}' hardly names cells; name the column that does in a"
            " column map"
        )

    def _headers(self) -> str | None:
        if not self.headers:
            return None
        rows = f"row {self.headers[0]} repeats the header"
        if len(self.headers) > 1:
            rows += f", and so do {len(self.headers) - 1:,} others"
        return f"{rows}: tables were joined; give each as a sample of its own"

    def _repeats(self) -> str | None:
        n_pairs = sum(map(len, self.pairs))
        n_repeats = n_pairs - len(np.unique(np.concatenate([*self.pairs, np.empty(0, np.uint64)])))
        if n_repeats <= MOST_REPEATS * n_pairs:
            return None
        return (
            f"{n_repeats:,} of {counted(n_pairs, 'pair')} repeat another row, and each counts as a"
            " cell; if a pair has a row for each program or assay that found it, remove the repeats"
        )

    def _clonotypes(self) -> str | None:
        fix = "write clonotype in the column row_unit of the samplesheet"
        if self.named and self.clones == self.named:
            return f"the names of cells in '{self.cell}' are those of clonotypes; if its rows are, {fix}"
        if self.counted_cells < FEWEST_CELLS or self.equal_counts < self.counted_cells:
            return None
        if self.barcodes or len(self.counts) < 2:
            return None
        return (
            f"all chains of a cell have one count in '{self.count}', as those of a clonotype have; if"
            f" '{self.cell}' names clonotypes, {fix}"
        )


def check_cells(sample_id: str, chains: pa.Table) -> None:
    """
    Raise if a table with a cell per row has two rows of one cell with other chains.

    Parameters
    ----------
    sample_id : str
    chains : pyarrow.Table
        As in `check_contigs`.
    """
    keyed = chains.filter(pc.is_valid(chains["cell_key"]))
    rows = keyed.group_by(["cell_key", "row"]).aggregate([]).group_by("cell_key")
    rows = rows.aggregate([([], "count_all"), ("row", "min"), ("row", "max")])
    rows = rows.filter(pc.greater(rows["count_all"], 1))
    if not len(rows):
        return
    contents = keyed.filter(pc.is_in(keyed["cell_key"], rows["cell_key"]))
    contents = contents.group_by(["cell_key", "row", *_CONTENT]).aggregate([("cell_id", "min")])
    once = contents.group_by(["cell_key", *_CONTENT]).aggregate([([], "count_all"), ("cell_id_min", "min")])
    once = once.append_column("rows", rows["count_all"].take(pc.index_in(once["cell_key"], rows["cell_key"])))
    other = once.filter(pc.less(once["count_all"], once["rows"]))
    if len(other):
        first = other.slice(0, 1).to_pylist()[0]
        first_rows = rows.filter(pc.equal(rows["cell_key"], first["cell_key"])).to_pylist()[0]
        n = pc.count_distinct(other["cell_key"]).as_py()
        raise InputError(
            f"{sample_id}: cell '{first['cell_id_min_min']}' has other chains in row {first_rows['row_max']}"
            f" than in row {first_rows['row_min']}"
            + (f", and so have {n - 1:,} further cells" if n > 1 else "")
            + _JOINED,
            fix=_SEPARATE,
        )


def check_contigs(sample_id: str, chains: pa.Table) -> None:
    """
    Raise if a contig of a cell occurs twice with two contents: tables of two lanes that were joined.

    Parameters
    ----------
    sample_id : str
    chains : pyarrow.Table
        Chains with ``row``, ``cell_key``, ``chain_key`` and the fields of a chain.
    """
    if chains["cell_key"].null_count == len(chains):
        return
    if pc.count_distinct(chains["chain_key"]).as_py() + chains["chain_key"].null_count == len(chains):
        return
    keyed = chains.filter(pc.and_(pc.is_valid(chains["cell_key"]), pc.is_valid(chains["chain_key"])))
    names = ("cell_key", "chain_key")
    if len(keyed) == len(keyed.select(names).group_by(list(names)).aggregate([])):
        return
    contents = keyed.group_by([*names, *_CONTENT]).aggregate([("row", "min"), ("cell_id", "min")])
    contigs = contents.group_by(list(names)).aggregate(
        [("row_min", "min"), ("row_min", "max"), ("row_min", "count"), ("cell_id_min", "min")]
    )
    two = contigs.filter(
        pc.and_(
            pc.greater(contigs["row_min_count"], 1),
            pc.not_equal(contigs["row_min_min"], contigs["row_min_max"]),
        )
    )
    if len(two):
        first = two.sort_by("row_min_min").slice(0, 1).to_pylist()[0]
        contig = f"'{first['chain_key']}' of cell '{first['cell_id_min_min']}'"
        raise InputError(
            f"{sample_id}: {contig} is another chain in row {first['row_min_max']} than in row"
            f" {first['row_min_min']}"
            + (f", and so are {len(two) - 1:,} further contigs" if len(two) > 1 else "")
            + _JOINED,
            fix=_SEPARATE,
        )
