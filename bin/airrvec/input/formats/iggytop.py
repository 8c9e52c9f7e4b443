"""
IggyTop's table, a receptor per row: the reference of receptors and epitopes that scirpy has since 0.24.

Its AnnData files are read as `scirpy`, with the same names of labels.
"""

from airrvec.input.formats.chains import chains_of_pairs, column

import pyarrow as pa
import pyarrow.compute as pc

NAME = "iggytop"
TITLE = "IggyTop"
ROW = "pair"
DELIMITER = None
_CHAINS = {
    locus: {name: f"chain_{number}_{name}" for name in ("v_call", "j_call", "junction_aa")}
    for number, locus in enumerate(("TRA", "TRB"), start=1)
}
# Label of airrvec → column.
LABELS = {
    "epitope": "epitope_sequence",
    "antigen_gene": "antigen_name",
    "antigen_species": "antigen_species",
    "mhc_class": "MHC_class",
    "mhc_a": "MHC_gene_1",
    "mhc_b": "MHC_gene_2",
    "reference_id": "PMID",
    "label_method": "assay_method_raw",
}
SPECIES = "source_organism"

LAYOUTS = ((*(name for names in _CHAINS.values() for name in names.values()), LABELS["epitope"]),)
OPTIONAL = (*LABELS.values(), SPECIES)


def chains(table: pa.Table) -> pa.Table:
    """Return both chains of a row; BCRs are in other columns."""
    labels = {label: name for label, name in LABELS.items() if name in table.column_names}
    if "reference_id" in labels:
        place = table.column_names.index(labels["reference_id"])
        table = table.set_column(place, labels["reference_id"], studies(table, labels["reference_id"]))
    return chains_of_pairs(table, _CHAINS, species=SPECIES, labels=labels)


def studies(table: pa.Table, name: str) -> pa.ChunkedArray:
    """Return the studies of a column of PubMed's numbers, of which one may hold several: ``12|34``."""
    numbers = pc.replace_substring(column(table, name), "|", ";")
    return pc.replace_substring_regex(numbers, r"(^|;)\s*([0-9]+)", r"\1PMID:\2")
