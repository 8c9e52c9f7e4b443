"""Tables of receptors, cells, rejects and embeddings."""

import pyarrow as pa

from airrvec.core.schema.words import CHAIN_FIELDS, LABELS, LOCI, RECEPTOR_FIELDS, raw, strings

# What a reader yields: one row a chain. Chains of one `cell_key` are one cell; without a key, those of
# one row are one clonotype. Chains of a cell that are equal in all fields, `chain_key` included, are one.
CHAIN_RECORDS = pa.schema(
    [
        ("row", pa.int64()),
        *strings("cell_key", "chain_key", "cell_id", "species", "locus", *CHAIN_FIELDS),
        ("from_cdr3", pa.bool_()),  # the junction is that of the field cdr3_aa, without its conserved ends
        ("productive", pa.bool_()),
        ("is_cell", pa.bool_()),
        ("high_confidence", pa.bool_()),
        ("duplicate_count", pa.int64()),
        ("umi_count", pa.int64()),
        *strings(*LABELS),
    ]
)

# Receptors of one `clonotype_id` differ in alleles alone.
RECEPTORS = pa.schema(strings("receptor_id", "clonotype_id", "species", *RECEPTOR_FIELDS, "chain_pairing"))

# Those of a whole run; `n_samples` is that of the clonotype, the labelled table not counted.
COLLECTED_RECEPTORS = RECEPTORS.append(pa.field("n_samples", pa.int32()))

# Followed by one string column for each metadata column of the samplesheet.
CELLS = pa.schema(
    [
        *strings("sample_id", "cell_id", "receptor_id", "clonotype_id", "species", "chain_pairing"),
        ("input_rows", pa.int64()),
        ("duplicate_count", pa.int64()),
        ("umi_count", pa.int64()),
        *strings(*LABELS),
        *strings("uncertain_calls", "built_junctions", *(raw(name) for name in RECEPTOR_FIELDS)),
    ]
)

REJECTS = pa.schema(
    [
        ("sample_id", pa.string()),
        ("row", pa.int64()),
        *strings("cell_id", "field", "value", "reason"),
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


# Probability that recombination makes a chain; null where OLGA does not know its V or J gene.
GENERATION = pa.schema(
    [
        ("receptor_id", pa.string()),
        *((f"{locus.lower()}_generation_probability", pa.float64()) for locus in LOCI),
    ]
)
