"""Annotation in the MultiQC report: epitope calls, their error rates, and the calls with the lowest FDR."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from airrvec.core import schema, tables
from airrvec.core.terminal import counted
from airrvec.evaluation.training_labels import TRAINED_ON_MARK
from airrvec.figures.palette import COLOURS, OTHER_COLOUR
from airrvec.report import receptor_cells as cells
from airrvec.report.page import (
    COUNT,
    clones_link,
    escaped,
    group_titles,
    meaning,
    section,
    units_title,
    with_group_titles,
    with_units,
)
from airrvec.report.sections import reference
from airrvec.report.sections.calibration import (
    cautions,
    is_underestimated,
    precision_recall_section,
    reliability_section,
)
from airrvec.report.summary import MOST, WORST

import pandas as pd
import pyarrow.compute as pc

N_EXCLUDED = 5  # excluded epitopes that a cell names


def typed(samples: list[dict]) -> list[dict]:
    """Return the samples whose donor's HLA is known."""
    return [sample for sample in samples if sample.get("hla")]


def hla_section(samples: list[dict], titles: dict[tuple[str, str], str]) -> dict:
    """
    Return the section of the typed samples: HLA, epitopes that may be called, calls that it prevents.

    Parameters
    ----------
    samples : list of dict
        Counts of ``annotate_receptors.py``; at least one has ``hla``.
    titles : dict
        From `airrvec.report.page.group_titles`.
    """
    classes = {
        (group["species"], group["chains"]): None
        for sample in typed(samples)
        for group in sample["groups"]
        if "candidates" in group
    }
    data = {
        escaped(sample["sample_id"]): {
            "hla": cells.text_cell(sample["hla"].replace(";", "; ")),
            **{f"left_{species}_{chains}": _left(sample, species, chains) for species, chains in classes},
            "excluded": sum(sample["excluded"].values()),
            "epitopes": cells.text_cell(_named(sample["excluded"])),
        }
        for sample in typed(samples)
    }
    headers = {
        "hla": cells.text_header("Donor's HLA", "Column <code>hla</code> of the samplesheet, at two fields"),
        **{
            f"left_{species}_{chains}": cells.text_header(
                f"Epitopes that can be called, {titles[species, chains]}",
                "Epitopes with enough references, less those whose MHC the donor lacks",
            )
            for species, chains in classes
        },
        "excluded": {
            "title": "Calls prevented",
            **COUNT,
            "description": "Receptors that would be called with an epitope whose MHC the donor lacks",
        },
        "epitopes": cells.text_header(
            "Their epitopes",
            "With the number of receptors; <code>excluded_epitope</code> of the sample's table",
        ),
    }
    without = len(samples) - len(typed(samples))
    words = [
        "An epitope is not called if the donor is typed at the locus of its MHC and has none of its alleles."
        " An epitope whose locus is not typed, or whose MHC is not known, can be called.",
        f"{counted(without, 'sample')} without HLA: all epitopes can be called." if without else "",
    ]
    return section(
        "airrvec_annotation_hla",
        "Epitopes that the donors' HLA excludes",
        "<br>".join(filter(None, words)),
        "table",
        data,
        headers=headers,
        pconfig={"col1_header": "Sample"},
    )


def _left(sample: dict, species: str, chains: str) -> str:
    """Return the number of epitopes that may be called, as text: ``12 of 45``."""
    for group in sample["groups"]:
        if (group["species"], group["chains"]) == (species, chains):
            left = group["candidates"] - group["excluded"]
            return cells.text_cell(f"{left:,} of {group['candidates']:,}")
    return ""


def _named(excluded: dict[str, int]) -> str:
    """Return the epitopes with most receptors, as text: ``GILGFVFTL 12, NLVPMVATV 3``."""
    ordered = sorted(excluded.items(), key=lambda item: (-item[1], item[0]))
    more = f", and {counted(len(ordered) - N_EXCLUDED, 'other epitope')}" if len(ordered) > N_EXCLUDED else ""
    return ", ".join(f"{epitope} {n:,}" for epitope, n in ordered[:N_EXCLUDED]) + more


# --- Called receptors in the MultiQC report, beside their nearest references

N_TOP = 200  # calls in the table, of all samples
LEAST = 0.05  # evidence that raises a score by less is not shown
STRONG = 2.0  # evidence that raises it by so much multiplies the odds by 7.4

