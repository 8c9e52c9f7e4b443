"""Words of the tables: loci, fields of a chain, species, labels, classes of pairing."""

import pyarrow as pa

LOCI = ("TRA", "TRB")

CHAIN_FIELDS = ("v_call", "j_call", "junction_aa")

# tidytcells' names of the species → the words that inputs use for them, in lower case.
SPECIES = {
    "homosapiens": ("homosapiens", "homo sapiens", "human", "hs", "h.sapiens"),
    "musmusculus": ("musmusculus", "mus musculus", "mouse", "mm", "m.musculus"),
}

LABELS = (
    "epitope",
    "antigen_gene",
    "antigen_species",
    "mhc_class",
    "mhc_a",
    "mhc_b",
    "reference_id",
    "confidence",  # of the label, as the source gives it, e.g. VDJdb's score
    "split",  # train, validation or test, where the user divides labelled receptors
)

# scirpy's words.
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
    """Column of a chain's field in ``receptors``, e.g. ``tra_v_call``."""
    return f"{locus.lower()}_{name}"


def raw(name: str) -> str:
    """Column of a field as the input spells it, e.g. ``tra_v_call_raw``."""
    return f"{name}_raw"


def uncertain(name: str) -> str:
    """Column of whether a call leaves the gene open, e.g. ``v_call_uncertain``."""
    return f"{name}_uncertain"


RECEPTOR_FIELDS = tuple(field(locus, name) for locus in LOCI for name in CHAIN_FIELDS)


def strings(*names: str) -> list[tuple[str, pa.DataType]]:
    return [(name, pa.string()) for name in names]


# The mean over epitopes stands among them under this name.
MEAN = "mean"

METRICS = ("auroc", "auroc_01", "average_precision")

# How something was measured: `chains` paired, alpha or beta; `test_set` which receptors are tested;
# `excluded` the text of references left out, or none.
SETTING = ("encoder", "rule", "chains", "test_set", "excluded")

# The test set of `unseen` without the receptors that fine-tuning has seen.
NOT_TRAINED = "not_trained"
