"""
Distances before and after fine-tuning, for co-specific and cross-specific pairs.

The paper's figure "Supervised contrastive learning reshapes the embedding space": each pair has one receptor
of the training part and one of the test part. The parts are those of `airrvec.evaluation.heldout.splits`, as
in fine-tuning; for the published model they are rebuilt by the paper's rule.
"""

from dataclasses import replace

from airrvec.analyses import BEFORE_AND_AFTER, AnalysisSkipped
from airrvec.analyses.material import Material, co_specific, pair_distances, subset
from airrvec.core import schema
from airrvec.core.errors import InputError
from airrvec.core.seeds import generator
from airrvec.evaluation.heldout import splits

import numpy as np
import pandas as pd
import pyarrow as pa

SCOPE = BEFORE_AND_AFTER
MEASURED = pa.schema(
    [
        *((name, pa.string()) for name in ("encoder", "train_receptor_id", "test_receptor_id")),
        ("co_specific", pa.bool_()),
        ("distance", pa.float64()),
    ]
)
SCHEMA = schema.FINE_TUNING
N_PAIRS = 5_000  # of each kind, co-specific and cross-specific


def measure(material: Material) -> pa.Table:
    """Return distances of random pairs of a training and a test receptor, `N_PAIRS` or fewer of each kind."""
    split = _split(material)
    rows = np.union1d(split.rows("train"), split.rows("test"))
    if not len(split.rows("test")):
        raise AnalysisSkipped("no receptor is held out for testing")
    chosen = subset(split.labelled, rows)
    # For a receptor of several epitopes, only those in the split count.
    in_split = {name: own for name, own in chosen.epitopes.items() if name in split.epitopes}
    chosen = replace(chosen, epitopes=in_split)
    train, test = (np.searchsorted(rows, split.rows(part)) for part in ("train", "test"))
    i, j, same = _pairs(chosen, train, test, generator(material.seed, "fine_tuning"))
    ids = chosen.receptors["receptor_id"]
    return pa.table(
        [
            pa.repeat(material.name, len(i)),
            ids.take(pa.array(i)),
            ids.take(pa.array(j)),
            pa.array(same),
            pair_distances(material.encoder, chosen.receptors, i, j),
        ],
        schema=MEASURED,
    )


def _split(material: Material) -> splits.Split:
    options = dict(material.splitting or {})
    method = options.pop("method")
    try:
        if method == "given":
            return splits.column_split(material.labelled)
        if method == "random":
            return splits.random_split(
                material.labelled, min_receptors=options["min_receptors"], seed=material.seed
            )
        return splits.study_split(material.labelled, **options, seed=material.seed)
    except InputError as problem:
        raise AnalysisSkipped(str(problem)) from problem


def _pairs(chosen, train: np.ndarray, test: np.ndarray, rng) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return `N_PAIRS` or fewer of each kind: training receptors, sorted; test receptors; co-specificity."""
    drawn = rng.integers(0, len(train) * len(test), 40 * N_PAIRS)
    i, j = np.divmod(np.unique(drawn), len(test))
    i, j = train[i], test[j]
    same = co_specific(chosen, i, j)
    kept = [
        rng.choice(rows, min(N_PAIRS, len(rows)), replace=False)
        for rows in (np.flatnonzero(same), np.flatnonzero(~same))
    ]
    kept = np.sort(np.concatenate(kept))
    return i[kept], j[kept], same[kept]


def conclude(measured: pa.Table, _auroc: pd.DataFrame) -> pa.Table:
    """Return one row per pair, with both distances."""
    data = measured.to_pandas()
    names = list(data["encoder"].unique())
    if len(names) != 2:
        raise AnalysisSkipped("the model before or after fine-tuning could not be measured")
    keys = MEASURED.names[1:4]
    before, after = (data[data["encoder"] == name].drop(columns="encoder") for name in names)
    both = before.merge(after, on=keys, suffixes=("_before", "_after")).assign(
        before=names[0], after=names[1]
    )
    return pa.Table.from_pandas(both[SCHEMA.names], SCHEMA, preserve_index=False)