# Column of the calls → evidence, as the report names it.
EVIDENCE = {
    "evidence_sceptr": "SCEPTR",
    "evidence_tcrdist": "TCRdist",
    "evidence_alpha": "α chain",
    "evidence_beta": "β chain",
    "evidence_genes": "V, J genes",
    "evidence_classifier": "linear classifier",
}


_SHOWN = [
    *("sample_id", "receptor_id", "count_unit", "species", "chains", *schema.ANTIGEN, "probability", "fdr"),
    *(*schema.RECEPTOR_FIELDS, "innate_like", *schema.EVIDENCE),
    *(f"nearest_1_{name}" for name in schema.NEAREST),
]
_IS_CALLED = pc.field("call") == schema.HAS_CALL


def lowest_fdr(paths: Iterable[Path]) -> list[dict]:
    """
    Return the called receptors with the lowest FDR, at most `N_TOP` of all samples.

    Scores of different classes of chains cannot be compared; FDRs can.

    Parameters
    ----------
    paths : iterable of Path
        Calls of each sample: `airrvec.core.schema.ANNOTATION`.

    Returns
    -------
    list of dict
        `_SHOWN`, with the ``abundance`` of the receptor in the sample, by ascending FDR, then descending
        probability.
    """
    rows = [row for path in sorted(paths) for row in _lowest_of_sample(path)]
    return sorted(rows, key=_place)[:N_TOP]


def _lowest_of_sample(path: Path) -> Iterator[dict]:
    keys = ["receptor_id", "fdr", "probability", "sample_id"]
    calls = tables.read_filtered(path, _IS_CALLED, [*keys, "abundance"])
    receptors = calls.group_by(keys).aggregate([("abundance", "sum")])
    lowest = sorted(receptors.to_pylist(), key=_place)[:N_TOP]
    abundance = {row["receptor_id"]: row["abundance_sum"] for row in lowest}
    wanted = _IS_CALLED & tables.is_one_of("receptor_id", [*abundance])
    for row in tables.read_filtered(path, wanted, _SHOWN).to_pylist():
        if row["receptor_id"] in abundance:  # of its cells the first
            yield {**row, "abundance": abundance.pop(row["receptor_id"])}


def _place(row: dict) -> tuple:
    return row["fdr"], -row["probability"], row["sample_id"], row["receptor_id"]


def calls_section(rows: Sequence[dict], titles: dict[tuple[str, str], str]) -> dict:
    """
    Return the section of the calls with the lowest FDR.

    Parameters
    ----------
    rows : list of dict
        From `lowest_fdr`.
    titles : dict
        From `airrvec.report.page.group_titles`.
    """
    units = pd.Series([row["count_unit"] for row in rows])
    data = {
        f"{escaped(row['sample_id'])}, {number:03d}": {
            **cells.chain_cells(row),
            "clones": clones_link("clones", search=row["trb_junction_aa"] or row["tra_junction_aa"] or ""),
            "epitope": cells.text_cell(row["epitope"]),
            "probability": row["probability"],
            "fdr": row["fdr"],
            "evidence": cells.text_cell(_evidence(row)),
            **cells.antigen_cells(row),
            "abundance": row["abundance"],
            **cells.nearest_cells(row),
            "chains": titles[row["species"], row["chains"]],
            "id": cells.text_cell(row["receptor_id"]),
            "nearest_id": cells.text_cell(row["nearest_1_id"]),
        }
        for number, row in enumerate(rows, start=1)
    }
    data, headers = with_units(data, _call_headers(units_title(units)), units)
    return section(
        "airrvec_annotation_top",
        "Calls with the lowest false discovery rate",
        "FDR: expected share of false calls among the calls of the sample with at least this score."
        " The nearest reference is the labelled receptor with the most similar vector; compare its CDR3s with"
        " those of the receptor before you trust a call.",
        "table",
        data,
        headers=headers,
        pconfig={"col1_header": "Sample, call", "sort_rows": False},
    )


