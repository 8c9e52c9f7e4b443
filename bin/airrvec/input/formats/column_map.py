"""A table of any layout, whose columns the user names."""

import difflib
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from airrvec.core import schema
from airrvec.core.errors import InputError
from airrvec.core.json_files import read_object
from airrvec.input.files.container import NULLS
from airrvec.input.formats.chains import booleans, cell_keys, chain_table, chains_of_pairs, column, counts

_EXAMPLE = 'It gives our fields the names of columns, e.g. {"v_call": "V", "junction_aa": "CDR3"}'
_OF_ROW = ("cell_id", "species", "duplicate_count", *schema.LABELS)
CHAIN_FIELDS = (
    *schema.CHAIN_FIELDS,
    "locus",
    "productive",
    "is_cell",
    "umi_count",
    "repertoire_id",
    *_OF_ROW,
)
PAIR_FIELDS = (*schema.RECEPTOR_FIELDS, *_OF_ROW)
# In a column map: column → the value, or list of values, that a row must have.
ONLY = "only"


def read_column_map(path: str | Path) -> dict:
    """
    Read a column map: a JSON object, our field → the table's column; and `ONLY`, if rows are chosen.

    Raises
    ------
    InputError
        If the file is no such object, or as `check_column_map`.
    """
    columns = read_object(path, "the column map", _EXAMPLE)
    check_column_map(columns, path)
    return columns


def check_column_map(columns: dict, file: str | Path | None = None) -> None:
    """
    Check that a column map describes chains, or pairs of them.

    Parameters
    ----------
    columns : dict
        Our field → the table's column. The fields are those of `CHAIN_FIELDS`, where a row is one chain,
        or of `PAIR_FIELDS`, where it holds both. A table's column without a name is "". `ONLY` may be there.
    file : str or Path, optional
        Where the map is from.

    Raises
    ------
    InputError
        If a field is unknown, fields of both kinds are mixed, or no junction is among them.
    """
    if isinstance(columns, dict) and ONLY in columns:
        _check_only(columns[ONLY], file)
        columns = {field: name for field, name in columns.items() if field != ONLY}
    if not isinstance(columns, dict) or not all(isinstance(name, str) for name in columns.values()):
        raise InputError(
            "the column map is no JSON object of words",
            file=file,
            fix=_EXAMPLE,
        )
    known = tuple(dict.fromkeys((*CHAIN_FIELDS, *PAIR_FIELDS)))
    for field, name in columns.items():
        if field not in known:
            near = difflib.get_close_matches(field, known, 3, cutoff=0.4)
            raise InputError(
                f"the column map names '{field}', which is no field of airrvec",
                file=file,
                fix=f"Nearest are {', '.join(near)}" if near else f"The fields are {', '.join(known)}",
            )
        if name == "row":
            raise InputError(
                f"the column map gives '{field}' the column 'row', a name that airrvec uses itself",
                file=file,
                fix="Give the table's column another name",
            )
    of_chain, of_pair = (
        [field for field in columns if field not in others] for others in (PAIR_FIELDS, CHAIN_FIELDS)
    )
    if of_chain and of_pair:
        raise InputError(
            f"the column map mixes '{of_chain[0]}', of one chain in a row, with '{of_pair[0]}', of both",
            file=file,
            fix=f"Give the fields of one kind: of a chain {', '.join(CHAIN_FIELDS)};"
            f" of both {', '.join(PAIR_FIELDS)}",
        )
    if not any(field.endswith("junction_aa") for field in columns):
        raise InputError(
            "the column map gives no junction",
            file=file,
            fix="Give the column of junction_aa, or of tra_junction_aa, trb_junction_aa or both",
        )


def _check_only(only, file) -> None:
    values = only.values() if isinstance(only, dict) else [None]
    of_rows = [value for given in values for value in (given if isinstance(given, list) else [given])]
    if not of_rows or not all(isinstance(value, str | int | float) for value in of_rows):
        raise InputError(
            f"'{ONLY}' of the column map is no JSON object of columns and values",
            file=file,
            fix=f'It gives values of rows to read, e.g. "{ONLY}": {{"Label": 1, "Chain": ["TRA", "TRB"]}}',
        )
    if "row" in only:
        raise InputError(
            "the column map chooses rows by the column 'row', a name that airrvec uses itself",
            file=file,
            fix="Give the table's column another name",
        )


class MappedColumns:
    """
    The reader that a column map describes.

    Parameters
    ----------
    columns : dict
        As in `check_column_map`.
    """

    NAME = "columns"
    TITLE = "Table with a column map"
    DELIMITER = None
    OPTIONAL = ()

    def __init__(self, columns: dict[str, str]):
        check_column_map(columns)
        self._only = columns.get(ONLY, {})
        self._columns = columns = {field: name for field, name in columns.items() if field != ONLY}
        self.LAYOUTS = (tuple(dict.fromkeys([*columns.values(), *self._only])),)
        self.NEEDED = (tuple(name for field, name in columns.items() if field.endswith(schema.CHAIN_FIELDS)),)

    def is_read(self, table: pa.Table) -> pa.ChunkedArray:
        """Whether the map chooses a row, by the values of its columns."""
        chosen = pa.chunked_array([pa.repeat(True, len(table))])
        for name, given in self._only.items():
            values = given if isinstance(given, list) else [given]
            words = pa.array([word for value in values for word in _spellings(value)])
            chosen = pc.and_(chosen, pc.is_in(_whole(pc.fill_null(column(table, name), "")), words))
        return chosen

    def chains(self, table: pa.Table) -> pa.Table:
        """One chain a row, or both; chains of one ``cell_id`` and ``repertoire_id`` are one cell."""
        labels = {label: self._columns[label] for label in schema.LABELS if label in self._columns}
        if "junction_aa" not in self._columns:
            return self._pairs(table, labels)

        def of(field: str) -> pa.ChunkedArray:
            return column(table, self._columns.get(field))

        return chain_table(
            row=table["row"],
            cell_key=cell_keys(table, of("cell_id"), (self._columns.get("repertoire_id"),)),
            **{name: of(name) for name in ("cell_id", "species", "locus", *schema.CHAIN_FIELDS)},
            **{name: booleans(of(name)) for name in ("productive", "is_cell")},
            **{name: counts(of(name)) for name in ("duplicate_count", "umi_count")},
            **{label: of(label) for label in labels},
        )

    def _pairs(self, table: pa.Table, labels: dict[str, str]) -> pa.Table:
        chain_columns = {
            locus: {name: self._columns.get(schema.field(locus, name)) for name in schema.CHAIN_FIELDS}
            for locus in schema.LOCI
        }
        return chains_of_pairs(
            table,
            chain_columns,
            cell_id=self._columns.get("cell_id"),
            species=self._columns.get("species"),
            duplicate_count=self._columns.get("duplicate_count"),
            labels=labels,
        )


def _spellings(value) -> list[str]:
    """How a table may spell a value of a column map: 1 as 1.0, true as True, missing as nothing."""
    if isinstance(value, bool):
        word = str(value)
        return [word, word.lower(), word.upper()]
    return _whole(pa.array(["" if value in NULLS else str(value)])).to_pylist()


def _whole(words):
    """Words, whole numbers among them without a fraction."""
    return pc.replace_substring_regex(words, r"^(-?[0-9]+)\.0+$", r"\1")
