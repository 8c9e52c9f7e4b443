"""MiXCR tables of clones (``exportClones``), with current headers or headers before version 3."""

import pyarrow as pa
import pyarrow.compute as pc

from airrvec.input.formats.chains import SAMPLE_COLUMNS, cell_keys, chain_table, column, counts, first_value

NAME = "mixcr"
TITLE = "MiXCR exportClones"
DELIMITER = "\t"

_HITS = (
    ("allVHitsWithScore", "allJHitsWithScore"),
    ("allVHits", "allJHits"),
    ("bestVHit", "bestJHit"),
    ("bestVGene", "bestJGene"),
)
_OLD_HITS = (("All V hits", "All J hits"), ("Best V hit", "Best J hit"))
_JUNCTION = "aaSeqCDR3"
_OLD_JUNCTIONS = ("AA. Seq. CDR3", "AA. seq. CDR3")
_READS = ("readCount", "cloneCount", "Clone count")
_UMIS = ("uniqueMoleculeCount", "uniqueUMICount")
_CLONE = ("cloneId", "Clone ID")
_CELL = "tagValueCELL"
_CHAINS = ("topChains", "chains", "Chains")

LAYOUTS = (
    *((_JUNCTION, *hits) for hits in _HITS),
    *((junction, *hits) for junction in _OLD_JUNCTIONS for hits in _OLD_HITS),
)
# Nucleotides of the CDR3, which has the conserved ends.
_NUCLEOTIDES = ("nSeqCDR3", "N. Seq. CDR3", "N. seq. CDR3")
OPTIONAL = (_CELL, *_NUCLEOTIDES, *_READS, *_UMIS, *_CLONE, *_CHAINS, *SAMPLE_COLUMNS)


def chains(table: pa.Table) -> pa.Table:
    """Return one chain per clone (of a cell, if cells are tagged); hits are listed best first."""
    cell = column(table, _CELL)
    v_hits, j_hits = zip(*_HITS, *_OLD_HITS, strict=True)
    return chain_table(
        row=table["row"],
        cell_key=cell_keys(table, cell),
        chain_key=first_value(table, _CLONE),
        cell_id=pc.coalesce(cell, first_value(table, _CLONE)),
        locus=first_value(table, _CHAINS),
        v_call=first_value(table, v_hits),
        j_call=first_value(table, j_hits),
        junction_aa=first_value(table, (_JUNCTION, *_OLD_JUNCTIONS)),
        duplicate_count=counts(first_value(table, _READS)),
        umi_count=counts(first_value(table, _UMIS)),
        junction=first_value(table, _NUCLEOTIDES),
    )
