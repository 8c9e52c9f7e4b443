"""Schemas of the tables of clusters and of the map."""

from airrvec.core.schema.published import float32, float64, int32, int64, published, string
from airrvec.core.schema.receptors import GENERATION_COLUMNS
from airrvec.core.schema.shared import (
    CHAINS_COLUMN,
    COUNT_UNIT,
    LOCUS,
    N_CELLS,
    N_RECEPTORS,
    NAMED_RECEPTOR,
    RECEPTOR_ID,
    SPECIES_COLUMN,
)

# `n_cells` of several samples, in `count_unit`: numbers of several units have no sum.
_SEVERAL_UNITS = "no sample, or samples of several units"
CLUSTER_ID = string("cluster_id", "Cluster: hash of the `clonotype_id` of its members")
_CENTRE = string("centre", "Central receptor of the cluster by name: the member nearest to the mean vector")
# False discovery rate at which an epitope counts as enriched in a cluster.
ENRICHED_FDR = 0.05
_NOT_LABELLED = "no labelled member"


def _chain_columns(locus: str) -> tuple:
    unknown = "no such chain, or unknown"
    return (
        string(f"{locus}_consensus", "Junction of the most frequent residues", null="no such chain"),
        string(f"{locus}_v_call", "Most frequent V gene, without allele", null=unknown),
        float64(f"{locus}_v_share", "Share of members with this V gene", null=unknown),
        string(f"{locus}_j_call", "Most frequent J gene, without allele", null=unknown),
        float64(f"{locus}_j_share", "Share of members with this J gene", null=unknown),
    )


CLUSTERS = published(
    "clusters",
    "clusters/clusters.parquet",
    "One row per cluster, sorted by species and class of chains, the largest first.",
    *(_CENTRE, SPECIES_COLUMN, CHAINS_COLUMN),
    N_RECEPTORS.but(meaning="Members, without alleles"),
    N_CELLS.but(
        meaning="Cells of the samples that carry them, without the labelled table", null=_SEVERAL_UNITS
    ),
    int64("n_samples", "Samples that carry them, without the labelled table"),
    int64("n_donors", "Donors of these samples"),
    COUNT_UNIT.but(meaning="What `n_cells` counts", null=_SEVERAL_UNITS),
    int64("centre_neighbours", "Receptors within the radius of the centre"),
    float64("centre_expected", "Receptors within the radius of the centre expected by chance"),
    *_chain_columns("tra"),
    *_chain_columns("trb"),
    *(
        column.but(meaning="Generation probability of this chain of the centre, by OLGA")
        for column in GENERATION_COLUMNS
    ),
    string(
        "innate_like",
        "The most frequent kind of [innate-like](explanations/innate_like.md) member",
        null="no member is",
    ),
    float64("innate_share", "Share of members that are innate-like, of any kind"),
    int64("n_labelled", "Members with an epitope. Labels of innate-like receptors do not count."),
    int64("n_epitopes", "Number of different epitopes of the members"),
    string("epitope", "The epitope that is most enriched among the labelled members", null=_NOT_LABELLED),
    string(
        "antigen_gene",
        "Gene or protein of `epitope`, most frequent in the run",
        null="unknown",
    ),
    string(
        "antigen_species",
        "Organism of `epitope`, most frequent in the run",
        null="unknown",
    ),
    string(
        "mhc",
        "MHC of `epitope`, most frequent in the run",
        null="unknown",
    ),
    int64("n_with_epitope", "Members with `epitope`", null=_NOT_LABELLED),
    float64("epitope_expected", "Members with `epitope` expected by chance", null=_NOT_LABELLED),
    float64(
        "epitope_p",
        "One-sided hypergeometric test of `epitope` against all labelled receptors that were clustered",
        null=_NOT_LABELLED,
    ),
    float64(
        "epitope_fdr",
        "False discovery rate (Benjamini and Hochberg) over all epitopes and clusters of the species and"
        " class",
        null=_NOT_LABELLED,
    ),
    CLUSTER_ID,
    string("centre_id", "`receptor_id` of the centre"),
    twin=True,
)

