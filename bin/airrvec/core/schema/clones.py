"""Schemas of the tables of clones, which all counts of a run are made of."""

from airrvec.core.schema.annotation import HAS_CALL
from airrvec.core.schema.published import boolean, float64, int64, published, string
from airrvec.core.schema.receptors import SECOND_ALPHA
from airrvec.core.schema.repertoire import CLUSTER_ID
from airrvec.core.schema.shared import (
    CALL_COLUMNS,
    CHAINS_COLUMN,
    CLONOTYPE_ID,
    COUNT_UNIT,
    N_CELLS,
    NAMED_RECEPTOR,
    RECEPTOR_ID,
    SAMPLE_ID,
    SPECIES_COLUMN,
)

import pyarrow as pa

CLONE_ID = string(
    "clone_id",
    "Identity of the clone: 24 hexadecimal digits of donor, species, and V gene and junction of its chains"
    " ([definition](explanations/clones.md))",
)
DONOR = string("donor", "`donor` of the samplesheet; without one, the sample is a donor of its own")
_SEVERAL_UNITS = "its samples count in several units"
N_JOINED = int64(
    "n_joined",
    "Of them, cells with one chain that [joined](explanations/clones.md#one-chain) the clone",
    unit="cells",
)

# Of `count_clones.py`, to which `describe_clones.py` adds what the run says of the clone's receptor.
_COUNTED = (
    *(CLONE_ID, DONOR, SPECIES_COLUMN),
    CHAINS_COLUMN.but(
        meaning="Chains of the clone: `paired`, `alpha` or `beta`", null="no junction is known"
    ),
    *NAMED_RECEPTOR,
    *(
        column.but(
            meaning=f"{part} of the second α chain that most cells of the clone have",
            null="no cell of the clone has two α chains",
        )
        for column, part in zip(SECOND_ALPHA, ("V gene", "Junction"), strict=False)
    ),
    string(
        "functionality",
        "`ORF` if a V or J gene is an [open reading frame](explanations/standardisation.md#functionality),"
        " else `F`",
    ),
    int64("n_samples", "Samples of the donor with the clone"),
    string("samples", "These samples, joined by `;`"),
    N_CELLS.but(meaning="Cells of the clone in all of them", null=_SEVERAL_UNITS),
    COUNT_UNIT.but(meaning="What `n_cells` counts", null=_SEVERAL_UNITS),
    float64("largest_share", "Largest share of the clone among the cells of one of its samples"),
    N_JOINED,
    int64("n_clonotypes", "Clonotypes of its cells: cells that joined it, and other J genes or α chains"),
    int64("n_donors", "Donors that have the clone's clonotype; above 1, it is public"),
    string("epitope", "Labels of the clonotype in all tables of the run, joined by `; `", null="no label"),
    RECEPTOR_ID.but(meaning="Receptor of most cells of the clone, whose genes and junctions are shown"),
    CLONOTYPE_ID.but(meaning="Clonotype of this receptor"),
)
COUNTED_CLONES = pa.schema([(column.name, column.type) for column in _COUNTED])

_NOT_ANNOTATED = "without `--annotate`, or no sample of the clone was annotated"
_NOT_CALLED = "not called, or not annotated"
_CALL = {column.name: column for column in CALL_COLUMNS}
CALL_OF_CLONE = (
    _CALL["call"].but(
        meaning="Call of the clone's receptor, as in [annotation](output.md#annotation), in the sample where"
        " it has the lowest `fdr`",
        null=_NOT_ANNOTATED,
    ),
    _CALL["call_epitope"].but(null=_NOT_CALLED),
    _CALL["call_antigen_species"].but(null=f"{_NOT_CALLED}, or unknown"),
    _CALL["call_probability"].but(null=_NOT_CALLED),
    _CALL["call_fdr"].but(null=_NOT_CALLED),
    _CALL["exact_epitope"].but(null=f"none, or {_NOT_ANNOTATED}"),
)
# Evidence for the epitope of a clone, the strongest first.
ONE_CHAIN = "one chain"
TIERS = ("identical", HAS_CALL, "cluster", ONE_CHAIN)
_NO_EVIDENCE = "no evidence, or without `--annotate`"
_EVIDENCE = (
    string(
        "evidence",
        "Strongest [evidence](explanations/clones.md#evidence) for an epitope: `identical`, `called`,"
        " `cluster` or `one chain`. Only `called` has an error rate.",
        null=_NO_EVIDENCE,
    ),
    string("evidence_epitope", "Epitopes of this evidence, joined by `;`", null=_NO_EVIDENCE),
    string(
        "evidence_antigen_species", "Organisms of these, joined by `;`", null=f"{_NO_EVIDENCE}, or unknown"
    ),
    string("evidence_mhc", "MHC of these, joined by `;`", null=f"{_NO_EVIDENCE}, or unknown"),
    string("evidence_against", "What speaks against it, joined by `; `", null=f"{_NO_EVIDENCE}, or nothing"),
    string(
        "next_step",
        "What to do next, by [rules](explanations/clones.md#next-step)",
        null=f"{_NO_EVIDENCE}, and not innate-like",
    ),
)
EVIDENCE_OF_CLONE = tuple(column.name for column in _EVIDENCE)
CLONES = published(
    "clones",
    "clones/clones.parquet",
    "One row per clone of a donor, that with the largest share of a sample first.",
    *_COUNTED[:-2],
    *CALL_OF_CLONE,
    CLUSTER_ID.but(meaning="Cluster of the clone's receptor, with `--cluster`", null="in no cluster"),
    *_EVIDENCE,
    *_COUNTED[-2:],
    twin=True,
)

CLONE_COUNTS = published(
    "clone_counts",
    "clones/counts.parquet",
    "One row per clone and sample that has it, by sample, then size.",
    *(CLONE_ID, SAMPLE_ID),
    N_CELLS.but(meaning="Cells of the clone in the sample"),
    COUNT_UNIT,
    float64("share", "Their share among the cells of the sample"),
    N_JOINED,
    int64("umi_count", "UMIs of the chains of these cells, as in `cells`", null="unknown"),
    int64("duplicate_count", "Reads or copies of them, as in `cells`", null="unknown"),
)

CLONE_MEMBERS = published(
    "clone_members",
    "clones/members.parquet",
    "One row per counted cell, in the order of the samples' names and of `cells`.",
    SAMPLE_ID,
    int64("cell_row", "Row of the cell in `cells/<sample>.parquet`, from 1, as in `chains`"),
    RECEPTOR_ID.but(meaning="Receptor of the cell, as in `cells`"),
    CLONE_ID,
    boolean(
        "joined", "Whether the cell has one chain and [joined](explanations/clones.md#one-chain) the clone"
    ),
)
