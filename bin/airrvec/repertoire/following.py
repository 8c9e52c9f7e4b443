"""
Clones and clusters of a donor, followed from one value of a column to the next: what changed.

A step leads from all samples of a donor with one value to those with the next one it has. Samples of one
donor and value are replicates: they are added up, and show how much counts differ by chance
(`airrvec.stats.count_changes`).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

from airrvec.core import schema, tables
from airrvec.core.progress import step
from airrvec.stats import count_changes
from airrvec.stats.count_changes import Counts, Noise
from airrvec.stats.designs import SIGNIFICANT, as_numbers
from airrvec.stats.significance import benjamini_hochberg

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa

# Without replicates a cell or template is counted once. Other counts may be copies of a molecule: as many as
# the step's differences allow, changes included, or so many if too few features are in both samples.
ONCE = ("cells", "pairs", "templates")
UNKNOWN_COPIES = 2.0
KINDS = {"clone": "clone_id", "cluster": "cluster_id"}


@dataclass(frozen=True)
class Step:
    """From the samples of a donor with one value to those with its next one."""

    donor: str
    before: str
    after: str
    samples: tuple[tuple[str, ...], tuple[str, ...]]


def steps(samples: pd.DataFrame, column: str) -> list[Step]:
    """
    Return the steps of all donors: numbers in their order, other values in that of the samples.

    Parameters
    ----------
    samples : DataFrame
        Index ``sample_id``; ``donor`` and the column.
    column : str
        Metadata column.
    """
    known = samples[samples[column].notna()]
    values = list(dict.fromkeys(known[column]))
    numbers = as_numbers(values)
    if numbers is not None:
        values = [values[place] for place in np.argsort(numbers, kind="stable")]
    made = []
    for donor, rows in known.groupby("donor", sort=True):
        names = {value: tuple(part.index) for value, part in rows.groupby(column, sort=False)}
        there = [value for value in values if value in names]
        made += [
            Step(str(donor), str(one), str(other), (names[one], names[other]))
            for one, other in pairwise(there)
        ]
    return made


def replicates(samples: pd.DataFrame, column: str) -> list[tuple[str, str]]:
    """Return each two samples of one donor with one value."""
    groups = samples[samples[column].notna()].groupby(["donor", column], sort=True)
    return [pair for _, rows in groups for pair in combinations(rows.index, 2)]


class Counted:
    """
    Counts of each clone, and of each cluster, in the samples of a run.

    Parameters
    ----------
    clones : duckdb.DuckDBPyRelation
        From `airrvec.repertoire.clone_table.counted_clones`.
    """

    def __init__(self, clones: duckdb.DuckDBPyRelation):
        self.clones = clones
        rows = clones.aggregate("sample_id, any_value(count_unit) AS unit, sum(n)::BIGINT AS n").df()
        self.units: dict[str, str] = dict(zip(rows["sample_id"], rows["unit"], strict=True))
        self.totals: dict[str, int] = dict(zip(rows["sample_id"], rows["n"].tolist(), strict=True))
        classes = clones.aggregate("sample_id, chains, sum(n) AS n").order("chains").df()
        largest = classes.sort_values("n", kind="stable").groupby("sample_id").last()
        self.chains: dict[str, str] = largest["chains"].to_dict()

    def pair(self, kind: str, samples: tuple[Iterable[str], Iterable[str]]) -> tuple[pd.Index, Counts]:
        """Return the features of two sets of samples, and their counts in each."""
        names = [list(side) for side in samples]
        feature = KINDS[kind]
        chosen = duckdb.ColumnExpression("sample_id").isin(
            *map(duckdb.ConstantExpression, [*names[0], *names[1]])
        )
        known = self.clones.filter(chosen).filter(f"{feature} IS NOT NULL")
        rows = known.aggregate(f"{feature}, sample_id, sum(n)::BIGINT AS n").df()
        rows["side"] = rows["sample_id"].isin(names[1]).astype(int)
        wide = rows.pivot_table(index=feature, columns="side", values="n", aggfunc="sum", fill_value=0)
        wide = wide.reindex(columns=[0, 1], fill_value=0).astype(np.int64)
        totals = [sum(self.totals.get(name, 0) for name in side) for side in names]
        return wide.index, Counts(
            wide[0].to_numpy(), wide[1].to_numpy(), (totals[0], totals[1]), (len(names[0]), len(names[1]))
        )

    def not_comparable(self, names: Iterable[str]) -> str | None:
        """Return why samples cannot be compared, or None if they can."""
        names = list(names)
        empty = [name for name in names if not self.totals.get(name)]
        if empty:
            return f"no clone in {', '.join(empty)}"
        for verb, words in (("count", self.units), ("are mostly of", self.chains)):
            known = sorted({words[name] for name in names})
            if len(known) > 1:
                return f"its samples {verb} {' and '.join(known)}"
        return None


@step("changes of clones")
def followed(counted: Counted, samples: pd.DataFrame, column: str, table: Path) -> tuple[pa.Table, pa.Table]:
    """
    Return `airrvec.core.schema.STEPS` and `CHANGES`.

    Parameters
    ----------
    counted : Counted
    samples : DataFrame
        As for `steps`.
    column : str
        Metadata column of ``--compare_by``.
    table : Path
        `airrvec.core.schema.CLONES`, whose receptors name the clones.
    """
    made, alike = steps(samples, column), replicates(samples, column)
    step_rows: list[dict] = []
    changes: list[pd.DataFrame] = []
    noises: dict[tuple[str, str], Noise | None] = {}
    for kind in KINDS:
        for one in made:
            names = [name for side in one.samples for name in side]
            row: dict[str, Any] = {
                **{"condition": column, "kind": kind, "donor": one.donor},
                **{"before": one.before, "after": one.after},
                **{"samples_before": ";".join(one.samples[0]), "samples_after": ";".join(one.samples[1])},
                "reason": counted.not_comparable(names),
            }
            if row["reason"] is None:
                unit = counted.units[names[0]]
                if (kind, unit) not in noises:
                    noises[kind, unit] = _replicate_noise(counted, kind, unit, alike)
                features, counts = counted.pair(kind, one.samples)
                if kind == "cluster" and not len(features):
                    continue
                noise, source = noise_of(counts, unit, noises[kind, unit])
                tested = changed(features, counts, noise)
                row |= {"count_unit": unit, "noise": source}
                row |= {"copies": noise.copies, "dispersion": noise.dispersion} | _numbers(tested, counts)
                both = tested["n_before"].gt(0) & tested["n_after"].gt(0)
                shown = tested[both | tested["p"].notna()]
                changes.append(shown.assign(**{name: row[name] for name in _SHARED if name in row}))
            step_rows.append(row)
    return _table(step_rows, schema.STEPS), _with_receptors(table, changes)


_SHARED = ("condition", "kind", "donor", "before", "after", "count_unit")


def _replicate_noise(counted: Counted, kind: str, unit: str, pairs: list[tuple[str, str]]) -> Noise | None:
    """Return the noise of all replicates that count in a unit; None if there are none."""
    usable = [
        pair for pair in pairs if counted.units.get(pair[0]) == unit and not counted.not_comparable(pair)
    ]
    return count_changes.estimate([counted.pair(kind, ([one], [other]))[1] for one, other in usable])


def noise_of(counts: Counts, unit: str, measured: Noise | None = None) -> tuple[Noise, str]:
    """Return the noise of a step, and what it is from: ``replicates``, or ``sampling`` alone."""
    if measured is not None:
        return measured, "replicates"
    if unit in ONCE:
        return Noise(copies=1.0, dispersion=0.0), "sampling"
    estimated = count_changes.estimate([counts], Noise(count_changes.MOST.copies, dispersion=0.0))
    copies = UNKNOWN_COPIES if estimated is None else estimated.copies
    return Noise(copies, dispersion=0.0), "sampling"


def changed(features: pd.Index, counts: Counts, noise: Noise) -> pd.DataFrame:
    """Return what changed in one step: columns of `airrvec.core.schema.CHANGES`, one row per feature."""
    tested = count_changes.changes(counts, noise)
    shares = [side / total for side, total in zip((counts.before, counts.after), counts.totals, strict=True)]
    fdr = benjamini_hochberg(tested.p)
    seen = counts.before > 0, counts.after > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        fold = np.where(seen[0], shares[1] / shares[0], np.nan)
    table = pd.DataFrame(
        {
            **{"feature": features, "n_before": counts.before, "n_after": counts.after},
            **{"share_before": shares[0], "share_after": shares[1], "fold_change": fold},
            **{"fold_low": tested.low, "fold_high": np.where(seen[0], tested.high, np.nan)},
            **{"p": tested.p, "fdr": fdr},
        }
    )
    more, significant = shares[1] > shares[0], fdr <= SIGNIFICANT
    table["change"] = np.select(
        [
            *(significant & ~seen[0], significant & ~seen[1]),
            *(significant & more, significant),
            seen[0] & seen[1],
        ],
        ["new", "lost", "expanded", "contracted", "persistent"],
        "undecided",
    )
    return table


def _numbers(table: pd.DataFrame, counts: Counts) -> dict[str, int]:
    """Return the totals of a step, and how many features changed in which way."""
    times = table["change"].value_counts()
    return {
        **{"n_before": counts.totals[0], "n_after": counts.totals[1]},
        "n_tested": int(table["p"].notna().sum()),
        **{f"n_{word}": int(times.get(word, 0)) for word in schema.CHANGE_WORDS},
    }


def _table(rows: list[dict], columns: pa.Schema) -> pa.Table:
    frame = pd.DataFrame(rows).reindex(columns=columns.names)
    return pa.Table.from_pandas(frame, columns, preserve_index=False)


def _with_receptors(table: Path, parts: Iterable[pd.DataFrame]) -> pa.Table:
    """Return `airrvec.core.schema.CHANGES`: the largest changes first, clones with their receptors."""
    frames = list(parts)
    if not frames:
        return schema.CHANGES.empty_table()
    frame = pd.concat(frames, ignore_index=True)
    named = [name for name in schema.CHANGES.names if name in schema.CLONES.names and name not in frame]
    clones = tables.read(table, ["clone_id", *named]).to_pandas().rename(columns={"clone_id": "feature"})
    frame = frame.merge(clones, "left", "feature")
    frame["row"] = frame.groupby(["kind", "donor", "before", "after"], sort=False).ngroup()
    frame = frame.sort_values(["row", "p", "feature"], kind="stable")
    return pa.Table.from_pandas(
        frame.reindex(columns=schema.CHANGES.names), schema.CHANGES, preserve_index=False
    )