_NOT_COMPARED = "not compared: no vector, or no sample or background of the species"
CLUSTER_MEMBERS = published(
    "members",
    "clusters/members.parquet",
    "One row per receptor of the run.",
    *(*NAMED_RECEPTOR, SPECIES_COLUMN),
    CHAINS_COLUMN.but(null=_NOT_COMPARED),
    int32(
        "n_neighbours",
        "Receptors within the radius. Receptors that differ only in alleles count once.",
        null="not compared",
    ),
    float64("n_expected", "Receptors within the radius expected by chance", null="not compared"),
    CLUSTER_ID.but(null="in no cluster"),
    RECEPTOR_ID,
    twin=True,
)

CLUSTER_MOTIFS = published(
    "motifs",
    "clusters/motifs.parquet",
    "Residues of the aligned junctions of each cluster, by position.",
    *(CLUSTER_ID, LOCUS),
    int32("position", "Position in the alignment, from 1"),
    string("residue", "Residue; `-` is a gap"),
    float64("frequency", "Share of the members with this residue"),
    twin=True,
)

CLUSTER_REFERENCES = published(
    "cluster_references",
    "clusters/references.parquet",
    "One row per cluster and reference within the radius of one of its members, of the three nearest"
    " references of each; with `--annotate`, and without `--finetune`, whose vectors are others than those of"
    " the calls.",
    CLUSTER_ID,
    string("reference", "Reference by name"),
    string("epitope", "All epitopes of this reference, joined by `;`", null="none is given"),
    string("antigen_species", "Organisms of these epitopes, joined by `;`", null="none is given"),
    string("mhc", "MHC of this reference, joined by `;`", null="none is given"),
    string("study", "Studies that report this reference, joined by `;`", null="none is given"),
    float32("distance", "Euclidean distance to the nearest member"),
    int64("n_members", "Members within the radius of it, of which it is one of the three nearest references"),
    string("reference_receptor_id", "Id of this reference, as `nearest_1_id` of a call"),
    twin=True,
)

_NOT_TESTED = "not tested"
HLA_ASSOCIATIONS = published(
    "hla",
    "clusters/hla.parquet",
    "One row per cluster of three donors or more and HLA allele of one of them, with `--cluster` and the"
    " column `hla` of the samplesheet; the lowest p first. [Donors' HLA](explanations/clusters.md#hla).",
    string("allele", "HLA allele, with `--hla_fields` fields at most; a donor with A*02:01 has A*02 too"),
    CLUSTER_ID,
    _CENTRE,
    *(SPECIES_COLUMN, CHAINS_COLUMN),
    int64("n_carriers", "Typed donors with the allele, and with receptors of the class of chains"),
    int64("n_carriers_in_cluster", "Of them, those with a receptor of the cluster"),
    int64("n_noncarriers", "Such donors without the allele. Donors whose typing cannot tell are not counted"),
    int64("n_noncarriers_in_cluster", "Of them, those with a receptor of the cluster"),
    float64(
        "odds_ratio",
        "Common odds ratio over the strata (conditional maximum likelihood); infinite if the cluster has as"
        " many carriers as it could have",
        null=_NOT_TESTED,
    ),
    *(
        float64(name, f"{word} end of its 95 % interval (exact)", null=_NOT_TESTED)
        for name, word in (("low", "Lower"), ("high", "Upper"))
    ),
    float64(
        "p",
        "One-sided p of more carriers than by chance: Fisher's test, within the values of `--compare_within`"
        " if it is set",
        null=_NOT_TESTED,
    ),
    float64("least_p", "Smallest p that these numbers of donors can give", null=_NOT_TESTED),
    float64(
        "fdr",
        "False discovery rate of `p` over all tested pairs, which have few possible p",
        null=_NOT_TESTED,
    ),
    string(
        "method",
        "Distribution of `n_carriers_in_cluster`: `exact`, or `normal` above 2,000 possible numbers",
        null=_NOT_TESTED,
    ),
    string("reason", "Why the pair is not tested", null="it is"),
    twin=True,
)

MAP = published(
    "map",
    "map/map.parquet",
    "One row per receptor with a vector, in the order of `receptors`. Metadata: `method` (`umap` or `pca`)"
    " and `seed`.",
    RECEPTOR_ID,
    float32("map_1", "Position on the first axis, which has no unit"),
    float32("map_2", "Position on the second axis, which has no unit"),
)
