"""Benchmark tables in the MultiQC report: by epitope, by metric, comparisons, not evaluated."""

from airrvec.benchmark.fewshot import complete_epitopes
from airrvec.core.schema import MEAN, SETTING
from airrvec.core.terminal import counted
from airrvec.encoders import Titles
from airrvec.figures.benchmark import RULE_TITLES, ordered_settings, setting_title
from airrvec.report.columns import meaning
from airrvec.report.page import escaped, section

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
        for row in largest.itertuples():
            data.setdefault(escaped(row.epitope), {"k": row.k})[row.encoder] = row.auroc_mean
        headers = {"k": {"title": "k", "format": "{:,.0f}", "scale": False, **meaning("auroc_summary", "k")}}
        headers |= {name: {"title": titles[name], **score} for name in encoders}
    else:
        for row in largest.itertuples():
            data.setdefault(titles[row.encoder], {})[row.epitope] = row.auroc_mean
        epitopes = largest.drop_duplicates("epitope")
        headers = {
            row.epitope: {"title": f"{escaped(row.epitope)} (k = {row.k})", **score}
            for row in epitopes.itertuples()
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


def metrics_table(by_rule: pd.DataFrame, titles: Titles) -> dict | None:
    means = by_rule[by_rule["epitope"] == MEAN]
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
        for row in pairs.itertuples()
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
        for row in shown.head(MAX_ROWS).itertuples()
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


def best_rule_text(by_rule: pd.DataFrame, titles: Titles) -> str | None:
    """
    Return the rule with the highest AUROC, with its AUROC for each encoder; None for a single rule.

    The AUROC is the mean over epitopes at the largest k. An encoder counts if all rules have it.
    """
    means = by_rule[by_rule["epitope"] == MEAN]
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
