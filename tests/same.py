"""
Whether two runs have the same results: their tables cell by cell, their other files byte by byte.

    make same A=results/before B=results/after

What tells of the run itself (``pipeline_info``, ``previous``, ``.airrvec``) is left out, and so are pages and
figures, which hold times of their own.
"""

import argparse
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

LEFT_OUT = {".airrvec", "pipeline_info", "previous", "multiqc"}
PAGES = {".html", ".png", ".svg", ".pdf", ".h5ad", ".rds"}


def files(folder: Path) -> dict[str, Path]:
    """The files to compare, by their path within the folder."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix not in PAGES)
    relative = {path.relative_to(folder): path for path in found}
    return {str(name): path for name, path in relative.items() if not LEFT_OUT.intersection(name.parts)}


def differences(first: Path, second: Path) -> list[str]:
    """A sentence on each file that is not the same in both folders."""
    ours, theirs = files(first), files(second)
    found = [f"{name}: only in {first}" for name in ours.keys() - theirs.keys()]
    found += [f"{name}: only in {second}" for name in theirs.keys() - ours.keys()]
    for name in ours.keys() & theirs.keys():
        of_file = _of_parquet if name.endswith(".parquet") else _of_bytes
        found += [f"{name}: {what}" for what in of_file(ours[name], theirs[name])]
    return sorted(found)


def _of_bytes(first: Path, second: Path) -> list[str]:
    return [] if first.read_bytes() == second.read_bytes() else ["other bytes"]


def _of_parquet(first: Path, second: Path) -> list[str]:
    ours, theirs = pq.read_table(first), pq.read_table(second)
    if not ours.schema.equals(theirs.schema):
        return [f"other columns or types: {_only(ours, theirs)} and {_only(theirs, ours)}"]
    if len(ours) != len(theirs):
        return [f"{len(ours)} rows and {len(theirs)}"]
    return [what for name in ours.column_names if (what := _of_column(name, ours[name], theirs[name]))]


def _only(ours: pa.Table, theirs: pa.Table) -> list[str]:
    return [str(field) for field in ours.schema if field not in list(theirs.schema)]


def _of_column(name: str, ours: pa.ChunkedArray, theirs: pa.ChunkedArray) -> str | None:
    if ours.equals(theirs):
        return None
    # As words: NaN is no other NaN, and a null is none.
    pairs = list(zip(map(repr, ours.to_pylist()), map(repr, theirs.to_pylist()), strict=True))
    rows = [row for row, (one, other) in enumerate(pairs) if one != other]
    if not rows:
        return None
    one, other = pairs[rows[0]]
    return f"{name} differs in {len(rows)} of {len(pairs)} rows; first in row {rows[0]}: {one} and {other}"


def main(argv=None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    args = parser.parse_args(argv)
    n_files = len(files(args.first))
    if not n_files:
        sys.exit(f"{args.first} holds no results")
    found = differences(args.first, args.second)
    print("\n".join(found) if found else f"the same: {n_files} files")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
