"""Schemas of the index of runs, and of the results of a search in it."""

from airrvec.core.schema.annotation import ANTIGEN
from airrvec.core.schema.published import boolean, float32, float64, int32, int64, published, string
from airrvec.core.schema.shared import RECEPTOR_COLUMNS, RECEPTOR_ID, SPECIES_COLUMN
from airrvec.core.schema.words import RECEPTOR_FIELDS, strings

import pyarrow as pa

# What an index holds of a receptor, in the order of the run.
INDEXED_RECEPTORS = pa.schema(strings("receptor_id", "clonotype_id", "species", *RECEPTOR_FIELDS))

# Its samples and labels, a row per receptor, sample and label; `receptor_row`: its row in the run, from 0.
INDEXED_CELLS = pa.schema(
    [
        ("receptor_row", pa.int64()),
        *strings("sample_id", *ANTIGEN, "call_epitope", "call_antigen_species"),
        ("n_cells", pa.int64()),
    ]
)

_QUERY = string("query", "`cell_id` of the query, `row 7` without one, or its words")
_QUERY_ROW = int64("query_row", "First row of the query in its table, from 1")
_NO_LABEL = "no label"

HITS = published(
    "found",
    "<out>",
    "One row per query and neighbour, by query, then by rank. Several values in one cell are separated by `;"
    " `.",
    *(_QUERY, _QUERY_ROW),
    string("query_receptor", "The query by name"),
    string("chains", "The chains that were compared: `paired`, `alpha` or `beta`"),
    int32("rank", "1 is the nearest"),
    float32("distance", "Euclidean distance of the vectors of these chains, 0 to 2"),
    float64(
        "n_expected",
        "Receptors as near as this expected by chance among those searched"
        " ([definition](guides/find.md#by-chance))",
    ),
    int64("n_background", "Background receptors as near as this, of which `n_expected` is made"),
    string("receptor", "The neighbour by name"),
    *(*RECEPTOR_COLUMNS, SPECIES_COLUMN),
    string("samples", "`sample_id` of the samples of the neighbour"),
    int64(
        "n_cells",
        "Cells with it in these samples; a row with UMIs, reads or copies is one",
    ),
    string(
        "metadata",
        "Metadata of these samples, `treatment=before; age=31`; values of several samples are separated by a"
        " vertical bar",
        null="none",
    ),
    string("epitope", "Epitopes of the labels of the neighbour's cells", null=_NO_LABEL),
    string("antigen_gene", "Genes or proteins of the labels", null=_NO_LABEL),
    string("antigen_species", "Organisms of the labels", null=_NO_LABEL),
    string("mhc_a", "MHC of the labels, α chain", null=_NO_LABEL),
    string("mhc_b", "MHC of the labels, β chain", null=_NO_LABEL),
    string("call_epitope", "Epitope called by annotation", null="not called"),
    string("call_antigen_species", "Organism of the called epitope", null="not called"),
    string("run", "Folder of the results of the run"),
    RECEPTOR_ID,
)

UNANSWERED = published(
    "not_found",
    "<out>.rejects",
    "Queries, and chains of queries, without an answer.",
    *(_QUERY, _QUERY_ROW),
    string("field", "The field that could not be read, by its AIRR name", null="the whole query"),
    string("value", "Value of the field", null="the whole query"),
    string("reason", "Why there is no answer"),
    boolean("answered", "Whether the row has an answer nevertheless: by another chain"),
)

NEIGHBOURS = published(
    "neighbours",
    "<neighbours>",
    "One row per query and reference, by query in the order of the tables, then by rank. Queries without a"
    " vector have none.",
    string("query_sample", "`sample_id` of the query"),
    string("query_cell", "`cell_id` of the query", null="it has none"),
    int32("rank", "1 is the nearest"),
    float32("distance", "Euclidean distance of the vectors, 0 to 2"),
    string("reference_sample", "`sample_id` of the reference"),
    string("reference_cell", "`cell_id` of the reference", null="it has none"),
    string("epitope", "Epitope of the label of the reference", null=_NO_LABEL),
    string("query_receptor", "`receptor_id` of the query"),
    string("reference_receptor", "`receptor_id` of the reference"),
)
