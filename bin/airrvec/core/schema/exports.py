"""Schema of what cells carry to other tools, beside their own columns and those of their receptors."""

from airrvec.core.schema.words import strings

import pyarrow as pa

# Abundance of the clonotype in the sample, in the `count_unit` of its cells.
CLONE_SIZE = pa.schema([("clone_size", pa.int64())])

# Of annotation; the epitope, its details, probability and FDR only if called.
CELL_CALLS = pa.schema(
    [
        *strings("call", "call_epitope", "call_antigen_species", "call_mhc_a"),
        ("call_probability", pa.float64()),
        ("call_fdr", pa.float64()),
        *strings("exact_epitope"),
    ]
)

# Of clustering; `cluster_size`: receptors of the run in the cluster.
CELL_CLUSTERS = pa.schema([("cluster_id", pa.string()), ("cluster_size", pa.int64())])

# One row per cell, in the order of the cells. `barcode` is unique within the sample, `name` begins with the
# sample and is unique among all cells of the table. Columns of parts that a run lacks are absent.
CELL_DESCRIPTION = pa.schema([*strings("name", "barcode"), *CLONE_SIZE, *CELL_CALLS, *CELL_CLUSTERS])
