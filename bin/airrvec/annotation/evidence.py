"""
Evidence for the epitopes that a receptor may have.

All receptors are compared by SCEPTR's vectors. Those whose best epitope is at least as likely by them as that
of one background receptor in five are looked at again: for their five likeliest epitopes there is the share
of each epitope in the density by TCRdist, in that by either chain alone among all references with this chain,
and the likelihood of the V and J genes. Numbers are natural logarithms; greater is more likely.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from airrvec.annotation import search
from airrvec.annotation.candidates import Candidates, stacked
from airrvec.annotation.reference_set import ReferenceSet
from airrvec.annotation.sources import Sources
from airrvec.benchmark.rules import KERNEL
from airrvec.core import schema
from airrvec.core.chains import CHAIN_LOCI, on_chains
from airrvec.core.columns import by_distinct
from airrvec.encoders.tcrdist import Tcrdist
from airrvec.encoders.tcrdist_loops import is_measurable
from airrvec.search import counting

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy import sparse

N_EPITOPES = 5  # epitopes of a receptor that are looked at again
LOWEST = -40.0  # lower shares say no more
GENE_WEIGHT = 20.0  # receptors that the gene frequencies of the background count as, in those of an epitope
QUERIES = 2048  # queries whose TCRdist to all references is in memory at once

# Names of the evidence by chain class, in the order of the columns of `Evidence.measures`.
NAMES = {
    "paired": ("sceptr", "tcrdist", "alpha", "beta", "alpha_genes", "beta_genes"),
    "alpha": ("sceptr", "tcrdist", "alpha_genes"),
    "beta": ("sceptr", "tcrdist", "beta_genes"),
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


def first_looks(sources: Sources, vectors: np.ndarray) -> Iterator[tuple[Candidates, np.ndarray, np.ndarray]]:
    """
    Yield the scores by SCEPTR's vectors, shape (n, d), alone, of many receptors at once.

    Yields
    ------
    candidates : Candidates
        Of the next receptors.
    distances, rows : ndarray, shape (n_receptors, k)
        Of the nearest references, nearest first.
    """
    yield from search.chunks(
        vectors,
        sources.reference,
        sources.vectors[sources.chains],
        sources.contrast_vectors[sources.chains],
        min_references=sources.min_references,
        threads=sources.threads,
    )


def first_look(sources: Sources, vectors: np.ndarray) -> Candidates:
    """Return the scores of all candidates by SCEPTR's vectors, shape (n, d), alone."""
    return stacked([candidates for candidates, _, _ in first_looks(sources, vectors)])


def both_looks(sources: Sources, receptors: pa.Table, vectors: np.ndarray, threshold: float) -> Evidence:
    """Return the evidence of receptors with vectors of shape (n, d); the rest as in `second_look`."""
    return second_look(sources, receptors, first_look(sources, vectors), threshold)


def second_look(sources: Sources, receptors: pa.Table, first: Candidates, threshold: float) -> Evidence:
    """
    Return the evidence for the likeliest epitopes of receptors.

    Parameters
    ----------
    sources : Sources
    receptors : pyarrow.Table
        ``receptors`` of the chain class, shape (n,).
    first : Candidates
        From `first_look`.
    threshold : float
        Receptors whose best score of the first look is lower have no evidence.
    """
    epitope, score = first.best()
    rows = np.flatnonzero((score >= threshold) & (epitope >= 0))
    receptors = receptors.take(pa.array(rows))
    names = sources.reference.epitopes["epitope"].to_numpy()[sources.candidates]
    by_name = {"sceptr": _dense(first.take(rows), sources.candidates)}
    by_name["tcrdist"] = _tcrdist_shares(sources, receptors, by_name["sceptr"])
    loci = CHAIN_LOCI[sources.chains]
    if len(loci) > 1:
        for chains in ("alpha", "beta"):
            by_name[chains] = _chain_shares(sources, receptors, chains, names)
    for chains in ("alpha", "beta"):
        if set(CHAIN_LOCI[chains]) <= set(loci):
            by_name[f"{chains}_genes"] = _gene_ratios(sources, receptors, CHAIN_LOCI[chains][0])
    values = np.stack([by_name[name] for name in NAMES[sources.chains]], axis=-1)
    likely = np.argsort(-(by_name["sceptr"] + by_name["tcrdist"]), axis=1, kind="stable")[:, :N_EPITOPES]
    place = np.repeat(np.arange(len(rows)), likely.shape[1])
    return Evidence(rows[place], sources.candidates[likely.ravel()], values[place, likely.ravel()], first)


def _dense(candidates: Candidates, columns: np.ndarray) -> np.ndarray:
    """Return the scores of some epitopes, shape (n, n_columns), at least `LOWEST`."""
    table = np.repeat(candidates.floor[:, None], candidates.scores.shape[1], axis=1)
    row = np.repeat(np.arange(len(candidates)), np.diff(candidates.scores.indptr))
    table[row, candidates.scores.indices] = candidates.scores.data
    return np.maximum(table[:, columns], LOWEST)


def _named(reference: ReferenceSet, names: np.ndarray) -> ReferenceSet:
    """Return the references with the epitopes of these names alone, in this order."""
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
    queries, known, others = (
        np.flatnonzero(is_measurable(table, loci))
        for table in (receptors, reference.receptors, sources.contrast)
    )
    shares = otherwise.copy()
    if not len(queries) or not len(known) or not len(others):
        return shares
    against = reference.take(known)
    contrast = on_chains(sources.contrast.take(pa.array(others)), sources.chains)
    for start in range(0, len(queries), QUERIES):
        block = queries[start : start + QUERIES]
        asked = receptors.take(pa.array(block))
        distances, rows = _nearest(Tcrdist().distances(asked, against.receptors))
        to_contrast, _ = _nearest(Tcrdist().distances(asked, contrast))
        found = search.score_neighbours(
            distances, rows, to_contrast, against, min_references=0, kernel=sources.kernel
        )
        shares[block] = _dense(found, sources.candidates)
    return shares


def _nearest(distances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the `search.N_NEIGHBOURS` least distances of each row, and their columns."""
    least, columns = counting.nearest(distances, min(search.N_NEIGHBOURS, distances.shape[1]))
    return least.astype(np.float32), columns


def _chain_shares(sources: Sources, receptors: pa.Table, chains: str, names: np.ndarray) -> np.ndarray:
    """Return shares by SCEPTR's vectors of one chain, among all references with it."""
    found = search.search_candidates(
        sources.embed(on_chains(receptors, chains)),
        _named(sources.references[chains], names),
        sources.vectors[chains],
        sources.contrast_vectors[chains],
        min_references=0,
        kernel=KERNEL,
        threads=sources.threads,
    )
    found.floor[np.isnan(found.floor)] = LOWEST  # a chain that the model cannot read says nothing
    return _dense(found, np.arange(len(names)))


def _gene(call: str | None) -> str | None:
    """Return the gene of a call, without the allele."""
    return call and call.split("*")[0]


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
        genes, known, others = (
            by_distinct(table[column], _gene).to_pandas()
            for table in (receptors, sources.reference.receptors, sources.contrast)
        )
        number = {gene: row for row, gene in enumerate(sorted({*known.dropna(), *others.dropna()}))}
        if not number:
            continue
        background = np.bincount(others.dropna().map(number).astype(int), minlength=len(number)) + 1.0
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
