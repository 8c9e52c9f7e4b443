"""
Suggested column map for a table of an unknown layout, or whose standard columns contain no receptor.

A column is known by its values: at least half of its distinct ones are V genes, J genes or CDR3s.
"""

import itertools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from airrvec.core import schema
from airrvec.core.errors import InputError
from airrvec.input.calls import read_call
from airrvec.input.files.container import Container
from airrvec.input.formats.column_map import CHAIN_FIELDS, PAIR_FIELDS, MappedColumns
from airrvec.input.formats.registry import FORMATS, shown
from airrvec.input.germline import j_anchors
from airrvec.input.role_names import CELL, COPIES, FLAGS, PRODUCTIVE, READS, SAMPLE, UMIS, spelled
from airrvec.input.standardise import standardise

import pyarrow as pa
import pyarrow.compute as pc

N_ROWS = 200
N_COLUMNS = 400
LEAST_SHARE = 0.5
MOST_CDR3S = 8  # columns

_CDR3 = re.compile("[ACDEFGHIKLMNPQRSTVWY]{5,40}", re.IGNORECASE)
_NUCLEOTIDES = re.compile("[ACGTN]+", re.IGNORECASE)
_CDR3_NAME = re.compile("junction|cdr3", re.IGNORECASE)
_GENE = re.compile("TC?R[ABGD][VJ]", re.IGNORECASE)
# Field of a column map → names of its columns; other fields have their own name.
_NAMES = {
    **{"cell_id": CELL, "repertoire_id": SAMPLE, "umi_count": UMIS, "duplicate_count": (*COPIES, *READS)},
    **FLAGS,
    "productive": (*PRODUCTIVE, "sequence_status", "frame_type"),
    "epitope": ("epitope", "peptide", "epitope_sequence", "antigen_epitope", "epitope_peptide"),
    "mhc_a": ("mhc_a", "mhc", "hla", "mhc_allele", "hla_allele"),
}
# Words of a column's name → its locus; other words tell loci apart if only one V column has them.
_LOCUS_WORDS = {
    **dict.fromkeys(("a", "alpha", "α", "tra", "tcra", "vj"), "TRA"),
    **dict.fromkeys(("b", "beta", "β", "trb", "tcrb", "vdj"), "TRB"),
}
_SEGMENT = re.compile(r"(?<=[abαβ])[vj]$|(?<=^[abαβ])(cdr|junction)$|^[vj](?=[abαβ]$)")  # TRAV, acdr, va


@dataclass(frozen=True)
class Proposal:
    """
    Column map that reads the first rows of a table, or what the table lacks for one.

    Attributes
    ----------
    columns : dict or None
    lacks : tuple of str
        Kinds of columns that no column is.
    has : dict
        Kind → the column that is of this kind.
    undecided : tuple of str
        Columns of CDR3s of which none is known to be that of α.
    """

    columns: dict[str, str] | None = None
    lacks: tuple[str, ...] = ()
    has: Mapping[str, str] = field(default_factory=dict)
    undecided: tuple[str, ...] = ()

    @property
    def words(self) -> str | None:
        """The map as JSON."""
        return json.dumps(self.columns, allow_nan=False, ensure_ascii=False) if self.columns else None

    @property
    def reason(self) -> str:
        """Why there is no map."""
        if self.undecided:
            named = " and ".join(f"'{name}'" for name in self.undecided)
            return (
                f"neither the names nor the values of {named} tell which holds the CDR3s of α, and which"
                " those of β; call the columns cdr3_alpha and cdr3_beta, or give a column map"
            )
        if not self.lacks:
            return "the genes and CDR3s of its first rows are no α or β chains"
        lacking = f"no column holds {' or '.join(self.lacks)} that airrvec can read"
        having = [f"'{name}' holds {kind}" for kind, name in self.has.items()]
        return ", but ".join(part for part in (", ".join(having), lacking) if part)


def suggest_column_map(container: Container, header_rows: int, species: str) -> str | None:
    """Return the column map of `propose`, as JSON; None if there is none."""
    return propose(container, header_rows, species).words


