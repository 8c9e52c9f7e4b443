"""Where a table's header lies in its text, and rows whose last cells are missing."""

import gzip

from airrvec.core.errors import InputError
from airrvec.input import normalise, reading
from airrvec.input.files import text_table

import pytest
from inputs import (
    ALPHA,
    ALPHA_2,
    BETA,
    BETA_2,
    DATA,
    NO_CHAIN,
    SHARED,
    assert_conserved,
    cells_with_chains,
    chains_of,
    needs_shared,
    normalised,
    normalised_text,
    rejected,
    text,
)

# --- Lines before the header.

TEXTS = sorted(path.name for path in DATA.glob("*.[ct]sv"))
LONG = "x, y\t" * 20_000  # 100 kB

BEFORE = {
    "a comment": "# exported 2024-01-02\n",
    "a comment with commas and tabs": "# IEDB export, human, T cells\tof 2024\n",
    "a comment that Excel padded": "# McPAS-TCR,,,,,,,,\n",
    "several": "# one\n##two\n#three\n",
    "a blank line": "\n",
    "blank lines and comments": "\n \t\n# one\r\n\r\n##two\n\n",
    "a long comment": f"# {LONG}\n",
    "many comments": "## one of many lines\n" * 10_000,
}


@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE.keys())
@pytest.mark.parametrize("name", TEXTS)
def test_lines_before_the_header_do_not_matter(name, before, tmp_path):
    whole = normalised(DATA / name)
    result = normalised_text(tmp_path / "x", before.encode() + (DATA / name).read_bytes())
    assert result.counts == whole.counts
    assert result.cells.equals(whole.cells)
    assert result.rejects.equals(whole.rejects)


@pytest.mark.parametrize("before", ["", "# exported 2024-01-02\n", "\n", "##one\n#two, three\n"])
@pytest.mark.parametrize("name", ["trust4.tsv", "vdjtools.tsv", "airr_bulk.tsv", "10x.csv", "mcpas.csv"])
def test_the_header_itself_may_begin_with_a_number_sign(name, before, tmp_path):
    whole = normalised(DATA / name)
    result = normalised_text(tmp_path / "x", f"{before}#{(DATA / name).read_text()}")
    assert result.counts == whole.counts
    assert result.cells.equals(whole.cells)


@pytest.mark.parametrize("place", ["before", "behind"])
def test_a_header_of_more_than_64_kb_is_read_whole(place, tmp_path):
    others = [f"further column {number}" for number in range(10_000)]
    columns = ("v_call", "j_call", "junction_aa")
    rows = [(*BETA, *others), (*BETA_2, *others)]
    if place == "before":
        columns, rows = (*others, *columns), [(*others, *BETA), (*others, *BETA_2)]
    else:
        columns = (*columns, *others)
    content = text(columns, rows)
    assert len(content.splitlines()[0]) > 1 << 16
    result = normalised_text(tmp_path / "x", gzip.compress(content.encode()))
    assert chains_of(result) == [(*NO_CHAIN, *BETA), (*NO_CHAIN, *BETA_2)]


def test_a_header_longer_than_a_line_may_be_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"^x: the line is longer than 4 MB\."):
        normalised_text(tmp_path / "x", "a\t" * (3 << 20) + "\n1\n")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("# one\n\n##two\n", "x: the file holds comments (#) and no table."),
        ("#v_call\tj_call\tjunction_aa\n", "x: the file has a header and no rows."),
        ("\n \t \n\n", "x: the file is empty."),
    ],
)
def test_text_without_a_table_is_refused(content, message, tmp_path):
    with pytest.raises(InputError) as error:
        normalised_text(tmp_path / "x", content)
    assert str(error.value) == message


