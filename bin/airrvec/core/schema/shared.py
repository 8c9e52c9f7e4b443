"""Columns that several tables share."""

from airrvec.core.schema.published import Column, float64, int64, string
from airrvec.core.schema.words import RECEPTOR_FIELDS, field

SAMPLE_ID = string("sample_id", "`sample` of the samplesheet, or `labelled`")
CELL_ID = string(
    "cell_id",
    "Barcode, clone or sequence id of the input, unchanged ([which"
    " one](reference/input.md#cells-counts-and-species)). Not always unique.",
    null="the input has none",
)
RECEPTOR_ID = string(
    "receptor_id",
    "Identity of the receptor, alleles included: 24 hexadecimal digits"
    " ([definition](explanations/receptor_id.md))",
)
CLONOTYPE_ID = string(
    "clonotype_id",
    "Identity without alleles: V gene, J gene and junction of both chains. Use it to count clones and to"
    " compare samples.",
)
SPECIES_COLUMN = string("species", "`homosapiens` or `musmusculus`")
CHAINS_COLUMN = string("chains", "Chains that are compared: `paired`, `alpha` or `beta`")
LOCUS = string("locus", "`TRA` or `TRB`")


def _chain_columns(locus: str, greek: str) -> list[Column]:
    no_chain = f"no {greek} chain"
    return [
        string(
            field(locus, "v_call"), f"V gene or allele of the {greek} chain, IMGT", f"unknown, or {no_chain}"
        ),
        string(
            field(locus, "j_call"), f"J gene or allele of the {greek} chain, IMGT", f"unknown, or {no_chain}"
        ),
        string(field(locus, "junction_aa"), f"Junction of the {greek} chain: CDR3 with C and F/W", no_chain),
    ]


RECEPTOR_COLUMNS = (*_chain_columns("TRA", "α"), *_chain_columns("TRB", "β"))
assert tuple(column.name for column in RECEPTOR_COLUMNS) == RECEPTOR_FIELDS
INNATE_LIKE = string(
    "innate_like",
    "`MAIT` or `iNKT`, if the α chain is [typical](explanations/innate_like.md) of these cells and the β"
    " chain is none or fits",
    null="all others",
)
NAMED_RECEPTOR = (*RECEPTOR_COLUMNS, INNATE_LIKE)

# `abundance` and sums of it are in the unit that the column `count_unit` names.
COUNTED = "`count_unit`"
COUNT_UNIT = string(
    "count_unit",
    "What is counted, one unit for a sample: `cells`, `UMIs`, `reads`, `templates`, `copies` (reads or UMIs,"
    " not told), `pairs` or `rows`",
)
ABUNDANCE = int64(
    "abundance",
    "How often the row counts: a cell once, a clonotype by its count"
    " ([units](reference/input.md#unit-of-a-row)). Clone sizes, gene usage, overlap and diversity are made"
    " of it, by [clones](explanations/clones.md).",
    null="no count: these leave the row out",
    unit=COUNTED,
)
N_CELLS = int64("n_cells", "Sum of `abundance`", unit=COUNTED)
N_CLONES = int64("n_clones", "[Clones](explanations/clones.md)")
N_RECEPTORS = int64("n_receptors", "Distinct receptors, without alleles")

# Labels of a receptor.
EPITOPE = string("epitope", "Epitope of the label, as written in the input", null="no label")
ANTIGEN_GENE = string("antigen_gene", "Gene or protein of the epitope", null="no label")
ANTIGEN_SPECIES = string("antigen_species", "Organism of the epitope", null="no label")
MHC_CLASS = string("mhc_class", "MHC class", null="no label")
MHC_A = string("mhc_a", "MHC, α chain", null="no label")
MHC_B = string("mhc_b", "MHC, β chain", null="no label")
REFERENCE_ID = string(
    "reference_id",
    "Study that reports the label, in [one spelling](explanations/reference.md#studies): `PMID:1` for `PMID:"
    " 1`",
    null="none is named",
)
CONFIDENCE = string(
    "confidence",
    "Confidence of the label according to its source, e.g. VDJdb's score from 0 to 3",
    null="not given",
)
LABEL_COLUMNS = (
    *(EPITOPE, ANTIGEN_GENE, ANTIGEN_SPECIES, MHC_CLASS, MHC_A, MHC_B, REFERENCE_ID, CONFIDENCE),
    string(
        "label_method",
        "Methods that identified and verified the epitope, joined by `;`",
        null="not given",
    ),
    string(
        "split",
        "Part in fine-tuning, as given in the input: `train`, `validation`, `test`",
        null="not given",
    ),
)

_NOT_CALLED = "not called"
_NOT_KNOWN = "not called, or unknown"
# A call, beside what is called. The epitope, its details, probability and FDR only if called.
CALL_COLUMNS = (
    string("call", "As in [annotation](output.md#annotation), with `--annotate`", null="the labelled table"),
    string("call_epitope", "Epitope of the call", null=_NOT_CALLED),
    string("call_antigen_species", "Organism of the epitope", null=_NOT_KNOWN),
    string("call_mhc_a", "MHC, α chain, of the references", null=_NOT_KNOWN),
    float64("call_probability", "Probability of the call", null=_NOT_CALLED),
    float64("call_fdr", "Expected share of false calls among those at least as probable", null=_NOT_CALLED),
    string("exact_epitope", "Epitopes of references of the same clonotype, called or not", null="none"),
)

# Settings of a measurement of the benchmark.
ENCODER = string(
    "encoder",
    "Name in `--encoders`, of its Python file without `.py`, or of your own model",
)
RULE = string("rule", "How references make a score ([rules](explanations/benchmark.md#rules))")
RECEPTOR_SETTING_COLUMNS = (
    string("chains", "Chains that the encoder gets: `paired`, `alpha` or `beta`"),
    string("test_set", "Receptors that are tested ([test sets](explanations/benchmark.md#test-sets))"),
    string("excluded", "`--exclude_references`, or `none` if nothing is left out"),
)
RULE_SETTING_COLUMNS = (RULE, *RECEPTOR_SETTING_COLUMNS)
SETTING_COLUMNS = (ENCODER, *RULE_SETTING_COLUMNS)
AUROC_COLUMN = float64("auroc", "AUROC, 0 to 1; chance is 0.5")
