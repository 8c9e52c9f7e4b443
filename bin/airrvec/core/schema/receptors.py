"""Schemas of the tables of receptors, cells, rejects and embeddings."""

from airrvec.core.schema.words import CHAIN_FIELDS, KEPT_FIELDS, LABELS, LOCI, RECEPTOR_FIELDS, raw, strings

import pyarrow as pa

# Output of a reader: one row per chain. Chains with the same `cell_key` form a cell; without a key, chains
# of the same row form a clonotype. Chains of a cell that are equal in all fields, `chain_key` included,
# count once, whatever the fields from `consensus_count` on.
CHAIN_RECORDS = pa.schema(
    [
        ("row", pa.int64()),
        *strings("cell_key", "chain_key", "cell_id", "species", "locus", *CHAIN_FIELDS),
        ("from_cdr3", pa.bool_()),  # `junction_aa` is the input's cdr3_aa, without the conserved ends
        ("productive", pa.bool_()),
        ("is_cell", pa.bool_()),
        ("high_confidence", pa.bool_()),
        ("flaw", pa.string()),  # what a flag of quality says against the chain or its cell
        ("duplicate_count", pa.int64()),
        ("umi_count", pa.int64()),
        ("cell_count", pa.int64()),  # cells of a clonotype
        *strings(*LABELS),
        ("consensus_count", pa.int64()),
        *strings(*KEPT_FIELDS),
    ]
)

# Receptors with the same `clonotype_id` differ only in alleles. `innate_like`: MAIT or iNKT, by
# `airrvec.core.innate`; null for all others.
RECEPTORS = pa.schema(
    strings("receptor_id", "clonotype_id", "species", *RECEPTOR_FIELDS, "chain_pairing", "innate_like")
)

# Receptors of the whole run; `n_samples`: samples with the clonotype, the labelled table not counted.
COLLECTED_RECEPTORS = RECEPTORS.append(pa.field("n_samples", pa.int32()))

# `abundance`: how often a row counts, in `count_unit`, which is the same for all rows of a table; null if the
# input gives no count. `orf_calls`: calls of open reading frames, joined by commas, e.g. `tra_j_call`.
# `equal_junctions`: whether α and β junction are the same, because one was copied by mistake. Followed by one
# string column per metadata column of the samplesheet.
CELLS = pa.schema(
    [
        *strings("sample_id", "cell_id", "receptor_id", "clonotype_id", "species", "chain_pairing"),
        ("input_rows", pa.int64()),
        ("abundance", pa.int64()),
        ("count_unit", pa.string()),
        ("duplicate_count", pa.int64()),
        ("umi_count", pa.int64()),
        *strings(*LABELS),
        *strings("uncertain_calls", "orf_calls", "built_junctions"),
        ("equal_junctions", pa.bool_()),
        *strings(*(raw(name) for name in RECEPTOR_FIELDS)),
    ]
)

# One row per chain of a cell, α before β; `cell_row`: row of the cell in `cells`, from 1; `row`: row of the
# input. `functionality`: ORF if the V or J gene is an open reading frame, else F; null without either gene.
# Counts of the chains of a cell add up to those of the cell.
CHAINS = pa.schema(
    [
        *strings("sample_id", "cell_id"),
        ("cell_row", pa.int64()),
        ("row", pa.int64()),
        *strings("receptor_id", "clonotype_id", "species", "locus", *CHAIN_FIELDS),
        *strings(*(raw(name) for name in CHAIN_FIELDS)),
        ("productive", pa.bool_()),
        ("functionality", pa.string()),
        *((name, pa.int64()) for name in ("duplicate_count", "umi_count", "consensus_count")),
        *strings(*KEPT_FIELDS),
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
