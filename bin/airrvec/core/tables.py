"""
Reading and writing of all tables: Parquet with zstd, under a temporary name until complete.

The fields of published tables carry what `airrvec.core.schema.TABLES` says of their columns.
"""

import errno
import json
import math
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from airrvec.core import delimited, records, schema
from airrvec.core.pages import batches, intact

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.parquet as pq


def named_rows(frame: pd.DataFrame) -> Iterator[Any]:  # Any: pandas-stubs give each cell all types of a cell
    """Return the rows of a frame as named tuples."""
    return iter(frame.itertuples())


def contiguous(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column as one array."""
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def map_distinct(
    values: pa.Array | pa.ChunkedArray,
    function: Callable[[str | None], Any],
    dtype: pa.DataType | None = None,
) -> pa.Array:
    """Apply a function once to each distinct value, a string or None; return strings, or ``dtype``."""
    encoded = contiguous(values).dictionary_encode(null_encoding="encode")
    results = [function(value) for value in encoded.dictionary.to_pylist()]
    return pa.array(results, dtype or pa.string()).take(encoded.indices)


# --- Texts of a column in each group of rows


def most_frequent(rows: pd.DataFrame, by: list[str], name: str, *, counts: str | None = None) -> pd.Series:
    """
    Return the most frequent text of each group, the first by name if several are.

    Parameters
    ----------
    rows : DataFrame
    by : list of str
        Columns that make the groups.
    name : str
        Column of the texts; null does not count.
    counts : str, optional
        Column that says how often to count a row.

    Returns
    -------
    Series
        Index ``by``; without groups whose texts are all null.

    Examples
    --------
    >>> rows = pd.DataFrame({"epitope": ["GILGFVFTL"] * 3, "antigen_gene": ["M1", "M1", "NP"]})
    >>> most_frequent(rows, ["epitope"], "antigen_gene").to_dict()
    {'GILGFVFTL': 'M1'}
    """
    groups = rows.groupby([*by, name])
    counted = (groups.size() if counts is None else groups[counts].sum()).reset_index(name="n")
    counted = counted.sort_values([*by, "n", name], ascending=[*[True] * len(by), False, True])
    return counted.drop_duplicates(by).set_index(by)[name]


def joined(rows: pd.DataFrame, by: list[str], name: str) -> pd.Series:
    """
    Return the distinct texts of each group that has any, sorted, joined by ``;``; index ``by``.

    Examples
    --------
    >>> rows = pd.DataFrame({"receptor": [0, 0, 1], "epitope": ["NLVPMVATV", "GILGFVFTL", "GILGFVFTL"]})
    >>> joined(rows, ["receptor"], "epitope").to_dict()
    {1: 'GILGFVFTL', 0: 'GILGFVFTL;NLVPMVATV'}
    """
    texts = rows[[*by, name]].dropna().drop_duplicates().sort_values([*by, name])
    several = texts.duplicated(by, keep=False)  # few: joining is slow
    single = texts[~several].set_index(by)[name]
    return pd.concat([single, texts[several].groupby(by)[name].agg(";".join)])


# --- Tables that people open: a spreadsheet computes cells that begin as a formula, a terminal obeys escapes

# Control characters, line breaks among them, and marks that reorder text.
_CONTROL = "[\\x00-\\x1f\\x7f-\\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
# First characters of a formula, also of full width, which some spreadsheets read alike.
_FORMULA = "[=+\\-@\uff1d\uff0b\uff0d\uff20]"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_ODD = f"{_CONTROL}|^{_FORMULA}."


def cell(text: str) -> str:
    """
    Return text as a cell of a table for people.

    Control characters become escapes such as ``\\x1b``. Text that begins with ``=``, ``+``, ``-`` or ``@``
    gets an apostrophe before it, unless it is a number.

    Examples
    --------
    >>> cell("=1+1"), cell("-3"), cell("CASSF")
    ("'=1+1", '-3', 'CASSF')
    """
    shown = re.sub(_CONTROL, lambda match: match[0].encode("unicode_escape").decode(), text)
    is_formula = len(shown) > 1 and re.match(_FORMULA, shown) and not _NUMBER.fullmatch(shown)
    return f"'{shown}" if is_formula else shown


def for_people(table: pa.Table) -> pa.Table:
    """Return a table with all names and texts as `cell` returns them; numbers stay."""
    for number, field in enumerate(table.schema):
        if not pa.types.is_string(field.type):
            continue
        column = table.column(number)
        if pc.any(pc.match_substring_regex(column, _ODD)).as_py():
            cells = map_distinct(column, lambda text: None if text is None else cell(text))
            table = table.set_column(number, field, cells)
    return table.rename_columns([cell(name) for name in table.column_names])


# --- Reading and writing of all tables: Parquet with zstd, under a temporary name until complete

BATCH = 2**16  # rows in memory at once: 17 MB of vectors of 64 dimensions
SPREADSHEET = 2**20 - 1  # rows below the header, the most that a spreadsheet opens


@contextmanager
def atomic_path(path: str | Path, *, is_result: bool = True) -> Iterator[Path]:
    """
    Yield a temporary path beside ``path``; rename it to ``path`` when the block ends without an error.

    The content is on the disk before the name is, so that the loss of power leaves no half-written file under
    that name. The file gets the permissions of any new file, whichever library writes it: some libraries make
    files that only their owner can read. ``is_result``: note the file for the manifest of the run.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # A process id is not enough: two containers that share a folder may have processes of the same id.
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        temporary.touch()
        permissions = stat.S_IMODE(temporary.stat().st_mode)
        temporary.unlink()
        yield temporary
        temporary.chmod(permissions)
        _flush(temporary)
        os.replace(temporary, path)
        _flush(path.parent)
        if is_result:
            records.note(path)
    finally:
        temporary.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    """Wait until the content of a file, or the names in a folder, are on the disk."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except PermissionError:  # a folder where one may write, but not list
        return
    try:
        os.fsync(descriptor)
    except OSError as problem:
        if problem.errno not in (errno.EINVAL, errno.ENOTSUP):  # file systems that cannot do so for folders
            raise
    finally:
        os.close(descriptor)


def write(
    table: pa.Table, path: str | Path, metadata: dict[str, str] | None = None, *, group: int | None = None
) -> None:
    """
    Write a table as Parquet.

    Parameters
    ----------
    table : pyarrow.Table
        Any number of rows.
    path : str or Path
        Destination; appears complete or not at all.
    metadata : dict, optional
        Strings for the file's key-value metadata.
    group : int, optional
        Rows of a group: readers of few neighbouring rows skip the other groups. By default 2^20.
    """
    table = table.replace_schema_metadata(metadata)
    table = pa.Table.from_arrays(table.columns, schema=schema.described(table.schema, path))
    with atomic_path(path) as temporary:
        pq.write_table(table, temporary, row_group_size=group, **parquet_options(table.schema))


@contextmanager
def writer(
    path: str | Path, table_schema: pa.Schema, metadata: dict[str, str] | None = None
) -> Iterator[pq.ParquetWriter]:
    """Yield a Parquet writer for a table written in parts; the file appears when the block ends."""
    with atomic_path(path) as temporary:
        table_schema = schema.described(table_schema.with_metadata(metadata), path)
        with pq.ParquetWriter(temporary, table_schema, **parquet_options(table_schema)) as parquet:
            yield parquet


def parquet_options(table_schema: pa.Schema) -> dict:
    """
    Return writer options: no dictionary of values that are nearly all distinct.

    Floats get none; ids and junctions give theirs up at 64 kB, where Arrow would fill 1 MB first.
    """
    words = [field.name for field in table_schema if not pa.types.is_floating(field.type)]
    return {
        "compression": "zstd",
        "use_dictionary": words,
        "dictionary_pagesize_limit": 1 << 16,
        "write_page_checksum": True,
    }


def write_tsv(table: pa.Table, path: str | Path) -> None:
    """Write a table `for_people` as tab-separated text; nulls are empty, values quoted only if necessary."""
    write_delimited([table], path)


def _parts(table: pa.Table) -> Iterator[pa.Table]:
    """Yield a table in parts of at most `BATCH` rows; an empty table yields itself."""
    yield from (table.slice(start, BATCH) for start in range(0, max(len(table), 1), BATCH))


def write_delimited(parts: Iterable[pa.Table], path: str | Path, separator: str = "\t") -> None:
    """Write the text of a table in parts, of which there is at least one; as `write_tsv`."""
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        for number, part in enumerate(map(for_people, chain.from_iterable(map(_parts, parts)))):
            if not number:
                file.write(delimited.header(part, separator))
            file.write(delimited.lines(part, separator))


def write_both(table: pa.Table, stem: str | Path, metadata: dict[str, str] | None = None) -> None:
    """
    Write a table as ``<stem>.parquet`` (for programs) and ``<stem>.tsv`` (for people).

    A table of more than `SPREADSHEET` rows is written as Parquet only; a text of an earlier one is removed.
    """
    write(table, f"{stem}.parquet", metadata)
    write_tsv_beside(stem, len(table), [table])


def write_tsv_beside(stem: str | Path, n: int, parts: Iterable[pa.Table]) -> None:
    """Write the text of `write_both`, or none, for a table of ``n`` rows in parts."""
    if n <= SPREADSHEET:
        write_delimited(parts, f"{stem}.tsv")
    else:
        Path(f"{stem}.tsv").unlink(missing_ok=True)


def write_text(text: str, path: str | Path) -> None:
    """Write a text file, UTF-8."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def json_text(value, **options) -> str:
    """
    Return standard JSON: NaN and infinite numbers, which JSON cannot represent, become null.

    Parameters
    ----------
    value
        Dictionaries, lists, text, numbers.
    **options
        Options of ``json.dumps``.
    """
    return json.dumps(_without_nan(value), allow_nan=False, **options)


def write_json(value, path: str | Path, *, indent: int = 2) -> None:
    """Write the `json_text` of a value."""
    write_text(json_text(value, indent=indent) + "\n", path)


def _without_nan(value):
    if isinstance(value, dict):
        return {key: _without_nan(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def files(path: str | Path) -> list[str]:
    """Return the file of a table, or its partitions in order if the table is a folder."""
    path = Path(path)
    return [str(part) for part in sorted(path.glob("*.parquet"))] if path.is_dir() else [str(path)]


def read(path: str | Path, columns: list[str] | None = None) -> pa.Table:
    """Read all or some columns of a Parquet file or a folder of partitions."""
    parts = []
    for name in files(path):
        # A handle, because pyarrow reads partition keys from a path such as `a=b/c.parquet`. Not a Python
        # handle: a pyarrow thread that still holds one when Python exits aborts the process.
        with intact(name), pa.OSFile(name) as handle:
            parts.append(pq.read_table(handle, columns=columns, page_checksum_verification=True))
    return pa.concat_tables(parts)


def sample_name(cells: str | Path) -> str:
    """Return the ``sample_id`` from the name of a file of cells, as tasks or as the results name it."""
    return Path(cells).name.removesuffix(".parquet").removesuffix(".cells")


def n_rows(path: str | Path) -> int:
    """Return the number of rows of a Parquet file."""
    with intact(path):
        return pq.read_metadata(path).num_rows


def parquet_file(file) -> pq.ParquetFile:
    """Open a Parquet file to read it in batches; Arrow's own buffer would hold everything that was read."""
    return pq.ParquetFile(file, pre_buffer=False, page_checksum_verification=True)


def read_batches(path: str | Path, n: int) -> Iterator[pa.Table]:
    """
    Yield a Parquet file or a folder of partitions in tables of at most ``n`` rows, in its order.

    An empty file yields one empty table.
    """
    for name in files(path):
        with intact(name):
            parquet = parquet_file(name)
        with parquet:
            yield from (pa.Table.from_batches([batch]) for batch in batches(parquet, name, n))
            if not parquet.metadata.num_rows:
                yield parquet.schema_arrow.empty_table()


def read_filtered(path: str | Path, wanted: pc.Expression, columns: list[str] | None = None) -> pa.Table:
    """
    Return the rows of a Parquet file or folder for which an expression holds.

    Other rows are skipped without being held in memory: Arrow reads little ahead and buffers nothing.
    """
    options = pyarrow.dataset.ParquetFragmentScanOptions(pre_buffer=False, page_checksum_verification=True)
    with intact(path):
        return pyarrow.dataset.dataset(files(path), format="parquet").to_table(
            columns=columns,
            filter=wanted,
            batch_size=BATCH,
            batch_readahead=4,
            fragment_readahead=1,
            fragment_scan_options=options,
        )


def is_one_of(column: str, texts: list[str]) -> pc.Expression:
    """Return the expression that a column of text has one of these values; of none, that of no row."""
    return pc.field(column).isin(pa.array(texts, pa.string()))  # Arrow compares no text with an untyped list


def distinct_receptors(receptors: pa.Table) -> pa.Table:
    """Return each receptor once, sorted by ``receptor_id``; parts of a sample may repeat receptors."""
    receptors = receptors.sort_by("receptor_id")
    ids = receptors["receptor_id"].to_numpy()
    return receptors.filter(pa.array(np.append(True, ids[1:] != ids[:-1])[: len(ids)], pa.bool_()))


def metadata(path: str | Path) -> dict[str, str]:
    """Return the key-value metadata of a Parquet file, or the `merge_metadata` metadata of its partitions."""
    per_file = [_schema(name).metadata or {} for name in files(path)]
    return merge_metadata(
        [{key.decode(): value.decode() for key, value in pairs.items()} for pairs in per_file]
    )


def merge_metadata(metadata: list[dict[str, str]]) -> dict[str, str]:
    """Merge several metadata; differing values become a sorted list, joined by commas."""
    merged = {}
    for name in dict.fromkeys(name for one in metadata for name in one):
        values = {one[name] for one in metadata if name in one}
        lists = (value.split(",") for value in values)
        merged[name] = values.pop() if len(values) == 1 else ",".join(sorted({*chain(*lists)}))
    return merged


def arrow_schema(path: str | Path) -> pa.Schema:
    """Return names and types of a Parquet file's columns."""
    return _schema(path).remove_metadata()


def _schema(path: str | Path) -> pa.Schema:
    with intact(path):
        return pq.read_schema(path)


def embeddings_table(receptor_ids: pa.ChunkedArray, vectors: np.ndarray) -> pa.Table:
    """
    Return an ``embeddings`` table.

    Parameters
    ----------
    receptor_ids : pyarrow.ChunkedArray
        One per vector.
    vectors : ndarray of float32, shape (n, d)
        NaN where a receptor has no vector; null in the table.
    """
    columns = [pa.array(column, from_pandas=True) for column in np.ascontiguousarray(vectors.T)]
    return pa.table([receptor_ids, *columns], schema=schema.embeddings(vectors.shape[1]))
