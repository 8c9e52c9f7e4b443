"""Schemas of the tables of γδ cells: those of αβ cells, with γ for α and δ for β, in their own folder."""

from collections.abc import Mapping
from dataclasses import replace

from airrvec.core.schema import clones, comparison, receptors, samples
from airrvec.core.schema.published import TABLES, Column, published
from airrvec.core.schema.words import GAMMA_DELTA, LABELS

import pyarrow as pa

FOLDER = "gamma_delta"
# Why γδ cells have no vector.
NOT_LEARNT = "the models have learnt α and β chains alone"
_NOTHING: Mapping[str, str] = {}


def _twin(
    name: str,
    file: str,
    about: str = "",
    *,
    without: tuple[str, ...] = (),
    meanings: Mapping[str, str] = _NOTHING,
    more: tuple[Column, ...] = (),
) -> pa.Schema:
    """
    Enter the table of γδ cells that is like one of αβ cells.

    Parameters
    ----------
    name : str
        Of the table of αβ cells.
    file : str
        In `FOLDER`.
    about : str
        If not given, that of the table of αβ cells.
    without : tuple of str
        Columns that are left out, besides ``innate_like``.
    meanings : mapping
        Column → another meaning.
    more : tuple of Column
        After ``species``.
    """
    source = TABLES[name]
    columns: list[Column] = []
    for column in source.columns:
        if column.name not in ("innate_like", *without):
            same = column if column.name in LABELS else _renamed(column)
            columns.append(same.but(meaning=meanings.get(same.name, same.meaning)))
        if column.name == "species":
            columns += more
    further = source.further and replace(
        source.further, meaning="Further columns of the samplesheet", null="empty in the samplesheet"
    )
    words = about or GAMMA_DELTA.renamed(source.about)
    return published(
        f"{FOLDER}_{name}", f"{FOLDER}/{file}", words, *columns, twin=source.twin, further=further
    )


def _renamed(column: Column) -> Column:
    texts = (GAMMA_DELTA.renamed(text) for text in (column.name, column.meaning, column.null))
    name, meaning, null = (text.replace("`cells/", f"`{FOLDER}/cells/") for text in texts)
    return column.but(name=name, meaning=meaning, null=null)


GAMMA_DELTA_CELLS = _twin(
    "cells",
    "cells/<sample>.parquet",
    "One row per [γδ cell](explanations/gamma_delta.md) or clonotype of the input, in its order, with the"
    " fields of its receptor.",
    more=tuple(_renamed(column) for column in receptors.RECEPTOR_COLUMNS),
)
_twin(
    "chains",
    "chains/<sample>.parquet",
    "One row per chain of `gamma_delta/cells`, in its order, γ before δ.",
)
GAMMA_DELTA_RECEPTORS = _twin(
    "receptors",
    "receptors.parquet",
    "One row per distinct γδ receptor of all samples, sorted by `clonotype_id`, then `receptor_id`.",
    meanings={"n_samples": "Number of samples with this clonotype"},
)
GAMMA_DELTA_CLONES = _twin(
    "clones",
    "clones.parquet",
    without=(*(column.name for column in clones.CALL_OF_CLONE), *clones.EVIDENCE_OF_CLONE),
    meanings={
        "cluster_id": "[Cluster](explanations/gamma_delta.md#clusters) of its clonotype, with `--cluster`"
    },
)
_twin("clone_counts", "counts.parquet")
_twin("clone_members", "members.parquet")
# Of the tables of `describe_samples.py`, those that describe γδ clones too: `clones` holds all of them.
DESCRIBED = tuple(name for name in samples.SAMPLE_TABLES if name != "largest_clones")
for _name in DESCRIBED:
    _twin(_name, f"{_name}.parquet")
_COLUMNS = [column.name for column in TABLES["clusters"].columns]
GAMMA_DELTA_CLUSTERS = _twin(
    "clusters",
    "clusters.parquet",
    "One row per [cluster](explanations/gamma_delta.md#clusters) of γδ receptors, with `--cluster`, sorted by"
    " species and class of chains, the largest first.",
    without=(
        *("centre_expected", *receptors.GENERATION.names, "innate_share"),
        *_COLUMNS[_COLUMNS.index("n_labelled") : _COLUMNS.index("cluster_id")],
    ),
    meanings={
        "centre": "Central receptor by name: the member with the smallest sum of TCRdist to the others",
        "chains": "Chains that are compared: `paired` or `delta`",
    },
)
# Not by what γδ cells do not have: calls, and vectors.
_MEASURES = {
    name: words
    for name, words in comparison.MEASURES.items()
    if name not in ("pathogen", *comparison.SIMILARITIES)
}
_twin(
    "condition_tests",
    "tests.parquet",
    "All tests of γδ cells by `--compare_by`, as in `comparison/tests`; `fdr` is over these rows alone.",
    meanings={
        "measure": comparison.measures_in_words(_MEASURES),
        "feature": "Gene, locus or cluster",
    },
)
