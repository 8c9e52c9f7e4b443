"""What the report shows of annotation: calls, what they are worth, and the receptors that are surest."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from airrvec import tables
from airrvec.figures import COLOURS
from airrvec.report import CHAINS, safe, section

PARENT = {
    "parent_id": "airrvec_annotation",
    "parent_name": "Annotation",
    "parent_description": "Which receptors bind epitopes that the labelled reference knows.",
}
CALLS = {
    "called": "Called",
    "no call": "No call",
    "not calibrated": "Not calibrated",
    "no vector": "No vector",
}
N_ANSWER = 5  # epitopes
N_TOP = 200  # calls of all samples
N_EPITOPES = 20


@dataclass(frozen=True)
class Annotation:
    """What ``calibrate_annotation.py`` and ``annotate_receptors.py`` counted, and tables as data frames."""

    samples: list[dict]
    reference: dict
    calibration: pd.DataFrame
    precision_recall: pd.DataFrame


def read_annotation(folder: Path | None) -> Annotation | None:
    """The results of annotation; None where the folder holds none."""
    if folder is None or not (folder / "calibration.qc.json").exists():
        return None
    return Annotation(
        [json.loads(path.read_text()) for path in sorted(folder.glob("*.annotation.qc.json"))],
        json.loads((folder / "calibration.qc.json").read_text()),
        tables.read(folder / "calibration.parquet").to_pandas(),
        tables.read(folder / "precision_recall.parquet").to_pandas(),
    )


def annotation_sections(annotation: Annotation) -> list[dict]:
    """The sections of the report: counts, epitopes, surest calls, reliability, precision and recall."""
    sections = [_counts(annotation)]
    if any(sample["epitopes"] for sample in annotation.samples):
        sections += [_epitopes(annotation), _top(annotation)]
    if len(annotation.calibration):
        sections += [_reliability(annotation), _precision_recall(annotation)]
    return [{**content, **PARENT} for content in sections]


def annotation_lines(annotation: Annotation) -> list[str]:
    """Calls of each sample, for the terminal."""
    lines = ["Sample            Receptors    Called  False, expected"]
    for sample in annotation.samples:
        lines.append(
            f"{sample['sample_id'][:17]:<17}{sample['receptors']:>10,}{sample['calls'].get('called', 0):>10,}"
            f"{_expected_false(sample):>17.1f}"
        )
    return [*lines, *(f"Note: {sentence}" for sentence in _cautions(annotation))]


def annotation_answer(annotation: Annotation) -> str:
    """How many receptors are called, for which epitopes, in a sentence."""
    called = Counter()
    for sample in annotation.samples:
        called.update({safe(row["epitope"]): row["receptors"] for row in sample["epitopes"]})
    of_samples = sum(sample["receptors"] for sample in annotation.samples)
    if not called:
        return f"No receptor of {of_samples:,} is called."
    wrong = sum(map(_expected_false, annotation.samples))
    most = ", ".join(f"{epitope} {n:,}" for epitope, n in called.most_common(N_ANSWER))
    others = f", and of {len(called) - N_ANSWER:,} others" if len(called) > N_ANSWER else ""
    return (
        f"{called.total():,} of {of_samples:,} receptors are called: {most}{others}."
        f" Of these calls {wrong:.1f} are expected to be false."
    )


def _place(share: float) -> str:
    """A share as the key of a line's point: MultiQC sorts the keys of JSON as words."""
    return f"{share:.4f}"


def _expected_false(sample: dict) -> float:
    return sum(of_chains["expected_false"] for of_chains in sample["chains"].values())


def _cautions(annotation: Annotation) -> list[str]:
    """Sentences on what the error rates do not cover."""
    of_chains = annotation.reference["chains"]
    sentences = [
        f"{CHAINS[chains]}: not calibrated, no calls ({counts['not_calibrated']})"
        for chains, counts in of_chains.items()
        if counts["not_calibrated"]
    ]
    if any(counts.get("by_study") is False for counts in of_chains.values()):
        sentences.append(
            "the reference names no two studies, so that its receptors were held out at random; across"
            " studies calls are less often right than these numbers say"
        )
    return sentences


def _counts(annotation: Annotation) -> dict:
    data = {}
    for sample in annotation.samples:
        data[safe(sample["sample_id"])] = {
            "receptors": sample["receptors"],
            **{call: sample["calls"].get(call, 0) for call in CALLS},
            "called_cells": sample["called_cells"],
            "expected_false": _expected_false(sample),
            **{
                f"prevalence_{chains}": 100 * of_chains["prevalence"]
                for chains, of_chains in sample["chains"].items()
            },
        }
    count = {"format": "{:,.0f}", "scale": False}
    headers = {
        "receptors": {"title": "Receptors", **count},
        **{call: {"title": words, **count} for call, words in CALLS.items()},
        "called_cells": {"title": "Cells called", **count},
        "expected_false": {"title": "False calls, expected", "format": "{:,.1f}", "scale": False},
        **{
            f"prevalence_{chains}": {
                "title": f"Like the reference, {words}",
                "suffix": " %",
                "format": "{:,.2f}",
                "scale": False,
            }
            for chains, words in CHAINS.items()
            if any(chains in sample["chains"] for sample in annotation.samples)
        },
    }
    fdr = annotation.samples[0]["fdr"] if annotation.samples else None
    of_reference = "; ".join(
        f"{CHAINS[chains]}: {counts['references']:,} receptors, {counts['candidates']:,} of"
        f" {counts['epitopes']:,} epitopes with enough of them, {counts['studies']:,} studies"
        for chains, counts in annotation.reference["chains"].items()
        if counts["references"]
    )
    words = [
        "An epitope is called where the receptor is so near to its references, and so much nearer than to"
        " those of others and to background receptors, that"
        + (f" at most {100 * fdr:g} % of the calls of a sample are expected to be false." if fdr else ""),
        "No call does not mean that a receptor binds nothing: most epitopes have no reference.",
        f"The reference: {of_reference}.",
        f"Background: {safe(annotation.reference['background'])}. The expected errors hold where the"
        " receptors that bind no epitope of the reference look like it.",
        *(f"<strong>{safe(sentence)}.</strong>" for sentence in _cautions(annotation)),
        "Every cell is in <code>annotation/</code>.",
    ]
    return section(
        "airrvec_annotation_counts",
        "Which receptors bind known epitopes",
        "<br>".join(words),
        "table",
        data,
        headers=headers,
        pconfig={"col1_header": "Sample"},
    )


