"""The verbs normalise, embed and reference: their work."""

import json
from pathlib import Path

from airrvec.app import verb_files
from airrvec.app.verbs import work as at_work
from airrvec.app.verbs.work import Work
from airrvec.core import tables
from airrvec.core.terminal import print_lines, print_warning


def normalise(work: Work) -> None:
    """Standardise the tables."""
    work.normalised(work.results)


def embed(work: Work) -> None:
    """Write the vectors of the distinct receptors, and the tables that they come from."""
    from airrvec.core import table_parts

    out = work.options.out
    folder = work.results / verb_files.tables_folder(out)
    parts = [receptors for _, _, receptors in work.normalised(folder)]
    vectors = work.folder / "vectors.parquet"
    receptors = work.embedded(parts, vectors)
    for path in parts:
        path.unlink()
    table_parts.move(receptors, work.results / verb_files.receptors_name(out))
    # Text has no metadata, and vectors of which nobody knows the model are useless.
    table_parts.move(vectors, work.results / out.name, columns=("model", "weights_sha256"))


def reference(work: Work) -> None:
    """Merge the tables, whose labels may differ, into one reference."""
    names = [sample.name for sample, _, _ in work.normalised(work.folder)]
    merge(work, names, "--same-studies")
    verb_files.publish(work.folder, names, work.results)


def merge(work: Work, names: list[str], *options: str) -> tuple[Path, Path]:
    """Merge normalised tables of the working folder; return the cells and receptors of the result."""
    folder = work.folder / "merged"
    places = ("--tables", work.folder, "--outdir", folder)
    at_work.run("merge_references", "--sources", *names, *places, *options)
    return folder / "reference.cells.parquet", folder / "reference.receptors_0000.parquet"


def compare_references(args) -> None:
    """Write what differs between two references, and which calls of a run rest on it."""
    from airrvec.annotation import reference_comparison as comparison

    outputs = verb_files.comparison(args)
    outputs.check()
    old, new = args.compare
    before, after = (comparison.read_reference(comparison.reference_file(path)) for path in (old, new))
    changes, counts = comparison.compare_pairs(before, after), comparison.epitope_counts(before, after)
    print_lines(
        *(
            f"{word}: {path}, {len(pairs):,} pairs, digest {comparison.reference_digest(pairs)}"
            for word, path, pairs in (("old", old, before), ("new", new, after))
        )
    )
    calls = None
    if (old / "annotation/reference/receptors.parquet").is_file():
        calls = comparison.compare_calls(old, changes, counts)
        counted_by_run = json.loads((old / "annotation/reference/calibration.qc.json").read_text())
        print_lines(f"run: its reference has the digest {counted_by_run.get('reference_digest')}")
    print_lines(*comparison.lines(changes, counts, calls))
    with outputs.written() as folder:
        for name, rows, table_schema in (
            ("changed_pairs", changes, comparison.PAIR_CHANGES),
            ("changed_calls", calls, comparison.CALL_CHANGES),
        ):
            if rows is not None:
                tables.write_both(comparison.table_of(rows, table_schema), folder / name)
    print_warning(f"airrvec: results in {args.outdir}")
