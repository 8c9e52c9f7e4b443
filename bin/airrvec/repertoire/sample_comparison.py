"""Comparison of samples: public receptors, pairs of samples, their mean vectors, principal components."""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from airrvec.core import schema
from airrvec.core.progress import counter, step
from airrvec.core.seeds import generator
from airrvec.repertoire.options import Group
from airrvec.repertoire.repertoires import Repertoires
from airrvec.stats import significance
from airrvec.stats.components import signs

import numpy as np
import pandas as pd
import pyarrow as pa


@step("public receptors")
def public_table(repertoires: Repertoires) -> pa.Table:
    """
    Return `airrvec.core.schema.PUBLIC_RECEPTORS`, one row per clonotype of two or more donors.

    The clonotypes of most donors come first, then those of most samples and cells. Fields and ``receptor_id``
    are those of the first receptor of the clonotype.
    """
    counts = repertoires.counts
    counts = counts.assign(donor=counts["sample_id"].map(repertoires.samples["donor"]))
    n_donors = counts.groupby("receptor")["donor"].nunique()
    public = n_donors.index[n_donors > 1]
    rows = counts[counts["receptor"].isin(public)].sort_values(["receptor", "sample_id"])
    names = {
        column: rows.groupby("receptor")[name].agg(lambda names: ";".join(sorted({*names})))
        for column, name in (("samples", "sample_id"), ("donors", "donor"))
    }
    frame = repertoires.totals(rows, "receptor").assign(**names)
    frame = frame.reset_index().sort_values(
        ["n_donors", "n_samples", "n_cells", "receptor"], ascending=[False, False, False, True]
    )
    receptor_rows = frame["receptor"].to_numpy(np.int64)
    receptors = repertoires.read_receptors(receptor_rows)
    columns = {name: receptors[name] for name in receptors.column_names}
    shared = ("donors", "n_donors", "samples", "n_samples", "n_cells", "count_unit")
    columns |= {name: pa.array(frame[name]) for name in shared}
    columns["chains"] = pa.array(repertoires.chains[receptor_rows], pa.string())
    return pa.table({name: columns[name] for name in schema.PUBLIC_RECEPTORS.names}).cast(
        schema.PUBLIC_RECEPTORS
    )


# --- Pairs of samples: shared receptors, receptors near those of the other sample, distances in vector space

N_FRECHET = 20  # permutations that estimate the Fréchet distance by chance
MOST_TESTED = 1_000  # pairs; of more, no one reads a p-value each, and their permutations would take hours
_RECEPTORS = 20_000  # whose neighbours' samples are in memory at once


@step("pairs of samples")
def pairs_table(samples) -> pa.Table:
    """
    Return `airrvec.core.schema.SAMPLE_PAIRS`, one row per pair of samples.

    Distances are null where receptors are too few. Of more than `MOST_TESTED` pairs, what needs permutations
    (``frechet_by_chance``, ``mmd_p``, ``mmd_fdr``) is null.

    Parameters
    ----------
    samples : airrvec.repertoire.sample_comparison.Samples
    """
    names = list(samples.counts)
    pairs = list(combinations(range(len(names)), 2))
    if not pairs:
        return schema.SAMPLE_PAIRS.empty_table()
    first, second = np.array(pairs, np.int64).reshape(-1, 2).T
    measures = {
        **{name: values[first, second] for name, values in overlaps(samples).items()},
        "near_1_in_2": (near := shares_near(samples))[first, second],
        "near_2_in_1": near[second, first],
    }
    distances = _tested_pairs if len(pairs) <= MOST_TESTED else _untested
    table = pd.DataFrame(
        {
            **samples.group,
            "sample_1": np.array(names, object)[first],
            "sample_2": np.array(names, object)[second],
            "radius": samples.compared.neighbourhood.radius,
            **measures,
        }
    )
    distance_table = pd.DataFrame(
        distances(samples, [(names[i], names[j]) for i, j in pairs]), index=table.index
    )
    table = pd.concat([table, distance_table], axis=1)
    table["kernel"] = _kernels(samples, table)
    table = table.reindex(columns=schema.SAMPLE_PAIRS.names)
    table["mmd_fdr"] = significance.benjamini_hochberg(table["mmd_p"].to_numpy(float))
    for side in (1, 2):
        table[f"n_compared_{side}"] = table[f"n_compared_{side}"].astype(float).fillna(0).astype(np.int64)
    return pa.Table.from_pandas(table, schema.SAMPLE_PAIRS, preserve_index=False)


