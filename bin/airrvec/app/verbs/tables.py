"""The verbs normalise, embed and reference: their work."""

from pathlib import Path

from airrvec.app import verb_files
from airrvec.app.verbs import work as at_work
from airrvec.app.verbs.work import Work


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
    merge(work, names)
    verb_files.publish(work.folder, names, work.results)


def merge(work: Work, names: list[str]) -> tuple[Path, Path]:
    """Merge normalised tables of the working folder; return the cells and receptors of the result."""
    folder = work.folder / "merged"
    at_work.run("merge_references", "--sources", *names, "--tables", work.folder, "--outdir", folder)
    return folder / "reference.cells.parquet", folder / "reference.receptors_0000.parquet"
