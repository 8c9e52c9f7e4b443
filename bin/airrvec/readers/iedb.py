"""
IEDB's receptor export ``tcr_full_v3``, whose header has two rows, joined here as "Chain 1 Type".

Its columns are those of the v3 exports from 2023-04 on, as programs that read them name them; the
project has no real file. Tables of the web page's search, with one header row, are not read.
"""

import pyarrow as pa
import pyarrow.compute as pc

from airrvec.readers._chains import chain_table, column

NAME = "iedb"
TITLE = "IEDB receptor export"
DELIMITER = None
HEADER_ROWS = 2

_SIDES = ("Chain 1", "Chain 2")
_LOCI = {"alpha": "TRA", "beta": "TRB", "gamma": "TRG", "delta": "TRD", "heavy": "IGH"}
_ORGANISMS = {"NCBITaxon_9606": "HomoSapiens", "NCBITaxon_10090": "MusMusculus"}
_LABELS = {
    "epitope": "Epitope Name",
    "antigen_gene": "Epitope Source Molecule",
    "antigen_species": "Epitope Source Organism",
    "mhc_a": "Assay MHC Allele Names",
    "reference_id": "Reference IEDB IRI",
}
_NEEDED = ("Type", "CDR3 Curated", "CDR3 Calculated")
_USED = (
    "Curated V Gene",
    "Calculated V Gene",
    "Curated J Gene",
    "Calculated J Gene",
    "Organism IRI",
    "Species",
)

LAYOUTS = (tuple(f"{side} {name}" for side in _SIDES for name in _NEEDED),)
OPTIONAL = (
    "Receptor IEDB Receptor ID",
    *(f"{side} {name}" for side in _SIDES for name in _USED),
    *_LABELS.values(),
)


def chains(table: pa.Table) -> pa.Table:
    """Both chains of a row, of whatever loci; one is left out where its genes and CDR3 are empty."""
    parts = []
    for side in _SIDES:
        v_call, j_call = (
            pc.coalesce(column(table, f"{side} Calculated {name}"), column(table, f"{side} Curated {name}"))
            for name in ("V Gene", "J Gene")
        )
        junction = _junction(table, side)
        chain_type = column(table, f"{side} Type")
        part = chain_table(
            row=table["row"],
            cell_id=column(table, "Receptor IEDB Receptor ID"),
            species=pc.coalesce(_organism(table, side), column(table, f"{side} Species")),
            locus=_worded(pc.utf8_lower(chain_type), _LOCI),
            v_call=v_call,
            j_call=j_call,
            junction_aa=junction,
            **{label: column(table, name) for label, name in _LABELS.items()},
        )
        given = [pc.is_valid(values) for values in (v_call, j_call, junction)]
        parts.append(part.filter(pc.or_(pc.or_(given[0], given[1]), given[2])))
    return pa.concat_tables(parts).sort_by([("row", "ascending"), ("locus", "ascending")])


def _junction(table: pa.Table, side: str) -> pa.ChunkedArray:
    """The curated CDR3 if it has both its ends, else the calculated, which has none, else the curated."""
    curated = column(table, f"{side} CDR3 Curated")
    whole = pc.if_else(
        pc.match_substring_regex(curated, "^C[A-Z]+[FW]$"), curated, pa.scalar(None, pa.string())
    )
    return pc.coalesce(whole, column(table, f"{side} CDR3 Calculated"), curated)


def _organism(table: pa.Table, side: str) -> pa.ChunkedArray:
    return _worded(pc.replace_substring_regex(column(table, f"{side} Organism IRI"), "^.*/", ""), _ORGANISMS)


def _worded(values: pa.ChunkedArray, words: dict[str, str]) -> pa.ChunkedArray:
    """Our words for theirs; others stay."""
    index = pc.index_in(values, pa.array(list(words)))
    return pc.coalesce(pc.take(pa.array(list(words.values())), index), values)
