"""Fine-tuning in the MultiQC report and on the terminal."""

import json
from dataclasses import dataclass
from pathlib import Path

from airrvec.core import schema, tables
from airrvec.core.terminal import counted
from airrvec.encoders import Titles
from airrvec.evaluation.rules import RULES
from airrvec.report.page import escaped, section

import numpy as np
import pandas as pd

# Rules shown, the best first: on VDJdb `contrast` ranks best, before fine-tuning and after.
SHOWN_RULES = ("contrast", "nearest_neighbour", "average_distance")
BEST = SHOWN_RULES[0]
TEST_SETS = {
    "all": "all test receptors",
    "below_90": "below 90 % identity to training receptors",
    "below_80": "below 80 % identity to training receptors",
}
UNSEEN_SETS = {"all": "all receptors", schema.NOT_TRAINED: "without training receptors"}
# What needs no training: logistic regression on gene names, and TCRdist; the suffix of an encoder adds it.
FLOOR, FLOOR_RULE = "v_j_genes", "logistic_regression"
TCRDIST = "tcrdist"
SUM = f"+{TCRDIST}"


@dataclass(frozen=True)
class Finetuning:
    """Tables of `airrvec.core.schema` as data frames, and the counts of ``finetune.py``."""

    specificity: pd.DataFrame
    unseen: pd.DataFrame
    counts: dict


def model_names(finetuning: Finetuning) -> tuple[str, str]:
    return finetuning.counts["start"], finetuning.counts["name"]


def format_auroc(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.3f}"


def changes(finetuning: Finetuning) -> list[str]:
    """Return a sentence for each test set: the change in mean AUROC by each rule."""
    before, after = model_names(finetuning)
    specificity = finetuning.specificity
    means = mean_aurocs(specificity)
    sentences = []
    for test_set, words in TEST_SETS.items():
        parts = []
        for rule in SHOWN_RULES:
            pair = [means.get((name, rule, test_set), np.nan) for name in (before, after)]
            if np.isnan(pair).any():
                continue
            rows = specificity[(specificity["rule"] == rule) & (specificity["test_set"] == test_set)]
            wide = rows[rows["epitope"] != "mean"].pivot_table(
                index="epitope", columns="encoder", values="auroc"
            )
            n_better = int((wide[after] > wide[before]).sum())
            n = f"{n_better} of {counted(len(wide), 'epitope')}"
            parts.append(f"by {RULES[rule].title} {_moved(*pair)} ({n} better)")
        if parts:
            sentences.append(f"{words}: {'; '.join(parts)}")
    return sentences


def conclusions(finetuning: Finetuning) -> list[str]:
    """Return sentences: for which epitopes fine-tuning pays, and the change by the best rule."""
    return [*_advice(finetuning), *_best_rule(finetuning)]


def details(finetuning: Finetuning) -> list[str]:
    """Return sentences: what needs no training, and the change by further rules."""
    return [*_without_training(finetuning), *_further_rules(finetuning)]


def _best_rule(finetuning: Finetuning) -> list[str]:
    """Return the AUROC of trained epitopes before and after, with the interval of the difference."""
    before, after = _pair(finetuning, BEST)
    if np.isnan([before, after]).any():
        return []
    gain = finetuning.counts.get("gain")
    words = f"by {RULES[BEST].title}, the best rule: {before:.3f} before, {after:.3f} after fine-tuning"
    if gain is None:
        return [words]
    n = counted(gain["studies"], "test study", "test studies") if gain["studies"] else "the test receptors"
    return [
        f"{words}; {gain['difference']:+.3f}, 95 % interval {gain['low']:+.3f} to {gain['high']:+.3f} over"
        f" {n}, better for {gain['better']} of {counted(gain['epitopes'], 'epitope')}"
    ]


def _without_training(finetuning: Finetuning) -> list[str]:
    """Return what needs no training, and the sums with TCRdist."""
    before, _ = model_names(finetuning)
    means = mean_aurocs(finetuning.specificity)
    floor, tcrdist = means.get((FLOOR, FLOOR_RULE, "all")), means.get((TCRDIST, BEST, "all"))
    old, new = _pair(finetuning, BEST, SUM)
    parts = [
        f"{words} {value:.3f}"
        for words, value in (("V and J gene names alone", floor), ("TCRdist alone", tcrdist))
        if value is not None and not np.isnan(value)
    ]
    sentences = [f"without training: {', '.join(parts)}"] if parts else []
    if not np.isnan([old, new]).any():
        sentences.append(f"with TCRdist added, {old:.3f} before and {new:.3f} after")
    untuned = {"V and J gene names": floor, "TCRdist": tcrdist, f"{before} with TCRdist added": old}
    known = {words: value for words, value in untuned.items() if value is not None and not np.isnan(value)}
    words = max(known, key=known.__getitem__, default="")
    if words and known[words] >= np.nanmax([*_pair(finetuning, BEST)[1:], new, 0]):
        sentences.append(f"nothing after fine-tuning is better than {words} ({known[words]:.3f})")
    return sentences


