"""Names, types and words of every table; nothing else in the project knows them."""

import pyarrow as pa

LOCI = ("TRA", "TRB")
CHAIN_FIELDS = ("v_call", "j_call", "junction_aa")

# tidytcells' names of the species → the words that inputs use for them, in lower case.
SPECIES = {
    "homosapiens": ("homosapiens", "homo sapiens", "human", "hs", "h.sapiens"),
    "musmusculus": ("musmusculus", "mus musculus", "mouse", "mm", "m.musculus"),
}

LABELS = (
    "epitope",
    "antigen_gene",
    "antigen_species",
    "mhc_class",
    "mhc_a",
    "mhc_b",
    "reference_id",
    "confidence",  # of the label, as the source gives it, e.g. VDJdb's score
    "split",  # train, validation or test, where the user divides labelled receptors
)

# scirpy's words.
SINGLE_PAIR = "single pair"
ORPHAN_VJ = "orphan VJ"
ORPHAN_VDJ = "orphan VDJ"
EXTRA_VJ = "extra VJ"
EXTRA_VDJ = "extra VDJ"
TWO_FULL_CHAINS = "two full chains"
MULTICHAIN = "multichain"
CHAIN_PAIRINGS = (
    SINGLE_PAIR,
    ORPHAN_VJ,
    ORPHAN_VDJ,
    EXTRA_VJ,
    EXTRA_VDJ,
    TWO_FULL_CHAINS,
    MULTICHAIN,
)


def field(locus: str, name: str) -> str:
    """Column of a chain's field in ``receptors``, e.g. ``tra_v_call``."""
    return f"{locus.lower()}_{name}"


def raw(name: str) -> str:
    """Column of a field as the input spells it, e.g. ``tra_v_call_raw``."""
    return f"{name}_raw"


def uncertain(name: str) -> str:
    """Column of whether a call leaves the gene open, e.g. ``v_call_uncertain``."""
    return f"{name}_uncertain"


RECEPTOR_FIELDS = tuple(field(locus, name) for locus in LOCI for name in CHAIN_FIELDS)


def _strings(*names: str) -> list[tuple[str, pa.DataType]]:
    return [(name, pa.string()) for name in names]


# What a reader yields: one row a chain. Chains of one `cell_key` are one cell; without a key, those of
# one row are one clonotype. Chains of a cell that are equal in all fields, `chain_key` included, are one.
CHAIN_RECORDS = pa.schema(
    [
        ("row", pa.int64()),
        *_strings("cell_key", "chain_key", "cell_id", "species", "locus", *CHAIN_FIELDS),
        ("from_cdr3", pa.bool_()),  # the junction is that of the field cdr3_aa, without its conserved ends
        ("productive", pa.bool_()),
        ("is_cell", pa.bool_()),
        ("high_confidence", pa.bool_()),
        ("duplicate_count", pa.int64()),
        ("umi_count", pa.int64()),
        *_strings(*LABELS),
    ]
)

# Receptors of one `clonotype_id` differ in alleles alone.
RECEPTORS = pa.schema(_strings("receptor_id", "clonotype_id", "species", *RECEPTOR_FIELDS, "chain_pairing"))

# Those of a whole run; `n_samples` is that of the clonotype, the labelled table not counted.
COLLECTED_RECEPTORS = RECEPTORS.append(pa.field("n_samples", pa.int32()))

# Followed by one string column for each metadata column of the samplesheet.
CELLS = pa.schema(
    [
        *_strings("sample_id", "cell_id", "receptor_id", "clonotype_id", "species", "chain_pairing"),
        ("input_rows", pa.int64()),
        ("duplicate_count", pa.int64()),
        ("umi_count", pa.int64()),
        *_strings(*LABELS),
        *_strings("uncertain_calls", "built_junctions", *(raw(name) for name in RECEPTOR_FIELDS)),
    ]
)

REJECTS = pa.schema(
    [
        ("sample_id", pa.string()),
        ("row", pa.int64()),
        *_strings("cell_id", "field", "value", "reason"),
        ("row_kept", pa.bool_()),
    ]
)


def embeddings(n_dimensions: int) -> pa.Schema:
    """Schema of ``embeddings``: ``receptor_id`` and ``dim_01``, ``dim_02``, …"""
    return pa.schema(
        [
            ("receptor_id", pa.string()),
            *((name, pa.float32()) for name in dimensions(n_dimensions)),
        ]
    )


def dimensions(n_dimensions: int) -> list[str]:
    """Names of a vector's columns."""
    return [f"dim_{number:02d}" for number in range(1, n_dimensions + 1)]


# The mean over epitopes stands among them under this name.
MEAN = "mean"
METRICS = ("auroc", "auroc_01", "average_precision")

# How something was measured: `chains` paired, alpha or beta; `test_set` which receptors are tested;
# `excluded` the text of references left out, or none.
SETTING = ("encoder", "rule", "chains", "test_set", "excluded")
# The test set of `unseen` without the receptors that fine-tuning has seen.
NOT_TRAINED = "not_trained"

