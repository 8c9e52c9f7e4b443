"""
What tells the values of a column apart: first what should not, then what the receptors themselves say.

Columns of the samplesheet, depth and the chains that were read are confounders if they tell the condition;
gene usage, clonality and short motifs are the floor that vectors have to beat. How they are told apart is
`airrvec.stats.classification`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from airrvec.core import schema, tables
from airrvec.core.progress import counter
from airrvec.core.seeds import generator
from airrvec.repertoire.clones import CELLS
from airrvec.repertoire.conditions import Measured, similarity_of_units, wide
from airrvec.stats import classification
from airrvec.stats.designs import DONORS, SEVERAL_GROUPS, TWO_GROUPS, Design, as_numbers

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa

_COUNTS = ("n_cells", "n_clones")
_K = 3  # residues of a k-mer
MOST_PERMUTATIONS = 199


@dataclass(frozen=True)
class Features:
    """
    What units are told apart by.

    Attributes
    ----------
    told_by : str
        Of `airrvec.core.schema.TOLD_BY`.
    table : DataFrame
        One row per sample, without those in which it is not known; similarities of samples if
        ``told_by`` is ``mean_kernel`` (`airrvec.core.schema.SAMPLE_PAIRS`).
    species, chains, column : str or None
    """

    told_by: str
    table: pd.DataFrame
    species: str | None = None
    chains: str | None = None
    column: str | None = None


def feature_sets(
    connection: duckdb.DuckDBPyConnection,
    samples: pd.DataFrame,
    condition: str,
    made: list[Measured],
    clones: Path,
    described: Path,
    comparison: Path | None,
) -> list[Features]:
    """
    Return all that can tell the values of a condition apart, confounders first.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
    samples : DataFrame
        From `airrvec.repertoire.conditions.read_samples`.
    condition : str
    made : list of Measured
    clones, described : Path
        Folders written by ``count_clones.py`` and ``describe_samples.py``.
    comparison : Path or None
        Folder written by ``compare_samples.py``.
    """
    columns = [name for name in samples.columns if name not in (DONORS, condition)]
    sets = [Features("sheet", _numbers(samples[name].dropna()), column=name) for name in columns]
    sets += _depth(connection, clones, described)
    usage = [
        Features(
            f"{one.measure}s", one.table.dropna(), one.species, str(one.table.columns[0])[:3]
        )  # the locus
        for one in made
        if one.measure in ("v_gene", "j_gene")
    ]
    sets += sorted(usage, key=lambda one: one.told_by, reverse=True)
    sizes = tables.read(described / "clone_sizes.parquet").to_pandas()
    sets.append(Features("clonality", wide(sizes, "clone_size", "share")))
    sets += _motifs(connection, clones)
    if comparison is not None:
        sets += _vectors(comparison)
    return sets


def _numbers(values: pd.Series) -> pd.DataFrame:
    """Return a column as numbers: itself, or one column of zeros and ones per value."""
    numbers = as_numbers(values)
    if numbers is None:
        return pd.get_dummies(values).astype(float)
    return pd.DataFrame({values.name: numbers}, index=values.index)


def _depth(connection: duckdb.DuckDBPyConnection, clones: Path, described: Path) -> Iterator[Features]:
    """Yield numbers of cells and clones, UMIs and reads of a cell, and shares of the classes of chains."""
    counts = connection.read_parquet(str(clones / "counts.parquet")).filter(f"count_unit = '{CELLS}'")
    for told_by, name in (("umis", "umi_count"), ("reads", "duplicate_count")):
        known = counts.filter(f"{name} > 0")
        means = known.aggregate(f"sample_id, ln(sum({name}) / sum(n_cells)) AS mean", "sample_id").df()
        if len(means):
            yield Features(told_by, means.set_index("sample_id"))
    frame = tables.read(described / "diversity.parquet").to_pandas()
    for species, rows in frame.groupby("species", sort=False):
        totals = rows.groupby("sample_id")[list(_COUNTS)].sum()
        yield Features("cells", np.log(totals), species)
        shares = wide(rows, "chains", "n_cells")
        if len(shares.columns) > 1:
            yield Features("chains", shares.div(shares.sum(axis=1), axis=0), species)


def _motifs(connection: duckdb.DuckDBPyConnection, folder: Path) -> Iterator[Features]:
    """Yield the shares of k-mers of the CDR3 of each sample's clones."""
    for locus in schema.LOCI:
        junction = schema.field(locus, "junction_aa")
        counts, clones = (
            connection.read_parquet(str(folder / f"{name}.parquet")) for name in ("counts", "clones")
        )
        read = counts.join(clones, "clone_id").project(f"sample_id, species, {junction} AS junction")
        cdr3 = f"unnest(range(2, length(junction) - {_K} + 1))::INT"  # without the conserved C and F or W
        parts = read.project(f"sample_id, species, substr(junction, {cdr3}, {_K}) AS part")
        rows = parts.aggregate("sample_id, species, part, count(*)::DOUBLE AS n").df()
        for species, group in rows.groupby("species", sort=True):
            table = wide(group, "part", "n")
            yield Features("k-mers", table.div(table.sum(axis=1), axis=0) ** 0.5, species, locus)


