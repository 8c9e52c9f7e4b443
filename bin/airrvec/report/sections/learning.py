"""What the report and the terminal show of pre-training and fine-tuning."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from airrvec.benchmark.rules import RULES
from airrvec.core import schema, tables
from airrvec.encoders import title
from airrvec.figures.style import COLOURS
from airrvec.report.page import safe, section

# What fine-tuning is judged by; the other rules are in the tables.
SHOWN_RULES = ("average_distance", "nearest_neighbour", "contrast")
TEST_SETS = {
    "all": "all test receptors",
    "below_90": "those less than 90 % like any of training",
    "below_80": "those less than 80 % like any",
}
UNSEEN_SETS = {"all": "all receptors", schema.NOT_TRAINED: "without those of training"}
FLOOR = "v_j_genes"
# The sum of a model's distances and TCRdist, by the rule that it serves best.
SUM, SUM_RULE = "+tcrdist", "contrast"
TERMS = {
    "loss": "Loss",
    "contrastive_loss": "Contrastive loss",
    "mlm_loss": "Masked-language loss",
    "alignment": "Alignment",
    "uniformity": "Uniformity",
}
MAX_POINTS = 200


@dataclass(frozen=True)
class Finetuning:
    """Tables of `airrvec.core.schema` as data frames, and what ``finetune.py`` counted."""

    specificity: pd.DataFrame
    unseen: pd.DataFrame
    counts: dict


def read_finetuning(folder: Path | None) -> Finetuning | None:
    """The measurements of fine-tuning; None where the folder holds none."""
    if folder is None or not (folder / "finetune.qc.json").exists():
        return None
    return Finetuning(
        tables.read(folder / "specificity.parquet").to_pandas(),
        tables.read(folder / "unseen.parquet").to_pandas(),
        json.loads((folder / "finetune.qc.json").read_text()),
    )


def finetuning_sections(finetuning: Finetuning) -> list[dict]:
    """One section of the report: AUROC before and after, of epitopes that were trained and of others."""
    together = {"parent_id": "airrvec_finetuning", "parent_name": "Fine-tuning"}
    sections = [{**_specificity_table(finetuning), **together}]
    if len(finetuning.unseen):
        sections.append({**_unseen_table(finetuning), **together})
    return sections


def curves_section(folders: list[Path]) -> dict:
    """Losses, alignment and uniformity of trained models against the step."""
    histories = {folder.name: tables.read(folder / "training.parquet").to_pandas() for folder in folders}
    shown = [term for term in TERMS if any(history[term].notna().any() for history in histories.values())]
    datasets, colours = [], {}
    for term in shown:
        lines = {}
        for number, (name, history) in enumerate(histories.items()):
            for part, of_part in history[history[term].notna()].groupby("part"):
                line = f"{safe(name)}, {part}"
                colours[line] = COLOURS[(2 * number + (part != "train")) % len(COLOURS)]
                lines[line] = _thinned(of_part, term)
        datasets.append(lines)
    return section(
        "airrvec_training",
        "Training",
        "Training is a mean over neighbouring steps; validation is measured on receptors held out from"
        " training. Every step is in <code>models/*/training.parquet</code>.",
        "linegraph",
        datasets,
        pconfig={
            "xlab": "Step",
            "ylab": TERMS[shown[0]],
            "tt_decimals": 3,
            "showlegend": True,
            "colors": colours,
            "data_labels": [{"name": TERMS[term], "ylab": TERMS[term]} for term in shown],
        },
    )


def finetuning_lines(finetuning: Finetuning) -> list[str]:
    """Means before and after, and in words what changed, for the terminal."""
    before, after = _names(finetuning)
    means = _means(finetuning.specificity)
    lines = [
        f"AUROC of {title(after)}, fine-tuned from {title(before)}, on held-out receptors"
        f" (mean of {_n_epitopes(finetuning)} epitopes)",
        f"{'Test receptors':<43}{'Rule':<33}{'before':>7}{'after':>7}",
    ]
    shown = [
        *((rule, "", RULES[rule].title) for rule in SHOWN_RULES),
        (SUM_RULE, SUM, "the same, with TCRdist added"),
    ]
    for test_set, words in TEST_SETS.items():
        for rule, added, rule_words in shown:
            values = [means.get((name + added, rule, test_set), np.nan) for name in (before, after)]
            lines.append(f"{words:<43}{rule_words:<33}" + "".join(f"{_number(value):>7}" for value in values))
    return [*lines, *(f"Note: {sentence}" for sentence in verdict(finetuning))]


def changes(finetuning: Finetuning) -> list[str]:
    """A sentence for each test set: what improved by which rule, and what got worse."""
    before, after = _names(finetuning)
    specificity = finetuning.specificity
    means = _means(specificity)
    sentences = []
    for test_set, words in TEST_SETS.items():
        of_rules = []
        for rule in SHOWN_RULES:
            pair = [means.get((name, rule, test_set), np.nan) for name in (before, after)]
            if np.isnan(pair).any():
                continue
            of_rule = specificity[(specificity["rule"] == rule) & (specificity["test_set"] == test_set)]
            wide = of_rule[of_rule["epitope"] != "mean"].pivot_table(
                index="epitope", columns="encoder", values="auroc"
            )
            n_better = int((wide[after] > wide[before]).sum())
            of_rules.append(
                f"by {RULES[rule].title} {_moved(*pair)} ({n_better} of {len(wide)} epitopes better)"
            )
        if of_rules:
            sentences.append(f"{words}: {'; '.join(of_rules)}")
    return sentences


def verdict(finetuning: Finetuning) -> list[str]:
    """Sentences: whether fine-tuning was worth it, and what became of epitopes that were not trained."""
    before, after = _names(finetuning)
    means = _means(finetuning.specificity)
    sentences = []
    best = {name: _best(means, name) for name in (before, after, FLOOR)}
    if all(best.values()):
        (old_rule, old), (new_rule, new), (_, floor) = best.values()
        if new > old:
            sentences.append(
                f"the best rule after ({new_rule}, {new:.3f}) beats the best before ({old_rule}, {old:.3f})"
            )
        else:
            sentences.append(
                f"for these receptors fine-tuning was not needed: the best rule after ({new_rule}, {new:.3f})"
                f" does not beat the best before ({old_rule}, {old:.3f})"
            )
        relation = "less" if new > floor else "no less"
        sentences.append(f"V and J gene names alone reach {floor:.3f}, {relation} than the fine-tuned model")
    summed = [means.get((name + SUM, SUM_RULE, "all"), np.nan) for name in (before, after)]
    if not np.isnan(summed).any():
        sentences.append(
            f"with TCRdist added to the distances, {RULES[SUM_RULE].title} reaches {summed[0]:.3f} before"
            f" and {summed[1]:.3f} after"
        )
    for row in unseen_differences(finetuning).itertuples():
        if row.epitope == "mean" and row.last:
            sentences.append(
                f"{row.n_epitopes} epitopes that were not trained, by {RULES[row.rule].title} of {row.k},"
                f" {UNSEEN_SETS[row.test_set]}:"
                f" {_moved(row.before, row.after)}, {row.difference:+.3f} ± {row.se:.3f} (standard error),"
                f" better in {row.n_better:,} of {row.n_splits:,} splits"
            )
    return sentences


def unseen_differences(finetuning: Finetuning) -> pd.DataFrame:
    """
    AUROC after less before of epitopes that were not trained, split by split.

    Returns
    -------
    DataFrame
        One row a ``rule``, ``test_set``, ``k`` and ``epitope``, also ``mean``: ``before``, ``after`` and
        ``difference``, means over splits; ``se``, the standard error of the difference, for ``mean``
        √(Σ SE²) / n; ``n_splits``, and how many of them are better after, ``n_better``;
        ``n_epitopes``; ``last``, whether k is the rule's largest.
    """
    before, after = _names(finetuning)
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
    rows["last"] = rows["k"] == rows.groupby("rule")["k"].transform("max")
    return rows


def _specificity_table(finetuning: Finetuning) -> dict:
    before, after = _names(finetuning)
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
        of_set = specificity[specificity["test_set"] == test_set]
        for epitope in sorted(of_set["epitope"].unique(), key=lambda name: name != "mean"):
            of_epitope = of_set[of_set["epitope"] == epitope]
            values = of_epitope.set_index(["encoder", "rule"])["auroc"]
            row = {key: values.get((name, rule)) for key, (name, rule, _) in columns.items()}
            n = of_epitope["n_positive"].iloc[0]
            data[f"{safe(epitope)}, {words}"] = {
                "n": None if pd.isna(n) else int(n),
                **{key: None if pd.isna(value) else float(value) for key, value in row.items()},
            }
    parts, left_out = counts["receptors"], counts["left_out"]
    facts = [
        f"<code>{safe(after)}</code> started from {safe(title(before))} and learnt from"
        f" {parts['train']:,} receptors of {_n_epitopes(finetuning)} epitopes, {parts['validation']:,}"
        f" validated, {parts['test']:,} tested (split: {safe(counts['split'])}); its weights are those"
        f" of step {counts['step']:,}",
        "AUROC of an epitope's test receptors against those of the other epitopes, the training receptors"
        " as references; there is one test set, so that these differences have no standard error",
        *(safe(note) for note in counts["notes"]),
        *(f"removed: {n:,} {safe(reason)}" for reason, n in counts["removed"].items() if n),
        *([f"{len(left_out):,} epitopes have too few receptors to be trained"] if left_out else []),
    ]
    return section(
        "airrvec_finetuning_specificity",
        "Before and after",
        "".join(
            f"<strong>{safe(_sentence(words))}</strong><br>"
            for words in (*changes(finetuning), *verdict(finetuning))
        )
        + "<br>".join(_sentence(fact) for fact in facts),
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


def _unseen_table(finetuning: Finetuning) -> dict:
    differences = unseen_differences(finetuning)
    data = {
        f"{safe(row.epitope)}, {RULES[row.rule].title}, k = {row.k}, {UNSEEN_SETS[row.test_set]}": {
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
        "Epitopes that were not trained",
        "Few-shot prediction, before and after on the same splits; epitopes at the largest k, their mean"
        " at every k. Among all receptors, as in the paper, are those that trained or validated, which the"
        " model has seen as receptors of other epitopes; without them it cannot profit from that."
        " Every split is in <code>models/finetune/unseen.tsv</code>.",
        "table",
        data,
        headers={
            "before": {"title": "Before", **auroc},
            "after": {"title": "After", **auroc},
            "difference": {"title": "Difference", "format": "{:+,.3f}", "scale": "RdBu"},
            "se": {"title": "± standard error", "format": "{:,.3f}", "scale": False},
            "better": {"title": "Splits better", "suffix": " %", "format": "{:,.0f}", "scale": False},
            "splits": {"title": "Splits", "format": "{:,.0f}", "scale": False},
        },
        pconfig={"col1_header": "Epitope, rule", "sort_rows": False},
    )


def _names(finetuning: Finetuning) -> tuple[str, str]:
    return finetuning.counts["start"], finetuning.counts["name"]


def _n_epitopes(finetuning: Finetuning) -> int:
    return finetuning.specificity["epitope"].nunique() - 1  # the mean is none


def _means(specificity: pd.DataFrame) -> dict[tuple[str, str, str], float]:
    """(encoder, rule, test set) → mean AUROC, NaN where an epitope has no test receptors."""
    means = specificity[specificity["epitope"] == "mean"]
    return means.set_index(["encoder", "rule", "test_set"])["auroc"].astype(float).to_dict()


def _best(means: dict, encoder: str) -> tuple[str, float] | None:
    """An encoder's best rule on all test receptors, and its mean AUROC."""
    found = {
        rule: value
        for (name, rule, test_set), value in means.items()
        if name == encoder and test_set == "all" and not np.isnan(value)
    }
    rule = max(found, key=found.get, default=None)
    return rule and (RULES[rule].title if rule in RULES else rule, found[rule])


def _moved(before: float, after: float) -> str:
    """From one AUROC to another, in words that agree with the digits."""
    old, new = f"{before:.3f}", f"{after:.3f}"
    if old == new:
        return f"still {old}"
    return f"{'up' if after > before else 'down'} from {old} to {new}"


def _number(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.3f}"


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _thinned(history: pd.DataFrame, term: str) -> dict[int, float]:
    """Step → mean of a term over the steps from the last shown one on, at most `MAX_POINTS` of them."""
    bins = np.arange(len(history)) * MAX_POINTS // max(len(history), MAX_POINTS)
    points = history.groupby(bins)[["step", term]].agg({"step": "last", term: "mean"})
    return dict(zip(points["step"].tolist(), points[term].round(5).tolist(), strict=True))
