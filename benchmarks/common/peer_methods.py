#!/usr/bin/env python3
"""
Our own methods of `annotation_peers`, each in a process of its own.

    python peer_methods.py METHOD fold.pickle calls.parquet
"""

import pickle
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

import airrvec  # noqa: F401  before numpy, as in the scripts
from airrvec.annotation import calibrate, evidence, reference_set
from airrvec.annotation.evidence import Sources
from airrvec.annotation.reference_set import ReferenceSet
from airrvec.core import runtime, schema

import numpy as np
import pandas as pd
import pyarrow as pa

MIN_REFERENCES = evidence.MIN_REFERENCES


@dataclass(frozen=True)
class Fold:
    """
    What a method may use for one fold, and its queries.

    Attributes
    ----------
    queries : pyarrow.Table
        Labelled receptors of the fold's studies, then background receptors.
    known : ReferenceSet
        Pairs that no study of the fold reports.
    contrast, negatives : pyarrow.Table
        Background receptors that are not queries: those that a score contrasts with, and those that may
        train or calibrate it.
    cells, receptors : pyarrow.Table
        Everything that the other studies report, single chains too.
    """

    queries: pa.Table
    known: ReferenceSet
    contrast: pa.Table
    negatives: pa.Table
    cells: pa.Table
    receptors: pa.Table

    @property
    def candidates(self) -> np.ndarray:
        """Whether each epitope has enough references to be called, shape (n_epitopes,)."""
        return (self.known.epitopes["n_references"] >= MIN_REFERENCES).to_numpy()


def airrvec_scores(fold: Fold) -> tuple[np.ndarray, np.ndarray]:
    """
    Return airrvec's best epitope of each query, a row of ``fold.known.epitopes``, and its score.

    The one place to change if the score of annotation changes.
    """
    from airrvec.encoders.sceptr import Sceptr

    embed = Sceptr("sceptr").embed
    references = {"paired": fold.known}
    for chains in ("alpha", "beta"):
        references[chains] = reference_set.build_reference_set(
            fold.cells, fold.receptors, chains=chains, species="homosapiens"
        )
    sources = Sources.embedded("paired", references, fold.contrast, embed, min_references=MIN_REFERENCES)
    scorer = calibrate.fit(sources, fold.negatives, embed(fold.negatives)).scorer
    collected = evidence.collect_evidence(sources, fold.queries, embed(fold.queries), scorer.threshold)
    epitope, score = scorer.candidates(collected).best()
    return epitope, np.where(epitope >= 0, score, np.nan)


def tcrdist_scores(fold: Fold) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the epitope of the nearest reference by TCRdist, and minus its distance.

    References of candidates alone. Among references at the same distance the most frequent epitope wins.
    """
    from airrvec.encoders.tcrdist import Tcrdist

    labels = fold.known.labels.toarray() * fold.candidates
    used = labels.any(axis=1)
    references, labels = fold.known.receptors.filter(pa.array(used)), labels[used]
    epitope, score = [], []
    for start in range(0, len(fold.queries), 2048):
        distances = Tcrdist().distances(fold.queries.slice(start, 2048), references)
        least = distances.min(axis=1)
        votes = (distances == least[:, None]).astype(np.float32) @ labels
        epitope.append(votes.argmax(axis=1))
        score.append(-least.astype(float))
    return np.concatenate(epitope), np.concatenate(score)


def exact_scores(fold: Fold) -> tuple[np.ndarray, np.ndarray]:
    """Return the epitope of most references with the same genes and junctions, and 1; NaN without one."""
    candidate = (fold.known.epitopes["n_references"] >= MIN_REFERENCES).to_numpy()
    labels = fold.known.labels.toarray() * candidate
    votes = pd.DataFrame(labels).groupby(_genes_and_junctions(fold.known.receptors)).sum()
    counts = votes.reindex(_genes_and_junctions(fold.queries)).to_numpy()
    has_one = np.nan_to_num(counts).max(axis=1, initial=0) > 0
    return np.nan_to_num(counts).argmax(axis=1), np.where(has_one, 1.0, np.nan)


def _genes_and_junctions(receptors: pa.Table) -> np.ndarray:
    """Return the fields of both chains, without alleles, as one text for each receptor."""
    frame = receptors.select(list(schema.RECEPTOR_FIELDS)).to_pandas()
    return frame.apply(lambda column: column.str.split("*").str[0]).agg("|".join, axis=1).to_numpy()


METHODS = {"airrvec": airrvec_scores, "tcrdist": tcrdist_scores, "exact": exact_scores}


def main() -> None:
    method, source, target = sys.argv[1:]
    runtime.limit_threads(1)
    sys.modules["benchmarks.common.peer_methods"] = sys.modules[
        "__main__"
    ]  # where the pickle looks for `Fold`
    with open(source, "rb") as handle:
        fold = pickle.load(handle)  # noqa: S301 - written by annotation_peers
    epitope, score = METHODS[method](fold)
    names = fold.known.epitopes["epitope"].to_numpy()[epitope]
    pd.DataFrame({"epitope": names, "score": score}).to_parquet(target)


if __name__ == "__main__":
    main()
