"""Terms used in tables: lineages and their loci, chain fields, species, labels, chain pairings."""

import re
from dataclasses import dataclass

import pyarrow as pa

CHAIN_FIELDS = ("v_call", "j_call", "junction_aa")
_ALPHA_BETA_WORD = re.compile("(?<![A-Za-z])(?:TRA|TRB|tra|trb|alpha|beta)(?![A-Za-z])|[αβ]")


@dataclass(frozen=True)
class Lineage:
    """
    T cells whose receptor pairs the chains of two loci: αβ, or γδ.

    Attributes
    ----------
    name : str
        αβ or γδ.
    loci : tuple of str
        Of the chain without D gene (VJ), and of that with one (VDJ).
    chains : tuple of str
        Classes of chains: both, the first alone, the second alone.
    greek : tuple of str
        Names of the two chains.
    """

    name: str
    loci: tuple[str, str]
    chains: tuple[str, str, str]
    greek: tuple[str, str]

    @property
    def receptor_fields(self) -> tuple[str, ...]:
        """The fields that identify a receptor, e.g. ``tra_v_call``."""
        return tuple(field(locus, name) for locus in self.loci for name in CHAIN_FIELDS)

    @property
    def genes(self) -> dict[str, str]:
        """The columns of genes without alleles → the calls that they come from."""
        return {field(locus, f"{s}_gene"): field(locus, f"{s}_call") for locus in self.loci for s in "vj"}

    def second(self, name: str) -> str:
        """Return the column of a field of a cell's second VJ chain, e.g. ``tra_2_v_call``."""
        return f"{self.loci[0].lower()}_2_{name}"

    def renamed(self, text: str) -> str:
        """Return a text on α and β chains, or the name of a column, in the words of this lineage."""
        words = dict(zip(ALPHA_BETA._words, self._words, strict=True))
        return _ALPHA_BETA_WORD.sub(lambda match: words[match[0]], text)

    @property
    def _words(self) -> tuple[str, ...]:
        return (*self.loci, *(locus.lower() for locus in self.loci), *self.chains[1:], *self.greek)

    def schema(self, alpha_beta: pa.Schema) -> pa.Schema:
        """Return the schema of a table of α and β chains, for those of this lineage."""
        columns = [column.with_name(self.renamed(column.name)) for column in alpha_beta]
        if self != ALPHA_BETA:  # the innate-like kinds are those of α chains
            columns = [column for column in columns if column.name != "innate_like"]
        return pa.schema(columns)


ALPHA_BETA = Lineage("αβ", ("TRA", "TRB"), ("paired", "alpha", "beta"), ("α", "β"))
GAMMA_DELTA = Lineage("γδ", ("TRG", "TRD"), ("paired", "gamma", "delta"), ("γ", "δ"))

# Of the receptors that models read; all tables and functions without another lineage are of these.
LOCI = ALPHA_BETA.loci

# Text fields of AIRR that are kept as the input gives them: those that the standard requires, and those that
# scirpy uses. No later step reads them.
KEPT_FIELDS = (
    *("sequence_id", "sequence", "rev_comp", "d_call", "c_call", "junction", "clone_id"),
    *("sequence_alignment", "germline_alignment", "v_cigar", "d_cigar", "j_cigar"),
)

# Species names of tidytcells → spellings in inputs, in lower case.
SPECIES = {
    "homosapiens": ("homosapiens", "homo sapiens", "human", "hs", "h.sapiens"),
    "musmusculus": ("musmusculus", "mus musculus", "mouse", "mm", "m.musculus"),
}

# What a row of an input is, and what the abundance of its cells or clonotypes counts.
ROW_UNITS = ("chain", "cell", "clonotype", "pair")
COUNT_UNITS = ("cells", "UMIs", "reads", "templates", "copies", "pairs", "rows")

LABELS = (
    "epitope",
    "antigen_gene",
    "antigen_species",
    "mhc_class",
    "mhc_a",
    "mhc_b",
    "reference_id",
    "confidence",  # of the label, as given by the source, e.g. VDJdb's score
    "label_method",  # by which the source identified the epitope
    "split",  # train, validation or test, if the user splits the labelled receptors
)

# Labels of the table of references; the others are of no use there.
REFERENCE_LABELS = tuple(name for name in LABELS if name not in ("label_method", "split"))

# Chain pairings, in scirpy's terms.
SINGLE_PAIR = "single pair"

ORPHAN_VJ = "orphan VJ"

ORPHAN_VDJ = "orphan VDJ"

EXTRA_VJ = "extra VJ"

EXTRA_VDJ = "extra VDJ"

TWO_FULL_CHAINS = "two full chains"

MULTICHAIN = "multichain"

CHAIN_PAIRINGS = (
    SINGLE_PAIR,
    ORPHAN_VJ,
    ORPHAN_VDJ,
    EXTRA_VJ,
    EXTRA_VDJ,
    TWO_FULL_CHAINS,
    MULTICHAIN,
)


def field(locus: str, name: str) -> str:
    """Return the column of a chain's field in ``receptors``, e.g. ``tra_v_call``."""
    return f"{locus.lower()}_{name}"


def raw(name: str) -> str:
    """Return the column with the input's spelling of a field, e.g. ``tra_v_call_raw``."""
    return f"{name}_raw"


def uncertain(name: str) -> str:
    """Return the column that marks calls with more than one possible gene, e.g. ``v_call_uncertain``."""
    return f"{name}_uncertain"


def open_frame(name: str) -> str:
    """Return the column that marks calls of an open reading frame, e.g. ``v_call_open_frame``."""
    return f"{name}_open_frame"


RECEPTOR_FIELDS = ALPHA_BETA.receptor_fields


def strings(*names: str) -> list[tuple[str, pa.DataType]]:
    return [(name, pa.string()) for name in names]


# Value of the column `epitope` in rows with the mean over epitopes.
MEAN = "mean"

METRICS = ("auroc", "auroc_01", "average_precision")

# Settings of a measurement. `chains`: paired, alpha or beta; `test_set`: which receptors are tested;
# `excluded`: description of the excluded references, or none.
RECEPTOR_SETTING = ("chains", "test_set", "excluded")
RULE_SETTING = ("rule", *RECEPTOR_SETTING)
SETTING = ("encoder", *RULE_SETTING)

# Test set `unseen` without the receptors used for fine-tuning.
NOT_TRAINED = "not_trained"
