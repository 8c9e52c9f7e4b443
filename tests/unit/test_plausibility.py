"""Signs that a table is not what it was read as: one sentence each, with what to do."""

import json

from airrvec.core import schema
from airrvec.core.errors import InputError
from airrvec.input.files import text_table

import pytest
from inputs import ALPHA, BETA, BETA_2, normalised_text, sceptr_row, text

import check_samples

AIRR = ("v_call", "j_call", "junction_aa", "cell_id", "duplicate_count")
PLAIN = ("TRAV", "CDR3A", "TRAJ", "TRBV", "CDR3B", "TRBJ", "Epitope")
PAIR = sceptr_row(ALPHA, BETA)
TABLES = {
    "no name of a cell": (
        text(AIRR[:3], [ALPHA, BETA]),
        "α and β chains, and no pair: no column names the cells; if the table is of single cells, call the"
        " column of their names cell_id, or name it in a column map",
    ),
    "other names": (
        text(AIRR[:4], [(*ALPHA, "1"), (*BETA, "b1")]),
        "α and β chains, and no pair: no name in 'cell_id' is that of an α and of a β chain; write the names"
        " of the cells alike for both, or name another column in a column map",
    ),
    "a donor": (
        text(AIRR[:4], [(*ALPHA[:2], f"CAV{'A' * n}F", "d1") for n in range(2, 24)]),
        "1 cell has more than 20 chains (most: 'd1', 22), so 'cell_id' hardly names cells; name the column"
        " that does in a column map",
    ),
    "a kind of cell": (
        text(AIRR[:4], [(*BETA[:2], f"CASS{'A' * n}F", "CD4") for n in range(2, 5)]),
        "most cells have more than 2 α or β chains (1 of 1), so 'cell_id' hardly names cells; name the column"
        " that does in a column map",
    ),
    "names of clonotypes": (
        text(AIRR[:4], [(*chain, f"clonotype{n}") for n in (1, 2) for chain in (ALPHA, BETA)]),
        "the names of cells in 'cell_id' are those of clonotypes; if its rows are, write clonotype in the"
        " column row_unit of the samplesheet",
    ),
    "a header": (
        text(AIRR[:4], [(*ALPHA, "a"), (*BETA, "a"), AIRR[:4], (*BETA_2, "a")]),
        "row 3 repeats the header: tables were joined; give each as a sample of its own",
    ),
    "repeats": (
        text(PLAIN, [PAIR, PAIR, sceptr_row(ALPHA, BETA_2)]),
        "1 of 3 pairs repeat another row, and each counts as a cell; if a pair has a row for each program or"
        " assay that found it, remove the repeats",
    ),
    "clonotypes": (
        text(AIRR, [(*chain, f"c{n}", 10 * n) for n in range(1, 4) for chain in (ALPHA, BETA)]),
        "all chains of a cell have one count in 'duplicate_count', as those of a clonotype have; if 'cell_id'"
        " names clonotypes, write clonotype in the column row_unit of the samplesheet",
    ),
    "a column with another name": (
        text(("V", "J", "CDR3.aa", "V.name", "J.name", "umi_count"), [(*BETA, BETA[0], BETA[1], 3)]),
        "the column 'umi_count' is not read, though its name is that of the number of UMIs; name it in a"
        " column map",
    ),
    "another species": (
        text(AIRR[:3], [("TRBV13-2", "TRBJ2-7", "CASSEGTEAFF"), (None, *BETA[1:])]),
        "1 of 1 V genes exist in mouse and not in human, but the receptors are read as human. Write"
        " musmusculus in the column 'species' of the samplesheet, or give --species musmusculus; a species"
        " named in the table itself overrides both",
    ),
}


@pytest.mark.parametrize(("content", "sentence"), TABLES.values(), ids=TABLES)
def test_a_sign_is_one_sentence(content, sentence, tmp_path):
    signs = normalised_text(tmp_path / "x", content).counts["warnings"]
    assert sentence in signs
    others = {other for _, other in TABLES.values()} - {sentence}
    assert not others & set(signs)


def test_two_rows_of_one_cell_with_other_chains_are_an_error(tmp_path):
    names = ("barcode", "CTgene", "CTaa")
    genes = "TRAV27.TRAJ42.TRAC_TRBV19.None.TRBJ2-7.TRBC2"
    row, other = (("AAAC", genes, f"CAGAGSQGNLIF_{junction}") for junction in (BETA[2], BETA_2[2]))
    assert normalised_text(tmp_path / "x", text(names, [row, row])).counts["cells"] == 1
    with pytest.raises(InputError, match=r"cell 'AAAC' has other chains in row 3 than in row 2; tables of"):
        normalised_text(tmp_path / "x", text(names, [("AAAG", *row[1:]), row, other]))
    samples = [(*row, "s1"), (*other, "s2")]
    assert normalised_text(tmp_path / "x", text((*names, "orig.ident"), samples)).counts["cells"] == 2


def test_pairs_are_compared_across_the_blocks_of_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(text_table, "BLOCK_SIZE", 200)
    pairs = [sceptr_row(ALPHA, (BETA[0], BETA[1], f"CASS{'A' * (n % 9)}DF")) for n in range(18)]
    (sentence,) = normalised_text(tmp_path / "x", text(PLAIN, pairs)).counts["warnings"]
    assert sentence.startswith("9 of 18 pairs repeat another row")


def test_pairs_of_cells_with_names_and_expanded_clones_are_no_sign(tmp_path):
    cells = text(AIRR, [(*chain, f"c{n}", n) for n in range(4) for chain in (ALPHA, BETA)])
    found = normalised_text(tmp_path / "x", cells.replace("c3\t3", "c3\t7", 1)).counts["warnings"]
    named = text(("cell_id", *PLAIN), [("a", *PAIR), ("b", *PAIR)])
    found += normalised_text(tmp_path / "y", named).counts["warnings"]
    assert not {sentence for _, sentence in TABLES.values()} & set(found)


def test_signs_come_before_the_first_task(tmp_path, monkeypatch):
    content, sentence = TABLES["no name of a cell"]
    (tmp_path / "tables/1").mkdir(parents=True)
    (tmp_path / "tables/1/a.tsv").write_text(content)
    (tmp_path / "sheet.csv").write_text("sample,path\na,a.tsv\n")
    entry = {"part": "sample", "line": 2, "path": "a.tsv", "table": 1, "column_map": None, "problem": None}
    request = {
        "species": "homosapiens",
        "compare_by": None,
        "compare_within": None,
        "max_unpacked": 1,
        "tables": [entry],
    }
    (tmp_path / "request.json").write_text(json.dumps(request))
    monkeypatch.chdir(tmp_path)
    check_samples.main(
        ["--sheet", "sheet.csv", "--request", "request.json", "--process", "P", "--versions", "versions.yml"]
    )
    assert json.loads((tmp_path / "checked.json").read_text())["notes"] == [f"a: {sentence}"]
    header, row = (line.split("\t") for line in (tmp_path / "samples.tsv").read_text().splitlines())
    assert dict(zip(header, row, strict=True))["warnings"] == sentence
    assert schema.CHECKED.names[-1] == "warnings"
