"""First section of the report: its results in a few sentences, and the figure that matters most."""

from collections.abc import Collection
from importlib.resources import files

from airrvec.core import tables
from airrvec.core.missing import PARTS
from airrvec.core.schema import MEAN
from airrvec.core.terminal import counted
from airrvec.encoders import Titles
from airrvec.figures.benchmark_settings import default_view
from airrvec.report.page import escaped, section
from airrvec.report.sections.annotation import Annotation, annotation_answer
from airrvec.report.sections.benchmark import Benchmark, rows_at_largest_k
from airrvec.report.sections.calibration import cautions
from airrvec.report.sections.clones import called_words, evidence_words, expanded_words
from airrvec.report.sections.clusters import cluster_answer
from airrvec.report.sections.conditions import confounder_sentences
from airrvec.report.sections.differences import difference_answer
from airrvec.report.sections.pathogens import pathogens_figure
from airrvec.report.sections.quality import FEW_CELLS, is_of_cells, n_paired, verdicts_sentence
from airrvec.report.sections.samples import Described, largest_clone

OPTIONS = {"annotation": "--annotate", "clusters": "--cluster", "comparison": "--compare"}
# Sections whose figure may be the most important one, first choice first.
_FIGURES = ("airrvec_repertoire_clone_sizes", "airrvec_auroc", "airrvec_chain_pairing")


def brief_section(
    samples: list[dict],
    receptors: dict,
    results: dict,
    titles: Titles,
    *,
    missing: list[dict[str, str]] = (),
    unavailable: Collection[str] = (),
) -> dict:
    """
    Return three to six sentences with links to their chapters, and the script of the page.

    Parameters
    ----------
    samples : list of dict
        QC of ``normalise_receptors.py``.
    receptors : dict
        QC of ``collect_receptors.py``, all partitions merged.
    results : dict
        Part of the report → its results, or None.
    titles : Titles
        Titles of encoders.
    missing : list of dict
        Parts that could not be made, from `airrvec.report.sections.missing.read_missing`.
    unavailable : collection of str
        Keys of ``results``, or of `airrvec.core.missing.PARTS`, that could not be made.
    """
    described = results.get("samples")
    sentences = [
        ("Samples", "airrvec_chapter_samples", _samples_sentence(samples, receptors)),
        ("Expanded", "airrvec_chapter_clones", _expanded_sentence(described)),
        ("Recognise", "airrvec_annotation", _annotation_sentence(results.get("annotation"), described)),
        (
            "Together",
            "airrvec_clusters",
            cluster_answer(results["clusters"]) if results.get("clusters") else None,
        ),
        (
            "Differ",
            "airrvec_comparison",
            difference_answer(results.get("conditions"), results.get("comparison")),
        ),
        ("Model", "airrvec_model", _benchmark_sentence(results.get("benchmark"), titles)),
    ]
    lines = [
        f'<li><strong>{head}.</strong> {words} <a href="#{place}">More</a></li>'
        for head, place, words in sentences
        if words is not None
    ]
    caution = " ".join(
        [*_doubts(results), *_missing_sentences(missing), *_not_requested(results, unavailable)]
    )
    if caution:
        lines.append(f'<li class="airrvec-caution"><strong>Missing or doubtful:</strong> {caution}</li>')
    look = files("airrvec.report") / "look"
    script = "".join((look / name).read_text("utf-8") for name in ("report.js", "clones.js"))
    return section(
        "airrvec_brief_findings",
        "In brief",
        "",
        "html",
        f'<ul class="airrvec-brief">{"".join(lines)}</ul><script>{script}</script>',
    )


def brief_figure(sections: list[dict], annotation: Annotation | None) -> dict | None:
    """Return the figure that matters most: calls by pathogen, else the first of others that the run has."""
    name = "airrvec_brief_figure"
    if annotation is not None and (figure := pathogens_figure(annotation, name)):
        return {**figure, "read_as": "airrvec_annotation_epitopes"}
    section_of_id = {part["id"]: part for part in sections}
    chosen = next(
        (
            section_of_id[id]
            for id in _FIGURES
            if id in section_of_id and section_of_id[id]["plot_type"] != "html"
        ),
        None,
    )
    if chosen is None:
        return None
    pconfig = {**chosen["pconfig"], "id": f"{name}_plot"}
    return {**chosen, "id": name, "pconfig": pconfig, "read_as": chosen["id"]}