def _epitopes(annotation: Annotation) -> dict:
    rows = pd.DataFrame(
        [
            {"sample": sample["sample_id"], **row}
            for sample in annotation.samples
            for row in sample["epitopes"]
        ]
    )
    rows["name"] = [
        f"{row.epitope} ({row.antigen_species})" if row.antigen_species else row.epitope
        for row in rows.itertuples()
    ]
    largest = rows.groupby("name")["receptors"].sum().nlargest(N_EPITOPES).index
    data = {
        safe(sample): {
            safe(name): int(count)
            for name, count in of_sample.groupby("name")["receptors"].sum().items()
            if name in largest
        }
        for sample, of_sample in rows.groupby("sample")
    }
    return section(
        "airrvec_annotation_epitopes",
        "Called receptors by epitope",
        f"Distinct receptors; the {min(N_EPITOPES, rows['name'].nunique())} most frequent epitopes.",
        "bargraph",
        data,
        pconfig={"ylab": "Receptors"},
    )


def _top(annotation: Annotation) -> dict:
    rows = [{"sample": sample["sample_id"], **row} for sample in annotation.samples for row in sample["top"]]
    rows = sorted(rows, key=lambda row: (row["fdr"], -row["probability"]))[:N_TOP]
    data = {
        f"{safe(row['sample'])}, {safe(row['receptor_id'])}": {
            "epitope": safe(row["epitope"]),
            "antigen_species": safe(row["antigen_species"] or ""),
            "mhc_a": safe(row["mhc_a"] or ""),
            "chains": CHAINS[row["chains"]],
            "cells": row["n_cells"],
            "probability": row["probability"],
            "fdr": row["fdr"],
            "distance": row["nearest_1_distance"],
            "study": safe(row["nearest_1_study"] or ""),
        }
        for row in rows
    }
    headers = {
        "epitope": {"title": "Epitope"},
        "antigen_species": {"title": "Organism"},
        "mhc_a": {"title": "MHC"},
        "chains": {"title": "Chains"},
        "cells": {"title": "Cells", "format": "{:,.0f}", "scale": False},
        "probability": {"title": "Probability", "format": "{:,.2f}", "min": 0, "max": 1, "scale": "Blues"},
        "fdr": {"title": "FDR", "format": "{:,.3f}", "scale": False},
        "distance": {"title": "Distance to the nearest reference", "format": "{:,.3f}", "scale": False},
        "study": {"title": "Its study"},
    }
    return section(
        "airrvec_annotation_top",
        "The surest calls",
        "FDR: expected share of false ones among the calls of the sample that are at least as sure.",
        "table",
        data,
        headers=headers,
        pconfig={"col1_header": "Sample, receptor", "sort_rows": False},
    )


def _reliability(annotation: Annotation) -> dict:
    data = {
        CHAINS[chains]: {_place(row.probability): round(row.observed, 4) for row in group.itertuples()}
        for chains, group in annotation.calibration.groupby("chains")
    }
    lines = {CHAINS[chains]: colour for chains, colour in zip(CHAINS, COLOURS, strict=False)}
    data["as it should be"] = {_place(0): 0, _place(1): 1}
    prevalence = annotation.calibration["prevalence"].iloc[0]
    scores = ", ".join(
        f"{CHAINS[chains]} {counts['brier']:.4f}"
        for chains, counts in annotation.reference["chains"].items()
        if counts.get("brier") is not None
    )
    return section(
        "airrvec_annotation_reliability",
        "Reliability of the probabilities",
        "Labelled receptors, each compared with the references of other studies, mixed with background"
        f" receptors so that {100 * prevalence:g} % are labelled; the calibration has seen neither their"
        f" study nor these background receptors. Brier score: {scores}.",
        "linegraph",
        data,
        pconfig={
            "xlab": "Probability that the call is right",
            "ylab": "Share of right calls",
            "xmin": 0,
            "xmax": 1,
            "ymin": 0,
            "ymax": 1,
            "showlegend": True,
            "colors": {**lines, "as it should be": "#999999"},
        },
    )


def _precision_recall(annotation: Annotation) -> dict:
    data, colours = {}, {}
    for (chains, prevalence), group in annotation.precision_recall.groupby(["chains", "prevalence"]):
        line = f"{CHAINS[chains]}, {100 * prevalence:g} % labelled"
        colours[line] = COLOURS[len(colours) % len(COLOURS)]
        data[line] = {_place(row.recall): round(row.precision, 4) for row in group.itertuples()}
    return section(
        "airrvec_annotation_precision_recall",
        "Precision against recall",
        "Of labelled receptors whose epitope other studies know, by cross-validation over studies. How many"
        " receptors of a sample are like the reference decides what precision a recall costs.",
        "linegraph",
        data,
        pconfig={
            "xlab": "Recall",
            "ylab": "Precision",
            "ymin": 0,
            "ymax": 1,
            "xmin": 0,
            "showlegend": True,
            "colors": colours,
        },
    )
