"""Receptors, antigens and studies as people read them, in tables and in the report."""

import html
import re

from airrvec.core import chains, schema
from airrvec.core.antigens import mhc_name, study
from airrvec.report import receptor_cells

import pyarrow as pa
import pytest

MAIT = ("TRAV1-2*01", "TRAJ33*01", "CAVMDSNYQLIW", "TRBV6-4*02", "TRBJ2-7", "CASSDSGGYEQYF")
ALPHA, BETA = "TRAV1-2 CAVMDSNYQLIW TRAJ33", "TRBV6-4 CASSDSGGYEQYF TRBJ2-7"
HOSTILE = "</td><script>alert(1)</script>\"' onmouseover=x,y"


def receptors(*rows) -> pa.Table:
    fields = dict(zip(schema.RECEPTOR_FIELDS, zip(*rows, strict=True), strict=True))
    ids = [f"r{number}" for number in range(len(rows))]
    return pa.table({"receptor_id": ids, **{name: pa.array(v, pa.string()) for name, v in fields.items()}})


@pytest.mark.parametrize(
    ("row", "name"),
    [
        (MAIT, f"{ALPHA} · {BETA}"),
        ((*MAIT[:3], None, None, None), f"{ALPHA} · no β"),
        ((None, None, None, *MAIT[3:]), f"no α · {BETA}"),
        ((None, "TRAJ33", "CAVMDSNYQLIW", "TRBV6-4", None, None), "? CAVMDSNYQLIW TRAJ33 · TRBV6-4 ? ?"),
        ((None,) * 6, None),
    ],
)
def test_a_name_has_v_cdr3_and_j_of_both_chains_and_no_alleles(row, name):
    table = receptors(MAIT, row)
    assert chains.receptor_names(table).to_pylist() == [f"{ALPHA} · {BETA}", name]
    columns = {field: table[field].to_pylist() for field in schema.RECEPTOR_FIELDS}
    assert chains.receptor_names(columns).to_pylist() == [f"{ALPHA} · {BETA}", name]


def test_a_name_of_a_class_of_one_chain_says_that_the_other_was_not_compared():
    table = receptors((None, None, None, *MAIT[3:]))
    assert chains.receptor_names(table, loci=("TRB",)).to_pylist() == [f"α not compared · {BETA}"]


def test_fields_are_joined_by_id_in_the_order_of_the_table():
    other = ("TRAV27", "TRAJ42", "CAGAGSQGNLIF", "TRBV19", "TRBJ2-7", "CASSIRSSYEQYF")
    known = receptors(MAIT, other)
    table = pa.table({"receptor_id": ["r1", "unknown", "r0", "r1"], "tra_v_call": ["old"] * 4, "n": range(4)})
    joined = chains.with_fields(table, known)
    assert joined.column_names == ["receptor_id", "n", *schema.RECEPTOR_FIELDS]
    rows = list(zip(*(joined[name].to_pylist() for name in schema.RECEPTOR_FIELDS), strict=True))
    assert rows == [other, (None,) * 6, MAIT, other]


def test_ids_are_the_last_columns_of_every_table_that_people_open():
    for table in (
        schema.ANNOTATION,
        schema.ANNOTATION_REFERENCE,
        schema.CLUSTERS,
        schema.CLUSTER_MEMBERS,
        schema.PUBLIC_RECEPTORS,
    ):
        is_id = [name.endswith("_id") and name not in ("sample_id", "reference_id") for name in table.names]
        assert True in is_id
        assert is_id == sorted(is_id), table.names
        assert {"centre"} <= {*table.names} or {*schema.RECEPTOR_FIELDS} <= {*table.names}
    assert schema.ANNOTATION.names[:9] == ["sample_id", *schema.RECEPTOR_FIELDS, "innate_like", "call"]


