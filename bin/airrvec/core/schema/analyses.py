"""Schemas of the paper's analyses."""

from airrvec.core.schema.published import boolean, float64, int32, int64, published, string

_ENCODER = string("encoder", "Encoder that is measured")
_EPITOPE = string("epitope", "Epitope")
_N_PAIRS = int64("n_pairs", "Pairs of receptors that the row is measured on")
_K = int32("k", "Largest k of the AUROC", null="no AUROC")
_AUROC = float64("auroc", "Nearest-neighbour AUROC of the encoder", null="no AUROC")
_N_DIMENSIONS = int32("n_dimensions", "Dimensions of a vector")
_FEW = "below three values, or all are equal"

DISTANCES = published(
    "distances",
    "analyses/distances.parquet",
    "One row per encoder, kind of pairs and bin of TCRdist, 24 wide.",
    _ENCODER,
    string("pairs", "`all`, or `co_specific`"),
    int32("tcrdist", "Lower edge of the bin"),
    _N_PAIRS,
    *(
        float64(f"distance_q{q:02d}", f"{q} % quantile of the encoder's distance")
        for q in (5, 25, 50, 75, 95)
    ),
    float64(
        "spearman",
        "Rank correlation of distance and TCRdist over these pairs; the same in every bin",
        null=_FEW,
    ),
    float64(
        "pearson", "Correlation of distance and TCRdist over these pairs; the same in every bin", null=_FEW
    ),
    twin=True,
)

_FEW_PAIRS = "below 20 pairs"
GENERATION_ANALYSIS = published(
    "generation",
    "analyses/generation.parquet",
    "One row per encoder and bin.",
    _ENCODER,
    string(
        "binned_by",
        "`distance`: bins by the encoder's distance, as shares of the pairs, finer among the nearest;"
        " `probability`: tenths by log10 probability",
    ),
    float64("low", "Lower edge of the bin"),
    float64("high", "Upper edge of the bin"),
    _N_PAIRS,
    float64("mean_distance", "Mean distance of the bin"),
    float64("mean_tcrdist", "Mean TCRdist of the bin"),
    float64("mean_log10_probability", "Mean log10 probability of the bin"),
    float64("co_specific", "Share of co-specific pairs"),
    float64("pearson", "Correlation of TCRdist and log10 probability in the bin", null=_FEW_PAIRS),
    float64(
        "pearson_low",
        "Lower end of the 95 % interval of `pearson` by Fisher's z, as if pairs were independent",
        null=_FEW_PAIRS,
    ),
    float64("pearson_high", "Upper end of this interval", null=_FEW_PAIRS),
    twin=True,
)

POWER_MEAN = published(
    "power_mean",
    "analyses/power_mean.parquet",
    "One row per encoder and exponent.",
    _ENCODER,
    float64(
        "exponent", "p; -inf is the minimum of the two, 0 the geometric mean, 1 the average, inf the maximum"
    ),
    _N_PAIRS,
    float64("pearson", "Correlation of M and the encoder's distance", null=_FEW),
    float64(
        "auroc",
        "AUROC of co-specific against other pairs by M alone; the same for every encoder",
        null="one kind",
    ),
    twin=True,
)

ALIGNMENT = published(
    "alignment",
    "analyses/alignment.parquet",
    "One row per encoder.",
    _ENCODER,
    int32("n_receptors", "Receptors that uniformity is measured on"),
    _N_DIMENSIONS,
    float64("alignment", "From 0 (all co-specific receptors at one point) to 2"),
    float64(
        "uniformity",
        "From 0 (all receptors at one point) to −4; evenly spread over a sphere of many dimensions: −2",
    ),
    float64(
        "alignment_squared",
        "The same with squared distances, as [training](reference/models.md#models-of-your-own) logs it",
    ),
    float64("uniformity_t2", "The same with exp(−2 d²), as training logs it"),
    *(_K, _AUROC),
    twin=True,
)

COMPLEXITY = published(
    "complexity",
    "analyses/complexity.parquet",
    "One row per encoder.",
    _ENCODER,
    int64(
        "n_parameters",
        "Learnt parameters of the encoder, without the heads that only training uses and without fixed"
        " features of residues and positions. SCEPTR: 151,808 (153,108 with the head). For an own encoder"
        " its attribute `n_parameters`, otherwise the parameters of its torch modules",
    ),
    _N_DIMENSIONS,
    *(_K, _AUROC),
    twin=True,
)

ENTROPY = published(
    "entropy",
    "analyses/entropy.parquet",
    "One row per epitope, feature and encoder.",
    _EPITOPE,
    string("feature", "A column of `receptors`"),
    int32("n_receptors", "Receptors of the epitope"),
    float64("coincidence", "p, the probability that two receptors have the same value"),
    float64("coincidence_std", "Standard deviation of the estimate of p (Tiffeau-Mayer 2024)"),
    float64("entropy_bits", "H, the coincidence entropy", null="no two receptors coincide", unit="bits"),
    float64(
        "entropy_std",
        "Standard deviation of H, propagated linearly from p",
        null="no two receptors coincide",
        unit="bits",
    ),
    _ENCODER.but(null="no AUROC"),
    *(_K, _AUROC),
    float64(
        "spearman",
        "Rank correlation of `entropy_bits` and `auroc` over the epitopes that have both, for this encoder"
        " and feature",
        null="below three epitopes",
    ),
    twin=True,
)

COINCIDENCE = published(
    "coincidence",
    "analyses/coincidence.parquet",
    "One row per epitope and threshold.",
    _EPITOPE,
    int32("tcrdist", "The threshold Δ"),
    _N_PAIRS,
    float64("probability", "Share of the epitope's pairs"),
    float64("background", "Share of background pairs", null="no background pair"),
    float64("ratio", "`probability` over `background`", null="no background pair is within the threshold"),
    twin=True,
)

FINE_TUNING = published(
    "fine_tuning",
    "analyses/fine_tuning.parquet",
    "One row per pair of a training and a test receptor.",
    string("train_receptor_id", "The training receptor"),
    string("test_receptor_id", "The test receptor"),
    boolean("co_specific", "Whether they share one of the epitopes in the split"),
    string("before", "Name of the model before"),
    string("after", "Name of the model after"),
    float64("distance_before", "Distance of the pair before"),
    float64("distance_after", "Distance of the pair after"),
    twin=True,
)

EDITS = published(
    "edits",
    "analyses/edits.parquet",
    "One row per encoder, chain, kind of edit and region.",
    _ENCODER,
    string("chain", "α or β"),
    string("edit", "`insertion`, `deletion`, `substitution`"),
    string("region", "`start`, `second`, `middle`, `fourth`, `end`, from the N terminus (the conserved C)"),
    int32("n_edits", "Number of edits; fewer where the fifth of a short junction holds only a conserved end"),
    float64("mean_distance", "Mean of the distances"),
    float64("std_distance", "Standard deviation of the distances"),
    float64(
        "relative", "`mean_distance` over the mean distance of two random receptors, to compare encoders"
    ),
    twin=True,
)

# Analyses that could not be done, for one encoder or, where `encoder` is null, for all.
NOT_DONE = published(
    "not_done",
    "analyses/<name>_not_done.tsv",
    "One row per analysis and encoder that could not be measured. The file exists only if there is one.",
    string("analysis", "Name of the analysis"),
    string("encoder", "Encoder that could not be measured", null="the whole analysis"),
    string("reason", "Why it could not be measured"),
)
