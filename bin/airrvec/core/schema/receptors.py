"""Schemas of the tables of receptors, cells, rejects and embeddings."""

from airrvec.core.schema.published import boolean, float32, float64, int32, int64, published, string
from airrvec.core.schema.shared import (
    ABUNDANCE,
    CELL_ID,
    CLONOTYPE_ID,
    COUNT_UNIT,
    INNATE_LIKE,
    LABEL_COLUMNS,
    LOCUS,
    RECEPTOR_COLUMNS,
    RECEPTOR_ID,
    SAMPLE_ID,
    SPECIES_COLUMN,
)
from airrvec.core.schema.words import (
    ALPHA_BETA,
    CHAIN_FIELDS,
    KEPT_FIELDS,
    LABELS,
    RECEPTOR_FIELDS,
    raw,
    strings,
)

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

COLLECTED_RECEPTORS = published(
    "receptors",
    "receptors/receptors.parquet",
    "One row per distinct receptor of all samples, sorted by `clonotype_id`, then `receptor_id`: receptors"
    " that differ only in alleles are adjacent.",
    *(RECEPTOR_ID, CLONOTYPE_ID, SPECIES_COLUMN, *RECEPTOR_COLUMNS),
    string("chain_pairing", "`single pair`, `orphan VJ` (only α) or `orphan VDJ` (only β)"),
    INNATE_LIKE,
    int32("n_samples", "Number of samples with this clonotype. 0 if only the labelled table has it."),
    *(
        string(gene, f"`{call}` without its allele", null="no such chain, or unknown")
        for gene, call in ALPHA_BETA.genes.items()
    ),
)
# Receptors of a part of a run, which are not counted yet.
RECEPTORS = pa.schema(
    column for column in COLLECTED_RECEPTORS if column.name not in ("n_samples", *ALPHA_BETA.genes)
)

SECOND_ALPHA = tuple(
    string(
        f"tra_2_{name}",
        f"{meaning} of the second α chain of the cell, which is no part of its receptor, and which"
        " [clones](explanations/clones.md#dual-receptors) know",
        null="the cell has not two α chains and at most one β chain, or `--multichain` is not `top`",
    )
    for name, meaning in (
        ("v_call", "V gene or allele"),
        ("junction_aa", "Junction"),
        ("junction", "Nucleotides of the junction"),
    )
)
CELLS = published(
    "cells",
    "cells/<sample>.parquet",
    "One row per cell or clonotype of the input with at least one usable chain, in the order of the input.",
    *(SAMPLE_ID, CELL_ID, RECEPTOR_ID, CLONOTYPE_ID, SPECIES_COLUMN),
    string(
        "chain_pairing",
        "[Class of scirpy](explanations/standardisation.md#pairing), before extra chains were left out",
    ),
    int64("input_rows", "Number of input rows with the chains of the cell"),
    *(ABUNDANCE, COUNT_UNIT),
    int64(
        "duplicate_count",
        "Reads or copies: the sum over both chains, or the number of a row with both. Cells of a clonotype,"
        " if nothing else is counted.",
        null="unknown",
    ),
    int64("umi_count", "UMIs, counted in the same way", null="unknown"),
    *LABEL_COLUMNS,
    string(
        "uncertain_calls",
        "Calls of several genes, of which the first functional one was taken"
        " ([genes](explanations/standardisation.md#genes)), joined by commas, e.g. `trb_v_call`",
        null="none",
    ),
    string(
        "orf_calls",
        "Calls of [open reading frames](explanations/standardisation.md#functionality), joined by commas,"
        " e.g. `tra_j_call`",
        null="none",
    ),
    string(
        "built_junctions",
        "Junctions [built from the input's `cdr3_aa`](explanations/standardisation.md#junction), joined by"
        " commas. `…_junction_aa_raw` is then the CDR3.",
        null="none",
    ),
    boolean(
        "equal_junctions",
        "Whether the junction of one chain is [a copy of the"
        " other's](explanations/standardisation.md#equal-junctions)",
    ),
    *(
        string(
            raw(name),
            "The field as written in the input",
            null="the chain or the field is missing",
        )
        for name in RECEPTOR_FIELDS
    ),
    *SECOND_ALPHA,
    further=string(
        "metadata columns",
        "Further columns of the samplesheet. The tables of all samples and of `labelled` have the same"
        " columns, so that `cells/` can be read as one table.",
        null="empty in the samplesheet; `labelled`",
    ),
)

