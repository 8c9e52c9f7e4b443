"""Schemas of the tables that compare samples."""

from collections.abc import Mapping

from airrvec.core.schema.clones import CALL_OF_CLONE, DONOR
from airrvec.core.schema.published import NEVER, boolean, float32, float64, int64, published, string
from airrvec.core.schema.receptors import dimensions
from airrvec.core.schema.shared import (
    CHAINS_COLUMN,
    CLONOTYPE_ID,
    COUNT_UNIT,
    COUNTED,
    N_CELLS,
    N_RECEPTORS,
    NAMED_RECEPTOR,
    RECEPTOR_ID,
    SAMPLE_ID,
    SPECIES_COLUMN,
)

import pyarrow as pa

_NO_VECTORS = "too few vectors"
_TOO_MANY = f"{_NO_VECTORS}, or more than 1,000 pairs"
SAMPLE_PAIRS = published(
    "pairs",
    "comparison/pairs.parquet",
    "One row per pair of samples, species and class of chains.",
    *(SPECIES_COLUMN, CHAINS_COLUMN),
    string("sample_1", "First sample"),
    string("sample_2", "Second sample"),
    int64("n_shared", "Receptors of both samples, without alleles"),
    float64("jaccard", "Jaccard index of the receptors, 0 to 1"),
    float64("morisita_horn", "Morisita–Horn overlap, weighted by shares of cells, 0 to 1"),
    float64(
        "frequency_overlap",
        "Geometric mean of both samples' shares of cells in receptors of both, 0 to 1: *F* of vdjtools",
    ),
    float64("radius", "Distance within which receptors are neighbours"),
    float64(
        "near_1_in_2",
        "Share of receptors of the first sample with a neighbour in the second",
        null=_NO_VECTORS,
    ),
    float64(
        "near_2_in_1",
        "Share of receptors of the second sample with a neighbour in the first",
        null=_NO_VECTORS,
    ),
    *(
        int64(
            f"n_compared_{side}",
            "Random receptors compared in the following columns. 0 if a sample has fewer than 20.",
        )
        for side in (1, 2)
    ),
    float64("frechet", "Fréchet distance of the vectors", null=_NO_VECTORS),
    float64("frechet_by_chance", "Fréchet distance if receptors change samples at random", null=_TOO_MANY),
    float64(
        "mmd",
        "MMD², the kernel distance (maximum mean discrepancy); about 0 without a difference",
        null=_NO_VECTORS,
    ),
    float64(
        "kernel",
        "Mean kernel between receptors of the two samples, 0 to 1, by `--compare_weights`",
        null=_NO_VECTORS,
    ),
    float64("mmd_p", "Permutation test of `mmd`", null=_TOO_MANY),
    float64("mmd_fdr", "False discovery rate of `mmd_p`", null=_TOO_MANY),
    twin=True,
)

_SEVERAL_UNITS = "samples of several units"
PUBLIC_RECEPTORS = published(
    "public",
    "comparison/public.parquet",
    "Public receptors: one row per clonotype that two or more donors carry, those of most donors first.",
    *NAMED_RECEPTOR,
    string("donors", "Donors with the clonotype, joined by `;`"),
    int64("n_donors", "Number of these donors"),
    string("samples", "Samples with the clonotype, joined by `;`"),
    int64("n_samples", "Number of these samples"),
    N_CELLS.but(meaning="Cells in all of these samples", null=_SEVERAL_UNITS),
    COUNT_UNIT.but(meaning="What `n_cells` counts", null=_SEVERAL_UNITS),
    *(SPECIES_COLUMN, CHAINS_COLUMN),
    RECEPTOR_ID.but(meaning="First receptor of the clonotype, whose genes and junctions are shown"),
    CLONOTYPE_ID,
    twin=True,
)