@pytest.mark.parametrize("block_size", [24, 8 << 20])
def test_a_byte_order_mark_in_a_cell_belongs_to_the_cell(block_size, tmp_path, monkeypatch):
    monkeypatch.setattr(text_table, "BLOCK_SIZE", block_size)  # each row a block, or all of them one
    rows = [(mark + BETA[2], BETA[0]) for mark in ("\ufeff", "\ufeff", "", "\ufeff\ufeff")]
    result = normalised_text(tmp_path / "x", text(("CDR3", "V"), rows))
    assert chains_of(result) == [(*NO_CHAIN, BETA[0], None, BETA[2])]
    assert result.rejects["value"].to_pylist() == [rows[0][0], rows[1][0], rows[3][0]]


# --- Rows whose last cells are missing.

AIRR = ("sequence_id", "v_call", "j_call", "junction_aa", "productive", "umi_count", "epitope")
FULL = [
    ["s1", *BETA, "T", "3", "GILGFVFTL"],
    ["s2", *ALPHA, "", "", ""],
    ["s3", *BETA_2, "T", "5", ""],
    ["s4", *ALPHA_2, "F", "", ""],
]
CUT = [row[: max(n for n, cell in enumerate(row, start=1) if cell)] for row in FULL]
WARNING = "{} of {} rows have fewer cells than the header; their missing last cells were read as empty"


@pytest.mark.parametrize("delimiter", ["\t", ","])
@pytest.mark.parametrize("block_size", [50, 8 << 20])
def test_rows_whose_empty_last_cells_are_cut_are_filled_up(delimiter, block_size, tmp_path, monkeypatch):
    monkeypatch.setattr(text_table, "BLOCK_SIZE", block_size)
    whole = normalised_text(tmp_path / "whole", text(AIRR, FULL, delimiter))
    result = normalised_text(tmp_path / "x", text(AIRR, CUT, delimiter))
    assert [len(row) for row in CUT] == [7, 4, 6, 5]
    assert result.cells.equals(whole.cells)
    assert result.rejects.equals(whole.rejects)
    assert result.counts["rows_filled"] == 3
    assert [words for words in result.counts["warnings"] if words not in whole.counts["warnings"]] == [
        WARNING.format(3, 4)
    ]
    assert_conserved(result, 4)


def test_a_filled_cell_may_be_quoted(tmp_path):
    quoted = text(AIRR, CUT).replace("TRAV1-1*01", '"TRAV1-1*01"').replace("CSARDSYEQYF", '"CSARDSYEQYF"')
    result = normalised_text(tmp_path / "x", quoted)
    assert result.counts["rows_filled"] == 3
    assert [chains[2] or chains[5] for chains in chains_of(result)] == [BETA[2], ALPHA[2], BETA_2[2]]


def test_rows_that_are_too_long_or_lack_a_needed_cell_are_rejected(tmp_path):
    rows = [FULL[0], ["s5", *BETA[:2]], [*FULL[0], "one more"], ["a note"], CUT[1]]
    result = normalised_text(tmp_path / "x", text(AIRR, rows))
    assert rejected(result) == [
        (2, None, None, "holds 3 fields, the header 7"),
        (3, None, None, "holds 8 fields, the header 7"),
        (4, None, None, "holds 1 field, the header 7"),
    ]
    assert result.counts["rows_filled"] == 1
    assert_conserved(result, 5)


@pytest.mark.parametrize(
    ("before", "last", "filled"),
    [
        ([FULL[0]], CUT[2], 0),  # cut off: all other rows hold more cells
        ([FULL[0], CUT[2]], CUT[3], 1),
        ([FULL[0], CUT[3]], CUT[3], 2),  # as short as another one
        ([FULL[0], CUT[3]], CUT[2], 2),
    ],
)
@pytest.mark.parametrize("block_size", [40, 8 << 20])
def test_a_row_within_which_the_file_ends_is_rejected(
    before, last, filled, block_size, tmp_path, monkeypatch
):
    monkeypatch.setattr(text_table, "BLOCK_SIZE", block_size)
    content = text(AIRR, [*before, last])
    assert normalised_text(tmp_path / "x", content).counts["rows_filled"] == len(before)
    result = normalised_text(tmp_path / "x", content.rstrip("\n"))
    assert result.counts["rows_filled"] == filled
    reasons = [reason for *_, reason in rejected(result)]
    assert (f"holds {len(last)} fields, the header 7" in reasons) == (filled < len(before))


