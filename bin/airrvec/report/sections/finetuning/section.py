"""Fine-tuning in the MultiQC report and on the terminal."""

import json
from pathlib import Path

from airrvec.benchmark.rules import RULES
from airrvec.core import tables
from airrvec.core.terminal import counted
from airrvec.encoders import Titles
from airrvec.report.sections.finetuning.tables import specificity_table, unseen_table
from airrvec.report.sections.finetuning.words import (
    SHOWN_RULES,
    SUM,
    SUM_RULE,
    TEST_SETS,
    Finetuning,
    conclusions,
    format_auroc,
    mean_aurocs,
    model_names,
    n_epitopes,
)

import numpy as np


def read_finetuning(folder: Path | None) -> Finetuning | None:
    """Return the measurements of fine-tuning; None if the folder has none."""
    if folder is None or not (folder / "finetune.qc.json").exists():
        return None
    return Finetuning(
        tables.read(folder / "specificity.parquet").to_pandas(),
        tables.read(folder / "unseen.parquet").to_pandas(),
        json.loads((folder / "finetune.qc.json").read_text()),
    )


def finetuning_sections(finetuning: Finetuning, titles: Titles) -> list[dict]:
    """Return the sections: AUROC before and after, for trained epitopes and, if measured, other epitopes."""
    sections = [specificity_table(finetuning, titles)]
    if len(finetuning.unseen):
        sections.append(unseen_table(finetuning))
    return sections


def finetuning_lines(finetuning: Finetuning, titles: Titles) -> list[str]:
    """Return mean AUROCs before and after, and the conclusions in words, for the terminal."""
    before, after = model_names(finetuning)
    means = mean_aurocs(finetuning.specificity)
    lines = [
        f"AUROC of {titles[after]}, fine-tuned from {titles[before]}, on held-out receptors"
        f" (mean of {counted(n_epitopes(finetuning), 'epitope')})",
        f"{'Test receptors':<43}{'Rule':<33}{'before':>7}{'after':>7}",
    ]
    shown = [
        *((rule, "", RULES[rule].title) for rule in SHOWN_RULES),
        (SUM_RULE, SUM, "contrast, with TCRdist added"),
    ]
    for test_set, words in TEST_SETS.items():
        for rule, added, rule_words in shown:
            values = [means.get((name + added, rule, test_set), np.nan) for name in (before, after)]
            lines.append(
                f"{words:<43}{rule_words:<33}" + "".join(f"{format_auroc(value):>7}" for value in values)
            )
    return [*lines, *(f"Note: {sentence}" for sentence in conclusions(finetuning))]
