"""Schemas of the tables that compare samples."""

from airrvec.core.schema.published import float64, int64, published, string
from airrvec.core.schema.shared import (
    CHAINS_COLUMN,
    CLONOTYPE_ID,
    CONDITION,
    COUNT_UNIT,
    N_CELLS,
    N_RECEPTORS,
    NAMED_RECEPTOR,
    RECEPTOR_ID,
    SAMPLE_ID,
    SPECIES_COLUMN,
)

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

SAMPLE_CONDITIONS = published(
    "sample_conditions",
    "comparison/conditions.parquet",
    "One row per pair of values of `--compare_by`, measure, species and class of chains.",
    *(SPECIES_COLUMN, CHAINS_COLUMN, *CONDITION),
    string("measure", "`mmd`, or a Hill number at equal coverage"),
    *(int64(f"n_samples_{side}", f"Samples with `value_{side}`") for side in (1, 2)),
    float64(
        "difference",
        "First minus second: MMD², which has no sign, or the difference of the mean logs of Hill numbers",
    ),
    int64("n_divisions", "Divisions of the samples that were evaluated"),
    float64("p", "Permutation test of the difference; samples are the units"),
    float64("fdr", "False discovery rate of `p`"),
    twin=True,
)
