"""
Distances of an encoder against TCRdist.

The paper's section "Comparison of SCEPTR embeddings to alignment-based TCR similarity" and its figure "SCEPTR
embedding distances weight sequence similarity with respect to recombination biases", panel a: all pairs of a
thousand receptors. Added here: the same for co-specific pairs, and for every encoder.
"""

from airrvec.analyses import EACH_ENCODER, AnalysisSkipped
from airrvec.analyses.material import Material, co_specific, pair_distances, tcrdist
from airrvec.core import schema

import numpy as np
import pyarrow as pa
from scipy import stats

SCOPE = EACH_ENCODER
SCHEMA = schema.DISTANCES
BIN = 24  # width of a bin of TCRdist


def measure(material: Material) -> pa.Table:
    """Return quantiles of the encoder's distance per TCRdist bin, and their correlation over all pairs."""
    if material.name == "tcrdist":
        raise AnalysisSkipped("the other encoders are compared with it")
    receptors = material.sample.receptors
    i, j = material.pairs(material.sample)
    distances = pair_distances(material.encoder, receptors, i, j)
    tcrdists = tcrdist(receptors, i, j)
    same = co_specific(material.sample, i, j)
    finite = np.isfinite(distances)
    return pa.concat_tables(
        _quantiles(material.name, kind, tcrdists[chosen & finite], distances[chosen & finite])
        for kind, chosen in (("all", np.ones(len(i), bool)), ("co_specific", same))
    )


def _quantiles(name: str, kind: str, tcrdists: np.ndarray, distances: np.ndarray) -> pa.Table:
    if len(distances) < 2:
        return SCHEMA.empty_table()
    bins = (tcrdists // BIN).astype(int)
    # The correlation with a constant is undefined: null.
    varies = np.ptp(distances) > 0 and np.ptp(tcrdists) > 0
    correlations = {
        "spearman": float(stats.spearmanr(tcrdists, distances)[0]) if varies else None,
        "pearson": float(stats.pearsonr(tcrdists, distances)[0]) if varies else None,
    }
    rows = []
    for number in np.unique(bins):
        in_bin = distances[bins == number]
        quantiles = np.quantile(in_bin, (0.05, 0.25, 0.5, 0.75, 0.95))
        rows.append(
            {
                **{"encoder": name, "pairs": kind, "tcrdist": number * BIN, "n_pairs": len(in_bin)},
                **dict(zip(SCHEMA.names[4:9], quantiles.tolist(), strict=True)),
                **correlations,
            }
        )
    return pa.Table.from_pylist(rows, SCHEMA)
