"""immunarch tables: one clonotype per row, with one chain or several chains separated by ``;``."""

from airrvec.input.formats.chains import aligned, chain_table, entries, flat, taken
from airrvec.input.roles import Roles

import pyarrow as pa
import pyarrow.compute as pc

NAME = "immunarch"
TITLE = "immunarch"
ROW = "clonotype"
DELIMITER = None
# Current names, and names of its predecessor tcR: V gene, J gene, junction, count.
_TABLES = (
    ("V.name", "J.name", "CDR3.aa", "Clones"),
    ("V.gene", "J.gene", "CDR3.amino.acid.sequence", "Read.count"),
)

LAYOUTS = tuple(names[:3] for names in _TABLES)
OPTIONAL = ("chain", "Barcode", *(names[3] for names in _TABLES))


# Cells of single-cell data, else reads or UMIs.
ROLES = {"copies": tuple(names[3] for names in _TABLES)}


def chains(table: pa.Table, roles: Roles) -> pa.Table:
    """Return all chains of a clonotype: ``CAVF;CASSF`` are two chains, with two entries per gene column."""
    v_gene, j_gene, junction, _ = next(names for names in _TABLES if names[2] in table.column_names)
    junctions = entries(table, junction)
    n_chains = pc.list_value_length(junctions)
    at = pc.list_parent_indices(junctions)
    return chain_table(
        row=taken(table["row"], at),
        v_call=aligned(table, v_gene, n_chains),
        j_call=aligned(table, j_gene, n_chains),
        locus=aligned(table, "chain", n_chains),
        junction_aa=flat(pc.list_flatten(junctions)),
        **{name: taken(values, at) for name, values in roles.read(table).items()},
    )
