"""Reference set: the labelled receptors that annotation compares samples with."""

from dataclasses import dataclass, field

from airrvec.core import identity, schema, tables
from airrvec.core.antigens import ANTIGEN_FIELDS, from_study, mhc_name, study_ids, vdjdb_score
from airrvec.core.chains import CHAIN_CLASSES, has_chains, has_equal_junctions, on_chains
from airrvec.core.errors import InputError
from airrvec.core.progress import step

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

NO_STUDY = "none"  # the study of labels that name none

# Description of all labels of a receptor, beside its epitopes and studies.
DESCRIPTION = ("antigen_gene", "antigen_species", "mhc")


@dataclass(frozen=True)
class ReferenceSet:
    """
    Reference set: labelled receptors, reduced to one chain class.

    Attributes
    ----------
    receptors : pyarrow.Table
        `airrvec.core.schema.RECEPTORS`, one row per clonotype; ``clonotype_id`` depends on these chains only.
        Then `DESCRIPTION`: the distinct values of its labels, joined by ``;``, or null.
    epitopes : DataFrame
        ``epitope``, `ANTIGEN_FIELDS` (the most frequent value of its receptors), ``n_references``,
        ``n_studies``; sorted by ``epitope``.
    labels : csr_array of float32, shape (n_receptors, n_epitopes)
        1 where the receptor binds the epitope.
    studies : csr_array of float32, shape (n_receptors, n_studies)
        1 where the study reports the receptor; receptors without a study share the study ``none``.
    study_names : list of str
    alleles : DataFrame
        From `count_alleles`; `take` leaves it as it is.
    confidence : ndarray of float32, shape (n_receptors,), or None
        VDJdb's highest score (0 to 3) of the receptor's labels; NaN if no source gives one.
    """

    receptors: pa.Table
    epitopes: pd.DataFrame
    labels: sparse.csr_array
    studies: sparse.csr_array
    study_names: list[str]
    alleles: pd.DataFrame = field(default_factory=pd.DataFrame)
    confidence: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.receptors)

    def take(self, rows: np.ndarray) -> "ReferenceSet":
        """Return the reference set of these rows; all epitopes stay, and their counts are updated."""
        labels, studies = self.labels[rows], self.studies[rows]
        return ReferenceSet(
            self.receptors.take(pa.array(rows)),
            _counted(self.epitopes, labels, studies),
            labels,
            studies,
            self.study_names,
            self.alleles,
            None if self.confidence is None else self.confidence[rows],
        )


@step("references")
def build_reference_set(
    cells: pa.Table,
    receptors: pa.Table,
    *,
    chains: str,
    species: str,
    exclude_references: str | None = None,
    innate: bool = False,
) -> ReferenceSet:
    """
    Return the labelled receptors that have the given chains, without those whose junctions are equal.

    Parameters
    ----------
    cells, receptors : pyarrow.Table
        ``cells`` with ``epitope``, and their receptors, each at least once.
    chains : {"paired", "alpha", "beta"}
        Receptors need these chains and are compared by them only: β chains of paired receptors are
        references for β chains. Receptors whose chains differ only in alleles are one reference.
    species : str
        Species of the receptors.
    exclude_references : str, optional
        Cells whose ``reference_id`` contains this text are excluded.
    innate : bool
        Keep innate-like receptors, whose epitopes are doubtful (`airrvec.core.innate`).
    """
    cells = select_labelled_cells(cells, exclude_references)
    receptors = without_copies(tables.distinct_receptors(receptors))
    if not innate:
        receptors = conventional(receptors)
    usable = has_chains(receptors, chains)
    usable &= pc.equal(receptors["species"], species).to_numpy(zero_copy_only=False)
    usable &= pc.is_in(receptors["receptor_id"], cells["receptor_id"].combine_chunks()).to_numpy()
    shown = on_chains(receptors.filter(pa.array(usable)).select(schema.RECEPTORS.names), chains)
    clonotype = pa.array(identity.clonotype_ids(shown), pa.string())
    shown = shown.set_column(shown.column_names.index("clonotype_id"), "clonotype_id", clonotype)
    group, first = identity.number_clonotypes(shown)
    row_of = pd.Series(group, index=shown["receptor_id"].to_numpy())

    columns = ["receptor_id", "epitope", "confidence", *ANTIGEN_FIELDS]
    pairs = cells.select(columns).append_column("reference_id", study_ids(cells["reference_id"])).to_pandas()
    pairs = pairs[pairs["receptor_id"].isin(row_of.index)].fillna({"reference_id": NO_STUDY})
    rows = row_of.loc[pairs["receptor_id"]].to_numpy() if len(pairs) else np.empty(0, np.int64)
    epitopes = pd.DataFrame({"epitope": np.unique(pairs["epitope"].to_numpy(str)).astype(object)})
    for name in ANTIGEN_FIELDS:
        field_values = (
            tables.most_frequent(pairs, ["epitope"], name).reindex(epitopes["epitope"]).to_numpy(object)
        )
        epitopes[name] = np.where(pd.isna(field_values), None, field_values)
    labels, _ = _indicator(rows, pairs["epitope"], len(first))
    studies, names = _indicator(rows, pairs["reference_id"], len(first))
    shown = shown.take(first)
    for name, values in _described(pairs, rows, len(first)).items():
        shown = shown.append_column(name, values)
    confidence = np.full(len(first), np.nan, np.float32)
    np.fmax.at(confidence, rows, vdjdb_score(pairs["confidence"]))
    alleles = count_alleles(pairs.assign(receptor_id=rows))
    counted = _counted(epitopes, labels, studies)
    return ReferenceSet(shown, counted, labels, studies, names, alleles, confidence)