def _kernels(samples, pairs: pd.DataFrame) -> np.ndarray:
    """Return the mean kernel between the receptors drawn of each pair of samples, NaN without some."""
    place = {name: number for number, name in enumerate(samples.drawn)}
    kernels = np.full((len(place) + 1,) * 2, np.nan)  # the last row is that of samples with too few
    if place:
        kernels[:-1, :-1] = samples.weighted_kernels
    first, second = (pairs[f"sample_{side}"].map(place).fillna(-1).to_numpy(int) for side in (1, 2))
    return kernels[first, second]


def overlaps(samples) -> dict[str, np.ndarray]:
    """
    Return ``n_shared``, ``jaccard``, ``morisita_horn``, ``frequency_overlap`` of all samples, shapes (n, n).

    As `airrvec.repertoire.diversity.jaccard` and `morisita_horn`, by products of sparse matrices. The last is
    vdjtools' F: the geometric mean of both samples' shares of cells in receptors of both (Shugay et al. 2015,
    PLOS Computational Biology 11, e1004503).
    """
    import scipy.sparse

    counts = _members(list(samples.counts.values()), len(samples.compared.repertoires.receptors))
    present = (counts > 0).astype(np.float64)
    shared = (present @ present.T).toarray()
    sizes = shared.diagonal()
    shares = scipy.sparse.diags(1 / np.asarray(counts.sum(axis=1)).ravel()) @ counts
    products = (shares @ shares.T).toarray()
    squares = products.diagonal()
    in_other = (shares @ present.T).toarray()  # share of the cells of a sample (row) in receptors of a column
    return {
        "n_shared": shared.astype(np.int64),
        "jaccard": shared / (sizes[:, None] + sizes - shared),
        "morisita_horn": 2 * products / (squares[:, None] + squares),
        "frequency_overlap": np.sqrt(in_other * in_other.T),
    }


def shares_near(samples) -> np.ndarray:
    """
    Return which share of the receptors of a sample (row) is within the radius of one of another (column).

    Shape (n, n). A receptor of both is near; NaN where a sample has no vectors.
    """
    import scipy.sparse

    n = len(samples.compared.rows)
    carried = [pd.Series(1, rows) for rows in samples.with_vectors.values()]
    members = _members(carried, n).astype(np.float32)  # (n_samples, n_receptors)
    samples_of_receptor = members.T.tocsr()
    graph = samples.compared.neighbourhood.graph + scipy.sparse.eye_array(n, dtype=np.float32, format="csr")
    near = np.zeros((members.shape[0],) * 2)
    for start in range(0, n, _RECEPTORS):
        block = slice(start, start + _RECEPTORS)
        in_samples = ((graph[block] @ samples_of_receptor) > 0).astype(np.float32)  # (n_receptors, n_samples)
        near += (members[:, block] @ in_samples).toarray()
    sizes = np.asarray(members.sum(axis=1), np.float64).ravel()
    sizes[sizes == 0] = np.nan
    return near / sizes[:, None] + 0 * sizes


def _members(counts: list[pd.Series], n_receptors: int):
    """Return the samples' counts as a sparse matrix, shape (n_samples, n_receptors)."""
    import scipy.sparse

    values = np.concatenate([np.empty(0), *(series.to_numpy(np.float64) for series in counts)])
    columns = np.concatenate([np.empty(0, np.int64), *(series.index.to_numpy() for series in counts)])
    offsets = np.cumsum([0, *map(len, counts)])
    return scipy.sparse.csr_matrix((values, columns, offsets), (len(counts), n_receptors))


