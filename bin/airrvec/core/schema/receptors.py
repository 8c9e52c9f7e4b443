"""Schemas of the tables of receptors, cells, rejects and embeddings."""

import pyarrow as pa

from airrvec.core.schema.words import CHAIN_FIELDS, LABELS, LOCI, RECEPTOR_FIELDS, raw, strings

# Output of a reader: one row per chain. Chains with the same `cell_key` form a cell; without a key, chains
# of the same row form a clonotype. Chains of a cell that are equal in all fields, `chain_key` included,
# count once.
CHAIN_RECORDS = pa.schema(
    [
        ("row", pa.int64()),
        *strings("cell_key", "chain_key", "cell_id", "species", "locus", *CHAIN_FIELDS),
        ("from_cdr3", pa.bool_()),  # `junction_aa` is the input's cdr3_aa, without the conserved ends
        ("productive", pa.bool_()),
        ("is_cell", pa.bool_()),
        ("high_confidence", pa.bool_()),
        ("duplicate_count", pa.int64()),
        ("umi_count", pa.int64()),
        *strings(*LABELS),
    ]
)

# Receptors with the same `clonotype_id` differ only in alleles. `innate_like`: MAIT or iNKT, by
# `airrvec.core.innate`; null for all others.
RECEPTORS = pa.schema(
    strings("receptor_id", "clonotype_id", "species", *RECEPTOR_FIELDS, "chain_pairing", "innate_like")
)

# Receptors of the whole run; `n_samples`: samples with the clonotype, the labelled table not counted.
COLLECTED_RECEPTORS = RECEPTORS.append(pa.field("n_samples", pa.int32()))

# Followed by one string column per metadata column of the samplesheet.
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
    """Return the schema of ``embeddings``: ``receptor_id`` and ``dim_01``, ``dim_02``, …"""
    return pa.schema(
        [
            ("receptor_id", pa.string()),
            *((name, pa.float32()) for name in dimensions(n_dimensions)),
        ]
    )


def dimensions(n_dimensions: int) -> list[str]:
    """Return the names of a vector's columns."""
    return [f"dim_{number:02d}" for number in range(1, n_dimensions + 1)]


# Generation probability of each chain; null if OLGA lacks its V or J gene.
GENERATION = pa.schema(
    [
        ("receptor_id", pa.string()),
        *((f"{locus.lower()}_generation_probability", pa.float64()) for locus in LOCI),
    ]
)
