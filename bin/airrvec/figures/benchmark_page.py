"""Markdown page of the few-shot benchmark: the paper's tables, with its values and ours."""

import csv
from importlib.resources import files

from airrvec.core.schema import MEAN, RECEPTOR_SETTING
from airrvec.core.terminal import counted
from airrvec.encoders import Titles
from airrvec.evaluation.training_labels import TRAINED_ON_MARK
from airrvec.figures.benchmark_settings import RULE_TITLES, setting_title

import pandas as pd

# Rule and k of Table I in the paper.
PAPER_RULE, PAPER_K = "nearest_neighbour", 200
WORTH_A_WORD = 0.02  # larger differences from the paper are marked


def page(summary: pd.DataFrame, comparisons: pd.DataFrame, counts: dict, titles: Titles) -> str:
    """
    Return the page: all tables as Markdown.

    Parameters
    ----------
    summary, comparisons : DataFrame
        `airrvec.core.schema.AUROC_SUMMARY` and `airrvec.core.schema.COMPARISONS`.
    counts : dict
        Numbers of ``receptors`` and ``epitopes`` measured; optionally ``warnings``, by encoder.
    titles : Titles
        Titles of the encoders.
    """
    first = summary.iloc[0]
    setting = {name: first[name] for name in RECEPTOR_SETTING}
    rows = _rows_with(summary, **setting)
    means = _rows_with(rows, epitope=MEAN)
    parts = [
        f"{counted(counts['receptors'], 'receptor')} of {counted(counts['epitopes'], 'epitope')}; AUROC, mean"
        " over splits.",
        *(f"**{sentence} (marked{TRAINED_ON_MARK}).**" for sentence in counts.get("warnings", {}).values()),
        *_paper_table(_rows_with(rows, rule=PAPER_RULE, k=PAPER_K), titles),
        *_k_tables(means, titles),
        *_rules_table(means, titles),
        *_settings_table(_rows_with(summary, epitope=MEAN), titles),
        *_comparison_table(_rows_with(comparisons, **setting), titles),
    ]
    return "\n\n".join(parts) + "\n"


def paper_values() -> dict[str, dict[str, float]]:
    """Return encoder → epitope → AUROC of Table I in the paper (nearest neighbour, 200 references)."""
    with files("airrvec.figures").joinpath("data/paper_auroc.tsv").open() as handle:
        return {
            row.pop("encoder"): {epitope: float(value) for epitope, value in row.items()}
            for row in csv.DictReader(handle, delimiter="\t")
        }


def _paper_table(rows: pd.DataFrame, titles: Titles) -> list[str]:
    """Table I: our values; for the paper's encoders also the paper's, with a mark for a large difference."""
    if rows.empty:
        return []
    known = paper_values()
    encoders = list(dict.fromkeys(rows["encoder"]))
    ours = rows.pivot_table(index="epitope", columns="encoder", values="auroc_mean")
    in_paper = [name for name in known if name in encoders]
    header = ["Epitope"]
    for name in encoders:
        header += [f"{titles[name]}, paper", "ours"] if name in in_paper else [titles[name]]
    lines = []
    for epitope in sorted(ours.index, key=lambda name: (name == MEAN, name)):
        line = [epitope]
        for name in encoders:
            value = ours.loc[epitope, name]
            if name in in_paper:
                paper = _paper_value(known[name], epitope)
                differs = paper is not None and abs(value - paper) > WORTH_A_WORD
                line += [_number(paper), _number(value) + (" !" if differs else "")]
            else:
                line.append(_number(value))
        lines.append(line)
    missing = [titles[name] for name in known if name not in encoders]
    note = f" Not measured here: {', '.join(missing)}." if missing else ""
    return [
        f"### Table I of the paper\n\n{RULE_TITLES[PAPER_RULE].capitalize()}, *k* = {PAPER_K}."
        f" A difference of more than {WORTH_A_WORD} is marked (!).{note}",
        _table(header, lines),
    ]


def _paper_value(aurocs: dict[str, float], epitope: str) -> float | None:
    return sum(aurocs.values()) / len(aurocs) if epitope == MEAN else aurocs.get(epitope)


