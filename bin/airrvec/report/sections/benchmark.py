"""The few-shot benchmark in the MultiQC report and on the terminal."""

import json
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from airrvec.benchmark.fewshot import TRAINED_ON, complete_epitopes
from airrvec.benchmark.training_labels import MARK
from airrvec.core import tables
from airrvec.core.schema import MEAN
from airrvec.encoders import title
from airrvec.figures.benchmark import RULE_TITLES, default_view, in_order, setting_title
from airrvec.figures.style import COLOURS
from airrvec.report.page import safe, section

MAX_ROC_TABS = 6
MAX_COLUMNS = 8  # encoders side by side in a table; more stand below one another
MAX_ROWS = 50

_METRIC_TITLES = {"auroc": "AUROC", "auroc_01": "AUC0.1", "average_precision": "Average precision"}


@dataclass(frozen=True)
class Benchmark:
    """Tables of `airrvec.core.schema` as data frames, and the counts of the labelled receptors."""

    summary: pd.DataFrame
    comparisons: pd.DataFrame
    roc: pd.DataFrame
    not_evaluated: pd.DataFrame
    counts: dict


def read_benchmark(folder: Path | None) -> Benchmark | None:
    """The benchmark's results; None where the folder holds none."""
    if folder is None or not (folder / "auroc_summary.parquet").exists():
        return None
    names = ("auroc_summary", "comparisons", "roc", "not_evaluated")
    frames = [tables.read(folder / f"{name}.parquet").to_pandas() for name in names]
    return Benchmark(*frames, json.loads((folder / "benchmark.json").read_text()))


def benchmark_sections(benchmark: Benchmark) -> list[dict]:
    """AUROC against k, by epitope and setting, ROC curves, comparisons, and what was not evaluated."""
    encoders = list(dict.fromkeys(benchmark.summary["encoder"]))
    colours = {title(name): COLOURS[index % len(COLOURS)] for index, name in enumerate(encoders)}
    by_rule = default_view(benchmark.summary)
    shown = default_view(benchmark.summary, one_rule=True)
    found = [
        _auroc_section(by_rule, encoders, colours, benchmark.counts),
        _settings_section(benchmark.summary, shown, encoders, colours),
        _epitope_table(shown),
        _metrics_table(by_rule),
        _roc_section(default_view(benchmark.roc, one_rule=True), encoders, colours),
        _comparisons_table(default_view(benchmark.comparisons, one_rule=True)),
        _not_evaluated_table(benchmark.not_evaluated),
    ]
    return [part for part in found if part is not None]


def cautions(counts: dict) -> list[str]:
    """Sentences on receptors that measured models have been trained on."""
    n = counts["removed"].get(TRAINED_ON, 0)
    left_out = [
        f"{n:,} labelled cells are left out of the benchmark of all encoders, as a model of this run has been"
        " trained on their receptors"
    ]
    return [*(left_out if n else []), *counts.get("warnings", {}).values()]


def benchmark_lines(benchmark: Benchmark) -> list[str]:
    """AUROCs for the terminal, and what makes some of them too high."""
    return [
        *auroc_lines(benchmark.summary),
        *(f"WARNING: {sentence}" for sentence in cautions(benchmark.counts)),
    ]


def auroc_lines(summary: pd.DataFrame) -> list[str]:
    """A table of epitopes and encoders for the terminal; of many encoders, each one's mean alone."""
    shown = default_view(summary, one_rule=True)
    largest = _largest_k(shown)
    encoders = list(dict.fromkeys(largest["encoder"]))
    rule = _of_setting(shown)
    means = largest[largest["epitope"] == MEAN]
    if len(encoders) > 5 and len(means):
        return [
            f"AUROC, {rule}, k = {means['k'].max()}, mean over {_n_complete(shown)} epitopes",
            *(f"{title(row.encoder):<30}{row.auroc_mean:>7.3f}" for row in means.itertuples()),
        ]
    width = max(12, *(len(title(name)) + 2 for name in encoders))
    lines = [
        f"AUROC, {rule}, largest k of the epitope (mean over splits)",
        f"{'Epitope':<18}{'k':>5}" + "".join(f"{title(name):>{width}}" for name in encoders),
    ]
    for (epitope, k), rows in largest.groupby(["epitope", "k"], sort=False):
        values = dict(zip(rows["encoder"], rows["auroc_mean"], strict=True))
        cells = [f"{values[name]:.3f}" if name in values else "" for name in encoders]
        lines.append(f"{epitope[:17]:<18}{k:>5}" + "".join(f"{cell:>{width}}" for cell in cells))
    return lines


