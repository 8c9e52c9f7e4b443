"""The few-shot benchmark in the MultiQC report and on the terminal."""

import json
from dataclasses import dataclass
from pathlib import Path

from airrvec.core import tables
from airrvec.core.schema import MEAN, RECEPTOR_SETTING, SETTING
from airrvec.core.terminal import counted
from airrvec.encoders import Titles
from airrvec.evaluation.fewshot import TRAINED_ON, complete_epitopes
from airrvec.evaluation.training_labels import TRAINED_ON_MARK
from airrvec.figures.benchmark_settings import RULE_TITLES, default_view, ordered_settings, setting_title
from airrvec.figures.palette import COLOURS
from airrvec.report.page import escaped, meaning, section

import pandas as pd

MAX_COLUMNS = 8  # encoders as columns of a table; with more, each encoder is a row
MAX_ROWS = 50
MAX_NAMED = 5  # encoders in the sentence on the best rule
_METRIC_TITLES = {"auroc": "AUROC", "auroc_01": "AUC0.1", "average_precision": "Average precision"}


def epitope_table(shown: pd.DataFrame, titles: Titles) -> dict:
    """Return AUROC with one row per epitope, or one row per encoder if there are many encoders."""
    largest = rows_at_largest_k(shown)
    encoders = list(dict.fromkeys(largest["encoder"]))
    score = {"format": "{:,.3f}", "min": 0.5, "max": 1, "scale": "Blues"}
    data = {}
    if len(encoders) <= MAX_COLUMNS:
        for row in tables.named_rows(largest):
            data.setdefault(escaped(row.epitope), {"k": row.k})[row.encoder] = row.auroc_mean
        headers = {"k": {"title": "k", "format": "{:,.0f}", "scale": False, **meaning("auroc_summary", "k")}}
        headers |= {name: {"title": titles[name], **score} for name in encoders}
    else:
        for row in tables.named_rows(largest):
            data.setdefault(titles[row.encoder], {})[row.epitope] = row.auroc_mean
        epitopes = largest.drop_duplicates("epitope")
        headers = {
            row.epitope: {"title": f"{escaped(row.epitope)} (k = {row.k})", **score}
            for row in tables.named_rows(epitopes)
        }
    return section(
        "airrvec_auroc_by_epitope",
        "AUROC by epitope",
        f"{setting_text(shown).capitalize()}, at the largest k of each epitope; mean over splits.",
        "table",
        data,
        headers=headers,
        pconfig={
            "col1_header": "Epitope" if len(encoders) <= MAX_COLUMNS else "Encoder",
            "sort_rows": False,
        },
    )


def metrics_table(rule_rows: pd.DataFrame, titles: Titles) -> dict | None:
    means = rule_rows[rule_rows["epitope"] == MEAN]
    if means.empty:
        return None
    largest = means[means["k"] == means["k"].max()]
    data = {
        f"{titles[row['encoder']]}, {RULE_TITLES[row['rule']]}": {
            name: row[f"{name}_mean"] for name in _METRIC_TITLES
        }
        for row in largest.to_dict("records")
    }
    return section(
        "airrvec_metrics",
        "Metrics",
        f"Mean over epitopes, k = {means['k'].max()}. AUC0.1 is the area under the ROC curve up to a"
        " false-positive rate of 0.1, standardised so that chance gives 0.5. The average precision by chance"
        " is the share of the epitope's receptors among the tested receptors. The contrast uses the"
        " references of all epitopes, and none of them is tested; the other rules use those of one epitope.",
        "table",
        data,
        headers={
            name: {
                "title": heading,
                "format": "{:,.3f}",
                "min": 0,
                "max": 1,
                "scale": "Blues",
                **meaning("auroc", name),
            }
            for name, heading in _METRIC_TITLES.items()
        },
        pconfig={"col1_header": "Encoder and rule", "sort_rows": False},
    )


