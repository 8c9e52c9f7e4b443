"""Queries of `airrvec find`: a receptor in words, or a table in any format."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from airrvec.core import schema
from airrvec.core.errors import InputError, no_file
from airrvec.input import reading
from airrvec.input.formats import sceptr
from airrvec.input.normalise import Normalised, normalise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

EXAMPLE = "TRAV27 CAGGGSQGNLIF TRAJ42 TRBV19 CASSIRSSYEQYF TRBJ2-7"

_BETWEEN = re.compile(r"[\s,;|·\"']+")
_NOTHING = re.compile(r"none|nan?|null|unknown|no|[-.?]|[\d.]+", re.IGNORECASE)
_GENE = re.compile(r"(?:(?:homsap|human|musmus|mouse|h|m)_?)?TC?R([ABGD])([VDJC])(?=.*\d|$).*", re.IGNORECASE)
_CHAIN = re.compile(r"TC?R(?:([Aa])|([Bb]))|(alpha|[αaA])|(beta|[βbB])", re.IGNORECASE)
_LOCI = {"A": "TRA", "D": "TRA", "B": "TRB"}  # TRDV genes that are known here are α genes too
# How a junction of one chain begins and never, or hardly ever, one of the other.
_SURE = {"TRA": re.compile("CA[VLGMYE]|CI[VL]"), "TRB": re.compile("CASS|CSAR|CAST|CASR|CAWS|CATS|CAIS")}


def read_receptor(text: str) -> dict[str, str]:
    """
    Return the columns of the plain table for a receptor in words.

    Parameters
    ----------
    text : str
        V genes, J genes and junctions of one or both chains, in any order. ``TRA``, ``alpha``, ``TRB`` and
        ``beta`` name a chain without a gene.

    Raises
    ------
    InputError
        If the words are no receptor.
    """
    chains: dict[str, dict[str, str]] = {}  # by locus, in the order of the text
    junctions = []
    for word in filter(None, _BETWEEN.split(text)):
        named = _CHAIN.fullmatch(word)
        gene = _GENE.fullmatch(word)
        if named:
            chains.setdefault("TRA" if named[1] or named[3] else "TRB", {})
        elif gene:
            locus, segment = _LOCI.get(gene[1].upper()), gene[2].upper()
            if locus is None:
                raise _error(f"'{word}' is no gene of an α or β chain", text)
            chain = chains.setdefault(locus, {})
            if segment in "VJ":
                chain.setdefault(f"{segment.lower()}_call", word)
        elif not _NOTHING.fullmatch(word):
            if not word.isalpha() or not word.isascii():
                raise _error(f"'{word}' is no gene and no junction", text)
            junctions.append(word.upper())
    for locus, junction in _assigned(list(chains), junctions, text).items():
        chains.setdefault(locus, {})["junction_aa"] = junction
    return {
        sceptr._CHAINS[locus][name]: value for locus, chain in chains.items() for name, value in chain.items()
    }


def query_table(text: str, species: str) -> pa.Table:
    """Return a receptor in words as the rows of a text file in the format ``sceptr``."""
    columns = dict.fromkeys((*sceptr.LAYOUTS[0], *sceptr.OPTIONAL)) | read_receptor(text)
    table = pa.table({name: pa.array([value], pa.string()) for name, value in columns.items()})
    return table.set_column(
        table.column_names.index("species"), "species", pa.array([species])
    ).append_column("row", pa.array([1], pa.int64()))


def _assigned(loci: list[str], junctions: list[str], text: str) -> dict[str, str]:
    """Return the junction of each locus: in the order of the loci, unless their beginnings tell otherwise."""
    if not junctions:
        raise _error("there is no junction", text)
    if len(junctions) > 2:
        raise _error(f"there are {len(junctions)} junctions, at most two chains have one each", text)
    guessed = [_guess(junction) for junction in junctions]
    loci = list(dict.fromkeys([*loci, *filter(None, guessed)]))
    if not loci:
        raise _error(
            f"{junctions[0]} may be of an α or a β chain: add its V gene, or the word alpha or beta", text
        )
    if len(junctions) == 1:
        if len(loci) == 1:
            return {loci[0]: junctions[0]}
        if guessed[0]:
            return {guessed[0]: junctions[0]}
        raise _error("there is one junction for two chains", text)
    if len(loci) == 1 and guessed[0] == guessed[1] == loci[0]:
        raise _error("both junctions are of the same chain", text)
    if len(loci) == 1:
        loci += [locus for locus in schema.LOCI if locus not in loci]
    if guessed in (loci[::-1], [loci[1], None], [None, loci[0]]):
        junctions = junctions[::-1]
    return dict(zip(loci, junctions, strict=True))


def _guess(junction: str) -> str | None:
    """Return the locus by the beginning of a junction; None if several loci are possible."""
    loci = [locus for locus, pattern in _SURE.items() if pattern.match(junction)]
    return loci[0] if loci else None


def _error(problem: str, text: str) -> InputError:
    return InputError(f"'{text}': {problem}", fix=f"Write a receptor as '{EXAMPLE}', or one of its chains")


# --- Queries of `airrvec find`: a receptor in words, or a table in any format


@dataclass(frozen=True)
class Queries:
    """
    Receptors that are looked for.

    Attributes
    ----------
    names : list of str
        ``cell_id`` of each cell or clonotype of the table, its row if it has none; or the words.
    rows : ndarray of int64
        First row of each in the table.
    receptor : ndarray of int64
        Row of each in ``receptors``.
    receptors : pyarrow.Table
        `airrvec.core.schema.RECEPTORS`, distinct.
    problems : pyarrow.Table
        `airrvec.core.schema.UNANSWERED`: rows, or chains, that could not be read.
    """

    names: list[str]
    rows: np.ndarray
    receptor: np.ndarray
    receptors: pa.Table
    problems: pa.Table


def read_queries(
    query: str, *, species: str, format: str | None = None, column_map: Mapping | None = None
) -> Queries:
    """
    Read queries.

    Parameters
    ----------
    query : str
        Path of a table in any format, or a receptor in words.
    species : str
        Species of rows that name none.
    format, column_map
        Of the table, as for `airrvec.input.reading.open_chains`; detected if not given.

    Raises
    ------
    InputError
        If no receptor can be read.
    """
    if os.path.isfile(query):  # words may be too long for a path, which `Path.is_file` does not bear
        source = reading.open_chains(query, format, column_map)
        return from_normalised(normalise(source, sample_id=Path(query).name, species=species))
    if "/" in query.split()[:1] or Path(query).suffix in (".tsv", ".csv", ".txt", ".gz", ".parquet"):
        raise no_file(query, fix="Give a table, or a receptor in words")
    batch = reading.Batch(reading.chains_of(sceptr, query_table(query, species)), 1, 1, [])
    try:
        result = normalise(reading.Source("words", [], iter([batch])), sample_id="query", species=species)
    except InputError as error:
        raise InputError(f"'{query}' cannot be read: {error.described['problem']}") from error
    return from_normalised(result, name=query)


def from_normalised(result: Normalised, name: str | None = None) -> Queries:
    """Return the receptors of a normalised table as queries; ``name``: of all, in place of their ids."""
    first = result.chains.group_by("cell_row").aggregate([("row", "min")]).sort_by("cell_row")
    rows = first["row_min"].to_numpy()
    cell_ids = result.cells["cell_id"].to_pylist()
    names = [name or cell or f"row {row}" for cell, row in zip(cell_ids, rows.tolist(), strict=True)]
    ids = result.receptors["receptor_id"].combine_chunks()
    receptor = pc.index_in(result.cells["receptor_id"].combine_chunks(), ids).to_numpy()
    rejects = result.rejects
    row_names = pc.binary_join_element_wise("row", rejects["row"].cast(pa.string()), " ")
    problems = pa.table(
        [
            pc.coalesce(rejects["cell_id"], pa.scalar(name, pa.string()), row_names),
            *(rejects[column] for column in ("row", "field", "value", "reason")),
            rejects["row_kept"],
        ],
        schema=schema.UNANSWERED,
    )
    return Queries(names, rows, receptor.astype(np.int64), result.receptors, problems)