def _auroc_section(summary: pd.DataFrame, encoders: list[str], colours: dict, counts: dict) -> dict:
    removed = "; ".join(f"{n:,} {safe(reason)}" for reason, n in counts["removed"].items() if n)
    rules = in_order(summary["rule"])
    return _curves(
        "airrvec_auroc",
        "Few-shot prediction of epitopes",
        f"Measured on {counts['receptors']:,} complete receptors of {counts['epitopes']:,} epitopes"
        f" (left out: {removed or 'none'}). AUROC of an epitope's receptors against all others,"
        f" ranked by the distance to k of them; mean over the {_n_complete(summary)} epitopes that have"
        " enough receptors for every k, and over splits that all encoders share."
        + "".join(f"<br><strong>{safe(sentence)}.</strong>" for sentence in cautions(counts))
        + (
            f"<br>Such an encoder is marked{MARK} in all tables and figures."
            if counts.get("warnings")
            else ""
        ),
        {RULE_TITLES[rule].capitalize(): summary[summary["rule"] == rule] for rule in rules},
        encoders,
        colours,
    )


def _settings_section(
    summary: pd.DataFrame, shown: pd.DataFrame, encoders: list[str], colours: dict
) -> dict | None:
    """One tab for each other word of a setting, all else as usual."""
    usual = shown.iloc[0]
    of_rule = summary[summary["rule"] == usual["rule"]]
    tabs = {}
    for column in ("chains", "test_set", "excluded"):
        others = [name for name in ("chains", "test_set", "excluded") if name != column]
        varied = of_rule[(of_rule[others] == usual[others]).all(axis=1)]
        for word in in_order(varied[column]):
            if word != usual[column]:
                group = varied[varied[column] == word]
                tabs[f"{setting_title(column, word)} ({_n_complete(group)} epitopes)"] = group
    if not tabs:
        return None
    return _curves(
        "airrvec_auroc_settings",
        "Few-shot prediction in other settings",
        f"{_of_setting(shown).capitalize()}. Each tab differs from the figure above in what it names; its"
        " mean may be over other epitopes. All combinations are in"
        " <code>benchmark/auroc_summary.tsv</code>.",
        tabs,
        encoders,
        colours,
    )


def _curves(
    name: str, heading: str, description: str, tabs: dict[str, pd.DataFrame], encoders, colours
) -> dict:
    """Mean AUROC over epitopes against k, a tab for each group of rows."""
    data = []
    for group in tabs.values():
        means = group[group["epitope"] == MEAN].sort_values("k")
        lines = {encoder: means[means["encoder"] == encoder] for encoder in encoders}
        data.append(
            {
                title(encoder): {str(row.k): row.auroc_mean for row in line.itertuples()}
                for encoder, line in lines.items()
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
            "xlab": "k, the number of reference receptors",
            "ylab": "AUROC",
            "categories": True,
            "ymax": 1,
            "tt_decimals": 3,
            "style": "lines+markers",
            "showlegend": True,
            "colors": colours,
            "data_labels": [{"name": safe(tab)} for tab in tabs],
        },
    )


