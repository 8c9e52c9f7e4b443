"""Results of a run → a run in an index."""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from airrvec.app import folders, manifest, run_index, verify
from airrvec.app.run_index import CLASSES, LABELS, PART, RunIndex
from airrvec.core import chains as chain_words
from airrvec.core import identity, records, schema, tables
from airrvec.core.errors import InputError
from airrvec.core.progress import counter
from airrvec.core.terminal import counted
from airrvec.core.vectors import VectorModel, batches, check_same_model, read_description
from airrvec.model import weights
from airrvec.model.variants import VARIANTS
from airrvec.search.neighbours import cells_of
from airrvec.search.store import write_segment

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True)
class Results:
    """
    Results of a run that can be indexed.

    Attributes
    ----------
    folder : Path
        ``--outdir`` of the run.
    embeddings, receptors : list of Path
        Files of their partitions, row by row the same receptors.
    metadata : dict
        Of the embeddings, `airrvec.core.vectors.read_description`.
    manifest : str
        Digest of the manifest, or of the sizes of these files where a run has none.
    """

    folder: Path
    embeddings: list[Path]
    receptors: list[Path]
    metadata: dict
    manifest: str

    @property
    def model(self) -> VectorModel:
        """Model of the vectors."""
        model = VectorModel.read(self.metadata)
        assert model is not None  # as `read_description` has described it
        return model


def open_results(folder: Path, *, finished: bool = True) -> Results:
    """
    Return the results of a run.

    Parameters
    ----------
    folder : Path
        ``--outdir`` of a run.
    finished : bool
        Whether the run must have a manifest, with which its tables are compared.

    Raises
    ------
    InputError
        If there are no vectors, or a table is not what the run wrote.
    """
    embeddings = sorted(folder.glob("embeddings/*.parquet")) or sorted(folder.glob("embeddings/*/*.parquet"))
    receptors = sorted(folder.glob("receptors/*.parquet")) or sorted(folder.glob("receptors/*/*.parquet"))
    if not embeddings or len(embeddings) != len(receptors):
        problem = f"'{folder}' holds no receptors with their vectors"
        raise InputError(problem, fix="Give the --outdir of a run of the pipeline")
    if (folder / manifest.MANIFEST).is_file():
        digest = records.sha256(folder / manifest.MANIFEST)
        used = {"embeddings", "receptors", "cells", "annotation"}
        rows, problems = manifest.read_manifest(folder)
        for row in rows:
            is_used = row.kind == "result" and Path(row.path).parts[0] in used
            if is_used and row.path.endswith(".parquet"):
                file_problems = verify.file_problems(folder / row.path, row)
                problems += [f"{row.path}: {problem}" for problem in file_problems]
        if problems:
            fix = f"Index the results as the run wrote them; airrvec verify {folder} names what differs"
            raise InputError(f"'{folder}': {problems[0]}", fix=fix)
    elif finished:
        manifest.read_manifest(folder)  # raises
    else:
        sizes = [(path.name, path.stat().st_size) for path in (*embeddings, *receptors)]
        digest = hashlib.sha256(repr(sizes).encode()).hexdigest()
    return Results(folder, embeddings, receptors, read_description(*embeddings), digest)


def model_of(results: Results, requested: str | None = None) -> weights.LoadedModel:
    """
    Return the model of the vectors: ``requested``, the published variant, or one in the results.

    Raises
    ------
    InputError
        If none has the weights with which the vectors were made.
    """
    name = results.model.name
    folders = [str(path.parent) for path in sorted(results.folder.glob(f"models/*/{weights.CONFIG}"))]
    for source in [requested] if requested else [*([name] if name in VARIANTS else []), *folders]:
        loaded = weights.load(source)
        if results.model.is_comparable(loaded.vector_model):
            return loaded
    other = f"'{requested}' is the model {loaded.vector_model}" if requested else "the results do not hold it"
    raise InputError(
        f"the vectors of '{results.folder}' are of the model {results.model}, and {other}",
        fix="Give the folder of the model that embedded them as --model",
    )


