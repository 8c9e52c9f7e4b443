"""
Public challenges: their receptors read, scored for epitopes, and compared with the published tables.

The score is the one that docs/benchmarks/index.md recommends for ranking receptors by labelled references
alone: the rule `contrast` on the sum of SCEPTR's and TCRdist's distances.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from airrvec import encoders
from airrvec.annotation.reference_set import ReferenceSet
from airrvec.core import schema
from airrvec.core.chains import CHAIN_LOCI
from airrvec.encoders.tcrdist_loops import is_measurable
from airrvec.evaluation.rules import RULES
from airrvec.evaluation.scoring import Distances
from airrvec.input import normalise, reading

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import scipy

ENCODER, RULE = "sceptr+tcrdist", "contrast"
OWN = "airrvec"
BLOCK = 512  # queries whose distances to all references are in memory at once
DRAWS = 1000  # of the bootstrap over epitopes


class Pairs(NamedTuple):
    """Cells and distinct receptors of a table, and the receptor of each of its rows; -1 if it is rejected."""

    cells: pa.Table
    receptors: pa.Table
    row: np.ndarray

    def clonotypes(self) -> np.ndarray:
        """Return the ``clonotype_id`` of each row; an empty text if it is rejected."""
        ids = [*self.receptors["clonotype_id"].to_pylist(), ""]
        return np.array(ids, object)[self.row]


def read_pairs(frame: pd.DataFrame, columns: dict[str, str]) -> Pairs:
    """Return the receptors of a table; ``columns``: airrvec's field → column."""
    table = pd.DataFrame({field: frame[column].to_numpy() for field, column in columns.items()})
    table = table.assign(cell_id=range(len(frame)))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "receptors.tsv"
        table.to_csv(path, sep="\t", index=False)
        source = reading.open_chains(path, None, {name: name for name in table.columns})
        result = normalise.normalise(source, sample_id="challenge", species="homosapiens")
    place = pc.index_in(result.cells["receptor_id"], result.receptors["receptor_id"].combine_chunks())
    row = np.full(len(frame), -1)
    row[result.cells["cell_id"].to_numpy().astype(int)] = place.to_numpy()
    return Pairs(result.cells, result.receptors, row)


def score_epitopes(reference: ReferenceSet, queries: pa.Table, epitopes: list[str]) -> np.ndarray:
    """
    Return the score of each query for each epitope; greater is more likely.

    Parameters
    ----------
    reference : ReferenceSet
        Its epitopes are contrasted with each other.
    queries : pyarrow.Table
        ``receptors``, shape (n,).
    epitopes : list of str

    Returns
    -------
    ndarray of float64, shape (n, n_epitopes)
        NaN for an epitope without references, and for a query that TCRdist cannot measure.
    """
    loci = CHAIN_LOCI["paired"]
    reference = reference.take(np.flatnonzero(is_measurable(reference.receptors, loci)))
    measured = np.flatnonzero(is_measurable(queries, loci))
    tables = reference.receptors, queries.take(pa.array(measured))
    receptors = pa.concat_tables([table.select(schema.RECEPTORS.names) for table in tables])
    distances = Distances(encoders.load(ENCODER), receptors, None)
    labels, n = reference.labels.toarray() > 0, len(reference)
    names = reference.epitopes["epitope"].tolist()
    scores = np.full((len(queries), len(epitopes)), np.nan)
    for start in range(0, len(measured), BLOCK):
        rows = measured[start : start + BLOCK]
        to_all = distances.rows_to_all(n + start + np.arange(len(rows)))[:, :n]
        for column, epitope in enumerate(epitopes):
            members = labels[:, names.index(epitope)] if epitope in names else np.zeros(n, bool)
            if members.any():
                score = RULES[RULE].score(to_all[:, members], to_all, kernel=distances.kernel)
                scores[rows, column] = -score
    return scores


def with_lowest(scores: np.ndarray) -> np.ndarray:
    """Return scores with one below all scores in place of NaN."""
    lowest = np.nanmin(scores) if np.isfinite(scores).any() else 0.0
    return np.where(np.isnan(scores), lowest - 1, scores)


def ranks(scores: np.ndarray) -> np.ndarray:
    """Return the rank of each epitope of a receptor, 1 the best; equal scores share their mean rank."""
    return scipy.stats.rankdata(-np.where(np.isnan(scores), -np.inf, scores), axis=1)


def peer_rows(own: pd.Series, peers: pd.DataFrame, *, lower_is_better: bool = False) -> list[dict]:
    """
    Return a row for each method, and our own, the best mean first.

    Parameters
    ----------
    own : Series
        Our measure of each epitope.
    peers : DataFrame
        Published measures, a row per method, a column per epitope; NaN where a method has none.
    lower_is_better : bool
        Of the measure.

    Returns
    -------
    list of dict
        ``method``; ``mean`` over the ``epitopes`` (their number) that both have; ``own``, our mean over the
        same; ``peer_better``: epitopes at which the peer is better; ``low``, ``high``: 95 % of the difference
        peer - own, bootstrap over epitopes.
    """
    rows = [{"method": OWN, "mean": own.mean(), "epitopes": len(own), "bold": ["method", "mean"]}]
    rows[0] |= dict.fromkeys(("own", "peer_better", "low", "high"))
    for method, published in peers.iterrows():
        values = published.reindex(own.index).dropna().astype(float)
        difference = (values - own[values.index]).to_numpy()
        draws = np.random.default_rng(420).integers(len(values), size=(DRAWS, len(values)))
        low, high = np.quantile(difference[draws].mean(axis=1), [0.025, 0.975])
        better = (difference < 0) if lower_is_better else (difference > 0)
        row = {"method": method, "mean": values.mean(), "epitopes": len(values), "low": low, "high": high}
        rows.append({**row, "own": own[values.index].mean(), "peer_better": int(better.sum())})
    return sorted(rows, key=lambda row: row["mean"], reverse=not lower_is_better)


def best_peer(peers: pd.DataFrame, epitope: str, *, lower_is_better: bool = False) -> tuple[str, float]:
    """Return the published method that is best at an epitope, and its measure."""
    column = peers[epitope].dropna()
    name = column.idxmin() if lower_is_better else column.idxmax()
    return str(name), float(column[name])
