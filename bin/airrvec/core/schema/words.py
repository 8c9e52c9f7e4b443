"""Terms used in tables: loci, chain fields, species, labels, chain pairings."""

import pyarrow as pa

LOCI = ("TRA", "TRB")

CHAIN_FIELDS = ("v_call", "j_call", "junction_aa")

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


RECEPTOR_FIELDS = tuple(field(locus, name) for locus in LOCI for name in CHAIN_FIELDS)


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
