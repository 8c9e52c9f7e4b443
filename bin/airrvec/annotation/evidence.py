"""
Evidence for the epitopes that a receptor may have.

All receptors are compared by SCEPTR's vectors. Receptors whose best share exceeds the background's median are
rescored: for their five likeliest epitopes there is the share of each epitope in the density by TCRdist, in
that by either chain alone among all references with this chain, the likelihood of the V and J genes, and the
score of a linear classifier. Numbers are natural logarithms; greater is more likely.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from airrvec.annotation import linear_classifier
from airrvec.annotation.linear_classifier import Features, LinearClassifier
from airrvec.annotation.reference_set import ReferenceSet
from airrvec.core import identity, schema
from airrvec.core.chains import CHAIN_LOCI, on_chains
from airrvec.encoders.tcrdist import Tcrdist
from airrvec.encoders.tcrdist_loops import is_measurable
from airrvec.evaluation.rules import KERNEL, KERNEL_IN_SPREADS
from airrvec.search import neighbours

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse


@dataclass(frozen=True)
class Candidates:
    """
    Scores of the candidate epitopes of n receptors.

    Attributes
    ----------
    scores : csr_array of float64, shape (n, n_epitopes)
        Score of each candidate with a reference among the receptor's neighbours.
    floor : ndarray of float64, shape (n,)
        Score of any other epitope; NaN for a receptor without neighbours.
    """

    scores: sparse.csr_array
    floor: np.ndarray

    def __len__(self) -> int:
        return len(self.floor)

    def take(self, rows: np.ndarray) -> "Candidates":
        """Return the candidates of these receptors."""
        return Candidates(self.scores[rows], self.floor[rows])

    def best(self, allowed: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """
        Return the epitope with the highest score of each receptor, and this score.

        Parameters
        ----------
        allowed : ndarray of bool, shape (n_epitopes,), optional
            Epitopes that may be the best one; all if not given.

        Returns
        -------
        epitope : ndarray of int64, shape (n,)
            The first one of equal scores; -1 if no candidate is allowed.
        score : ndarray of float64, shape (n,)
        """
        epitope, score = np.full(len(self), -1), self.floor.copy()
        values = self.scores.data
        if allowed is not None:
            values = np.where(allowed[self.scores.indices], values, -np.inf)
        starts = self.scores.indptr[:-1]
        rows = np.flatnonzero(np.diff(self.scores.indptr))
        if len(rows):
            highest = np.maximum.reduceat(values, starts[rows])
            row = np.repeat(np.arange(len(self)), np.diff(self.scores.indptr))
            row_maximum = np.zeros(len(self))
            row_maximum[rows] = highest
            places = np.flatnonzero((values == row_maximum[row]) & np.isfinite(values))
            best_rows, first = np.unique(row[places], return_index=True)
            epitope[best_rows] = self.scores.indices[places[first]]
            score[best_rows] = row_maximum[best_rows]
        return epitope, score


def no_candidates(n_epitopes: int) -> Candidates:
    """Return the candidates of no receptors."""
    return Candidates(sparse.csr_array((0, n_epitopes)), np.empty(0))


def stacked(parts: list[Candidates]) -> Candidates:
    """Return the candidates of several sets of receptors, one after another."""
    scores = sparse.csr_array(sparse.vstack([part.scores for part in parts], format="csr"))
    return Candidates(scores, np.concatenate([part.floor for part in parts]))


def binds_epitope(binds: sparse.csr_array, epitope: np.ndarray) -> np.ndarray:
    """Return whether each receptor, a row of ``binds``, binds the epitope of this number; False for -1."""
    if not len(epitope):
        return np.empty(0, bool)
    return (binds[np.arange(len(epitope)), np.maximum(epitope, 0)] > 0) & (epitope >= 0)


# --- Epitope scores of receptors, from the labelled receptors near them
#
# The score of a receptor for an epitope is the log of the epitope's share in the local density. This
# density is the sum over all references, background receptors and a constant. The score contrasts epitopes
# with each other, like the rule ``contrast`` of `airrvec.evaluation.rules`; the constant gives a receptor
# far from every reference a low score.

N_NEIGHBOURS = 100  # nearest references, and background receptors, in the density; others are ignored
CONSTANT_DENSITY = np.exp(
    -16.0
)  # constant density: one receptor at 16 kernel widths, 0.8 between unit vectors
MIN_DENSITY = np.exp(-60.0)  # keeps the log of zero density finite
N_REPORTED = 3  # nearest references reported for each receptor
MIN_REFERENCES = 10  # an epitope with fewer references is not called
CHUNK = 65_536  # queries whose neighbours are in memory at once
BLOCK = 8192  # queries whose densities of all epitopes are in memory at once


def search_candidates(
    queries: np.ndarray,
    reference: ReferenceSet,
    vectors: np.ndarray,
    background: np.ndarray,
    *,
    min_references: int = MIN_REFERENCES,
    kernel: float = KERNEL,
    threads: int = 1,
) -> Candidates:
    """
    Return the scores of all candidate epitopes of each query.

    Parameters
    ----------
    queries : ndarray of float32, shape (n, d)
        Vectors of receptors; NaN for a receptor without a vector.
    reference : ReferenceSet
        Reference set to compare with.
    vectors : ndarray of float32, shape (n_references, d)
        Vectors of the references.
    background : ndarray of float32, shape (n_background, d)
        Vectors of background receptors, which are assumed to bind no known epitope.
    min_references : int
        An epitope with fewer references is not a candidate.
    kernel : float
        Kernel width, in the unit of the distances.
    threads : int
        Number of threads.
    """
    options = {"min_references": min_references, "kernel": kernel}
    parts = chunks(queries, reference, vectors, background, threads=threads, **options)
    return stacked([candidates for candidates, *_ in parts])


def chunks(queries, reference, vectors, background, *, threads: int = 1, **options) -> Iterator[tuple]:
    """Yield candidates, distances and rows of the nearest references, of `CHUNK` queries at once."""
    for start in range(0, max(len(queries), 1), CHUNK):
        chunk = queries[start : start + CHUNK]
        distances, rows = neighbours.nearest(chunk, vectors, N_NEIGHBOURS, threads=threads)
        to_background, _ = neighbours.nearest(chunk, background, N_NEIGHBOURS, threads=threads)
        yield score_neighbours(distances, rows, to_background, reference, **options), distances, rows


def score_neighbours(
    distances: np.ndarray,
    rows: np.ndarray,
    to_background: np.ndarray,
    reference: ReferenceSet,
    *,
    min_references: int = MIN_REFERENCES,
    kernel: float = KERNEL,
) -> Candidates:
    """
    Return the scores of all candidate epitopes from the distances to neighbours.

    The density at a receptor is D = Σ exp(−d / kernel), over the references of an epitope, over all
    references, or over the background. The score is log((D_epitope + LEAST) / (D_all + D_background + FAR)).

    Parameters
    ----------
    distances, rows : ndarray, shape (n, k)
        Distances and row numbers of the nearest references.
    to_background : ndarray, shape (n, b)
        Distances to the nearest background receptors.
    """
    candidate = (reference.epitopes["n_references"] >= min_references).to_numpy()
    labels = sparse.csr_array(reference.labels * candidate.astype(np.float32))
    labels.eliminate_zeros()
    parts = [no_candidates(len(candidate))]
    for start in range(0, len(rows), BLOCK):
        block = slice(start, start + BLOCK)
        density = np.exp(-distances[block].astype(np.float64) / kernel)  # 0 where there is no neighbour
        n, k = density.shape
        places = np.maximum(rows[block], 0).ravel()
        weights = sparse.csr_array((density.ravel(), places, np.arange(n + 1) * k), (n, len(reference)))
        shares = sparse.csr_array(weights @ labels)
        shares.sort_indices()  # the first epitope wins where scores are equal
        total = density.sum(axis=1) + np.exp(-to_background[block] / kernel).sum(axis=1) + CONSTANT_DENSITY
        shares.data = np.log((shares.data + MIN_DENSITY) / np.repeat(total, np.diff(shares.indptr)))
        floor = np.where(rows[block, 0] >= 0, np.log(MIN_DENSITY / total), np.nan)
        parts.append(Candidates(shares, floor))
    return stacked(parts)


# --- What receptors of a chain class are compared with: references, of single chains too, and background

SAMPLE = 1000  # references whose distances give the spread
LEAST_KERNEL = 1.0

# Chain class → classes whose references are evidence; the references of α chains include those of pairs.
COMPARED = {"paired": ("paired", "alpha", "beta"), "alpha": ("alpha",), "beta": ("beta",)}


@dataclass(frozen=True)
class Sources:
    """
    References and background receptors that receptors of a chain class are compared with.

    Attributes
    ----------
    chains : {"paired", "alpha", "beta"}
    references : dict of str to ReferenceSet
        References of each class of `COMPARED`.
    vectors : dict of str to ndarray of float32, shape (n_references, d)
    contrast : pyarrow.Table
        ``receptors``: background receptors that are part of the densities.
    contrast_vectors : dict of str to ndarray of float32, shape (n_contrast, d)
        Their vectors by each class of `COMPARED`.
    embed : callable
        Vectors of receptors; shape (n, d).
    min_references : int
        An epitope with fewer references is not a candidate.
    threads : int
    known_features : Features, optional
        Features of the references, if they are part of others whose features were read.
    known_classifier : LinearClassifier, optional
        If it was fitted before.
    """

    chains: str
    references: dict[str, ReferenceSet]
    vectors: dict[str, np.ndarray]
    contrast: pa.Table
    contrast_vectors: dict[str, np.ndarray]
    embed: Callable[[pa.Table], np.ndarray] = field(repr=False)
    min_references: int
    threads: int = 1
    known_features: Features | None = field(default=None, repr=False)
    known_classifier: LinearClassifier | None = field(default=None, repr=False)

    @classmethod
    def embedded(
        cls,
        chains: str,
        references: dict[str, ReferenceSet],
        contrast: pa.Table,
        embed: Callable[[pa.Table], np.ndarray],
        *,
        min_references: int,
        threads: int = 1,
    ) -> "Sources":
        """Return the sources of references and contrast receptors, whose vectors ``embed`` computes."""
        vectors = {name: embed(reference.receptors) for name, reference in references.items()}
        contrast_vectors = {name: embed(on_chains(contrast, name)) for name in references}
        return cls(chains, references, vectors, contrast, contrast_vectors, embed, min_references, threads)

    @property
    def reference(self) -> ReferenceSet:
        """References of the class itself, whose epitopes are the candidates."""
        return self.references[self.chains]

    @cached_property
    def candidates(self) -> np.ndarray:
        """Rows of the epitopes that can be called."""
        return np.flatnonzero(self.reference.epitopes["n_references"] >= self.min_references)

    @cached_property
    def kernel(self) -> float:
        """Kernel width of TCRdist, in its unit: `KERNEL_IN_SPREADS` of the distances between references."""
        receptors = self.reference.receptors
        usable = np.flatnonzero(is_measurable(receptors, CHAIN_LOCI[self.chains]))
        sample = usable[np.unique(np.linspace(0, len(usable) - 1, SAMPLE).astype(int))] if len(usable) else []
        if len(sample) < 2:
            return LEAST_KERNEL
        taken = receptors.take(pa.array(sample))
        distances = Tcrdist().distances(taken, taken)[np.triu_indices(len(sample), 1)]
        return max(KERNEL_IN_SPREADS * float(distances.std()), LEAST_KERNEL)

    @cached_property
    def classifier(self) -> LinearClassifier:
        """Linear classifier by the candidate epitopes of the references."""
        if self.known_classifier is not None:
            return self.known_classifier
        labels = sparse.csr_array(self.reference.labels[:, self.candidates])
        return linear_classifier.fit(self.features, labels)

    @cached_property
    def features(self) -> Features:
        """Features of the references and of the background, for the classifier."""
        if self.known_features is not None:
            return self.known_features
        return Features.read(self.chains, self.reference.receptors, on_chains(self.contrast, self.chains))

    def without(self, rows: np.ndarray, studies: set[str] | None) -> "Sources":
        """
        Return the sources without some references.

        Parameters
        ----------
        rows : ndarray of int64
            Rows of `reference` that are left out.
        studies : set of str or None
            Studies whose references are left out of all classes. None: single chains are left out if one of
            the ``rows`` has them.
        """
        references, vectors, features = {}, {}, None
        for chains, reference in self.references.items():
            if chains == self.chains:
                kept = np.ones(len(reference), bool)
                kept[rows] = False
            elif studies is None:
                left_out = on_chains(self.reference.receptors.take(pa.array(rows)), chains)
                ids = pa.array(identity.clonotype_ids(left_out.select(schema.RECEPTORS.names)), pa.string())
                kept = ~pc.is_in(reference.receptors["clonotype_id"], ids).to_numpy()
            else:
                columns = [number for number, name in enumerate(reference.study_names) if name in studies]
                kept = np.asarray(reference.studies[:, columns].sum(axis=1)).ravel() == 0
            taken = np.flatnonzero(kept)
            if chains == self.chains:
                features = self.features.take(taken)
            references[chains], vectors[chains] = reference.take(taken), self.vectors[chains][taken]
        return replace(
            self, references=references, vectors=vectors, known_features=features, known_classifier=None
        )


# --- Evidence

N_EPITOPES = 5  # epitopes of a receptor that are rescored
LOWEST = -40.0  # lower shares say no more
GENE_WEIGHT = 20.0  # pseudocount, in receptors, of the background's gene frequencies

# Names of the evidence by chain class, in the order of the columns of `Evidence.measures`.
NAMES = {
    "paired": ("sceptr", "tcrdist", "alpha", "beta", "alpha_genes", "beta_genes", "classifier"),
    "alpha": ("sceptr", "tcrdist", "alpha_genes", "classifier"),
    "beta": ("sceptr", "tcrdist", "beta_genes", "classifier"),
}


@dataclass(frozen=True)
class Evidence:
    """
    Evidence for pairs of a receptor and an epitope.

    Attributes
    ----------
    receptor, epitope : ndarray of int64, shape (m,)
        Row of the receptor, ascending, and of the epitope in `ReferenceSet.epitopes`.
    measures : ndarray of float64, shape (m, n_names)
        By `NAMES`.
    first : Candidates
        Scores by SCEPTR alone, of all receptors.
    """

    receptor: np.ndarray
    epitope: np.ndarray
    measures: np.ndarray
    first: Candidates

    def take(self, rows: np.ndarray) -> "Evidence":
        """Return the evidence of some receptors, whose rows ascend."""
        used = np.isin(self.receptor, rows)
        receptor = np.searchsorted(rows, self.receptor[used])
        return Evidence(receptor, self.epitope[used], self.measures[used], self.first.take(rows))


def first_candidates_in_chunks(
    sources: Sources, vectors: np.ndarray
) -> Iterator[tuple[Candidates, np.ndarray, np.ndarray]]:
    """
    Yield the candidate epitopes by SCEPTR's vectors, shape (n, d), in chunks of receptors.

    Yields
    ------
    candidates : Candidates
        Of the next receptors.
    distances, rows : ndarray, shape (n_receptors, k)
        Of the nearest references, nearest first.
    """
    yield from chunks(
        vectors,
        sources.reference,
        sources.vectors[sources.chains],
        sources.contrast_vectors[sources.chains],
        min_references=sources.min_references,
        threads=sources.threads,
    )


def first_candidates(sources: Sources, vectors: np.ndarray) -> Candidates:
    """Return the candidate epitopes by SCEPTR's vectors, shape (n, d)."""
    return stacked([candidates for candidates, _, _ in first_candidates_in_chunks(sources, vectors)])


