"""Schemas of the tables of clusters, samples and the map."""

from airrvec.core.schema.words import LOCI, RECEPTOR_FIELDS, readable, strings

import pyarrow as pa

# Number of neighbours within the radius, observed and expected by chance. `cluster_id` is null if the
# receptor is in no cluster; all columns but `receptor_id` are null if it was not compared.
CLUSTER_MEMBERS = readable(
    [
        *strings(*RECEPTOR_FIELDS, "innate_like", "species", "chains", "cluster_id", "receptor_id"),
        ("n_neighbours", pa.int32()),
        ("n_expected", pa.float64()),
    ]
)

# `centre`: name of the receptor in the middle, as made by `airrvec.core.names`.
# `antigen_gene`, `antigen_species`, `mhc`: of the epitope, from the labels of the run.
# `n_cells`: in `count_unit`; both are null if the samples count in several units, whose numbers have no sum.
# Most frequent genes of the members, alleles ignored; `epitope`: most enriched among labelled members.
CLUSTERS = readable(
    [
        *strings("cluster_id", "centre", "species", "chains"),
        *((name, pa.int64()) for name in ("n_receptors", "n_cells", "n_samples")),
        ("count_unit", pa.string()),
        ("centre_id", pa.string()),
        ("centre_neighbours", pa.int64()),
        ("centre_expected", pa.float64()),
        *(
            (f"{locus.lower()}_{name}", pa.float64() if name.endswith("share") else pa.string())
            for locus in LOCI
            for name in ("consensus", "v_call", "v_share", "j_call", "j_share")
        ),
        *((f"{locus.lower()}_generation_probability", pa.float64()) for locus in LOCI),
        ("innate_like", pa.string()),
        ("innate_share", pa.float64()),
        ("n_labelled", pa.int64()),
        ("n_epitopes", pa.int64()),
        *strings("epitope", "antigen_gene", "antigen_species", "mhc"),
        ("n_with_epitope", pa.int64()),
        *((f"epitope_{name}", pa.float64()) for name in ("expected", "p", "fdr")),
    ]
)

# Residue frequencies in the aligned junctions of a cluster; `residue` may be a gap, `-`.
CLUSTER_MOTIFS = pa.schema(
    [
        *strings("cluster_id", "locus"),
        ("position", pa.int32()),
        ("residue", pa.string()),
        ("frequency", pa.float64()),
    ]
)

# `centre`: as in clusters.
# Samples with `value_1` and with `value_2` in the metadata column `condition`; shares are sample means.
CLUSTER_CONDITIONS = readable(
    [
        *strings("cluster_id", "centre", "species", "chains", "condition", "value_1", "value_2"),
        *((f"{name}_{side}", pa.int64()) for name in ("n_samples", "n_carrying") for side in (1, 2)),
        *((name, pa.float64()) for name in ("share_1", "share_2", "odds_ratio")),
        *((f"{test}_{part}", pa.float64()) for test in ("fisher", "rank") for part in ("p", "fdr")),
    ]
)

# Coordinates of receptors with a vector; the axes have no unit.
MAP = pa.schema([("receptor_id", pa.string()), ("map_1", pa.float32()), ("map_2", pa.float32())])

SAMPLE_PAIRS = pa.schema(
    [
        *strings("species", "chains", "sample_1", "sample_2"),
        ("n_shared", pa.int64()),
        *((name, pa.float64()) for name in ("jaccard", "morisita_horn")),
        *((name, pa.float64()) for name in ("radius", "near_1_in_2", "near_2_in_1")),
        *((f"n_compared_{side}", pa.int64()) for side in (1, 2)),
        *((name, pa.float64()) for name in ("frechet", "frechet_by_chance", "mmd", "mmd_p", "mmd_fdr")),
    ]
)

# Clonotypes of two or more samples; `samples`: their names, joined by `;`. `n_cells` and `count_unit` as for
# clusters.
PUBLIC_RECEPTORS = readable(
    [
        *strings(*RECEPTOR_FIELDS, "innate_like", "samples"),
        ("n_samples", pa.int64()),
        ("n_cells", pa.int64()),
        ("count_unit", pa.string()),
        *strings("species", "chains", "receptor_id", "clonotype_id"),
    ]
)

SAMPLES_PCA = pa.schema(
    [
        *strings("sample_id", "species", "chains"),
        ("n_receptors", pa.int64()),
        *((f"pc_{number}{part}", pa.float64()) for part in ("", "_explained") for number in (1, 2, 3)),
    ]
)

# `measure`: mmd or a Hill number at equal coverage, whose `difference` is that of its mean logs.
SAMPLE_CONDITIONS = pa.schema(
    [
        *strings("species", "chains", "condition", "value_1", "value_2", "measure"),
        *((name, pa.int64()) for name in ("n_samples_1", "n_samples_2")),
        ("difference", pa.float64()),
        ("n_divisions", pa.int64()),
        *((name, pa.float64()) for name in ("p", "fdr")),
    ]
)
