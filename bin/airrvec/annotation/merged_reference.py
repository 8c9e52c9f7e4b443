"""Several labelled tables merged into one reference: pairs of receptor and epitope, conflicts, accounting."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from airrvec.annotation.reference_set import mhc_names, require_labels
from airrvec.core import schema, tables
from airrvec.core.antigens import study_id, vdjdb_score
from airrvec.core.errors import InputError
from airrvec.core.progress import step
from airrvec.evaluation import study_identity
from airrvec.input.mhc_names import count_unknown_mhc, mhc_alleles, unknown_mhc_warning

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

SHARED = 8  # residues that two peptides must share without a gap, and least length of a variant
_PEPTIDE = re.compile("[ACDEFGHIKLMNPQRSTVWY]+")


@step("groups of epitopes")
def epitope_groups(
    epitopes: Sequence[str], antigen_species: Sequence[str | None] | None = None
) -> np.ndarray:
    """
    Return the group of each epitope: connected components of the links below.

    Two peptides are linked if, laid over each other without a gap, they agree in all places that both have,
    and these are at least 8 (one contains the other, or their ends overlap): ``EAAGIGILTV`` and
    ``AAGIGILTV``. Two peptides of one length, at least 8, are also linked if they differ in one residue
    (``EAAGIGILTV`` and ``ELAGIGILTV``), unless they are of different species.

    Parameters
    ----------
    epitopes : sequence of str, length n
        Text other than the 20 residues, such as a modified peptide, is linked with its equals only. Upper
        and lower case are one.
    antigen_species : sequence of str or None, length n, optional
        Compared without case, blanks and punctuation; an unknown species differs from none.

    Returns
    -------
    ndarray of int64, shape (n,)
        Numbers from 0 in order of first appearance.

    Examples
    --------
    >>> epitope_groups(["GILGFVFTL", "GILGFVFTV", "NLVPMVATV"], [None, None, None]).tolist()
    [0, 0, 1]
    """
    texts = [epitope.strip().upper() for epitope in epitopes]
    species = [_word(name) for name in antigen_species] if antigen_species is not None else [""] * len(texts)
    links = [*_equal(texts), *_overlapping(texts), *_variants(texts, species)]
    rows, columns = np.array(links, np.int64).reshape(-1, 2).T
    graph = coo_array((np.ones(len(rows), bool), (rows, columns)), (len(texts), len(texts)))
    number = connected_components(graph, directed=False)[1] if texts else np.empty(0, np.int64)
    _, first, group = np.unique(number, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first)).astype(np.int64)[group]


def _word(species: str | None) -> str:
    """Return a species without case, blanks and punctuation; "" if it is unknown."""
    return re.sub(r"[\W_]", "", (species or "").lower()) if isinstance(species, str) else ""


def _equal(texts: list[str]) -> Iterator[tuple[int, int]]:
    first: dict[str, int] = {}
    for row, text in enumerate(texts):
        yield first.setdefault(text, row), row


def _overlapping(texts: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the pairs that agree wherever one lies over the other, with at least `SHARED` residues."""
    places = defaultdict(set)  # word → row, position
    for row, text in enumerate(texts):
        if _PEPTIDE.fullmatch(text):
            for start in range(len(text) - SHARED + 1):
                places[text[start : start + SHARED]].add((row, start))
    shifts = {
        (one, other, at - there)
        for shared in places.values()
        for (one, at), (other, there) in combinations(sorted(shared), 2)
        if one != other
    }
    for one, other, shift in shifts:
        left, right = texts[one][max(shift, 0) :], texts[other][max(-shift, 0) :]
        if all(a == b for a, b in zip(left, right, strict=False)):
            yield one, other


