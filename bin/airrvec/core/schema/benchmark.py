"""Schemas of the tables of the few-shot benchmark."""

from airrvec.core.schema.published import TABLES, boolean, float32, float64, int32, published, string
from airrvec.core.schema.shared import (
    AUROC_COLUMN,
    RECEPTOR_COLUMNS,
    RECEPTOR_ID,
    RECEPTOR_SETTING_COLUMNS,
    RULE_SETTING_COLUMNS,
    SETTING_COLUMNS,
)
from airrvec.core.schema.words import METRICS

_EPITOPE = string("epitope", "Epitope. One that is called `mean` becomes `mean (epitope)`.")
_MEAN_OR_EPITOPE = _EPITOPE.but(
    meaning="Epitope, or `mean`: over the epitopes measured at every k in this setting"
)
_K = int32("k", "Number of reference receptors of the epitope")
_LARGEST_K = _K.but(meaning="Largest k of the epitope")
_N_SPLITS = int32("n_splits", "Splits; for `mean` the fewest of its epitopes")

_AUROC = (
    _EPITOPE,
    _K,
    int32("split", "Number of the split, from 0; the same for all encoders, rules, chains and test sets"),
    AUROC_COLUMN,
    float64(
        "auroc_01",
        "AUC0.1: standardised area under the ROC curve up to a false-positive rate of 0.1; 0 to 1, chance is"
        " 0.5",
    ),
    float64("average_precision", "Average precision, 0 to 1; chance is the share of positives"),
    int32("n_positive", "Tested receptors of the epitope"),
    int32("n_negative", "Other tested receptors"),
)
AUROC = published(
    "auroc",
    "benchmark/auroc.parquet",
    "One row per encoder, rule, chains, test set, exclusion, epitope, k and split.",
    *SETTING_COLUMNS,
    *_AUROC,
    twin=True,
)
_UNSEEN = (
    string("encoder", "A model of [specificity](output.md#modelsfinetune)"),
    RULE_SETTING_COLUMNS[0],
    RECEPTOR_SETTING_COLUMNS[0],
    string(
        "test_set",
        "`all`, the paper's: training and validation receptors are negatives, and a fine-tuned model gains"
        " if it separates them from all others; `not_trained`: without them",
    ),
    RECEPTOR_SETTING_COLUMNS[2],
)
published(
    "unseen",
    "models/finetune/unseen.parquet",
    "The few-shot benchmark before and after, with k up to 20, on epitopes that were not trained and have"
    " more than 120 receptors.",
    *_UNSEEN,
    *_AUROC,
    twin=True,
)

_PARTS = {
    "mean": ("Mean over splits; for `mean`, the mean of the epitopes' means", "never"),
    "std": ("Standard deviation over splits (n − 1)", "for `mean`, and for one split"),
    "se": (
        "Standard error ([definition](explanations/benchmark.md#definition-of-the-auroc))",
        "for one split",
    ),
}
AUROC_SUMMARY = published(
    "auroc_summary",
    "benchmark/auroc_summary.parquet",
    "Means over splits. Means of different test sets, chains or exclusions may cover different epitopes: the"
    " rows of single epitopes show which.",
    *SETTING_COLUMNS,
    _MEAN_OR_EPITOPE,
    _K,
    _N_SPLITS,
    *(
        float64(f"{name}_{part}", meaning, null=null)
        for name in METRICS
        for part, (meaning, null) in _PARTS.items()
    ),
    twin=True,
)

