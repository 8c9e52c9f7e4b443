"""What goes to the terminal and into tables for people: no command of the input's words."""

import csv
import os
import re
import subprocess
import sys

from airrvec.app import finding
from airrvec.core import tables, terminal
from airrvec.core.errors import InputError, exit_on_input_error
from airrvec.report.summary import summary_text

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inputs import ROOT, normalised_text, text
from test_report import EMBEDDINGS, RECEPTORS, SAMPLE, TITLES

RED = "\x1b[31m"  # colours all that follows
TITLE = "\x1b]0;owned\x07"  # sets the title of a window
CLEAR = "\x1b[2J\x1b[H"
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
FORMULAS = [
    "=1+1",
    '=HYPERLINK("http://example.org","more")',
    "=cmd|' /C calc'!A0",
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1:A9)",
    "\t=1+1",
    "\r=1+1",
    "\uff1d1+1",
]
PLAIN = [
    "CASSF",
    "HLA-A*02:01",
    "-",
    "+",
    "-1",
    "+0.5",
    "-1e-5",
    ".5",
    "-.5",
    "a=b",
    "'quoted",
    "",
    "β",
    "x y",
]


@pytest.mark.parametrize("word", FORMULAS)
def test_a_cell_is_no_formula(word):
    shown = tables.cell(word)
    assert shown[0] in "'\\"
    assert shown.lstrip("'").replace("\\t", "\t").replace("\\r", "\r") == word


@pytest.mark.parametrize("word", PLAIN)
def test_other_text_stays(word):
    assert tables.cell(word) == word


@given(st.text())
def test_any_text_becomes_one_cell_without_commands(word):
    shown = tables.cell(word)
    assert not OBEYED.search(shown)
    assert "\n" not in shown
    assert len(shown) < 2 or not re.match("[=+@\uff1d\uff0b\uff0d\uff20-]", shown) or float(shown) is not None


@given(st.lists(st.one_of(st.none(), st.text(max_size=8), st.sampled_from(FORMULAS + PLAIN)), min_size=1))
def test_a_table_for_people_has_such_cells_and_the_same_numbers(words):
    numbers = list(range(-2, len(words) - 2))
    table = pa.table({"=name": pa.array(words, pa.string()), "n": numbers})
    shown = tables.for_people(table)
    assert shown.column_names == ["'=name", "n"]
    assert shown["n"].to_pylist() == numbers
    assert shown["'=name"].to_pylist() == [word if word is None else tables.cell(word) for word in words]


def test_parquet_holds_the_text_and_tsv_its_cells(tmp_path):
    table = pa.table({"epitope": [*FORMULAS, f"{RED}x\ny", None, "CASSF"], "score": [-1.5] * 12})
    tables.write_both(table, tmp_path / "x")
    assert tables.read(tmp_path / "x.parquet").equals(table)
    lines = (tmp_path / "x.tsv").read_text().splitlines()
    assert len(lines) == 13  # one line a row: tools for lines count rows
    rows = list(csv.reader(lines, delimiter="\t"))
    assert [row[1] for row in rows[1:]] == ["-1.5"] * 12
    assert [row[0] for row in rows[-3:]] == ["\\x1b[31mx\\ny", "", "CASSF"]
    assert all(row[0][0] in "'\\" for row in rows[1:10])


@pytest.mark.parametrize("word", [RED, TITLE, CLEAR, "\r", "\b", "\x9b31m", "\u202e", "a\nWARNING: b"])
def test_a_line_is_one_line_without_commands(word, capsys):
    terminal.print_lines(f"Sample {word}: good")
    terminal.print_warning(f"WARNING: {word}", "αβ · é")
    found = capsys.readouterr()
    for stream, n_lines in ((found.out, 1), (found.err, 2)):
        assert not OBEYED.search(stream)
        assert stream.count("\n") == n_lines
    assert found.err.endswith("αβ · é\n")


def test_several_reasons_of_an_error_are_lines_without_commands(capsys):
    @exit_on_input_error
    def main(argv):
        raise InputError("problems in the input", reasons=[f"{RED}a is bad", f"b{TITLE} is bad"])

    with pytest.raises(SystemExit):
        main([])
    assert capsys.readouterr().err == (
        "ERROR: 2 problems in the input:\n- \\x1b[31ma is bad\n- b\\x1b]0;owned\\x07 is bad\n"
    )


@pytest.mark.parametrize("decorator", ["exit_on_input_error", "optional_part('map')"])
def test_the_traceback_of_a_script_has_no_commands(decorator):
    """A fault in the code may name a word of the input."""
    code = (
        "from airrvec.core.errors import exit_on_input_error\n"
        "from airrvec.core.missing import optional_part\n"
        f"@{decorator}\n"
        "def main(argv=None):\n    raise ValueError('\\x1b[2J')\n"
        "main()"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "bin")},
    )
    assert run.returncode == 1
    assert "Traceback" in run.stderr
    assert "ValueError: \\x1b[2J" in run.stderr
    assert not OBEYED.search(run.stderr)


def test_the_summary_has_no_commands():
    sample = {**SAMPLE, "sample_id": f"s{RED}", "format": f"10x{CLEAR}", "warnings": [f"odd {TITLE}\nlost"]}
    found = summary_text([sample], RECEPTORS, EMBEDDINGS, TITLES)
    assert not OBEYED.search(found)
    assert "Note: s\\x1b[31m: odd \\x1b]0;owned\\x07\\nlost" in found.splitlines()


def test_warnings_of_a_table_have_no_commands(tmp_path):
    """A column's name is a word of the input: here, one that 10x's dextramers do not have."""
    columns = ("barcode", "cell_clono_cdr3_aa", f"odd{RED}\u2028_binder")
    content = text(columns, [["a", "TRB:CASSIRSSYEQYF", "True"]], ",")
    result = normalised_text(tmp_path / "x.csv", content, "10x_dextramer")
    assert "\\x1b[31m\\u2028_binder" in result.counts["warnings"][0]
    assert not OBEYED.search("".join(result.counts["warnings"]))


def test_the_answers_of_find_have_no_commands():
    assert not OBEYED.search(finding._cut(f"{RED}GILGFVFTL{CLEAR}"))


def test_only_one_module_prints():
    """A new line for the terminal goes through `airrvec.core.terminal`."""
    sources = [path for path in (ROOT / "bin").rglob("*.py") if path.name != "terminal.py"]
    printing = re.compile(r"(?<![\w.])print\(|sys\.std(out|err)\.write|traceback\.print_")
    assert [path.name for path in sources if printing.search(path.read_text())] == []
