"""Families of few-shot rules that `few_shot_rules` compares: each yields its settings and their scores."""

from collections.abc import Iterator

from airrvec.benchmark import rules
from airrvec.core import schema

import numpy as np
from sklearn.svm import SVC

from few_shot_material import TINY, Material, log_odds

KERNELS = (0.035, 0.05, 0.07, 0.1)
SCEPTR, LARGE, TCRDIST = (("sceptr", "paired"), ("sceptr_large", "paired"), ("tcrdist", "paired"))
CHAINS = ("alpha", "beta")
PAIR = (SCEPTR, TCRDIST)
PAIR_CHAINS = (*PAIR, *((name, chains) for name in ("sceptr", "tcrdist") for chains in CHAINS))
PUBLISHED = ("blosum", "shuffled_data", "left_aligned", "synthetic_data")
SETS = {
    "SCEPTR": (SCEPTR,),
    "TCRdist": (TCRDIST,),
    "SCEPTR, TCRdist": PAIR,
    "SCEPTR, large, TCRdist": (SCEPTR, LARGE, TCRDIST),
    "six variants": (SCEPTR, LARGE, *((f"sceptr_{name}", "paired") for name in PUBLISHED)),
    "SCEPTR, its α, its β": (SCEPTR, *(("sceptr", chains) for chains in CHAINS)),
    "SCEPTR, TCRdist, their α and β": PAIR_CHAINS,
    "SCEPTR, large, TCRdist, α and β": (LARGE, *PAIR_CHAINS),
}
BEST = SETS["SCEPTR, large, TCRdist, α and β"]
GENES = tuple(schema.field(locus, name) for locus in schema.LOCI for name in ("v_call", "j_call"))


def evidence(odds: np.ndarray) -> np.ndarray:
    """Return log(1 + own density / other epitopes' density), from the log odds."""
    return np.logaddexp(0, odds)


def odds_of(material: Material, measures, kernel: float) -> list[np.ndarray]:
    return [log_odds(material.densities(material.distances(measure), kernel)) for measure in measures]


def published(material: Material) -> Iterator[tuple[str, np.ndarray]]:
    """Nearest neighbour, the paper's."""
    yield "SCEPTR", _by_distances(material, SCEPTR, rules.nearest_neighbour)


def nearest_few(material):
    """Mean of the m nearest."""
    for m in (3, 5, 10, 20):
        yield (
            f"SCEPTR, m = {m}",
            _by_distances(material, SCEPTR, lambda d, m=m: rules.mean_of_nearest(d, m=m)),
        )


def _by_distances(material, measure, rule) -> np.ndarray:
    distances = material.distances(measure)
    n_epitopes, n_splits, _ = material.references.shape
    return np.stack(
        [[-rule(distances[material.own_rows(e, s)].T) for s in range(n_splits)] for e in range(n_epitopes)]
    )


def soft(material):
    """Density (soft nearest neighbour)."""
    for name in ("SCEPTR", "TCRdist"):
        for kernel in KERNELS:
            yield f"{name}, κ = {kernel}", material.densities(material.distances(SETS[name][0]), kernel)


def contrast(material):
    """Contrast, one measure."""
    for measure in (SCEPTR, LARGE, TCRDIST, ("cdr3_levenshtein", "paired"), ("v_j_genes", "paired")):
        for kernel in KERNELS:
            yield f"{measure[0]}, κ = {kernel}", odds_of(material, [measure], kernel)[0]


def gaussian(material):
    """Contrast, Gaussian kernel."""
    for kernel in (0.2, 0.28, 0.35, 0.42):
        densities = material.densities(material.distances(SCEPTR), kernel, power=2)
        yield f"SCEPTR, width {kernel}", log_odds(densities)


def with_background(material):
    """Contrast with other epitopes and a background of OLGA."""
    k = material.references.shape[2]
    for kernel in KERNELS:
        densities = material.densities(material.distances(SCEPTR), kernel)
        background = np.exp(-material.background(3000, SCEPTR) / kernel).mean(axis=0)
        for weight in (0.3, 1, 3, 10):
            yield f"SCEPTR, κ = {kernel}, weight {weight}", log_odds(densities, weight * k * background)


def local_scaling(material):
    """Contrast, distances relative to each reference's neighbourhood (CSLS)."""
    distances = material.distances(SCEPTR)
    among = distances[:, material.rows]
    own = np.arange(len(material.epitopes))
    for m in (5, 20):
        for share in (0.25, 0.5, 1):
            scores = []
            for s in range(material.references.shape[1]):
                rows = [material.own_rows(e, s) for e in own]
                known = np.concatenate(rows)
                nearest = np.partition(among[:, known], m, axis=1)[:, : m + 1].sum(axis=1) / m
                terms = [np.exp(-(distances[r] - share * nearest[r, None]) / 0.07).sum(axis=0) for r in rows]
                scores.append(log_odds(np.log(np.maximum(np.stack(terms), TINY))))
            yield f"SCEPTR, κ = 0.07, {m} nearest, share {share}", np.stack(scores, axis=1)


def _among_references(material, measure, kernel: float) -> np.ndarray:
    """Return the log odds of receptors of the epitopes without their own term, shape (e, s, m)."""
    terms = np.exp(-material.distances(measure)[:, material.rows] / np.float32(kernel))
    np.fill_diagonal(terms, 0)
    return log_odds(material.sums(terms))


