"""Tables of the few-shot benchmark and of the analyses."""

import pyarrow as pa

from airrvec.core.schema.words import METRICS, SETTING, strings

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

# A null stands for all.
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

# Of two encoders on the same splits, AUROC of `encoder` minus that of `other`; without `other` the
# mean over all encoders.
COMPARISONS = pa.schema(
    [
        *strings("encoder", "other", *SETTING[1:], "epitope"),
        ("k", pa.int32()),
        ("n_splits", pa.int32()),
        *((f"difference_{part}", pa.float64()) for part in ("mean", "std", "se")),
        ("n_epitopes", pa.int32()),
        ("n_better", pa.int32()),
        *((name, pa.float64()) for name in ("sign_p", "wilcoxon_p", "wilcoxon_p_holm")),
    ]
)

# What of an analysis could not be done; `encoder` is null where it is the analysis itself.
NOT_DONE = pa.schema(strings("analysis", "encoder", "reason"))