def count_alleles(labels: pd.DataFrame) -> pd.DataFrame:
    """
    Return how often the labels of an epitope name each MHC.

    Parameters
    ----------
    labels : DataFrame
        ``receptor_id``, ``epitope``, ``reference_id``, ``mhc_a``, ``mhc_b``, one row per label.

    Returns
    -------
    DataFrame
        ``epitope``, ``mhc`` (`airrvec.core.antigens.mhc_name`), ``n_references``, ``n_studies``; without
        labels that name no MHC; sorted by the first two.
    """
    named = labels.assign(mhc=mhc_names(labels)).fillna({"reference_id": NO_STUDY}).dropna(subset="mhc")
    counts = named.groupby(["epitope", "mhc"], sort=True).agg(
        n_references=("receptor_id", "nunique"), n_studies=("reference_id", "nunique")
    )
    return counts.reset_index()


def mhc_names(pairs: pd.DataFrame) -> pd.Series:
    """Return both chains of the MHC of each label, ``mhc_a`` and ``mhc_b``, as one text, or None."""
    chains = pairs[["mhc_a", "mhc_b"]].astype(object).where(pairs[["mhc_a", "mhc_b"]].notna(), None)
    return pd.Series([mhc_name(*both) for both in chains.itertuples(index=False)], pairs.index, object)


def _described(pairs: pd.DataFrame, rows: np.ndarray, n_rows: int) -> dict[str, pa.Array]:
    """Return the distinct values of `DESCRIPTION` in the labels of each receptor, sorted, joined by ``;``."""
    pairs = pairs.assign(row=rows, mhc=mhc_names(pairs))
    columns = {}
    for name in DESCRIPTION:
        joined = tables.joined(pairs, ["row"], name).reindex(range(n_rows))
        columns[name] = pa.array(joined.tolist(), pa.string(), from_pandas=True)
    return columns


def conventional(receptors: pa.Table) -> pa.Table:
    """Return the receptors that are not innate-like."""
    return receptors.filter(pc.is_null(receptors["innate_like"]))


def without_copies(receptors: pa.Table) -> pa.Table:
    """Return the receptors whose α and β junction differ: of equal ones, one was copied by mistake."""
    return receptors.filter(pa.array(~has_equal_junctions(receptors)))


def select_labelled_cells(cells: pa.Table, exclude_references: str | None) -> pa.Table:
    """Return the cells with an epitope, except those whose ``reference_id`` contains a text."""
    cells = cells.filter(pc.is_valid(cells["epitope"]))
    if exclude_references:
        cells = cells.filter(pc.invert(_has_reference(cells, exclude_references)))
    return cells


def require_labels(cells: pa.Table, exclude_references: str | None, name: str = "") -> None:
    """
    Check that cells of a reference have an epitope.

    Raises
    ------
    InputError
        If none has, or ``exclude_references`` leaves none.
    """
    if not pc.any(pc.is_valid(cells["epitope"]), min_count=0).as_py():
        raise InputError(
            f"no row of the reference has an epitope{name and f': {name}'}",
            fix="Give a table with labels, e.g. a VDJdb export, or name its epitopes in a column map",
        )
    if not len(select_labelled_cells(cells, exclude_references)):
        raise InputError(
            f"--exclude-references {exclude_references} excludes all rows of the reference", fix="Omit it"
        )


def count_innate_references(cells: pa.Table, receptors: pa.Table, species: str) -> int:
    """Return the number of labelled receptors of a species that are innate-like."""
    receptors = tables.distinct_receptors(receptors)
    is_innate = pc.and_(pc.is_valid(receptors["innate_like"]), pc.equal(receptors["species"], species))
    labelled = cells.filter(pc.is_valid(cells["epitope"]))["receptor_id"].combine_chunks()
    return pc.sum(pc.is_in(receptors.filter(is_innate)["receptor_id"], labelled), min_count=0).as_py()


