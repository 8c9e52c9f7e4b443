"""Calls of the receptors of samples: receptors are searched once, in parts, and rated by sample."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from airrvec.annotation import annotator, evidence
from airrvec.annotation.annotator import Found, Rated
from airrvec.core import hla, schema
from airrvec.core.chains import CHAIN_CLASSES, chain_classes
from airrvec.core.tables import contiguous

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

GROUPS = tuple(product(schema.SPECIES, CHAIN_CLASSES))
WITHHELD, NO_CLASS = -1, -2  # numbers of groups: innate-like receptors, and those without a junction
NO_JUNCTION = "no junction"
NO_REFERENCE = "no reference of its species and chains"


class Search:
    """
    Search of the receptors of several samples.

    Parameters
    ----------
    receptors : pyarrow.Table
        ``receptors`` of all samples, each once.
    annotators : callable
        Species and class of chains → `airrvec.annotation.annotator.Annotator`, or None.
    innate : bool
        Whether innate-like receptors are called too.
    reasons : dict of (str, str) to str
        Why a species and class of chains is not calibrated.
    """

    def __init__(
        self,
        receptors: pa.Table,
        annotators: Callable,
        *,
        innate: bool,
        reasons: dict[tuple[str, str], str] | None = None,
    ):
        self.receptors = receptors
        chains = chain_classes(receptors)
        called = pc.is_null(receptors["innate_like"]).to_numpy() | innate
        self.group = np.where(called, NO_CLASS, WITHHELD).astype(np.int8)  # number in `GROUPS`, (n,)
        self.annotators = {}
        self._reasons = reasons or {}
        for number, (species, chain_class) in enumerate(GROUPS):
            of_group = called & (chains == chain_class) & pc.equal(receptors["species"], species).to_numpy()
            self.group[of_group] = number
            found = annotators(species, chain_class) if of_group.any() else None
            if found is not None:
                self.annotators[number] = found

    def reason(self, number: int) -> str | None:
        """Return why a group is not calibrated; None if it is, and for innate-like receptors."""
        found = self.annotators.get(number)
        if number == WITHHELD or (found is not None and found.scores is not None):
            return None
        return NO_JUNCTION if number == NO_CLASS else self._reasons.get(GROUPS[number], NO_REFERENCE)

    def not_calibrated(self) -> dict[tuple[str, str], tuple[int, str]]:
        """Return the number of receptors of each class that is not calibrated, and the reason."""
        numbers, counts = np.unique(self.group[self.group >= 0], return_counts=True)
        found = {
            GROUPS[number]: (int(n), self.reason(number)) for number, n in zip(numbers, counts, strict=True)
        }
        return {group: about for group, about in found.items() if about[1]}

    def run(
        self, samples: Sequence[tuple[np.ndarray, hla.Alleles | None]], parts: Iterable
    ) -> Iterator["SampleCalls"]:
        """
        Search all receptors, and yield the calls of each sample.

        Parameters
        ----------
        samples : list of (ndarray of int64, dict or None)
            Rows of its receptors, ascending, and HLA of its donor; empty if unknown.
        parts : iterable of (ndarray of int64, ndarray of float32)
            Rows of up to `airrvec.annotation.evidence.CHUNK` receptors, in any order, and their vectors.
        """
        asked = {
            number: [ask for ask in self._asked(number, samples) if len(ask.rows)]
            for number in self.annotators
        }
        wanted = self._members([rows for rows, _ in samples])
        for rows, vectors in parts:
            for number, asks in asked.items():
                here = np.flatnonzero(wanted[rows] & (self.group[rows] == number))
                if len(here):
                    self._search(self.annotators[number], asks, rows[here], vectors[here])
        for sample, (rows, _) in enumerate(samples):
            own = {}
            for number, asks in asked.items():
                of_group = rows[self.group[rows] == number]
                for ask in asks:
                    if len(of_group) and sample in ask.samples:
                        found = ask.found.take(np.searchsorted(ask.rows, of_group))
                        own[number] = Restricted(found, ask.allowed, ask.counts)
            yield SampleCalls(self, rows, own)

    def _asked(self, number: int, samples: Sequence) -> Iterator["_Ask"]:
        """Yield what is asked of a group: once for all samples without HLA, and for each of the others."""
        found = self.annotators[number]
        n_names = len(evidence.NAMES[found.chains])
        free = [sample for sample, (_, donor) in enumerate(samples) if not donor]
        if free:
            members = self._members([samples[sample][0] for sample in free])
            rows = np.flatnonzero(members & (self.group == number))
            yield _Ask({*free}, rows, Found.empty(len(rows), n_names))
        for sample, (rows, donor) in enumerate(samples):
            if donor:
                rows = rows[self.group[rows] == number]
                yield _Ask({sample}, rows, Found.empty(len(rows), n_names), *_restricted(found, donor))

    def _members(self, rows: list[np.ndarray]) -> np.ndarray:
        """Return whether each receptor is in one of the samples with these rows, shape (n,)."""
        members = np.zeros(len(self.group), bool)
        for of_sample in rows:
            members[of_sample] = True
        return members

    def _search(self, found, asks: list["_Ask"], rows: np.ndarray, vectors: np.ndarray) -> None:
        places = [np.searchsorted(ask.rows, rows) for ask in asks]
        members = [
            np.flatnonzero(ask.rows[np.minimum(place, len(ask.rows) - 1)] == rows)
            for ask, place in zip(asks, places, strict=True)
        ]
        asked = [(own, ask.allowed) for own, ask in zip(members, asks, strict=True)]
        parts = found.search(self.receptors.take(pa.array(rows)), vectors, asked)
        for ask, place, own, part in zip(asks, places, members, parts, strict=True):
            ask.found.put(place[own], part)


@dataclass(frozen=True)
class _Ask:
    """Receptors of a group, by their rows, that are searched for some samples: with one donor, or without."""

    samples: set[int]
    rows: np.ndarray
    found: Found
    allowed: np.ndarray | None = None
    counts: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Restricted:
    """What is found of a sample's receptors of a group; epitopes that its donor can present, and counts."""

    found: Found
    allowed: np.ndarray | None
    counts: dict