SAMPLES_PCA = published(
    "samples_pca",
    "comparison/samples_pca.parquet",
    "One row per sample, species and class of chains. Empty if there are fewer than three samples.",
    *(SAMPLE_ID, SPECIES_COLUMN, CHAINS_COLUMN),
    N_RECEPTORS.but(meaning="Receptors of the mean vector of the sample"),
    *(float64(f"pc_{number}", "Principal component of the mean vectors") for number in (1, 2, 3)),
    *(
        float64(
            f"pc_{number}_explained",
            "Share of the variance that this component explains, the same in each row",
        )
        for number in (1, 2, 3)
    ),
    twin=True,
)

# What is tested between values of a column, and its unit; the tables that hold the measures of each sample.
MEASURES = {
    "hill_0_at_coverage": "number of clones at equal coverage, natural logarithm",
    "hill_1_at_coverage": "Hill number of order 1 at equal coverage, natural logarithm",
    "hill_2_at_coverage": "Hill number of order 2 at equal coverage, natural logarithm",
    "coincidence": "probability that two cells are of one clone",
    "large_clones": "share of cells in clones above 1 % of the sample",
    "v_gene": "share of clones with a V gene",
    "j_gene": "share of clones with a J gene",
    "cdr3_length": "mean length of the CDR3 over clones, in residues",
    "cluster": "share of cells in a cluster, with `--cluster`",
    "pathogen": "share of cells called for an epitope of an organism, with `--annotate`",
    "overlap": "Morisita–Horn overlap within values minus between them, with `--compare`",
    "mmd": "mean kernel of vectors within values minus between them (MMD²), with `--compare`",
}
# Measures that compare samples by pairs → their column in the pairs of samples.
SIMILARITIES = {"overlap": "morisita_horn", "mmd": "kernel"}


def measures_in_words(measures: Mapping[str, str]) -> str:
    """Return what is measured, in a sentence of a column's meaning."""
    return "; ".join(f"`{name}`: {words}" for name, words in measures.items())


_ONLY_TWO = "not of two values"
_UNITS = "Donors with `value_{}`: the units of the test; several samples of a donor are one"
CONDITION_TESTS = published(
    "condition_tests",
    "comparison/tests.parquet",
    "All tests of `--compare_by`: one row per design, measure, feature, species and class of chains."
    " [Designs and tests](explanations/comparison.md#conditions).",
    string("condition", "Metadata column of `--compare_by`"),
    string("design", "`two values`, `several values` or `trend`"),
    string(
        "within",
        "Column within whose values labels are exchanged: `donor` if values are compared within donors, or"
        " that of `--compare_within`",
        null="all units",
    ),
    *(
        string(f"value_{side}", f"{word} value of it", null=_ONLY_TWO)
        for side, word in ((1, "First"), (2, "Second"))
    ),
    string("measure", measures_in_words(MEASURES)),
    string("feature", "Gene, locus, cluster or organism", null="the measure has no features"),
    SPECIES_COLUMN.but(null="cells of all species"),
    CHAINS_COLUMN.but(null="cells of all classes"),
    int64("n_units", "Units of the test: donors, or a donor with each of its values"),
    *(int64(f"n_units_{side}", _UNITS.format(side), null=_ONLY_TWO) for side in (1, 2)),
    int64("n_carrying", "Units whose number is not 0", null="of similarities"),
    *(
        float64(
            f"mean_{side}", f"Mean of the units with `value_{side}`", null=f"{_ONLY_TWO}, or of similarities"
        )
        for side in (1, 2)
    ),
    float64(
        "difference",
        "Two values: first minus second, within donors or strata where these are compared; a trend: slope per"
        " unit of the column; a similarity: within values minus between them",
        null="several values",
    ),
    *(
        float64(
            name,
            f"{word} end of the 95 % interval of `difference` (linear model)",
            null="several values, of similarities, or too few units",
        )
        for name, word in (("low", "Lower"), ("high", "Upper"))
    ),
    float64("p", "Two-sided p of the exact rank test or the permutation test"),
    float64("least_p", "Smallest p that the design and the number of permutations can give"),
    float64("fdr", "False discovery rate of `p`, over all rows of the measure"),
    twin=True,
)

