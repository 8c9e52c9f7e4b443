"""
Schemas of the tables that describe each sample: clones, genes, lengths, diversity.

``n_cells`` is an abundance: it counts what ``count_unit`` names, which is the same in all rows of a sample.
"""

from airrvec.core.schema.clones import CLONE_ID
from airrvec.core.schema.published import float64, int64, published, string
from airrvec.core.schema.shared import (
    CHAINS_COLUMN,
    CLONOTYPE_ID,
    COUNT_UNIT,
    COUNTED,
    LOCUS,
    N_CELLS,
    N_CLONES,
    NAMED_RECEPTOR,
    SAMPLE_ID,
    SPECIES_COLUMN,
)

_SHARES = (
    COUNT_UNIT,
    N_CELLS.but(meaning="Cells with the value"),
    N_CLONES.but(meaning="Clones with the value: compares repertoires without clonal expansion"),
    float64("cell_share", "Share of the cells of the sample for which the value is known"),
    float64("clone_share", "Share of the clones of the sample for which the value is known"),
)
_VALUE = (SAMPLE_ID, SPECIES_COLUMN, LOCUS)
_ONLY = "Only values that occur have a row."

LARGEST_CLONES = published(
    "largest_clones",
    "samples/largest_clones.parquet",
    "The 100 largest clones of each sample.",
    SAMPLE_ID,
    int64("rank", "1 for the largest clone; clones of equal size are in the order of `clone_id`"),
    N_CELLS.but(meaning="Cells of the clone in the sample"),
    COUNT_UNIT,
    float64("share", "Share of the clone among all cells of the sample"),
    string("clone_size", "Class of the share, as in `clone_sizes`"),
    *(SPECIES_COLUMN, CHAINS_COLUMN.but(null="no junction is known"), *NAMED_RECEPTOR),
    string(
        "epitope",
        "Labels of the clonotype in all tables of the run, joined by `; `",
        null="no label",
    ),
    CLONE_ID,
    CLONOTYPE_ID,
    twin=True,
)

# Classes of clones by their share of the sample's cells, in scRepertoire's terms, with the upper limits.
CLONE_SIZES_LIMITS = {"Rare": 1e-4, "Small": 1e-3, "Medium": 1e-2, "Large": 1e-1, "Hyperexpanded": 1.0}

CLONE_SIZES = published(
    "clone_sizes",
    "samples/clone_sizes.parquet",
    "One row per sample and class of clones.",
    SAMPLE_ID,
    string(
        "clone_size",
        "Class of scRepertoire (Borcherding, Bormann and Kraus 2020, F1000Research 9, 47): `Rare`, `Small`,"
        " `Medium`, `Large`, `Hyperexpanded`",
    ),
    float64(
        "above", "Lower limit of a clone's share of the sample's cells, not included: 0, 0.0001, 0.001, …"
    ),
    float64("up_to", "Upper limit, included: 0.0001, 0.001, 0.01, 0.1, 1"),
    int64("n_clones", "Clones in the class"),
    int64("n_singletons", "Clones of one cell. In a sample of fewer than 1,000 cells, they are Medium."),
    N_CELLS.but(meaning="Cells in these clones"),
    COUNT_UNIT,
    float64("share", "Share of these cells among all cells of the sample"),
    twin=True,
)

GENE_USAGE = published(
    "gene_usage",
    "samples/gene_usage.parquet",
    f"One row per sample, species, locus, segment and gene. {_ONLY}",
    *_VALUE,
    string("segment", "`V` or `J`"),
    string("gene", "Gene, without allele"),
    *_SHARES,
    twin=True,
)

CDR3_LENGTHS = published(
    "cdr3_lengths",
    "samples/cdr3_lengths.parquet",
    f"One row per sample, species, locus and length. {_ONLY}",
    *_VALUE,
    int64("length", "Length of the CDR3: of the junction minus 2", unit="residues"),
    *_SHARES,
    twin=True,
)

VJ_PAIRING = published(
    "vj_pairing",
    "samples/vj_pairing.parquet",
    f"One row per sample, species, locus and pair of V and J gene of one chain. {_ONLY}",
    *_VALUE,
    string("v_gene", "V gene, without allele"),
    string("j_gene", "J gene, without allele"),
    *_SHARES,
    twin=True,
)

# How a sample was brought to the coverage at which samples are compared.
RAREFIED, OBSERVED, EXTRAPOLATED = "rarefied", "observed", "extrapolated"
TOO_LOW, NO_REPEATS, TOO_FEW = "coverage too low", "no clone of two", "fewer than 20 cells"

_CLASS = (SAMPLE_ID, SPECIES_COLUMN, CHAINS_COLUMN, COUNT_UNIT)
_ORDERS = {0: "number of clones", 1: "exponential of the Shannon entropy", 2: "inverse Simpson index"}
_COVERAGE = "Estimated share of the repertoire's cells whose clone is in the sample"

DIVERSITY = published(
    "diversity",
    "samples/diversity.parquet",
    "One row per sample, species and class of chains. [Formulae](explanations/comparison.md#diversity).",
    *_CLASS,
    N_CELLS.but(meaning="Cells"),
    N_CLONES,
    int64("n_singletons", "Clones of one cell"),
    float64("coverage", _COVERAGE),
    *(
        float64(
            f"hill_{order}",
            "Hill number of all cells, by its order. Depends on their number: do not compare samples by it.",
        )
        for order in _ORDERS
    ),
    float64("coincidence", "Probability that two cells are of one clone", null="single cell"),
    float64(
        "reference_coverage",
        "Coverage at which the samples of the species, class and unit are compared",
        null="no sample of 20 cells has a clone of two",
    ),
    string(
        "method",
        "The reference coverage takes fewer cells than the sample has (`rarefied`), all (`observed`) or up"
        " to twice as many (`extrapolated`). Not comparable: it takes more (`coverage too low`), the"
        " coverage is not known (`no clone of two`), or the sample is too small (`fewer than 20 cells`).",
    ),
    int64(
        "depth",
        "Number of cells with the reference coverage. Below 20, the numbers at coverage show little.",
        null="not comparable",
        unit=COUNTED,
    ),
    *(
        float64(
            f"hill_{order}_at_coverage",
            f"Hill number of order {order} ({words}) at the reference coverage",
            null="not comparable",
        )
        for order, words in _ORDERS.items()
    ),
    twin=True,
)

RAREFACTION = published(
    "rarefaction",
    "samples/rarefaction.parquet",
    "Points of the curve of each sample, species and class of chains.",
    *_CLASS,
    int64(
        "n_drawn",
        "Number of cells, from 1 to twice those of the sample (once if no clone has two)",
        unit=COUNTED,
    ),
    string("method", "`rarefied`, `observed` or `extrapolated`, as in `diversity`"),
    float64("coverage", "Estimated share of the repertoire's cells whose clone is among so many cells"),
    *(float64(f"hill_{order}", "Hill number of so many cells, by its order") for order in _ORDERS),
    twin=True,
)

# Tables of `describe_samples.py`, by their names.
SAMPLE_TABLES = {
    "largest_clones": LARGEST_CLONES,
    "clone_sizes": CLONE_SIZES,
    "gene_usage": GENE_USAGE,
    "cdr3_lengths": CDR3_LENGTHS,
    "vj_pairing": VJ_PAIRING,
    "diversity": DIVERSITY,
    "rarefaction": RAREFACTION,
}
