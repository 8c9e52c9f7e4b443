"""What the reference of the annotation can find, and what is doubtful in it."""

from pathlib import Path

from airrvec.core import schema, tables
from airrvec.core.terminal import counted
from airrvec.report import receptor_cells as cells
from airrvec.report.page import COUNT, escaped, meaning, section, with_group_titles

import numpy as np
import pandas as pd

N_EPITOPES = 20  # in the table
N_NAMED = 5  # studies that a sentence names


def _classes(samples: list[dict]) -> set[tuple[str, str]]:
    """Return the species and classes of chains of the samples."""
    return {(group["species"], group["chains"]) for sample in samples for group in sample["groups"]}


def expected(path: Path, samples: list[dict], titles: dict[tuple[str, str], str]) -> pd.DataFrame:
    """
    Return the epitopes that can be called in the classes of the samples, most references first.

    Parameters
    ----------
    path : Path
        `airrvec.core.schema.ANNOTATION_EPITOPES`; no rows if there is no such file.
    samples : list of dict
        Counts of ``annotate_receptors.py``.
    titles : dict
        From `airrvec.report.page.group_titles`.
    """
    if not path.exists():
        return pd.DataFrame()
    epitopes = with_group_titles(tables.read(path).to_pandas(), titles)
    classes = _classes(samples)
    is_shown = [pair in classes for pair in zip(epitopes["species"], epitopes["chains"], strict=True)]
    epitopes = epitopes[np.array(is_shown, bool) & (epitopes["outlook"] != schema.NEVER_CALLED)]
    return epitopes.sort_values("n_references", ascending=False, kind="stable")


def outlook_lines(groups: list[dict], samples: list[dict], titles: dict[tuple[str, str], str]) -> list[str]:
    """Return what to expect of the epitopes, for the classes of chains of the samples."""
    classes, lines = _classes(samples), []
    for group in groups:
        key = group["species"], group["chains"]
        if group.get("outlook") and key in classes:
            head, *named = group["outlook"]
            lines += [f"{titles[key]}: {head}", *(f"  {line}" for line in named)]
    return lines


def doubts(reference: dict) -> list[str]:
    """Return sentences on studies that are the same and on suspect labels; ``reference``: its counts."""
    renamed = [row for row in reference.get("same_studies", ()) if row["study"] != row["same_as"]]
    sentences = []
    if renamed:
        names = [f"{row['study']} = {row['same_as']}" for row in renamed[:N_NAMED]]
        names += ["…"] if len(renamed) > N_NAMED else []
        studies = counted(len(renamed), "study is", "studies are")
        sentences.append(f"{studies} the same as others: {', '.join(names)}")
    if reference.get("suspects"):
        reasons = ", ".join(
            f"{reference['suspect_labels'][reason]:,} {reason}"
            for reason in schema.SUSPECT_REASONS
            if reason in reference["suspect_labels"]
        )
        sentences.append(f"{counted(reference['suspects'], 'suspect label')} in the reference: {reasons}")
    return sentences


def holes_section(epitopes: pd.DataFrame, lines: list[str]) -> dict:
    """Return the section of what the reference can find; parameters from `expected`, `outlook_lines`."""
    data = {
        f"{place:02d}. {escaped(row.epitope)}": {
            "group": cells.text_cell(row.group),
            "outlook": cells.text_cell(row.outlook),
            "expected_recall": row.expected_recall,
            **{name: int(getattr(row, name)) for name in ("n_references", "n_studies", "n_tested")},
            "recall": None if pd.isna(row.recall) else row.recall,
        }
        for place, row in enumerate(tables.named_rows(epitopes.head(N_EPITOPES)), start=1)
    }
    share = {"format": "{:,.2f}", "min": 0, "max": 1, "scale": "Blues"}
    headers = {
        "group": cells.text_header("Compared chains", **meaning("epitopes", "chains")),
        "outlook": cells.text_header("Outlook", **meaning("epitopes", "outlook")),
        "expected_recall": {"title": "Expected recall", **share, **meaning("epitopes", "expected_recall")},
        "n_references": {"title": "References", **COUNT, **meaning("epitopes", "n_references")},
        "n_studies": {"title": "Studies", **COUNT, **meaning("epitopes", "n_studies")},
        "n_tested": {"title": "Tested", **COUNT, **meaning("epitopes", "n_tested")},
        "recall": {"title": "Recall of the tested", **share, **meaning("epitopes", "recall")},
    }
    words = [escaped(line.strip()) for line in lines]
    words.append("All epitopes are in <code>annotation/reference/epitopes.tsv</code>.")
    return section(
        "airrvec_annotation_holes",
        "What this reference can find",
        "<br>".join(words),
        "table",
        data,
        headers=headers,
        pconfig={"col1_header": "Epitope", "sort_rows": False},
    )
