"""Edit distance of the CDR3s, the paper's baseline (Methods, "Model benchmarking")."""

import numpy as np
import pyarrow as pa
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from airrvec import schema


class Cdr3Levenshtein:
    """Sum of the Levenshtein distances of the two junctions; unit: edits."""

    def distances(self, queries: pa.Table, references: pa.Table) -> np.ndarray:
        """
        Distances of queries to references.

        Parameters
        ----------
        queries, references : pyarrow.Table
            ``receptors`` with both junctions.

        Returns
        -------
        ndarray of int32, shape (n_queries, n_references)

        Raises
        ------
        ValueError
            If a junction is missing.
        """
        return sum(
            cdist(
                _junctions(queries, locus),
                _junctions(references, locus),
                scorer=Levenshtein.distance,
                dtype=np.int32,
            )
            for locus in schema.LOCI
        )


def _junctions(receptors: pa.Table, locus: str) -> list[str]:
    junctions = receptors[schema.field(locus, "junction_aa")]
    if junctions.null_count:
        raise ValueError("CDR3 Levenshtein needs the junction of both chains")
    return junctions.to_pylist()