N_MEASURED = 100  # features of a measure whose numbers are written
CONDITION_MEASURES = published(
    "condition_measures",
    "comparison/measures.parquet",
    "What the tests compare: one row per sample with a value of `--compare_by`, measure and feature. Of each"
    f" measure, the {N_MEASURED} features with the smallest p; similarities of samples are in `pairs`.",
    string("condition", "Metadata column of `--compare_by`"),
    string("value", "Its value for the sample"),
    SAMPLE_ID,
    DONOR,
    string(
        "measure",
        measures_in_words({name: words for name, words in MEASURES.items() if name not in SIMILARITIES}),
    ),
    string("feature", "Gene, locus, cluster or organism", null="the measure has no features"),
    SPECIES_COLUMN.but(null="cells of all species"),
    CHAINS_COLUMN.but(null="cells of all classes"),
    float64("number", "What is measured of the sample", null="not measured, as of too few cells or clones"),
    twin=True,
)

TOLD_BY = {
    "sheet": "a column of the samplesheet",
    "cells": "numbers of cells and clones, as logarithms",
    "umis": "mean UMIs of a cell, as a logarithm",
    "reads": "mean reads of a cell, as a logarithm",
    "chains": "shares of cells with both chains, α or β alone",
    "v_genes": "shares of clones with each V gene",
    "j_genes": "shares of clones with each J gene",
    "clonality": "shares of cells in clones of each size",
    "k-mers": "shares of each three residues of the CDR3 of clones",
    "mean_vector": "mean vector of the clones",
    "mean_kernel": "mean kernel between the clones of samples",
}
CONDITION_TOLD = published(
    "condition_told",
    "comparison/told.parquet",
    "What tells the values of `--compare_by` apart in donors that were left out: one row per design and"
    " feature set, those of the samplesheet and of depth first."
    " [Confounders](explanations/comparison.md#confounders).",
    string("condition", "Metadata column of `--compare_by`"),
    string("design", "`two values` or `several values`"),
    string("among", "Values that are told apart, joined by `;`"),
    string("told_by", "; ".join(f"`{name}`: {words}" for name, words in TOLD_BY.items())),
    string("column", "Column of the samplesheet", null="of the other feature sets"),
    SPECIES_COLUMN.but(null="not of one species"),
    CHAINS_COLUMN.but(
        meaning="Class of chains, or the locus of genes and k-mers", null="cells of all classes"
    ),
    string("left_out", "What is left out at once: `donor`, or the column of `--compare_within`"),
    int64("n_units", "Units, as in `condition_tests`"),
    float64("accuracy", "Balanced accuracy: mean share of each value's units that are told right, 0 to 1"),
    float64("by_chance", "Its mean after exchanges of the values", null="no exchange is possible"),
    float64("p", "Share of exchanges with at least this accuracy"),
    boolean(
        "tells_all",
        "Whether each value of a column occurs with one value of the condition alone: nothing can tell which"
        " of the two makes a difference",
        null="of the other feature sets",
    ),
    twin=True,
)

