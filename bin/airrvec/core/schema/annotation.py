"""Schemas of the annotation tables."""

from airrvec.core.schema.words import RECEPTOR_FIELDS, REFERENCE_LABELS, readable, strings

import pyarrow as pa

# Description of an epitope, as its references give it most often.
ANTIGEN = ("epitope", "antigen_gene", "antigen_species", "mhc_a", "mhc_b")

# Parts of `nearest_1_…`; `receptor` is a name as made by `airrvec.core.names`, `mhc` both of its chains.
NEAREST = ("receptor", "epitope", "antigen_gene", "antigen_species", "mhc", "study", "distance", "id")

# By how much each kind of evidence raises the score of `best_epitope`; null if the receptor is not looked at
# again, or its chain class has no such evidence.
EVIDENCE = tuple(f"evidence_{name}" for name in ("sceptr", "tcrdist", "alpha", "beta", "genes"))

# What an annotator gives a receptor. `call`: called, no call, no vector, not calibrated, innate-like.
# `not_calibrated`: why its class is not calibrated; then it has no `probability` and no `fdr`. `epitope` and
# its details: only if called. `exact_epitope`: epitopes of references of the same clonotype, called or not.
# `score`, `probability` and `fdr` refer to `best_epitope`. `excluded_epitope`: the epitope that would be
# called if the donor's HLA did not exclude it.
_CALLS = [
    *strings("call", "not_calibrated", *ANTIGEN),
    ("probability", pa.float64()),
    ("fdr", pa.float64()),
    *(
        (f"nearest_{place}_{name}", pa.float32() if name == "distance" else pa.string())
        for place in (1, 2, 3)
        for name in NEAREST
    ),
    *strings("exact_epitope", "excluded_epitope", "best_epitope"),
    ("score", pa.float64()),
    *((name, pa.float64()) for name in EVIDENCE),
]
ANNOTATION_CALLS = tuple(name for name, _ in _CALLS)

# One row per cell, with its `abundance` in `count_unit`.
ANNOTATION = readable(
    [
        *strings("sample_id", *RECEPTOR_FIELDS, "innate_like"),
        *_CALLS,
        ("abundance", pa.int64()),
        *strings("count_unit", "species", "chains", "cell_id", "receptor_id"),
    ]
)

# Reference set of the annotation: one row per label that a study gives a receptor. `nearest_1_id` etc. refer
# to `paired_id`, `alpha_id` or `beta_id`, by chain class; null if the class does not contain the receptor.
ANNOTATION_REFERENCE = readable(
    [
        *strings(*RECEPTOR_FIELDS, "species"),
        *strings(*REFERENCE_LABELS),
        ("n_cells", pa.int64()),
        *strings("receptor_id", "clonotype_id", "paired_id", "alpha_id", "beta_id"),
    ]
)

# Reference merged from one or more tables: one row per receptor and epitope. Joined by `;`: `mhc` (both
# chains of each MHC), `sources` (tables), `studies`, `methods`. The most frequent value: `antigen_…`,
# `mhc_class`, `mhc_a`, `mhc_b`. `confidence`: VDJdb's score. `epitope_group`: from `airrvec.core.epitopes`.
_MERGED = [
    *strings(*RECEPTOR_FIELDS, "species", *ANTIGEN[:3], "mhc_class", "mhc_a", "mhc_b", "mhc"),
    *strings("sources", "studies"),
    ("n_studies", pa.int64()),
    *strings("methods"),
    ("confidence", pa.int64()),
    ("epitope_group", pa.int64()),
    *strings("receptor_id", "clonotype_id"),
]
MERGED_REFERENCE = readable(_MERGED)

# Rows of the merged reference whose clonotype has epitopes of `n_groups` > 1 groups.
REFERENCE_CONFLICTS = readable([*_MERGED, ("n_groups", pa.int64())])

# Tables of the merged reference: `rows` is the sum of the four `rows_…`, and `pairs` = `new_pairs` +
# `shared_pairs`. `labels_without_molecule`: labels with an MHC that no donor's HLA can be compared with.
REFERENCE_SOURCES = pa.schema(
    [
        *strings("source", "format"),
        ("rows", pa.int64()),
        *((f"rows_{part}", pa.int64()) for part in ("rejected", "unlabelled", "equal_junctions", "merged")),
        *((name, pa.int64()) for name in ("receptors", "epitopes", "studies")),
        *((name, pa.int64()) for name in ("pairs", "new_pairs", "shared_pairs", "labels_without_molecule")),
    ]
)

# Reliability of probabilities: one row per bin of probabilities; `share` is its weight in the mixture of
# labelled and background receptors.
CALIBRATION = pa.schema(
    [
        *strings("species", "chains"),
        *((name, pa.float64()) for name in ("prevalence", "probability", "observed", "share")),
        ("n_labelled", pa.int64()),
        ("n_background", pa.int64()),
    ]
)

# Precision and recall for labelled receptors mixed with background, by score threshold.
PRECISION_RECALL = pa.schema(
    [
        *strings("species", "chains"),
        *((name, pa.float64()) for name in ("prevalence", "score", "precision", "recall")),
    ]
)

# Cross-validation results of each epitope of the reference; `reason`: why the epitope is not called.
ANNOTATION_EPITOPES = pa.schema(
    [
        *strings("species", "chains", *ANTIGEN),
        ("n_references", pa.int64()),
        ("n_excluded", pa.int64()),
        ("n_studies", pa.int64()),
        ("n_tested", pa.int64()),
        ("recall", pa.float64()),
        ("wrong", pa.float64()),
        ("reason", pa.string()),
    ]
)
