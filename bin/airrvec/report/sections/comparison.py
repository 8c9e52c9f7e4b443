"""Comparison of samples in the MultiQC report: overlap and distances."""

import json
from dataclasses import dataclass
from pathlib import Path

from airrvec.core import tables
from airrvec.core.terminal import counted
from airrvec.figures.palette import OTHER_COLOUR
from airrvec.report import receptor_cells as cells
from airrvec.report.looks import MARKERS, looks
from airrvec.report.page import (
    COUNT,
    NUMBER,
    SHARE,
    clones_link,
    escaped,
    group_titles,
    meaning,
    not_compared_text,
    nothing,
    section,
    units_sentence,
    units_title,
    with_group_titles,
    with_units,
)
from airrvec.report.sections.overlap import overlap_section

import pandas as pd

N_TOP = 50  # receptors in the table
N_NAMES = 5  # samples of a receptor that are listed; more are counted


def read_public(path: Path) -> tuple[pd.DataFrame, int]:
    """Return the first `N_TOP` of `airrvec.core.schema.PUBLIC_RECEPTORS`, and the number of all."""
    return next(tables.read_batches(path, N_TOP)).to_pandas(), tables.n_rows(path)


def public_section(shown: pd.DataFrame, n: int) -> dict:
    """Return the receptors that most donors carry, of ``n`` public ones."""
    digits = len(str(len(shown)))
    data = {
        f"{number:0{digits}d}": {
            **cells.chain_cells(row),
            "clones": clones_link("clones", search=row["trb_junction_aa"] or row["tra_junction_aa"]),
            "n_donors": row["n_donors"],
            "n_samples": row["n_samples"],
            "n_cells": row["n_cells"] if pd.notna(row["n_cells"]) else None,
            "donors": cells.text_cell(_names(row["donors"])),
            "samples": cells.text_cell(_names(row["samples"])),
            "id": cells.text_cell(row["receptor_id"]),
        }
        for number, row in enumerate(shown.to_dict("records"), start=1)
    }
    headers = {
        **cells.CHAIN_HEADERS,
        "clones": cells.text_header("In the table of clones"),
        "n_donors": {"title": "Number of donors", **COUNT, **meaning("public", "n_donors")},
        "n_samples": {"title": "Number of samples", **COUNT, **meaning("public", "n_samples")},
        "n_cells": {
            "title": units_title(shown["count_unit"].dropna()),
            **COUNT,
            **meaning("public", "n_cells"),
        },
        "donors": cells.text_header("Donors", **meaning("public", "donors")),
        "samples": cells.text_header("Samples", **meaning("public", "samples")),
        "id": cells.ID_HEADER,
    }
    data, headers = with_units(data, headers, shown["count_unit"])
    return section(
        "airrvec_comparison_public",
        "Public receptors",
        "Receptors that two or more donors carry, those of most donors first; alleles are ignored. A sample"
        " whose donor the samplesheet does not name is a donor of its own."
        f" {len(shown)} of {counted(n, 'public receptor')}; all are in"
        " <code>comparison/public.tsv</code>. Samples that were mixed up or contaminated share receptors"
        " too.",
        "table",
        data,
        headers=headers,
        pconfig={"col1_header": "Receptor", "sort_rows": False},
    )


def _names(samples: str) -> str:
    """Return the names of the samples, or of the first and the number of the others."""
    names = samples.split(";")
    more = [f"{len(names) - N_NAMES} more"] if len(names) > N_NAMES else []
    return "; ".join([*names[:N_NAMES], *more])


# --- Overlap and distances

N_PAIRS = 100  # in the table

_TOO_MANY = " These are too many pairs for a permutation test of each: where there is no FDR, none was made."
_DISTANCES = (
    "Overlap: 0 if nothing is shared, 1 if receptors and frequencies are equal (Morisita–Horn). Distance of"
    " vectors: how far mean and spread of two samples' vectors lie apart (Fréchet distance); by chance: the"
    " same if receptors change samples at random. Difference of vectors: of their whole distributions (MMD²),"
    " about 0 if there is none, with its FDR."
)
_NAMES = ("pairs", "samples_pca")
_NO_VALUE = (OTHER_COLOUR, "circle-open")  # look of samples without a value of the condition


@dataclass(frozen=True)
class Comparison:
    """Results of ``compare_samples.py``: counts, tables as data frames, number of public receptors."""

    counts: dict
    pairs: pd.DataFrame
    samples_pca: pd.DataFrame
    public: pd.DataFrame
    n_public: int


def read_comparison(folder: Path | None) -> Comparison | None:
    """Return the results; None if the folder has none."""
    if folder is None or not (folder / "comparison.qc.json").exists():
        return None
    counts = json.loads((folder / "comparison.qc.json").read_text())
    titles = group_titles(counts["groups"])
    pairs, samples_pca = (
        with_group_titles(tables.read(folder / f"{name}.parquet").to_pandas(), titles) for name in _NAMES
    )
    public, n_public = read_public(folder / "public.parquet")
    return Comparison(counts, pairs, samples_pca, public, n_public)


def comparison_sections(results: Comparison) -> list[dict]:
    """Return the sections of the report."""
    if len(results.pairs):
        sections = [overlap_section(results.pairs, results.counts), _pairs(results)]
    else:
        sections = [_not_compared(results)]
    if results.n_public:
        sections.append(public_section(results.public, results.n_public))
    if len(results.samples_pca):
        sections.append(_components(results))
    return sections