def unknown_layout(path: str | Path, container: Container) -> InputError:
    """Return the error for a table of an unknown layout: the column map that reads it, or what it lacks."""
    proposals = [propose(container, 1, species) for species in schema.SPECIES]
    proposal = next((some for some in proposals if some.columns), proposals[0])
    message = f"its columns ({shown(container.names(), 8)}) match no known format"
    if proposal.columns:
        return InputError(
            message,
            file=path,
            fix=f"This column map reads its first rows: {proposal.words}; give it as --column_map, or in the"
            " column 'column_map' of the samplesheet",
        )
    return InputError(
        f"{message}, and no column map reads it: {proposal.reason}",
        file=path,
        fix=f"Known formats and their columns are in docs/reference/input.md: {', '.join(FORMATS)}",
    )


def propose(container: Container, header_rows: int, species: str) -> Proposal:
    """
    Return the column map that reads the first rows of a table, with one chain per row or both.

    The map is tested on the rows before it is proposed.

    Parameters
    ----------
    container : Container
        Opened table.
    header_rows : int
        Number of header lines of a text.
    species : str
        A key of `airrvec.core.schema.SPECIES`.
    """
    distinct = dict.fromkeys(container.names(header_rows))
    names = [name for name in distinct if name and name != "row"][:N_COLUMNS]
    try:
        table = next(container.batches(names, header_rows)).table.slice(0, N_ROWS)
    except (InputError, StopIteration):
        return Proposal()
    kinds = _kinds(table, names, species)
    if lacks := tuple(kind for kind in ("V genes", "CDR3s") if not kinds[kind]):
        return Proposal(lacks=lacks, has={kind: some[0] for kind, some in kinds.items() if some})
    pair = _pair(table, names, kinds, species)
    if isinstance(pair, Proposal):
        return pair
    for columns in (pair, _chain(names, kinds)):
        if columns and len(standardise(MappedColumns(columns).chains(table), species)[0]):
            return Proposal(columns)
    return Proposal()


def _kinds(table: pa.Table, names: list[str], species: str) -> dict[str, list[str]]:
    """Return the columns that hold V genes, J genes and CDR3s, the likeliest of each first."""
    values = {name: pc.unique(table[name].drop_null()).to_pylist() for name in names}
    shares = {
        "V genes": _shares(values, lambda value: _is_gene(value, "V", species)),
        "J genes": _shares(values, lambda value: _is_gene(value, "J", species)),
        "CDR3s": _shares(values, _is_cdr3),
    }
    return {
        kind: sorted(
            columns, key=lambda name: (kind != "CDR3s" or not _CDR3_NAME.search(name), -columns[name])
        )
        for kind, columns in shares.items()
    }


def _shares(values: dict[str, list[str]], matches) -> dict[str, float]:
    """Return the share of matching values of each column that has enough."""
    shares = {name: sum(map(matches, some)) / len(some) for name, some in values.items() if some}
    return {name: share for name, share in shares.items() if share >= LEAST_SHARE}


def _chain(names: list[str], kinds: dict[str, list[str]]) -> dict[str, str]:
    kind_of = {"v_call": "V genes", "j_call": "J genes", "junction_aa": "CDR3s"}
    columns = {name: kinds[kind][0] for name, kind in kind_of.items() if kinds[kind]}
    return columns | _further_columns(names, CHAIN_FIELDS, columns)