def _call_headers(unit: str) -> dict[str, dict]:
    return {
        **cells.CHAIN_HEADERS,
        "clones": cells.text_header("In the table of clones"),
        "epitope": cells.text_header("Epitope", **meaning("annotation", "epitope")),
        "probability": {
            "title": "Probability",
            "format": "{:,.2f}",
            "min": 0,
            "max": 1,
            "scale": "Blues",
            **meaning("annotation", "probability"),
        },
        "fdr": {"title": "FDR", "format": "{:,.3f}", "scale": False, **meaning("annotation", "fdr")},
        "evidence": cells.text_header(
            "Rests on",
            "Evidence for the epitope, the strongest first: nearness of the vectors (SCEPTR) and of the"
            " sequences (TCRdist) to its references, nearness of either chain alone, and V and J genes."
            f" Strong: the odds of the epitope are {math.exp(STRONG):.0f} times as high or more; some: less."
            " The columns <code>evidence_…</code> of <code>annotation/</code> have the logarithms",
        ),
        **cells.ANTIGEN_HEADERS,
        "abundance": {
            "title": unit,
            "format": "{:,.0f}",
            "scale": False,
            **meaning("annotation", "abundance"),
        },
        **cells.nearest_headers(),
        "chains": cells.text_header("Compared chains", **meaning("annotation", "chains")),
        "id": cells.ID_HEADER,
        "nearest_id": cells.text_header(
            "Id of the nearest reference", **meaning("annotation", "nearest_1_id")
        ),
    }


def _evidence(row: dict) -> str:
    """Return the evidence of a call in words, the strongest first."""
    weights = {words: row.get(name) or 0.0 for name, words in EVIDENCE.items()}
    strongest = sorted(weights, key=weights.__getitem__, reverse=True)
    shown = [
        f"{words} {'strong' if weights[words] >= STRONG else 'some'}"
        for words in strongest
        if weights[words] >= LEAST
    ]
    return ", ".join(part.replace(" ", "\N{NO-BREAK SPACE}") for part in shown)


# --- Annotation in the MultiQC report: epitope calls, their error rates, and the calls with the lowest FDR

CALLS = {
    schema.HAS_CALL: "Called",
    "no call": "No call",
    "not calibrated": "Not calibrated",
    "no vector": "No vector",
    "innate-like": "Innate-like",
}
N_ANSWER = 5  # epitopes in the answer
N_EPITOPES = 20  # in the bar plot, and in the table of what to expect


@dataclass(frozen=True)
class Annotation:
    """Counts of ``calibrate_annotation.py`` and ``annotate_receptors.py``, and tables as data frames."""

    samples: list[dict]
    reference: dict
    calibration: pd.DataFrame
    precision_recall: pd.DataFrame
    titles: dict[tuple[str, str], str]
    calls: Sequence[dict] = ()  # of `lowest_fdr`
    epitopes: pd.DataFrame = field(default_factory=pd.DataFrame)  # of the classes of chains of the samples


def read_annotation(folder: Path | None, calls: Path | None) -> Annotation | None:
    """Return the results of annotation, and the ``calls`` of samples in a folder; None if there are none."""
    if folder is None or not (folder / "calibration.qc.json").exists():
        return None
    counts = json.loads((folder / "calibration.qc.json").read_text())
    titles = group_titles(counts["groups"])
    samples = [json.loads(path.read_text()) for path in sorted(folder.glob("*.annotation.qc.json"))]
    return Annotation(
        samples,
        counts,
        with_group_titles(tables.read(folder / "calibration.parquet").to_pandas(), titles),
        with_group_titles(tables.read(folder / "precision_recall.parquet").to_pandas(), titles),
        titles,
        lowest_fdr(calls.glob("*.parquet")) if calls else (),
        reference.expected(folder / "epitopes.parquet", samples, titles),
    )


def annotation_sections(annotation: Annotation) -> list[dict]:
    """Return the sections: the reference, counts, HLA, epitopes, calls with the lowest FDR, error rates."""
    sections = []
    if len(annotation.epitopes):
        sections.append(reference.holes_section(annotation.epitopes, _outlook(annotation)))
    sections.append(_counts(annotation))
    if typed(annotation.samples):
        sections.append(hla_section(annotation.samples, annotation.titles))
    if any(sample["epitopes"] for sample in annotation.samples):
        sections.append(_epitopes(annotation))
    if annotation.calls:
        sections.append(calls_section(annotation.calls, annotation.titles))
    if len(annotation.calibration):
        sections.append(
            reliability_section(annotation.calibration, annotation.reference["groups"], annotation.titles)
        )
    if len(annotation.precision_recall):
        sections.append(precision_recall_section(annotation.precision_recall))
    return sections