def comparison_lines(results: Comparison) -> list[str]:
    """Return the number of pairs of samples that differ, for the terminal."""
    if not len(results.pairs):
        return [f"Samples are not compared: {_why_not_compared(results)}"]
    tested = results.pairs["mmd_fdr"].notna()
    words = f"Samples compared: {counted(len(results.pairs), 'pair')}, counted for each class of chains"
    if not tested.any():
        return [f"{words}; no pair was tested"]
    differ = results.pairs["mmd_fdr"] <= 0.05
    return [
        f"{words}; {differ.sum():,} of {counted(tested.sum(), 'tested pair')} differ at a false discovery"
        " rate of 5 % (receptors as units)"
    ]


def _why_not_compared(results: Comparison) -> str:
    n = len(results.counts["samples"])
    if n < 2:
        return f"two samples are needed, and the samplesheet has {n or 'none'}"
    return "no two samples have receptors with the same chains and a vector"


def _not_compared(results: Comparison) -> dict:
    return nothing(
        "airrvec_comparison_pairs",
        "Overlap and distance",
        f"Samples are not compared: {_why_not_compared(results)}.",
    )


def _pairs(results: Comparison) -> dict:
    shown = results.pairs.head(N_PAIRS)
    too_many = (results.pairs["frechet"].notna() & results.pairs["mmd_p"].isna()).any()
    data = {
        f"{escaped(row.sample_1)} and {escaped(row.sample_2)}, {row.group}": {
            "shared": row.n_shared,
            "morisita_horn": row.morisita_horn,
            "near_1_in_2": _per_cent(row.near_1_in_2),
            "near_2_in_1": _per_cent(row.near_2_in_1),
            **{
                name: getattr(row, name) if pd.notna(getattr(row, name)) else None
                for name in ("frechet", "frechet_by_chance", "mmd", "mmd_fdr")
            },
        }
        for row in tables.named_rows(shown)
    }
    headers = {
        "shared": {"title": "Shared", **COUNT, **meaning("pairs", "n_shared")},
        "morisita_horn": {
            "title": "Overlap",
            **NUMBER,
            **meaning("pairs", "morisita_horn"),
        },
        "near_1_in_2": {
            "title": "First near second",
            **SHARE,
            **meaning("pairs", "near_1_in_2"),
        },
        "near_2_in_1": {"title": "Second near first", **SHARE, **meaning("pairs", "near_2_in_1")},
        "frechet": {"title": "Distance of vectors", **NUMBER, **meaning("pairs", "frechet")},
        "frechet_by_chance": {
            "title": "Distance by chance",
            **NUMBER,
            **meaning("pairs", "frechet_by_chance"),
        },
        "mmd": {
            "title": "Difference of vectors",
            **NUMBER,
            **meaning("pairs", "mmd"),
        },
        "mmd_fdr": {"title": "FDR", **NUMBER, **meaning("pairs", "mmd_fdr")},
    }
    return section(
        "airrvec_comparison_pairs",
        "Overlap and distance",
        f"{len(shown)} of {counted(len(results.pairs), 'pair')}; all are in"
        f" <code>comparison/pairs.tsv</code>.{_TOO_MANY if too_many else ''}"
        f" {_DISTANCES}"
        " A low FDR means that the receptors of two samples are not random draws from one repertoire. It does"
        " not show an effect of a treatment: two people, or two tubes, differ too. For treatments, see the"
        " tests by condition, whose units are donors."
        + not_compared_text(results.counts)
        + units_sentence(results.counts["units"]),
        "table",
        data,
        headers=headers,
        pconfig={"col1_header": "Samples", "sort_rows": False},
    )


def _per_cent(value: float) -> float | None:
    return 100 * value if pd.notna(value) else None


def _components(results: Comparison) -> dict:
    condition = results.counts["of_sample"]
    values = sorted(set(condition.values()))
    chosen = looks([values], MARKERS)
    without = f"no {results.counts['condition']}" if condition else ""  # legend of samples without a value
    tabs, names = [], []
    for title, rows in results.samples_pca.groupby("group", sort=False):
        axes = {  # MultiQC would repeat a per cent sign at every tick
            axis: f"PC {number} (share of variance {rows[f'pc_{number}_explained'].iloc[0]:.2f})"
            for number, axis in enumerate(("xlab", "ylab"), start=1)
        }
        names.append({"name": title, **axes})
        tabs.append(
            {
                escaped(row.sample_id): {
                    "x": row.pc_1,
                    "y": row.pc_2,
                    "group": escaped(condition.get(row.sample_id, without)),
                    "color": colour,
                    "marker_symbol": marker,
                }
                for row in tables.named_rows(rows)
                for colour, marker in [chosen.get(condition.get(row.sample_id), _NO_VALUE)]
            }
        )
    first = results.samples_pca.iloc[0]
    return section(
        "airrvec_comparison_pca",
        "Principal components of samples",
        "Principal components of the mean vectors of the samples. Samples close to each other have similar"
        f" receptors on average. For {first['group']}, the two components explain"
        f" {100 * first['pc_1_explained']:.0f} % and {100 * first['pc_2_explained']:.0f} % of the variance."
        " With few samples, a pattern always appears.",
        "scatter",
        tabs,
        pconfig={
            "xlab": names[0]["xlab"],
            "ylab": names[0]["ylab"],
            "marker_size": 9,
            "showlegend": True,
            "data_labels": names,
        },
    )
