"""Tables of annotation."""

import pyarrow as pa

from airrvec.core.schema.words import LABELS, RECEPTOR_FIELDS, strings

# One row a cell. `call`: called, no call, no vector, not calibrated; `epitope` and what is known of it only
# if called; `exact_epitope`: of references of the same clonotype, called or not. `best_epitope` is the one
# that `score`, `probability` and `fdr` are of.
ANNOTATION = pa.schema(
    [
        *strings("sample_id", "cell_id", "receptor_id", "species", "chains", "call"),
        *strings("epitope", "antigen_species", "mhc_a", "exact_epitope", "best_epitope"),
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
        *strings("receptor_id", "clonotype_id", "species", *RECEPTOR_FIELDS),
        *strings(*(name for name in LABELS if name != "split")),
        ("n_cells", pa.int64()),
        *strings("paired_id", "alpha_id", "beta_id"),
    ]
)

# Reliability of probabilities: receptors whose probability lies in a bin, each group with its weight.
CALIBRATION = pa.schema(
    [
        *strings("species", "chains"),
        *((name, pa.float64()) for name in ("prevalence", "probability", "observed", "share")),
        ("n_labelled", pa.int64()),
        ("n_background", pa.int64()),
    ]
)

# Of labelled receptors mixed with background, by threshold of the score.
PRECISION_RECALL = pa.schema(
    [
        *strings("species", "chains"),
        *((name, pa.float64()) for name in ("prevalence", "score", "precision", "recall")),
    ]
)

# What cross-validation says of each epitope of the reference; `reason` why it is not called.
ANNOTATION_EPITOPES = pa.schema(
    [
        *strings("species", "chains", "epitope", "antigen_species", "mhc_a"),
        ("n_references", pa.int64()),
        ("n_excluded", pa.int64()),
        ("n_studies", pa.int64()),
        ("n_tested", pa.int64()),
        ("recall", pa.float64()),
        ("wrong", pa.float64()),
        ("reason", pa.string()),
    ]
)