def _reference_aurocs(material, measure, kernel: float) -> np.ndarray:
    """Return the AUROC of each epitope's references against the others', each left out once; (e, s)."""
    odds = _among_references(material, measure, kernel)
    values = np.empty(odds.shape[:2])
    for e, s in np.ndindex(values.shape):
        others = [material.own_rows(other, s) for other in range(len(odds)) if other != e]
        own, rest = odds[e, s][material.own_rows(e, s)], odds[e, s][np.concatenate(others)]
        values[e, s] = (own[:, None] > rest).mean() + (own[:, None] == rest).mean() / 2
    return values


def own_kernel(material):
    """Contrast, a kernel per epitope, chosen among its references."""
    for name in ("SCEPTR", "TCRdist"):
        (measure,) = SETS[name]
        best = np.stack([_reference_aurocs(material, measure, kernel) for kernel in KERNELS]).argmax(axis=0)
        odds = np.stack([odds_of(material, [measure], kernel)[0] for kernel in KERNELS])
        yield name, np.take_along_axis(odds, best[None, :, :, None], axis=0)[0]


def weighted_references(material):
    """Contrast, references weighted by the epitope's share around them."""
    for power in (0.25, 0.5, 1):
        terms = np.exp(-material.distances(SCEPTR) / np.float32(0.07))
        share = 1 / (1 + np.exp(-_among_references(material, SCEPTR, 0.07)))
        densities = np.empty((*material.references.shape[:2], material.n))
        for e, s in np.ndindex(densities.shape[:2]):
            rows = material.own_rows(e, s)
            densities[e, s] = np.log(np.maximum(share[e, s][rows] ** power @ terms[rows], TINY))
        yield f"SCEPTR, κ = 0.07, power {power}", log_odds(densities)


def summed_distances(material):
    """Contrast of summed distances."""
    for name, measures in SETS.items():
        distances = sum(material.distances(measure) for measure in measures) / len(measures)
        for kernel in KERNELS:
            yield f"{name}, κ = {kernel}", log_odds(material.densities(distances, kernel))


def _summed(material, function) -> Iterator[tuple[str, np.ndarray]]:
    for kernel in KERNELS:
        measures = dict.fromkeys(measure for group in SETS.values() for measure in group)
        odds = dict(zip(measures, odds_of(material, measures, kernel), strict=True))
        for name, group in SETS.items():
            yield f"{name}, κ = {kernel}", sum(function(odds[measure]) for measure in group)


def summed_odds(material):
    """Sum of log odds."""
    yield from _summed(material, lambda odds: odds)


def summed_shares(material):
    """Mean of shares."""
    yield from _summed(material, lambda odds: 1 / (1 + np.exp(-odds)))


def summed_evidence(material):
    """Sum of log(1 + odds)."""
    yield from _summed(material, evidence)


def weighted_measures(material):
    """Sum of log odds, measures weighted per epitope by the AUROC among references."""
    odds = odds_of(material, BEST, 0.07)
    excess = [_reference_aurocs(material, measure, 0.07) - 0.5 for measure in BEST]
    for power in (1, 2, 4):
        weights = [np.maximum(part, 0)[..., None] ** power for part in excess]
        yield f"seven measures, power {power}", sum(w * o for w, o in zip(weights, odds, strict=True))


def with_genes(material):
    """Sum of log(1 + odds), and log shares of the four genes."""
    base = sum(map(evidence, odds_of(material, BEST, 0.07)))
    for pseudocount in (5, 20, 50):
        genes = sum(_gene_odds(material, name, pseudocount) for name in GENES)
        for weight in (0.25, 0.5, 1):
            yield f"seven measures, pseudocount {pseudocount}, weight {weight}", base + weight * genes


def _gene_odds(material, name: str, pseudocount: float) -> np.ndarray:
    """Return the log ratio of a gene's shares in the epitope's and in the other references; (e, s, n)."""
    genes = [call.split("*")[0] for call in material.labelled.receptors[name].to_pylist()]
    codes = np.unique(genes, return_inverse=True)[1]
    counts = (codes[material.references][..., None] == np.arange(codes.max() + 1)).sum(axis=2)  # (e, s, g)
    total = counts.sum(axis=0)
    prior = pseudocount * (total + 0.5) / (total + 0.5).sum(axis=-1, keepdims=True)
    shares = [
        np.log((part + prior) / (part.sum(axis=-1, keepdims=True) + pseudocount))
        for part in (counts, total - counts)
    ]
    return (shares[0] - shares[1])[..., codes]


def support_vectors(material):
    """For comparison, trained: support vector classifier of the same references."""
    for kernel in (0.15, 0.3):
        terms = sum(np.exp(-material.distances(measure) / kernel) for measure in PAIR_CHAINS)
        scores = np.empty((*material.references.shape[:2], material.n))
        for e, s in np.ndindex(scores.shape[:2]):
            known = material.references[:, s].ravel()
            labels = np.arange(known.size) // material.references.shape[2] == e
            rows = np.searchsorted(material.rows, known)
            classifier = SVC(kernel="precomputed", class_weight="balanced")
            classifier.fit(terms[np.ix_(rows, known)], labels)
            scores[e, s] = classifier.decision_function(terms[rows].T)
        yield f"six measures, κ = {kernel}", scores


FAMILIES = {
    function.__name__: function
    for function in (
        published,
        nearest_few,
        soft,
        contrast,
        gaussian,
        with_background,
        local_scaling,
        own_kernel,
        weighted_references,
        summed_distances,
        summed_odds,
        summed_shares,
        summed_evidence,
        weighted_measures,
        with_genes,
        support_vectors,
    )
}