def add_run(index: RunIndex, results: Results, classes: Collection[str] = CLASSES) -> str:
    """
    Add a run to an index, and remove an older state of the same results.

    Parameters
    ----------
    classes : collection of str
        Write the vectors of these only, of `airrvec.app.run_index.CLASSES`.

    Returns
    -------
    str
        What was done, as a sentence.

    Raises
    ------
    InputError
        If the vectors are of another model than the index.
    """
    fix = "Make an index of its own for each model: --index FOLDER"
    subject = f"the vectors of '{results.folder}'"
    check_same_model(subject, results.model, "those of the index", index.vector_model, fix=fix)
    path, target = str(results.folder.resolve()), index.folder / "runs" / results.manifest[:16]
    other_runs = [run for run in index.runs() if run.folder != target]
    with folders.new_folder(index.place("runs") / target.name) as folder:
        n_receptors, samples, present = _write_tables(results, folder)
        content = run_index.read_content(folder)
        older = [run for run in other_runs if run_index.is_earlier(run, path, content)]
        for run in older:
            folders.check_own(run.folder, run.about)
        rows = {}
        for name, n in present.items():
            if name in classes and index.reads(name.split(".")[1]):
                rows[name] = _write_class(index, results, name, n, folder)
        rows = {name: n for name, n in rows.items() if n}
        about = {"results": path, "manifest": results.manifest, "receptors": n_receptors, "rows": rows}
        folders.seal(folder, {**about, "samples": samples, "model": results.metadata})
    for run in older:
        index.remove(run)
    index.forget()
    moved = [run.about["results"] for run in older if run.about["results"] != path]
    origin = f" from {', '.join(moved)}" if moved else ""
    replaced = f", in place of its earlier state{origin}" if older else ""
    twice = run_index.samples_twice([run for run in other_runs if run not in older], content)
    n_samples = counted(len(samples), "sample")
    added = f"{path}: {counted(n_receptors, 'receptor')} of {n_samples} added{replaced}"
    return "; ".join([added, *twice])


def _write_class(index: RunIndex, results: Results, name: str, n: int, folder: Path) -> int:
    """Write the vectors of the ``n`` receptors of a class; return the number of receptors that have one."""
    centres = index.class_array(name, "centres")
    vectors = np.empty((n, index.about["n_dimensions"]), np.float32)
    rows, cells = [], []
    n_before = done = 0
    progress = counter(f"receptors of {name} indexed", n)
    for vectors_path, receptors_path in zip(results.embeddings, results.receptors, strict=True):
        embedded = batches(vectors_path)
        for receptors in tables.read_batches(receptors_path, tables.BATCH):
            ids, batch_vectors = next(embedded)
            if not receptors["receptor_id"].equals(pa.chunked_array([ids])):
                raise InputError("its receptors are not those of the embeddings", file=receptors_path)
            mine = _in_class(receptors, name)
            batch_vectors = _vectors(
                index, receptors.filter(pa.array(mine)), batch_vectors[mine], name.split(".")[1]
            )
            usable = np.isfinite(batch_vectors).all(axis=1)
            vectors[done : done + usable.sum()] = batch_vectors[usable]
            cells.append(cells_of(batch_vectors[usable], centres, threads=index.threads))
            rows.append(np.flatnonzero(mine)[usable] + n_before)
            n_before, done = n_before + len(receptors), done + int(usable.sum())
            progress(len(batch_vectors))
    if done:
        (folder / name).mkdir()
        write_segment(
            folder / name, vectors[:done], np.concatenate(rows), np.concatenate(cells), len(centres)
        )
    return done


def _vectors(index: RunIndex, receptors: pa.Table, vectors: np.ndarray, chains: str) -> np.ndarray:
    """Return ``vectors``, those of the run, with those of one chain of pairs embedded here in their place."""
    if chains != "paired":
        pairs = chain_words.chain_classes(receptors) == "paired"
        if pairs.any():
            single = chain_words.on_chains(receptors.filter(pa.array(pairs)), chains)
            vectors[pairs] = index.encoder.embed(single)
    return vectors


