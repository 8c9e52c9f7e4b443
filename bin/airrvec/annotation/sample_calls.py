"""Calls of the receptors of samples: receptors are searched once, in parts, and rated by sample."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from airrvec.annotation import annotator, evidence
from airrvec.annotation.annotator import Hits, Rated
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
        is_searched = pc.is_null(receptors["innate_like"]).to_numpy() | innate
        self.group = np.where(is_searched, NO_CLASS, WITHHELD).astype(np.int8)  # number in `GROUPS`, (n,)
        self.annotators = {}
        self._reasons = reasons or {}
        for number, (species, chain_class) in enumerate(GROUPS):
            is_species = pc.equal(receptors["species"], species).to_numpy()
            in_group = is_searched & (chains == chain_class) & is_species
            self.group[in_group] = number
            group_annotator = annotators(species, chain_class) if in_group.any() else None
            if group_annotator is not None:
                self.annotators[number] = group_annotator

    def reason(self, number: int) -> str | None:
        """Return why a group is not calibrated; None if it is, and for innate-like receptors."""
        group_annotator = self.annotators.get(number)
        if number == WITHHELD or (group_annotator is not None and group_annotator.scores is not None):
            return None
        return NO_JUNCTION if number == NO_CLASS else self._reasons.get(GROUPS[number], NO_REFERENCE)

    def not_calibrated(self) -> dict[tuple[str, str], tuple[int, str]]:
        """Return the number of receptors of each class that is not calibrated, and the reason."""
        numbers, counts = np.unique(self.group[self.group >= 0], return_counts=True)
        classes = {
            GROUPS[number]: (int(n), self.reason(number)) for number, n in zip(numbers, counts, strict=True)
        }
        return {group: about for group, about in classes.items() if about[1]}

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
        queries = {
            number: [query for query in self._queries(number, samples) if len(query.rows)]
            for number in self.annotators
        }
        wanted = self._members([rows for rows, _ in samples])
        for rows, vectors in parts:
            for number, group_queries in queries.items():
                here = np.flatnonzero(wanted[rows] & (self.group[rows] == number))
                if len(here):
                    self._search(self.annotators[number], group_queries, rows[here], vectors[here])
        for sample, (rows, _) in enumerate(samples):
            own = {}
            for number, group_queries in queries.items():
                group_rows = rows[self.group[rows] == number]
                for query in group_queries:
                    if len(group_rows) and sample in query.samples:
                        own[number] = query.take(group_rows)
            yield SampleCalls(self, rows, own)

    def _queries(self, number: int, samples: Sequence) -> Iterator["Query"]:
        """Yield the queries of a group: one of all samples without HLA, and one of each other sample."""
        group_annotator = self.annotators[number]
        sizes = len(evidence.NAMES[group_annotator.chains]), len(group_annotator.epitopes)
        free = [sample for sample, (_, donor) in enumerate(samples) if not donor]
        if free:
            members = self._members([samples[sample][0] for sample in free])
            rows = np.flatnonzero(members & (self.group == number))
            yield Query({*free}, rows, Hits.empty(len(rows), *sizes))
        for sample, (rows, donor) in enumerate(samples):
            if donor:
                rows = rows[self.group[rows] == number]
                hits = Hits.empty(len(rows), *sizes)
                yield Query({sample}, rows, hits, *_restricted(group_annotator, donor))

    def _members(self, rows: list[np.ndarray]) -> np.ndarray:
        """Return whether each receptor is in one of the samples with these rows, shape (n,)."""
        members = np.zeros(len(self.group), bool)
        for sample_rows in rows:
            members[sample_rows] = True
        return members

    def _search(self, group_annotator, queries: list["Query"], rows: np.ndarray, vectors: np.ndarray) -> None:
        places = [np.searchsorted(query.rows, rows) for query in queries]
        members = [
            np.flatnonzero(query.rows[np.minimum(place, len(query.rows) - 1)] == rows)
            for query, place in zip(queries, places, strict=True)
        ]
        subsets = [(own, query.allowed) for own, query in zip(members, queries, strict=True)]
        parts = group_annotator.search(self.receptors.take(pa.array(rows)), vectors, subsets)
        for query, place, own, part in zip(queries, places, members, parts, strict=True):
            query.hits.put(place[own], part)


@dataclass(frozen=True)
class Query:
    """
    Receptors of a group that are compared with the same epitopes.

    Attributes
    ----------
    samples : set of int
        Numbers of the samples that have them.
    rows : ndarray of int64, shape (n,)
        Rows of the receptors, ascending.
    hits : Hits
        Of the receptors.
    allowed : ndarray of bool, shape (n_epitopes,), or None
        Epitopes that the donor can present: all, if None.
    counts : dict
        Numbers of candidate epitopes with a donor's HLA, by verdict.
    """

    samples: set[int]
    rows: np.ndarray
    hits: Hits
    allowed: np.ndarray | None = None
    counts: dict = field(default_factory=dict)

    def take(self, rows: np.ndarray) -> "Query":
        """Return the query of some of its receptors."""
        return replace(self, rows=rows, hits=self.hits.take(np.searchsorted(self.rows, rows)))


class SampleCalls:
    """
    Calls of the receptors of a sample.

    Parameters
    ----------
    search : Search
    rows : ndarray of int64, shape (n,)
        Rows of its receptors, ascending.
    queries : dict of int to Query
        By the number of the group: its receptors of the sample, in the order of ``rows``.
    """

    def __init__(self, search: Search, rows: np.ndarray, queries: dict[int, Query]):
        self.search, self.rows, self.queries = search, rows, queries
        self.group = search.group[rows]
        self.place = np.zeros(len(rows), np.int32)  # of a receptor in its group
        for number in queries:
            self.place[self.group == number] = np.arange((self.group == number).sum())
        self.rated: dict[int, Rated] = {}

    def rate(self, fdr: float) -> list[dict]:
        """Call epitopes at a false discovery rate; return the counts of each class that is calibrated."""
        groups = []
        for number, query in self.queries.items():
            group_annotator = self.search.annotators[number]
            rated, prevalence = group_annotator.rate(query.hits, fdr=fdr, allowed=query.allowed)
            self.rated[number] = rated
            if self.search.reason(number):
                continue
            species, chains = GROUPS[number]
            n_called = int(rated.is_called.sum())
            counts = {
                "species": species,
                "chains": chains,
                "receptors": len(rated.is_called),
                "called": n_called,
                "expected_false": float(n_called * rated.fdr[rated.is_called].max()) if n_called else 0.0,
                "prevalence": prevalence,
                **query.counts,
            }
            groups.append(counts)
        return groups

    def words(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the columns ``call`` and ``excluded_epitope`` of all receptors, shape (n,)."""
        calls = np.full(len(self.rows), annotator.NOT_CALIBRATED, object)
        calls[self.group == WITHHELD] = annotator.INNATE_LIKE
        excluded = np.full(len(self.rows), None, object)
        for number, rated in self.rated.items():
            here, group_annotator = self.group == number, self.search.annotators[number]
            calls[here] = group_annotator.call_words(rated)
            excluded[here] = group_annotator.excluded_words(rated)
        return calls, excluded

    def is_called(self) -> np.ndarray:
        """Return whether each receptor has a called epitope, shape (n,)."""
        is_called = np.zeros(len(self.rows), bool)
        for number, rated in self.rated.items():
            is_called[self.group == number] = rated.is_called
        return is_called

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
                group_annotator = self.search.annotators[number]
                part = group_annotator.calls(self.rated[number].take(self.place[members[here]]))
                ids = receptors["clonotype_id"].take(pa.array(here))
                part["exact_epitope"] = group_annotator.exact(ids)
            parts.append(part.assign(not_calibrated=self.search.reason(number)).set_index(here))
        if not parts:
            parts = [annotator.without_calls(0, annotator.NOT_CALIBRATED)]
        fields = ("receptor_id", "species", "innate_like", *schema.RECEPTOR_FIELDS)
        about = {name: contiguous(receptors[name]).to_pandas() for name in fields}
        # Not of one part: pandas compares all values of empty columns with nothing.
        calls = pd.concat(parts) if len(parts) > 1 else parts[0]
        return calls.sort_index().assign(**about, chains=chain_classes(receptors))


def _restricted(group_annotator, donor: hla.Alleles) -> tuple[np.ndarray, dict]:
    """Return the epitopes that a donor can present, shape (n_epitopes,), and counts of candidates."""
    epitopes = group_annotator.reference.epitopes
    allowed, verdicts = annotator.allowed_epitopes(donor, epitopes["epitope"], group_annotator.molecules)
    candidates = (epitopes["n_references"] >= group_annotator.min_references).to_numpy()
    return allowed, {
        "candidates": int(candidates.sum()),
        **{word: int((verdicts[candidates] == word).sum()) for word in (hla.EXCLUDED, hla.UNKNOWN)},
    }
