"""Species of receptors, from names and from V genes."""

from collections import Counter
from dataclasses import dataclass
from functools import cache

from airrvec.core import schema
from airrvec.input.calls import first_imgt_gene

import pyarrow as pa
import pyarrow.compute as pc

# Least share and number of V genes of another species that contradict the given one; a few do not stop a run.
LEAST_SHARE = 0.1
LEAST_CHAINS = 5
TITLES = {"homosapiens": "human", "musmusculus": "mouse"}


def species_key(word: str) -> str | None:
    """Return the key of `airrvec.core.schema.SPECIES` for a species name, or None."""
    return next((name for name, words in schema.SPECIES.items() if word.lower() in words), None)


@cache
def species_of_gene(v_call: str) -> frozenset[str]:
    """
    Return the species that have a V gene of this name, functional or not.

    If any species has a gene of exactly this name, only such species are returned: mouse has no TRBV5-1,
    but the name would be read as its TRBV5.
    """
    genes = {name: first_imgt_gene(v_call, "V", name) for name in schema.SPECIES}
    exact = {name for name, gene in genes.items() if gene == v_call.split("*")[0].strip().upper()}
    return frozenset(exact or (name for name, gene in genes.items() if gene))


@dataclass(frozen=True)
class SpeciesConflict:
    """
    Conflict between the given species and the V genes.

    Attributes
    ----------
    said, other : str
        Keys of `airrvec.core.schema.SPECIES`: species given in the input, and species of its V genes.
    n_other, n_calls : int
        Number of chains whose V gene exists only in ``other``, and of all chains with a V gene.
    """

    said: str
    other: str
    n_other: int
    n_calls: int

    @property
    def is_sure(self) -> bool:
        """True if there are enough chains to stop the run."""
        return self.n_other >= LEAST_CHAINS

    @property
    def sentence(self) -> str:
        """Description of the conflict."""
        return (
            f"{self.n_other:,} of {self.n_calls:,} V genes exist in {TITLES[self.other]} and not in"
            f" {TITLES[self.said]}, but the receptors are read as {TITLES[self.said]}"
        )

    @property
    def fix(self) -> str:
        """Recommended action."""
        return (
            f"Write {self.other} in the column 'species' of the samplesheet, or give --species {self.other};"
            " a species named in the table itself overrides both"
        )


class VGeneCounts:
    """
    Counts of V genes, by the species given in the input.

    Parameters
    ----------
    default : str
        Species of chains without a given species.
    """

    def __init__(self, default: str):
        self._default = default
        self._calls: Counter[tuple[str, str]] = Counter()  # species, V call

    def add(self, chains: pa.Table) -> None:
        """Count chains as spelled in the input (`airrvec.core.schema.CHAIN_RECORDS`)."""
        words = pc.fill_null(chains["species"], self._default)
        keys = pc.binary_join_element_wise(words, chains["v_call"], "\0").drop_null()
        for item in pc.value_counts(keys).to_pylist():
            word, _, call = item["values"].partition("\0")
            species = species_key(word)
            if species:
                self._calls[species, call] += item["counts"]

    def contradiction(self) -> SpeciesConflict | None:
        """Return the conflict if more V genes are unique to another species than to the given; else None."""
        for said in schema.SPECIES:
            calls = {call: n for (species, call), n in self._calls.items() if species == said}
            n_calls = sum(calls.values())
            n_own = sum(n for call, n in calls.items() if species_of_gene(call) == {said})
            for other in schema.SPECIES:
                n_other = sum(n for call, n in calls.items() if species_of_gene(call) == {other})
                if other != said and n_other > max(n_own, LEAST_SHARE * n_calls):
                    return SpeciesConflict(said, other, n_other, n_calls)
        return None