_KEPT = {
    "sequence_id": "Name of the sequence or contig",
    "sequence": "Nucleotides of the sequence",
    "rev_comp": "Whether the sequence is the reverse complement, as written in the input",
    "d_call": "D gene",
    "c_call": "C gene",
    "junction": "Nucleotides of the junction",
    "clone_id": "Clone, by the program that made the input",
    "sequence_alignment": "Aligned sequence",
    "germline_alignment": "Aligned germline",
    "v_cigar": "Alignment of the V gene",
    "d_cigar": "Alignment of the D gene",
    "j_cigar": "Alignment of the J gene",
}
_NO_COUNT = "unknown, or counted with the α chain"
# Chains, as they are in `chains` and in its export.
CHAIN_COUNTS = (
    int64("duplicate_count", "Reads or copies of the chain", null=_NO_COUNT),
    int64("umi_count", "UMIs of the chain", null=_NO_COUNT),
    int64("consensus_count", "`consensus_count` of the input", null=_NO_COUNT),
)
CHAIN_COLUMNS = (
    string("v_call", "V gene or allele, standardised", null="unknown"),
    string("j_call", "J gene or allele, standardised", null="unknown"),
    string("junction_aa", "Junction, standardised"),
)
KEPT_COLUMNS = tuple(string(name, _KEPT[name], null="not given") for name in KEPT_FIELDS)
CHAINS = published(
    "chains",
    "chains/<sample>.parquet",
    "One row per chain of `cells`, in the order of `cells`, α before β.",
    *(SAMPLE_ID, CELL_ID),
    int64(
        "cell_row",
        "Row of the cell in `cells/<sample>.parquet`, from 1. Join by it: a `cell_id` may be missing, or"
        " occur twice.",
    ),
    int64("row", "Data row of the input, from 1. Header and blank lines are not counted."),
    *(RECEPTOR_ID, CLONOTYPE_ID, SPECIES_COLUMN, LOCUS, *CHAIN_COLUMNS),
    *(
        string(raw(name), "The field as written in the input", null="missing in the input")
        for name in CHAIN_FIELDS
    ),
    boolean(
        "productive",
        "As in the input. Chains that the input calls unproductive are left out.",
        null="not given",
    ),
    string(
        "functionality",
        "`ORF` if the V or J gene is an [open reading frame](explanations/standardisation.md#functionality),"
        " else `F`",
        null="both genes are unknown",
    ),
    *CHAIN_COUNTS,
    *KEPT_COLUMNS,
)

REJECTS = published(
    "rejects",
    "rejects/<sample>.parquet",
    "One row per chain that was left out, or per input row without a readable chain, sorted by `row`.",
    SAMPLE_ID,
    int64("row", "Data row of the input, from 1. Header and blank lines are not counted."),
    CELL_ID.but(null="none, or the row is malformed"),
    string("field", "The field with the error, by its AIRR name", null="the error is in the whole row"),
    string("value", "Its value", null="missing, a flag, or the whole row"),
    string("reason", "[Reason](reference/input.md#rejects)"),
    boolean("row_kept", "Whether another chain of the row was kept"),
)

_EMBEDDINGS = published(
    "embeddings",
    "embeddings/<model>.parquet",
    "One row per receptor, in the order of `receptors`.",
    RECEPTOR_ID,
    float32("dim_01", "First dimension of the vector, which has length 1", null="no loop for the model"),
    further=float32("dim_02, dim_03, …", "Further dimensions of the vector", null="no loop for the model"),
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


_NO_MODEL = "OLGA has no model of a gene or of the species"
GENERATION_COLUMNS = tuple(
    float64(
        f"{locus}_generation_probability",
        f"Generation probability of the {greek} chain, by OLGA. 0 if no recombination gives the junction.",
        null=_NO_MODEL,
    )
    for locus, greek in (("tra", "α"), ("trb", "β"))
)
GENERATION = published(
    "generation_probability",
    "analyses/generation_probability.parquet",
    "One row per receptor of the analyses.",
    RECEPTOR_ID,
    *GENERATION_COLUMNS,
)
