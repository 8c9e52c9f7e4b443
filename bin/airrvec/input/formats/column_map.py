"""Tables of any layout, with columns named by the user."""

import difflib
from collections.abc import Mapping
from pathlib import Path

from airrvec.core import schema
from airrvec.core.errors import InputError
from airrvec.core.json_files import read_object
from airrvec.input.formats.chains import cell_keys, chain_table, chains_of_pairs, column
from airrvec.input.role_names import FLAGS, FLAWS, spelled
from airrvec.input.roles import Roles
from airrvec.input.values import MISSING

import pyarrow as pa
import pyarrow.compute as pc

_EXAMPLE = 'It maps fields of airrvec to columns, e.g. {"v_call": "V", "junction_aa": "CDR3"}'
_ROW_FIELDS = ("cell_id", "species", "duplicate_count", *FLAGS, *schema.LABELS)
CHAIN_FIELDS = (*schema.CHAIN_FIELDS, "locus", "umi_count", "repertoire_id", *_ROW_FIELDS)
PAIR_FIELDS = (*schema.RECEPTOR_FIELDS, *_ROW_FIELDS)
# Key in a column map: column → the value, or list of values, that a row must have.
ROW_FILTER = "only"


def read_column_map(path: str | Path) -> dict:
    """
    Read a column map: a JSON object, airrvec field → column of the table, and `ROW_FILTER` to select rows.

    Raises
    ------
    InputError
        If the file is not such an object, or as in `check_column_map`.
    """
    columns = read_object(path, "the column map", _EXAMPLE)
    check_column_map(columns, path)
    return columns


def check_column_map(columns: Mapping, file: str | Path | None = None) -> None:
    """
    Raise if a column map does not describe chains or pairs of chains.

    Parameters
    ----------
    columns : dict
        airrvec field → column of the table; "" is a column without a name. The fields are those of
        `CHAIN_FIELDS` for one chain per row, or of `PAIR_FIELDS` for both chains per row. `ROW_FILTER` is
        optional.
    file : str or Path, optional
        File of the map, for messages.

    Raises
    ------
    InputError
        If a field is unknown, fields of both kinds are mixed, or there is no junction.
    """
    if isinstance(columns, Mapping) and ROW_FILTER in columns:
        _check_only(columns[ROW_FILTER], file)
        columns = {field: name for field, name in columns.items() if field != ROW_FILTER}
    if not isinstance(columns, Mapping) or not all(isinstance(name, str) for name in columns.values()):
        raise InputError(
            "the column map is not a JSON object of strings",
            file=file,
            fix=_EXAMPLE,
        )
    known = tuple(dict.fromkeys((*CHAIN_FIELDS, *PAIR_FIELDS)))
    for field, name in columns.items():
        if field not in known:
            near = difflib.get_close_matches(field, known, 3, cutoff=0.4)
            raise InputError(
                f"the column map names '{field}', which is not a field of airrvec",
                file=file,
                fix=f"Similar fields: {', '.join(near)}" if near else f"The fields are {', '.join(known)}",
            )
        if name == "row":
            raise InputError(
                f"the column map gives '{field}' the column 'row', a name that airrvec uses itself",
                file=file,
                fix="Give the table's column another name",
            )
    chain_only, pair_only = (
        [field for field in columns if field not in other_fields]
        for other_fields in (PAIR_FIELDS, CHAIN_FIELDS)
    )
    if chain_only and pair_only:
        raise InputError(
            f"the column map mixes '{chain_only[0]}', for one chain per row, with '{pair_only[0]}', for both",
            file=file,
            fix=f"Give fields of one kind: for one chain {', '.join(CHAIN_FIELDS)};"
            f" for both {', '.join(PAIR_FIELDS)}",
        )
    if not any(field.endswith("junction_aa") for field in columns):
        raise InputError(
            "the column map gives no junction",
            file=file,
            fix="Give the column of junction_aa, or of tra_junction_aa, trb_junction_aa or both",
        )


