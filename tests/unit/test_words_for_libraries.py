"""Words of the input on their way into libraries: no word ends a run, and what is not read is counted."""

import re

from airrvec.annotation import annotator, reference_set
from airrvec.annotation.merged_reference import SourceTable, epitope_groups, merge
from airrvec.core import hla, imgt, schema, tables
from airrvec.core.antigens import study, study_id
from airrvec.core.errors import InputError
from airrvec.figures.style import escape_mathtext
from airrvec.input.calls import first_imgt_gene, read_call
from airrvec.input.formats import vdjdb
from airrvec.input.formats.tenx_dextramer import dextramer
from airrvec.input.mhc_names import checked_typing, count_unknown_mhc

import matplotlib.pyplot as plt
import pyarrow as pa
import pytest
import tidytcells
from hypothesis import example, given, settings
from hypothesis import strategies as st
from inputs import ALPHA, ALPHA_2, BETA, BETA_2, ROOT, normalised_text, text

import merge_references

ODD = "HLA-A:01"  # of 700 rows of a public table; int("") in tidytcells
COLUMNS = (
    *("v.alpha", "j.alpha", "cdr3.alpha", "v.beta", "j.beta", "cdr3.beta", "antigen.epitope", "mhc.a"),
    *("mhc.b", "reference.id", "vdjdb.score", "method.frequency", "antigen.species"),
)
FLU, CMV = "GILGFVFTL", "NLVPMVATV"
PIECES = [
    *(
        "HLA-",
        "A",
        "B",
        "C",
        "w",
        "DRB1",
        "DPB1",
        "*",
        "02",
        ":",
        "01",
        "1",
        "N",
        "G",
        "P",
        "-",
        "(",
        "/",
        "|",
    ),
    *(
        "TRAV",
        "TRBV",
        "J",
        "DV",
        "OR9-2",
        "S1",
        "H-2",
        "Kb",
        "[",
        "\\",
        "+",
        "é",
        "²",
        "\0",
        "\x1b",
        "\ud7ff",
    ),
]
WORDS = st.one_of(st.text(max_size=12), st.lists(st.sampled_from(PIECES), max_size=7).map("".join))


def test_tidytcells_does_fail_at_this_word():
    """If it no longer does, another word is needed for these tests."""
    with pytest.raises(ValueError, match="invalid literal"):
        tidytcells.mh.standardize(ODD, species="homosapiens", log_failures=False)


def source(folder, name: str, mhc: list[str | None]) -> SourceTable:
    lines = [
        (*ALPHA, *BETA, FLU, mhc[0], "B2M", "PMID:1", "1", None, "InfluenzaA"),
        (*ALPHA_2, *BETA_2, CMV, mhc[1], "B2M", "PMID:2", "1", None, "CMV"),
    ]
    read = normalised_text(folder / f"{name}.tsv", text(COLUMNS, lines), "vdjdb", sample_id=name)
    return SourceTable(name, read.cells, read.receptors, read.counts)


def test_an_odd_mhc_in_one_of_several_references_is_counted_and_stays(tmp_path):
    one = source(tmp_path, "one", ["HLA-A*02:01", ODD])
    other = source(tmp_path, "other", [None, "HLA class I"])
    merged = merge([one, other])
    accounts = {row["source"]: row["labels_without_molecule"] for row in merged.sources.to_pylist()}
    assert accounts == {"one": 1, "other": 1}
    problem = "an MHC that is no allele, serotype or H-2 molecule, and stays as written"
    assert [warning.split("; ")[0] for warning in merged.warnings] == [
        f"one: 1 label has {problem}: '{ODD}' (1)",
        f"other: 1 label has {problem}: 'HLA class I' (1)",
    ]
    assert one.counts["labels_without_molecule"] == other.counts["labels_without_molecule"] == 1
    assert one.counts["warnings"] == [merged.warnings[0].removeprefix("one: ")]
    assert {ODD, "HLA-A*02:01"} <= set(merged.cells["mhc_a"].to_pylist())
    # No donor is excluded by a word that names no molecule.
    names = merged.cells.select(["receptor_id", "epitope", "reference_id", "mhc_a", "mhc_b"]).to_pandas()
    molecules = annotator.epitope_molecules(reference_set.count_alleles(names))
    assert set(molecules) == {FLU}
    allowed, _ = annotator.allowed_epitopes(hla.parse_typing("A*03:01"), names["epitope"], molecules)
    assert dict(zip(names["epitope"], allowed.tolist(), strict=True)) == {FLU: False, CMV: True}


