"""Schemas of the tables of training and fine-tuning."""

from airrvec.core.schema.published import TABLES, float64, int32, int64, published, string
from airrvec.core.schema.receptors import RECEPTORS
from airrvec.core.schema.shared import AUROC_COLUMN, CLONOTYPE_ID, RECEPTOR_ID

_STEP = int64("step", "Steps done, from 1; 0 is validation before the first step")
_PART = string("part", "`train` or `validation`")
_NO_TERM = "the objective lacks it"

TRAINING = published(
    "training",
    "models/<name>/training.parquet",
    "One row per training step, and one per evaluation of the validation receptors. In validation, a batch"
    " holds each receptor once.",
    _STEP,
    _PART,
    float64("loss", "Sum of the terms"),
    float64("contrastive_loss", "The contrastive term", null=_NO_TERM),
    float64("mlm_loss", "The masked-language term", null=_NO_TERM),
    float64(
        "alignment",
        "Mean squared distance of the two views of a receptor. Low is good.",
        null="no contrastive term",
    ),
    float64(
        "uniformity",
        "Log of the mean potential exp(−2 d²) between different receptors. Low means well spread.",
        null="no contrastive term, or equal receptors",
    ),
    float64("learning_rate", "Rate of the step", null="validation"),
)

# In a file of its own: all other columns are the same in two runs.
TRAINING_TIMES = published(
    "training_times",
    "models/<name>/training_times.parquet",
    "One row per row of `training`. Only this file differs between two runs with one seed and as many"
    " threads; [other numbers of threads](reliability.md#same-bytes) change the last digits of the weights.",
    _STEP,
    _PART,
    float64("seconds", "Time since training started, without pauses", unit="s"),
)

TRAINING_LABELS = published(
    "training_labels",
    "models/<name>/training_labels.parquet",
    "After fine-tuning: one row per clonotype and epitope that this model, or the one it started from, was"
    " trained on.",
    *(column for column in TABLES["receptors"].columns if column.name in RECEPTORS.names),
    string("epitope", "Epitope of the clonotype"),
    string("part", "`train`, or `validation`, which chose the weights"),
)

SPLIT = published(
    "split",
    "models/finetune/split.parquet",
    "One row per clonotype of an epitope that was divided.",
    RECEPTOR_ID.but(meaning="First receptor of the clonotype, which represents it"),
    CLONOTYPE_ID,
    string("epitope", "Epitope of the clonotype"),
    string("reference_id", "Studies that report the pair, joined by `;`", null="none is named"),
    string(
        "part",
        "`train`, `validation` or `test`. A clonotype has one part, whatever its epitopes, studies and"
        " alleles.",
    ),
    twin=True,
)

SPECIFICITY = published(
    "specificity",
    "models/finetune/specificity.parquet",
    "One row per encoder, rule, test set and epitope: its receptors are ranked against those of other"
    " epitopes. The training receptors are the references.",
    string(
        "encoder",
        "The model before, and after; each with `+tcrdist`, the [sum](reference/models.md#sums-of-distances)"
        " of its distances and TCRdist; `tcrdist` alone; the floor `v_j_genes`, logistic regression on V and"
        " J genes",
    ),
    string(
        "rule",
        "How references make a score ([rules](explanations/benchmark.md#rules)), or `logistic_regression`",
    ),
    string(
        "test_set",
        "`all`; `below_90`, `below_80`: without receptors that share both V genes with a training receptor"
        " and have CDR3s at least 90 % or 80 % identical (Levenshtein)",
    ),
    string("epitope", "Epitope, or `mean` of all"),
    AUROC_COLUMN.but(null="no receptor is left"),
    int32("n_positive", "Receptors of the epitope in the test set", null="for `mean`"),
    int32("n_negative", "Receptors of the other epitopes", null="for `mean`"),
    twin=True,
)
