"""What the report shows of annotation: calls, what they are worth, and the receptors that are surest."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from airrvec.benchmark.training_labels import MARK, not_recorded_warning
from airrvec.core import tables
from airrvec.report.page import group_titles, safe, section, titled
from airrvec.report.sections.calibration import precision_recall_section, reliability_section

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
    titles: dict[tuple[str, str], str]


def read_annotation(folder: Path | None) -> Annotation | None:
    """The results of annotation; None where the folder holds none."""
    if folder is None or not (folder / "calibration.qc.json").exists():
        return None
    reference = json.loads((folder / "calibration.qc.json").read_text())
    titles = group_titles(reference["groups"])
    return Annotation(
        [json.loads(path.read_text()) for path in sorted(folder.glob("*.annotation.qc.json"))],
        reference,
        titled(tables.read(folder / "calibration.parquet").to_pandas(), titles),
        titled(tables.read(folder / "precision_recall.parquet").to_pandas(), titles),
        titles,
    )


def annotation_sections(annotation: Annotation) -> list[dict]:
    """The sections of the report: counts, epitopes, surest calls, reliability, precision and recall."""
    sections = [_counts(annotation)]
    if any(sample["epitopes"] for sample in annotation.samples):
        sections += [_epitopes(annotation), _top(annotation)]
    if len(annotation.calibration):
        sections.append(
            reliability_section(annotation.calibration, annotation.reference["groups"], annotation.titles)
        )
    if len(annotation.precision_recall):
        sections.append(precision_recall_section(annotation.precision_recall))
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


def _expected_false(sample: dict) -> float:
    return sum(group["expected_false"] for group in sample["groups"])


def _title(annotation: Annotation, group: dict) -> str:
    return annotation.titles[group["species"], group["chains"]]


def _cautions(annotation: Annotation) -> list[str]:
    """Sentences on what the error rates do not cover."""
    groups = annotation.reference["groups"]
    sentences = [
        f"{_title(annotation, group)}: not calibrated, no calls ({group['not_calibrated']})"
        for group in groups
        if group["not_calibrated"]
    ]
    if any(group.get("by_study") is False for group in groups):
        sentences.append(
            "the reference names no two studies, so that its receptors were held out at random; across"
            " studies calls are less often right than these numbers say"
        )
    return [*sentences, *_of_training(annotation)]


def _of_training(annotation: Annotation) -> list[str]:
    """Sentences on labelled receptors that the model has been trained on."""
    reference = annotation.reference
    sentences = [not_recorded_warning(model) for model in reference.get("not_recorded", ())]
    for group in reference["groups"]:
        trained_on = group.get("trained_on", {"queries": 0})
        if trained_on["queries"]:
            sentences.append(
                f"{_title(annotation, group)}: the model has been trained on {trained_on['queries']:,} of the"
                " receptors held out to calibrate"
                + (
                    "; they are left out"
                    if trained_on["left_out"]
                    else "; too few others are there to leave them out, so that errors are underestimated"
                )
            )
    return sentences


def _flattered(reference: dict) -> bool:
    """Whether the calibration rests on receptors that the model has been trained on."""
    kept = [group.get("trained_on", {}) for group in reference["groups"]]
    return bool(reference.get("not_recorded") or any(n.get("queries") and not n["left_out"] for n in kept))


def _left_out(annotation: Annotation) -> list[str]:
    """A sentence on what ``--exclude_references`` takes from the reference; none where it takes nothing."""
    if not annotation.reference.get("excluded_cells"):
        return []
    of_chains = ", ".join(
        f"{_title(annotation, group)} {group['excluded_labels']:,}"
        for group in annotation.reference["groups"]
        if group.get("excluded_labels")
    )
    return [
        f"<code>--exclude_references {safe(annotation.reference['exclude_references'])}</code> leaves out"
        f" {annotation.reference['excluded_cells']:,} labelled cells"
        + (f"; pairs of receptor and epitope that no other study reports: {of_chains}." if of_chains else ".")
    ]


def _counts(annotation: Annotation) -> dict:
    data = {}
    for sample in annotation.samples:
        data[safe(sample["sample_id"])] = {
            "receptors": sample["receptors"],
            **{call: sample["calls"].get(call, 0) for call in CALLS},
            "called_cells": sample["called_cells"],
            "expected_false": _expected_false(sample),
            "exact": sample["exact"],
            **{
                f"prevalence_{group['species']}_{group['chains']}": 100 * group["prevalence"]
                for group in sample["groups"]
            },
        }
    found = {
        (group["species"], group["chains"]) for sample in annotation.samples for group in sample["groups"]
    }
    count = {"format": "{:,.0f}", "scale": False}
    headers = {
        "receptors": {"title": "Receptors", **count},
        **{call: {"title": words, **count} for call, words in CALLS.items()},
        "called_cells": {"title": "Cells called", **count},
        "expected_false": {"title": "False calls, expected", "format": "{:,.1f}", "scale": False},
        "exact": {
            "title": "In the reference",
            **count,
            "description": "Receptors whose V genes, J genes and junctions a reference has, called or not",
        },
        **{
            f"prevalence_{species}_{chains}": {
                "title": f"Like the reference, {words}",
                "suffix": " %",
                "format": "{:,.2f}",
                "scale": False,
            }
            for (species, chains), words in annotation.titles.items()
            if (species, chains) in found
        },
    }
    if _flattered(annotation.reference):
        headers["expected_false"]["title"] += MARK
    fdr = annotation.samples[0]["fdr"] if annotation.samples else None
    of_reference = "; ".join(
        f"{_title(annotation, group)}: {group['references']:,} receptors, {group['candidates']:,} of"
        f" {group['epitopes']:,} epitopes with enough of them, {group['studies']:,} studies"
        for group in annotation.reference["groups"]
        if group["references"]
    )
    words = [
        "An epitope is called where the receptor is so near to its references, and so much nearer than to"
        " those of others and to background receptors, that"
        + (f" at most {100 * fdr:g} % of the calls of a sample are expected to be false." if fdr else ""),
        "No call does not mean that a receptor binds nothing: most epitopes have no reference.",
        f"The reference: {of_reference}.",
        f"Background: {safe(annotation.reference['background'])}. The expected errors hold where the"
        " receptors that bind no epitope of the reference look like it.",
        *_left_out(annotation),
        *(f"<strong>{safe(sentence)}.</strong>" for sentence in _cautions(annotation)),
        "Every cell is in <code>annotation/</code>, every reference in"
        " <code>annotation/reference/receptors.tsv</code>.",
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
            "chains": _title(annotation, row),
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