def _expanded_sentence(described: Described | None) -> str | None:
    if described is None or not (words := largest_clone(described, FEW_CELLS) or largest_clone(described)):
        return None
    words = f"{escaped(words)}."
    if described.clones is None:
        return words
    return f"{expanded_words(described.clones, len(described.counts['samples']))} {words}"


def _samples_sentence(samples: list[dict], receptors: dict) -> str:
    cells = sum(sample["cells"] for sample in samples)
    cell_samples = [sample for sample in samples if is_of_cells(sample)]
    words = (
        f"{counted(len(samples), 'table')} with {counted(cells, 'cell')} or clonotypes"
        f" {'was' if len(samples) == 1 else 'were'} read. {verdicts_sentence(samples)}"
        f" {counted(receptors['samples'], 'sample has', 'samples have')}"
        f" {counted(receptors['receptors'], 'distinct receptor')}."
    )
    if cell_samples:
        paired = sum(map(n_paired, cell_samples)) / sum(sample["cells"] for sample in cell_samples)
        words += f" {100 * paired:.0f} % of the cells have an α and a β chain."
    return words


def _annotation_sentence(annotation: Annotation | None, described: Described | None) -> str | None:
    if annotation is None:
        return None
    fdr = next((sample["fdr"] for sample in annotation.samples if sample.get("fdr")), None)
    words = annotation_answer(annotation)
    if described and described.clones and (organisms := called_words(described.clones)):
        words = f"{organisms}. {words}"
    if fdr:
        words = f"At a false discovery rate of {100 * fdr:g} %: {words[0].lower()}{words[1:]}"
    evidence = evidence_words(described.clones) if described and described.clones else None
    return f"{words} {evidence}" if evidence else words


def _benchmark_sentence(benchmark: Benchmark | None, titles: Titles) -> str | None:
    if benchmark is None:
        return None
    largest = rows_at_largest_k(default_view(benchmark.summary, one_rule=True))
    means = largest[largest["epitope"] == MEAN].sort_values("auroc_mean", ascending=False, kind="stable")
    if means.empty:
        return None
    first = ", ".join(
        f"{titles[row.encoder]} {row.auroc_mean:.3f}" for row in tables.named_rows(means.head(3))
    )
    return (
        f"AUROC of recognising an epitope from {counted(int(means['k'].max()), 'known receptor')}, mean over"
        f" epitopes: {escaped(first)}."
    )


def _doubts(results: dict) -> list[str]:
    """Return sentences on results that deserve doubt."""
    sentences = []
    if (conditions := results.get("conditions")) and confounder_sentences(conditions):
        column = escaped(conditions.counts["condition"])
        sentences.append(
            f'{column} is <a href="#airrvec_conditions_designs">confounded</a>: something that should not'
            " tells its values apart."
        )
    if (annotation := results.get("annotation")) and cautions(annotation.reference, annotation.titles):
        sentences.append('The error rates of the calls have <a href="#airrvec_annotation_counts">limits</a>.')
    return sentences


def _missing_sentences(missing: list[dict[str, str]]) -> list[str]:
    if not missing:
        return []
    parts = sorted({PARTS[entry["part"]].lower() for entry in missing})
    return [
        f"{counted(len(missing), 'part')} could not be made ({escaped(', '.join(parts))}):"
        ' <a href="#airrvec_missing">why</a>.'
    ]


def _not_requested(results: dict, unavailable: Collection[str]) -> list[str]:
    options = [
        f"<code>{option}</code>"
        for part, option in OPTIONS.items()
        if results.get(part) is None and part not in unavailable
    ]
    return [f"Not requested: {', '.join(options)}."] if options else []