def test_the_script_prints_the_warning_and_writes_the_count(tmp_path, script, capsys):
    (tmp_path / "tables").mkdir()
    for name, mhc in (("one", [ODD, ODD]), ("two", ["HLA-A*02:01"] * 2)):
        table = source(tmp_path, name, mhc)
        tables.write(table.cells, tmp_path / f"tables/{name}.cells.parquet")
        tables.write(table.receptors, tmp_path / f"tables/{name}.receptors_0000.parquet")
        tables.write_json(table.counts, tmp_path / f"tables/{name}.qc.json")
    script("merge_references", "--sources", "one", "two", "--outdir", tmp_path / "out")
    assert "WARNING: one: 2 labels have an MHC that is no allele" in capsys.readouterr().err
    accounts = tables.read(tmp_path / "out/sources.parquet")
    assert accounts.schema.equals(schema.REFERENCE_SOURCES)
    assert accounts["labels_without_molecule"].to_pylist() == [2, 0]
    assert merge_references.__doc__


@given(WORDS)
@example(ODD)
@example("A*02:09P")
@settings(max_examples=400)
def test_no_word_ends_a_run(word):
    for species in schema.SPECIES:
        assert imgt.tr_symbol(word[:40], species) is None or imgt.functionality(word, species) in (
            None,
            "F",
            "ORF",
            "P",
        )
        for segment in "VJ":
            call = read_call(word, segment, species)
            assert (call.symbol is None) == (call.problem is not None)
            first_imgt_gene(word, segment, species)
    assert imgt.mh_symbol(word) is None or isinstance(imgt.mh_symbol(word), str)
    assert count_unknown_mhc(pa.table({"mhc_a": [word, None], "mhc_b": ["B2M", word]})).total() <= 2
    study(word), study_id(word), dextramer(f"{word}_binder"), epitope_groups([word, word[::-1]], [word, None])
    assert vdjdb.score(word, word, word, word, word, "") in (0, 1, 2, 3)
    try:
        typing = checked_typing(word)
    except InputError:
        return
    assert checked_typing(typing) == typing


def filled(table_schema: pa.Schema, columns: dict) -> pa.Table:
    """Two rows of a table, null where no values are given."""
    values = [
        pa.array(columns.get(field.name, [None, None]), field.type, from_pandas=False)
        for field in table_schema
    ]
    return pa.table(values, schema=table_schema)


@given(st.lists(WORDS, min_size=6, max_size=6))
@settings(max_examples=60, deadline=None)
def test_no_words_of_a_label_end_a_merge(words):
    columns = ("antigen_gene", "antigen_species", "mhc_a", "mhc_b", "reference_id", "confidence")
    cells = {name: [word, "x"] for name, word in zip(columns, words, strict=True)}
    cells |= {"epitope": [words[0] or "x", FLU], "input_rows": [1, 1]}
    ids = {"receptor_id": ["r1", "r2"], "clonotype_id": ["c1", "c2"]}
    table = SourceTable(
        "one",
        filled(schema.CELLS, cells | ids),
        filled(schema.RECEPTORS, {**ids, "species": ["homosapiens"] * 2}),
        {"format": "vdjdb", "rows_in": 2, "rows_rejected": 0},
    )
    merged = merge([table])
    (account,) = merged.sources.to_pylist()
    assert account["rows"] == account["rows_merged"] == 2


@pytest.mark.filterwarnings("ignore:Glyph")
@given(WORDS)
@example("$x^")
@example("\\$")
@settings(max_examples=60, deadline=None)
def test_a_title_of_a_figure_may_be_any_word(word):
    figure = plt.figure(figsize=(1, 1))
    figure.suptitle(escape_mathtext(word))
    figure.canvas.draw()
    plt.close(figure)


def test_one_module_calls_tidytcells():
    calling = re.compile(r"^\s*(import|from) tidytcells", re.MULTILINE)
    found = [path.name for path in (ROOT / "bin").rglob("*.py") if calling.search(path.read_text())]
    assert found == ["imgt.py"]
