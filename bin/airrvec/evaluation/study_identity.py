"""
Studies that are the same by their content: their names are no identity.

A publication has a PubMed id in one database and a number in another, and a release may rename it. Two of its
names would be two studies, and a fold of a cross-validation would hold half of it.

Two studies are the same if they share at least `SHARED` pairs, and at least `SHARE` of the pairs of the
smaller one. A pair is a receptor and an epitope; the receptor is compared by its β junction, or by its α
junction if it has no other, because databases differ in genes, alleles and in whether they keep the α chain.
What is the same as the same is the same. A name without an address (neither a PubMed id nor a DOI nor a link:
a table without studies, or a word of the user) may be a collection of many studies, and joins others only if
these are one.
"""

from collections import defaultdict
from collections.abc import Sequence

from airrvec.core import schema, tables
from airrvec.core.antigens import from_study, study, study_ids
from airrvec.core.progress import step
from airrvec.core.tables import map_distinct
from airrvec.core.terminal import counted

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse
from scipy.sparse.csgraph import connected_components

SHARED = 10  # pairs that two studies share at least
SHARE = 0.5  # of the pairs of the smaller one
N_NAMED = 3  # studies that a sentence names


@step("studies with the same content")
def same_studies(cells: pa.Table, receptors: pa.Table, exclude_references: str | None = None) -> pa.Table:
    """
    Return the studies that have the same content as others.

    Parameters
    ----------
    cells, receptors : pyarrow.Table
        Labelled cells, each of one study, and their receptors.
    exclude_references : str, optional
        A study whose name contains this text gives its name to those that are the same, so that all are
        excluded.

    Returns
    -------
    pyarrow.Table
        `airrvec.core.schema.SAME_STUDIES`, by ``same_as``; the study that gives its name is first.
    """
    pairs = _pairs(cells, receptors)
    names, number = np.unique(pairs["study"].to_numpy(str), return_inverse=True)
    texts = names.tolist()
    key = pd.factorize(pairs["pair"])[0]
    has_pair = sparse.csr_array((np.ones(len(key)), (number, key)), (len(names), key.max(initial=-1) + 1))
    n_pairs = np.asarray(has_pair.sum(axis=1)).ravel()
    shared = sparse.triu(has_pair @ has_pair.T, k=1).tocoo()
    least = np.maximum(SHARED, SHARE * np.minimum(n_pairs[shared.row], n_pairs[shared.col]))
    is_same = shared.data >= least
    links = shared.row[is_same], shared.col[is_same]
    group = _groups(texts, n_pairs, *links)
    common = np.zeros(len(names))
    within = group[links[0]] == group[links[1]]
    for end in links:
        np.maximum.at(common, end[within], shared.data[is_same][within])
    excluded = (
        from_study(pa.array(names, pa.string()), exclude_references).to_numpy(zero_copy_only=False)
        if exclude_references
        else np.zeros(len(names), bool)
    )
    members: dict[int, list[int]] = defaultdict(list)
    for row in np.flatnonzero(np.bincount(group, minlength=len(names))[group] > 1):
        members[group[row]].append(int(row))
    rows = []
    for several in members.values():
        several.sort(key=lambda row: (not excluded[row], *_rank(texts[row]), -n_pairs[row], texts[row]))
        rows += [(texts[row], texts[several[0]], n_pairs[row], common[row]) for row in several]
    frame = pd.DataFrame(rows, columns=schema.SAME_STUDIES.names).sort_values("same_as", kind="stable")
    return pa.Table.from_pandas(frame, schema.SAME_STUDIES, preserve_index=False, safe=False)


def _pairs(cells: pa.Table, receptors: pa.Table) -> pd.DataFrame:
    """Return the distinct ``study`` and ``pair`` (junction and epitope, as text) of labels that name both."""
    labels = cells.filter(pc.and_(pc.is_valid(cells["epitope"]), pc.is_valid(cells["reference_id"])))
    labels = labels.select(["receptor_id", "epitope", "reference_id"])
    receptors = tables.distinct_receptors(receptors)
    row = pc.index_in(labels["receptor_id"], receptors["receptor_id"].combine_chunks())
    alpha, beta = (receptors[schema.field(locus, "junction_aa")].cast(pa.string()) for locus in schema.LOCI)
    junction = pc.coalesce(beta, pc.binary_join_element_wise("a", alpha, "")).take(row)
    pair = pc.binary_join_element_wise(junction, labels["epitope"].cast(pa.string()), "\t")
    table = {"study": study_ids(labels["reference_id"]), "pair": pair}
    return pa.table(table).to_pandas().dropna().drop_duplicates()


def _groups(names: Sequence[str], n_pairs: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the number of the group of each study; ``first`` and ``second`` are the ends of the links."""
    has_address = np.array([study(name).address is not None for name in names], bool)
    among = has_address[first] & has_address[second]
    graph = sparse.coo_array(
        (np.ones(among.sum(), bool), (first[among], second[among])), (len(names), len(names))
    )
    group = connected_components(graph, directed=False)[1] if len(names) else np.empty(0, np.int64)
    placed = has_address.copy()
    for row in sorted(np.flatnonzero(~has_address), key=lambda row: (-n_pairs[row], row)):
        linked = np.concatenate([second[first == row], first[second == row]])
        near = np.unique(group[linked[placed[linked]]])
        if len(near) == 1:
            group[row] = near[0]
        placed[row] = True
    return group


def _rank(name: str) -> tuple[bool, bool]:
    """Return the order of names in a group: PubMed ids, then addresses, then words."""
    return not name.startswith("PMID:"), study(name).address is None


def unite(cells: pa.Table, same: pa.Table) -> pa.Table:
    """Return the cells with one name for studies that are the same; ``same`` is from `same_studies`."""
    if not len(same):
        return cells
    name = dict(zip(same["study"].to_pylist(), same["same_as"].to_pylist(), strict=True))
    united = map_distinct(study_ids(cells["reference_id"]), lambda text: name.get(text, text))
    return cells.set_column(cells.column_names.index("reference_id"), "reference_id", united)


def sentence(same: list[dict]) -> str | None:
    """
    Return which studies are the same, or None if none are; ``same``: rows of `same_studies`.

    Examples
    --------
    >>> sentence([{"study": name, "same_as": "PMID:1"} for name in ("PMID:1", "mine")])
    '1 study is the same as another by its content, and counts as one with it: mine = PMID:1'
    """
    renamed = [row for row in same if row["study"] != row["same_as"]]
    if not renamed:
        return None
    shown = ", ".join(f"{row['study']} = {row['same_as']}" for row in renamed[:N_NAMED])
    more = f", and {len(renamed) - N_NAMED:,} more" if len(renamed) > N_NAMED else ""
    return (
        f"{counted(len(renamed), 'study is', 'studies are')} the same as"
        f" {'another' if len(renamed) == 1 else 'others'} by {'its' if len(renamed) == 1 else 'their'}"
        f" content, and {'counts as one with it' if len(renamed) == 1 else 'count as one with them'}:"
        f" {shown}{more}"
    )
