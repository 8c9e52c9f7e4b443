"""
Schemas of the tables that describe each sample: clones, genes, lengths, diversity.

``n_cells`` is an abundance: it counts what ``count_unit`` names, which is the same in all rows of a sample.
"""

from airrvec.core.schema.words import RECEPTOR_FIELDS, strings

import pyarrow as pa

_SHARES = [
    ("count_unit", pa.string()),
    *((name, pa.int64()) for name in ("n_cells", "n_receptors")),
    *((name, pa.float64()) for name in ("cell_share", "receptor_share")),
]

# Largest clones of each sample. `epitope`: labels of the clonotype in the run's tables.
CLONES = pa.schema(
    [
        ("sample_id", pa.string()),
        ("rank", pa.int64()),
        ("n_cells", pa.int64()),
        ("count_unit", pa.string()),
        ("share", pa.float64()),
        ("clone_size", pa.string()),
        *strings("species", "chains", *RECEPTOR_FIELDS, "innate_like", "epitope", "clonotype_id"),
    ]
)

# Classes of clones by their share of the sample's cells, in scRepertoire's terms, with the upper limits.
CLONE_SIZES_LIMITS = {"Rare": 1e-4, "Small": 1e-3, "Medium": 1e-2, "Large": 1e-1, "Hyperexpanded": 1.0}

CLONE_SIZES = pa.schema(
    [
        *strings("sample_id", "clone_size"),
        *((name, pa.float64()) for name in ("above", "up_to")),
        *((name, pa.int64()) for name in ("n_clones", "n_singletons", "n_cells")),
        ("count_unit", pa.string()),
        ("share", pa.float64()),
    ]
)

GENE_USAGE = pa.schema([*strings("sample_id", "species", "locus", "segment", "gene"), *_SHARES])

# `length`: residues of the CDR3, without the conserved C and F or W of the junction.
CDR3_LENGTHS = pa.schema([*strings("sample_id", "species", "locus"), ("length", pa.int64()), *_SHARES])

VJ_PAIRING = pa.schema([*strings("sample_id", "species", "locus", "v_gene", "j_gene"), *_SHARES])

# How a sample was brought to the coverage at which samples are compared.
RAREFIED, OBSERVED, EXTRAPOLATED = "rarefied", "observed", "extrapolated"
TOO_LOW, NO_REPEATS = "coverage too low", "no receptor twice"

# Hill numbers of order 0, 1 and 2 of all cells, and of the `depth` cells that have the reference coverage,
# which is one for the samples with the same unit.
DIVERSITY = pa.schema(
    [
        *strings("sample_id", "species", "chains", "count_unit"),
        *((name, pa.int64()) for name in ("n_cells", "n_receptors", "n_singletons")),
        ("coverage", pa.float64()),
        *((f"hill_{order}", pa.float64()) for order in (0, 1, 2)),
        ("coincidence", pa.float64()),
        ("reference_coverage", pa.float64()),
        ("method", pa.string()),
        ("depth", pa.int64()),
        *((f"hill_{order}_at_coverage", pa.float64()) for order in (0, 1, 2)),
    ]
)

RAREFACTION = pa.schema(
    [
        *strings("sample_id", "species", "chains", "count_unit"),
        ("n_drawn", pa.int64()),
        ("method", pa.string()),
        ("coverage", pa.float64()),
        *((f"hill_{order}", pa.float64()) for order in (0, 1, 2)),
    ]
)