def _k_tables(means: pd.DataFrame, titles: Titles) -> list[str]:
    """AUROC against k: one table per rule, one row per encoder."""
    parts = ["### AUROC against k\n\nMean of the epitopes that have enough receptors for every *k*."]
    for rule, rows in means.groupby("rule", sort=False):
        wide = rows.pivot_table(index="encoder", columns="k", values="auroc_mean")
        wide = wide.loc[list(dict.fromkeys(rows["encoder"]))]
        lines = [
            [titles[name], *map(_number, line)] for name, line in zip(wide.index, wide.values, strict=True)
        ]
        parts.append(_table([RULE_TITLES[str(rule)].capitalize(), *map(str, wide.columns)], lines))
    return parts if len(parts) > 1 else []


def _rules_table(means: pd.DataFrame, titles: Titles) -> list[str]:
    """AUROC of every encoder by every rule, and the other metrics by the first rule."""
    rows = means[means["k"] == means["k"].max()]
    if rows.empty:
        return []
    rules = list(dict.fromkeys(rows["rule"]))
    wide = rows.pivot_table(index="encoder", columns="rule", values="auroc_mean")
    first = _rows_with(rows, rule=rules[0]).set_index("encoder")
    lines = [
        [
            titles[name],
            *(_number(wide.loc[name, rule]) for rule in rules),
            *(_number(first[f"{metric}_mean"].get(name)) for metric in ("auroc_01", "average_precision")),
        ]
        for name in dict.fromkeys(rows["encoder"])
    ]
    words = RULE_TITLES[rules[0]]
    return [
        f"### Rules and metrics\n\n*k* = {rows['k'].iloc[0]}, mean of the epitopes.",
        _table(
            [
                "Encoder",
                *(RULE_TITLES[rule] for rule in rules),
                f"AUC0.1, {words}",
                f"average precision, {words}",
            ],
            lines,
        ),
    ]


def _settings_table(means: pd.DataFrame, titles: Titles) -> list[str]:
    """Single chains, filtered test sets and excluded references, by the first rule."""
    rows = means[(means["rule"] == means["rule"].iloc[0])] if len(means) else means
    if rows.empty:
        return []
    rows = rows[rows["k"] == rows["k"].max()]
    settings = list(dict.fromkeys(rows[list(RECEPTOR_SETTING)].itertuples(index=False, name=None)))
    if len(settings) < 2:
        return []
    values = rows.set_index(["encoder", *RECEPTOR_SETTING])["auroc_mean"]
    lines = [
        [titles[name], *(_number(values.get((name, *setting))) for setting in settings)]
        for name in dict.fromkeys(rows["encoder"])
    ]
    varied = [name for name in RECEPTOR_SETTING if len(rows[name].unique()) > 1]
    header = [
        ", ".join(
            setting_title(name, word)
            for name, word in zip(RECEPTOR_SETTING, words, strict=True)
            if name in varied
        )
        for words in settings
    ]
    return [
        f"### Single chains and test sets\n\n{RULE_TITLES[rows['rule'].iloc[0]].capitalize()},"
        f" *k* = {rows['k'].iloc[0]}, mean of the epitopes.",
        _table(["Encoder", *header], lines),
    ]


def _comparison_table(comparisons: pd.DataFrame, titles: Titles) -> list[str]:
    """First encoder against every other encoder, by the paper's rule at the largest k."""
    rows = _rows_with(comparisons, rule=PAPER_RULE, epitope=MEAN).dropna(subset="other")
    rows = rows[rows["k"] == rows["k"].max()]
    if rows.empty:
        return []
    first = rows["encoder"].iloc[0]
    rows = rows[rows["encoder"] == first]
    lines = [
        [
            titles[row.other],
            f"{row.difference_mean:+.3f}",
            f"{row.difference_se:.4f}",
            f"{row.n_better:.0f} of {row.n_epitopes:.0f}",
            f"{row.sign_p:.2g}",
        ]
        for row in rows.itertuples()
    ]
    return [
        f"### {titles[first]} against the others\n\n{RULE_TITLES[PAPER_RULE].capitalize()},"
        f" *k* = {rows['k'].iloc[0]}, the same splits; p: binomial sign test over epitopes, one-sided.",
        _table(["Other", "difference", "standard error", "epitopes ahead", "p"], lines),
    ]


def _rows_with(frame: pd.DataFrame, **equal) -> pd.DataFrame:
    for name, value in equal.items():
        frame = frame[frame[name] == value]
    return frame


def _number(value: float | None) -> str:
    return "" if value is None or pd.isna(value) else f"{value:.3f}".removeprefix("0")


def _table(header: list[str], lines: list[list[str]]) -> str:
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
