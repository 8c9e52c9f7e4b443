"""Diversity of samples at equal coverage, and their rarefaction curves: the only place that computes them."""

from collections.abc import Mapping

from airrvec.core.progress import step
from airrvec.core.schema import samples as schema
from airrvec.repertoire import coverage, diversity

import numpy as np
import pandas as pd
import pyarrow as pa

N_POINTS = 12  # of a curve up to the sample's cells, and again half as many beyond them


@step("diversity of samples")
def diversity_table(
    counts: dict[str, np.ndarray], units: Mapping[str, str], species: str, chains: str
) -> pa.Table:
    """
    Return `airrvec.core.schema.DIVERSITY`, one row per sample; those of one unit have one reference coverage.

    Parameters
    ----------
    counts : dict of ndarray of int, each of shape (n_receptors,)
        Cells per clonotype of each sample, all with the same chains of one species.
    units : dict
        What each sample counts.
    species : str
    chains : {"paired", "alpha", "beta"}
    """
    references = {
        unit: coverage.reference_coverage([n for sample, n in counts.items() if units[sample] == unit])
        for unit in {units[sample] for sample in counts}
    }
    rows = []
    for sample, cells in counts.items():
        reference = references[units[sample]]
        row = {
            **_about(sample, species, chains, units[sample]),
            "n_cells": int(cells.sum()),
            "n_receptors": len(cells),
            "n_singletons": int((cells == 1).sum()),
            "coverage": coverage.coverage(cells),
            **_hill(diversity.hill_numbers(cells)),
            "coincidence": diversity.coincidence(cells),
            "reference_coverage": reference,
        }
        rows.append(row | _at_coverage(cells, reference))
    return _table(rows, schema.DIVERSITY)


def _at_coverage(cells: np.ndarray, reference: float | None) -> dict:
    """Return the method, depth and Hill numbers of a sample at the reference coverage."""
    reached = coverage.reach(cells)
    if not reached:
        return {"method": schema.NO_REPEATS}
    if reached < reference:
        return {"method": schema.TOO_LOW}
    depth = coverage.cells_at_coverage(cells, reference)
    return {
        "method": _method(depth, int(cells.sum())),
        "depth": depth,
        **_hill(coverage.hill_numbers_at(cells, depth), "_at_coverage"),
    }


@step("rarefaction curves")
def rarefaction_table(
    counts: dict[str, np.ndarray], units: Mapping[str, str], species: str, chains: str
) -> pa.Table:
    """
    Return `airrvec.core.schema.RAREFACTION`: points of each sample's curve, from one cell to twice its cells.

    Samples without a repeated receptor are not extrapolated. The parameters are those of `diversity_table`.
    """
    rows = []
    for sample, cells in counts.items():
        n = int(cells.sum())
        points = np.linspace(1, n, N_POINTS)
        if cells.max() > 1:
            points = np.append(points, np.linspace(n, coverage.FURTHEST * n, N_POINTS // 2 + 1))
        for n_drawn in np.unique(points.round().astype(np.int64)).tolist():
            rows.append(
                {
                    **_about(sample, species, chains, units[sample]),
                    "n_drawn": n_drawn,
                    "method": _method(n_drawn, n),
                    "coverage": coverage.coverage(cells, n_drawn),
                    **_hill(coverage.hill_numbers_at(cells, n_drawn)),
                }
            )
    return _table(rows, schema.RAREFACTION)


def _about(sample: str, species: str, chains: str, unit: str) -> dict:
    return {"sample_id": sample, "species": species, "chains": chains, "count_unit": unit}


def _method(n_drawn: int, n: int) -> str:
    return schema.OBSERVED if n_drawn == n else schema.RAREFIED if n_drawn < n else schema.EXTRAPOLATED


def _hill(numbers: np.ndarray, suffix: str = "") -> dict:
    return {f"hill_{order}{suffix}": value for order, value in zip(diversity.ORDERS, numbers, strict=True)}


def _table(rows: list[dict], columns: pa.Schema) -> pa.Table:
    return pa.Table.from_pandas(pd.DataFrame(rows, columns=columns.names), columns, preserve_index=False)
