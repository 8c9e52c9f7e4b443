"""The first section of the report: what a user asks, the answer in a sentence, and where its rest is."""

from airrvec.report import section
from airrvec.report_annotation import Annotation, annotation_answer
from airrvec.report_clusters import Clusters, cluster_answer
from airrvec.report_comparison import Comparison, comparison_answer


def answers_section(
    annotation: Annotation | None, clusters: Clusters | None, comparison: Comparison | None
) -> dict | None:
    """Questions with their answers, or what to ask for; None where nothing was asked."""
    questions = (
        (
            "Which receptors bind known epitopes?",
            annotation,
            annotation_answer,
            "airrvec_annotation",
            "--annotate",
        ),
        ("Which receptors belong together?", clusters, cluster_answer, "airrvec_clusters", "--cluster"),
        (
            "Do samples or conditions differ?",
            comparison,
            comparison_answer,
            "airrvec_comparison",
            "--compare",
        ),
    )
    if all(found is None for _, found, *_ in questions):
        return None
    rows = [
        f"<dt>{question}</dt><dd>"
        + (
            f"Not asked for: <code>{option}</code>."
            if found is None
            else f'{answer(found)} <a href="#{place}">More</a>'
        )
        + "</dd>"
        for question, found, answer, place, option in questions
    ]
    return section("airrvec_answers", "Answers", "", "html", f"<dl>{''.join(rows)}</dl>")
