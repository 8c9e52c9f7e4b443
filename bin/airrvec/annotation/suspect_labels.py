"""Labels of the reference that there is a reason to doubt: a row a label, with reason and evidence."""

from airrvec.annotation.calibrate import Fitted
from airrvec.annotation.merged_reference import epitope_groups
from airrvec.annotation.reference_set import ReferenceSet, select_labelled_cells
from airrvec.core import schema, tables
from airrvec.core.antigens import study_ids
from airrvec.core.chains import has_equal_junctions
from airrvec.core.progress import step
from airrvec.core.terminal import counted

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

SURE = 2.0  # log odds from which the call of another epitope contradicts a label
N_NAMED = 3  # epitopes that the evidence names

CONTRADICTIONS = ["receptor_id", "species", "chains", "call", "score"]
_LABEL = ["receptor_id", "epitope", "reference_id"]


def contradictions(reference: ReferenceSet, fitted: Fitted, species: str, chains: str) -> pd.DataFrame:
    """
    Return the labelled receptors for which other studies suggest another epitope at a high score.

    The cross-validation scores a receptor by references of other studies alone. It contradicts the labels if
    the score is at least `SURE` and the epitope in no group of epitopes of the labels.

    Returns
    -------
    DataFrame
        `CONTRADICTIONS`: the receptor of the class, the epitope that is called, and its score.
    """
    if not fitted.scorer.is_trained:
        return pd.DataFrame(columns=CONTRADICTIONS)
    queries = fitted.queries
    queries = queries[~queries["right"] & (queries["epitope"] >= 0) & (queries["score"] >= SURE)]
    epitopes = reference.epitopes
    group = epitope_groups(epitopes["epitope"].tolist(), _texts(epitopes["antigen_species"]))
    rows, calls = queries["row"].to_numpy(), queries["epitope"].to_numpy()
    labelled = reference.labels[rows].tocoo()
    agrees = np.zeros(len(rows), bool)
    agrees[labelled.row[group[labelled.col] == group[calls][labelled.row]]] = True
    return pd.DataFrame(
        {
            "receptor_id": reference.receptors["receptor_id"].take(pa.array(rows)).to_pylist(),
            "species": species,
            "chains": chains,
            "call": epitopes["epitope"].to_numpy()[calls],
            "score": queries["score"].to_numpy(),
        }
    )[~agrees]


def together(contradicted: list[pd.DataFrame | None]) -> pd.DataFrame:
    """Return the contradictions of all classes of chains; None is a class without any."""
    parts = [part for part in contradicted if part is not None and len(part)]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=CONTRADICTIONS)


@step("suspect labels")
def suspect_labels(
    references: pa.Table,
    cells: pa.Table,
    receptors: pa.Table,
    contradicted: pd.DataFrame,
    *,
    species: list[str],
    exclude_references: str | None = None,
    innate: bool = False,
) -> pa.Table:
    """
    Return the labels that there is a reason to doubt.

    Parameters
    ----------
    references : pyarrow.Table
        From `airrvec.annotation.reference_set.reference_table`.
    cells, receptors, exclude_references, innate
        Inputs of `airrvec.annotation.reference_set.build_reference_set`.
    contradicted : DataFrame
        From `contradictions`, of all classes of chains.
    species : list of str
        Species that are annotated.

    Returns
    -------
    pyarrow.Table
        `airrvec.core.schema.SUSPECT_LABELS`, by reason, epitope and receptor.
    """
    receptors = tables.distinct_receptors(receptors)
    receptors = receptors.filter(pc.is_in(receptors["species"], pa.array(species)))
    receptors = receptors.append_column("is_equal", pa.array(has_equal_junctions(receptors)))
    cells = select_labelled_cells(cells, exclude_references)
    labels = cells.select(["receptor_id", "epitope", "antigen_species"]).append_column(
        "reference_id", study_ids(cells["reference_id"])
    )
    labels = labels.to_pandas().drop_duplicates(_LABEL).merge(receptors.to_pandas(), on="receptor_id")
    parts = [
        _reasons(labels[labels["is_equal"]], schema.EQUAL_JUNCTIONS, "one of both was copied by mistake"),
        _reasons(labels[labels["innate_like"].notna()], schema.INNATE, labels["innate_like"]),
        _sorted_together(labels),
        _contradicted(labels, references, contradicted),
    ]
    reasons = pd.concat(parts)
    reasons = reasons.assign(place=reasons["reason"].map(schema.SUSPECT_REASONS.index)).sort_values(
        "place", kind="stable"
    )
    joined = reasons.groupby(level=0).agg({"reason": ";".join, "evidence": "; ".join, "place": "min"})
    rows = labels.join(joined, how="inner")
    rows["reference"] = rows["receptor_id"].isin(references["receptor_id"].to_pylist())
    if not innate:
        rows["reference"] &= rows["innate_like"].isna()
    rows = rows.sort_values(["place", *_LABEL[::-1]])[schema.SUSPECT_LABELS.names]
    return pa.Table.from_pandas(rows, schema.SUSPECT_LABELS, preserve_index=False)