def _variants(texts: list[str], species: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of one length that differ in one residue and are not of different species."""
    masked = defaultdict(list)  # position, peptide without its residue → rows
    for row, text in enumerate(texts):
        if len(text) >= SHARED and _PEPTIDE.fullmatch(text):
            for place in range(len(text)):
                masked[place, text[:place], text[place + 1 :]].append(row)
    for rows in masked.values():
        for one, other in combinations(rows, 2):
            if not species[one] or not species[other] or species[one] == species[other]:
                yield one, other


# --- Several labelled tables merged into one reference: pairs of receptor and epitope, conflicts, accounting

_PAIR = ["receptor_id", "epitope"]
_EVIDENCE = ["clonotype_id", "epitope"]
_MHC = ["mhc_a", "mhc_b"]
_MOST_FREQUENT = ["antigen_gene", "antigen_species", "mhc_class", *_MHC]


@dataclass(frozen=True)
class SourceTable:
    """
    A labelled table, standardised.

    Attributes
    ----------
    name : str
        Name in ``sources``; each table has another.
    cells, receptors : pyarrow.Table
        As `airrvec.input.normalise.Normalised` has them.
    counts : dict
        Of `airrvec.input.normalise.Normaliser.summary`: ``format``, ``rows_in``, ``rows_rejected``.
    """

    name: str
    cells: pa.Table
    receptors: pa.Table
    counts: dict


@dataclass(frozen=True)
class MergedReference:
    """
    Merged reference.

    Attributes
    ----------
    cells : pyarrow.Table
        Labelled cells of all tables, one row per study, with MHC in one spelling and their pair's score.
    receptors : pyarrow.Table
        Distinct receptors of all tables.
    pairs, conflicts, sources : pyarrow.Table
        `airrvec.core.schema.MERGED_REFERENCE`, `airrvec.core.schema.REFERENCE_CONFLICTS` and
        `airrvec.core.schema.REFERENCE_SOURCES`.
    same_studies : pyarrow.Table
        `airrvec.core.schema.SAME_STUDIES`; ``n_studies`` counts them once, all else keeps their names.
    warnings : list of str
        For the user.
    """

    cells: pa.Table
    receptors: pa.Table
    pairs: pa.Table
    conflicts: pa.Table
    sources: pa.Table
    same_studies: pa.Table
    warnings: list[str]


@step("merging references")
def merge(sources: list[SourceTable]) -> MergedReference:
    """
    Merge labelled tables by receptor and epitope, without receptors whose α and β junction are equal.

    Of several tables, each is a study of its own for its labels that name no study.

    Raises
    ------
    InputError
        If no table has a label, two tables have one name, or rows do not add up (a bug in airrvec).
    """
    names = [source.name for source in sources]
    if len(set(names)) < len(names):
        raise InputError(f"two tables of the reference have one name: {', '.join(names)}")
    receptors = tables.distinct_receptors(pa.concat_tables([source.receptors for source in sources]))
    labelled = [_labelled_cells(source) for source in sources]
    cells = pa.concat_tables(labelled, promote_options="default")
    require_labels(cells, None, ", ".join(names))
    if len(sources) > 1:  # as one study for all tables, such labels would all be in one fold
        cells = _replaced(cells, "reference_id", pc.coalesce(cells["reference_id"], cells["sample_id"]))
    scored = _highest_scores(cells)
    at = cells.column_names.index("confidence")
    cells = cells.set_column(at, "confidence", scored)
    columns = ["sample_id", *_PAIR, "clonotype_id", *schema.REFERENCE_LABELS[1:], "label_method"]
    rows = cells.select(columns).to_pandas()
    same = study_identity.same_studies(cells, receptors)
    united = study_identity.unite(cells, same)["reference_id"].to_pandas()
    rows = rows.assign(mhc=mhc_names(rows), united=united)
    pairs = _pairs(rows, receptors)
    table = _table(pairs, schema.MERGED_REFERENCE)
    n_groups = pairs.groupby("clonotype_id")["epitope_group"].transform("nunique")
    conflicts = pairs.assign(n_groups=n_groups)[n_groups > 1].sort_values(["clonotype_id", *_PAIR])
    unknown = {name: count_unknown_mhc(part) for name, part in zip(names, labelled, strict=True)}
    accounts = [_account(source, part, rows, pairs) for source, part in zip(sources, labelled, strict=True)]
    for account in accounts:
        account["labels_without_molecule"] = unknown[account["source"]].total()
    return MergedReference(
        cells,
        receptors,
        table,
        _table(conflicts, schema.REFERENCE_CONFLICTS),
        pa.Table.from_pylist(accounts, schema=schema.REFERENCE_SOURCES),
        same,
        [
            *filter(None, [study_identity.sentence(same.to_pylist())]),
            *(f"{name}: {unknown_mhc_warning(counts)}" for name, counts in unknown.items() if counts),
            *(
                f"{name}: no row has an epitope"
                for name, part in zip(names, labelled, strict=True)
                if not len(part)
            ),
        ],
    )


def _labelled_cells(source: SourceTable) -> pa.Table:
    """Return the usable cells with an epitope, once for each study of a label that names several."""
    cells = source.cells.filter(pc.and_not(pc.is_valid(source.cells["epitope"]), _copied(source)))
    cells = _replaced(cells, "sample_id", pa.repeat(pa.scalar(source.name, pa.string()), len(cells)))
    for name in _MHC:
        cells = _replaced(cells, name, mhc_alleles(cells[name]))
    reference_ids = cells["reference_id"].to_pylist()
    studies_of_text: dict[str | None, Sequence[str | None]] = {
        text: _split(text, study_id) or (None,) for text in set(reference_ids)
    }
    studies = [studies_of_text[text] for text in reference_ids]
    place = np.repeat(np.arange(len(studies)), [len(words) for words in studies])
    # A cell counts its input rows once, in the first of its studies.
    first = np.append(True, place[1:] != place[:-1])[: len(place)]
    cells = cells.take(pa.array(place))
    cells = _replaced(cells, "input_rows", pc.if_else(pa.array(first), cells["input_rows"], 0))
    words = [word for several in studies for word in several]
    return _replaced(cells, "reference_id", pa.array(words, pa.string()))


def _copied(source: SourceTable) -> pa.ChunkedArray:
    """Return whether the junctions of each cell are equal, so that one was copied by mistake."""
    return pc.fill_null(source.cells["equal_junctions"], False)


def _split(text: str | None, spelling=str.strip) -> list[str]:
    """Return the distinct parts of a text joined by ``;``, in order, without those that are no value."""
    parts = (spelling(part) for part in (text or "").split(";"))
    return list(dict.fromkeys(part for part in parts if part))


def _replaced(table: pa.Table, name: str, values) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, values)


def _highest_scores(cells: pa.Table) -> pa.Array:
    """
    Return the confidence of each cell: the highest score of its receptor, MHC and epitope.

    As in a release of VDJdb, records of one receptor, MHC and epitope share the highest of their scores.
    A confidence that is no score stays, if no record has one.
    """
    rows = cells.select([*_PAIR, *_MHC, "confidence"]).to_pandas()
    keys = [rows[name] for name in (*_PAIR, *_MHC)]
    best = pd.Series(vdjdb_score(rows["confidence"])).groupby(keys, dropna=False)
    texts = best.transform("max").map(lambda score: None if np.isnan(score) else str(int(score)))
    kept = texts.astype(object).where(texts.notna(), rows["confidence"])
    return pa.array(kept, pa.string(), from_pandas=True)


def _pairs(rows: pd.DataFrame, receptors: pa.Table) -> pd.DataFrame:
    """
    Return one row per receptor and epitope, sorted, with the columns of `schema.MERGED_REFERENCE`.

    Receptors that differ only in alleles share their sources, studies, methods and antigens: many tables
    give no alleles.
    """
    methods = rows[_EVIDENCE].assign(label_method=rows["label_method"].map(_words)).explode("label_method")
    evidence = rows.groupby(_EVIDENCE)["united"].nunique().to_frame("n_studies")
    for name in _MOST_FREQUENT:
        evidence[name] = tables.most_frequent(rows, _EVIDENCE, name)
    for name, column in {"mhc": "mhc", "sources": "sample_id", "studies": "reference_id"}.items():
        evidence[name] = tables.joined(rows, _EVIDENCE, column)
    evidence["methods"] = tables.joined(methods, _EVIDENCE, "label_method")
    evidence = evidence.reset_index()

    names = sorted(rows["epitope"].unique())
    species = tables.most_frequent(rows, ["epitope"], "antigen_species").reindex(names)
    groups = epitope_groups(names, list(species.where(species.notna(), None)))
    group_of_epitope = dict(zip(names, groups, strict=True))
    evidence["epitope_group"] = evidence["epitope"].map(group_of_epitope)
    scores = rows.assign(confidence=vdjdb_score(rows["confidence"]))
    pairs = scores.groupby([*_EVIDENCE, "receptor_id"])["confidence"].max().reset_index()
    pairs = pairs.merge(evidence, on=_EVIDENCE, validate="many_to_one")
    described = receptors.select(["receptor_id", "species", *schema.RECEPTOR_FIELDS]).to_pandas()
    return pairs.merge(described, on="receptor_id", validate="many_to_one").sort_values(_PAIR)


def _words(methods: str | None) -> list[str] | None:
    return _split(methods) or None if isinstance(methods, str) else None


def _table(rows: pd.DataFrame, table_schema: pa.Schema) -> pa.Table:
    columns = [
        pa.array(
            rows[field.name].astype("Int64") if pa.types.is_integer(field.type) else rows[field.name],
            field.type,
            from_pandas=True,
        )
        for field in table_schema
    ]
    return pa.table(columns, schema=table_schema)


def _account(source: SourceTable, labelled: pa.Table, rows: pd.DataFrame, pairs: pd.DataFrame) -> dict:
    """Return the row of a table in `schema.REFERENCE_SOURCES`."""
    own = rows[rows["sample_id"] == source.name]
    names = pairs.drop_duplicates(_EVIDENCE)["sources"].str.split(";")
    is_unique = names[names.map(lambda several: source.name in several)].str.len() == 1
    counts = source.counts
    merged = pc.sum(labelled["input_rows"], min_count=0).as_py()
    unlabelled = pc.is_null(source.cells["epitope"])
    parts = {"unlabelled": unlabelled, "equal_junctions": pc.and_not(_copied(source), unlabelled)}
    left_out = {
        f"rows_{part}": pc.sum(source.cells.filter(mask)["input_rows"], min_count=0).as_py()
        for part, mask in parts.items()
    }
    account = {
        "source": source.name,
        "format": counts["format"],
        "rows": counts["rows_in"],
        "rows_rejected": counts["rows_rejected"],
        **left_out,
        "rows_merged": merged,
        "receptors": own["receptor_id"].nunique(),
        "epitopes": own["epitope"].nunique(),
        "studies": own["reference_id"].nunique(),
        "pairs": len(is_unique),
        "new_pairs": int(is_unique.sum()),
        "shared_pairs": int((~is_unique).sum()),
    }
    if account["rows"] != sum(number for name, number in account.items() if name.startswith("rows_")):
        raise InputError(
            f"{source.name}: the rows of the reference do not add up: {account}",
            fix="This is a bug in airrvec: please report it with the file",
        )
    return account
