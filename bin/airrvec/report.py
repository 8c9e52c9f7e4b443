"""What the MultiQC report shows, as MultiQC's custom content, and the summary for the terminal."""

import json
from dataclasses import dataclass
from html import escape
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from airrvec import __version__, schema, tables
from airrvec.encoders import title
from airrvec.fewshot import complete_epitopes
from airrvec.figures import COLOURS, RULE_TITLES

_PAIRING_COLOURS = dict(
    zip(
        schema.CHAIN_PAIRINGS,
        ("#0072B2", "#56B4E9", "#009E73", "#F0E442", "#E69F00", "#D55E00", "#CC79A7"),
        strict=True,
    )
)


MAX_ROC_TABS = 6


@dataclass(frozen=True)
class Benchmark:
    """Tables of `airrvec.schema` as data frames, and the counts of the labelled receptors."""

    summary: pd.DataFrame
    roc: pd.DataFrame
    not_evaluated: pd.DataFrame
    counts: dict


def read_benchmark(folder: Path | None) -> Benchmark | None:
    """The benchmark's results; None where the folder holds none."""
    if folder is None or not (folder / "auroc_summary.parquet").exists():
        return None
    return Benchmark(
        tables.read(folder / "auroc_summary.parquet").to_pandas(),
        tables.read(folder / "roc.parquet").to_pandas(),
        tables.read(folder / "not_evaluated.parquet").to_pandas(),
        json.loads((folder / "benchmark.json").read_text()),
    )


def of_all_partitions(partitions: list[dict], counts: tuple[str, ...]) -> dict:
    """The QC of a table from that of its partitions: ``counts`` are summed, all else is the same in each."""
    return {**partitions[0], **{name: sum(qc[name] for qc in partitions) for name in counts}}


def sample_sections(samples: list[dict], receptors: dict) -> list[dict]:
    """What came in, what was kept, and why the rest was not."""
    numbers = {
        "rows_in": "Rows read",
        "rows_out": "Rows kept",
        "rows_rejected": "Rows rejected",
        "cells": "Cells",
        "receptors": "Receptors",
    }
    overview = {
        safe(sample["sample_id"]): {
            "format": safe(sample["format"]),
            **{name: sample[name] for name in numbers},
            "kept": 100 * sample["rows_out"] / sample["rows_in"],
            "paired": 100 * _n_paired(sample) / sample["cells"],
            "doublets": sample["pairing"].get(schema.MULTICHAIN, 0),
            "functional": sample["per_cent_functional"],
            "uncertain_calls": sample["uncertain_calls"],
            "mended_junctions": sample["mended_junctions"],
        }
        for sample in samples
    }
    headers = {
        "format": {"title": "Format"},
        **{
            name: {"title": heading, "format": "{:,.0f}", "scale": False} for name, heading in numbers.items()
        },
        "kept": {"title": "Kept", "suffix": " %", "max": 100, "min": 0, "scale": "Blues"},
        "paired": {
            "title": "Paired",
            "suffix": " %",
            "max": 100,
            "min": 0,
            "scale": "Greens",
            "description": "Cells with at least one α and one β chain",
        },
        "doublets": {
            "title": "Doublets",
            "format": "{:,.0f}",
            "scale": False,
            "description": "Cells with more than two α or β chains (multichain): probably two cells",
        },
        "functional": {
            "title": "Functional",
            "suffix": " %",
            "max": 100,
            "min": 0,
            "scale": "Purples",
            "description": "Chains with functional genes, of those that are left out for nothing else",
        },
        "uncertain_calls": {
            "title": "Uncertain calls",
            "format": "{:,.0f}",
            "scale": False,
            "description": "Chains whose V or J call names several genes: the first functional one is taken",
        },
        "mended_junctions": {
            "title": "Mended junctions",
            "format": "{:,.0f}",
            "scale": False,
            "description": "Chains whose junction came without a conserved end, or with residues beyond it",
        },
    }
    warnings = [f"{safe(s['sample_id'])}: {safe(w)}" for s in samples for w in s["warnings"]]
    pairing = {
        safe(sample["sample_id"]): {word: sample["pairing"].get(word, 0) for word in schema.CHAIN_PAIRINGS}
        for sample in samples
    }
    sections = [
        section(
            "airrvec_samples",
            "Samples",
            "Rows read are rows kept plus rows rejected, for every sample."
            + "".join(f" {sentence}." for sentence in _public(receptors))
            + "".join(f"<br><strong>{warning}</strong>" for warning in warnings),
            "table",
            overview,
            headers=headers,
            pconfig={"col1_header": "Sample"},
        ),
        section(
            "airrvec_chain_pairing",
            "Chain pairing",
            "Cells by their chains, in scirpy's words: VJ is α, VDJ is β. Of extra chains the one with"
            " the most UMIs is kept.",
            "bargraph",
            pairing,
            categories={
                word: {"name": word, "color": _PAIRING_COLOURS[word]} for word in schema.CHAIN_PAIRINGS
            },
            pconfig={"ylab": "Cells"},
        ),
    ]
    for id, heading, description, key in (
        (
            "airrvec_rejects",
            "Rejected chains",
            "Chains and rows that were left out, by reason; each is listed in <code>rejects/</code>.",
            "reject_reasons",
        ),
        (
            "airrvec_other_loci",
            "Other loci",
            "Rejected chains that are no α or β chains of a T-cell receptor.",
            "other_loci",
        ),
    ):
        counts = {
            safe(sample["sample_id"]): {safe(word): n for word, n in sample[key].items()}
            for sample in samples
            if sample[key]
        }
        if counts:
            sections.append(section(id, heading, description, "bargraph", counts, pconfig={"ylab": "Chains"}))
    return sections


