"""Studies and MHC of labels in one spelling, and what is grouped by it."""

import csv

from airrvec.annotation.reference_set import build_reference_set
from airrvec.core.antigens import from_study, study_id, study_ids
from airrvec.input.mhc_names import mhc_allele, mhc_alleles

import pyarrow as pa
import pytest
from inputs import DATA, normalised, text

STUDIES = [
    ("PMID:1", "PMID:1"),
    ("PMID: 1", "PMID:1"),
    ("pmid:1", "PMID:1"),
    ("PMID 1", "PMID:1"),
    (" PubMed:0001 ", "PMID:1"),
    ("PubMed ID: 1", "PMID:1"),
    ("https://pubmed.ncbi.nlm.nih.gov/1/", "PMID:1"),
    ("https://pubmed.ncbi.nlm.nih.gov/1", "PMID:1"),
    ("http://www.ncbi.nlm.nih.gov/pubmed/1?dopt=Abstract", "PMID:1"),
    ("https://pubmed.ncbi.nlm.nih.gov/1/2", "https://pubmed.ncbi.nlm.nih.gov/1/2"),
    ("doi:10.1038/Nature22383", "https://doi.org/10.1038/nature22383"),
    ("10.1038/nature22383", "https://doi.org/10.1038/nature22383"),
    ("https://dx.doi.org/10.1038/nature22383", "https://doi.org/10.1038/nature22383"),
    ("http://www.iedb.org/reference/1", "http://www.iedb.org/reference/1"),
    ("https://github.com/antigenomics/vdjdb-db/issues/193",) * 2,
    ("1", "1"),  # a number alone may be anything
    ("PMID:1; PMID:2", "PMID:1; PMID:2"),
    ("unpublished", "unpublished"),
    ("None", None),
    ("", None),
    (" - ", None),
    (None, None),
]


@pytest.mark.parametrize(("text", "study"), STUDIES)
def test_a_study_has_one_spelling(text, study):
    assert study_id(text) == study
    assert study_id(study) == study


def test_columns_of_studies():
    given = pa.chunked_array([[text for text, _ in STUDIES[:9]], [text for text, _ in STUDIES[9:]]])
    assert study_ids(given).to_pylist() == [study for _, study in STUDIES]
    assert study_ids(pa.nulls(2)).to_pylist() == [None, None]
    cells = pa.array(["PMID:1", "PMID:12", None, "https://www.10xgenomics.com/x"])
    for given in ("pmid: 1", "PMID:1", "https://pubmed.ncbi.nlm.nih.gov/1/"):
        assert from_study(cells, given).to_pylist() == [True, True, False, False]
    assert from_study(cells, "10xGenomics").to_pylist() == [False, False, False, True]


MHC = [
    ("A*0201", "HLA-A*02:01"),
    ("HLA-A*02:01", "HLA-A*02:01"),
    ("HLA-A*02:01:48", "HLA-A*02:01:48"),
    ("HLA-A2", "HLA-A*02"),
    ("HLA-Cw3", "HLA-C*03"),
    ("DRB10401", "HLA-DRB1*04:01"),
    ("DRB1*0401", "HLA-DRB1*04:01"),
    ("A2402", "HLA-A*24:02"),  # tidytcells: HLA-A*02:402, which is an allele too
    ("HLA-A*1101", "HLA-A*11:01"),  # tidytcells: HLA-A*01:101
    ("Cw1203", "HLA-C*12:03"),
    ("DPA0103", "HLA-DPA1*01:03"),
    ("HLA-DRB1*15 ", "HLA-DRB1*15"),
    ("HLA-DPA*01:03", "HLA-DPA1*01:03"),
    ("HLA-DRA1*01", "HLA-DRA*01"),
    ("b2m", "B2M"),
    ("beta-2-microglobulin", "B2M"),
    ("HLA-A*24:01", "HLA-A*24:01"),  # tidytcells: HLA-A*02:04:01
    ("HLA-B*12", "HLA-B*12"),  # no such group
    ("H-2Kb ", "H-2Kb"),
    ("H2-KB", "H-2Kb"),
    ("H-2Db", "H-2Db"),  # tidytcells: MH2-D1, as for the next
    ("H-2Dd", "H-2Dd"),
    ("H-2Eb1", "H-2Eb1"),
    ("I-Ab", "I-Ab"),
    ("Mamu-A*01", "Mamu-A*01"),
    ("HLA-A*02:01, HLA-B*07:02", "HLA-A*02:01, HLA-B*07:02"),  # tidytcells reads the first only
    ("HLA-DRA*01:01/DRB1*04:01", "HLA-DRA*01:01/DRB1*04:01"),
    ("HLA class I", "HLA class I"),
    ("A" * 5000, "A" * 5000),
    ("none", None),
    ("", None),
    (None, None),
]


@pytest.mark.parametrize(("name", "allele"), MHC)
def test_an_mhc_has_one_spelling(name, allele):
    assert mhc_allele(name) == allele
    assert mhc_allele(allele) == allele


def test_columns_of_mhc():
    assert mhc_alleles(pa.array([name for name, _ in MHC])).to_pylist() == [allele for _, allele in MHC]


RELEASE = ("v.alpha", "j.alpha", "cdr3.alpha", "v.beta", "j.beta", "cdr3.beta", "antigen.epitope")
NAMES = (*RELEASE, "reference.id", "vdjdb.score")
BETAS = ("CASSEGTEAFF", "CSARDSYEQYF")


