"""10x Genomics V(D)J: ``clonotypes.csv``, all junctions of a clonotype in one cell of the table, no genes."""

import pyarrow as pa
import pyarrow.compute as pc

from airrvec.input.formats.chains import chain_table, column, counts, split_cells

NAME = "10x_clonotypes"
TITLE = "10x clonotypes.csv"
DELIMITER = ","
LAYOUTS = (("clonotype_id", "frequency", "cdr3s_aa"),)
OPTIONAL = ()


def chains(table: pa.Table) -> pa.Table:
    """Return all chains of a clonotype: ``TRA:CAVF;TRB:CASSF`` are two."""
    texts, clonotypes = split_cells(table, "cdr3s_aa", ["row", "clonotype_id", "frequency"])
    texts = pc.utf8_trim_whitespace(texts)
    # A part without a colon is all junction.
    parts = pc.extract_regex(texts, r"^(?:(?P<locus>[^:]*):)?(?P<junction>.*)$")
    fields = {name: _without_empty(pc.struct_field(parts, name)) for name in ("locus", "junction")}
    chains = chain_table(
        row=clonotypes["row"],
        cell_id=column(clonotypes, "clonotype_id"),
        locus=fields["locus"],
        junction_aa=fields["junction"],
        duplicate_count=counts(column(clonotypes, "frequency")),
    )
    return chains.filter(pa.chunked_array([pc.not_equal(texts, "")]))


def _without_empty(values: pa.Array) -> pa.ChunkedArray:
    """Return the values; null if empty, as in ``TRB:``."""
    empty = pc.equal(values, "")
    return pa.chunked_array([pc.if_else(empty, pa.scalar(None, pa.string()), values)])
