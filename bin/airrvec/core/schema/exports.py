"""Schemas of exports to other tools: columns of cells, and the AIRR table."""

from airrvec.core.schema.clones import CLONE_ID
from airrvec.core.schema.published import int64, published, string
from airrvec.core.schema.receptors import CHAIN_COLUMNS, CHAIN_COUNTS, KEPT_COLUMNS
from airrvec.core.schema.repertoire import CLUSTER_ID
from airrvec.core.schema.shared import (
    CALL_COLUMNS,
    CLONOTYPE_ID,
    LABEL_COLUMNS,
    LOCUS,
    RECEPTOR_ID,
    SPECIES_COLUMN,
)

import pyarrow as pa

_SIZE = int64(
    "clone_size",
    "Cells of the clone in the sample: the sum of their `abundance`",
    null="the cell has no count",
    unit="`count_unit`",
)
_CLONE = (CLONE_ID.but(null="the cell has no count; the labelled table"), _SIZE)
_CLUSTERS = (
    CLUSTER_ID.but(meaning="Cluster of the receptor, with `--cluster`", null="in no cluster"),
    int64("cluster_size", "Receptors of the run in this cluster", null="in no cluster"),
)

# One row per cell, in the order of the cells; columns of parts that a run lacks are absent.
CELL_DESCRIPTION = published(
    "cell_description",
    "anndata/<sample>.h5ad",
    "Further columns of `obs` in [anndata](output.md#anndata) and of `colData` in [r](output.md#r); `name`"
    " and `barcode` become the names of the cells. Columns of a part that the run did not make are absent.",
    string("name", "Name of the cell, unique among all cells: it begins with the sample"),
    string("barcode", "Name of the cell, unique within the sample"),
    *(*_CLONE, *CALL_COLUMNS, *_CLUSTERS),
)
CELL_CLONES, CELL_CALLS, CELL_CLUSTERS = (
    pa.schema([(column.name, column.type) for column in columns])
    for columns in (_CLONE, CALL_COLUMNS, _CLUSTERS)
)

_KEPT = {column.name: column for column in KEPT_COLUMNS}
_REQUIRED = "Required by the AIRR standard; as in `chains`"
AIRR = published(
    "airr",
    "airr/<sample>.tsv",
    "One row per row of `chains`, in the same order.",
    string("sequence_id", "Unique: the name of the cell (as in `cell_id`), `_` and the locus"),
    _KEPT["sequence"],
    _KEPT["rev_comp"].but(meaning="Whether the sequence is the reverse complement: `T` or `F`"),
    string("productive", "`T`"),
    CHAIN_COLUMNS[0],
    _KEPT["d_call"],
    CHAIN_COLUMNS[1],
    *(_KEPT[name] for name in ("sequence_alignment", "germline_alignment", "junction")),
    CHAIN_COLUMNS[2],
    *(_KEPT[name] for name in ("v_cigar", "d_cigar", "j_cigar")),
    LOCUS,
    string(
        "cell_id",
        "The same for the chains of one cell, and for no others (below)",
        null="one chain, and no `cell_id` in `cells`",
    ),
    *CHAIN_COUNTS,
    *(_KEPT["c_call"], _KEPT["clone_id"], SPECIES_COLUMN, RECEPTOR_ID, CLONOTYPE_ID),
    *LABEL_COLUMNS,
)