def _vectors(folder: Path) -> Iterator[Features]:
    """Yield mean vectors and mean kernels of samples."""
    vectors = tables.read(folder / "sample_vectors.parquet").to_pandas()
    pairs = tables.read(folder / "pairs.parquet").to_pandas()
    for (species, chains), rows in vectors.groupby(["species", "chains"], sort=False):
        known = rows[rows["kernel"].notna()].set_index("sample_id")
        if not len(known):
            continue
        yield Features("mean_vector", known.filter(like="dim_"), species, chains)
        among = pairs[(pairs["species"] == species) & (pairs["chains"] == chains)]
        itself = pd.DataFrame({"sample_1": known.index, "sample_2": known.index, "kernel": known["kernel"]})
        yield Features("mean_kernel", pd.concat([among, itself], ignore_index=True), species, chains)


def told_table(
    sets: list[Features],
    samples: pd.DataFrame,
    designs: list[Design],
    condition: str,
    n_permutations: int,
    seed: int,
) -> pa.Table:
    """
    Return `airrvec.core.schema.CONDITION_TOLD`.

    Designs of several values are told apart together, and else by twos; trends are not.

    Parameters
    ----------
    sets : list of Features
    samples : DataFrame
    designs : list of Design
    condition : str
    n_permutations : int
        At most; `MOST_PERMUTATIONS` are enough.
    seed : int
    """
    together = [design for design in designs if design.kind == SEVERAL_GROUPS]
    chosen = together or [design for design in designs if design.kind == TWO_GROUPS]
    rows, tested = [], counter("sets of features tested", len(chosen) * len(sets))
    for number, design in enumerate(chosen):
        for features in sets:
            rng = generator(seed, f"told {number} {features.told_by} {features.chains}")
            rows += _told(features, samples, design, condition, min(n_permutations, MOST_PERMUTATIONS), rng)
            tested(1)
    table = pd.DataFrame(rows, columns=schema.CONDITION_TOLD.names)
    return pa.Table.from_pandas(table, schema.CONDITION_TOLD, preserve_index=False)


def _told(
    features: Features, samples: pd.DataFrame, design: Design, condition: str, n_permutations: int, rng
) -> Iterator[dict]:
    """Yield a row for what is left out: donors, and what else values are exchanged within."""
    compared = _compared(features, design)
    if compared is None or (features.column and features.column == design.within):
        return
    part, products = compared
    products = classification.within_donors(products, part)
    if np.allclose(products, products[0, 0]):
        return  # the same for all units
    about = {
        **{"condition": condition, "design": part.kind, "among": ";".join(part.groups)},
        **{"told_by": features.told_by, "column": features.column, "species": features.species},
        **{"chains": features.chains, "n_units": len(part.labels)},
        "tells_all": _tells_all(samples[features.column], part) if features.column else None,
    }
    folds = {DONORS: part.donors}
    if part.within and not part.paired and part.blocks.max() > 0:
        folds[part.within] = part.blocks
    for left_out, fold in folds.items():
        told = classification.told_apart(products, part, fold, n_permutations, rng)
        yield {
            **about,
            "left_out": left_out,
            "accuracy": told.accuracy,
            "by_chance": told.chance,
            "p": told.p,
        }


def _compared(features: Features, design: Design) -> tuple[Design, np.ndarray] | None:
    """Return the design of the units in which features are known, and their inner products."""
    if features.told_by == "mean_kernel":
        return similarity_of_units(features.table, "kernel", design)
    names = features.table.index
    known = np.array([any(name in names for name in unit) for unit in design.samples])
    rows = design.comparable(known)
    if not len(rows):
        return None
    part = design.part(rows)
    means = [features.table.loc[[name for name in unit if name in names]].mean() for unit in part.samples]
    return part, classification.gram(np.array(means, float))


def _tells_all(values: pd.Series, design: Design) -> bool:
    """Return whether each value of a column, one of them of several units, has one value of the condition."""
    pairs = {
        (values[name], label)
        for unit, label in zip(design.samples, design.labels.tolist(), strict=True)
        for name in unit
        if pd.notna(values[name])
    }
    n_values = len({value for value, _ in pairs})
    return n_values == len(pairs) < len(design.labels) and n_values > 1
