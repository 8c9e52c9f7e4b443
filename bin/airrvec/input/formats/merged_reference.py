"""Merged reference of airrvec: a receptor and an epitope per row, with all of their studies."""

from airrvec.core import schema
from airrvec.input.formats.chains import any_valid, chain_table, column

import pyarrow as pa
import pyarrow.compute as pc

NAME = "reference"
TITLE = "Merged reference of airrvec"
ROW = "pair"
DELIMITER = "\t"

_LABELS = {
    **{name: name for name in ("epitope", "antigen_gene", "antigen_species", "mhc_class", "mhc_a", "mhc_b")},
    **{"confidence": "confidence", "label_method": "methods"},
}
LAYOUTS = ((*schema.RECEPTOR_FIELDS, "epitope", "sources", "studies"),)
OPTIONAL = ("species", *_LABELS.values())


def chains(table: pa.Table) -> pa.Table:
    """Return both chains of a row, once for each of its ``studies``, joined by ``;``."""
    lists = pc.split_pattern(pc.fill_null(column(table, "studies"), ""), ";").combine_chunks()
    studies, rows = pc.list_flatten(lists), pc.list_parent_indices(lists)
    table = table.take(rows)
    number = pa.array(range(len(rows))).cast(pa.string())
    key = pc.binary_join_element_wise(table["row"].cast(pa.string()), number, "/")
    parts = []
    for locus in schema.LOCI:
        fields = {name: column(table, schema.field(locus, name)) for name in schema.CHAIN_FIELDS}
        part = chain_table(
            row=table["row"],
            cell_key=key,
            species=column(table, "species"),
            locus=pa.repeat(locus, len(table)),
            **fields,
            **{label: column(table, name) for label, name in _LABELS.items()},
            reference_id=pc.if_else(pc.equal(studies, ""), pa.scalar(None, pa.string()), studies),
        )
        parts.append(part.filter(any_valid(*fields.values())))
    return pa.concat_tables(parts).sort_by([("row", "ascending"), ("locus", "ascending")])