def _further_rules(finetuning: Finetuning) -> list[str]:
    """Return the AUROC by the rules that are not the best, and whether it passes the best before."""
    best, _ = _pair(finetuning, BEST)
    sentences = []
    for rule in SHOWN_RULES[1:]:
        before, after = _pair(finetuning, rule)
        if np.isnan([before, after]).any():
            continue
        limit = f", not above {best:.3f} by the best rule without fine-tuning" if after <= best else ""
        sentences.append(f"by {RULES[rule].title}, {_moved(before, after)}{limit}")
    return sentences


def unseen_changes(finetuning: Finetuning) -> list[str]:
    """Return the change for epitopes that were not trained, at the largest k, by the two best rules."""
    return [
        f"{counted(row.n_epitopes, 'epitope')} not used in training, by {RULES[row.rule].title},"
        f" k = {row.k}, {UNSEEN_SETS[row.test_set]}:"
        f" {_moved(row.before, row.after)}, {row.difference:+.3f} ± {row.se:.3f} (standard error),"
        f" better in {row.n_better:,} of {counted(row.n_splits, 'split')}"
        for row in tables.named_rows(unseen_differences(finetuning))
        if row.epitope == "mean" and row.last and row.rule in SHOWN_RULES[:2]
    ]


def _advice(finetuning: Finetuning) -> list[str]:
    """Return for which epitopes the model is better after fine-tuning: those of training, and all others."""
    gain, words = finetuning.counts.get("gain"), []
    if gain is not None:
        words.append(("trained epitopes", gain["low"] > 0, gain["high"] < 0))
    rows = unseen_differences(finetuning)
    if len(rows):
        fair = rows[rows["last"] & (rows["epitope"] == "mean") & (rows["test_set"] == schema.NOT_TRAINED)]
        for row in tables.named_rows(fair.head(1)):
            certain = abs(row.difference) > 2 * row.se
            words.append(
                (
                    "epitopes not used in training",
                    certain and row.difference > 0,
                    certain and row.difference < 0,
                )
            )
    return [
        f"{epitopes}: {'better' if better else 'worse' if worse else 'no gain is shown'}"
        for epitopes, better, worse in words
    ]


def unseen_differences(finetuning: Finetuning) -> pd.DataFrame:
    """
    Return AUROC after minus before fine-tuning, for epitopes not used in training.

    The difference is taken split by split.

    Returns
    -------
    DataFrame
        One row per ``rule``, ``test_set``, ``k`` and ``epitope``, which may be ``mean``: ``before``,
        ``after`` and ``difference``, means over splits; ``se``, standard error of the difference, for
        ``mean`` √(Σ SE²) / n; ``n_splits``; ``n_better``, number of splits that are better after;
        ``n_epitopes``; ``last``, whether k is the largest of the rule.
    """
    before, after = model_names(finetuning)
    keys = ["rule", "test_set", "k", "epitope"]
    if finetuning.unseen.empty:
        return pd.DataFrame(columns=[*keys, "last"])
    paired = finetuning.unseen.pivot_table(index=[*keys, "split"], columns="encoder", values="auroc")
    paired = pd.DataFrame({"before": paired[before], "after": paired[after]})
    paired["difference"] = paired["after"] - paired["before"]
    groups = paired.groupby(level=keys)
    rows = groups.mean()
    rows["se"] = groups["difference"].sem()
    rows["n_splits"] = groups.size()
    rows["n_better"] = (paired["difference"] > 0).groupby(level=keys).sum()
    rows["n_epitopes"] = 1
    over = rows.groupby(level=keys[:-1])
    means = over[["before", "after", "difference"]].mean()
    means["se"] = over["se"].agg(lambda errors: np.sqrt((errors**2).sum()) / len(errors))
    for name in ("n_splits", "n_better", "n_epitopes"):
        means[name] = over[name].sum()
    means = means.assign(epitope="mean").set_index("epitope", append=True)
    rows = pd.concat([rows, means]).reset_index()
    rows = rows.sort_values("rule", key=lambda rules: rules.map(SHOWN_RULES.index), kind="stable")
    rows["last"] = rows["k"] == rows.groupby("rule")["k"].transform("max")
    return rows


def n_epitopes(finetuning: Finetuning) -> int:
    return finetuning.specificity["epitope"].nunique() - 1  # without ``mean``


def mean_aurocs(specificity: pd.DataFrame) -> dict[tuple[str, str, str], float]:
    """Return (encoder, rule, test set) → mean AUROC, NaN if an epitope has no test receptors."""
    means = specificity[specificity["epitope"] == "mean"]
    keys = means[["encoder", "rule", "test_set"]].to_numpy()
    return {
        (encoder, rule, test_set): value
        for (encoder, rule, test_set), value in zip(keys, means["auroc"].astype(float), strict=True)
    }


