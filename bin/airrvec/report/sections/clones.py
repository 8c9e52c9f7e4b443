"""The table of clones in the MultiQC report, which other sections link into, and sentences on clones."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from airrvec.core import schema, tables
from airrvec.core.chains import chain_names
from airrvec.core.identity import cluster_numbers
from airrvec.core.schema.published import without_links
from airrvec.core.tables import contiguous
from airrvec.core.terminal import counted
from airrvec.report.page import clones_link, counted_in, escaped, per_cent, section, units_sentence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

ID = "airrvec_clones"
MAX_SHOWN = 2000  # clones in the table
MOST_LARGEST = 10  # of one sample, before clones with evidence
MAX_SAMPLES = 6  # that a cell names
N_ORGANISMS = 3  # that a sentence names
EXPANDED = 0.01  # share of a sample from which a clone of several cells is called expanded in a sentence

# Column of the page's table → its title, and the column of `clones` whose meaning is its tooltip.
COLUMNS = {
    "tra": ("α chain", "tra_junction_aa"),
    "trb": ("β chain", "trb_junction_aa"),
    "cells": ("Cells", "n_cells"),
    "unit": ("Unit", "count_unit"),
    "share": ("Largest share", "largest_share"),
    "evidence": ("Evidence", "evidence"),
    "epitope": ("Epitope", "evidence_epitope"),
    "organism": ("Organism", "evidence_antigen_species"),
    "samples": ("Samples", "samples"),
    "next": ("Next step", "next_step"),
    "against": ("Against it", "evidence_against"),
    "fdr": ("FDR of the call", "call_fdr"),
    "mhc": ("MHC", "evidence_mhc"),
    "exact": ("Exact match", "exact_epitope"),
    "cluster": ("Cluster", None),
    "donor": ("Donor", "donor"),
    "condition": ("Condition", None),
    "innate": ("Innate-like", "innate_like"),
    "donors": ("Donors", "n_donors"),
    "label": ("Label", "epitope"),
    "id": ("Clone", "clone_id"),
}
_TOOLTIPS = {
    "condition": "Condition of its samples, by --compare_by",
    "cluster": "Number of its cluster in the section Largest clusters",
}
_ALWAYS = ("tra", "trb", "cells", "share", "samples", "id")  # others only where a clone has one


@dataclass(frozen=True)
class Clones:
    """
    Clones of a run.

    Attributes
    ----------
    table : DataFrame
        `airrvec.core.schema.CLONES` of the clones that the report shows, by ``largest_share``, with
        ``cluster``, the number of the cluster in the report.
    counts : DataFrame
        `airrvec.core.schema.CLONE_COUNTS` of them.
    calls : DataFrame
        The same of all called clones, with ``call_epitope`` and ``call_antigen_species``.
    n : int
        Clones of the run.
    tiers : dict of str to int
        Clones of the run by ``evidence``.
    expanded : DataFrame
        ``sample_id``, ``n`` and ``share``: clones of two cells or more with at least `EXPANDED` of their
        sample, and their share of it; samples without one are left out.
    """

    table: pd.DataFrame
    counts: pd.DataFrame
    calls: pd.DataFrame
    n: int
    tiers: dict[str, int]
    expanded: pd.DataFrame


def read_clones(folder: Path | None, clusters: Path | None = None) -> Clones | None:
    """
    Return the clones of ``describe_clones.py``; None if the folder has none.

    Parameters
    ----------
    folder : Path or None
    clusters : Path, optional
        Folder written by ``cluster_receptors.py``.
    """
    if folder is None or not (folder / "clones.parquet").exists():
        return None
    calls = ["clone_id", "call_epitope", "call_antigen_species"]
    about = tables.read(folder / "clones.parquet", [*calls, "largest_share", "evidence", "next_step"])
    counts = tables.read(
        folder / "counts.parquet", ["clone_id", "sample_id", "n_cells", "count_unit", "share"]
    )
    shown = _shown(about, counts)
    table = tables.read_filtered(folder / "clones.parquet", tables.is_one_of("clone_id", shown)).to_pandas()
    table = table.set_index("clone_id").loc[shown].reset_index()
    table["cluster"] = table["cluster_id"].map(_numbers(clusters))
    with_call = about.filter(pc.is_valid(about["call_epitope"])).select(calls)
    called_counts = counts.filter(pc.is_in(counts["clone_id"], with_call["clone_id"].combine_chunks()))
    tiers = {row["values"]: row["counts"] for row in about["evidence"].value_counts().to_pylist()}
    return Clones(
        table,
        counts.filter(tables.is_one_of("clone_id", shown)).to_pandas(),
        called_counts.to_pandas().merge(with_call.to_pandas(), on="clone_id"),
        len(about),
        {tier: tiers[tier] for tier in schema.TIERS if tier in tiers},
        _expanded(counts),
    )


def _shown(about: pa.Table, counts: pa.Table) -> list[str]:
    """
    Return the clones that the report shows, by their largest share.

    The largest of each sample that have two cells or more, then those with evidence or a next step, the
    largest first; if places are left, the next largest.
    """
    largest = _largest(counts)
    is_first = pc.or_(pc.is_valid(about["next_step"]), pc.is_valid(about["evidence"]))
    is_first = pc.or_(is_first, pc.is_in(about["clone_id"], pa.array(sorted(largest), pa.string())))
    rest = about.filter(pc.invert(is_first))
    largest_first = [("largest_share", "descending"), ("clone_id", "ascending")]
    rest = rest.take(pc.select_k_unstable(rest, min(MAX_SHOWN, len(rest)), largest_first))
    frame = pa.concat_tables([about.filter(is_first), rest]).to_pandas().set_index("clone_id")
    place = np.where(
        frame.index.isin(largest), 0, np.where(frame["next_step"].notna() | frame["evidence"].notna(), 1, 2)
    )
    weak = frame["evidence"].eq(schema.ONE_CHAIN).to_numpy(bool)
    frame = frame.assign(place=place, weak=weak, clone=frame.index)
    order = frame.sort_values(
        ["place", "weak", "largest_share", "clone"], ascending=[True, True, False, True], kind="stable"
    )
    kept = order.head(MAX_SHOWN)
    kept = kept.sort_values(["largest_share", "clone"], ascending=[False, True], kind="stable")
    return kept["clone"].tolist()


def _largest(counts: pa.Table) -> set[str]:
    """Return the largest clones of each sample that have two cells or more there."""
    several = counts.filter(pc.greater(counts["n_cells"], 1)).select(["clone_id", "n_cells", "sample_id"])
    samples = contiguous(several["sample_id"]).dictionary_encode()
    most = max(1, min(MOST_LARGEST, MAX_SHOWN // 2 // max(1, len(pc.unique(counts["sample_id"])))))
    largest: set[str] = set()
    for number in range(len(samples.dictionary)):  # not as pandas' objects: there may be ten million
        own = several.filter(pc.equal(samples.indices, number))
        order = [("n_cells", "descending"), ("clone_id", "ascending")]
        rows = pc.select_k_unstable(own, min(most, len(own)), order)
        largest.update(own["clone_id"].take(rows).to_pylist())
    return largest


def _numbers(clusters: Path | None) -> dict[str, str]:
    path = clusters / "clusters.parquet" if clusters else None
    if path is None or not path.exists():
        return {}
    return cluster_numbers(tables.read(path, ["cluster_id", "n_receptors"]).to_pandas())


def _expanded(counts: pa.Table) -> pd.DataFrame:
    is_large = pc.and_(pc.greater(counts["n_cells"], 1), pc.greater_equal(counts["share"], EXPANDED))
    large = counts.filter(is_large).to_pandas()
    grouped = large.groupby("sample_id")["share"]
    return pd.DataFrame({"n": grouped.size(), "share": grouped.sum()}).reset_index()


# --- Sentences


def called_words(clones: Clones) -> str | None:
    """Return the cells and clones called for each organism, largest first, as HTML; None without calls."""
    if not len(clones.calls):
        return None
    organism = clones.calls["call_antigen_species"].fillna(clones.calls["call_epitope"]).to_numpy()
    shares = clones.calls.groupby([organism, "sample_id"])["share"].sum()
    order = shares.groupby(level=0).max().sort_values(ascending=False, kind="stable").index
    parts = []
    for name in order[:N_ORGANISMS]:
        cells = clones.calls[organism == name]
        sizes = cells.groupby("clone_id")["n_cells"].sum()
        largest = shares[name].idxmax()
        share = f"{per_cent(shares[name][largest])} of {escaped(largest)}"
        in_unit = cells.groupby("count_unit", sort=False)["n_cells"].sum()
        n_counted = " and ".join(counted_in(int(n), unit) for unit, n in in_unit.items())
        in_clones = clones_link(counted(len(sizes), "clone"), search=name, evidence="call")
        words = f"{n_counted} in {in_clones} ({share}) called for {escaped(name)}"
        if len(in_unit) == 1 < len(sizes) and sizes.max() > 1:
            words += f", the largest of {counted_in(int(sizes.max()), in_unit.index[0])}"
        parts.append(words)
    more = len(order) - N_ORGANISMS
    return "; ".join(parts) + (f"; and {counted(more, 'other organism')}" if more > 0 else "")


def evidence_words(clones: Clones) -> str | None:
    """Return the clones with evidence by its tier, in a sentence as HTML; None without any."""
    if not clones.tiers:
        return None
    words = {"identical": "identical to a reference", "cluster": "in a cluster of references"}
    words[schema.ONE_CHAIN] = "with one chain of a reference"
    parts = [clones_link(f"{n:,} {words.get(tier, tier)}", evidence=tier) for tier, n in clones.tiers.items()]
    return f"Clones by their strongest evidence: {', '.join(parts)}."


def expanded_words(clones: Clones, n_samples: int) -> str:
    """Return how many samples have expanded clones, and where they are most, in a sentence as HTML."""
    if not len(clones.expanded):
        return f"No clone of two cells or more has {per_cent(EXPANDED)} of its sample."
    first = clones.expanded.sort_values("share", ascending=False, kind="stable").iloc[0]
    total = int(clones.expanded["n"].sum())
    name = first["sample_id"]
    return (
        f"{counted(total, 'clone')} of two cells or more {'has' if total == 1 else 'have'} at least"
        f" {per_cent(EXPANDED)} of a sample, in {len(clones.expanded):,} of {counted(n_samples, 'sample')};"
        f" most in {escaped(name)}, {per_cent(first['share'])} of it in"
        f" {clones_link(counted(int(first['n']), 'clone'), sample=name, expanded='1')}."
    )


# --- The table


def clones_section(clones: Clones, definition: str, condition_of: Mapping[str, str]) -> dict:
    """
    Return the section of the table, whose rows ``look/clones.js`` draws.

    Parameters
    ----------
    clones : Clones
    definition : str
        What a clone is in this run, as HTML.
    condition_of : mapping of str to str
        Sample → condition, of samples that have one.
    """
    rows = _rows(clones, condition_of)
    columns = [name for name in COLUMNS if name in _ALWAYS or any(row[name] for row in rows)]
    if len({row["unit"] for row in rows}) < 2:
        columns.remove("unit")
    data = {
        "columns": [[name, COLUMNS[name][0], _tooltip(name)] for name in columns],
        "rows": [[row[name] for name in columns] for row in rows],
        "samples": sorted(set(clones.counts["sample_id"])),
        "tiers": list(clones.tiers),
        "expanded": EXPANDED,
    }
    # the page's parser ends a script at "</"
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace(
        "<", "\\u003c"
    )
    units = dict(zip(clones.counts["sample_id"], clones.counts["count_unit"], strict=True))
    left = clones.n - len(rows)
    more = f" The other {counted(left, 'clone is', 'clones are')} there too." if left else ""
    return section(
        ID,
        "All clones" if not left else f"{len(rows):,} of {counted(clones.n, 'clone')}",
        f"{definition} Evidence, from the strongest: both chains are those of a reference"
        " (<em>identical</em>), a calibrated call (<em>called</em>), references in its cluster"
        " (<em>cluster</em>), one chain is that of a reference (<em>one chain</em>); only calls have an error"
        " rate. Choose, search and sort here; links of other sections"
        f" lead into this table.{units_sentence(units)} All columns are in"
        f" <code>clones/clones.tsv</code>.{more}",
        "html",
        '<div id="airrvec-clones"></div><script type="application/json" id="airrvec-clones-data">'
        f"{text}</script>",
    )


def _rows(clones: Clones, condition_of: Mapping[str, str]) -> list[dict]:
    frame = clones.table
    names = {
        locus.lower(): chain_names({name: frame[name].tolist() for name in schema.RECEPTOR_FIELDS}, locus)
        for locus in schema.LOCI
    }
    samples_of = _samples_of(clones.counts)
    texts = frame.astype(object).where(frame.notna(), None)
    rows = []
    for place, row in enumerate(tables.named_rows(texts)):
        tiers = row.evidence is not None
        conditions = {condition_of[name] for name in row.samples.split(";") if name in condition_of}
        rows.append(
            {
                **{locus: name[place].as_py() or "" for locus, name in names.items()},
                "cells": row.n_cells,
                "unit": row.count_unit or "several units",
                "share": float(f"{row.largest_share:.4g}"),
                "samples": samples_of[row.clone_id],
                "donor": row.donor,
                "condition": ", ".join(sorted(conditions)),
                "evidence": row.evidence or "",
                "epitope": row.evidence_epitope if tiers else "",
                "organism": row.evidence_antigen_species or "",
                "mhc": row.evidence_mhc or "",
                "fdr": float(f"{row.call_fdr:.2g}") if row.call_fdr is not None else None,
                "against": row.evidence_against or "",
                "next": row.next_step or "",
                "exact": row.exact_epitope or "",
                "cluster": row.cluster or "",
                "innate": row.innate_like or "",
                "donors": row.n_donors,
                "label": row.epitope or "",
                "id": row.clone_id,
            }
        )
    return rows


def _samples_of(counts: pd.DataFrame) -> dict[str, list]:
    """Return the samples of each clone, most cells first: ``[name, cells]``, the last ``[None, others]``."""
    ordered = counts.sort_values(["n_cells", "sample_id"], ascending=[False, True], kind="stable")
    named: dict[str, list] = {}
    more: Counter = Counter()
    for row in tables.named_rows(ordered):
        cell = named.setdefault(row.clone_id, [])
        if len(cell) < MAX_SAMPLES:
            cell.append([row.sample_id, row.n_cells])
        else:
            more[row.clone_id] += 1
    for clone_id, n in more.items():
        named[clone_id].append([None, n])
    return named


def _tooltip(name: str) -> str:
    if name in _TOOLTIPS:
        return _TOOLTIPS[name]
    described_by = COLUMNS[name][1] or name
    return without_links(schema.TABLES["clones"][described_by].text).replace("`", "")


def sections_of(clones: Clones | None, definition: str, condition_of: Mapping[str, str]) -> Sequence[dict]:
    """Return the section, if there are clones."""
    return [clones_section(clones, definition, condition_of)] if clones is not None and clones.n else []
