#!/usr/bin/env python3
"""Call the epitopes of the receptors of each sample, with probability and false discovery rate."""

import difflib
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from airrvec.core import hla, runtime, schema, script, settings, table_parts, tables
from airrvec.core.antigens import listed_epitopes
from airrvec.core.chains import CHAIN_TITLES
from airrvec.core.errors import InputError
from airrvec.core.missing import optional_part
from airrvec.core.progress import counter, step
from airrvec.core.terminal import counted, print_warning
from airrvec.core.vectors import batches, check_same_model, read_model

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

N_NEAR = 3  # epitopes that are named where the reference lacks one
_CELL_COLUMNS = ("sample_id", "cell_id", "abundance", "count_unit")


def parse_args(argv=None):
    parser = script.parser(__doc__)
    parser.add_argument("--sample", nargs="+", required=True, help="sample names, used in file names")
    parser.add_argument("--cells", type=Path, nargs="+", required=True, help="cells of each, in their order")
    parser.add_argument(
        "--clones",
        type=Path,
        help="folder written by count_clones.py: cells count with their clone's receptor",
    )
    parser.add_argument(
        "--hla", nargs="+", metavar="TYPING", help="HLA of the donor of each, in their order; '' if unknown"
    )
    parser.add_argument(
        "--receptors", type=Path, nargs="+", required=True, help="receptors of all, files or folders"
    )
    parser.add_argument("--embeddings", type=Path, help="vectors of the same model; if not given, computed")
    settings.add(parser, "model")
    parser.add_argument(
        "--reference", type=Path, required=True, help="folder written by calibrate_annotation.py"
    )
    settings.add(parser, "annotation_fdr", "annotate_innate", "epitopes")
    script.add_options(parser, "threads", "outdir", "missing")
    return parser.parse_args(argv)


@optional_part("annotation")
def main(argv=None):
    args = parse_args(argv)
    donors = _donors(args)
    runtime.limit_threads(args.threads)
    from airrvec.annotation import annotator_file
    from airrvec.annotation.sample_calls import Search

    needed = ["receptor_id", "clonotype_id", "species", *schema.RECEPTOR_FIELDS, "innate_like"]
    receptors = tables.distinct_receptors(
        pa.concat_tables([tables.read(path, needed) for path in args.receptors]).select(needed)
    )
    cells = [_cells(args, path) for path in args.cells]
    samples = [
        (_rows(receptors, sample_cells), donor) for sample_cells, donor in zip(cells, donors, strict=True)
    ]
    reasons = annotator_file.load_reasons(args.reference)
    epitopes = _epitopes(args)
    annotators = partial(_annotator, args, epitopes)
    search = Search(receptors, annotators, innate=args.annotate_innate, reasons=reasons)
    _warn(search.not_calibrated())
    results = search.run(samples, _counted(_vectors(args, receptors), len(receptors)))
    for sample, sample_cells, donor, calls in zip(args.sample, cells, donors, results, strict=True):
        with step(f"error rates of {sample}"):
            groups = calls.rate(args.annotation_fdr)
        about = {"hla": hla.typing_text(donor), "groups": groups}
        with step(f"table of {sample}"):
            _write(sample, sample_cells, calls, about, schema.annotation_with(epitopes), args)
    script.write_versions(args, "numba", "numpy", "pyarrow", "scipy")


def _cells(args, path: Path) -> pa.Table:
    """Return a sample's cells, with the receptors that they count with."""
    cells = tables.read(path, [*_CELL_COLUMNS, "receptor_id"])
    if args.clones:
        from airrvec.repertoire.clone_table import receptors_counted

        ids = receptors_counted(args.clones, tables.sample_name(path), cells["receptor_id"])
        cells = cells.set_column(cells.column_names.index("receptor_id"), "receptor_id", ids)
    return cells


def _warn(not_calibrated: dict[tuple[str, str], tuple[int, str]]) -> None:
    """Print the number of receptors of each class that is not calibrated, and the reason."""
    for (species, chains), (n, reason) in not_calibrated.items():
        print_warning(
            f"WARNING: {counted(n, 'receptor')} of {species}, {CHAIN_TITLES[chains]}: no calls, because this"
            f" class is not calibrated ({reason}); scores, best epitopes and nearest references are in the"
            " tables."
        )


def _rows(receptors: pa.Table, cells: pa.Table) -> np.ndarray:
    """Return the rows of the receptors of cells, ascending."""
    is_there = pc.is_in(receptors["receptor_id"], pc.unique(cells["receptor_id"]))
    return np.flatnonzero(is_there.to_numpy())


def _donors(args) -> list[hla.Alleles]:
    """Return the HLA of each sample's donor; empty where it is unknown."""
    typings = args.hla or [""] * len(args.sample)
    if len(typings) != len(args.sample):
        typed, samples = counted(len(typings), "typing"), counted(len(args.sample), "sample")
        raise InputError(f"--hla: {typed} for {samples}")
    try:
        return [hla.parse_typing(text) for text in typings]
    except hla.HlaError as error:
        raise InputError(f"--hla: {error}") from error


def _epitopes(args) -> tuple[str, ...]:
    """
    Return the epitopes of ``--epitopes``.

    Raises
    ------
    InputError
        If no reference has one of them.
    """
    from airrvec.annotation import annotator_file

    epitopes = listed_epitopes(args.epitopes)
    known = annotator_file.load_epitopes(args.reference) if epitopes else []
    for epitope in epitopes:
        if epitope not in known:
            near = difflib.get_close_matches(epitope, known, n=N_NEAR, cutoff=0)
            raise InputError(
                f"--epitopes: the reference has no receptor of {epitope}",
                fix=f"Its nearest epitopes are {', '.join(near)}" if near else None,
            )
    return epitopes


