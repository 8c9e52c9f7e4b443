"""
Designs: which samples a metadata column compares, and which exchanges of its values a test may make.

The unit is a donor with one value; several samples of it are one unit, their mean. Values are exchanged
within **blocks**: all units; those of one donor, where donors have several values (before and after, blood
and tissue); or those of one value of another column, such as a batch. Whatever the test, p is the share of
exchanges with a statistic at least as far from chance as the observed one.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
import pandas as pd

TWO_GROUPS, SEVERAL_GROUPS, TREND = "two values", "several values", "trend"
DONORS = "donor"
SIGNIFICANT = 0.05  # p, or false discovery rate
LEAST_UNITS = 2  # donors of a value; fewer are not compared
# Units of a design; three make a trend.
LEAST_GROUPS = {TWO_GROUPS: 2 * LEAST_UNITS, SEVERAL_GROUPS: 2 * LEAST_UNITS, TREND: 3}
MOST_VALUES = 10  # of which each two are compared


@dataclass(frozen=True)
class Design:
    """
    Units of a comparison, their labels, and the blocks within which labels may be exchanged.

    Attributes
    ----------
    kind : {"two values", "several values", "trend"}
    groups : tuple of str
        Values that are compared.
    samples : list of list of str
        Samples of each of n units.
    donors : ndarray of str, shape (n,)
    labels : ndarray, shape (n,)
        Place of each unit's value in ``groups``; of a trend the value itself, a number.
    blocks : ndarray of int, shape (n,)
    within : str or None
        What a block is: the column ``donor``, or the one of the strata. None: all units are one block.
    left_out : dict of str
        Samples with one of the values that are not compared, and why.
    """

    kind: str
    groups: tuple[str, ...]
    samples: list[list[str]]
    donors: np.ndarray
    labels: np.ndarray
    blocks: np.ndarray
    within: str | None = None
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def paired(self) -> bool:
        """Whether values are compared within donors."""
        return self.within == DONORS

    def described(self) -> dict:
        """Return what the report says of the design."""
        return {
            "kind": self.kind,
            "values": list(self.groups),
            "within": self.within,
            "n_units": self.n_units,
            "n_donors": len({*self.donors.tolist()}),
            "least_p": self.least_p,
            "left_out": self.left_out,
        }

    @property
    def n_units(self) -> list[int]:
        """Units of each value; of a trend, all units."""
        if self.kind == TREND:
            return [len(self.labels)]
        return [int((self.labels == place).sum()) for place in range(len(self.groups))]

    def members(self) -> list[np.ndarray]:
        """Return the units of each block."""
        return [np.flatnonzero(self.blocks == block) for block in np.unique(self.blocks)]

    def centred(self, values: np.ndarray) -> np.ndarray:
        """Return values of units, of shape (n_units, …), without the means of their blocks, as float64."""
        centred = np.array(values, np.float64)
        for rows in self.members():
            centred[rows] -= centred[rows].mean(axis=0)
        return centred

    @property
    def n_arrangements(self) -> int:
        """Number of different exchanges, the observed one included."""
        total = 1
        for rows in self.members():
            total *= math.factorial(len(rows))
            for n in Counter(self.labels[rows].tolist()).values():
                total //= math.factorial(n)
        return total

    @property
    def least_p(self) -> float:
        """Smallest p that a two-sided test of this design can give, with any number of permutations."""
        return min(1.0, self._n_alike() / self.n_arrangements)

    def reachable_p(self, n_permutations: int) -> float:
        """Return the smallest p of a test by so many exchanges at most."""
        return max(self.least_p, 1 / (n_permutations + 1))

    def _n_alike(self) -> int:
        """Return how many exchanges are as extreme as any other: those that only rename the values."""
        blocks = [self.labels[rows] for rows in self.members()]
        if self.kind == TREND:
            centred = [np.sort(labels - labels.mean()) for labels in blocks]
            return 2 if all(np.allclose(labels, -labels[::-1]) for labels in centred) else 1
        numbers = np.array([np.bincount(labels, minlength=len(self.groups)) for labels in blocks])
        alike = Counter(map(tuple, numbers.T.tolist()))  # values with equal numbers in each block
        return math.prod(math.factorial(n) for n in alike.values())

    def arrangements(self, most: int, rng: np.random.Generator) -> np.ndarray:
        """
        Return labels after exchanges within the blocks: all, if they are at most ``most``, else random ones.

        Returns
        -------
        ndarray, shape (n_units, n_arrangements)
            The first column is the observed one.
        """
        if self.n_arrangements <= most:
            every = np.empty((len(self.labels), self.n_arrangements), self.labels.dtype)
            for column, chosen in enumerate(self._every(self.members())):
                every[:, column] = chosen
            observed = np.flatnonzero((every == self.labels[:, None]).all(axis=0))[0]
            every[:, [0, observed]] = every[:, [observed, 0]]
            return every
        random = np.repeat(self.labels[:, None], most + 1, axis=1)
        for rows in self.members():
            random[rows, 1:] = rng.permuted(random[rows, 1:], axis=0)
        return random

    def _every(self, members: list[np.ndarray]) -> Iterator[np.ndarray]:
        """Yield all different exchanges."""
        if not members:
            yield self.labels.copy()
            return
        *before, rows = members
        for chosen in self._every(before):
            for labels in _orders(tuple(sorted(self.labels[rows].tolist()))):
                chosen[rows] = labels
                yield chosen

    def comparable(self, measured: np.ndarray) -> np.ndarray:
        """
        Return the units that can be compared if some are not measured; none if they are too few.

        Parameters
        ----------
        measured : ndarray of bool, shape (n_units,)

        Returns
        -------
        ndarray of int
            Units whose block has two values or more among those that are measured.
        """
        kept = [rows[measured[rows]] for rows in self.members()]
        kept = [rows for rows in kept if len({*self.labels[rows].tolist()}) > 1]
        rows = np.sort(np.concatenate([np.empty(0, int), *kept]))
        numbers = Counter(self.labels[rows].tolist())
        few = len(rows) < LEAST_GROUPS[self.kind]
        if self.kind != TREND:
            few |= len(numbers) < len(self.groups) or min(numbers.values()) < LEAST_UNITS
        return rows[:0] if few else rows

    def part(self, rows: np.ndarray) -> "Design":
        """Return the design of some units, such as those that are `comparable`."""
        return replace(
            self,
            samples=[self.samples[row] for row in rows],
            donors=self.donors[rows],
            labels=self.labels[rows],
            blocks=self.blocks[rows],
        )

    def averages(self, names: Sequence[str]) -> np.ndarray:
        """Return the weights that make units of samples with these names, shape (n_units, n_names)."""
        place = {name: number for number, name in enumerate(names)}
        weights = np.zeros((len(self.samples), len(place)))
        for row, samples in enumerate(self.samples):
            weights[row, [place[name] for name in samples]] = 1 / len(samples)
        return weights


def _orders(labels: tuple) -> Iterator[tuple]:
    """Yield the different orders of labels, some of which may be equal."""
    if not labels:
        yield ()
    for place, label in enumerate(labels):
        if place == 0 or labels[place - 1] != label:
            for rest in _orders(labels[:place] + labels[place + 1 :]):
                yield (label, *rest)


def as_numbers(values: Iterable) -> np.ndarray | None:
    """Return words as numbers; None if one of them is no finite number."""
    numbers = pd.to_numeric(pd.Series(list(values), dtype=object), errors="coerce").to_numpy(float)
    return numbers if np.isfinite(numbers).all() else None


def designs(samples: pd.DataFrame, column: str, within: str | None = None) -> list[Design]:
    """
    Return the comparisons that a column allows: a trend, all values together, each two of them.

    Values that are numbers, three or more, make a trend; three other values or more are compared together.
    Each two of at most `MOST_VALUES` values are compared. Without two units of two values there is none.

    Parameters
    ----------
    samples : DataFrame
        Index ``sample_id``; ``donor``, and the metadata columns. Values are compared in their first order.
    column : str
        Metadata column; samples without a value are left out.
    within : str, optional
        Metadata column whose values are strata, unless values are compared within donors.
    """
    known = samples[samples[column].notna()]
    values = list(dict.fromkeys(known[column]))
    kinds: list[tuple[str, list[str]]] = []
    if len(values) > 2:
        kinds.append((SEVERAL_GROUPS if as_numbers(values) is None else TREND, values))
    if len(values) <= MOST_VALUES:
        kinds += [(TWO_GROUPS, list(pair)) for pair in combinations(values, 2)]
    made = [_design(known, column, within, kind, chosen) for kind, chosen in kinds]
    return [design for design in made if design is not None]


def _design(
    samples: pd.DataFrame, column: str, within: str | None, kind: str, values: list[str]
) -> Design | None:
    """Return the design of some values; None with fewer than two units of two values."""
    rows = samples[samples[column].isin(values)]
    left_out: dict[str, str] = {}

    def keep(fits: pd.Series, reason: str) -> pd.DataFrame:
        left_out.update(dict.fromkeys(rows.index[~fits], reason))
        return rows[fits]

    n_values = rows.groupby("donor")[column].transform("nunique")
    several = n_values.groupby(rows["donor"]).first() > 1
    paired = 2 * several.sum() >= len(several)
    if paired:
        needed = len(values) if kind == TWO_GROUPS else 2
        rows = keep(n_values >= needed, f"its donor has no other {column}")
        rows = rows.assign(stratum=rows["donor"])
    else:
        rows = keep(n_values == 1, f"its donor has several {column}")
        rows = rows.assign(stratum=rows[within] if within else "")
        rows = keep(rows["stratum"].notna(), f"it has no {within}")
        rows = keep(
            rows.groupby("donor")["stratum"].transform("nunique") == 1, f"its donor has several {within}"
        )
    if kind != TREND:
        n_donors = rows.groupby(column)["donor"].transform("nunique")
        rows = keep(n_donors >= LEAST_UNITS, f"no other donor has its {column}")
    values_there = rows.groupby("stratum")[column].transform("nunique")
    rows = keep(values_there > 1, f"no other {column} has its {within}")
    groups = [
        (str(donor), str(value), unit) for (donor, value), unit in rows.groupby(["donor", column], sort=False)
    ]
    values = [value for value in values if any(value == other for _, other, _ in groups)]
    if len(values) < (3 if kind == SEVERAL_GROUPS else 2) or len(groups) < LEAST_GROUPS[kind]:
        return None
    labels = [float(value) if kind == TREND else values.index(value) for _, value, _ in groups]
    return Design(
        kind,
        tuple(values),
        [list(unit.index) for _, _, unit in groups],
        np.array([donor for donor, _, _ in groups], object),
        np.array(labels),
        pd.factorize(np.array([unit["stratum"].iloc[0] for _, _, unit in groups], object))[0],
        DONORS if paired else within,
        left_out,
    )
