"""What receptors of a chain class are compared with: references, of single chains too, and background."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

from airrvec.annotation.reference_set import ReferenceSet
from airrvec.benchmark.rules import KERNEL_IN_SPREADS
from airrvec.core import identity, schema
from airrvec.core.chains import CHAIN_LOCI, on_chains
from airrvec.encoders.tcrdist import Tcrdist
from airrvec.encoders.tcrdist_loops import is_measurable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

SAMPLE = 1000  # references whose distances give the spread
LEAST_KERNEL = 1.0

# Chain class → classes whose references are evidence; the references of α chains include those of pairs.
COMPARED = {"paired": ("paired", "alpha", "beta"), "alpha": ("alpha",), "beta": ("beta",)}


@dataclass(frozen=True)
class Sources:
    """
    What receptors of a chain class are compared with.

    Attributes
    ----------
    chains : {"paired", "alpha", "beta"}
    references : dict of str to ReferenceSet
        References of each class of `COMPARED`.
    vectors : dict of str to ndarray of float32, shape (n_references, d)
    contrast : pyarrow.Table
        ``receptors``: background receptors that are part of the densities.
    contrast_vectors : dict of str to ndarray of float32, shape (n_contrast, d)
        Their vectors by each class of `COMPARED`.
    embed : callable
        Vectors of receptors; shape (n, d).
    min_references : int
        An epitope with fewer references is not a candidate.
    threads : int
    """

    chains: str
    references: dict[str, ReferenceSet]
    vectors: dict[str, np.ndarray]
    contrast: pa.Table
    contrast_vectors: dict[str, np.ndarray]
    embed: Callable[[pa.Table], np.ndarray] = field(repr=False)
    min_references: int
    threads: int = 1

    @classmethod
    def embedded(
        cls,
        chains: str,
        references: dict[str, ReferenceSet],
        contrast: pa.Table,
        embed: Callable[[pa.Table], np.ndarray],
        *,
        min_references: int,
        threads: int = 1,
    ) -> "Sources":
        """Return the sources of references and contrast receptors, whose vectors ``embed`` computes."""
        vectors = {name: embed(reference.receptors) for name, reference in references.items()}
        contrast_vectors = {name: embed(on_chains(contrast, name)) for name in references}
        return cls(chains, references, vectors, contrast, contrast_vectors, embed, min_references, threads)

    @property
    def reference(self) -> ReferenceSet:
        """References of the class itself, whose epitopes are the candidates."""
        return self.references[self.chains]

    @cached_property
    def candidates(self) -> np.ndarray:
        """Rows of the epitopes that can be called."""
        return np.flatnonzero(self.reference.epitopes["n_references"] >= self.min_references)

    @cached_property
    def kernel(self) -> float:
        """Kernel width of TCRdist, in its unit: `KERNEL_IN_SPREADS` of the distances between references."""
        receptors = self.reference.receptors
        usable = np.flatnonzero(is_measurable(receptors, CHAIN_LOCI[self.chains]))
        sample = usable[np.unique(np.linspace(0, len(usable) - 1, SAMPLE).astype(int))] if len(usable) else []
        if len(sample) < 2:
            return LEAST_KERNEL
        taken = receptors.take(pa.array(sample))
        distances = Tcrdist().distances(taken, taken)[np.triu_indices(len(sample), 1)]
        return max(KERNEL_IN_SPREADS * float(distances.std()), LEAST_KERNEL)

    def without(self, rows: np.ndarray, studies: set[str] | None) -> "Sources":
        """
        Return the sources without some references.

        Parameters
        ----------
        rows : ndarray of int64
            Rows of `reference` that are left out.
        studies : set of str or None
            Studies whose references are left out of all classes. None: single chains are left out if one of
            the ``rows`` has them.
        """
        references, vectors = {}, {}
        for chains, reference in self.references.items():
            if chains == self.chains:
                kept = np.ones(len(reference), bool)
                kept[rows] = False
            elif studies is None:
                left_out = on_chains(self.reference.receptors.take(pa.array(rows)), chains)
                ids = pa.array(identity.clonotype_ids(left_out.select(schema.RECEPTORS.names)), pa.string())
                kept = ~pc.is_in(reference.receptors["clonotype_id"], ids).to_numpy()
            else:
                columns = [number for number, name in enumerate(reference.study_names) if name in studies]
                kept = np.asarray(reference.studies[:, columns].sum(axis=1)).ravel() == 0
            taken = np.flatnonzero(kept)
            references[chains], vectors[chains] = reference.take(taken), self.vectors[chains][taken]
        return replace(self, references=references, vectors=vectors)
