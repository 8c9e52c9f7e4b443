"""Comparison of samples: diversity, principal components, conditions."""

from dataclasses import dataclass
from functools import cached_property

from airrvec.core import schema
from airrvec.core.progress import step
from airrvec.core.seeds import generator
from airrvec.repertoire import diversity, sample_diversity
from airrvec.repertoire.enrichment import pairs_of_values
from airrvec.repertoire.options import Group
from airrvec.stats import permutation
from airrvec.stats.components import signs

import numpy as np
import pandas as pd
import pyarrow as pa

MIN_RECEPTORS = 20  # samples with fewer receptors get no distances
_COMPONENTS = (1, 2, 3)


@dataclass(frozen=True)
class Samples:
    """
    Samples of a run, with the clonotypes of one species and chain class.

    Attributes
    ----------
    compared : airrvec.repertoire.options.Group
        These clonotypes, their vectors, and the distance within which they are neighbours.
    n_receptors, n_permutations : int
        Most receptors of a sample, drawn at random, in computations over all pairs; number of permutations
        of receptors or of samples.
    seed : int
    threads : int
    """

    compared: Group
    n_receptors: int = 1000
    n_permutations: int = 999
    seed: int = 420
    threads: int = 1

    @property
    def group(self) -> dict[str, str]:
        """Values of the columns ``species`` and ``chains`` in every table."""
        return {"species": self.compared.species, "chains": self.compared.chains}

    @cached_property
    def counts(self) -> dict[str, pd.Series]:
        """Cells per clonotype (row of the run's clonotypes, sorted) of each sample that has any."""
        repertoires = self.compared.repertoires
        counts = repertoires.counts
        counts = counts[repertoires.chains[counts["receptor"]] == self.compared.chains]
        return {
            sample: rows.set_index("receptor")["n"].sort_index()
            for sample, rows in counts.groupby("sample_id")
        }

    @cached_property
    def units(self) -> dict[str, str]:
        """What each sample of the run counts."""
        return self.compared.repertoires.units.to_dict()

    @cached_property
    def with_vectors(self) -> dict[str, np.ndarray]:
        """Clonotypes of each sample (row of the vectors, sorted by clonotype), each once."""
        place = np.full(len(self.compared.repertoires.receptors), -1)
        place[self.compared.rows] = np.arange(len(self.compared.rows))
        found = {sample: place[counts.index] for sample, counts in self.counts.items()}
        return {sample: rows[rows >= 0] for sample, rows in found.items()}

    @cached_property
    def drawn(self) -> dict[str, np.ndarray]:
        """Vectors of random clonotypes, for each sample that has at least `MIN_RECEPTORS`."""
        found = {}
        for sample, rows in self.with_vectors.items():
            if len(rows) >= MIN_RECEPTORS:
                rng = generator(self.seed, f"{self.compared.chains} {sample}")
                drawn = rng.permutation(rows)[: self.n_receptors]
                found[sample] = self.compared.vectors[drawn].astype(np.float64)
        return found

    @cached_property
    def width(self) -> float:
        """Width of the kernel, one for all samples; NaN without any."""
        if not self.drawn:
            return np.nan
        rng = generator(self.seed, f"{self.compared.chains} bandwidth")
        return permutation.bandwidth(np.concatenate(list(self.drawn.values())), rng)

    @cached_property
    def kernels(self) -> np.ndarray:
        """Mean kernel between the vectors drawn of two samples, shape (n_drawn, n_drawn)."""
        return permutation.mean_kernels(list(self.drawn.values()), self.width)


def diversity_table(samples: Samples) -> pa.Table:
    """Return `airrvec.core.schema.DIVERSITY` of the samples."""
    counts = {sample: series.to_numpy() for sample, series in samples.counts.items()}
    return sample_diversity.diversity_table(counts, samples.units, **samples.group)


