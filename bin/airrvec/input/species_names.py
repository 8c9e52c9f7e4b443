"""Which species receptors are of: what a word says, and what V genes say."""

from collections import Counter
from dataclasses import dataclass
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from airrvec.core import schema
from airrvec.input.calls import known_gene

# V genes of another species that make a table another species': a few wrong names end no run.
LEAST_SHARE = 0.1
LEAST_CHAINS = 5
TITLES = {"homosapiens": "human", "musmusculus": "mouse"}


def read(word: str) -> str | None:
    """The key of `airrvec.core.schema.SPECIES` that a word stands for, or None."""
    return next((name for name, words in schema.SPECIES.items() if word.lower() in words), None)


@cache
def of_gene(v_call: str) -> frozenset[str]:
    """
    The species that have a V gene of this name, functional or not.

    Mouse has no TRBV5-1, but a TRBV5 that the name would be read as: where species read a name as
    different genes, those that have the very name count alone.
    """
    genes = {name: known_gene(v_call, "V", name) for name in schema.SPECIES}
    exact = {name for name, gene in genes.items() if gene == v_call.split("*")[0].strip().upper()}
    return frozenset(exact or (name for name, gene in genes.items() if gene))


@dataclass(frozen=True)
class Contradiction:
    """
    A species that the genes speak against.

    Attributes
    ----------
    said, other : str
        Keys of `airrvec.core.schema.SPECIES`: what the input says, and what its genes are.
    n_other, n_calls : int
        Chains whose V gene the other species alone has, and all chains with a V gene.
    """

    said: str
    other: str
    n_other: int
    n_calls: int

    @property
    def is_sure(self) -> bool:
        """Whether there are enough chains to say so."""
        return self.n_other >= LEAST_CHAINS

    @property
    def sentence(self) -> str:
        """What is wrong."""
        return (
            f"{self.n_other:,} of {self.n_calls:,} V genes are {TITLES[self.other]} genes that"
            f" {TITLES[self.said]} has not, but the receptors are read as {TITLES[self.said]} ones"
        )

    @property
    def fix(self) -> str:
        """What to do."""
        return (
            f"Write {self.other} in the column 'species' of the samplesheet, or give --species {self.other};"
            " a species that the table itself names comes before both"
        )


class Evidence:
    """
    V genes that only one species has, counted beside the species that the input says.

    Parameters
    ----------
    default : str
        The species of chains that name none.
    """

    def __init__(self, default: str):
        self._default = default
        self._calls: Counter[tuple[str, str]] = Counter()  # species, V call

    def add(self, chains: pa.Table) -> None:
        """Count some chains, as the input spells them (`airrvec.core.schema.CHAIN_RECORDS`)."""
        words = pc.fill_null(chains["species"], self._default)
        keys = pc.binary_join_element_wise(words, chains["v_call"], "\0").drop_null()
        for item in pc.value_counts(keys).to_pylist():
            word, _, call = item["values"].partition("\0")
            species = read(word)
            if species:
                self._calls[species, call] += item["counts"]

    def contradiction(self) -> Contradiction | None:
        """What speaks against the species that the input says, where most genes are another's; else None."""
        for said in schema.SPECIES:
            calls = {call: n for (species, call), n in self._calls.items() if species == said}
            n_calls = sum(calls.values())
            n_own = sum(n for call, n in calls.items() if of_gene(call) == {said})
            for other in schema.SPECIES:
                n_other = sum(n for call, n in calls.items() if of_gene(call) == {other})
                if other != said and n_other > max(n_own, LEAST_SHARE * n_calls):
                    return Contradiction(said, other, n_other, n_calls)
        return None