class SampleCalls:
    """
    Calls of the receptors of a sample.

    Parameters
    ----------
    search : Search
    rows : ndarray of int64, shape (n,)
        Rows of its receptors, ascending.
    found : dict of int to Restricted
        By the number of the group, of its receptors in the order of ``rows``.
    """

    def __init__(self, search: Search, rows: np.ndarray, found: dict[int, Restricted]):
        self.search, self.rows, self.found = search, rows, found
        self.group = search.group[rows]
        self.place = np.zeros(len(rows), np.int32)  # of a receptor in its group
        for number in found:
            self.place[self.group == number] = np.arange((self.group == number).sum())
        self.rated: dict[int, Rated] = {}

    def rate(self, fdr: float) -> list[dict]:
        """Call epitopes at a false discovery rate; return the counts of each class that is calibrated."""
        groups = []
        for number, part in self.found.items():
            rated, prevalence = self.search.annotators[number].rate(part.found, fdr=fdr, allowed=part.allowed)
            self.rated[number] = rated
            if self.search.reason(number):
                continue
            species, chains = GROUPS[number]
            n_called = int(rated.called.sum())
            counts = {
                "species": species,
                "chains": chains,
                "receptors": len(rated.called),
                "called": n_called,
                "expected_false": float(n_called * rated.fdr[rated.called].max()) if n_called else 0.0,
                "prevalence": prevalence,
                **part.counts,
            }
            groups.append(counts)
        return groups

    def words(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the columns ``call`` and ``excluded_epitope`` of all receptors, shape (n,)."""
        calls = np.full(len(self.rows), annotator.NOT_CALIBRATED, object)
        calls[self.group == WITHHELD] = annotator.INNATE_LIKE
        excluded = np.full(len(self.rows), None, object)
        for number, rated in self.rated.items():
            here, found = self.group == number, self.search.annotators[number]
            calls[here], excluded[here] = found.call_words(rated), found.excluded_words(rated)
        return calls, excluded

    def is_called(self) -> np.ndarray:
        """Return whether each receptor has a called epitope, shape (n,)."""
        called = np.zeros(len(self.rows), bool)
        for number, rated in self.rated.items():
            called[self.group == number] = rated.called
        return called

    def n_exact(self) -> int:
        """Return the number of receptors that are references."""
        ids = self.search.receptors["clonotype_id"]
        own = {number: self.rows[self.group == number] for number in self.rated}
        return sum(
            int(self.search.annotators[number].is_reference(ids.take(pa.array(rows))).sum())
            for number, rows in own.items()
        )

    def table(self, members: np.ndarray) -> pd.DataFrame:
        """
        Return the calls of some receptors.

        Parameters
        ----------
        members : ndarray of int64, shape (m,)
            Their places in ``rows``, in any order and number.

        Returns
        -------
        DataFrame of m rows
            `airrvec.core.schema.ANNOTATION_CALLS`, ``receptor_id``, ``species``, ``chains``, ``innate_like``
            and the fields of both chains.
        """
        receptors = self.search.receptors.take(pa.array(self.rows[members]))
        group = self.group[members]
        parts = []
        for number in np.unique(group):
            here = np.flatnonzero(group == number)
            if number not in self.rated:
                word = annotator.INNATE_LIKE if number == WITHHELD else annotator.NOT_CALIBRATED
                part = annotator.without_calls(len(here), word)
            else:
                found = self.search.annotators[number]
                part = found.calls(self.rated[number].take(self.place[members[here]]))
                part["exact_epitope"] = found.exact(receptors["clonotype_id"].take(pa.array(here)))
            parts.append(part.assign(not_calibrated=self.search.reason(number)).set_index(here))
        if not parts:
            parts = [annotator.without_calls(0, annotator.NOT_CALIBRATED)]
        fields = ("receptor_id", "species", "innate_like", *schema.RECEPTOR_FIELDS)
        about = {name: contiguous(receptors[name]).to_pandas() for name in fields}
        return pd.concat(parts).sort_index().assign(**about, chains=chain_classes(receptors))


def _restricted(found, donor: hla.Alleles) -> tuple[np.ndarray, dict]:
    """Return the epitopes that a donor can present, shape (n_epitopes,), and counts of candidates."""
    epitopes = found.reference.epitopes
    allowed, verdicts = annotator.allowed_epitopes(donor, epitopes["epitope"], found.molecules)
    candidates = (epitopes["n_references"] >= found.min_references).to_numpy()
    return allowed, {
        "candidates": int(candidates.sum()),
        **{word: int((verdicts[candidates] == word).sum()) for word in (hla.EXCLUDED, hla.UNKNOWN)},
    }
