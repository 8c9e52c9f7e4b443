"""Edit distance between CDR3s, the baseline of the paper (Methods, "Model benchmarking")."""

from functools import reduce
from operator import add

from airrvec.core import schema
from airrvec.encoders import present_loci

import numpy as np
import pyarrow as pa
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist


class Cdr3Levenshtein:
    """Levenshtein distance between junctions, summed over the chains present; unit: edits."""

    def distances(self, queries: pa.Table, references: pa.Table) -> np.ndarray:
        """
        Return the distances of queries to references.

        Parameters
        ----------
        queries, references : pyarrow.Table
            ``receptors``. The junction of a chain is known for all of them, or for none.

        Returns
        -------
        ndarray of int32, shape (n_queries, n_references)

        Raises
        ------
        NotMeasurable
            If a junction is missing for some receptors.
        """
        names = [
            schema.field(locus, "junction_aa")
            for locus in present_loci("CDR3 Levenshtein", ("junction_aa",), queries, references)
        ]
        parts = (
            cdist(
                queries[name].to_pylist(),
                references[name].to_pylist(),
                scorer=Levenshtein.distance,
                dtype=np.int32,
            )
            for name in names
        )
        return reduce(add, parts)