def _annotator(args, epitopes: tuple[str, ...], species: str, chains: str):
    """Return the annotator of a species and class of chains, or None if there is none."""
    from airrvec.annotation import annotator_file

    path = args.reference / f"{species}_{chains}.npz"
    if not path.exists():
        return None
    model = _encoder(args.model, args.threads).loaded.vector_model
    loaded = annotator_file.load(path, partial(_embed, args), model, threads=args.threads)
    return replace(loaded, epitopes=epitopes)


def _embed(args, receptors: pa.Table, **options) -> np.ndarray:
    """Return vectors by a model, which is loaded once."""
    return _encoder(args.model, args.threads).embed(receptors, **options)


@cache
def _encoder(model: str, threads: int):
    from airrvec.encoders.sceptr import Sceptr

    return Sceptr(model, threads=threads)


def _write(sample: str, cells: pa.Table, calls, about: dict, columns: pa.Schema, args) -> None:
    """Write the call of each cell of a sample, and counts for the report."""
    ids = calls.search.receptors["receptor_id"].take(pa.array(calls.rows)).combine_chunks()
    place = pc.index_in(cells["receptor_id"], ids).to_numpy()
    with table_parts.writer_of_both(args.outdir / sample, columns) as append:
        for start in range(0, max(len(cells), 1), tables.BATCH):
            part = cells.slice(start, tables.BATCH)
            table = pa.Table.from_pandas(
                calls.table(place[start : start + tables.BATCH]), preserve_index=False
            )
            for name in _CELL_COLUMNS:
                table = table.append_column(name, part[name])
            for name in columns.names:
                if name not in table.column_names:  # no class of the sample has references
                    table = table.append_column(name, pa.nulls(len(part), pa.float64()))
            append(table.select(columns.names).cast(columns))
    abundance = np.zeros(len(ids), np.int64)
    np.add.at(abundance, place, pc.fill_null(cells["abundance"], 0).to_numpy())
    unit = next(iter(pc.unique(cells["count_unit"]).to_pylist()), schema.COUNT_UNITS[0])
    qc = {
        "sample_id": sample,
        "fdr": args.annotation_fdr,
        **about,
        "count_unit": unit,
        **_counts(calls, abundance),
    }
    tables.write_json(qc, args.outdir / f"{sample}.annotation.qc.json")


def _counted(parts: Iterator[tuple[np.ndarray, np.ndarray]], n: int) -> Iterator[tuple]:
    """Yield parts of ``n`` receptors, and report how many are annotated."""
    annotated = counter("receptors annotated", n)
    for part in parts:
        yield part
        annotated(len(part[0]))


def _vectors(args, receptors: pa.Table) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield rows of receptors, and their vectors, in parts of `tables.BATCH`, until all are done."""
    if args.embeddings is None:
        for start in range(0, len(receptors), tables.BATCH):
            part = receptors.slice(start, tables.BATCH)
            yield np.arange(start, start + len(part)), _embed(args, part)
        return
    check_same_model(
        "its vectors",
        read_model(args.embeddings),
        "those of the references",
        _encoder(args.model, args.threads).loaded.vector_model,
        file=args.embeddings,
        fix="Give the model of the vectors with --model",
    )
    ids = tables.read(args.embeddings, ["receptor_id"])["receptor_id"]
    place = pc.fill_null(pc.index_in(ids, receptors["receptor_id"].combine_chunks()), -1).to_numpy()
    is_there = np.zeros(len(receptors), bool)
    is_there[place[place >= 0]] = True
    if not is_there.all():
        problem = f"{(~is_there).sum()} of {len(receptors)} cells have a receptor that is missing here"
        raise InputError(problem, file=args.embeddings)
    waiting, done = [], 0
    for batch_ids, vectors in batches(args.embeddings):
        rows = place[done : done + len(batch_ids)]
        done += len(batch_ids)
        waiting.append((rows[rows >= 0], vectors[rows >= 0]))
        if sum(len(rows) for rows, _ in waiting) >= tables.BATCH:
            rows, vectors = (np.concatenate(part) for part in zip(*waiting, strict=True))
            yield rows[: tables.BATCH], vectors[: tables.BATCH]
            waiting = [(rows[tables.BATCH :], vectors[tables.BATCH :])]
    if waiting:
        yield tuple(np.concatenate(part) for part in zip(*waiting, strict=True))


def _counts(calls, abundance: np.ndarray) -> dict:
    """Return the counts for the report, by the abundance of each receptor: by call, and by called epitope."""
    members = np.flatnonzero(calls.is_called())
    called_rows = calls.table(members).assign(abundance=abundance[members])
    epitopes = called_rows.groupby(["epitope", "antigen_species"], dropna=False).agg(
        receptors=("call", "size"), abundance=("abundance", "sum")
    )
    words, excluded = calls.words()
    return {
        "receptors": len(abundance),
        "abundance": int(abundance.sum()),
        "calls": pd.Series(words).value_counts().to_dict(),
        "called_abundance": int(called_rows["abundance"].sum()),
        "exact": calls.n_exact(),
        "excluded": {word: int(n) for word, n in pd.Series(excluded).value_counts().items()},
        "epitopes": json.loads(epitopes.reset_index().to_json(orient="records")),
    }


if __name__ == "__main__":
    main()
