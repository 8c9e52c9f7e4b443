"""Pairs of samples: shared receptors, receptors near those of the other sample, distances in vector space."""

from itertools import combinations

from airrvec.core import schema
from airrvec.core.progress import counter, step
from airrvec.core.seeds import generator
from airrvec.search import radius_search
from airrvec.stats import permutation

import numpy as np
import pandas as pd
import pyarrow as pa

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
    samples : airrvec.repertoire.sample_tables.Samples
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
    distances = _tested if len(pairs) <= MOST_TESTED else _untested
    table = pd.DataFrame(
        {
            **samples.group,
            "sample_1": np.array(names, object)[first],
            "sample_2": np.array(names, object)[second],
            "radius": samples.compared.radius,
            **measures,
        }
    )
    found = pd.DataFrame(distances(samples, [(names[i], names[j]) for i, j in pairs]), index=table.index)
    table = pd.concat([table, found], axis=1).reindex(columns=schema.SAMPLE_PAIRS.names)
    table["mmd_fdr"] = permutation.benjamini_hochberg(table["mmd_p"].to_numpy(float))
    for side in (1, 2):
        table[f"n_compared_{side}"] = table[f"n_compared_{side}"].astype(float).fillna(0).astype(np.int64)
    return pa.Table.from_pandas(table, schema.SAMPLE_PAIRS, preserve_index=False)


def overlaps(samples) -> dict[str, np.ndarray]:
    """
    Return ``n_shared``, ``jaccard`` and ``morisita_horn`` of all samples, each of shape (n, n).

    As `airrvec.repertoire.diversity.jaccard` and `morisita_horn`, by products of sparse matrices.
    """
    import scipy.sparse

    counts = _members(list(samples.counts.values()), len(samples.compared.repertoires.receptors))
    present = (counts > 0).astype(np.float64)
    shared = (present @ present.T).toarray()
    sizes = shared.diagonal()
    shares = scipy.sparse.diags(1 / np.asarray(counts.sum(axis=1)).ravel()) @ counts
    products = (shares @ shares.T).toarray()
    squares = products.diagonal()
    return {
        "n_shared": shared.astype(np.int64),
        "jaccard": shared / (sizes[:, None] + sizes - shared),
        "morisita_horn": 2 * products / (squares[:, None] + squares),
    }


def shares_near(samples) -> np.ndarray:
    """
    Return which share of the receptors of a sample (row) is within the radius of one of another (column).

    Shape (n, n). A receptor of both is near; NaN where a sample has no vectors.
    """
    import scipy.sparse

    vectors, radius = samples.compared.vectors, samples.compared.radius
    carried = [pd.Series(1, rows) for rows in samples.with_vectors.values()]
    members = _members(carried, len(vectors)).astype(np.float32)  # (n_samples, n_receptors)
    in_any = np.flatnonzero(np.asarray(members.sum(axis=0)).ravel())
    if len(in_any) < len(vectors):
        vectors, members = vectors[in_any], members[:, in_any]
    of_receptor = members.T.tocsr()
    first, second, _ = radius_search.pairs_within(vectors, radius, threads=samples.threads)
    half = scipy.sparse.csr_matrix((np.ones(len(first), np.float32), (first, second)), (len(vectors),) * 2)
    graph = half + half.T + scipy.sparse.identity(len(vectors), np.float32, "csr")
    near = np.zeros((members.shape[0],) * 2)
    for start in range(0, len(vectors), _RECEPTORS):
        block = slice(start, start + _RECEPTORS)
        in_samples = ((graph[block] @ of_receptor) > 0).astype(np.float32)  # (n_receptors, n_samples)
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


def _tested(samples, pairs: list[tuple[str, str]]) -> list[dict]:
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
    divisions = permutation.divisions(len(pooled), len(first), n_permutations, rng)
    values = permutation.mmd(permutation.gaussian(pooled, pooled, width), divisions)
    by_chance = [
        permutation.frechet_distance(pooled[division], pooled[~division])
        for division in divisions[:, 1 : N_FRECHET + 1].T
    ]
    return {
        "n_compared_1": len(first),
        "n_compared_2": len(second),
        "frechet": permutation.frechet_distance(first, second),
        "frechet_by_chance": np.mean(by_chance) if by_chance else None,
        "mmd": values[0],
        "mmd_p": permutation.permutation_p(values),
    }


def _untested(samples, pairs: list[tuple[str, str]]) -> list[dict]:
    """Return the distances of pairs from what is computed once for each sample."""
    drawn, kernels = samples.drawn, samples.kernels
    place = {name: number for number, name in enumerate(drawn)}
    sizes = np.array([len(vectors) for vectors in drawn.values()])
    # Of different vectors: k(x, x) = 1.
    within = (kernels.diagonal() * sizes - 1) / (sizes - 1)
    moments = {name: permutation.moments(vectors) for name, vectors in drawn.items()}
    rows = []
    for first, second in pairs:
        row = {"n_compared_1": None, "mmd_p": None}
        if first in place and second in place:
            i, j = place[first], place[second]
            row |= {
                "n_compared_1": sizes[i],
                "n_compared_2": sizes[j],
                "frechet": permutation.frechet_of(moments[first], moments[second]),
                "mmd": within[i] + within[j] - 2 * kernels[i, j],
            }
        rows.append(row)
    return rows