def collect_evidence(
    sources: Sources, receptors: pa.Table, vectors: np.ndarray, threshold: float
) -> Evidence:
    """Return the evidence of receptors with vectors of shape (n, d); the rest as in `rescore`."""
    return rescore(sources, receptors, first_candidates(sources, vectors), threshold)


def rescore(sources: Sources, receptors: pa.Table, first: Candidates, threshold: float) -> Evidence:
    """
    Return the evidence for the likeliest epitopes of receptors.

    Parameters
    ----------
    sources : Sources
    receptors : pyarrow.Table
        ``receptors`` of the chain class, shape (n,).
    first : Candidates
        From `first_candidates`.
    threshold : float
        Least best score of a receptor that is rescored; the others have no evidence.
    """
    epitope, score = first.best()
    rows = np.flatnonzero((score >= threshold) & (epitope >= 0))
    values = all_measures(sources, receptors.take(pa.array(rows)), first.take(rows))
    kinds = NAMES[sources.chains]
    shares = sum(values[:, :, kinds.index(name)] for name in ("sceptr", "tcrdist"))
    likely = np.argsort(-shares, axis=1, kind="stable")[:, :N_EPITOPES]
    place = np.repeat(np.arange(len(rows)), likely.shape[1])
    return Evidence(rows[place], sources.candidates[likely.ravel()], values[place, likely.ravel()], first)


