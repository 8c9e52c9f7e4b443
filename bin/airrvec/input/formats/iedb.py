"""
IEDB receptors: the export ``tcr_full_v3`` and the search tables of the web page.

Column names have three spellings: with two header rows, joined here as "Chain 1 Type" (exports from
2023-04 on); with one, as "Chain 1 - Type"; and with one, as "Curated Chain 1 V Gene" (before 2023).
The names come from programs that read such files; the project has no real file.
"""

import re

from airrvec.input.formats.chains import any_valid, chain_table, first_value

import pyarrow as pa
import pyarrow.compute as pc

NAME = "iedb"
TITLE = "IEDB receptor export"
ROW = "pair"
DELIMITER = None
HEADER_ROWS = (1, 2)

_SIDES = ("Chain 1", "Chain 2")
_LOCI = {"alpha": "TRA", "beta": "TRB", "gamma": "TRG", "delta": "TRD", "heavy": "IGH"}
_ORGANISMS = {
    "NCBITaxon_9606": "HomoSapiens",
    "9606": "HomoSapiens",
    "NCBITaxon_10090": "MusMusculus",
    "10090": "MusMusculus",
}
_ID = ("Receptor IEDB Receptor ID", "Receptor ID")
# Label → group and name of the column, and its name before 2023.
_LABELS = {
    "epitope": ("Epitope Name", "Description"),
    "antigen_gene": ("Epitope Source Molecule", "Antigen"),
    "antigen_species": ("Epitope Source Organism", "Organism"),
    "mhc_a": ("Assay MHC Allele Names", "MHC Allele Names"),
    "reference_id": ("Reference IEDB IRI", "Reference IRI"),
    "label_method": ("Assay Type", "Response Type"),
}
_NEEDED = ("Type", "CDR3 Curated", "CDR3 Calculated")
_GENES = ("Curated V Gene", "Calculated V Gene", "Curated J Gene", "Calculated J Gene")
_USED = (*_GENES, "Organism IRI", "Species")


def _spellings(name: str) -> tuple[str, ...]:
    """Return ``Chain 1 Curated V Gene``, ``Chain 1 - Curated V Gene`` and ``Curated Chain 1 V Gene``."""
    dashed = re.sub(r"^(Chain [12]|Receptor|Epitope|Assay|Reference) ", r"\1 - ", name)
    return (name, dashed, re.sub(r"^(Chain [12]) (Curated|Calculated) (?=[VJ])", r"\2 \1 ", name))


LAYOUTS = tuple(
    tuple(_spellings(f"{side} {name}")[way] for side in _SIDES for name in _NEEDED) for way in (0, 1)
)
OPTIONAL = tuple(
    dict.fromkeys(
        spelling
        for name in (
            *(f"{side} {name}" for side in _SIDES for name in _USED),
            *(name for names in (_ID, *_LABELS.values()) for name in names),
        )
        for spelling in _spellings(name)
    )
)


def chains(table: pa.Table) -> pa.Table:
    """Return both chains of a row, of any loci; a chain without genes and CDR3 is excluded."""
    parts = []
    for side in _SIDES:
        v_call, j_call = (
            _first(table, f"{side} Calculated {name}", f"{side} Curated {name}")
            for name in ("V Gene", "J Gene")
        )
        junction = _junction(table, side)
        organism = pc.replace_substring_regex(_first(table, f"{side} Organism IRI"), "^.*/", "")
        part = chain_table(
            row=table["row"],
            cell_id=_first(table, *_ID),
            species=_translated(pc.coalesce(organism, _first(table, f"{side} Species")), _ORGANISMS),
            locus=_translated(pc.utf8_lower(_first(table, f"{side} Type")), _LOCI),
            v_call=v_call,
            j_call=j_call,
            junction_aa=junction,
            **{label: _first(table, *names) for label, names in _LABELS.items()},
        )
        parts.append(part.filter(any_valid(v_call, j_call, junction)))
    return pa.concat_tables(parts).sort_by([("row", "ascending"), ("locus", "ascending")])


def _first(table: pa.Table, *names: str) -> pa.ChunkedArray:
    """Return, row by row, the first of the columns that has a value, in any spelling."""
    return first_value(table, [spelling for name in names for spelling in _spellings(name)])


def _junction(table: pa.Table, side: str) -> pa.ChunkedArray:
    """Return the curated CDR3 if it has both ends, else the calculated (without ends), else the curated."""
    curated = _first(table, f"{side} CDR3 Curated")
    whole = pc.if_else(
        pc.match_substring_regex(curated, "^C[A-Z]+[FW]$"), curated, pa.scalar(None, pa.string())
    )
    return pc.coalesce(whole, _first(table, f"{side} CDR3 Calculated"), curated)


def _translated(values: pa.ChunkedArray, words: dict[str, str]) -> pa.ChunkedArray:
    """Return the values with IEDB words replaced by airrvec words; other values stay."""
    index = pc.index_in(values, pa.array(list(words)))
    return pc.coalesce(pc.take(pa.array(list(words.values())), index), values)