def annotation_lines(annotation: Annotation) -> list[str]:
    """Return the number of calls of each sample or, of many, where there are most; and cautions."""
    samples, head = annotation.samples, []
    rows = [
        (sample["sample_id"], sample["receptors"], _n_called(sample), _expected_false(sample))
        for sample in samples
    ]
    if len(samples) > MOST:
        head = [f"{len(samples)} samples; the {WORST} with most calls:"]
        totals = (sum(row[1] for row in rows), sum(row[2] for row in rows), sum(row[3] for row in rows))
        rows = sorted(rows, key=lambda row: -row[2])[:WORST]
        rows.append((f"all {len(samples)}", *totals))
    lines = [*head, "Sample            Receptors    Called   Expected false"]
    lines += [
        f"{name[:17]:<17}{receptors:>10,}{n_calls:>10,}{expected:>17.1f}"
        for name, receptors, n_calls, expected in rows
    ]
    lines += [f"Note: {sentence}" for sentence in _cautions(annotation)]
    return [*reference.doubts(annotation.reference), *_outlook(annotation), *lines]


def _outlook(annotation: Annotation) -> list[str]:
    return reference.outlook_lines(annotation.reference["groups"], annotation.samples, annotation.titles)


def _n_called(sample: dict) -> int:
    return sample["calls"].get(schema.HAS_CALL, 0)


def annotation_answer(annotation: Annotation) -> str:
    """Return the number of called receptors, and their most frequent epitopes, in a sentence."""
    calls = Counter()
    for sample in annotation.samples:
        calls.update({escaped(row["epitope"]): row["receptors"] for row in sample["epitopes"]})
    n_receptors = sum(sample["receptors"] for sample in annotation.samples)
    n_without = sum(sample["calls"].get("not calibrated", 0) for sample in annotation.samples)
    without = counted(n_without, "receptor is", "receptors are")
    note = f" {without} of a class of chains that could not be calibrated." if n_without else ""
    if not calls:
        return f"No epitope is called for any of {counted(n_receptors, 'receptor')}.{note}"
    n_false = sum(map(_expected_false, annotation.samples))
    frequent = ", ".join(f"{epitope} {n:,}" for epitope, n in calls.most_common(N_ANSWER))
    rest = f", and {counted(len(calls) - N_ANSWER, 'other epitope')}" if len(calls) > N_ANSWER else ""
    return (
        f"An epitope is called for {calls.total():,} of {counted(n_receptors, 'receptor')}:"
        f" {frequent}{rest}."
        f" Of these calls, {n_false:.1f} are expected to be false.{note}"
    )


def _expected_false(sample: dict) -> float:
    return sum(group["expected_false"] for group in sample["groups"])


def _title(annotation: Annotation, group: dict) -> str:
    return annotation.titles[group["species"], group["chains"]]


def _cautions(annotation: Annotation) -> list[str]:
    return cautions(annotation.reference, annotation.titles)


def _excluded(annotation: Annotation) -> list[str]:
    """Return a sentence on the references excluded by ``--exclude_references``; an empty list if none."""
    if not annotation.reference.get("excluded_cells"):
        return []
    pairs = ", ".join(
        f"{_title(annotation, group)} {group['excluded_labels']:,}"
        for group in annotation.reference["groups"]
        if group.get("excluded_labels")
    )
    return [
        f"<code>--exclude_references {escaped(annotation.reference['exclude_references'])}</code> excludes"
        f" {counted(annotation.reference['excluded_cells'], 'labelled cell')}"
        + (f"; pairs of receptor and epitope that no other study reports: {pairs}." if pairs else ".")
    ]


def _untrained(annotation: Annotation) -> list[str]:
    """Return a sentence on the chain classes whose score is not trained; an empty list if all are."""
    titles = [
        _title(annotation, group)
        for group in annotation.reference["groups"]
        if not group.get("trained", True)
    ]
    if not titles:
        return []
    return [
        "Called by SCEPTR's vectors and TCRdist alone, because there are too few labelled receptors to learn"
        f" the weights of single chains and genes: {', '.join(titles)}."
    ]


def _innate(annotation: Annotation) -> list[str]:
    """Return a sentence on innate-like receptors; an empty list if there are none."""
    if annotation.reference.get("innate"):
        return [
            "<code>--annotate_innate</code>: innate-like receptors (MAIT and iNKT cells) are annotated too,"
            " although they recognise MR1 and CD1d, not the peptides of the reference."
        ]
    n_samples = sum(sample["calls"].get("innate-like", 0) for sample in annotation.samples)
    n_references = sum(annotation.reference.get("innate_references", {}).values())
    if not n_samples and not n_references:
        return []
    return [
        f"{counted(n_samples, 'innate-like receptor has', 'innate-like receptors have')} no call: MAIT and"
        " iNKT cells recognise MR1 and CD1d, not the peptides of the reference."
        + (f" {n_references:,} of the reference set are left out too." if n_references else "")
    ]