def _texts(column: pd.Series) -> list[str | None]:
    return list(column.astype(object).where(column.notna(), None))


def _reasons(labels: pd.DataFrame, reason: str, evidence) -> pd.DataFrame:
    """Return ``reason`` and ``evidence`` of labels; ``evidence``: text, or a text for each label by index."""
    return pd.DataFrame({"reason": reason, "evidence": evidence}, index=labels.index, dtype=object)


def _sorted_together(labels: pd.DataFrame) -> pd.DataFrame:
    """Return the labels of a clonotype to which one study gives epitopes of several groups."""
    named = labels[labels["reference_id"].notna()]
    study_keys = ["clonotype_id", "reference_id"]
    several = named[named.groupby(study_keys)["epitope"].transform("nunique") > 1]
    if several.empty:
        return _reasons(several, schema.SORTED_TOGETHER, "")
    names = sorted(set(labels["epitope"]))
    organisms = tables.most_frequent(labels, ["epitope"], "antigen_species").reindex(names)
    group = dict(zip(names, epitope_groups(names, _texts(organisms)), strict=True))
    several = several.assign(group=several["epitope"].map(group))
    several = several[several.groupby(study_keys)["group"].transform("nunique") > 1]
    epitopes = several.groupby(study_keys)["epitope"].agg(_listed).rename("evidence")
    evidence = several[study_keys].join(epitopes, on=study_keys)["evidence"]
    return _reasons(several, schema.SORTED_TOGETHER, "one study labels the receptor " + evidence)


def _listed(epitopes: pd.Series) -> str:
    names = sorted(set(epitopes))
    more = f" and {len(names) - N_NAMED:,} more" if len(names) > N_NAMED else ""
    return f"{', '.join(names[:N_NAMED])}{more}"


def _contradicted(labels: pd.DataFrame, references: pa.Table, contradicted: pd.DataFrame) -> pd.DataFrame:
    """Return the labels of receptors that the cross-validation of all of their chains contradicts."""
    ids = references.select(["receptor_id", "paired_id", "alpha_id", "beta_id"]).to_pandas()
    ids = ids.drop_duplicates("receptor_id").set_index("receptor_id")
    is_single = ids["paired_id"].isna()
    ids["chains"] = np.where(~is_single, "paired", np.where(ids["beta_id"].notna(), "beta", "alpha"))
    ids["class_id"] = ids["paired_id"].fillna(ids["beta_id"]).fillna(ids["alpha_id"])
    in_class = labels.join(ids[["chains", "class_id"]], on="receptor_id", how="inner")
    keys = ["class_id", "species", "chains"]
    calls = contradicted.rename(columns={"receptor_id": "class_id"}).drop_duplicates(keys).set_index(keys)
    rows = in_class.join(calls, on=keys, how="inner")
    evidence = [
        f"other studies suggest {call} (score {score:.1f})"
        for call, score in zip(rows["call"], rows["score"], strict=True)
    ]
    return _reasons(rows, schema.CONTRADICTED, evidence)


def marked(references: pa.Table, suspects: pa.Table) -> pa.Table:
    """Return the references with ``suspect``, the reasons for which each label is doubtful."""
    reasons = suspects.select([*_LABEL, "reason"]).to_pandas().rename(columns={"reason": "suspect"})
    labels = references.select(_LABEL).to_pandas()
    labels["reference_id"] = study_ids(references["reference_id"]).to_pandas()
    # Null is a study of its own here, as in the table: pandas joins null with null.
    suspect = labels.merge(reasons, on=_LABEL, how="left", validate="many_to_one")["suspect"]
    place = references.column_names.index("suspect")
    return references.set_column(place, "suspect", pa.array(suspect, pa.string(), from_pandas=True))


def counts(suspects: pa.Table) -> dict[str, int]:
    """Return the number of labels of each reason; a label with several reasons counts for each."""
    reasons = pc.split_pattern(suspects["reason"], ";").combine_chunks()
    numbers = pc.value_counts(reasons.flatten() if len(reasons) else pa.array([], pa.string()))
    return {row["values"]: row["counts"] for row in numbers.to_pylist()}


def sentence(numbers: dict[str, int], n_labels: int) -> str | None:
    """
    Return how many labels are suspect, and why, or None if none are.

    Examples
    --------
    >>> sentence({"contradicted": 12, "innate-like": 3}, 14)
    '14 suspect labels in the reference: 12 contradicted, 3 innate-like'
    """
    if not n_labels:
        return None
    words = ", ".join(
        f"{numbers[reason]:,} {reason}" for reason in schema.SUSPECT_REASONS if reason in numbers
    )
    return f"{counted(n_labels, 'suspect label')} in the reference: {words}"