def embedding_section(embeddings: dict) -> dict:
    """Which model embedded how many receptors."""
    row = {
        "receptors": embeddings["receptors"],
        "without_vector": embeddings["without_vector"],
        "dimensions": embeddings["dimensions"],
        "weights": embeddings["weights_sha256"][:16],
        "airrvec": embeddings["airrvec_version"],
    }
    headers = {
        "receptors": {"title": "Distinct receptors", "format": "{:,.0f}", "scale": False},
        "without_vector": {
            "title": "Without a vector",
            "format": "{:,.0f}",
            "scale": False,
            "description": "Receptors of which the model sees no loop, e.g. α chains for a β model",
        },
        "dimensions": {"title": "Dimensions", "format": "{:,.0f}", "scale": False},
        "weights": {"title": "Weights (SHA-256)"},
        "airrvec": {"title": "airrvec"},
    }
    return section(
        "airrvec_embeddings",
        "Embeddings",
        "Every receptor is embedded once, however many cells and samples carry it.",
        "table",
        {title(embeddings["model"]): row},
        headers=headers,
        pconfig={"col1_header": "Model"},
    )


def benchmark_sections(benchmark: Benchmark) -> list[dict]:
    """AUROC against k, AUROC by epitope, ROC curves, and what was not evaluated."""
    summary = benchmark.summary
    encoders = list(dict.fromkeys(summary["encoder"]))
    colours = {title(name): COLOURS[index % len(COLOURS)] for index, name in enumerate(encoders)}
    counts = benchmark.counts
    removed = "; ".join(f"{n:,} {safe(reason)}" for reason, n in counts["removed"].items() if n)
    of_mean = summary[summary["epitope"] == "mean"]
    n_mean = _n_complete(summary)
    sections = [
        section(
            "airrvec_auroc",
            "Few-shot prediction of epitopes",
            f"Measured on {counts['receptors']:,} complete receptors of {counts['epitopes']:,} epitopes"
            f" (left out: {removed or 'none'}). AUROC of an epitope's receptors against all others,"
            f" ranked by the distance to k of them; mean over the {n_mean} epitopes that have enough"
            " receptors for every k, and over splits that all encoders share.",
            "linegraph",
            [
                {
                    title(encoder): {
                        str(row.k): row.auroc_mean
                        for row in group[group["encoder"] == encoder].sort_values("k").itertuples()
                    }
                    for encoder in encoders
                }
                for _, group in _by_rule(of_mean)
            ],
            pconfig={
                "xlab": "k, the number of reference receptors",
                "ylab": "AUROC",
                "categories": True,
                "ymax": 1,
                "tt_decimals": 3,
                "style": "lines+markers",
                "showlegend": True,
                "colors": colours,
                "data_labels": [{"name": RULE_TITLES[rule].capitalize()} for rule, _ in _by_rule(of_mean)],
            },
        ),
        _auroc_table(summary, encoders),
        _roc_section(benchmark.roc, encoders, colours),
    ]
    too_few = benchmark.not_evaluated
    if len(too_few):
        shown = too_few.sort_values(["n_receptors", "epitope"], ascending=[False, True])
        shown = shown.drop_duplicates("epitope").head(50)
        n_epitopes = too_few["epitope"].nunique()
        sections.append(
            section(
                "airrvec_not_evaluated",
                "Not evaluated",
                f"{n_epitopes:,} epitopes were not evaluated at one k or more"
                f"{'; the 50 with the most receptors are shown' if n_epitopes > 50 else ''}."
                " All are in <code>benchmark/not_evaluated.tsv</code>.",
                "table",
                {safe(row.epitope): {"k": row.k, "reason": safe(row.reason)} for row in shown.itertuples()},
                headers={
                    "k": {"title": "From k", "format": "{:,.0f}", "scale": False},
                    "reason": {"title": "Reason"},
                },
                pconfig={"col1_header": "Epitope", "sort_rows": False},
            )
        )
    return sections


