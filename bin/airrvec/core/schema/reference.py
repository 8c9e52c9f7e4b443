"""Schemas of the reference of the annotation, and of the tables it is merged from."""

from airrvec.core.schema.published import boolean, int64, published, string
from airrvec.core.schema.shared import (
    CLONOTYPE_ID,
    LABEL_COLUMNS,
    RECEPTOR_COLUMNS,
    RECEPTOR_ID,
    SPECIES_COLUMN,
)
from airrvec.core.schema.words import REFERENCE_LABELS

_ID = "Id in the class: `receptor_id` of the first receptor with the same chains"
ANNOTATION_REFERENCE = published(
    "reference_receptors",
    "annotation/reference/receptors.parquet",
    "The reference itself: one row per label that a study gives a receptor.",
    *(*RECEPTOR_COLUMNS, SPECIES_COLUMN),
    *(column for column in LABEL_COLUMNS if column.name in REFERENCE_LABELS),
    int64("n_cells", "Number of labelled cells with this label"),
    string(
        "suspect",
        "Why the label is doubtful, joined by `;`: the words of [`suspect_labels`](#suspect-labels)",
        null="no reason is known",
    ),
    *(RECEPTOR_ID, CLONOTYPE_ID),
    *(string(f"{name}_id", _ID, null="not in the class") for name in ("paired", "alpha", "beta")),
    twin=True,
)

# `epitope_group`: from `airrvec.annotation.merged_reference`.
_FROM_LABELS = "the most frequent of its labels"
_MERGED = (
    *(*RECEPTOR_COLUMNS, SPECIES_COLUMN),
    string("epitope", "The epitope"),
    string("antigen_gene", f"Gene or protein of the epitope: {_FROM_LABELS}", null="not given"),
    string("antigen_species", f"Organism of the epitope: {_FROM_LABELS}", null="not given"),
    string("mhc_class", f"MHC class of the pair: {_FROM_LABELS}", null="not given"),
    string("mhc_a", f"MHC of the pair, α chain: {_FROM_LABELS}", null="not given"),
    string("mhc_b", f"MHC of the pair, β chain: {_FROM_LABELS}", null="not given"),
    string("mhc", "All MHC of the pair, joined by `;`", null="not given"),
    string(
        "sources",
        "Tables that report the pair, joined by `;`: file names up to the first dot, or `reference` for one"
        " table",
    ),
    string(
        "studies",
        "Studies that report the pair, joined by `;`. Of several tables, a table is a study where it names"
        " none.",
        null="none is named",
    ),
    int64("n_studies", "Number of these studies"),
    string(
        "methods",
        "Methods of identification and verification that its sources name, joined by `;`",
        null="none is named",
    ),
    int64("confidence", "VDJdb's score, 0 to 3: the highest of the pair", null="no source gives one"),
    int64(
        "epitope_group",
        "Number of the [group of epitopes](explanations/reference.md#groups-of-epitopes), in this table",
    ),
)
MERGED_REFERENCE = published(
    "merged",
    "annotation/reference/merged.parquet",
    "One row per receptor and epitope. Receptors that differ only in alleles have rows of their own, with"
    " the same `sources`, `studies`, `methods`, antigen and MHC.",
    *(*_MERGED, RECEPTOR_ID, CLONOTYPE_ID),
    twin=True,
)

REFERENCE_CONFLICTS = published(
    "conflicts",
    "annotation/reference/conflicts.parquet",
    "The rows of `merged` whose `clonotype_id` has epitopes of several groups.",
    *_MERGED,
    int64("n_groups", "Number of groups of the epitopes of the clonotype, 2 or more"),
    *(RECEPTOR_ID, CLONOTYPE_ID),
    twin=True,
)

REFERENCE_SOURCES = published(
    "sources",
    "annotation/reference/sources.parquet",
    "One row per table.",
    string("source", "Name of the table, as in `sources` of `merged`"),
    string("format", "Format of the table"),
    int64("rows", "Rows read: the sum of the next four"),
    int64("rows_rejected", "Rows without a receptor that airrvec reads"),
    int64("rows_unlabelled", "Rows with a receptor but no epitope"),
    int64(
        "rows_equal_junctions",
        "Rows with an epitope, but [equal junctions](explanations/standardisation.md#equal-junctions)",
    ),
    int64("rows_merged", "Rows in `merged`"),
    int64("receptors", "Receptors in the labelled rows"),
    int64("epitopes", "Epitopes in the labelled rows"),
    int64("studies", "Studies in the labelled rows"),
    int64("pairs", "Pairs of receptor (without alleles) and epitope: the sum of the next two"),
    int64("new_pairs", "Pairs that no other table has"),
    int64("shared_pairs", "Pairs that another table has too"),
    int64(
        "labels_without_molecule",
        "Labels with an MHC that is no allele, serotype or H-2 molecule, such as `HLA class I` or"
        " `HLA-A:01`. No donor's HLA excludes an epitope by it.",
    ),
    twin=True,
)

SAME_STUDIES = published(
    "same_studies",
    "annotation/reference/same_studies.parquet",
    "One row per study that is [the same as another](explanations/reference.md#the-same-study).",
    string("study", "The study, as the tables name it"),
    string(
        "same_as", "The name under which it counts: that of the first study of its group, itself included"
    ),
    int64("pairs", "Its pairs of junction and epitope"),
    int64("shared_pairs", "The most of these that one study of its group has too"),
    twin=True,
)

# Reasons of `airrvec.annotation.suspect_labels`, in the order of the tables.
CONTRADICTED, SORTED_TOGETHER, EQUAL_JUNCTIONS, INNATE = SUSPECT_REASONS = (
    "contradicted",
    "sorted together",
    "equal junctions",
    "innate-like",
)
SUSPECT_LABELS = published(
    "suspect_labels",
    "annotation/reference/suspect_labels.parquet",
    "One row per label that there is [a reason to doubt](explanations/reference.md#suspect-labels).",
    *(*RECEPTOR_COLUMNS, SPECIES_COLUMN),
    string("epitope", "The epitope of the label"),
    string("reference_id", "The study of the label", null="none is named"),
    string(
        "reason",
        f"{', '.join(f'`{word}`' for word in SUSPECT_REASONS)}; several joined by `;`",
    ),
    string("evidence", "What each reason rests on, joined by `; `"),
    boolean("reference", "Whether the receptor is a reference nevertheless"),
    *(RECEPTOR_ID, CLONOTYPE_ID),
    twin=True,
)