def reference_set(tmp_path, labels, **options):
    alpha, beta = ("TRAV1-1*01", "TRAJ24*01", "CAVRDSWGKLQF"), ("TRBV2*01", "TRBJ1-1*01")
    rows = [(*alpha, *beta, junction, *others) for junction, *others in labels]
    (tmp_path / "table.tsv").write_text(text(NAMES, rows))
    table = normalised(tmp_path / "table.tsv")
    reference = build_reference_set(
        table.cells, table.receptors, chains="paired", species="homosapiens", **options
    )
    return reference, table.cells


def test_spellings_of_one_study_are_one_study_of_the_reference(tmp_path):
    spellings = ("PMID: 1", "https://pubmed.ncbi.nlm.nih.gov/1/", "pmid:1", "PMID:2", "none", None)
    labels = [(BETAS[row % 2], "GILGFVFTL", study, "0") for row, study in enumerate(spellings)]
    reference, cells = reference_set(tmp_path, labels)
    assert cells["reference_id"].to_pylist() == ["PMID:1", "PMID:1", "PMID:1", "PMID:2", None, None]
    assert reference.study_names == ["PMID:1", "PMID:2", "none"]
    assert reference.epitopes["n_studies"].tolist() == [3]
    left, _ = reference_set(tmp_path, labels, exclude_references="PMID: 1")
    assert left.study_names == ["PMID:2", "none"]


def test_a_receptor_has_the_highest_score_of_its_labels(tmp_path):
    labels = [
        (BETAS[0], "GILGFVFTL", "PMID:1", "0"),
        (BETAS[0], "GILGFVFTL", "PMID:2", "2"),
        (BETAS[0], "NLVPMVATV", "PMID:2", "high"),
        (BETAS[1], "GILGFVFTL", "PMID:1", "sure"),
    ]
    reference, _ = reference_set(tmp_path, labels)
    found = dict(zip(reference.receptors["trb_junction_aa"].to_pylist(), reference.confidence, strict=True))
    assert found[BETAS[0]] == 2
    assert found[BETAS[1]] != found[BETAS[1]]  # NaN
    assert len(reference.take([0]).confidence) == 1


FULL = ("method.identification", "method.verification")
CHAIN = {"complex.id": "0", "gene": "TRB", "cdr3": BETAS[0], "v.segm": "TRBV2*01", "j.segm": "TRBJ1-1*01"}
CHAIN |= {"species": "HomoSapiens", "antigen.epitope": "GILGFVFTL"}
EXPORT = {"complex.id": "0", "Gene": "TRB", "CDR3": BETAS[0], "V": "TRBV2*01", "J": "TRBJ1-1*01"}
EXPORT |= {"Species": "HomoSapiens", "Epitope": "GILGFVFTL"}
PAIR_OF_FULL = dict(
    zip(
        RELEASE,
        ("TRAV1-1*01", "TRAJ24*01", "CAVRDSWGKLQF", "TRBV2*01", "TRBJ1-1*01", BETAS[0], "GILGFVFTL"),
        strict=True,
    )
)
METHODS = [
    # columns of a row, method of the label
    (PAIR_OF_FULL | dict.fromkeys(FULL, None), None),
    (PAIR_OF_FULL | {FULL[0]: "tetramer-sort"}, "tetramer-sort"),
    (PAIR_OF_FULL | {FULL[0]: "a,b", FULL[1]: "direct"}, "a,b;direct"),
    (PAIR_OF_FULL | {FULL[1]: "direct"}, "direct"),
    (PAIR_OF_FULL | {"airrvec.method": "no column of VDJdb", FULL[1]: "direct"}, "direct"),
    (CHAIN | {"method": "{}"}, None),
    (CHAIN | {"method": '{"identification": "sort", "singlecell": "yes", "verification": ""}'}, "sort"),
    (EXPORT | {"Method": '{"identification": "sort","verification":"targets"}'}, "sort;targets"),
    (EXPORT, None),
]


@pytest.mark.parametrize(("row", "method"), METHODS)
def test_methods_of_vdjdb(row, method, tmp_path):
    (tmp_path / "table.tsv").write_text(text(list(row), [list(row.values())]))
    table = normalised(tmp_path / "table.tsv")
    assert table.counts["format"] == "vdjdb"
    assert table.cells["label_method"].to_pylist() == [method]


@pytest.mark.parametrize(
    ("name", "methods"), [("iedb.csv", ["T cell"] * 2), ("mcpas.csv", [None] * 3), ("sceptr.tsv", [None] * 3)]
)
def test_methods_of_other_formats(name, methods):
    assert normalised(DATA / name).cells["label_method"].to_pylist() == methods


def test_mcpas_numbers_its_methods(tmp_path):
    table = (DATA / "mcpas.csv").read_text().splitlines()
    row = dict(zip(table[0].split(","), next(csv.reader(table[1:2])), strict=True))
    for number, method in (("2.1", "McPAS method 2.1"), ("1", "McPAS method 1"), ("tetramer", "tetramer")):
        row["Antigen.identification.method"] = number
        (tmp_path / "table.csv").write_text(text(list(row), [list(row.values())], ","))
        assert normalised(tmp_path / "table.csv").cells["label_method"].to_pylist() == [method]