def _auroc_table(summary: pd.DataFrame, encoders: list[str]) -> dict:
    data = {}
    for row in _largest_k(summary).itertuples():
        if row.rule == "nearest_neighbour":
            cells = data.setdefault(safe(row.epitope), {"k": row.k})
            cells[row.encoder] = row.auroc_mean
    return section(
        "airrvec_auroc_by_epitope",
        "AUROC by epitope",
        "Nearest neighbour, at the largest k that the epitope allows; mean over splits.",
        "table",
        data,
        headers={
            "k": {"title": "k", "format": "{:,.0f}", "scale": False},
            **{
                name: {
                    "title": title(name),
                    "format": "{:,.3f}",
                    "min": 0.5,
                    "max": 1,
                    "scale": "Blues",
                }
                for name in encoders
            },
        },
        pconfig={"col1_header": "Epitope", "sort_rows": False},
    )


def _roc_section(roc: pd.DataFrame, encoders: list[str], colours: dict) -> dict:
    roc = roc[roc["rule"] == "nearest_neighbour"]
    datasets, labels = [], []
    shown = roc.sort_values(["k", "epitope"], ascending=[False, True])["epitope"].unique()[:MAX_ROC_TABS]
    for epitope in shown:
        of_epitope = roc[roc["epitope"] == epitope]
        datasets.append(
            {
                title(encoder): {
                    round(row.fpr, 4): round(row.tpr_mean, 4)
                    for row in of_epitope[of_epitope["encoder"] == encoder].itertuples()
                }
                for encoder in encoders
            }
        )
        labels.append({"name": f"{safe(epitope)} (k = {of_epitope['k'].iloc[0]})"})
    return section(
        "airrvec_roc",
        "ROC curves",
        "Nearest neighbour, at the largest k that the epitope allows; mean over splits."
        + (" All epitopes are in <code>benchmark/roc.tsv</code>." if len(shown) == MAX_ROC_TABS else ""),
        "linegraph",
        datasets,
        pconfig={
            "xlab": "False-positive rate",
            "ylab": "True-positive rate",
            "xmin": 0,
            "xmax": 1,
            "ymin": 0,
            "ymax": 1,
            "tt_decimals": 3,
            "showlegend": True,
            "colors": colours,
            "data_labels": labels,
        },
    )


def _public(receptors: dict) -> list[str]:
    """How many receptors samples share; nothing where there is one sample alone."""
    if receptors["samples"] < 2:
        return []
    n_public = receptors["public_receptors"]
    return [f"{n_public:,} receptor{' occurs' if n_public == 1 else 's occur'} in two or more samples"]