def comparisons_table(comparisons: pd.DataFrame, titles: Titles) -> dict | None:
    """Return pairs of encoders at the largest k of the mean; of many pairs, those of the first encoder."""
    pairs = comparisons[(comparisons["epitope"] == MEAN) & comparisons["other"].notna()]
    if pairs.empty:
        return None
    pairs = pairs[pairs["k"] == pairs["k"].max()]
    n_pairs = len(pairs)
    if n_pairs > MAX_ROWS:
        pairs = pairs[pairs["encoder"] == pairs["encoder"].iloc[0]]
    data = {
        f"{titles[row.encoder]} − {titles[row.other]}": {
            "difference": row.difference_mean,
            "error": row.difference_se,
            "better": f"{row.n_better:.0f} of {row.n_epitopes:.0f}",
            **{name: value for name, value in _p_values(row).items() if pd.notna(value)},
        }
        for row in tables.named_rows(pairs)
    }
    number = {"format": "{:,.4f}", "scale": False}
    return section(
        "airrvec_comparisons",
        "Comparisons of encoders",
        f"{setting_text(pairs).capitalize()}, k = {pairs['k'].iloc[0]}. Difference in AUROC on the same"
        " splits, mean over epitopes. With few epitopes, the tests have little power."
        + (" The other pairs, and all k and epitopes," if n_pairs > MAX_ROWS else " All k and epitopes")
        + " are in <code>benchmark/comparisons.tsv</code>.",
        "table",
        data,
        headers={
            "difference": {
                "title": "Difference",
                **number,
                **meaning("comparisons", "difference_mean"),
            },
            "error": {
                "title": "Standard error",
                **number,
                **meaning("comparisons", "difference_se"),
            },
            "better": {"title": "Better", **meaning("comparisons", "n_better")},
            "sign": {"title": "p, sign test", **number, **meaning("comparisons", "sign_p")},
            "wilcoxon": {"title": "p, Wilcoxon", **number, **meaning("comparisons", "wilcoxon_p")},
            "holm": {
                "title": "p, Wilcoxon, Holm",
                **number,
                **meaning("comparisons", "wilcoxon_p_holm"),
            },
        },
        pconfig={"col1_header": "Encoders", "sort_rows": False},
    )


def _p_values(row) -> dict[str, float]:
    return {"sign": row.sign_p, "wilcoxon": row.wilcoxon_p, "holm": row.wilcoxon_p_holm}


def not_evaluated_table(left_out: pd.DataFrame, titles: Titles) -> dict | None:
    if left_out.empty:
        return None
    # Rows on whole encoders first, then the epitopes with the most receptors.
    names = [*SETTING, "epitope"]
    shown = left_out.assign(is_epitope=left_out["epitope"].notna(), is_filtered=left_out["test_set"].notna())
    shown = shown.sort_values(
        ["is_epitope", "is_filtered", "n_receptors", "epitope", "k"],
        ascending=[True, True, False, True, True],
        kind="stable",
    ).drop_duplicates(names)
    n_epitopes = left_out["epitope"].nunique()
    several = len(left_out["excluded"].unique()) > 1
    data = {
        _not_evaluated_title(row, titles, with_excluded=several or pd.isna(row.epitope)): {
            **({"k": int(row.k)} if pd.notna(row.k) else {}),
            "reason": escaped(row.reason),
        }
        for row in tables.named_rows(shown.head(MAX_ROWS))
    }
    return section(
        "airrvec_not_evaluated",
        "Not evaluated",
        f"{counted(n_epitopes, 'epitope was', 'epitopes were')} not evaluated for at least one k"
        f"{f'; the first {MAX_ROWS} of {len(shown):,} rows are shown' if len(shown) > MAX_ROWS else ''}."
        " All are in <code>benchmark/not_evaluated.tsv</code>.",
        "table",
        data,
        headers={
            "k": {
                "title": "From k",
                "format": "{:,.0f}",
                "scale": False,
                **meaning("not_evaluated", "k"),
            },
            "reason": {"title": "Reason"},
        },
        pconfig={"col1_header": "Epitope", "sort_rows": False},
    )


def _not_evaluated_title(row, titles: Titles, *, with_excluded: bool) -> str:
    words = [
        row.epitope and escaped(row.epitope),
        row.encoder and titles[row.encoder],
        row.rule and RULE_TITLES[row.rule],
        row.chains and setting_title("chains", row.chains),
        row.test_set and setting_title("test_set", row.test_set),
        with_excluded and escaped(setting_title("excluded", row.excluded)),
    ]
    return ", ".join(word for word in words if word)