def _tested_pairs(samples, pairs: list[tuple[str, str]]) -> list[dict]:
    """Return the distances of pairs, and their values for permuted receptors."""
    drawn, width = samples.drawn, samples.width
    rows, compared = [], counter("pairs of samples tested", len(pairs))
    for first, second in pairs:
        if first in drawn and second in drawn:
            rng = generator(samples.seed, f"{samples.compared.chains} {first} {second}")
            rows.append(_distances(drawn[first], drawn[second], width, samples.n_permutations, rng))
        else:
            rows.append({"n_compared_1": None, "mmd_p": None})
        compared(1)
    return rows


def _distances(first, second, width: float, n_permutations: int, rng) -> dict:
    pooled = np.concatenate([first, second])
    divisions = significance.divisions(len(pooled), len(first), n_permutations, rng)
    values = significance.mmd(significance.gaussian(pooled, pooled, width), divisions)
    chance_distances = [
        significance.frechet_distance(pooled[division], pooled[~division])
        for division in divisions[:, 1 : N_FRECHET + 1].T
    ]
    return {
        "n_compared_1": len(first),
        "n_compared_2": len(second),
        "frechet": significance.frechet_distance(first, second),
        "frechet_by_chance": np.mean(chance_distances) if chance_distances else None,
        "mmd": values[0],
        "mmd_p": significance.permutation_p(values),
    }


def _untested(samples, pairs: list[tuple[str, str]]) -> list[dict]:
    """Return the distances of pairs, from means and covariances computed once per sample."""
    drawn, kernels = samples.drawn, samples.kernels
    place = {name: number for number, name in enumerate(drawn)}
    sizes = [len(vectors) for vectors in drawn.values()]
    within = _within(samples)
    moments = {name: significance.moments(vectors) for name, vectors in drawn.items()}
    rows = []
    for first, second in pairs:
        row: dict[str, float | None] = {"n_compared_1": None, "mmd_p": None}
        if first in place and second in place:
            i, j = place[first], place[second]
            row |= {
                "n_compared_1": sizes[i],
                "n_compared_2": sizes[j],
                "frechet": significance.frechet_of(moments[first], moments[second]),
                "mmd": within[i] + within[j] - 2 * kernels[i, j],
            }
        rows.append(row)
    return rows


