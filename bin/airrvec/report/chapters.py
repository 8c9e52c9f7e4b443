"""
Chapters of the report, in the order of a reader: the one list that decides the order of all sections.

``docs/report_order.py`` writes it into ``assets/multiqc_config.yml`` for MultiQC (``make generated``).
"""

from typing import NamedTuple

from airrvec.analyses import ANALYSES
from airrvec.report.readings import READINGS, Reading, explained


class Chapter(NamedTuple):
    """Chapter: its anchor, its title, a sentence below the title, and the ids of its sections in order."""

    id: str
    title: str
    description: str
    sections: tuple[str, ...]
    prefixes: tuple[str, ...] = ()  # other sections that belong here, after those that are listed


CHAPTERS = (
    Chapter(
        "airrvec_brief",
        "In brief",
        "The results of this run in a few sentences",
        ("airrvec_brief_findings", "airrvec_missing", "airrvec_brief_figure"),
    ),
    Chapter(
        "airrvec_chapter_clones",
        "Clones",
        "Each family of cells with one receptor: its size, where it is, and what it may recognise",
        ("airrvec_clones",),
    ),
    Chapter(
        "airrvec_chapter_samples",
        "Samples",
        "What was read, and what each sample holds",
        (
            "airrvec_samples",
            "airrvec_chain_pairing",
            "airrvec_rejects",
            "airrvec_other_loci",
            "airrvec_repertoire_clone_sizes",
            "airrvec_repertoire_trbv",
            "airrvec_repertoire_trbj",
            "airrvec_repertoire_trav",
            "airrvec_repertoire_traj",
            "airrvec_repertoire_lengths",
            "airrvec_repertoire_trb_pairs",
            "airrvec_repertoire_tra_pairs",
            "airrvec_repertoire_rarefaction",
            "airrvec_repertoire_diversity",
        ),
        ("airrvec_samples_", "airrvec_repertoire_"),
    ),
    Chapter(
        "airrvec_gamma_delta",
        "γδ T cells",
        "Cells with γ and δ chains, apart from all other sections",
        (
            "airrvec_gamma_delta_samples",
            "airrvec_gamma_delta_clones",
            "airrvec_gamma_delta_trdv",
            "airrvec_gamma_delta_trdj",
            "airrvec_gamma_delta_trgv",
            "airrvec_gamma_delta_trgj",
            "airrvec_gamma_delta_clusters",
            "airrvec_gamma_delta_tests",
        ),
        ("airrvec_gamma_delta_",),
    ),
    Chapter(
        "airrvec_annotation",
        "What they recognise",
        "Predicted epitopes of receptors, by comparison with a labelled reference set",
        (
            "airrvec_annotation_holes",
            "airrvec_annotation_pathogens",
            "airrvec_annotation_epitopes",
            "airrvec_annotation_counts",
            "airrvec_annotation_hla",
            "airrvec_annotation_top",
            "airrvec_annotation_reliability",
            "airrvec_annotation_precision_recall",
        ),
        ("airrvec_annotation_",),
    ),
    Chapter(
        "airrvec_clusters",
        "Which belong together",
        "Groups of receptors that are closer to each other than expected by chance, and the map of all"
        " receptors",
        (
            "airrvec_clusters_overview",
            "airrvec_clusters_largest",
            "airrvec_clusters_hla",
            "airrvec_clusters_logos",
            "airrvec_clusters_sizes",
            "airrvec_map",
        ),
        ("airrvec_clusters_",),
    ),
    Chapter(
        "airrvec_comparison",
        "What differs",
        "Differences between the conditions of the samplesheet, and between samples",
        (
            "airrvec_differences",
            "airrvec_conditions_designs",
            "airrvec_conditions_dots",
            "airrvec_conditions_tests",
            "airrvec_conditions_changes",
            "airrvec_conditions_shared",
            "airrvec_conditions_over_time",
            "airrvec_conditions_told",
            "airrvec_comparison_overlap",
            "airrvec_comparison_pca",
            "airrvec_comparison_pairs",
            "airrvec_comparison_public",
        ),
        ("airrvec_comparison_", "airrvec_conditions_"),
    ),
    Chapter(
        "airrvec_model",
        "Model and benchmark",
        "The model that makes the vectors, and how well the vectors recognise an epitope",
        (
            "airrvec_embeddings",
            "airrvec_finetuning_specificity",
            "airrvec_finetuning_unseen",
            "airrvec_training",
            "airrvec_auroc",
            "airrvec_auroc_settings",
            "airrvec_auroc_by_epitope",
            "airrvec_metrics",
            "airrvec_roc",
            "airrvec_comparisons",
            "airrvec_not_evaluated",
            *(f"airrvec_analysis_{name}" for name in ANALYSES),
        ),
        ("airrvec_",),
    ),
    Chapter(
        "airrvec_methods",
        "Methods",
        "What this run did, with the works to cite, and the versions of all software",
        ("airrvec_methods_text", "airrvec_methods_references", "airrvec_methods_versions"),
    ),
)
_LISTED = {id: chapter for chapter in CHAPTERS for id in chapter.sections}