AUROC = pa.schema(
    [
        *_strings(*SETTING, "epitope"),
        ("k", pa.int32()),
        ("split", pa.int32()),
        *((name, pa.float64()) for name in METRICS),
        ("n_positive", pa.int32()),
        ("n_negative", pa.int32()),
    ]
)

ROC = pa.schema(
    [
        *_strings(*SETTING, "epitope"),
        ("k", pa.int32()),
        ("fpr", pa.float64()),
        ("tpr_mean", pa.float64()),
        ("tpr_std", pa.float64()),
    ]
)

# A null stands for all.
NOT_EVALUATED = pa.schema(
    [
        *_strings(*SETTING, "epitope"),
        ("k", pa.int32()),
        ("n_receptors", pa.int32()),
        ("reason", pa.string()),
    ]
)

AUROC_SUMMARY = pa.schema(
    [
        *_strings(*SETTING, "epitope"),
        ("k", pa.int32()),
        ("n_splits", pa.int32()),
        *((f"{name}_{part}", pa.float64()) for name in METRICS for part in ("mean", "std", "se")),
    ]
)

# Of two encoders on the same splits, AUROC of `encoder` minus that of `other`; without `other` the
# mean over all encoders.
COMPARISONS = pa.schema(
    [
        *_strings("encoder", "other", *SETTING[1:], "epitope"),
        ("k", pa.int32()),
        ("n_splits", pa.int32()),
        *((f"difference_{part}", pa.float64()) for part in ("mean", "std", "se")),
        ("n_epitopes", pa.int32()),
        ("n_better", pa.int32()),
        *((name, pa.float64()) for name in ("sign_p", "wilcoxon_p", "wilcoxon_p_holm")),
    ]
)

# Probability that recombination makes a chain; null where OLGA does not know its V or J gene.
GENERATION = pa.schema(
    [
        ("receptor_id", pa.string()),
        *((f"{locus.lower()}_generation_probability", pa.float64()) for locus in LOCI),
    ]
)

# What of an analysis could not be done; `encoder` is null where it is the analysis itself.
NOT_DONE = pa.schema(_strings("analysis", "encoder", "reason"))

# Of each receptor and epitope its part: train, validation or test.
SPLIT = pa.schema(_strings("receptor_id", "epitope", "reference_id", "part"))

# One row a receptor and epitope that a model has been trained on; `part`: train, validation.
TRAINING_LABELS = pa.schema([*RECEPTORS, *_strings("epitope", "part")])

# One row a cell. `call`: called, no call, no vector, not calibrated; `epitope` and what is known of it only
# if called; `exact_epitope`: of references of the same clonotype, called or not. `best_epitope` is the one
# that `score`, `probability` and `fdr` are of.
ANNOTATION = pa.schema(
    [
        *_strings("sample_id", "cell_id", "receptor_id", "species", "chains", "call"),
        *_strings("epitope", "antigen_species", "mhc_a", "exact_epitope", "best_epitope"),
        ("score", pa.float64()),
        ("probability", pa.float64()),
        ("fdr", pa.float64()),
        *(
            (f"nearest_{place}_{name}", pa.float32() if name == "distance" else pa.string())
            for place in (1, 2, 3)
            for name in ("id", "distance", "epitope", "study")
        ),
    ]
)
ANNOTATION_CALLS = slice(ANNOTATION.get_field_index("call"), None)

# What the reference of annotation is made of, one row a label that a study gives a receptor; the ids of
# classes of chains are those that `nearest_1_id` and so on name, null where the class does not know it.
ANNOTATION_REFERENCE = pa.schema(
    [
        *_strings("receptor_id", "clonotype_id", "species", *RECEPTOR_FIELDS),
        *_strings(*(name for name in LABELS if name != "split")),
        ("n_cells", pa.int64()),
        *_strings("paired_id", "alpha_id", "beta_id"),
    ]
)

# Reliability of probabilities: receptors whose probability lies in a bin, each group with its weight.
CALIBRATION = pa.schema(
    [
        *_strings("species", "chains"),
        *((name, pa.float64()) for name in ("prevalence", "probability", "observed", "share")),
        ("n_labelled", pa.int64()),
        ("n_background", pa.int64()),
    ]
)

# Of labelled receptors mixed with background, by threshold of the score.
PRECISION_RECALL = pa.schema(
    [
        *_strings("species", "chains"),
        *((name, pa.float64()) for name in ("prevalence", "score", "precision", "recall")),
    ]
)

# What cross-validation says of each epitope of the reference; `reason` why it is not called.
ANNOTATION_EPITOPES = pa.schema(
    [
        *_strings("species", "chains", "epitope", "antigen_species", "mhc_a"),
        ("n_references", pa.int64()),
        ("n_excluded", pa.int64()),
        ("n_studies", pa.int64()),
        ("n_tested", pa.int64()),
        ("recall", pa.float64()),
        ("wrong", pa.float64()),
        ("reason", pa.string()),
    ]
)