def _counts(annotation: Annotation) -> dict:
    data = {}
    units = pd.Series([sample["count_unit"] for sample in annotation.samples], dtype=object)
    for sample in annotation.samples:
        data[escaped(sample["sample_id"])] = {
            "receptors": sample["receptors"],
            **{call: sample["calls"].get(call, 0) for call in CALLS},
            "called_abundance": sample["called_abundance"],
            "expected_false": _expected_false(sample),
            "exact": sample["exact"],
            **{
                f"prevalence_{group['species']}_{group['chains']}": 100 * group["prevalence"]
                for group in sample["groups"]
            },
        }
    data, headers = with_units(data, _count_headers(annotation, units_title(units)), units)
    return section(
        "airrvec_annotation_counts",
        "Epitope calls by sample",
        "<br>".join(_count_words(annotation)),
        "table",
        data,
        headers=headers,
        pconfig={"col1_header": "Sample"},
    )


def _count_headers(annotation: Annotation, unit: str) -> dict[str, dict]:
    annotated = {
        (group["species"], group["chains"]) for sample in annotation.samples for group in sample["groups"]
    }
    count = {"format": "{:,.0f}", "scale": False}
    headers = {
        "receptors": {"title": "Receptors", **count},
        **{call: {"title": words, **count} for call, words in CALLS.items()},
        "called_abundance": {"title": f"{unit} called", **count},
        "expected_false": {"title": "Expected false calls", "format": "{:,.1f}", "scale": False},
        "exact": {
            "title": "In the reference",
            **count,
            "description": "Receptors with the V genes, J genes and junctions of a reference, called or not",
        },
        **{
            f"prevalence_{species}_{chains}": {
                "title": f"Share similar to the reference, {words}",
                "suffix": " %",
                "format": "{:,.2f}",
                "scale": False,
            }
            for (species, chains), words in annotation.titles.items()
            if (species, chains) in annotated
        },
    }
    if is_underestimated(annotation.reference):
        headers["expected_false"]["title"] += TRAINED_ON_MARK
    return headers


def _count_words(annotation: Annotation) -> list[str]:
    """Return the sentences above the table: when a call is made, and the limits of its error rate."""
    fdr = annotation.samples[0]["fdr"] if annotation.samples else None
    reference_groups = "; ".join(
        f"{_title(annotation, group)}: {counted(group['references'], 'receptor')}, {group['candidates']:,} of"
        f" {counted(group['epitopes'], 'epitope')} with enough receptors to be called,"
        f" {counted(group['studies'], 'study', 'studies')}"
        for group in annotation.reference["groups"]
        if group["references"]
    )
    return [
        "An epitope is called if the receptor is close to references of this epitope, by vectors, sequences"
        " and genes, and closer to them than to references of other epitopes and to background receptors."
        + (f" At most {100 * fdr:g} % of the calls of a sample are expected to be false." if fdr else ""),
        "A receptor without a call may still bind an epitope: most epitopes have no reference.",
        f"Reference set: {reference_groups}.",
        f"Background set: {escaped(annotation.reference['background'])}. The expected error rates hold only"
        " if receptors that bind no epitope of the reference set resemble the background set.",
        *_untrained(annotation),
        *_innate(annotation),
        *_excluded(annotation),
        *(
            f"{escaped(sentence)} (<code>annotation/reference/</code>)."
            for sentence in reference.doubts(annotation.reference)
        ),
        *(f"<strong>{escaped(sentence)}.</strong>" for sentence in _cautions(annotation)),
        "All cells are in <code>annotation/</code>, all references in"
        " <code>annotation/reference/receptors.tsv</code>.",
    ]


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
        for row in tables.named_rows(rows)
    ]
    largest = rows.groupby("name")["receptors"].sum().nlargest(N_EPITOPES).index
    data = {
        escaped(sample): {
            escaped(name): int(count)
            for name, count in sample_rows.groupby("name")["receptors"].sum().items()
            if name in largest
        }
        for sample, sample_rows in rows.groupby("sample")
    }
    return section(
        "airrvec_annotation_epitopes",
        "Called receptors by epitope",
        "Number of distinct receptors, for the"
        f" {counted(min(N_EPITOPES, rows['name'].nunique()), 'most frequent epitope')}.",
        "bargraph",
        data,
        categories={
            escaped(name): {"name": escaped(name), "color": [*COLOURS, *[OTHER_COLOUR] * N_EPITOPES][place]}
            for place, name in enumerate(largest)
        },
        pconfig={"ylab": "Called receptors"},
    )