def setting_text(shown: pd.DataFrame) -> str:
    """Return the rule of the first row, and its setting if it is not the default."""
    first = shown.iloc[0]
    words = [RULE_TITLES[first["rule"]]]
    for column, default in (("chains", "paired"), ("test_set", "all")):
        if first[column] != default:
            words.append(setting_title(column, first[column]))
    return ", ".join(words)


def n_averaged_epitopes(summary: pd.DataFrame) -> int:
    """Return the number of epitopes in the mean over epitopes of the first rule."""
    rows = summary[(summary["epitope"] != MEAN) & (summary["rule"] == summary["rule"].iloc[0])]
    return len(complete_epitopes(rows["epitope"], rows["k"]))


def best_rule_text(rule_rows: pd.DataFrame, titles: Titles) -> str | None:
    """
    Return the rule with the highest AUROC, with its AUROC for each encoder; None for a single rule.

    The AUROC is the mean over epitopes at the largest k. An encoder counts if all rules have it.
    """
    means = rule_rows[rule_rows["epitope"] == MEAN]
    wide = means[means["k"] == means["k"].max()].pivot_table(
        index="rule", columns="encoder", values="auroc_mean"
    )
    wide = wide.loc[ordered_settings(wide.index)].dropna(axis=1)
    if len(wide) < 2 or wide.columns.empty:
        return None
    best = wide.mean(axis=1).idxmax()
    encoders = [name for name in dict.fromkeys(means["encoder"]) if name in wide.columns]
    values = ", ".join(f"{titles[name]} {wide.loc[best, name]:.3f}" for name in encoders[:MAX_NAMED])
    further = f", and {len(encoders) - MAX_NAMED} further" if len(encoders) > MAX_NAMED else ""
    return f"Best rule at k = {means['k'].max()}: {RULE_TITLES[best]} ({values}{further})"


