"""Two references compared: pairs gained and lost, and the calls of a run that rest on what changed."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from airrvec.core import schema, tables
from airrvec.core.antigens import study_id
from airrvec.core.chains import has_equal_junctions
from airrvec.core.errors import InputError
from airrvec.core.progress import step
from airrvec.core.tables import map_distinct
from airrvec.core.terminal import counted

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

GAINED, LOST, STUDIES = "gained", "lost", "studies"
REASONS = ("nearest reference lost", "nearest reference relabelled", "studies changed", "references changed")
_PAIR = ["species", "clonotype_id", "epitope"]
N_NAMED = 5  # epitopes that the terminal names

PAIR_CHANGES = pa.schema(
    [
        (name, pa.string())
        for name in (*_PAIR, *schema.RECEPTOR_FIELDS, "change", "studies_before", "studies_after")
    ]
)
CALL_CHANGES = pa.schema(
    [
        *((name, pa.string()) for name in ("sample_id", "receptor_id", "chains", "epitope")),
        ("probability", pa.float64()),
        *((name, pa.string()) for name in ("reason", "evidence", "nearest_1_id")),
        ("references_before", pa.int64()),
        ("references_after", pa.int64()),
    ]
)


def digest(clonotypes: Iterable, epitopes: Iterable, studies: Iterable) -> str:
    """
    Return the digest of a reference's labels, 64 hexadecimal digits.

    Equal labels (clonotype, epitope and study) have one digest, in whatever order and format.
    """
    rows = {"\t".join(word or "" for word in row) for row in zip(clonotypes, epitopes, studies, strict=True)}
    return hashlib.sha256("\n".join(sorted(rows)).encode()).hexdigest()


def digest_of_cells(cells: pa.Table, receptors: pa.Table) -> str:
    """Return the `digest` of labelled cells, without equal junctions, which no merged reference has."""
    receptors = tables.distinct_receptors(receptors)
    copied = receptors.filter(pa.array(has_equal_junctions(receptors)))["receptor_id"].combine_chunks()
    cells = cells.filter(pc.and_not(pc.is_valid(cells["epitope"]), pc.is_in(cells["receptor_id"], copied)))
    labels = cells.select(["clonotype_id", "epitope"]).to_pandas()
    labels["studies"] = map_distinct(cells["reference_id"], _studies).to_pylist()
    return reference_digest(labels.drop_duplicates())


def _studies(text: str | None) -> str | None:
    """Return the studies of a text, as a merged reference names them."""
    return ";".join(filter(None, map(study_id, (text or "").split(";")))) or None


def reference_file(path: Path) -> Path:
    """
    Return the table of a reference: of the verb reference, or of a run of the pipeline.

    Raises
    ------
    InputError
        If there is none.
    """
    places = (
        [path] if path.is_file() else [path / "merged.parquet", path / "annotation/reference/merged.parquet"]
    )
    for place in places:
        if place.is_file():
            return place
    raise InputError(
        f"--compare: '{path}' is no merged reference",
        fix="Give a folder of the verb reference, its merged.parquet, or results of a run with --reference",
    )


def read_reference(path: Path) -> pd.DataFrame:
    """Return the distinct pairs of a merged reference, one row for each clonotype and epitope."""
    names = [*_PAIR, *schema.RECEPTOR_FIELDS, "studies"]
    try:
        table = tables.read(path, names)
    except (KeyError, pa.ArrowInvalid) as problem:
        raise InputError("is no merged.parquet of a reference", file=path) from problem
    return table.to_pandas().drop_duplicates(_PAIR)


def reference_digest(pairs: pd.DataFrame) -> str:
    """Return the `digest` of the pairs of `read_reference`."""
    study = pairs["studies"].astype("string").str.split(";")
    each = pairs[["clonotype_id", "epitope"]].assign(study=study).explode("study")
    each = each.astype(object).where(each.notna(), None)
    return digest(*(each[name] for name in ("clonotype_id", "epitope", "study")))


@step("comparison of references")
def compare_pairs(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """
    Return the pairs that differ, with ``change``: `GAINED`, `LOST` or, of other studies now, `STUDIES`.

    Parameters
    ----------
    before, after : DataFrame
        From `read_reference`.
    """
    both = before.merge(after, on=_PAIR, how="outer", suffixes=("_before", "_after"), indicator=True)
    change = both["_merge"].map({"left_only": LOST, "right_only": GAINED, "both": STUDIES}).astype(object)
    for name in schema.RECEPTOR_FIELDS:
        both[name] = both[f"{name}_after"].fillna(both[f"{name}_before"])
    both = both.assign(change=change)
    is_same = (change == STUDIES) & (both["studies_before"].fillna("") == both["studies_after"].fillna(""))
    return both.loc[~is_same, PAIR_CHANGES.names].sort_values(["change", "epitope", "clonotype_id"])


def epitope_counts(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """Return the references of each epitope by species; 0 where one of both has no pair of it."""
    keys = ["species", "epitope"]
    sizes = {name: pairs.groupby(keys).size() for name, pairs in (("before", before), ("after", after))}
    return pd.DataFrame(sizes).fillna(0).astype(int)


def compare_calls(run: Path, changes: pd.DataFrame, counts: pd.DataFrame) -> pd.DataFrame:
    """
    Return the calls of a run whose nearest reference, or the number of references of the epitope, changed.

    Parameters
    ----------
    run : Path
        Results of the pipeline with annotation, made with the reference before.
    changes, counts : DataFrame
        From `compare_pairs` and `epitope_counts`.

    Returns
    -------
    DataFrame
        `CALL_CHANGES`: one row per called receptor and sample, with the first of `REASONS` that holds.
    """
    folder = run / "annotation"
    known = tables.read(folder / "reference/receptors.parquet").to_pandas()
    columns = ["sample_id", "receptor_id", "species", "chains", "epitope", "probability", "nearest_1_id"]
    rows = []
    for path in sorted(folder.glob("*.parquet")):
        calls_of_sample = tables.read_filtered(path, pc.field("call") == schema.HAS_CALL, columns).to_pandas()
        for chains, calls in calls_of_sample.drop_duplicates("receptor_id").groupby("chains"):
            rows += _changed(calls, chains, known, changes, counts)
    frame = pd.DataFrame(rows, columns=CALL_CHANGES.names)
    return frame.sort_values(["reason", "sample_id", "receptor_id"], ignore_index=True)


def _changed(calls: pd.DataFrame, chains, known: pd.DataFrame, changes: pd.DataFrame, counts) -> list[tuple]:
    """Return the rows of `CALL_CHANGES` of the calls of one class of chains."""
    nearest = known[known[f"{chains}_id"].isin(calls["nearest_1_id"])]
    pairs = nearest[[f"{chains}_id", "clonotype_id", "epitope"]].drop_duplicates()
    touched = pairs[[f"{chains}_id", "clonotype_id"]].drop_duplicates().merge(changes, on="clonotype_id")
    edits = dict(list(touched.groupby(f"{chains}_id")[["change", "clonotype_id", "epitope"]]))
    n_labels = pairs.groupby(f"{chains}_id").size()
    none = pd.DataFrame(columns=["change", "clonotype_id", "epitope"])
    sizes = dict(zip(counts.index, zip(counts["before"], counts["after"], strict=True), strict=True))
    rows = []
    for call in tables.named_rows(calls):
        changed = edits.get(call.nearest_1_id, none)
        lost, gained = (changed.loc[changed["change"] == word, "epitope"] for word in (LOST, GAINED))
        before, after = sizes.get((call.species, call.epitope), (0, 0))
        if len(lost) == n_labels[call.nearest_1_id] and not len(gained):
            reason, evidence = REASONS[0], f"no label of it is left ({', '.join(sorted(set(lost)))})"
        elif len(lost) or len(gained):
            edited = [f"−{name}" for name in sorted(set(lost))] + [f"+{name}" for name in sorted(set(gained))]
            reason, evidence = REASONS[1], ", ".join(edited)
        elif len(changed):
            reason, evidence = REASONS[2], "other studies report it, so it may be in another fold"
        elif before != after:
            reason, evidence = REASONS[3], f"{call.epitope}: {before:,} → {after:,}"
        else:
            continue
        names = (call.sample_id, call.receptor_id, call.chains, call.epitope, call.probability)
        rows.append((*names, reason, evidence, call.nearest_1_id, before, after))
    return rows


def lines(changes: pd.DataFrame, counts: pd.DataFrame, calls: pd.DataFrame | None) -> list[str]:
    """Return what changed, for the terminal."""
    n = changes["change"].value_counts().reindex([GAINED, LOST, STUDIES], fill_value=0)
    told = [f"Pairs: {n[GAINED]:,} gained, {n[LOST]:,} lost, {n[STUDIES]:,} of other studies than before"]
    difference = (counts["after"] - counts["before"]).abs().sort_values(ascending=False, kind="stable")
    largest = counts.loc[difference[difference > 0].index[:N_NAMED]].reset_index()
    told += [
        f"  {row.epitope}: {row.before:,} → {row.after:,} references" for row in tables.named_rows(largest)
    ]
    if calls is not None:
        told.append(f"{counted(len(calls), 'call rests', 'calls rest')} on what changed")
        told += [f"  {reason}: {number:,}" for reason, number in calls["reason"].value_counts().items()]
    return told


def table_of(rows: pd.DataFrame, table_schema: pa.Schema) -> pa.Table:
    """Return rows as a table of a schema."""
    return pa.Table.from_pandas(rows, table_schema, preserve_index=False)
