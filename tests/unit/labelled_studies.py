"""Labelled receptors of several studies, and their parts."""

from airrvec.core import identity, schema
from airrvec.evaluation import fewshot

import pyarrow as pa
import pyarrow.compute as pc


def clonotype(name: str) -> str:
    """The name without its allele: ``a*01`` and ``a`` are receptors of one clonotype."""
    return name.split("*")[0]


def labelled(cells, parts=None) -> fewshot.LabelledReceptors:
    """From cells of (receptor, epitope, reference), and each cell's part if the user gives it."""
    whole = dict.fromkeys(schema.RECEPTOR_FIELDS, "x")
    receptors = pa.Table.from_pylist(
        [
            {"receptor_id": name, "clonotype_id": clonotype(name), "species": "homosapiens", **whole}
            for name in sorted({c[0] for c in cells})
        ],
        schema.RECEPTORS,
    )
    names = ("receptor_id", "epitope", "reference_id")
    table = pa.Table.from_pylist([dict(zip(names, cell, strict=True)) for cell in cells], schema.CELLS)
    if parts is not None:
        table = table.drop_columns("split").append_column("split", pa.array(parts, pa.string()))
    return fewshot.select_labelled(table, receptors, species="homosapiens")


def with_alleles(receptors: pa.Table, allele: str) -> pa.Table:
    """The receptors with another allele of all genes: ``*01``, or none."""
    fields = {
        name: pc.replace_substring_regex(receptors[name], r"(\*.*)?$", allele, max_replacements=1)
        if name.endswith("_call")
        else receptors[name]
        for name in ("species", *schema.RECEPTOR_FIELDS)
    }
    return identity.receptors_table(pa.table(fields), receptors["chain_pairing"])


def many(prefix, n, epitope, reference):
    return [(f"{prefix}{number:02d}", epitope, reference) for number in range(n)]


CELLS = [
    *many("big", 6, "A", "s1"),
    *many("mid", 6, "A", "s2"),
    *many("low", 3, "A", "s3"),
    *many("b", 8, "B", "s2"),  # trains B as it trains A
    *many("c", 4, "B", "s1"),  # and what trains A tests B
    ("big00", "A", "s3"),  # again, in a study that tests
    ("b00", "A", "s3"),  # cross-reactive: training of B would test A
    ("odd", "A", None),
    *many("few", 5, "C", "s1"),
    *many("few", 5, "C", "s2"),
    *many("one", 12, "D", "s1"),
]
STUDY = {"per_epitope": 7, "min_receptors": 10}
