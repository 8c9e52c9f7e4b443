"""Labelled receptors that an encoder puts on a line."""

from airrvec.core import schema
from airrvec.evaluation import fewshot

import numpy as np
import pyarrow as pa


class Line:
    """An encoder that puts receptors on a line, at the number that stands for their V call."""

    kernel = 0.05  # so narrow that receptors behind all references do not tie by contrast up to rounding

    def distances(self, queries, references):
        x, y = (np.array(table["tra_v_call"].to_pylist(), float) for table in (queries, references))
        return np.abs(x[:, None] - y[None])


def labelled(n=60) -> fewshot.LabelledReceptors:
    rng = np.random.default_rng(0)
    positions = np.where(np.arange(n) < n // 2, rng.normal(0, 1, n), rng.normal(1, 2, n))
    positions = (10 * positions).round()  # whole, so that ties are exact
    rows = [
        {
            "receptor_id": f"{index:03d}",
            "species": "homosapiens",
            **{
                f"{locus}_junction_aa": junction
                for locus, junction in zip(("tra", "trb"), JUNCTIONS[index % 4], strict=True)
            },
            "tra_v_call": str(x),
            "trb_v_call": f"TRBV{index % 2}*01",
        }
        for index, x in enumerate(positions)
    ]
    receptors = pa.Table.from_pylist(rows, schema.RECEPTORS)
    epitopes = {"A": np.arange(n // 2), "B": np.arange(n // 3, n), "C": np.array([1, 4])}
    return fewshot.LabelledReceptors(receptors, epitopes, {})


JUNCTIONS = [("CAVF", "CASSF"), ("CAVF", "CASTF"), ("CAVRRF", "CASSF"), ("CALLLLLF", "CAWWWWF")]


def plan(table, ks=(1, 3), seed=1):
    return fewshot.plan_splits(table, ks=list(ks), n_splits=7, min_positives=10, seed=seed)
