"""What fine-tuning has changed, in words."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from airrvec.benchmark.rules import RULES
from airrvec.core import schema

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


@dataclass(frozen=True)
class Finetuning:
    """Tables of `airrvec.core.schema` as data frames, and what ``finetune.py`` counted."""

    specificity: pd.DataFrame
    unseen: pd.DataFrame
    counts: dict


def names(finetuning: Finetuning) -> tuple[str, str]:
    return finetuning.counts["start"], finetuning.counts["name"]


def number(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.3f}"


def changes(finetuning: Finetuning) -> list[str]:
    """A sentence for each test set: what improved by which rule, and what got worse."""
    before, after = names(finetuning)
    specificity = finetuning.specificity
    means = means_of(specificity)
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
    before, after = names(finetuning)
    means = means_of(finetuning.specificity)
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
    before, after = names(finetuning)
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


def n_epitopes(finetuning: Finetuning) -> int:
    return finetuning.specificity["epitope"].nunique() - 1  # the mean is none


def means_of(specificity: pd.DataFrame) -> dict[tuple[str, str, str], float]:
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


def sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."
