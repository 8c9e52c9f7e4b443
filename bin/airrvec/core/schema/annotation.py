"""Schemas of the annotation of samples and of its cross-validation."""

from collections.abc import Sequence

from airrvec.core.schema.published import Column, float32, float64, int64, published, string
from airrvec.core.schema.shared import (
    ABUNDANCE,
    CELL_ID,
    COUNT_UNIT,
    NAMED_RECEPTOR,
    RECEPTOR_ID,
    SAMPLE_ID,
    SPECIES_COLUMN,
)

import pyarrow as pa

# Word of the column ``call`` of a called receptor.
HAS_CALL = "called"
# Description of an epitope, as its references give it most often.
ANTIGEN = ("epitope", "antigen_gene", "antigen_species", "mhc_a", "mhc_b")

# Parts of `nearest_1_…`; `receptor` is a name as made by `airrvec.core.chains`, `mhc` both of its chains.
NEAREST = ("receptor", "epitope", "antigen_gene", "antigen_species", "mhc", "study", "distance", "id")

_EVIDENCE = tuple(
    float64(
        f"evidence_{name}",
        "How much this evidence (SCEPTR's share, TCRdist's share, the α chain alone, the β chain alone, V"
        " and J genes, the linear classifier) raises the score above that of a background receptor",
        null="no such evidence",
    )
    for name in ("sceptr", "tcrdist", "alpha", "beta", "genes", "classifier")
)
EVIDENCE = tuple(column.name for column in _EVIDENCE)

_NO_VECTOR = "no vector or reference"
_NONE_STATED = "none is given"


def _nearest(place: int) -> dict[str, Column]:
    """Return the columns of one of the nearest references, by their part of `NEAREST`."""
    name = f"nearest_{place}_"
    columns = (
        string(
            f"{name}receptor",
            "Reference by name; 1 is the nearest, 3 the third nearest. In the classes `alpha` and `beta`, the"
            " other chain is not compared.",
            null=_NO_VECTOR,
        ),
        string(f"{name}epitope", "All epitopes of this reference, joined by `;`", null=_NONE_STATED),
        string(
            f"{name}antigen_gene", "Genes or proteins of these epitopes, joined by `;`", null=_NONE_STATED
        ),
        string(f"{name}antigen_species", "Organisms of these epitopes, joined by `;`", null=_NONE_STATED),
        string(
            f"{name}mhc",
            "MHC of this reference, joined by `;`; both chains joined by `/`, without β2-microglobulin",
            null=_NONE_STATED,
        ),
        string(f"{name}study", "Studies that report this reference, joined by `;`", null=_NONE_STATED),
        float32(
            f"{name}distance",
            "Euclidean distance of the vectors of receptor and reference, 0 to 2",
            null=_NO_VECTOR,
        ),
        string(
            f"{name}id",
            "Id of this reference in the column of the class in `reference/receptors`, e.g. `beta_id`. Of"
            " references that the class cannot distinguish, the `receptor_id` of the first.",
            null=_NO_VECTOR,
        ),
    )
    return dict(zip(NEAREST, columns, strict=True))


_NEAREST = {place: _nearest(place) for place in (1, 2, 3)}
_NOT_CALLED = "not called"
_NOT_KNOWN = "not called, or unknown"
_CALL_COLUMNS = (
    string(
        "call",
        "`called`; `no call`: below the required confidence; `no vector`: the model reads no loop of it;"
        " `not calibrated`: see the next column; `innate-like`: [withheld](explanations/innate_like.md),"
        " because it is typical of a MAIT or iNKT cell",
    ),
    string(
        "not_calibrated",
        "Why its species and class of chains has no calibration, e.g. `no epitope has 10 references`. Best"
        " epitope, score and nearest references are given.",
        null="it has one",
    ),
    string("epitope", "The called epitope", null=_NOT_CALLED),
    string(
        "antigen_gene",
        "Gene or protein of the called epitope",
        null=_NOT_KNOWN,
    ),
    string(
        "antigen_species",
        "Organism of the called epitope",
        null=_NOT_KNOWN,
    ),
    string(
        "mhc_a",
        "MHC of the called epitope, α chain",
        null=_NOT_KNOWN,
    ),
    string(
        "mhc_b",
        "MHC of the called epitope, β chain",
        null=_NOT_KNOWN,
    ),
    float64(
        "probability",
        "Probability that the receptor binds `best_epitope`, 0 to 1",
        null="not calibrated, or no `best_epitope`",
    ),
    float64(
        "fdr",
        "Expected share of false calls among receptors of the sample and class with at least this score, 0"
        " to 1",
        null="not calibrated, or no `best_epitope`",
    ),
    *(column for place in _NEAREST.values() for part, column in place.items() if part != "id"),
    string(
        "exact_epitope",
        "Epitopes of references with the same V genes, J genes and junctions, alleles ignored, joined by"
        " `;`, called or not",
        null="none",
    ),
    string(
        "excluded_epitope",
        "The epitope that would be called if the [donor's HLA](explanations/hla.md) did not exclude it",
        null="none, or no typing",
    ),
    string(
        "best_epitope",
        "The epitope of `score`, `probability` and `fdr`, called or not",
        null="no vector, or the donor's HLA excludes all near epitopes",
    ),
    float64(
        "score",
        "[What all evidence says together](explanations/annotation.md#method): greater is surer. Log odds by"
        " trees and a linear part; below −60 if SCEPTR's share alone rules the receptor out. Comparable"
        " within a species and class of one run.",
        null="no `best_epitope`",
    ),
    *_EVIDENCE,
)
# What an annotator gives a receptor. Score, probability and FDR refer to `best_epitope`.
ANNOTATION_CALLS = tuple(
    column.name for column in (*_CALL_COLUMNS, *(place["id"] for place in _NEAREST.values()))
)

