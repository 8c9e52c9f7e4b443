"""What the functions of Python return, if it is several tables."""

from typing import NamedTuple

import pandas as pd


class Reference(NamedTuple):
    """Merged labelled tables: pairs of receptor and epitope, conflicts, use of each table, same studies."""

    merged: pd.DataFrame
    conflicts: pd.DataFrame
    sources: pd.DataFrame
    same_studies: pd.DataFrame


class Clones(NamedTuple):
    """Clones, their numbers in each sample, their cells with ``cell_id``, and the samples."""

    clones: pd.DataFrame
    counts: pd.DataFrame
    members: pd.DataFrame
    samples: pd.DataFrame


class Conditions(NamedTuple):
    """What differs between the values of ``compare_by``: the tables of docs/explanations/comparison.md."""

    tests: pd.DataFrame
    measures: pd.DataFrame
    told: pd.DataFrame
    steps: pd.DataFrame
    changes: pd.DataFrame


class Clusters(NamedTuple):
    """Clusters, their members and motifs; with HLA and ``compare_by`` their associations and tests."""

    clusters: pd.DataFrame
    members: pd.DataFrame
    motifs: pd.DataFrame
    hla: pd.DataFrame | None = None
    conditions: Conditions | None = None


class Comparison(NamedTuple):
    """Pairs of samples, their vectors, shared receptors, and the description of each sample."""

    pairs: pd.DataFrame
    samples_pca: pd.DataFrame
    sample_vectors: pd.DataFrame
    public: pd.DataFrame
    largest_clones: pd.DataFrame
    clone_sizes: pd.DataFrame
    gene_usage: pd.DataFrame
    cdr3_lengths: pd.DataFrame
    vj_pairing: pd.DataFrame
    diversity: pd.DataFrame
    rarefaction: pd.DataFrame
    conditions: Conditions | None = None


class Benchmark(NamedTuple):
    """AUROC of each split, its means, differences of encoders, curves, what was not measured, the splits."""

    auroc: pd.DataFrame
    auroc_summary: pd.DataFrame
    comparisons: pd.DataFrame
    roc: pd.DataFrame
    not_evaluated: pd.DataFrame
    splits: pd.DataFrame
    benchmark_receptors: pd.DataFrame
    scores: pd.DataFrame | None = None
