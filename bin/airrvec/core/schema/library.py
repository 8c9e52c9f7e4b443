"""Schemas of the index of runs, and of what is found in it."""

from airrvec.core.schema.annotation import ANTIGEN
from airrvec.core.schema.words import RECEPTOR_FIELDS, readable, strings

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

# A neighbour of a query. `n_background`: background receptors as near to the query; `n_expected`: the same
# for as many as were searched. Several values are joined by `; `.
FOUND = readable(
    [
        *strings("query"),
        ("query_row", pa.int64()),
        *strings("query_receptor", "chains"),
        ("rank", pa.int32()),
        ("distance", pa.float32()),
        ("n_expected", pa.float64()),
        ("n_background", pa.int64()),
        *strings("receptor", *RECEPTOR_FIELDS, "species", "samples"),
        ("n_cells", pa.int64()),
        *strings("metadata", *ANTIGEN, "call_epitope", "call_antigen_species", "run", "receptor_id"),
    ]
)

# Rows of a file of queries that have no answer, or an answer without one of their chains.
NOT_FOUND = pa.schema(
    [
        *strings("query"),
        ("query_row", pa.int64()),
        *strings("field", "value", "reason"),
        ("answered", pa.bool_()),
    ]
)