def all_measures(sources: Sources, receptors: pa.Table, first: Candidates) -> np.ndarray:
    """
    Return the evidence for all candidate epitopes of receptors, shape (n, n_candidates, n_names).

    Parameters as of `rescore`; ``first`` has no receptor without neighbours.
    """
    names = sources.reference.epitopes["epitope"].to_numpy()[sources.candidates]
    measures = {"sceptr": _dense(first, sources.candidates)}
    measures["tcrdist"] = _tcrdist_shares(sources, receptors, measures["sceptr"])
    loci = CHAIN_LOCI[sources.chains]
    if len(loci) > 1:
        for chains in ("alpha", "beta"):
            measures[chains] = _chain_shares(sources, receptors, chains, names)
    for chains in ("alpha", "beta"):
        if set(CHAIN_LOCI[chains]) <= set(loci):
            measures[f"{chains}_genes"] = _gene_ratios(sources, receptors, CHAIN_LOCI[chains][0])
    measures["classifier"] = sources.classifier.score(receptors)
    return np.stack([measures[name] for name in NAMES[sources.chains]], axis=-1)


def _dense(candidates: Candidates, columns: np.ndarray) -> np.ndarray:
    """Return the scores of some epitopes, shape (n, n_columns), at least `LOWEST`."""
    scores = candidates.scores[:, columns]
    table = np.repeat(candidates.floor[:, None], len(columns), axis=1)
    row = np.repeat(np.arange(len(candidates)), np.diff(scores.indptr))
    table[row, scores.indices] = scores.data
    return np.maximum(table, LOWEST)


