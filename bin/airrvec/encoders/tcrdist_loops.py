"""Loops of V genes in the alignment that TCRdist compares, and which receptors it can measure."""

import csv
from functools import cache
from pathlib import Path

from airrvec.core import schema
from airrvec.core.tables import map_distinct

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def is_measurable(receptors: pa.Table, loci: tuple[str, ...]) -> np.ndarray:
    """Return whether V gene, with its loops, and junction of all loci are known; shape (n,)."""
    known = np.ones(len(receptors), bool)
    for locus in loci:
        genes = pc.binary_join_element_wise(
            receptors["species"], receptors[schema.field(locus, "v_call")], "\t"
        )
        has_loops = map_distinct(genes, lambda gene: gene and loops_of(*gene.split("\t")))
        known &= pc.is_valid(has_loops).to_numpy(zero_copy_only=False)
        known &= pc.is_valid(receptors[schema.field(locus, "junction_aa")]).to_numpy()
    return known


@cache
def _v_table() -> dict[tuple[str, str], str]:
    path = Path(__file__).with_name("data") / "tcrdist_v_loops.tsv"
    with path.open() as handle:
        return {
            (row["species"], row["v_call"]): row["cdr1"] + row["cdr2"] + row["cdr2_5"]
            for row in csv.DictReader(handle, delimiter="\t")
        }


def loops_of(species: str, v_call: str) -> str | None:
    """Return the aligned loops of a V gene; those of allele *01 if the table lacks the allele."""
    first = _v_table().get((species, f"{v_call.split('*')[0]}*01"))
    return _v_table().get((species, v_call), first)