def _write_tables(results: Results, folder: Path) -> tuple[int, dict, dict[str, int]]:
    """Write receptors and cells; return numbers of receptors, samples with metadata, receptors of a class."""
    receptors = pa.concat_tables(
        [tables.read(path, schema.INDEXED_RECEPTORS.names) for path in results.receptors]
    )
    cells, samples = _cells(results.folder, receptors["receptor_id"].combine_chunks())
    rows = cells["receptor_row"].to_numpy()
    for number, start in enumerate(range(0, len(receptors), PART)):
        begin, end = np.searchsorted(rows, [start, start + PART])
        tables.write(receptors.slice(start, PART), folder / f"receptors/{number:04d}.parquet")
        tables.write(cells.slice(begin, end - begin), folder / f"cells/{number:04d}.parquet")
    run_index.write_content(results.folder, folder)
    sizes = {name: int(_in_class(receptors, name).sum()) for name in CLASSES}
    return len(receptors), samples, {name: n for name, n in sizes.items() if n}


def _in_class(receptors: pa.Table, name: str) -> np.ndarray:
    """Return whether each receptor is of a species and has the chains of a class."""
    species, chains = name.split(".")
    return pc.equal(receptors["species"], species).to_numpy() & chain_words.has_chains(receptors, chains)


def _cells(results: Path, receptor_ids: pa.Array) -> tuple[pa.Table, dict]:
    """Return `airrvec.core.schema.INDEXED_CELLS` of all samples, by receptor, and the metadata of samples."""
    prefixes = identity.id_prefixes(receptor_ids)
    order = np.argsort(prefixes)
    parts, samples = [schema.INDEXED_CELLS.empty_table()], {}
    for path in sorted(results.glob("cells/*.parquet")):
        names = tables.arrow_schema(path).names
        further = [name for name in names if name not in schema.CELLS.names]
        labels = [name for name in LABELS if name in schema.CELLS.names]
        counted = [name for name in ("abundance", "count_unit") if name in names]
        cells = tables.read(path, ["receptor_id", "sample_id", *labels, *further, *counted])
        if not len(cells):
            continue
        ids = cells["receptor_id"].combine_chunks()
        place = np.searchsorted(prefixes, identity.id_prefixes(ids), sorter=order)
        row = order[np.minimum(place, len(order) - 1)]
        if not receptor_ids.take(pa.array(row)).equals(ids):
            raise InputError("cells have receptors that the receptors of the run lack", file=path)
        samples[cells["sample_id"][0].as_py()] = {name: cells[name][0].as_py() for name in further}
        columns = {name: cells[name] for name in ("sample_id", *labels)}
        columns |= _calls(results, path, len(cells))
        counted_by = pa.table({"receptor_row": row, **columns, "n_cells": _n_cells(cells)})
        keys = schema.INDEXED_CELLS.names[:-1]
        grouped = counted_by.group_by(keys, use_threads=False).aggregate([("n_cells", "sum")])
        grouped = grouped.rename_columns([*grouped.column_names[:-1], "n_cells"])
        parts.append(grouped.select(schema.INDEXED_CELLS.names).cast(schema.INDEXED_CELLS))
    cells = pa.concat_tables(parts).combine_chunks()
    return cells.take(pa.array(np.argsort(cells["receptor_row"].to_numpy(), kind="stable"))), samples


def _n_cells(cells: pa.Table) -> np.ndarray:
    """Return the cells of each row: 1 where something else is counted, or the version has no units."""
    if "count_unit" not in cells.column_names or cells["count_unit"][0].as_py() != "cells":
        return np.ones(len(cells), np.int64)
    return cells["abundance"].fill_null(1).to_numpy()


def _calls(results: Path, cells: Path, n: int) -> dict:
    """Return the called epitopes of the cells of a sample, null without annotation."""
    path = results / "annotation" / cells.name
    nulls = pa.nulls(n, pa.string())
    if not path.is_file():
        return {"call_epitope": nulls, "call_antigen_species": nulls}
    calls = tables.read(path, ["call", "epitope", "antigen_species"])
    is_called = pc.equal(calls["call"], schema.HAS_CALL)
    none = pa.scalar(None, pa.string())
    return {
        f"call_{name}": pc.if_else(is_called, calls[name], none) for name in ("epitope", "antigen_species")
    }