@pytest.mark.parametrize(
    ("text", "shown", "address"),
    [
        ("PMID:8906788", "PMID:8906788", "https://pubmed.ncbi.nlm.nih.gov/8906788/"),
        ("pubmed: 12", "PMID:12", "https://pubmed.ncbi.nlm.nih.gov/12/"),
        ("https://www.ncbi.nlm.nih.gov/pubmed/12", "PMID:12", "https://pubmed.ncbi.nlm.nih.gov/12/"),
        ("10.1038/nature22383", "doi:10.1038/nature22383", "https://doi.org/10.1038/nature22383"),
        ("doi:10.1/x", "doi:10.1/x", None),  # a registrant has at least four digits
        ("https://doi.org/10.1016/j.xcrm.2021.1", "doi:10.1016/j.xcrm.2021.1",
         "https://doi.org/10.1016/j.xcrm.2021.1"),
        ("http://www.iedb.org/reference/1", "www.iedb.org/reference/1", "http://www.iedb.org/reference/1"),
        ("https://github.com/antigenomics/vdjdb-db/issues/193", "github.com/antigenomics/vdjdb-db/issues/193",
         "https://github.com/antigenomics/vdjdb-db/issues/193"),
        (f"https://x.org/{'a' * 40}/17", f"x.org/{'a' * 18}…{'a' * 20}/17", f"https://x.org/{'a' * 40}/17"),
        ("unpublished", "unpublished", None),
        ("26842844", "26842844", None),  # a number alone may be anything
        ("javascript:alert(1)", "javascript:alert(1)", None),
        ("data:text/html,<script>", "data:text/html,<script>", None),
        ("https://x.org/\" onclick=\"y", "https://x.org/\" onclick=\"y", None),
        ("https://x.org/<b>", "https://x.org/<b>", None),
        ("https://user@evil.org/", "https://user@evil.org/", None),
        ("10.1038/a<b>", "10.1038/a<b>", None),
    ],
)  # fmt: skip
def test_a_study_gets_an_address_only_if_it_is_one(text, shown, address):
    assert study(text) == (shown, address)


@pytest.mark.parametrize(
    ("chains", "name"),
    [
        (("HLA-A*02:01", "B2M"), "HLA-A*02:01"),
        (("H-2Db", None), "H-2Db"),
        (("HLA-DRA*01", "HLA-DRB1*04:01"), "HLA-DRA*01/HLA-DRB1*04:01"),
        ((None, "HLA-DRB1*04:01"), "HLA-DRB1*04:01"),
        ((None, "B2M"), None),
    ],
)
def test_an_mhc_is_one_text(chains, name):
    assert mhc_name(*chains) == name


def test_cells_escape_hostile_text_and_keep_commas():
    cell = receptor_cells.text_cell(HOSTILE)
    assert not re.search("[<>\"',]", cell)
    assert html.unescape(cell) == HOSTILE
    assert receptor_cells.text_cell(None) == receptor_cells.text_cell(float("nan")) == ""


@pytest.mark.parametrize("text", ["26842844", "1234e5678", "12.5", "nan", "inf"])
def test_a_text_that_looks_like_a_number_stays_a_text(text):
    """MultiQC makes numbers of such cells, and removes quotes."""
    assert receptor_cells.text_cell(text) == f'"{text}"'
    assert receptor_cells.study_cell(text) == f'"{text}"'


def test_studies_are_links_of_escaped_text():
    cell = receptor_cells.study_cell(f"PMID:1;{HOSTILE};https://x.org/a,b?c=1&d='2';10.1038/a;unpublished")
    links = re.findall(r"<a href='([^']*)' target='_blank' rel='noopener noreferrer'>([^<]*)</a>", cell)
    assert links[0] == ("https://pubmed.ncbi.nlm.nih.gov/1/", "PMID:1")
    assert html.unescape(links[1][0]) == "https://x.org/a,b?c=1&d='2'"
    assert not re.search('[,"]', cell)  # MultiQC eats commas, and puts the cell between double quotes
    assert "<script" not in cell
    assert cell.endswith("2 more")
    assert receptor_cells.study_cell(None) == receptor_cells.study_cell(float("nan")) == ""


def test_cells_of_a_receptor_name_the_missing_chain():
    row = dict(zip(schema.RECEPTOR_FIELDS, (*MAIT[:3], None, float("nan"), None), strict=True))
    assert receptor_cells.chain_cells(row) == {"tra": ALPHA, "trb": "none"}
    assert receptor_cells.named_chain_cells(f"{ALPHA} · {BETA}", "x_") == {"x_tra": ALPHA, "x_trb": BETA}