# Neighbours within the radius, found and expected by chance; `cluster_id` is null of a receptor that has
# no cluster, all but `receptor_id` of one that was not compared.
CLUSTER_MEMBERS = pa.schema(
    [
        *_strings("receptor_id", "species", "chains", "cluster_id"),
        ("n_neighbours", pa.int32()),
        ("n_expected", pa.float64()),
    ]
)

# Genes are those of most members, alleles taken together; `epitope` that of most labelled members.
CLUSTERS = pa.schema(
    [
        *_strings("cluster_id", "species", "chains"),
        *((name, pa.int64()) for name in ("n_receptors", "n_cells", "n_samples")),
        ("centre_id", pa.string()),
        ("centre_neighbours", pa.int64()),
        ("centre_expected", pa.float64()),
        *(
            (f"{locus.lower()}_{name}", pa.float64() if name.endswith("share") else pa.string())
            for locus in LOCI
            for name in ("consensus", "v_call", "v_share", "j_call", "j_share")
        ),
        *((f"{locus.lower()}_generation_probability", pa.float64()) for locus in LOCI),
        ("n_labelled", pa.int64()),
        ("epitope", pa.string()),
        ("n_epitopes", pa.int64()),
        ("purity", pa.float64()),
    ]
)

# Aligned junctions of a cluster; `residue` may be a gap, `-`.
CLUSTER_MOTIFS = pa.schema(
    [
        *_strings("cluster_id", "locus"),
        ("position", pa.int32()),
        ("residue", pa.string()),
        ("frequency", pa.float64()),
    ]
)

# Samples whose metadata column `condition` says `value_1` or `value_2`; shares are means over samples.
CLUSTER_CONDITIONS = pa.schema(
    [
        *_strings("cluster_id", "species", "chains", "condition", "value_1", "value_2"),
        *((f"{name}_{side}", pa.int64()) for name in ("n_samples", "n_carrying") for side in (1, 2)),
        *((name, pa.float64()) for name in ("share_1", "share_2", "odds_ratio")),
        *((f"{test}_{part}", pa.float64()) for test in ("fisher", "rank") for part in ("p", "fdr")),
    ]
)

# Places of receptors with a vector, on axes without a unit.
MAP = pa.schema([("receptor_id", pa.string()), ("map_1", pa.float32()), ("map_2", pa.float32())])

# Hill numbers of order 0, 1 and 2 of all cells, and those expected of `depth` cells.
DIVERSITY = pa.schema(
    [
        *_strings("sample_id", "species", "chains"),
        *((name, pa.int64()) for name in ("n_cells", "n_receptors", "depth")),
        *((f"hill_{order}", pa.float64()) for order in (0, 1, 2)),
        *((f"hill_{order}_rarefied", pa.float64()) for order in (0, 1, 2)),
        *((name, pa.float64()) for name in ("coincidence", "coverage")),
    ]
)

SAMPLE_PAIRS = pa.schema(
    [
        *_strings("species", "chains", "sample_1", "sample_2"),
        ("n_shared", pa.int64()),
        *((name, pa.float64()) for name in ("jaccard", "morisita_horn")),
        *((name, pa.float64()) for name in ("radius", "near_1_in_2", "near_2_in_1")),
        *((f"n_compared_{side}", pa.int64()) for side in (1, 2)),
        *((name, pa.float64()) for name in ("frechet", "frechet_by_chance", "mmd", "mmd_p", "mmd_fdr")),
    ]
)

SAMPLES_PCA = pa.schema(
    [
        *_strings("sample_id", "species", "chains"),
        ("n_receptors", pa.int64()),
        *((f"pc_{number}{part}", pa.float64()) for part in ("", "_explained") for number in (1, 2, 3)),
    ]
)

# `measure`: mmd, or a rarefied Hill number, whose `difference` is that of the means of its log.
SAMPLE_CONDITIONS = pa.schema(
    [
        *_strings("species", "chains", "condition", "value_1", "value_2", "measure"),
        *((name, pa.int64()) for name in ("n_samples_1", "n_samples_2")),
        ("difference", pa.float64()),
        ("n_divisions", pa.int64()),
        *((name, pa.float64()) for name in ("p", "fdr")),
    ]
)

# `test_set`: all test receptors, or those less similar to any of training; `epitope`: also `mean`.
SPECIFICITY = pa.schema(
    [
        *_strings("encoder", "rule", "test_set", "epitope"),
        ("auroc", pa.float64()),
        ("n_positive", pa.int32()),
        ("n_negative", pa.int32()),
    ]
)

# `part`: train or validation; terms that the objective lacks are null.
TRAINING = pa.schema(
    [
        ("step", pa.int64()),
        ("part", pa.string()),
        ("seconds", pa.float64()),
        *(
            (name, pa.float64())
            for name in (
                "loss",
                "contrastive_loss",
                "mlm_loss",
                "alignment",
                "uniformity",
                "learning_rate",
            )
        ),
    ]
)
