"""A table of any layout, whose columns the user names."""

import difflib
import json
from pathlib import Path

import pyarrow as pa

from airrvec import schema
from airrvec.errors import InputError
from airrvec.readers._chains import booleans, chain_table, chains_of_pairs, column, counts

_OF_ROW = ("cell_id", "species", "duplicate_count", *schema.LABELS)
CHAIN_FIELDS = (
    *schema.CHAIN_FIELDS,
    "locus",
    "productive",
    "is_cell",
    "umi_count",
    *_OF_ROW,
)
PAIR_FIELDS = (*schema.RECEPTOR_FIELDS, *_OF_ROW)


def read_column_map(path: str | Path) -> dict[str, str]:
    """
    Read a column map: a JSON object, our field → the table's column.

    Raises
    ------
    InputError
        If the file is no such object, or as `check_column_map`.
    """
    path = Path(path)
    try:
        columns = json.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise InputError("there is no such file", file=path) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"the column map is no valid JSON ({error})", file=path) from error
    check_column_map(columns, path)
    return columns


def check_column_map(columns: dict[str, str], file: str | Path | None = None) -> None:
    """
    Check that a column map describes chains, or pairs of them.

    Parameters
    ----------
    columns : dict
        Our field → the table's column. The fields are those of `CHAIN_FIELDS`, where a row is one chain,
        or of `PAIR_FIELDS`, where it holds both.
    file : str or Path, optional
        Where the map is from.

    Raises
    ------
    InputError
        If a field is unknown, fields of both kinds are mixed, or no junction is among them.
    """
    if not isinstance(columns, dict) or not all(isinstance(name, str) and name for name in columns.values()):
        raise InputError(
            "the column map is no JSON object of words",
            file=file,
            fix='It gives our fields the names of columns, e.g. {"v_call": "V", "junction_aa": "CDR3"}',
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
        self._columns = columns
        self.LAYOUTS = (tuple(dict.fromkeys(columns.values())),)

    def chains(self, table: pa.Table) -> pa.Table:
        """One chain a row, or both; chains of one ``cell_id`` are one cell where a row is a chain."""
        labels = {label: self._columns[label] for label in schema.LABELS if label in self._columns}
        if "junction_aa" not in self._columns:
            return self._pairs(table, labels)

        def of(field: str) -> pa.ChunkedArray:
            return column(table, self._columns.get(field))

        return chain_table(
            row=table["row"],
            cell_key=of("cell_id"),
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