def test_a_short_row_with_an_open_quotation_mark_is_named(tmp_path):
    rows = text(AIRR, [FULL[0], ["s5", *BETA[:2], "CASS"], CUT[2]]).replace("\tCASS\n", '\t"CASS\n')
    with pytest.raises(InputError, match=r"^x, row 2, column 'junction_aa': a quotation mark is not closed"):
        normalised_text(tmp_path / "x", rows)


def test_with_a_column_map_a_row_has_to_reach_the_chains(tmp_path):
    (tmp_path / "x.tsv").write_text(text(("v", "j", "cdr3", "peptide"), [BETA, BETA_2]))
    columns = {"v_call": "v", "j_call": "j", "junction_aa": "cdr3", "epitope": "peptide"}
    source = reading.open_chains(tmp_path / "x.tsv", columns=columns)
    result = normalise.normalise(source, sample_id="s", species="homosapiens")
    assert chains_of(result) == [(*NO_CHAIN, *BETA), (*NO_CHAIN, *BETA_2)]
    assert result.counts["rows_filled"] == 2


@needs_shared
def test_airr_file_of_others_whose_rows_lost_their_empty_last_cells():
    path = SHARED / "formats/airr_ambiguous_genes.tsv"
    n_cells = [len(line.split("\t")) for line in path.read_text().splitlines()]
    assert n_cells == [96, 96, 94, 94, 94, 94]
    result = normalised(path, species="musmusculus")
    assert result.counts["rows_filled"] == 4
    assert WARNING.format(4, 5) in result.counts["warnings"]
    (cell,) = cells_with_chains(result)
    assert cell["chain_pairing"] == "single pair"


# --- Names of rows without a name of their column, as R's write.table writes them.

R_NAMES = ("v_call", "j_call", "junction_aa", "cell_id")


def r_table(names: list[str], delimiter: str = "\t", cell: str = "A") -> str:
    """Two chains of a cell, after the names of their rows."""
    rows = [(name, *chain, cell) for name, chain in zip(names, (ALPHA, BETA), strict=True)]
    return text(R_NAMES, rows, delimiter)


@pytest.mark.parametrize("delimiter", ["\t", ","])
def test_row_names_have_a_column_without_a_name(delimiter, tmp_path):
    result = normalised_text(tmp_path / "x", r_table(["1", "2"], delimiter), "airr")
    assert chains_of(result) == [(*ALPHA, *BETA)]


def test_rows_of_which_one_has_as_many_fields_as_the_header_have_no_row_names(tmp_path):
    last = "\t".join((*BETA_2, "B")) + "\n"
    result = normalised_text(tmp_path / "x", r_table(["1", "2"]) + last, "airr")
    assert chains_of(result) == [(*NO_CHAIN, *BETA_2)]
    reason = "holds 5 fields, the header 4"
    assert rejected(result) == [(row, None, None, reason) for row in (1, 2)]


def test_fields_that_are_no_row_names_are_an_error(tmp_path):
    with pytest.raises(InputError) as error:
        normalised_text(tmp_path / "x", r_table(["TRBV19", "TRBV19"]), "airr")
    assert str(error.value) == (
        "x: the header holds 4 names, and each row 5 fields. Name every column; in R, write.table(…,"
        " row.names = FALSE)."
    )


def test_a_separator_at_the_end_of_each_row_is_no_row_name(tmp_path):
    rows = "".join("\t".join((*chain, "A", "")) + "\n" for chain in (ALPHA, BETA))
    with pytest.raises(InputError, match="holds 5 fields, the header 4"):
        normalised_text(tmp_path / "x", "\t".join(R_NAMES) + "\n" + rows, "airr")
