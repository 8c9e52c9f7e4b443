"""Each sample by itself in the MultiQC report: largest clones, clone sizes, genes, lengths, diversity."""

import json
from dataclasses import dataclass
from pathlib import Path

from airrvec.core import schema, tables
from airrvec.core.chains import GREEK, receptor_names
from airrvec.core.schema.samples import CLONE_SIZES_LIMITS
from airrvec.core.terminal import counted
from airrvec.report.columns import meaning
from airrvec.report.page import COUNT, escaped, group_titles, section, with_group_titles
from airrvec.report.receptor_cells import text_cell
from airrvec.report.sections import diversity, sample_genes
from airrvec.report.units import counted_in, unit_words, units_of, units_sentence, units_title, with_units

import pandas as pd

N_CLONES = 150  # rows in the table of clones
MOST_CLONES = 10  # of one sample
MAX_BARS = 60
FEW_CELLS = 100  # a smaller sample says little about clones and diversity
NAMES = ("clones", "clone_sizes", "gene_usage", "cdr3_lengths", "vj_pairing", "diversity", "rarefaction")

_SIZE_COLOURS = dict(
    zip(CLONE_SIZES_LIMITS, ("#BBBBBB", "#56B4E9", "#0072B2", "#E69F00", "#D55E00"), strict=True)
)


@dataclass(frozen=True)
class Described:
    """Results of ``describe_samples.py``: counts, and its tables as data frames, by name."""

    counts: dict
    tables: dict[str, pd.DataFrame]


def read_described(folder: Path | None) -> Described | None:
    """Return the results; None if the folder has none."""
    if folder is None or not (folder / "samples.qc.json").exists():
        return None
    counts = json.loads((folder / "samples.qc.json").read_text())
    frames = {name: tables.read(folder / f"{name}.parquet").to_pandas() for name in NAMES}
    of_sample = counts["of_sample"]  # samples of a condition are neighbours: MultiQC sorts by these names
    names = {sample: f"{of_sample[sample]}: {sample}" for sample in of_sample}
    frames["clones"]["sample"] = frames["clones"]["sample_id"]
    for frame in frames.values():
        frame["sample_id"] = frame["sample_id"].replace(names)
    titles = group_titles(counts["groups"])
    for name in ("diversity", "rarefaction"):
        frames[name] = with_group_titles(frames[name], titles)
    return Described(counts, frames)


def described_sections(found: Described) -> list[dict]:
    """Return the sections of the report; an empty list if the samples have no clone."""
    frames = found.tables
    if not len(frames["clones"]):
        return []
    sections = [
        _clones(frames["clones"], found.counts["samples"]),
        _clone_sizes(frames["clone_sizes"]),
        *sample_genes.gene_sections(frames["gene_usage"]),
        sample_genes.lengths_section(frames["cdr3_lengths"]),
        *sample_genes.pairing_sections(frames["vj_pairing"]),
        diversity.rarefaction_section(frames["rarefaction"], frames["diversity"], found.counts["groups"]),
        diversity.diversity_section(frames["diversity"]),
    ]
    return sections


def described_lines(found: Described) -> list[str]:
    """Return the clone with the largest share of its sample, small samples last, for the terminal."""
    words = largest_clone(found, FEW_CELLS) or largest_clone(found)
    return [words] if words else []


def largest_clone(found: Described, min_cells: int = 0) -> str | None:
    """
    Return the clone with the largest share of its sample, in a sentence without a full stop.

    Parameters
    ----------
    found : Described
    min_cells : int
        Cells of a sample, below which its clones do not count.
    """
    clones = found.tables["clones"]
    cells = found.tables["clone_sizes"].groupby("sample_id")["n_cells"].sum()
    clones = clones[(clones["sample_id"].map(cells) >= min_cells).to_numpy(bool)]
    repeated = clones[clones["n_cells"] > 1]
    if not len(repeated):
        return "No clone has two cells" if len(clones) else None
    largest = repeated.sort_values(["share", "n_cells"], ascending=False, kind="stable").iloc[0]
    name = receptor_names({field: [largest[field]] for field in schema.RECEPTOR_FIELDS})[0].as_py()
    kind = f", {largest['innate_like']}" if largest["innate_like"] else ""
    size = counted_in(largest["n_cells"], largest["count_unit"])
    return f"Largest clone: {size}, {100 * largest['share']:.2g} % of {largest['sample']} ({name}{kind})"