def _named(reference: ReferenceSet, names: np.ndarray) -> ReferenceSet:
    """Return the references with only the epitopes of these names, in this order."""
    number = {name: row for row, name in enumerate(reference.epitopes["epitope"])}
    columns = [number.get(name, len(number)) for name in names]
    none = sparse.csc_array((len(reference), 1), dtype=np.float32)
    labels = sparse.csc_array(sparse.hstack([reference.labels, none], format="csc"))[:, columns]
    counted = pd.DataFrame({"epitope": names, "n_references": np.asarray(labels.sum(axis=0)).ravel()})
    return ReferenceSet(
        reference.receptors, counted, sparse.csr_array(labels), reference.studies, reference.study_names
    )


def _tcrdist_shares(sources: Sources, receptors: pa.Table, otherwise: np.ndarray) -> np.ndarray:
    """Return shares by TCRdist, shape (n, n_candidates); ``otherwise`` where it cannot be measured."""
    reference, loci = sources.reference, CHAIN_LOCI[sources.chains]
    queries, known, contrast_rows = (
        np.flatnonzero(is_measurable(table, loci))
        for table in (receptors, reference.receptors, sources.contrast)
    )
    shares = otherwise.copy()
    if not len(queries) or not len(known) or not len(contrast_rows):
        return shares
    against = reference.take(known)
    contrast = on_chains(sources.contrast.take(pa.array(contrast_rows)), sources.chains)
    measured = receptors.take(pa.array(queries))
    distances, rows = Tcrdist().nearest(measured, against.receptors, N_NEIGHBOURS)
    to_contrast, _ = Tcrdist().nearest(measured, contrast, N_NEIGHBOURS)
    candidates = score_neighbours(
        distances, rows, to_contrast, against, min_references=0, kernel=sources.kernel
    )
    shares[queries] = _dense(candidates, sources.candidates)
    return shares