def count_excluded(reference: ReferenceSet, *, exclude_references: str | None, **options) -> pd.DataFrame:
    """
    Count the references that ``exclude_references`` removes from each epitope.

    Parameters
    ----------
    reference : ReferenceSet
        From `build_reference_set` with the same options.

    Returns
    -------
    DataFrame
        As `ReferenceSet.epitopes` before the exclusion, one row per epitope; ``n_excluded``: number of its
        receptors that only excluded studies report.
    """
    full = reference
    if exclude_references:
        full = build_reference_set(**options, exclude_references=None)
    left = reference.epitopes.set_index("epitope")["n_references"]
    epitopes = full.epitopes
    n_left = left.reindex(epitopes["epitope"], fill_value=0).to_numpy()
    return epitopes.assign(n_excluded=epitopes["n_references"].to_numpy() - n_left)


def count_excluded_cells(cells: pa.Table, exclude_references: str | None) -> int:
    """Return the number of cells with an epitope that ``exclude_references`` excludes."""
    if not exclude_references:
        return 0
    excluded = _has_reference(cells, exclude_references)
    return pc.sum(pc.and_(excluded, pc.is_valid(cells["epitope"])), min_count=0).as_py()


def _has_reference(cells: pa.Table, text: str) -> pa.ChunkedArray:
    """Return whether each cell's ``reference_id`` contains the text, ignoring case and spelling."""
    return from_study(cells["reference_id"], text)


def _indicator(rows: np.ndarray, words: pd.Series, n_rows: int) -> tuple[sparse.csr_array, list[str]]:
    """Return a matrix with 1 for each pair of row and word, and its columns, the sorted words."""
    names, column = np.unique(words.to_numpy(str), return_inverse=True)
    matrix = sparse.csr_array((np.ones(len(rows), np.float32), (rows, column)), (n_rows, len(names)))
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix, names.tolist()


def _counted(epitopes: pd.DataFrame, labels, studies) -> pd.DataFrame:
    n_studies = (labels.T @ studies).tocsr()
    return epitopes.assign(
        n_references=np.asarray(labels.sum(axis=0), np.int64).ravel(),
        n_studies=np.diff(n_studies.indptr).astype(np.int64),
    )


def join_words(matrix: sparse.csr_array, words: list[str]) -> np.ndarray:
    """Return the words of each row's non-zero columns, joined by ``;``."""
    names = np.array(words, object)
    return np.array(
        [
            ";".join(names[matrix.indices[start:end]])
            for start, end in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)
        ],
        object,
    )


# --- Table of reference receptors, which the column ``nearest_1_id`` of an annotation refers to


@step("table of references")
def reference_table(
    references: dict[tuple[str, str], ReferenceSet | None],
    cells: pa.Table,
    receptors: pa.Table,
    exclude_references: str | None = None,
) -> pa.Table:
    """
    Return all labels of the reference receptors.

    Parameters
    ----------
    references : dict
        Reference sets by species and chain class; None for a class without references.
    cells, receptors, exclude_references
        Inputs of `build_reference_set` that made these reference sets.

    Returns
    -------
    pyarrow.Table
        `airrvec.core.schema.ANNOTATION_REFERENCE`, sorted by ``receptor_id``, without receptors of no class;
        ``suspect`` is null (`airrvec.annotation.suspect_labels.marked`).
    """
    receptors = without_copies(tables.distinct_receptors(receptors))
    for chains in CHAIN_CLASSES:
        in_class = [reference for (_, chain_class), reference in references.items() if chain_class == chains]
        receptors = receptors.append_column(f"{chains}_id", _representative_ids(receptors, in_class, chains))
    used = pc.is_valid(pc.coalesce(*(receptors[f"{chains}_id"] for chains in CHAIN_CLASSES)))
    labels = schema.REFERENCE_LABELS
    names = pa.schema([(name, pa.string()) for name in ("receptor_id", *labels)])
    cells = select_labelled_cells(cells, exclude_references).select(names.names).cast(names)
    evidence = cells.group_by(["receptor_id", *labels]).aggregate([([], "count_all")])
    evidence = evidence.rename_columns([*evidence.column_names[:-1], "n_cells"])
    joined = evidence.join(
        receptors.filter(used).drop_columns("chain_pairing"), "receptor_id", join_type="inner"
    )
    joined = joined.append_column("suspect", pa.nulls(len(joined), pa.string()))
    order = [(name, "ascending") for name in ("receptor_id", "epitope", "reference_id")]
    return joined.select(schema.ANNOTATION_REFERENCE.names).cast(schema.ANNOTATION_REFERENCE).sort_by(order)


def _representative_ids(receptors: pa.Table, references: list[ReferenceSet | None], chains: str) -> pa.Array:
    """Return the receptor_id that represents each receptor in a class: the first one of its clonotype."""
    parts = [
        reference.receptors.select(["receptor_id", "clonotype_id"]) for reference in references if reference
    ]
    if not parts:
        return pa.nulls(len(receptors), pa.string())
    known = pa.concat_tables(parts).combine_chunks()
    clonotype_ids = identity.clonotype_ids(on_chains(receptors.select(schema.RECEPTORS.names), chains))
    row = pc.index_in(clonotype_ids, known["clonotype_id"].combine_chunks())
    row = pc.if_else(pa.array(has_chains(receptors, chains)), row, None)
    return known["receptor_id"].combine_chunks().take(row)