def _check_only(only, file) -> None:
    entries = only.values() if isinstance(only, dict) else [None]
    values = [value for entry in entries for value in (entry if isinstance(entry, list) else [entry])]
    if not values or not all(isinstance(value, str | int | float) for value in values):
        raise InputError(
            f"'{ROW_FILTER}' of the column map is not a JSON object of columns and values",
            file=file,
            fix=f'It gives the rows to read, e.g. "{ROW_FILTER}": {{"Label": 1, "Chain": ["TRA", "TRB"]}}',
        )
    if "row" in only:
        raise InputError(
            "the column map selects rows by the column 'row', a name that airrvec uses itself",
            file=file,
            fix="Give the table's column another name",
        )


class MappedColumns:
    """
    Reader of a table with a column map.

    Parameters
    ----------
    columns : dict
        Column map, as in `check_column_map`.
    """

    NAME = "columns"
    TITLE = "Table with a column map"
    DELIMITER = None
    OPTIONAL = ()

    @property
    def ROW(self) -> str:
        """What a row is: a chain, or both chains of a cell."""
        return "chain" if "junction_aa" in self._columns else "pair"

    def __init__(self, columns: Mapping):
        check_column_map(columns)
        self._only = columns.get(ROW_FILTER, {})
        self._columns = columns = {field: name for field, name in columns.items() if field != ROW_FILTER}
        self.LAYOUTS = (tuple(dict.fromkeys([*columns.values(), *self._only])),)
        self.NEEDED = (tuple(name for field, name in columns.items() if field.endswith(schema.CHAIN_FIELDS)),)

    def is_read(self, table: pa.Table) -> pa.ChunkedArray:
        """Return True for each row with the values that the map selects."""
        selected = pa.chunked_array([pa.repeat(True, len(table))])
        for name, entry in self._only.items():
            values = entry if isinstance(entry, list) else [entry]
            texts = pa.array([text for value in values for text in _spellings(value)])
            selected = pc.and_(selected, pc.is_in(_as_integers(pc.fill_null(column(table, name), "")), texts))
        return selected

    def roles(self, table: pa.Table) -> Roles:
        """Return the columns of cell, counts and flags that the map names, and the flaws that any has."""
        units = {"umi_count": "UMIs", "duplicate_count": "copies"}
        return Roles(
            cell=self._columns.get("cell_id"),
            samples=tuple(filter(None, [self._columns.get("repertoire_id")])),
            counts={field: self._columns[field] for field in units if field in self._columns},
            units=units,
            flags={field: self._columns[field] for field in FLAGS if field in self._columns},
            flaws=tuple(spelled(table.column_names, FLAWS)),
        )

    def chains(self, table: pa.Table, roles: Roles | None = None) -> pa.Table:
        """Return one chain per row, or both; one ``cell_id`` and ``repertoire_id`` is one cell."""
        roles = roles or self.roles(table)
        labels = {label: self._columns[label] for label in schema.LABELS if label in self._columns}
        if "junction_aa" not in self._columns:
            return self._pairs(table, labels, roles)

        def mapped(field: str) -> pa.ChunkedArray:
            return column(table, self._columns.get(field))

        return chain_table(
            row=table["row"],
            cell_key=cell_keys(table, mapped("cell_id"), roles.samples),
            **{name: mapped(name) for name in ("cell_id", "species", "locus", *schema.CHAIN_FIELDS)},
            **roles.read(table),
            **{label: mapped(label) for label in labels},
        )

    def _pairs(self, table: pa.Table, labels: dict[str, str], roles: Roles) -> pa.Table:
        chain_columns = {
            locus: {name: self._columns.get(schema.field(locus, name)) for name in schema.CHAIN_FIELDS}
            for locus in schema.LOCI
        }
        return chains_of_pairs(
            table,
            chain_columns,
            cell_id=self._columns.get("cell_id"),
            species=self._columns.get("species"),
            roles=roles,
            labels=labels,
        )


def _spellings(value) -> list[str]:
    """Return the texts that match a value of a column map: 1.0 as 1, true in any case, missing as ""."""
    if isinstance(value, bool):
        text = str(value)
        return [text, text.lower(), text.upper()]
    return _as_integers(pa.array(["" if value in MISSING else str(value)])).to_pylist()


def _as_integers(texts):
    """Return texts, with whole numbers such as ``1.0`` written as ``1``."""
    return pc.replace_substring_regex(texts, r"^(-?[0-9]+)\.0+$", r"\1")