def _clones(clones: pd.DataFrame, samples: list[str]) -> dict:
    most = max(1, min(MOST_CLONES, N_CLONES // len(samples)))
    expanded = clones[clones["n_cells"] > 1]
    shown = expanded[expanded["rank"] <= most]
    if not len(shown):
        return section(
            "airrvec_repertoire_clones", "Largest clones", "", "html", "<p>No clone has two cells.</p>"
        )
    if len(shown) > N_CLONES:
        shown = shown.sort_values(["share", "sample_id"], ascending=[False, True], kind="stable")
        shown = shown.head(N_CLONES)
    data = {}
    for row in shown.itertuples():
        line = {"cells": row.n_cells, "share": 100 * row.share, "class": row.clone_size}
        for locus in schema.LOCI:
            for name in schema.CHAIN_FIELDS:
                line[f"{locus}_{name}"] = getattr(row, schema.field(locus, name)) or ""
        line["innate"] = row.innate_like or ""
        line["epitope"] = text_cell(row.epitope)
        data[f"{escaped(row.sample_id)}, clone {row.rank:02d}"] = line
    headers = {
        "cells": {
            "title": units_title(shown["count_unit"]),
            **COUNT,
            **meaning("clones", "n_cells"),
        },
        "share": {
            "title": "Share",
            "suffix": " %",
            "min": 0,
            "max": 100,
            "format": "{:,.2f}",
            "scale": "Blues",
            **meaning("clones", "share"),
        },
        "class": {"title": "Size", **meaning("clone_sizes", "clone_size")},
    }
    for locus in schema.LOCI:
        headers |= {
            f"{locus}_v_call": {
                "title": f"V {GREEK[locus]}",
                **meaning("clones", schema.field(locus, "v_call")),
            },
            f"{locus}_junction_aa": {
                "title": f"CDR3 {GREEK[locus]}",
                **meaning("clones", schema.field(locus, "junction_aa")),
            },
            f"{locus}_j_call": {
                "title": f"J {GREEK[locus]}",
                **meaning("clones", schema.field(locus, "j_call")),
            },
        }
    headers["innate"] = {
        "title": "Innate-like",
        **meaning("clones", "innate_like"),
    }
    headers["epitope"] = {"title": "Epitope", **meaning("clones", "epitope")}
    for name in ("innate", "epitope"):
        if not any(line[name] for line in data.values()):
            headers.pop(name)
            for line in data.values():
                line.pop(name)
    data, headers = with_units(data, headers, shown["count_unit"])
    return section(
        "airrvec_repertoire_clones",
        "Largest clones",
        f"{_which(len(samples), most, len(shown))}{_none(samples, expanded)} A clone is all cells of a sample"
        " with the same V gene, J gene and CDR3 in both chains. Clones of many per cent of a sample have"
        " expanded: an infection, a tumour, ageing or a culture can be the cause. Do not rely on a clone with"
        " one chain: unrelated cells can share one, and cells of a clone whose other chain was not sequenced"
        " are counted apart, so that the share of the complete clone is too small."
        f"{units_sentence(units_of(clones))} The 100 largest clones of"
        " each sample are in <code>samples/clones.tsv</code>.",
        "table",
        data,
        headers=headers,
        pconfig={"col1_header": "Clone", "sort_rows": False},
    )


def _which(n_samples: int, most: int, shown: int) -> str:
    if n_samples > N_CLONES:
        return f"The largest clone of {shown} samples of {n_samples:,}, those in which it has most cells."
    if most == 1:
        return "The largest clone of each sample."
    return f"The {most} largest clones of each sample that have two cells or more."


def _none(samples: list[str], expanded: pd.DataFrame) -> str:
    """Return a sentence on the samples without a clone of two cells; empty if all have one."""
    n = len(samples) - expanded["sample_id"].nunique()
    return f" {counted(n, 'sample has', 'samples have')} no clone of two cells." if n else ""


def _clone_sizes(sizes: pd.DataFrame) -> dict:
    names = list(dict.fromkeys(sizes["sample_id"]))
    words = ""
    if len(names) > MAX_BARS:
        cells = sizes.groupby("sample_id")[["n_singletons", "n_cells"]].sum()
        expanded = (1 - cells["n_singletons"] / cells["n_cells"]).sort_values(kind="stable")
        names = [*expanded.index[: MAX_BARS // 2], *expanded.index[-MAX_BARS // 2 :]]
        words = (
            f" Of {counted(len(expanded), 'sample')}, the {MAX_BARS // 2} with the largest and the"
            f" {MAX_BARS // 2} with the smallest share of cells in clones of several cells are shown."
        )
    shown = sizes[sizes["sample_id"].isin(names)]
    data = {
        escaped(sample): {row.clone_size: 100 * row.share for row in rows.itertuples()}
        for sample, rows in shown.groupby("sample_id", sort=False)
    }
    limits = ("0.01 %", "0.1 %", "1 %", "10 %")
    titles = {
        name: {"name": f"{name} (up to {limit})", "color": _SIZE_COLOURS[name]}
        for name, limit in zip(CLONE_SIZES_LIMITS, limits, strict=False)
    }
    titles["Hyperexpanded"] = {
        "name": "Hyperexpanded (above 10 %)",
        "color": _SIZE_COLOURS["Hyperexpanded"],
    }
    return section(
        "airrvec_repertoire_clone_sizes",
        "Clonal expansion",
        "Share of the cells of each sample in clones of each size, a clone's size being its share of the"
        " sample; the limits are those of scRepertoire. The larger the orange part, the more of the sample"
        " belongs to a few clones. Do not compare samples with very different numbers of cells: with fewer"
        " than 1,000 cells a single cell counts as a medium clone, with fewer than 100 as a large one"
        f" (<code>n_singletons</code> in <code>samples/clone_sizes.tsv</code>).{words}"
        f"{units_sentence(units_of(sizes))}",
        "bargraph",
        data,
        categories=titles,
        pconfig={
            "ylab": f"Share of {unit_words(sizes['count_unit'])}, %",
            "ymax": 100,
            "cpswitch": False,
            "tt_decimals": 1,
        },
    )