def _epitope_table(shown: pd.DataFrame) -> dict:
    """Epitopes below one another, or encoders where there are many of them."""
    largest = _largest_k(shown)
    encoders = list(dict.fromkeys(largest["encoder"]))
    score = {"format": "{:,.3f}", "min": 0.5, "max": 1, "scale": "Blues"}
    data = {}
    if len(encoders) <= MAX_COLUMNS:
        for row in largest.itertuples():
            data.setdefault(safe(row.epitope), {"k": row.k})[row.encoder] = row.auroc_mean
        headers = {"k": {"title": "k", "format": "{:,.0f}", "scale": False}}
        headers |= {name: {"title": title(name), **score} for name in encoders}
    else:
        for row in largest.itertuples():
            data.setdefault(title(row.encoder), {})[row.epitope] = row.auroc_mean
        of_epitope = largest.drop_duplicates("epitope")
        headers = {
            row.epitope: {"title": f"{safe(row.epitope)} (k = {row.k})", **score}
            for row in of_epitope.itertuples()
        }
    return section(
        "airrvec_auroc_by_epitope",
        "AUROC by epitope",
        f"{_of_setting(shown).capitalize()}, at the largest k that the epitope allows; mean over splits.",
        "table",
        data,
        headers=headers,
        pconfig={
            "col1_header": "Epitope" if len(encoders) <= MAX_COLUMNS else "Encoder",
            "sort_rows": False,
        },
    )


def _metrics_table(by_rule: pd.DataFrame) -> dict | None:
    means = by_rule[by_rule["epitope"] == MEAN]
    if means.empty:
        return None
    largest = means[means["k"] == means["k"].max()]
    data = {
        f"{title(row['encoder'])}, {RULE_TITLES[row['rule']]}": {
            name: row[f"{name}_mean"] for name in _METRIC_TITLES
        }
        for row in largest.to_dict("records")
    }
    return section(
        "airrvec_metrics",
        "Metrics",
        f"Mean over the epitopes, k = {means['k'].max()}. AUC0.1 is the area up to a false-positive rate"
        " of 0.1, standardised so that chance is 0.5; chance has an average precision of the epitope's"
        " share of the receptors.",
        "table",
        data,
        headers={
            name: {"title": heading, "format": "{:,.3f}", "min": 0, "max": 1, "scale": "Blues"}
            for name, heading in _METRIC_TITLES.items()
        },
        pconfig={"col1_header": "Encoder and rule", "sort_rows": False},
    )


