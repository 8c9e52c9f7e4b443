"""Functions for notebooks: ``airrvec.annotate``, ``reference``, ``clones``, ``cluster`` and ``compare``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from airrvec.app import memory
from airrvec.app.api import ColumnMap, Device, Multichain, Precision, Species
from airrvec.app.memory import Tables
from airrvec.app.performing import Done, done, reference_paths
from airrvec.app.results import Clones, Clusters, Comparison, Conditions, Reference
from airrvec.app.verbs import annotate as verbs
from airrvec.app.verbs import tables, together
from airrvec.core import schema
from airrvec.core.antigens import listed_epitopes
from airrvec.core.errors import InputError

import pandas as pd

OnFailure: TypeAlias = Literal["stop", "skip"]
# Columns of calls that `annotate` writes into ``obs``.
OBS_COLUMNS = (
    *("call", "epitope", "antigen_gene", "antigen_species", "mhc_a", "probability", "fdr", "exact_epitope"),
    *("best_epitope", "nearest_1_epitope", "nearest_1_distance"),
)


def annotate(
    data: Tables,
    reference: Tables | Reference,
    *,
    model: str | Path = "sceptr",
    annotation_fdr: float = 0.1,
    annotate_innate: bool = False,
    annotation_references: int = 10,
    exclude_references: str = "10xgenomics",
    epitopes: str | Sequence[str] | None = None,
    background: str | Path | None = None,
    background_receptors: int = 30_000,
    calibrations: str | Path | None = None,
    hla: str = "",
    device: Device = "auto",
    precision: Precision = "auto",
    seed: int = 420,
    species: Species = "homosapiens",
    multichain: Multichain = "top",
    failed_samples: OnFailure = "stop",
    format: str | None = None,
    column_map: ColumnMap | str | Path | None = None,
    threads: int | None = None,
    prefix: str = "airrvec_",
    columns: Sequence[str] | None = None,
    copy: bool = False,
    outdir: str | Path | None = None,
    overwrite: bool = False,
) -> Any:
    """
    Call the epitopes of receptors by labelled ones, with probability and false discovery rate.

    Settings that are not described have the names, defaults and meaning of docs/reference/parameters.md.

    Parameters
    ----------
    data : path, list of paths, table, AnnData, MuData, or dict of tables
        Samples: files, one samplesheet, or what `airrvec.embed` takes.
    reference : path, list of paths, table, dict of tables, or Reference
        Labelled receptors (column ``epitope``), merged if there are several, or a merged reference.
    epitopes : str or list, optional
        Epitopes that are scored for every receptor, called or not: ``score_<epitope>``.
    calibrations : str or Path, optional
        Folder of finished calibrations, or ``none``; by default that of the user's cache.
    hla : str
        HLA of the donor, such as ``"A*02:01;B*07"``.
    prefix, columns
        Of AnnData and MuData: prefix and names of the columns of ``obs``; by default `OBS_COLUMNS`, and
        the scores of ``epitopes``.
    copy : bool
        Of AnnData and MuData: write into a copy and return it.
    outdir : str or Path, optional
        Folder in which the tables are kept, as ``airrvec annotate`` writes them.
    overwrite : bool
        Replace columns of ``obs``, and files in ``outdir`` that airrvec did not write.

    Returns
    -------
    DataFrame, or None for AnnData and MuData
        `airrvec.core.schema.ANNOTATION`. Of tables in memory with their rows and index, missing for a row
        that was rejected. AnnData get columns of ``obs`` in place.

    Raises
    ------
    InputError
        If a table cannot be read, no row of the reference has an epitope or a requested one, a setting is
        wrong, or a column of ``obs`` is there already.

    Examples
    --------
    >>> import airrvec
    >>> calls = airrvec.annotate("flu.csv", "vdjdb.tsv")  # doctest: +SKIP
    >>> calls.query("call == 'called'")[["epitope", "probability", "fdr"]]  # doctest: +SKIP
    """
    arguments = {**locals()}
    for name in ("data", "reference", "prefix", "columns", "copy"):
        del arguments[name]
    data = data.copy() if copy and hasattr(data, "obsm") else data  # type: ignore[union-attr]
    cells = memory.cells_of(data)
    scores = [schema.score_column(epitope) for epitope in listed_epitopes(epitopes)]
    names = {} if cells is None else _new_columns(cells, prefix, columns, overwrite, scores)
    with (
        reference_paths(reference) as paths,
        done(verbs.annotate, data, reference=paths, **arguments) as made,
    ):
        calls = made.annotated()
    if cells is None:
        return calls
    for name, column in names.items():
        cells.obs[column] = _storable(calls[name])
    return data if copy else None


def _new_columns(
    cells: Any, prefix: str, columns: Sequence[str] | None, overwrite: bool, scores: Sequence[str]
) -> dict[str, str]:
    """Return the column of ``obs`` for each column of the calls; ``scores``: those of chosen epitopes."""
    names = (*OBS_COLUMNS, *scores) if columns is None else columns
    unknown = [name for name in names if name not in (*schema.ANNOTATION.names, *scores)]
    if unknown:
        raise InputError(f"the calls have no column '{unknown[0]}'", fix="`airrvec columns calls` lists them")
    taken = [prefix + name for name in names if prefix + name in cells.obs]
    if taken and not overwrite:
        fix = "Give another prefix, or overwrite=True"
        raise InputError(f"obs has the column '{taken[0]}' already", fix=fix)
    return {name: prefix + name for name in names}


def _storable(values: pd.Series) -> pd.Series:
    """Return a column as AnnData stores it: text as categories."""
    is_text = values.dtype == object or isinstance(values.dtype, pd.StringDtype)
    return values.astype(object).astype("category") if is_text else values


def reference(
    data: Tables,
    *,
    species: Species = "homosapiens",
    multichain: Multichain = "top",
    failed_samples: OnFailure = "stop",
    format: str | None = None,
    column_map: ColumnMap | str | Path | None = None,
    threads: int | None = None,
    outdir: str | Path | None = None,
    overwrite: bool = False,
) -> Reference:
    """
    Merge labelled tables into one reference for `annotate`.

    Parameters
    ----------
    data : path, list of paths, or dict of tables
        Labelled tables; their names are those of the sources.
    species, multichain, failed_samples, format, column_map, threads, outdir, overwrite
        As of `annotate`.

    Returns
    -------
    Reference
        ``merged``, ``conflicts``, ``sources`` and ``same_studies`` of docs/output.md.

    Raises
    ------
    InputError
        If a table cannot be read.

    Examples
    --------
    >>> import airrvec
    >>> known = airrvec.reference(["vdjdb.tsv", "iedb.csv"])  # doctest: +SKIP
    >>> airrvec.annotate("flu.csv", known)  # doctest: +SKIP
    """
    arguments = {**locals()}
    with done(tables.reference, arguments.pop("data"), **arguments) as made:
        return Reference(*map(made.table, Reference._fields))


def clones(
    data: Tables,
    *,
    clone_by: Literal["nt", "aa"] | None = None,
    species: Species = "homosapiens",
    multichain: Multichain = "top",
    failed_samples: OnFailure = "stop",
    format: str | None = None,
    column_map: ColumnMap | str | Path | None = None,
    threads: int | None = None,
    outdir: str | Path | None = None,
    overwrite: bool = False,
) -> Clones:
    """
    Count the clones of each donor.

    Parameters
    ----------
    data : path, list of paths, table, AnnData, MuData, or dict of tables
        Samples, as of `annotate`. The column ``donor`` names the donor of a sample; without it each sample is
        a donor's. Tables in memory have no nucleotides: their clones are by amino acids.
    clone_by : {"nt", "aa"}, optional
        Junctions that tell clones apart; by default nucleotides where all chains have them.
    species, multichain, failed_samples, format, column_map, threads, outdir, overwrite
        As of `annotate`.

    Returns
    -------
    Clones
        ``clones``, ``counts``, ``members`` and ``samples`` of docs/output.md; ``members`` with ``cell_id``.

    Raises
    ------
    InputError
        If a table cannot be read.

    Examples
    --------
    >>> import airrvec
    >>> airrvec.clones("samplesheet.csv").clones.nlargest(5, "n_cells")  # doctest: +SKIP
    """
    arguments = {**locals()}
    with done(together.clones, arguments.pop("data"), **arguments) as made:
        members = made.cell_ids(made.table("members"))
        return Clones(made.table("clones"), made.table("counts"), members, made.table("samples"))


def cluster(
    data: Tables,
    *,
    model: str | Path = "sceptr",
    cluster_method: Literal["leiden", "components"] = "leiden",
    cluster_chance: float = 0.01,
    clone_by: Literal["nt", "aa"] | None = None,
    hla_fields: int = 2,
    compare_by: str | None = None,
    compare_within: str | None = None,
    compare_permutations: int = 999,
    background: str | Path | None = None,
    device: Device = "auto",
    precision: Precision = "auto",
    seed: int = 420,
    species: Species = "homosapiens",
    multichain: Multichain = "top",
    failed_samples: OnFailure = "stop",
    format: str | None = None,
    column_map: ColumnMap | str | Path | None = None,
    threads: int | None = None,
    outdir: str | Path | None = None,
    overwrite: bool = False,
) -> Clusters:
    """
    Cluster receptors that are closer than expected by chance.

    Parameters
    ----------
    data : path, list of paths, table, AnnData, MuData, or dict of tables
        Samples, as of `annotate`.
    compare_by : str, optional
        Column of the metadata, constant in each sample, whose values are compared.
    format, column_map, threads, outdir, overwrite
        As of `annotate`. All others are settings of docs/reference/parameters.md.

    Returns
    -------
    Clusters
        ``clusters``, ``members`` and ``motifs``; ``hla`` if the donors' HLA is known; ``conditions`` with
        ``compare_by``. Others are None.

    Raises
    ------
    InputError
        If a table cannot be read, or a setting is wrong.

    Examples
    --------
    >>> import airrvec
    >>> result = airrvec.cluster(["p1.csv", "p2.csv"])  # doctest: +SKIP
    >>> result.clusters.nlargest(3, "n_receptors")  # doctest: +SKIP
    """
    arguments = {**locals()}
    with done(together.cluster, arguments.pop("data"), **arguments) as made:
        parts = {name: made.table(name) for name in ("clusters", "members", "motifs")}
        return Clusters(**parts, hla=made.table_or_none("hla"), conditions=_conditions(made))


def compare(
    data: Tables,
    *,
    model: str | Path = "sceptr",
    compare_by: str | None = None,
    compare_within: str | None = None,
    compare_receptors: int = 1000,
    compare_weights: Literal["clones", "cells"] = "clones",
    compare_permutations: int = 999,
    cluster_chance: float = 0.01,
    clone_by: Literal["nt", "aa"] | None = None,
    background: str | Path | None = None,
    device: Device = "auto",
    precision: Precision = "auto",
    seed: int = 420,
    species: Species = "homosapiens",
    multichain: Multichain = "top",
    failed_samples: OnFailure = "stop",
    format: str | None = None,
    column_map: ColumnMap | str | Path | None = None,
    threads: int | None = None,
    outdir: str | Path | None = None,
    overwrite: bool = False,
) -> Comparison:
    """
    Compare samples: overlap, distances of their vectors, shared receptors, diversity, conditions.

    Parameters
    ----------
    data : path, list of paths, table, AnnData, MuData, or dict of tables
        Samples, as of `annotate`.
    compare_by : str, optional
        Column of the metadata, constant in each sample, whose values are compared.
    format, column_map, threads, outdir, overwrite
        As of `annotate`. All others are settings of docs/reference/parameters.md.

    Returns
    -------
    Comparison
        The tables of docs/output.md; ``conditions`` with ``compare_by``, else None.

    Raises
    ------
    InputError
        If a table cannot be read, or a setting is wrong.

    Examples
    --------
    >>> import airrvec
    >>> airrvec.compare("samplesheet.csv", compare_by="treatment").conditions.tests  # doctest: +SKIP
    """
    arguments = {**locals()}
    with done(together.compare, arguments.pop("data"), **arguments) as made:
        *names, _ = Comparison._fields
        return Comparison(**{name: made.table(name) for name in names}, conditions=_conditions(made))


def _conditions(made: Done) -> Conditions | None:
    if not made.work.options.compare_by:
        return None
    return Conditions(*map(made.table, Conditions._fields))