@step("principal components of samples")
def pca_table(samples: Samples) -> pa.Table:
    """
    Return `airrvec.core.schema.SAMPLES_PCA`: principal components of the samples' mean vectors.

    There are no rows for fewer than three samples.
    """
    found = {sample: rows for sample, rows in samples.with_vectors.items() if len(rows)}
    if len(found) < 3:
        return schema.SAMPLES_PCA.empty_table()
    means = {sample: samples.compared.vectors[rows].mean(axis=0) for sample, rows in found.items()}
    centred = np.stack(list(means.values())).astype(np.float64)
    centred -= centred.mean(axis=0)
    left, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    components = left * sizes * signs(axes)  # (n_samples, n_axes)
    explained = sizes**2 / max((sizes**2).sum(), np.finfo(float).tiny)
    rows = []
    for place, sample in enumerate(means):
        row = {"sample_id": sample, **samples.group, "n_receptors": len(found[sample])}
        for number in _COMPONENTS[: len(means) - 1]:
            row[f"pc_{number}"] = components[place, number - 1]
            row[f"pc_{number}_explained"] = explained[number - 1]
        rows.append(row)
    return _table(rows, schema.SAMPLES_PCA)


@step("samples by condition")
def conditions_table(samples: Samples, column: str | None, found: pa.Table) -> pa.Table:
    """
    Return `airrvec.core.schema.SAMPLE_CONDITIONS`: permutation tests between values of a metadata column.

    Parameters
    ----------
    column : str or None
        Metadata column of the samplesheet; no rows without one.
    found : pyarrow.Table
        `diversity_table` of the samples.
    """
    drawn = samples.drawn
    conditions = samples.compared.repertoires.conditions(column)
    rows = []
    if column is not None:
        hill = found.to_pandas().set_index("sample_id")
        comparable = hill.index[hill["depth"].notna()]
        for value_1, value_2 in pairs_of_values(conditions[conditions.index.isin(hill.index)]):
            names = [list(conditions.index[conditions == value]) for value in (value_1, value_2)]
            tested = [[name for name in group if name in comparable] for group in names]
            if len({samples.units[name] for group in tested for name in group}) > 1:
                tested = [[], []]  # numbers of cells and of reads are not compared
            common = {"condition": column, "value_1": value_1, "value_2": value_2, **samples.group}
            rng = generator(samples.seed, f"{samples.compared.chains} {value_1} {value_2}")
            for order in diversity.ORDERS if min(map(len, tested)) > 1 else ():
                logs = np.log(hill.loc[tested[0] + tested[1], f"hill_{order}_at_coverage"].to_numpy())
                rows.append(
                    common
                    | {"measure": f"hill_{order}_at_coverage"}
                    | _difference(logs, len(tested[0]), samples, rng)
                )
            groups = [[list(drawn).index(name) for name in group if name in drawn] for group in names]
            if min(map(len, groups)) > 1:
                order = groups[0] + groups[1]
                rows.append(
                    common
                    | {"measure": "mmd"}
                    | _mmd_between(samples.kernels[np.ix_(order, order)], len(groups[0]), samples, rng)
                )
    table = pd.DataFrame(rows, columns=schema.SAMPLE_CONDITIONS.names)
    table["fdr"] = permutation.benjamini_hochberg(table["p"].to_numpy(float))
    return pa.Table.from_pandas(table, schema.SAMPLE_CONDITIONS, preserve_index=False)


def _table(rows: list[dict], columns: pa.Schema) -> pa.Table:
    return pa.Table.from_pandas(pd.DataFrame(rows, columns=columns.names), columns, preserve_index=False)


def _mmd_between(kernels: np.ndarray, n_first: int, samples: Samples, rng) -> dict:
    """Compare the first ``n_first`` samples with the others, by mean kernels between different samples."""
    divisions = permutation.divisions(len(kernels), n_first, samples.n_permutations, rng)
    values = permutation.mmd(kernels, divisions)
    return _tested(values, values, divisions, n_first)


def _difference(values: np.ndarray, n_first: int, samples: Samples, rng) -> dict:
    """Test the difference between the means of two groups, two-sided."""
    divisions = permutation.divisions(len(values), n_first, samples.n_permutations, rng)
    differences = values @ divisions / n_first - values @ ~divisions / (len(values) - n_first)
    return _tested(differences, np.abs(differences), divisions, n_first)


def _tested(values, statistics, divisions, n_first: int) -> dict:
    return {
        "n_samples_1": n_first,
        "n_samples_2": len(divisions) - n_first,
        "difference": values[0],
        "n_divisions": divisions.shape[1],
        "p": permutation.permutation_p(statistics),
    }