_EPITOPE_ROW = "an epitope"
COMPARISONS = published(
    "comparisons",
    "benchmark/comparisons.parquet",
    "Differences of AUROC on the same splits: one row per pair of encoders, setting, epitope and k, and one"
    " per encoder against the mean of all, without tests. [How to read the"
    " p-values](explanations/benchmark.md#differences-between-encoders).",
    string("encoder", "The first encoder"),
    string("other", "The second encoder", null="the mean of all encoders"),
    *RULE_SETTING_COLUMNS,
    _MEAN_OR_EPITOPE,
    _K,
    _N_SPLITS,
    float64(
        "difference_mean",
        "Mean over splits of the AUROC of `encoder` minus that of `other`; for `mean`, the mean over"
        " epitopes",
    ),
    float64(
        "difference_std",
        "Standard deviation over splits (n − 1); for `mean`, the root of the epitopes' mean variance, as in"
        " the paper",
        null="one split",
    ),
    float64(
        "difference_se",
        "Standard error over splits: std / √n; for `mean` √(Σ SE²) / n over the n epitopes",
        null="one split",
    ),
    int32("n_epitopes", "Number of epitopes of `mean`", null=_EPITOPE_ROW),
    int32("n_better", "Number of epitopes in which `encoder` is better", null=_EPITOPE_ROW),
    float64(
        "sign_p",
        "One-sided sign test over epitopes, the paper's binomial test (below)",
        null="an epitope; against all; only ties",
    ),
    float64(
        "wilcoxon_p",
        "Wilcoxon's signed-rank test, two-sided: over the splits of an epitope; for `mean`, over the"
        " epitopes",
        null="against all; no difference at all",
    ),
    float64(
        "wilcoxon_p_holm",
        "`wilcoxon_p`, corrected by Holm for all pairs of encoders in this setting, epitope and k",
        null="as `wilcoxon_p`",
    ),
    twin=True,
)

ROC = published(
    "roc",
    "benchmark/roc.parquet",
    "Mean ROC curve at the largest k of each epitope, at 201 false-positive rates 0, 0.005, …, 1, linear"
    " between thresholds.",
    *SETTING_COLUMNS,
    _EPITOPE,
    _LARGEST_K,
    float64("fpr", "False-positive rate"),
    float64("tpr_mean", "True-positive rate, mean over splits"),
    float64("tpr_std", "Standard deviation of the true-positive rate over splits (n)"),
    twin=True,
)

_EXCLUSION = RECEPTOR_SETTING_COLUMNS[2]
BENCHMARK_RECEPTORS = published(
    "benchmark_receptors",
    "benchmark/benchmark_receptors.parquet",
    "The labelled receptors of the benchmark: one row per exclusion, receptor and epitope.",
    _EXCLUSION,
    _EPITOPE,
    *RECEPTOR_COLUMNS,
    RECEPTOR_ID,
)
_SPLIT = int32("split", "Number of the split, as in `auroc`")
SPLITS = published(
    "splits",
    "benchmark/splits.parquet",
    "The references of every split: one row per exclusion, epitope, k, split and reference. All other"
    " `benchmark_receptors` of the exclusion are tested; positive are those of the epitope. By the rule"
    " `contrast` the references of the other epitopes at this k are not tested either: of the same split,"
    " modulo the number of their splits.",
    *(_EXCLUSION, _EPITOPE, _K, _SPLIT, RECEPTOR_ID),
)
SCORES = published(
    "scores",
    "benchmark/scores.parquet",
    "With `--benchmark_scores`: one row per encoder, rule, chains, exclusion, epitope, k, split and tested"
    " receptor, before test sets leave some out.",
    *(column for column in SETTING_COLUMNS if column.name != "test_set"),
    *(_EPITOPE, _K, _SPLIT),
    boolean("positive", "Whether the receptor has the epitope"),
    float32("score", "Score by the rule; the lower, the nearer to the references"),
    RECEPTOR_ID,
)

_ALL = "all of them"
NOT_EVALUATED = published(
    "not_evaluated",
    "benchmark/not_evaluated.parquet",
    "What was requested and not measured. A null stands for all.",
    *(column.but(null=_ALL) for column in (*SETTING_COLUMNS, _EPITOPE)),
    int32("k", "The k at which it was not measured", null=_ALL),
    int32("n_receptors", "Number of receptors of the epitope", null="no epitope"),
    string("reason", "Why, see below"),
    twin=True,
)
assert AUROC.names == [column.name for column in TABLES["unseen"].columns]