def _roc_section(roc: pd.DataFrame, encoders: list[str], colours: dict) -> dict | None:
    if roc.empty:
        return None
    datasets, labels = [], []
    shown = roc.sort_values(["k", "epitope"], ascending=[False, True])["epitope"].unique()[:MAX_ROC_TABS]
    for epitope in shown:
        of_epitope = roc[roc["epitope"] == epitope]
        lines = {encoder: of_epitope[of_epitope["encoder"] == encoder] for encoder in encoders}
        datasets.append(
            {
                title(encoder): {round(row.fpr, 4): round(row.tpr_mean, 4) for row in line.itertuples()}
                for encoder, line in lines.items()
                if len(line)
            }
        )
        labels.append({"name": f"{safe(epitope)} (k = {of_epitope['k'].iloc[0]})"})
    return section(
        "airrvec_roc",
        "ROC curves",
        f"{_of_setting(roc).capitalize()}, at the largest k that the epitope allows; mean over splits."
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


def _comparisons_table(comparisons: pd.DataFrame) -> dict | None:
    """Pairs of encoders at the largest k of the mean; of many pairs those of the first encoder."""
    pairs = comparisons[(comparisons["epitope"] == MEAN) & comparisons["other"].notna()]
    if pairs.empty:
        return None
    pairs = pairs[pairs["k"] == pairs["k"].max()]
    n_pairs = len(pairs)
    if n_pairs > MAX_ROWS:
        pairs = pairs[pairs["encoder"] == pairs["encoder"].iloc[0]]
    data = {
        f"{title(row.encoder)} − {title(row.other)}": {
            "difference": row.difference_mean,
            "error": row.difference_se,
            "better": f"{row.n_better:.0f} of {row.n_epitopes:.0f}",
            **{name: value for name, value in _p_values(row).items() if pd.notna(value)},
        }
        for row in pairs.itertuples()
    }
    number = {"format": "{:,.4f}", "scale": False}
    return section(
        "airrvec_comparisons",
        "Comparisons of encoders",
        f"{_of_setting(pairs).capitalize()}, k = {pairs['k'].iloc[0]}: differences of AUROC on the same"
        " splits, mean over the epitopes. Few epitopes leave the tests little power."
        + (" The other pairs, each k and epitope" if n_pairs > MAX_ROWS else " Each k and epitope")
        + " are in <code>benchmark/comparisons.tsv</code>.",
        "table",
        data,
        headers={
            "difference": {"title": "Difference", **number, "description": "AUROC, first minus second"},
            "error": {"title": "Standard error", **number, "description": "Over splits"},
            "better": {"title": "Better", "description": "Epitopes in which the first is ahead"},
            "sign": {"title": "p, sign test", **number, "description": "One-sided binomial test, epitopes"},
            "wilcoxon": {"title": "p, Wilcoxon", **number, "description": "Signed-rank test over epitopes"},
            "holm": {"title": "p, Wilcoxon, Holm", **number, "description": "Corrected for all pairs"},
        },
        pconfig={"col1_header": "Encoders", "sort_rows": False},
    )


def _p_values(row) -> dict[str, float]:
    return {"sign": row.sign_p, "wilcoxon": row.wilcoxon_p, "holm": row.wilcoxon_p_holm}


def _not_evaluated_table(left_out: pd.DataFrame) -> dict | None:
    if left_out.empty:
        return None
    # What concerns whole encoders first, then the epitopes with the most receptors.
    names = ["encoder", "rule", "chains", "test_set", "epitope", "excluded"]
    shown = left_out.assign(is_epitope=left_out["epitope"].notna(), is_filtered=left_out["test_set"].notna())
    shown = shown.sort_values(
        ["is_epitope", "is_filtered", "n_receptors", "epitope", "k"],
        ascending=[True, True, False, True, True],
        kind="stable",
    ).drop_duplicates(names)
    n_epitopes = left_out["epitope"].nunique()
    several = len(left_out["excluded"].unique()) > 1
    data = {
        _left_out_title(row, with_excluded=several or pd.isna(row.epitope)): {
            **({"k": int(row.k)} if pd.notna(row.k) else {}),
            "reason": safe(row.reason),
        }
        for row in shown.head(MAX_ROWS).itertuples()
    }
    return section(
        "airrvec_not_evaluated",
        "Not evaluated",
        f"{n_epitopes:,} epitopes were not evaluated at one k or more"
        f"{f'; the first {MAX_ROWS} of {len(shown):,} rows are shown' if len(shown) > MAX_ROWS else ''}."
        " All are in <code>benchmark/not_evaluated.tsv</code>.",
        "table",
        data,
        headers={
            "k": {"title": "From k", "format": "{:,.0f}", "scale": False},
            "reason": {"title": "Reason"},
        },
        pconfig={"col1_header": "Epitope", "sort_rows": False},
    )


def _left_out_title(row, *, with_excluded: bool) -> str:
    words = [
        row.epitope and safe(row.epitope),
        row.encoder and title(row.encoder),
        row.rule and RULE_TITLES[row.rule],
        row.chains and setting_title("chains", row.chains),
        row.test_set and setting_title("test_set", row.test_set),
        with_excluded and safe(setting_title("excluded", row.excluded)),
    ]
    return ", ".join(word for word in words if word)


def _of_setting(shown: pd.DataFrame) -> str:
    """The one rule of some rows, and their setting where it is an unusual one."""
    first = shown.iloc[0]
    words = [RULE_TITLES[first["rule"]]]
    for column, usual in (("chains", "paired"), ("test_set", "all")):
        if first[column] != usual:
            words.append(setting_title(column, first[column]))
    return ", ".join(words)


def _n_complete(summary: pd.DataFrame) -> int:
    """Number of the epitopes that the mean of the first rule is taken over."""
    rows = summary[(summary["epitope"] != MEAN) & (summary["rule"] == summary["rule"].iloc[0])]
    return len(complete_epitopes(rows["epitope"], rows["k"]))


def _largest_k(summary: pd.DataFrame) -> pd.DataFrame:
    """Rows of each epitope's largest k: largest first, the mean over epitopes at the end."""
    largest = summary[summary["k"] == summary.groupby("epitope")["k"].transform("max")]
    is_mean = largest["epitope"] == MEAN
    return pd.concat([largest[~is_mean].sort_values("k", ascending=False, kind="stable"), largest[is_mean]])