def _chain_shares(sources: Sources, receptors: pa.Table, chains: str, names: np.ndarray) -> np.ndarray:
    """Return shares by SCEPTR's vectors of one chain, among all references with it."""
    candidates = search_candidates(
        sources.embed(on_chains(receptors, chains)),
        _named(sources.references[chains], names),
        sources.vectors[chains],
        sources.contrast_vectors[chains],
        min_references=0,
        kernel=KERNEL,
        threads=sources.threads,
    )
    candidates.floor[np.isnan(candidates.floor)] = LOWEST  # a chain that the model cannot read says nothing
    return _dense(candidates, np.arange(len(names)))


def _gene_ratios(sources: Sources, receptors: pa.Table, locus: str) -> np.ndarray:
    """
    Return log P(V, J | epitope) / P(V, J | background) of a locus, shape (n, n_candidates).

    V and J are taken as independent, alleles do not count, and the frequencies of an epitope's references
    are shrunk towards the background's with the weight of `GENE_WEIGHT` receptors. 0 for an unknown gene.
    """
    labels = sources.reference.labels[:, sources.candidates]
    total = np.zeros((len(receptors), len(sources.candidates)))
    for name in ("v_call", "j_call"):
        column = schema.field(locus, name)
        genes, known, contrast = (
            linear_classifier.genes_of(table[column]).to_pandas()
            for table in (receptors, sources.reference.receptors, sources.contrast)
        )
        number = {gene: row for row, gene in enumerate(sorted({*known.dropna(), *contrast.dropna()}))}
        if not number:
            continue
        background = np.bincount(contrast.dropna().map(number).astype(int), minlength=len(number)) + 1.0
        background /= background.sum()
        rows = np.flatnonzero(known.notna())
        has_gene = sparse.csr_array(
            (np.ones(len(rows)), (known.iloc[rows].map(number).astype(int), rows)), (len(number), len(known))
        )
        counts = (has_gene @ labels).toarray()
        shares = (counts + GENE_WEIGHT * background[:, None]) / (counts.sum(axis=0) + GENE_WEIGHT)
        ratios = np.append(np.log(shares / background[:, None]), np.zeros((1, counts.shape[1])), axis=0)
        total += ratios[genes.map(number).fillna(len(number)).astype(int)]
    return total