def _pair(
    table: pa.Table, names: list[str], kinds: dict[str, list[str]], species: str
) -> dict[str, str] | Proposal:
    """
    Return the map of a table with both chains per row: V genes by their locus, each with its CDR3s.

    They are known by the words of their names, else by the ends of the J genes, else by their distance. Empty
    without V genes of both loci, or with fewer than two columns of CDR3s; a proposal without a map if two
    assignments are equally good.
    """
    v_calls = _columns_of_loci(table, kinds["V genes"], "V", species)
    if set(v_calls) != set(schema.LOCI) or len(kinds["CDR3s"]) < 2:
        return {}
    j_calls = _columns_of_loci(table, kinds["J genes"], "J", species)
    words = {locus: _words(name) for locus, name in v_calls.items()}
    ends = {locus: _j_ends(locus, species) for locus in schema.LOCI}

    def fit(cdr3s: tuple[str, ...]) -> tuple[float, ...]:
        shared = share = distance = 0
        for cdr3, (locus, other) in zip(cdr3s, itertools.permutations(schema.LOCI), strict=True):
            own, other_words = words[locus] - words[other] | {locus}, words[other] - words[locus] | {other}
            shared += len(_words(cdr3) & own) - len(_words(cdr3) & other_words)
            values = [value.strip().upper() for value in pc.unique(table[cdr3].drop_null()).to_pylist()]
            share += sum(value.endswith(ends[locus]) - value.endswith(ends[other]) for value in values) / len(
                values
            )
            distance += abs(names.index(cdr3) - names.index(v_calls[locus]))
        return shared, round(share, 1), -distance

    named = [name for name in kinds["CDR3s"] if _CDR3_NAME.search(name)]
    candidates = named if len(named) > 1 else kinds["CDR3s"]
    best, second = sorted(itertools.permutations(candidates[:MOST_CDR3S], 2), key=fit, reverse=True)[:2]
    if fit(best) == fit(second):
        return Proposal(undecided=best)
    columns = {}
    for locus, junction in zip(schema.LOCI, best, strict=True):
        chain_columns = {"v_call": v_calls[locus], "j_call": j_calls.get(locus), "junction_aa": junction}
        columns |= {schema.field(locus, name): column for name, column in chain_columns.items() if column}
    return columns | _further_columns(names, PAIR_FIELDS, columns)


def _words(name: str) -> set[str]:
    """Return the words of a column's name; a locus is its own word: ``acdr3`` has TRA, ``v_call_VDJ`` TRB."""
    words = re.findall(r"[A-Z]?[a-zαβ]+|[A-Zαβ]+(?![a-z])|\d+", name)
    words = (_SEGMENT.sub("", word.lower()) for word in words)
    return {_LOCUS_WORDS.get(word, word) for word in words}


def _j_ends(locus: str, species: str) -> tuple[str, ...]:
    """Return the last three residues of the J genes of a locus, with and without the conserved one."""
    anchors = j_anchors(None, locus, species)
    return tuple({end[-3:] for anchor in anchors for end in (anchor.before, anchor.before + anchor.residue)})


def _columns_of_loci(table: pa.Table, columns: list[str], segment: str, species: str) -> dict[str, str]:
    """Return the first column of each locus: that of all genes of a column."""
    first: dict[str, str] = {}
    for name in columns:
        genes = [
            read_call(value, segment, species).symbol
            for value in pc.unique(table[name].drop_null()).to_pylist()
        ]
        loci = {gene[:3] for gene in genes if gene}
        if len(loci) == 1:
            first.setdefault(loci.pop(), name)
    return first


def _further_columns(names: list[str], fields: tuple[str, ...], taken: dict[str, str]) -> dict[str, str]:
    """Return the columns of further fields, by their names."""
    left = [name for name in names if name not in taken.values()]
    spellings = {name: spelled(left, _NAMES.get(name, (name,)))[:1] for name in fields if name not in taken}
    columns = {name: columns[0] for name, columns in spellings.items() if columns}
    if "epitope" not in columns:
        columns.pop("mhc_a", None)  # the HLA of a donor
    return columns


def _is_gene(value: str, segment: str, species: str) -> float:
    """Return 1 for a gene, less for a family, so that a column of genes is preferred."""
    call = read_call(value, segment, species) if _GENE.search(value) else None
    return 0 if call is None or call.symbol is None else 0.9 if call.is_family else 1


def _is_cdr3(value: str) -> bool:
    return bool(_CDR3.fullmatch(value.strip())) and not _NUCLEOTIDES.fullmatch(value.strip())