def rows_at_largest_k(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of each epitope's largest k, in descending order of k, the mean over epitopes last."""
    largest = summary[summary["k"] == summary.groupby("epitope")["k"].transform("max")]
    is_mean = largest["epitope"] == MEAN
    return pd.concat([largest[~is_mean].sort_values("k", ascending=False, kind="stable"), largest[is_mean]])


# --- The few-shot benchmark in the MultiQC report and on the terminal

MAX_ROC_TABS = 6

MANY_ALLELES = 0.05  # of the receptors; on VDJdb 0.016 raise the mean AUROC at k = 200 by .002


@dataclass(frozen=True)
class Benchmark:
    """Tables of `airrvec.core.schema` as data frames, and the counts of the labelled receptors."""

    summary: pd.DataFrame
    comparisons: pd.DataFrame
    roc: pd.DataFrame
    not_evaluated: pd.DataFrame
    counts: dict


def read_benchmark(folder: Path | None) -> Benchmark | None:
    """Return the results of the benchmark; None if the folder has none."""
    if folder is None or not (folder / "auroc_summary.parquet").exists():
        return None
    names = ("auroc_summary", "comparisons", "roc", "not_evaluated")
    summary, comparisons, roc, not_evaluated = (
        tables.read(folder / f"{name}.parquet").to_pandas() for name in names
    )
    counts = json.loads((folder / "benchmark.json").read_text())
    return Benchmark(summary, comparisons, roc, not_evaluated, counts)


def benchmark_sections(benchmark: Benchmark, titles: Titles) -> list[dict]:
    """Return the sections: AUROC, metrics, ROC curves, comparisons of encoders, missing measurements."""
    encoders = {name: titles[name] for name in benchmark.summary["encoder"].unique()}
    colours = {title: COLOURS[index % len(COLOURS)] for index, title in enumerate(encoders.values())}
    rule_rows = default_view(benchmark.summary)
    shown = default_view(benchmark.summary, one_rule=True)
    sections = [
        _auroc_section(rule_rows, titles, colours, benchmark.counts),
        _settings_section(benchmark.summary, shown, encoders, colours),
        epitope_table(shown, titles),
        metrics_table(rule_rows, titles),
        _roc_section(default_view(benchmark.roc, one_rule=True), encoders, colours),
        comparisons_table(default_view(benchmark.comparisons, one_rule=True), titles),
        not_evaluated_table(benchmark.not_evaluated, titles),
    ]
    return [part for part in sections if part is not None]


def cautions(counts: dict) -> list[str]:
    """Return sentences on receptors that differ in alleles alone, if many, and on those of training."""
    n_alleles = counts["receptors"] - counts.get("clonotypes", counts["receptors"])
    alleles = [
        f"{n_alleles:,} of the {counts['receptors']:,} receptors differ from another in alleles alone: where"
        " one is the reference, the other is tested; --benchmark_test_sets all,other_clonotypes measures"
        " without it"
    ]
    n = counts["removed"].get(TRAINED_ON, 0)
    excluded = [
        f"{counted(n, 'labelled cell is', 'labelled cells are')} excluded from the benchmark of all encoders:"
        " a model of this run was"
        " trained on their receptors"
    ]
    return [
        *(alleles if n_alleles > MANY_ALLELES * counts["receptors"] else []),
        *(excluded if n else []),
        *counts.get("warnings", {}).values(),
    ]


def benchmark_lines(benchmark: Benchmark, titles: Titles) -> list[str]:
    """Return AUROCs for the terminal, and warnings about AUROCs that are too high."""
    best = best_rule_text(default_view(benchmark.summary), titles)
    return [
        *auroc_lines(benchmark.summary, titles),
        *([best] if best else []),
        *(f"WARNING: {sentence}" for sentence in cautions(benchmark.counts)),
    ]


def auroc_lines(summary: pd.DataFrame, titles: Titles) -> list[str]:
    """Return a table of epitopes by encoders for the terminal; for more than 5 encoders, only their means."""
    shown = default_view(summary, one_rule=True)
    largest = rows_at_largest_k(shown)
    encoders = list(dict.fromkeys(largest["encoder"]))
    rule = setting_text(shown)
    means = largest[largest["epitope"] == MEAN]
    if len(encoders) > 5 and len(means):
        n = counted(n_averaged_epitopes(shown), "epitope")
        return [
            f"AUROC, {rule}, k = {means['k'].max()}, mean over {n}",
            *(f"{titles[row.encoder]:<30}{row.auroc_mean:>7.3f}" for row in tables.named_rows(means)),
        ]
    width = max(12, *(len(titles[name]) + 2 for name in encoders))
    lines = [
        f"AUROC, {rule}, largest k of each epitope, mean over splits",
        f"{'Epitope':<18}{'k':>5}" + "".join(f"{titles[name]:>{width}}" for name in encoders),
    ]
    for (epitope, k), rows in largest.groupby(["epitope", "k"], sort=False):
        values = dict(zip(rows["encoder"], rows["auroc_mean"], strict=True))
        cells = [f"{values[name]:.3f}" if name in values else "" for name in encoders]
        lines.append(f"{str(epitope)[:17]:<18}{k:>5}" + "".join(f"{cell:>{width}}" for cell in cells))
    return lines


def _auroc_section(summary: pd.DataFrame, titles: Titles, colours: dict, counts: dict) -> dict:
    encoders = {name: titles[name] for name in summary["encoder"].unique()}
    best = best_rule_text(summary, titles)
    removed = "; ".join(f"{n:,} {escaped(reason)}" for reason, n in counts["removed"].items() if n)
    rules = ordered_settings(summary["rule"])
    return _curves(
        "airrvec_auroc",
        "Few-shot prediction of epitopes",
        f"Measured on {counted(counts['receptors'], 'complete receptor')} of"
        f" {counted(counts['epitopes'], 'epitope')}"
        f" (excluded cells: {removed or 'none'}). For each epitope, k receptors are the references; AUROC"
        " measures how well the distance to them separates the other receptors of the epitope from all"
        f" others. Mean over {counted(n_averaged_epitopes(summary), 'epitope')} with enough receptors for"
        " every k, and over splits, which all encoders share."
        + (
            f" {escaped(best)}. Rank receptors of your own by this rule. The nearest neighbour and the"
            " average distance are the paper's rules: compare published values with these. The contrast also"
            " uses the other epitopes' references, so it gains most where the negatives bind these epitopes."
            if best
            else ""
        )
        + "".join(f"<br><strong>{escaped(sentence)}.</strong>" for sentence in cautions(counts))
        + (
            f"<br>These encoders are marked{TRAINED_ON_MARK} in all tables and figures."
            if counts.get("warnings")
            else ""
        ),
        {RULE_TITLES[rule].capitalize(): summary[summary["rule"] == rule] for rule in rules},
        encoders,
        colours,
    )


def _settings_section(
    summary: pd.DataFrame, shown: pd.DataFrame, encoders: dict[str, str], colours: dict
) -> dict | None:
    """Return one tab for each other value of a setting; the other settings keep their defaults."""
    default_row = shown.iloc[0]
    rule_rows = summary[summary["rule"] == default_row["rule"]]
    tabs = {}
    for column in RECEPTOR_SETTING:
        other_settings = [name for name in RECEPTOR_SETTING if name != column]
        varied = rule_rows[(rule_rows[other_settings] == default_row[other_settings]).all(axis=1)]
        for word in ordered_settings(varied[column]):
            if word != default_row[column]:
                group = varied[varied[column] == word]
                n = counted(n_averaged_epitopes(group), "epitope")
                tabs[f"{setting_title(column, word)} ({n})"] = group
    if not tabs:
        return None
    return _curves(
        "airrvec_auroc_settings",
        "Few-shot prediction in other settings",
        f"{setting_text(shown).capitalize()}. Each tab changes the named setting of the figure above; its"
        " mean may be over other epitopes. All combinations are in <code>benchmark/auroc_summary.tsv</code>.",
        tabs,
        encoders,
        colours,
    )


def _curves(
    name: str, heading: str, description: str, tabs: dict[str, pd.DataFrame], encoders, colours
) -> dict:
    """Return mean AUROC over epitopes against k, one tab for each group of rows."""
    data = []
    for group in tabs.values():
        means = group[group["epitope"] == MEAN].sort_values("k")
        lines = {title: means[means["encoder"] == name] for name, title in encoders.items()}
        data.append(
            {
                title: {str(row.k): row.auroc_mean for row in tables.named_rows(line)}
                for title, line in lines.items()
                if len(line)
            }
        )
    return section(
        name,
        heading,
        description,
        "linegraph",
        data,
        pconfig={
            "xlab": "k, number of reference receptors",
            "ylab": "AUROC",
            "categories": True,
            "ymax": 1,
            "tt_decimals": 3,
            "style": "lines+markers",
            "showlegend": True,
            "colors": colours,
            "data_labels": [{"name": escaped(tab)} for tab in tabs],
        },
    )


def _roc_section(roc: pd.DataFrame, encoders: dict[str, str], colours: dict) -> dict | None:
    if roc.empty:
        return None
    datasets, labels = [], []
    shown = roc.sort_values(["k", "epitope"], ascending=[False, True])["epitope"].unique()[:MAX_ROC_TABS]
    for epitope in shown:
        epitope_rows = roc[roc["epitope"] == epitope]
        lines = {title: epitope_rows[epitope_rows["encoder"] == name] for name, title in encoders.items()}
        datasets.append(
            {
                title: {round(row.fpr, 4): round(row.tpr_mean, 4) for row in tables.named_rows(line)}
                for title, line in lines.items()
                if len(line)
            }
        )
        labels.append({"name": f"{escaped(epitope)} (k = {epitope_rows['k'].iloc[0]})"})
    return section(
        "airrvec_roc",
        "ROC curves",
        f"{setting_text(roc).capitalize()}, at the largest k of each epitope; mean over splits."
        + (" All epitopes are in <code>benchmark/roc.tsv</code>." if len(shown) == MAX_ROC_TABS else ""),
        "linegraph",
        datasets,
        pconfig={
            "xlab": "False-positive rate",
            "ylab": "True-positive rate",
            "xmin": 0,
            "xmax": 1,
            "ymin": 0,
            "ymax": 1,
            "tt_decimals": 3,
            "showlegend": True,
            "colors": colours,
            "data_labels": labels,
        },
    )