_CLASS = string("chains", "Class of chains: `paired`, `alpha` or `beta`")
ANNOTATION = published(
    "annotation",
    "annotation/<sample>.parquet",
    "One row per cell, in the order of `cells`.",
    *(SAMPLE_ID, *NAMED_RECEPTOR, *_CALL_COLUMNS, ABUNDANCE, COUNT_UNIT),
    SPECIES_COLUMN,
    _CLASS.but(
        meaning="Class that the receptor was compared in: `paired`, `alpha` or `beta`",
        null="without a junction",
    ),
    *(place["id"] for place in _NEAREST.values()),
    CELL_ID,
    RECEPTOR_ID.but(
        meaning="Receptor with which the cell counts: its own, or, of a cell with one chain that"
        " [joined](explanations/clones.md#one-chain) a clone, the clone's"
    ),
    twin=True,
    further=float64(
        "score_<epitope>",
        "With `--epitopes`: score of this epitope with all evidence, called or not, whatever the donor's HLA."
        " It equals `score` where the epitope is `best_epitope` and `score` is above −60.",
        null="no vector, or the class of chains has too few references of the epitope",
    ),
)


def score_column(epitope: str) -> str:
    """Return the name of the column with the score of a chosen epitope."""
    return f"score_{epitope}"


def annotation_with(epitopes: Sequence[str]) -> pa.Schema:
    """Return `ANNOTATION` with a column for the score of each chosen epitope."""
    schema = ANNOTATION
    for epitope in epitopes:
        schema = schema.append(pa.field(score_column(epitope), pa.float64()))
    return schema


# Reliability of probabilities in the mixture of labelled and background receptors.
_PREVALENCE = float64("prevalence", "Share of labelled receptors in the mixture")
CALIBRATION = published(
    "calibration",
    "annotation/reference/calibration.parquet",
    "One row per species, class of chains and bin of probabilities. Empty if all tested receptors are in one"
    " fold.",
    *(SPECIES_COLUMN, _CLASS, _PREVALENCE),
    float64("probability", "Mean probability in the bin"),
    float64("observed", "Share of right calls in the bin"),
    float64("share", "Share of the mixture that is in the bin"),
    int64("n_labelled", "Labelled receptors in the bin"),
    int64("n_background", "Background receptors in the bin"),
    twin=True,
)

PRECISION_RECALL = published(
    "precision_recall",
    "annotation/reference/precision_recall.parquet",
    "One row per species, class of chains and threshold.",
    *(SPECIES_COLUMN, _CLASS, _PREVALENCE),
    float64("score", "The threshold"),
    float64("precision", "Share of right calls among those with at least this score"),
    float64(
        "recall",
        "Share of the labelled receptors whose epitope has references in other studies that is called",
    ),
    twin=True,
)

# Words of the column ``outlook``.
GOOD_OUTLOOK, POOR_OUTLOOK, NOTHING, NOT_TESTED, NEVER_CALLED = OUTLOOKS = (
    "found",
    "few",
    "nothing",
    "not tested",
    "never called",
)
_FROM_REFERENCES = "the most frequent of its references"
ANNOTATION_EPITOPES = published(
    "epitopes",
    "annotation/reference/epitopes.parquet",
    "One row per species, class of chains and epitope. `recall` and `wrong` are those at a precision of 1 −"
    " `--annotation_fdr` over all epitopes, in a mixture with 10 % labelled receptors.",
    *(SPECIES_COLUMN, _CLASS),
    string("epitope", "The epitope"),
    string("antigen_gene", f"Gene or protein of the epitope: {_FROM_REFERENCES}", null="not known"),
    string("antigen_species", f"Organism of the epitope: {_FROM_REFERENCES}", null="not known"),
    string("mhc_a", f"α chain of its MHC: {_FROM_REFERENCES}", null="not known"),
    string("mhc_b", f"β chain of its MHC: {_FROM_REFERENCES}", null="not known"),
    int64("n_references", "Number of references"),
    int64(
        "n_excluded", "Receptors that only studies of `--exclude_references` report. They are not references."
    ),
    int64("n_studies", "Number of studies"),
    int64("n_tested", "Receptors of the epitope with references in other studies"),
    float64("recall", "Share of `n_tested` that is called with this epitope", null="none is tested"),
    float64(
        "wrong",
        "Share of wrong calls among the labelled receptors called with this epitope",
        null="none is called with it",
    ),
    float64(
        "expected_recall",
        "Share of its receptors that the reference is [expected to find](explanations/annotation.md#holes)",
        null="it is never called",
    ),
    string(
        "outlook",
        "`found`; `few`, `nothing`: `expected_recall` below 0.1, 0.02; `not tested`: `n_tested` below 10;"
        " `never called`: see the next column",
    ),
    string("reason", "Why the epitope is not called", null="it is"),
    twin=True,
)
