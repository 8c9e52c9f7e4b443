"""Fine-tuning tables in the MultiQC report: trained epitopes, and epitopes not used in training."""

from airrvec.benchmark.rules import RULES
from airrvec.core.terminal import counted
from airrvec.encoders import Titles
from airrvec.report.page import escaped, section
from airrvec.report.sections.finetuning.words import (
    FLOOR,
    SHOWN_RULES,
    SUM,
    SUM_RULE,
    TEST_SETS,
    UNSEEN_SETS,
    Finetuning,
    as_sentence,
    changes,
    conclusions,
    model_names,
    n_epitopes,
    unseen_differences,
)

import pandas as pd


def specificity_table(finetuning: Finetuning, titles: Titles) -> dict:
    before, after = model_names(finetuning)
    specificity, counts = finetuning.specificity, finetuning.counts
    shown = [
        *((rule, rule, "", RULES[rule].title.capitalize()) for rule in SHOWN_RULES),
        ("sum", SUM_RULE, SUM, f"{RULES[SUM_RULE].title.capitalize()}, with TCRdist"),
    ]
    columns = {
        f"{key}_{when}": (name + added, rule, f"{rule_words}, {when}")
        for key, rule, added, rule_words in shown
        for when, name in (("before", before), ("after", after))
    }
    columns["genes"] = (FLOOR, "logistic_regression", "V and J genes")
    data = {}
    for test_set, words in TEST_SETS.items():
        set_rows = specificity[specificity["test_set"] == test_set]
        for epitope in sorted(set_rows["epitope"].unique(), key=lambda name: name != "mean"):
            epitope_rows = set_rows[set_rows["epitope"] == epitope]
            values = epitope_rows.set_index(["encoder", "rule"])["auroc"]
            row = {key: values.get((name, rule)) for key, (name, rule, _) in columns.items()}
            n = epitope_rows["n_positive"].iloc[0]
            data[f"{escaped(epitope)}, {words}"] = {
                "n": None if pd.isna(n) else int(n),
                **{key: None if pd.isna(value) else float(value) for key, value in row.items()},
            }
    parts, left_out = counts["receptors"], counts["left_out"]
    facts = [
        f"<code>{escaped(after)}</code> was fine-tuned from {escaped(titles[before])} on"
        f" {counted(parts['train'], 'receptor')} of {counted(n_epitopes(finetuning), 'epitope')};"
        f" {counted(parts['validation'], 'receptor')} for validation, {parts['test']:,} for testing"
        f" (split: {escaped(counts['split'])});"
        f" weights of step {counts['step']:,}",
        "AUROC of an epitope's test receptors against those of the other epitopes; the training receptors"
        " are the references. There is one test set, so the differences have no standard error",
        *(escaped(note) for note in counts["notes"]),
        *(f"excluded: {n:,} {escaped(reason)}" for reason, n in counts["removed"].items() if n),
        *([f"{counted(len(left_out), 'epitope')} with too few receptors for training"] if left_out else []),
    ]
    return section(
        "airrvec_finetuning_specificity",
        "Before and after fine-tuning",
        "".join(
            f"<strong>{escaped(as_sentence(words))}</strong><br>"
            for words in (*changes(finetuning), *conclusions(finetuning))
        )
        + "<br>".join(as_sentence(fact) for fact in facts),
        "table",
        data,
        headers={
            "n": {"title": "Test receptors", "format": "{:,.0f}", "scale": False},
            **{
                key: {"title": words, "format": "{:,.3f}", "min": 0.5, "max": 1, "scale": "Blues"}
                for key, (_, _, words) in columns.items()
            },
        },
        pconfig={"col1_header": "Epitope, test receptors", "sort_rows": False},
    )


def unseen_table(finetuning: Finetuning) -> dict:
    differences = unseen_differences(finetuning)
    data = {
        f"{escaped(row.epitope)}, {RULES[row.rule].title}, k = {row.k}, {UNSEEN_SETS[row.test_set]}": {
            name: None if pd.isna(value) else value
            for name, value in (
                ("before", row.before),
                ("after", row.after),
                ("difference", row.difference),
                ("se", row.se),
                ("better", 100 * row.n_better / row.n_splits),
                ("splits", row.n_splits),
            )
        }
        for row in differences.itertuples()
        if row.last or row.epitope == "mean"
    }
    auroc = {"format": "{:,.3f}", "min": 0.5, "max": 1, "scale": "Blues"}
    return section(
        "airrvec_finetuning_unseen",
        "Epitopes not used in training",
        "Few-shot prediction before and after fine-tuning, on the same splits; single epitopes at the largest"
        " k, their mean at every k. All receptors, as in the paper, include training and validation receptors"
        " of other epitopes: the model was trained on them, which can raise its AUROC. The rows without"
        " training receptors exclude them. All splits are in <code>models/finetune/unseen.tsv</code>.",
        "table",
        data,
        headers={
            "before": {"title": "Before", **auroc},
            "after": {"title": "After", **auroc},
            "difference": {"title": "Difference", "format": "{:+,.3f}", "scale": "RdBu"},
            "se": {"title": "± standard error", "format": "{:,.3f}", "scale": False},
            "better": {"title": "Splits improved", "suffix": " %", "format": "{:,.0f}", "scale": False},
            "splits": {"title": "Splits", "format": "{:,.0f}", "scale": False},
        },
        pconfig={"col1_header": "Epitope, rule", "sort_rows": False},
    )
