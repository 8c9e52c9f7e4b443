"""
Labelled receptors split by the time of their studies: earlier studies train, later studies test.

A study's time is its PMID, which rises with time: 34,000,000 is of May 2021.
"""

import re
from dataclasses import replace

from airrvec.core.seeds import generator
from airrvec.evaluation.fewshot import LabelledReceptors
from airrvec.evaluation.heldout.splits import Split, column_split

import numpy as np
import pyarrow as pa

CUT = 34_000_000  # first PMID of the later studies: May 2021
# Large studies of VDJdb 2023-06 without a PMID → the PMID of the same study, or one of its year.
PMIDS = {
    "https://github.com/antigenomics/vdjdb-db/issues/326": 35_383_307,  # published later, in 2022
    "https://doi.org/10.1016/j.xcrm.2023.101017": 37_000_000,
    "https://doi.org/10.1101/2020.05.04.20085779": 32_400_000,
}


def pmid(reference_id: str | None) -> int | None:
    """Return the PMID of a study, or one of about the same time; None if its time is unknown."""
    match = re.search(r"PMID:\s*(\d+)", reference_id or "")
    return int(match[1]) if match else PMIDS.get(reference_id or "")


def is_earlier(sources: pa.Table, cut: int) -> np.ndarray:
    """Return whether each study is earlier than a PMID, 1 or 0; NaN if its time is unknown; shape (n,)."""
    numbers = [pmid(reference_id) for reference_id in sources["reference_id"].to_pylist()]
    return np.array([np.nan if number is None else number < cut for number in numbers], float)


def time_split(
    labelled: LabelledReceptors,
    *,
    cut: int = CUT,
    per_epitope: int = 200,
    min_train: int = 50,
    min_test: int = 10,
    seed: int = 420,
) -> Split:
    """
    Split by time: receptors of earlier studies train, receptors that only later studies report test.

    Parameters
    ----------
    labelled : LabelledReceptors
        With ``sources``; pairs of studies without a time are excluded.
    cut : int
        First PMID of the later studies.
    per_epitope : int
        Most training receptors of an epitope. At least one in five of the earlier receptors validates.
    min_train, min_test : int
        Fewest earlier and later receptors of an epitope that is split.
    seed : int
        Seed of the draw between training and validation.
    """
    earlier = is_earlier(labelled.sources, cut)
    ids, epitopes = (
        np.array(labelled.sources[name].to_pylist(), object) for name in ("receptor_id", "epitope")
    )
    parts = np.full(len(ids), None, object)
    for epitope in sorted(set(epitopes)):
        old, new = (np.unique(ids[(epitopes == epitope) & (earlier == side)].astype(str)) for side in (1, 0))
        if len(old) < min_train or len(np.setdiff1d(new, old)) < min_test:
            continue
        n_train = min(per_epitope, len(old) * 4 // 5)
        train = generator(seed, epitope).choice(old, n_train, replace=False)
        is_epitope = epitopes == epitope
        parts[is_epitope & (earlier == 0)] = "test"
        parts[is_epitope & (earlier == 1)] = "validation"
        parts[is_epitope & (earlier == 1) & np.isin(ids, train)] = "train"
    sources = labelled.sources
    if "split" in sources.column_names:
        sources = sources.drop_columns("split")
    return column_split(
        replace(labelled, sources=sources.append_column("split", pa.array(parts, pa.string())))
    )
