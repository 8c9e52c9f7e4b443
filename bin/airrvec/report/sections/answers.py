"""First section of the report: questions, each with a short answer and a link to the details."""

from collections.abc import Collection

from airrvec.report.page import section
from airrvec.report.sections.annotation import Annotation, annotation_answer
from airrvec.report.sections.clusters import Clusters, cluster_answer
from airrvec.report.sections.comparison import Comparison, comparison_answer

PARTS = ("annotation", "clusters", "comparison")  # in the order of the questions


def answers_section(
    annotation: Annotation | None,
    clusters: Clusters | None,
    comparison: Comparison | None,
    *,
    missing: Collection[str] = (),
) -> dict | None:
    """
    Return questions with their answers, or with the option that gives one; None if nothing was requested.

    Parameters
    ----------
    missing : collection of str
        Parts that could not be made: keys of `airrvec.core.missing.PARTS`.
    """
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
    if all(found is None for _, found, *_ in questions) and not {*PARTS}.intersection(missing):
        return None
    rows = [
        f"<dt>{question}</dt><dd>"
        + (
            _no_answer(option, part in missing)
            if found is None
            else f'{answer(found)} <a href="#{place}">More</a>'
        )
        + "</dd>"
        for part, (question, found, answer, place, option) in zip(PARTS, questions, strict=True)
    ]
    return section("airrvec_answers", "Answers", "", "html", f"<dl>{''.join(rows)}</dl>")


def _no_answer(option: str, is_missing: bool) -> str:
    if is_missing:
        return 'This could not be made. <a href="#airrvec_missing">Why</a>'
    return f"Not requested: use <code>{option}</code>."
