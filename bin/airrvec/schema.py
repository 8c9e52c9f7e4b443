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
# one row are one clonotype.
CHAINS = pa.schema(
    [
        ("row", pa.int64()),
        *_strings("cell_key", "cell_id", "species", "locus", *CHAIN_FIELDS),
        ("productive", pa.bool_()),
        ("is_cell", pa.bool_()),
        ("high_confidence", pa.bool_()),
        ("duplicate_count", pa.int64()),
        ("umi_count", pa.int64()),
        *_strings(*LABELS),
    ]
)

RECEPTORS = pa.schema(_strings("receptor_id", "species", *RECEPTOR_FIELDS, "chain_pairing"))

# Those of a whole run; `n_samples` does not count the labelled table.
COLLECTED_RECEPTORS = RECEPTORS.append(pa.field("n_samples", pa.int32()))

# Followed by one string column for each metadata column of the samplesheet.
CELLS = pa.schema(
    [
        *_strings("sample_id", "cell_id", "receptor_id", "chain_pairing"),
        ("input_rows", pa.int64()),
        ("duplicate_count", pa.int64()),
        ("umi_count", pa.int64()),
        *_strings(*LABELS),
        *_strings("uncertain_calls", *(raw(name) for name in RECEPTOR_FIELDS)),
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


AUROC = pa.schema(
    [
        *_strings("encoder", "rule", "epitope"),
        ("k", pa.int32()),
        ("split", pa.int32()),
        ("auroc", pa.float64()),
        ("n_positive", pa.int32()),
        ("n_negative", pa.int32()),
    ]
)

ROC = pa.schema(
    [
        *_strings("encoder", "rule", "epitope"),
        ("k", pa.int32()),
        ("fpr", pa.float64()),
        ("tpr_mean", pa.float64()),
        ("tpr_std", pa.float64()),
    ]
)

NOT_EVALUATED = pa.schema(
    [
        ("epitope", pa.string()),
        ("k", pa.int32()),
        ("n_receptors", pa.int32()),
        ("reason", pa.string()),
    ]
)

AUROC_SUMMARY = pa.schema(
    [
        *_strings("encoder", "rule", "epitope"),
        ("k", pa.int32()),
        ("n_splits", pa.int32()),
        ("auroc_mean", pa.float64()),
        ("auroc_std", pa.float64()),
        ("auroc_se", pa.float64()),
    ]
)

# Of each receptor and epitope its part: train, validation or test.
SPLIT = pa.schema(_strings("receptor_id", "epitope", "reference_id", "part"))

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
