"""Schemas of the tables of the few-shot benchmark and the analyses."""

from airrvec.core.schema.words import METRICS, RULE_SETTING, SETTING, strings

import pyarrow as pa

AUROC = pa.schema(
    [
        *strings(*SETTING, "epitope"),
        ("k", pa.int32()),
        ("split", pa.int32()),
        *((name, pa.float64()) for name in METRICS),
        ("n_positive", pa.int32()),
        ("n_negative", pa.int32()),
    ]
)

ROC = pa.schema(
    [
        *strings(*SETTING, "epitope"),
        ("k", pa.int32()),
        ("fpr", pa.float64()),
        ("tpr_mean", pa.float64()),
        ("tpr_std", pa.float64()),
    ]
)

# A null means all values.
NOT_EVALUATED = pa.schema(
    [
        *strings(*SETTING, "epitope"),
        ("k", pa.int32()),
        ("n_receptors", pa.int32()),
        ("reason", pa.string()),
    ]
)

AUROC_SUMMARY = pa.schema(
    [
        *strings(*SETTING, "epitope"),
        ("k", pa.int32()),
        ("n_splits", pa.int32()),
        *((f"{name}_{part}", pa.float64()) for name in METRICS for part in ("mean", "std", "se")),
    ]
)

# AUROC of `encoder` minus AUROC of `other` on the same splits; where `other` is null, minus the mean over
# all encoders.
COMPARISONS = pa.schema(
    [
        *strings("encoder", "other", *RULE_SETTING, "epitope"),
        ("k", pa.int32()),
        ("n_splits", pa.int32()),
        *((f"difference_{part}", pa.float64()) for part in ("mean", "std", "se")),
        ("n_epitopes", pa.int32()),
        ("n_better", pa.int32()),
        *((name, pa.float64()) for name in ("sign_p", "wilcoxon_p", "wilcoxon_p_holm")),
    ]
)

# Analyses that could not be done, for one encoder or, where `encoder` is null, for all.
NOT_DONE = pa.schema(strings("analysis", "encoder", "reason"))
