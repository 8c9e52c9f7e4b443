"""
Samples compared by a column of the samplesheet: what is measured of each, and a test of all of it.

Everything is read from the tables of the run: clones and their cells, genes, lengths, diversity, pairs of
samples. What is tested, and by which exchanges, is `airrvec.stats.designs`; the tests of numbers are
`airrvec.stats.rank_tests`, those of similarities are here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from airrvec.core import schema, tables
from airrvec.core.progress import step
from airrvec.core.schema.comparison import N_MEASURED, SIMILARITIES
from airrvec.core.schema.samples import CLONE_SIZES_LIMITS
from airrvec.core.seeds import generator
from airrvec.repertoire.diversity import FEW_CELLS
from airrvec.stats import rank_tests, significance
from airrvec.stats.designs import TREND, TWO_GROUPS, Design

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa

LARGE = CLONE_SIZES_LIMITS["Medium"]  # share of a sample's cells above which a clone is large
FEW_FOR_LARGE = 2 / LARGE  # cells of a sample; of fewer, a single cell could be a large clone
MIN_CARRYING = 2  # units that have a gene, cluster or pathogen; a single one is no evidence
LOGS = ("hill_0_at_coverage", "hill_1_at_coverage", "hill_2_at_coverage")


@dataclass(frozen=True)
class Measured:
    """
    Numbers of samples.

    Attributes
    ----------
    measure : str
        Of `airrvec.core.schema.MEASURES`.
    species : str
    chains : str or None
        Class of chains, None if the cells of all classes are counted.
    table : DataFrame
        One row per sample, one column per feature (a single one with the name "" if the measure has none);
        NaN for a sample of which nothing is known, such as one with too few cells.
    """

    measure: str
    species: str
    chains: str | None
    table: pd.DataFrame


def read_samples(clones: Path, order: list[str] | None = None) -> pd.DataFrame:
    """
    Return the samples of a run with their metadata, index ``sample_id``.

    Parameters
    ----------
    clones : Path
        Folder written by ``count_clones.py``.
    order : list of str, optional
        Names of samples in the order of the samplesheet; in that of their names if not given.
    """
    samples = tables.read(clones / "samples.parquet").to_pandas().set_index("sample_id").sort_index()
    return samples if order is None else samples.loc[[name for name in order if name in samples.index]]


@step("measures of samples")
def measures(counted: duckdb.DuckDBPyRelation, described: Path) -> list[Measured]:
    """
    Return all that is measured of each sample by itself.

    Parameters
    ----------
    counted : duckdb.DuckDBPyRelation
        From `airrvec.repertoire.clone_table.counted_clones`.
    described : Path
        Folder written by ``describe_samples.py``, or by ``describe_gamma_delta.py``.
    """
    return [*_diversity(described), *_large_clones(described), *_usage(described), *_shares(counted)]


def _diversity(folder: Path) -> Iterator[Measured]:
    """Yield Hill numbers at equal coverage, as logarithms, and the probability that two cells are a clone."""
    frame = tables.read(folder / "diversity.parquet").to_pandas().set_index("sample_id")
    for (species, chains), rows in frame.groupby(["species", "chains"], sort=False):
        comparable = rows["depth"] >= FEW_CELLS
        one_unit = len({*rows.loc[comparable, "count_unit"]}) == 1
        for name in LOGS if one_unit else ():  # numbers of cells and of reads are not compared
            yield _single(name, species, chains, np.log(rows[name]).where(comparable))
        pairs = rows["coincidence"].where(rows["n_cells"] >= FEW_CELLS)
        yield _single("coincidence", species, chains, pairs)


def _large_clones(folder: Path) -> Iterator[Measured]:
    """Yield the share of cells in clones above a hundredth of the sample."""
    frame = tables.read(folder / "clone_sizes.parquet").to_pandas()
    totals = frame.groupby("sample_id")["n_cells"].sum()
    large = frame[frame["above"] >= LARGE].groupby("sample_id")["share"].sum()
    yield _single("large_clones", None, None, large.where(totals >= FEW_FOR_LARGE))


def wide(rows: pd.DataFrame, column: str, numbers: str) -> pd.DataFrame:
    """Return numbers with a row per sample and a column per value of a column, 0 where there is no row."""
    return rows.pivot_table(index="sample_id", columns=column, values=numbers, fill_value=0)


def _single(measure: str, species, chains, values: pd.Series) -> Measured:
    return Measured(measure, species, chains, values.astype(float).to_frame(""))


def _usage(folder: Path) -> Iterator[Measured]:
    """Yield shares of clones by V and J gene, and the mean length of their CDR3."""
    genes = tables.read(folder / "gene_usage.parquet").to_pandas()
    for (species, segment, _locus), rows in genes.groupby(["species", "segment", "locus"], sort=False):
        n_clones = rows.groupby("sample_id")["n_clones"].sum()
        shares = wide(rows, "gene", "clone_share")
        yield Measured(f"{segment.lower()}_gene", species, None, shares[n_clones >= FEW_CELLS])
    lengths = tables.read(folder / "cdr3_lengths.parquet").to_pandas()
    for (species, locus), rows in lengths.groupby(["species", "locus"], sort=False):
        n_clones = rows.groupby("sample_id")["n_clones"].sum()
        mean = (rows["length"] * rows["clone_share"]).groupby(rows["sample_id"]).sum()
        yield Measured("cdr3_length", species, None, mean[n_clones >= FEW_CELLS].to_frame(locus))


def _shares(counted: duckdb.DuckDBPyRelation) -> Iterator[Measured]:
    """Yield shares of cells in each cluster, and of cells with a call for each pathogen."""
    kinds = {
        "cluster": ("cluster_id", "species, chains", "n > 0"),
        "pathogen": ("call_antigen_species", "species", "call IS NOT NULL"),
    }
    for measure, (feature, group, among) in kinds.items():
        rows = counted.filter(among)
        sums = rows.aggregate(f"{group}, sample_id, {feature} AS feature, sum(n)::DOUBLE AS n").df()
        for key, part in sums.groupby(group.split(", "), sort=True):
            totals = part.groupby("sample_id")["n"].sum()
            known = part[part["feature"].notna()]
            shares = (
                wide(known, "feature", "n")
                .reindex(totals.index)
                .fillna(0)
                .div(totals, axis=0)[totals >= FEW_CELLS]
            )
            yield Measured(measure, key[0], key[1] if len(key) > 1 else None, shares)


def not_measured(made: list[Measured], designs: list[Design]) -> list[dict]:
    """Return the samples of the designs of which a measure is not known, such as those with too few cells."""
    names = list(dict.fromkeys(name for design in designs for unit in design.samples for name in unit))
    rows = []
    for one in made:
        unknown = [name for name in names if name not in one.table.dropna(how="all").index]
        if unknown:
            about = {"measure": one.measure, "species": one.species, "chains": one.chains}
            rows.append({**about, "samples": unknown})
    return rows


def measures_table(made: list[Measured], tests: pa.Table, samples: pd.DataFrame, column: str) -> pa.Table:
    """
    Return `airrvec.core.schema.CONDITION_MEASURES`: the numbers of samples with a value of the column.

    Parameters
    ----------
    made : list of Measured
    tests : pyarrow.Table
        From `tests_table`; of each measure, the features with the smallest p are kept.
    samples : DataFrame
        Index ``sample_id``; ``donor`` and the column.
    column : str
        Metadata column whose values are compared.
    """
    known = samples[samples[column].notna()]
    keys = ["measure", "feature", "species", "chains"]
    lowest = tests.to_pandas().groupby(keys, dropna=False, sort=False)["p"].min().sort_values(kind="stable")
    lowest = lowest.groupby(level="measure", sort=False).head(N_MEASURED)
    kept = {tuple(None if pd.isna(part) else part for part in key) for key in lowest.index}
    about = {"condition": column, "value": known[column].astype(str), "donor": known["donor"].astype(str)}
    parts = []
    for one in made:
        numbers = one.table.reindex(known.index)
        for feature in one.table.columns:
            key = (one.measure, feature or None, one.species, one.chains)
            if not feature or key in kept:
                part = (
                    dict(zip(keys, key, strict=True)) | about | {"number": numbers[feature].to_numpy(float)}
                )
                parts.append(pd.DataFrame({"sample_id": known.index, **part}, index=known.index))
    frame = pd.concat(parts) if parts else pd.DataFrame(columns=schema.CONDITION_MEASURES.names)
    frame = frame.reindex(columns=schema.CONDITION_MEASURES.names)
    return pa.Table.from_pandas(frame, schema.CONDITION_MEASURES, preserve_index=False)


# --- Tests


@step("tests of conditions")
def tests_table(
    made: list[Measured],
    pairs: pd.DataFrame | None,
    designs: list[Design],
    column: str,
    n_permutations: int,
    seed: int,
) -> pa.Table:
    """
    Return `airrvec.core.schema.CONDITION_TESTS`, one row per design, measure and feature.

    Parameters
    ----------
    made : list of Measured
    pairs : DataFrame or None
        `airrvec.core.schema.SAMPLE_PAIRS`.
    designs : list of Design
        From `airrvec.stats.designs.designs`.
    column : str
        Metadata column whose values are compared.
    n_permutations : int
    seed : int
    """
    parts = []
    for number, design in enumerate(designs):
        rng = generator(seed, f"{column} {number}")
        rows = [_tested(one, design, n_permutations, rng) for one in made]
        if pairs is not None and design.kind != TREND:
            rows += _similarity_tests(pairs, design, n_permutations, rng)
        parts += [part.assign(**_about(design, column)) for part in rows if len(part)]
    table = (
        pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=schema.CONDITION_TESTS.names)
    )
    rates = np.full(len(table), np.nan)
    for rows in table.groupby("measure").indices.values():
        rates[rows] = significance.benjamini_hochberg(table["p"].to_numpy(float)[rows])
    table["fdr"] = rates
    table = table.reindex(columns=schema.CONDITION_TESTS.names)
    return pa.Table.from_pandas(table, schema.CONDITION_TESTS, preserve_index=False)


def _about(design: Design, column: str) -> dict:
    """Return what the rows of a design have in common."""
    two = design.groups if design.kind == TWO_GROUPS else (None, None)
    return {
        "condition": column,
        "design": design.kind,
        "within": design.within,
        "value_1": two[0],
        "value_2": two[1],
    }


def _tested(one: Measured, design: Design, n_permutations: int, rng: np.random.Generator) -> pd.DataFrame:
    """Test each feature of a measure, among the units in which it was measured."""
    names = [name for unit in design.samples for name in unit]
    unit_of = np.repeat(np.arange(len(design.samples)), [len(unit) for unit in design.samples])
    units = one.table.reindex(names).groupby(unit_of).mean().to_numpy(float)  # of the samples measured
    rows = design.comparable(~np.isnan(units).all(axis=1))
    if not len(rows):
        return pd.DataFrame()
    part, units = design.part(rows), units[rows]
    n_carrying = (units != 0).sum(axis=0)
    tested = np.flatnonzero(n_carrying >= MIN_CARRYING)
    units = units[:, tested]
    difference, low, high = rank_tests.effects(units, part)
    frame = pd.DataFrame(
        {
            "measure": one.measure,
            "feature": [name or None for name in one.table.columns[tested]],
            "species": one.species,
            "chains": one.chains,
            "difference": difference,
            "low": low,
            "high": high,
            "n_carrying": n_carrying[tested],
            "p": rank_tests.rank_test(units, part, n_permutations, rng),
        }
    )
    frame["least_p"] = part.least_p if part.kind == TWO_GROUPS else part.reachable_p(n_permutations)
    return frame.assign(**_sizes(part), **_means(units, part))


def _sizes(design: Design) -> dict:
    """Return the numbers of units."""
    sizes = {"n_units": len(design.labels)}
    if design.kind == TWO_GROUPS:
        sizes |= {f"n_units_{side}": n for side, n in enumerate(design.n_units, start=1)}
    return sizes


def _means(units: np.ndarray, design: Design) -> dict:
    """Return the mean of each of two values."""
    if design.kind != TWO_GROUPS:
        return {}
    return {f"mean_{place + 1}": units[design.labels == place].mean(axis=0) for place in (0, 1)}


def similarity_of_units(pairs: pd.DataFrame, column: str, design: Design) -> tuple[Design, np.ndarray] | None:
    """
    Return the design of the units whose samples were compared, and their similarities, the diagonal unknown.

    Parameters
    ----------
    pairs : DataFrame
        Pairs of samples of one species and class of chains.
    column : str
        A similarity; null if a sample was not compared.
    """
    known = pairs[pairs[column].notna()]
    names = sorted({*known["sample_1"], *known["sample_2"]})
    place = {name: number for number, name in enumerate(names)}
    similarity = np.full((len(names),) * 2, np.nan)
    first, second = (known[f"sample_{side}"].map(place).to_numpy(int) for side in (1, 2))
    similarity[first, second] = similarity[second, first] = known[column].to_numpy(float)
    rows = design.comparable(np.array([all(name in place for name in unit) for unit in design.samples]))
    if not len(rows):
        return None
    part = design.part(rows)
    weights = part.averages(names)
    return part, weights @ np.nan_to_num(similarity) @ weights.T


def discrepancy(similarity: np.ndarray, design: Design, labels: np.ndarray) -> np.ndarray:
    """
    Return how much more similar units of one value are than those of two, shape (n_arrangements,).

    Mean similarity within each of two values, added, minus twice that between them, of different donors; the
    mean over each two values. About 0 if the values make no difference. Of mean kernels it is MMD²
    (`airrvec.stats.significance.mmd`), with samples as units.

    Parameters
    ----------
    similarity : ndarray, shape (n_units, n_units)
    design : Design
    labels : ndarray of int, shape (n_units, n_arrangements)
        `airrvec.stats.designs.Design.arrangements`.
    """
    apart = (design.donors[:, None] != design.donors).astype(np.float64)
    chosen = [(labels == value).astype(np.float64) for value in range(len(design.groups))]

    def mean(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return ((similarity * apart @ first) * second).sum(axis=0) / ((apart @ first) * second).sum(axis=0)

    return np.mean(
        [
            mean(one, one) + mean(other, other) - 2 * mean(one, other)
            for one, other in combinations(chosen, 2)
        ],
        axis=0,
    )


def _similarity_tests(
    pairs: pd.DataFrame, design: Design, n_permutations: int, rng: np.random.Generator
) -> list[pd.DataFrame]:
    """Test whether samples of one value are more similar than others, by overlap and by their vectors."""
    rows = []
    for (species, chains), group in pairs.groupby(["species", "chains"], sort=False):
        for measure, column in SIMILARITIES.items():
            units = similarity_of_units(group, column, design)
            if units is None:
                continue
            part, similarity = units
            values = discrepancy(similarity, part, part.arrangements(n_permutations, rng))
            row = {"measure": measure, "species": species, "chains": chains, "difference": values[0]}
            row |= {"p": significance.permutation_p(values), **_sizes(part)}
            row["least_p"] = part.reachable_p(n_permutations)
            rows.append(pd.DataFrame([row]))
    return rows
