"""The one way to open duckdb: with a limit of memory, beyond which it writes to a temporary folder."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb


@contextmanager
def connect(folder: Path, *, memory: str, threads: int) -> Iterator[duckdb.DuckDBPyConnection]:
    """
    Yield a connection to an empty database in memory; tables keep the order of rows that they were read in.

    Parameters
    ----------
    folder : Path
        Folder of the temporary files, made if missing; they are removed at the end.
    memory : str
        Memory limit, such as ``2GB``.
    threads : int
        Number of threads.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as spill:
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": memory,
            "threads": threads,
            "temp_directory": spill,
            "preserve_insertion_order": True,
        }
        with duckdb.connect(config=config) as connection:
            yield connection