def summary_text(samples: list[dict], receptors: dict, embeddings: dict, benchmark: Benchmark | None) -> str:
    """What happened, for the terminal."""
    lines = ["Sample            Format    Rows read   Kept  Rejected   Cells  Receptors"]
    for sample in samples:
        lines.append(
            f"{sample['sample_id'][:17]:<17} {sample['format']:<8} {sample['rows_in']:>10,}"
            f" {sample['rows_out']:>6,} {sample['rows_rejected']:>9,} {sample['cells']:>7,}"
            f" {sample['receptors']:>10,}"
        )
    warnings = [f"Note: {s['sample_id']}: {warning}" for s in samples for warning in s["warnings"]]
    lines += [
        *(["", *warnings] if warnings else []),
        "",
        f"{embeddings['receptors']:,} distinct receptors embedded by {title(embeddings['model'])}"
        f" in {embeddings['dimensions']} dimensions"
        + (
            f"; {embeddings['without_vector']:,} hold nothing that the model sees"
            if embeddings["without_vector"]
            else ""
        ),
        *_public(receptors),
    ]
    if benchmark is not None:
        lines += ["", *_auroc_lines(benchmark.summary)]
    return "\n".join(lines) + "\n"


def _auroc_lines(summary: pd.DataFrame) -> list[str]:
    """A table of epitopes and encoders; of many encoders, each one's mean alone."""
    largest = _largest_k(summary)
    largest = largest[largest["rule"] == "nearest_neighbour"]
    encoders = list(dict.fromkeys(largest["encoder"]))
    if len(encoders) > 5:
        means = largest[largest["epitope"] == "mean"]
        return [
            f"AUROC, nearest neighbour, k = {means['k'].max()}, mean over {_n_complete(summary)} epitopes",
            *(f"{title(row.encoder):<30}{row.auroc_mean:>7.3f}" for row in means.itertuples()),
        ]
    width = max(12, *(len(title(name)) + 2 for name in encoders))
    lines = [
        "AUROC, nearest neighbour, largest k of the epitope (mean over splits)",
        f"{'Epitope':<18}{'k':>5}" + "".join(f"{title(name):>{width}}" for name in encoders),
    ]
    for (epitope, k), rows in largest.groupby(["epitope", "k"], sort=False):
        values = dict(zip(rows["encoder"], rows["auroc_mean"], strict=True))
        lines.append(
            f"{epitope[:17]:<18}{k:>5}" + "".join(f"{values[name]:>{width}.3f}" for name in encoders)
        )
    return lines


def merged_versions(documents: list[str], nextflow: str) -> str:
    """One YAML of all tasks' versions, those of a process once, and of the workflow itself."""
    own = f'"REPORT":\n    multiqc: "{version("multiqc")}"\n'
    workflow = f'"Workflow":\n    airrvec: "{__version__}"\n    nextflow: "{nextflow}"\n'
    blocks = {document.strip() + "\n" for document in [*documents, own] if document.strip()}
    return "".join([*sorted(blocks), workflow])


def _n_complete(summary: pd.DataFrame) -> int:
    """Number of the epitopes that the mean is taken over."""
    of_epitopes = summary[summary["epitope"] != "mean"]
    return len(complete_epitopes(of_epitopes["epitope"], of_epitopes["k"]))


def _largest_k(summary: pd.DataFrame) -> pd.DataFrame:
    """Rows of each epitope's largest k: largest first, the mean over epitopes at the end."""
    largest = summary[summary["k"] == summary.groupby("epitope")["k"].transform("max")]
    is_mean = largest["epitope"] == "mean"
    return pd.concat([largest[~is_mean].sort_values("k", ascending=False, kind="stable"), largest[is_mean]])


def _by_rule(data: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    return [(rule, data[data["rule"] == rule]) for rule in RULE_TITLES if rule in set(data["rule"])]


def _n_paired(sample: dict) -> int:
    single = sum(sample["pairing"].get(word, 0) for word in (schema.ORPHAN_VJ, schema.ORPHAN_VDJ))
    return sample["cells"] - single


def safe(value) -> str:
    """A user's words, harmless in HTML."""
    return escape(str(value))


def section(name: str, heading: str, description: str, kind: str, data, **more) -> dict:
    pconfig = {"id": f"{name}_plot", "title": f"airrvec: {heading}", **more.pop("pconfig", {})}
    return {
        "id": name,
        "section_name": heading,
        "description": description,
        "plot_type": kind,
        "pconfig": pconfig,
        **more,
        "data": data,
    }