def chapter_of(id: str) -> Chapter:
    """Return the chapter of a section: the one that lists it, else the first with a prefix of its id."""
    if id in _LISTED:
        return _LISTED[id]
    return next(c for c in CHAPTERS if any(id.startswith(prefix) for prefix in c.prefixes))


def multiqc_order() -> dict:
    """
    Return the entries ``custom_content`` and ``report_section_order`` of MultiQC's configuration.

    A section that no chapter lists has MultiQC's own place, 10, 20, … in its module. Listed sections of a
    chapter have negative places, so that unlisted ones come after them.
    """
    places = {
        id: {"order": 10 * (place - len(chapter.sections))}
        for chapter in CHAPTERS
        for place, id in enumerate(chapter.sections)
    }
    return {
        "custom_content": {"order": [chapter.id for chapter in CHAPTERS]},
        "report_section_order": places,
    }


def placed(sections: list[dict]) -> list[dict]:
    """
    Return the sections in the order of the report, each with its chapter, its reading and explained terms.

    Parameters
    ----------
    sections : list of dict
        Custom content of MultiQC, from `airrvec.report.page.section`. Sections of a chapter that are not in
        its list keep their order. ``read_as``, if given, is the id of the section whose reading
        applies, or None.
    """
    result = []
    for chapter in CHAPTERS:
        own = [part for part in sections if chapter_of(part["id"]) is chapter]
        own.sort(key=lambda part: _place(chapter, part["id"]))
        explained_terms: set[str] = set()
        for part in own:
            reading = READINGS.get(part.get("read_as", part["id"]))  # of None there is none
            words = _with_reading(part.get("description", ""), reading)
            result.append(
                {
                    **{name: value for name, value in part.items() if name != "read_as"},
                    "parent_id": chapter.id,
                    "parent_name": chapter.title,
                    "parent_description": chapter.description,
                    "description": explained(words, explained_terms),
                }
            )
            if part.get("plot_type") == "html" and isinstance(part["data"], str):
                result[-1]["data"] = explained(part["data"], explained_terms)
    return result


def _place(chapter: Chapter, id: str) -> int:
    return chapter.sections.index(id) if id in chapter.sections else len(chapter.sections)


def _with_reading(description: str, reading: Reading | None) -> str:
    """Return a description, followed by what the section shows and its limits."""
    if reading is None:
        return description
    words = description.strip()
    if words and not words.endswith((".", ">")):
        words += "."
    limit, _, reason = reading.doubt.partition(":")
    return (
        f'{words} <span class="airrvec-see"><strong>See:</strong> {reading.see}</span>'
        f' <span class="airrvec-doubt"><strong>{limit}:</strong>{reason}</span>'
    ).strip()