def _pair(finetuning: Finetuning, rule: str, added: str = "") -> tuple[float, float]:
    """Return the mean AUROC of all test receptors by a rule, before and after; NaN if not measured."""
    means = mean_aurocs(finetuning.specificity)
    before, after = (means.get((name + added, rule, "all"), np.nan) for name in model_names(finetuning))
    return before, after


def _moved(before: float, after: float) -> str:
    """Return the change in AUROC in words that agree with the rounded digits."""
    old, new = f"{before:.3f}", f"{after:.3f}"
    if old == new:
        return f"still {old}"
    return f"{'up' if after > before else 'down'} from {old} to {new}"


def as_sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


# --- Fine-tuning tables in the MultiQC report: trained epitopes, and epitopes not used in training


def _table_columns(before: str, after: str) -> dict[str, tuple[str, str, str]]:
    """Return key → encoder, rule and title of the table's columns, the best rule first."""
    pairs = [
        (BEST, BEST, "", "Contrast"),
        ("sum", BEST, SUM, "With TCRdist"),
        *((rule, rule, "", RULES[rule].title.capitalize()) for rule in SHOWN_RULES[1:]),
    ]
    paired = {
        f"{key}_{when}": (name + added, rule, f"{title}, {when}")
        for key, rule, added, title in pairs
        for when, name in (("before", before), ("after", after))
    }
    untrained = {
        "genes": (FLOOR, FLOOR_RULE, "V and J genes"),
        "tcrdist": (TCRDIST, BEST, "TCRdist alone"),
    }
    first = {key: paired.pop(key) for key in (f"{BEST}_before", f"{BEST}_after")}
    return {**first, **untrained, **paired}


def specificity_table(finetuning: Finetuning, titles: Titles) -> dict:
    before, after = model_names(finetuning)
    specificity, counts = finetuning.specificity, finetuning.counts
    columns = _table_columns(before, after)
    data = {}
    for test_set, words in TEST_SETS.items():
        set_rows = specificity[specificity["test_set"] == test_set]
        for epitope in sorted(set_rows["epitope"].unique(), key=lambda name: name != "mean"):
            epitope_rows = set_rows[set_rows["epitope"] == epitope]
            values = epitope_rows.set_index(["encoder", "rule"])["auroc"]
            row = {key: values.get((name, rule)) for key, (name, rule, _) in columns.items()}
            # MultiQC moves rows without a value in the first column to the end.
            members = epitope_rows if epitope != "mean" else set_rows
            n = members.drop_duplicates("epitope")["n_positive"].sum()
            data[f"{escaped(epitope)}, {words}"] = {
                "n": int(n),
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
        " are the references. The interval is of one training: test studies are drawn again, then their"
        " receptors",
        *(escaped(note) for note in counts["notes"]),
        *(f"excluded: {n:,} {escaped(reason)}" for reason, n in counts["removed"].items() if n),
        *([f"{counted(len(left_out), 'epitope')} with too few receptors for training"] if left_out else []),
    ]
    return section(
        "airrvec_finetuning_specificity",
        "Before and after fine-tuning",
        "".join(f"<strong>{escaped(as_sentence(words))}</strong><br>" for words in conclusions(finetuning))
        + "<br>".join(
            as_sentence(fact)
            for fact in (*map(escaped, (*details(finetuning), *changes(finetuning)[1:])), *facts)
        ),
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
        for row in tables.named_rows(differences)
        if row.last or row.epitope == "mean"
    }
    auroc = {"format": "{:,.3f}", "min": 0.5, "max": 1, "scale": "Blues"}
    return section(
        "airrvec_finetuning_unseen",
        "Epitopes not used in training",
        "".join(f"{escaped(as_sentence(words))}<br>" for words in unseen_changes(finetuning))
        + "Few-shot prediction before and after fine-tuning, on the same splits; single epitopes at the"
        " largest k, their mean at every k. All receptors, as in the paper, include training and validation"
        " receptors of other epitopes: the model was trained on them, which can raise its AUROC. The rows"
        " without training receptors exclude them. All splits: <code>models/finetune/unseen.tsv</code>.",
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


# --- Fine-tuning in the MultiQC report and on the terminal


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
    both = model_names(finetuning)
    shown = [
        (BEST, both, "", RULES[BEST].title),
        (FLOOR_RULE, (FLOOR,), "", "V and J genes alone"),
        (BEST, (TCRDIST,), "", "contrast, TCRdist alone"),
        (BEST, both, SUM, "contrast, with TCRdist added"),
        *((rule, both, "", RULES[rule].title) for rule in SHOWN_RULES[1:]),
    ]
    for test_set, words in TEST_SETS.items():
        for rule, names, added, rule_words in shown:
            values = [means.get((name + added, rule, test_set), np.nan) for name in names]
            lines.append(
                f"{words:<43}{rule_words:<33}" + "".join(f"{format_auroc(value):>7}" for value in values)
            )
    sentences = (*conclusions(finetuning), *details(finetuning), *unseen_changes(finetuning))
    return [*lines, *(f"Note: {sentence}" for sentence in sentences)]