# --- Samples, their mean vectors, principal components

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
        Most receptors of a sample, drawn at random, in computations over all pairs; permutations of them.
    seed : int
    weights : {"clones", "cells"}
        Whether mean vectors and mean kernels count each clonotype once, or by its cells.
    """

    compared: Group
    n_receptors: int = 1000
    n_permutations: int = 999
    seed: int = 420
    weights: str = "clones"

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
    def with_vectors(self) -> dict[str, np.ndarray]:
        """Clonotypes of each sample (row of the vectors, sorted by clonotype), each once."""
        place = np.full(len(self.compared.repertoires.receptors), -1)
        place[self.compared.rows] = np.arange(len(self.compared.rows))
        places = {sample: place[counts.index] for sample, counts in self.counts.items()}
        return {sample: rows[rows >= 0] for sample, rows in places.items()}

    def shares(self, sample: str, rows: np.ndarray) -> np.ndarray:
        """Return the weights of some clonotypes of a sample (rows of the vectors), which sum to 1."""
        if self.weights == "clones":
            return np.full(len(rows), 1 / len(rows))
        cells = self.counts[sample].loc[self.compared.rows[rows]].to_numpy(np.float64)
        return cells / cells.sum()

    @cached_property
    def drawn_rows(self) -> dict[str, np.ndarray]:
        """Random clonotypes (rows of the vectors) of each sample that has at least `MIN_RECEPTORS`."""
        return {
            sample: generator(self.seed, f"{self.compared.chains} {sample}").permutation(rows)[
                : self.n_receptors
            ]
            for sample, rows in self.with_vectors.items()
            if len(rows) >= MIN_RECEPTORS
        }

    @cached_property
    def drawn(self) -> dict[str, np.ndarray]:
        """Vectors of ``drawn_rows``."""
        vectors = self.compared.vectors
        return {sample: vectors[rows].astype(np.float64) for sample, rows in self.drawn_rows.items()}

    @cached_property
    def width(self) -> float:
        """Width of the kernel, one for all samples; NaN without any."""
        if not self.drawn:
            return np.nan
        rng = generator(self.seed, f"{self.compared.chains} bandwidth")
        return significance.bandwidth(np.concatenate(list(self.drawn.values())), rng)

    @cached_property
    def kernels(self) -> np.ndarray:
        """Mean kernel between the vectors drawn of two samples, each once, shape (n_drawn, n_drawn)."""
        return significance.mean_kernels(list(self.drawn.values()), self.width)

    @cached_property
    def weighted_kernels(self) -> np.ndarray:
        """The same by ``weights``; within a sample the mean between different receptors."""
        shares = [self.shares(sample, rows) for sample, rows in self.drawn_rows.items()]
        kernels = self.kernels.copy()
        if self.weights != "clones":
            kernels = significance.mean_kernels(list(self.drawn.values()), self.width, shares)
        sizes = np.array([1 / (share @ share) for share in shares])
        np.fill_diagonal(kernels, _between_different(kernels.diagonal(), sizes))
        return kernels


@step("principal components of samples")
def pca_table(samples: Samples) -> pa.Table:
    """
    Return `airrvec.core.schema.SAMPLES_PCA`: principal components of the samples' mean vectors.

    There are no rows for fewer than three samples.
    """
    rows_of_sample = {sample: rows for sample, rows in samples.with_vectors.items() if len(rows)}
    if len(rows_of_sample) < 3:
        return schema.SAMPLES_PCA.empty_table()
    means = {sample: samples.compared.vectors[rows].mean(axis=0) for sample, rows in rows_of_sample.items()}
    centred = np.stack(list(means.values())).astype(np.float64)
    centred -= centred.mean(axis=0)
    left, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    components = left * sizes * signs(axes)  # (n_samples, n_axes)
    explained = sizes**2 / max((sizes**2).sum(), np.finfo(float).tiny)
    rows = []
    for place, sample in enumerate(means):
        row = {"sample_id": sample, **samples.group, "n_receptors": len(rows_of_sample[sample])}
        for number in _COMPONENTS[: len(means) - 1]:
            row[f"pc_{number}"] = components[place, number - 1]
            row[f"pc_{number}_explained"] = explained[number - 1]
        rows.append(row)
    return _table(rows, schema.SAMPLES_PCA)


@step("vectors of samples")
def vectors_table(samples: Samples) -> pa.Table:
    """
    Return `airrvec.core.schema.sample_vectors`: the mean vector of each sample with a vector, and its kernel.

    Receptors count by the weights of ``samples``. The kernel is the mean between different receptors.
    """
    drawn = {name: number for number, name in enumerate(samples.drawn)}
    rows_of_sample = {sample: rows for sample, rows in samples.with_vectors.items() if len(rows)}
    within = dict(zip(drawn, samples.weighted_kernels.diagonal(), strict=True)) if drawn else {}
    columns = {
        "sample_id": list(rows_of_sample),
        **{name: [value] * len(rows_of_sample) for name, value in samples.group.items()},
        "n_receptors": [len(rows) for rows in rows_of_sample.values()],
        "kernel": pa.array([within.get(sample) for sample in rows_of_sample], pa.float64()),
    }
    vectors = samples.compared.vectors
    means = np.array([samples.shares(name, rows) @ vectors[rows] for name, rows in rows_of_sample.items()])
    means = means.reshape(-1, vectors.shape[1]).astype(np.float32)
    columns |= dict(zip(schema.dimensions(vectors.shape[1]), means.T, strict=True))
    return pa.table(columns).cast(schema.sample_vectors(vectors.shape[1]))


def _within(samples: Samples) -> np.ndarray:
    """Return the mean kernel between different receptors of each drawn sample."""
    return _between_different(
        samples.kernels.diagonal(), np.array([len(vectors) for vectors in samples.drawn.values()])
    )


def _between_different(means: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return mean kernels without k(x, x) = 1; ``sizes``: receptors of each sample, effective if weighted."""
    return (means * sizes - 1) / (sizes - 1)


def _table(rows: list[dict], columns: pa.Schema) -> pa.Table:
    return pa.Table.from_pandas(pd.DataFrame(rows, columns=columns.names), columns, preserve_index=False)