CHANGE_WORDS = {
    "expanded": "its share grew",
    "new": "it was not seen before, and too often after to have been missed",
    "contracted": "its share fell",
    "lost": "it is not seen after, and was too frequent before to be missed",
    "persistent": "in both, without a significant change",
    "undecided": "in one alone, which may be chance",
}
_STEP = (
    string("condition", "Metadata column of `--compare_by`"),
    string("kind", "`clone`, or `cluster` with `--cluster`"),
    DONOR.but(meaning="`donor` of the samplesheet"),
    string("before", "Value of the column that the step leads from"),
    string("after", "The next value that the donor has: numbers in their order, words in the samplesheet's"),
)
_NOT_TESTED = "the step is not tested"
STEPS = published(
    "steps",
    "comparison/steps.parquet",
    "Donors followed from one value of `--compare_by` to the next: one row per step and kind of feature."
    " [Changes of clones](explanations/comparison.md#changes).",
    *_STEP,
    string("samples_before", "Samples with the value `before`, joined by `;`; several are replicates"),
    string("samples_after", "Samples with the value `after`, joined by `;`"),
    string("reason", "Why the step is not tested", null="it is"),
    COUNT_UNIT.but(null=_NOT_TESTED),
    int64("n_before", "Cells of `samples_before`", unit=COUNTED, null=_NOT_TESTED),
    int64("n_after", "Cells of `samples_after`", unit=COUNTED, null=_NOT_TESTED),
    string(
        "noise",
        "What counts differ by without a change: as `replicates` of the run do, or by `sampling` alone",
        null=_NOT_TESTED,
    ),
    float64("copies", "Counts that come together, such as reads of a molecule; 1 or more", null=_NOT_TESTED),
    float64(
        "dispersion",
        "Squared coefficient of variation of a large count, between replicates",
        null=_NOT_TESTED,
    ),
    int64("n_tested", "Features with counts that can be significant", null=_NOT_TESTED),
    *(int64(f"n_{word}", f"Features that are `{word}`", null=_NOT_TESTED) for word in CHANGE_WORDS),
    twin=True,
)

_NO_SECOND = "not in `before`"
CHANGES = published(
    "changes",
    "comparison/changes.parquet",
    "What changed in a step: one row per clone or cluster that both sides have or that was tested, by step,"
    " then p. The others are counted in `steps`. [Changes of clones](explanations/comparison.md#changes).",
    *_STEP,
    string("feature", "`clone_id` or `cluster_id`"),
    string("change", "; ".join(f"`{name}`: {words}" for name, words in CHANGE_WORDS.items())),
    int64("n_before", "Cells in `before`", unit=COUNTED),
    int64("n_after", "Cells in `after`", unit=COUNTED),
    COUNT_UNIT,
    float64("share_before", "Share of the cells of `before`"),
    float64("share_after", "Share of the cells of `after`"),
    float64("fold_change", "`share_after` / `share_before`", null=_NO_SECOND),
    float64("fold_low", "Lower end of its 95 % interval"),
    float64("fold_high", "Upper end of its 95 % interval", null=_NO_SECOND),
    float64(
        "p",
        "Two-sided p of the beta-binomial test with the noise of the step",
        null="too few counts to be significant",
    ),
    float64("fdr", "False discovery rate of `p`, over the tested features of the step", null="not tested"),
    *(
        column.but(null="a cluster" if column.null == NEVER else f"a cluster, or {column.null}")
        for column in NAMED_RECEPTOR
    ),
    *(
        column.but(null="a cluster, not called, or without `--annotate`")
        for column in CALL_OF_CLONE
        if column.name in ("call_epitope", "call_antigen_species")
    ),
    twin=True,
)

_SAMPLE_VECTORS = published(
    "sample_vectors",
    "comparison/sample_vectors.parquet",
    "One vector of each sample, by species and class of chains. Metadata: the model.",
    *(SAMPLE_ID, SPECIES_COLUMN, CHAINS_COLUMN),
    N_RECEPTORS.but(meaning="Receptors of the mean"),
    float64(
        "kernel", "Mean kernel between its receptors, of `kernel` in `pairs`", null="fewer than 20 receptors"
    ),
    float32("dim_01", "First dimension of the mean of these receptors' vectors, by `--compare_weights`"),
    further=float32("dim_02, dim_03, …", "Further dimensions of the mean"),
)


def sample_vectors(n_dimensions: int) -> pa.Schema:
    """Return the schema of ``sample_vectors``, with ``dim_01``, ``dim_02``, …"""
    return pa.schema(
        [*list(_SAMPLE_VECTORS)[:-1], *((name, pa.float32()) for name in dimensions(n_dimensions))]
    )
