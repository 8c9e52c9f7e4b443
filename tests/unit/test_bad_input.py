"""Input that nothing can be made of: one clear sentence, exit status 1, nothing left behind."""

import gzip
import hashlib
import re
import subprocess
import sys

from airrvec.core.errors import InputError
from airrvec.input import reading
from airrvec.input.files.container import LINE_LIMIT
from airrvec.input.standardise import UNPROVEN_FRAME

import pytest
from inputs import (
    ALPHA,
    ALPHA_2,
    BETA,
    BETA_2,
    NO_CHAIN,
    ROOT,
    SCEPTR_COLUMNS,
    assert_conserved,
    chains_of,
    normalised_text,
    rejected,
    sceptr_row,
    text,
)

SCEPTR = text(SCEPTR_COLUMNS, [sceptr_row(ALPHA, BETA, "GILGFVFTL")] * 3)
TENX_COLUMNS = ("barcode", "chain", "v_gene", "j_gene", "cdr3", "umis")
TENX = text(TENX_COLUMNS, [("AAAC-1", "TRB", *BETA, 3)], ",")
B_CELLS = text(TENX_COLUMNS, [(f"AAAC-{n}", "IGH", "IGHV3-23", "IGHJ4", "CAKDYW", 3) for n in range(2)], ",")
AIRR = ("sequence_id", "v_call", "j_call", "junction_aa")
LATIN_1 = text((*SCEPTR_COLUMNS, "note"), [[*sceptr_row(ALPHA, BETA, "a, b"), "é"]] * 2, ",").encode()
# As many bytes that do not compress as it takes to cut behind the header.
LONG = "".join(hashlib.sha256(str(n).encode()).hexdigest() + "\n" for n in range(5_000))

# Name: content, format, the whole message.
FORMATS = ", ".join(reading.FORMATS)
REFUSED = {
    "missing column": (
        SCEPTR.replace("TRBV\t", "BV\t"),
        "sceptr",
        "x.tsv, column 'TRBV': missing, though format 'sceptr' needs it."
        " The file has: TRAV, CDR3A, TRAJ, BV, CDR3B, TRBJ, Epitope.",
    ),
    "two missing columns": (
        SCEPTR.replace("TRBV\t", "BV\t").replace("CDR3B", "B"),
        "sceptr",
        "x.tsv, column 'TRBV': missing, though format 'sceptr' needs it; so are CDR3B."
        " The file has: TRAV, CDR3A, TRAJ, BV, B, TRBJ, Epitope.",
    ),
    "empty file": ("", None, "x.tsv: the file is empty."),
    "blank file": (" \n\n", None, "x.tsv: the file is empty."),
    "empty gzip": (gzip.compress(b""), None, "x.tsv: the file is empty."),
    "header alone": (SCEPTR.splitlines()[0], None, "x.tsv: the file has a header and no rows."),
    "header and blank lines": (
        SCEPTR.splitlines()[0] + "\n\n\r\n",
        None,
        "x.tsv: the file has a header and no rows.",
    ),
    "truncated gzip": (
        gzip.compress((SCEPTR + LONG).encode())[:100_000],
        None,
        "x.tsv: the compressed file is truncated or damaged."
        " Copy or download it again and compare its size or checksum with the original.",
    ),
    "binary file": (
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        None,
        "x.tsv: this is a binary file, not a text table."
        " Give the table itself, as tab- or comma-separated text, gzip allowed.",
    ),
    "NUL byte": (
        text(SCEPTR_COLUMNS, [sceptr_row(ALPHA, BETA)] * 2_000) + "\n\nTRAV1\tC\0F\n",
        None,
        "x.tsv, row 2001, column 'CDR3A': contains a NUL byte, which is not text."
        " Remove it, e.g. with `tr -d '\\000'`.",
    ),
    "line that is too long": (
        SCEPTR + "TRAV1\t" + "A" * LINE_LIMIT + "\n" + SCEPTR,
        None,
        "x.tsv, row 4: the line is longer than 4 MB."
        " Check that the file has line ends, and is a table of chains, receptors or cells.",
    ),
    "line that is too long, without an end": (
        SCEPTR.encode() + b"A" * 3 * LINE_LIMIT,
        None,
        "x.tsv, row 4: the line is longer than 4 MB."
        " Check that the file has line ends, and is a table of chains, receptors or cells.",
    ),
    "semicolons": (
        text(SCEPTR_COLUMNS, [sceptr_row(ALPHA, BETA)], ";"),
        None,
        "x.tsv: the columns are separated by semicolons, and airrvec reads tabs and commas. Save the table as"
        " tab- or comma-separated text; from Python,"
        " `pandas.read_csv(…, sep=';').to_csv(…, index=False)`.",
    ),
    "B cells alone": (
        B_CELLS,
        "10x",
        "s: none of the 2 rows is an α or β chain of a T-cell receptor (loci: 2 IGH);"
        " airrvec reads T-cell receptors, not B-cell receptors.",
    ),
    "not UTF-8": (
        LATIN_1.replace("é".encode(), b"e", 1).replace("é".encode(), b"\xe9"),
        None,
        "x.tsv, row 2, column 'note': holds bytes that are not UTF-8 text."
        " Convert the file, e.g. `iconv -f latin1 -t utf-8`.",
    ),
    "CSV as AIRR": (
        TENX,
        "airr",
        "x.tsv: format 'airr' is tab-separated, and this file is comma-separated. Correct the column"
        f" 'format' of the samplesheet; known formats: {FORMATS}.",
    ),
    "no known format": (
        "a\tb\tc\n1\t2\t3\n",
        None,
        "x.tsv: its columns (a, b, c) match no known format, and no column map reads it: no column holds V"
        " genes or CDR3s that airrvec can read. Known formats and their columns are in"
        f" docs/reference/input.md: {FORMATS}.",
    ),
    "quotation mark that is not closed": (
        SCEPTR.replace("GILG", '"GILG', 1),
        None,
        "x.tsv, row 1, column 'Epitope': a quotation mark is not closed on its line, so that rows would"
        " run together. Remove the quotation mark, or the line break within the cell.",
    ),
    "no chain at all": (
        text(SCEPTR_COLUMNS, [[None] * 6 + ["GILGFVFTL"]] * 2),
        None,
        "s: none of the 2 rows could be read as a receptor"
        " (2 × the row holds no chain; first: row 1, row '').",
    ),
    "no receptor among them": (
        text(SCEPTR_COLUMNS, [sceptr_row((*ALPHA[:2], "CA*F")), sceptr_row(("TRAV99", *ALPHA[1:])), ["x"]]),
        None,
        "s: none of the 3 rows could be read as a receptor (1 × junction_aa holds a stop codon (*);"
        " 1 × v_call is not a V gene listed by IMGT; 1 × holds 1 field, the header 7;"
        " first: row 1, junction_aa 'CA*F').",
    ),
    "neither locus nor gene": (
        text(AIRR, [("a", None, None, "CASSF")]),
        None,
        "s: none of the 1 row could be read as a receptor"
        " (1 × locus, v_call and j_call are missing; first: row 1, locus '').",
    ),
}


@pytest.mark.parametrize(("content", "format", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_refused_with_one_sentence_that_says_where_and_what_to_do(content, format, message, tmp_path):
    with pytest.raises(InputError) as error:
        normalised_text(tmp_path / "x.tsv", content, format)
    assert str(error.value) == message


def script(table, folder, *options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [
            sys.executable,
            ROOT / "bin/normalise_receptors.py",
            table,
            "--sample",
            "s",
            "--outdir",
            folder,
            *options,
        ],
        capture_output=True,
        text=True,
    )


SCRIPT_CASES = (
    "missing column", "empty file", "header alone", "truncated gzip", "binary file", "B cells alone",
    "not UTF-8", "NUL byte", "line that is too long", "semicolons",
    "CSV as AIRR", "no known format", "quotation mark that is not closed",
)  # fmt: skip


@pytest.mark.parametrize("case", SCRIPT_CASES)
def test_script_says_it_on_one_line_exits_1_and_leaves_nothing(case, tmp_path):
    content, format, message = REFUSED[case]
    table = tmp_path / "x.tsv"
    table.write_bytes(content.encode() if isinstance(content, str) else content)
    outdir = tmp_path / "out"
    outdir.mkdir()
    run = script(
        table, outdir, *(["--format", format] if format else []), "--versions", outdir / "versions.yml"
    )
    # A sample may have γδ cells.
    kinds = "an α or β chain of a T-cell receptor", "a chain of a T-cell receptor that could be read"
    assert run.stderr == f"ERROR: {message.replace(*kinds)}\n"
    assert run.stdout == ""
    assert run.returncode == 1
    assert list(outdir.iterdir()) == []


def test_script_names_a_file_that_is_not_there(tmp_path):
    run = script(tmp_path / "absent.tsv", tmp_path)
    assert (run.returncode, run.stderr) == (1, "ERROR: absent.tsv: there is no such file.\n")
    assert list(tmp_path.iterdir()) == []


def test_script_knows_its_formats(tmp_path):
    run = script(tmp_path / "x.tsv", tmp_path, "--format", "excel")
    assert run.returncode == 2
    assert "invalid choice: 'excel'" in run.stderr
    assert all(name in run.stderr for name in reading.FORMATS)


# --- Rows that are rejected, each with its reason, while the others live on.

REJECTED = {
    "200 residues": (2, "C" * 200, "junction_aa", "junction_aa has more than 60 residues"),
    "61 residues": (2, "C" + 59 * "A" + "F", "junction_aa", "junction_aa has more than 60 residues"),
    "stop codon": (2, "CASS*EGTF", "junction_aa", "junction_aa holds a stop codon (*)"),
    "out of frame": (2, "CASS_EGTF", "junction_aa", "junction_aa is out of frame (_)"),
    "X": (2, "CASSXEGTF", "junction_aa", "junction_aa holds a letter that is no amino acid"),
    "a digit": (2, "CASS1EGTF", "junction_aa", "junction_aa holds a letter that is no amino acid"),
    "a Greek letter": (2, "CASSΑEGTF", "junction_aa", "junction_aa holds a letter that is no amino acid"),
    "no junction": (2, None, "junction_aa", "junction_aa is missing"),
    "pseudogene": (0, "TRBV1", "v_call", "v_call is a pseudogene according to IMGT"),
    "open reading frame": (0, "TRBV23-1", "v_call", UNPROVEN_FRAME),
    "unknown gene": (0, "TRBV99", "v_call", "v_call is not a V gene listed by IMGT"),
    "unknown J gene": (1, "TRBJ9-9", "j_call", "j_call is not a J gene listed by IMGT"),
    "V gene of another locus": (0, ALPHA[0], "v_call", "v_call is of another locus than the chain"),
    "J gene of another locus": (1, ALPHA[1], "j_call", "j_call is of another locus than the chain"),
    "J gene as V gene": (0, "TRBJ1-1", "v_call", "v_call is not a V gene"),
    "V gene as J gene": (1, "TRBV2", "j_call", "j_call is not a J gene"),
}  # fmt: skip


@pytest.mark.parametrize(("position", "raw", "field", "reason"), REJECTED.values(), ids=REJECTED.keys())
def test_chain_is_rejected_with_its_reason(position, raw, field, reason, tmp_path):
    chain = list(BETA)
    chain[position] = raw
    rows = [sceptr_row(NO_CHAIN, BETA_2), sceptr_row(NO_CHAIN, chain), sceptr_row(ALPHA, chain)]
    result = normalised_text(tmp_path / "x.tsv", text(SCEPTR_COLUMNS, rows))
    assert rejected(result) == [(2, field, raw, reason), (3, field, raw, reason)]
    assert result.rejects["row_kept"].to_pylist() == [False, True]  # row 3 lives on by its α chain
    assert chains_of(result) == [(*NO_CHAIN, *BETA_2), (*ALPHA, *NO_CHAIN)]
    assert result.counts["reject_reasons"] == {reason: 2}
    assert_conserved(result, 3)


def test_junction_of_60_residues_is_kept(tmp_path):
    junction = "C" + 58 * "A" + "F"
    rows = [sceptr_row(NO_CHAIN, (*BETA[:2], junction))]
    assert chains_of(normalised_text(tmp_path / "x.tsv", text(SCEPTR_COLUMNS, rows))) == [
        (*NO_CHAIN, *BETA[:2], junction)
    ]


def test_lower_case_residues_and_genes_are_accepted(tmp_path):
    lower = tuple(word.lower() for word in BETA)
    result = normalised_text(tmp_path / "x.tsv", text(SCEPTR_COLUMNS, [sceptr_row(ALPHA, lower)]))
    assert chains_of(result) == [(*ALPHA, *BETA)]
    assert len(result.rejects) == 0


@pytest.mark.parametrize(("species", "value"), [("MacacaMulatta", "MacacaMulatta"), ("human?", "human?")])
def test_unknown_species_is_rejected(species, value, tmp_path):
    columns = (*SCEPTR_COLUMNS, "species")
    rows = [[*sceptr_row(NO_CHAIN, BETA), species], [*sceptr_row(NO_CHAIN, BETA_2), None]]
    result = normalised_text(tmp_path / "x.tsv", text(columns, rows))
    assert rejected(result) == [(1, "species", value, "the species is not one that airrvec reads")]
    assert chains_of(result) == [(*NO_CHAIN, *BETA_2)]
    assert_conserved(result, 2)


def test_ragged_rows_and_rows_without_a_chain_are_rejected(tmp_path):
    rows = [sceptr_row(ALPHA, BETA), ["one"], [*sceptr_row(ALPHA_2), "more"], sceptr_row(epitope="GILGFVFTL")]
    result = normalised_text(tmp_path / "x.tsv", text(SCEPTR_COLUMNS, rows))
    assert rejected(result) == [
        (2, None, None, "holds 1 field, the header 7"),
        (3, None, None, "holds 8 fields, the header 7"),
        (4, None, None, "the row holds no chain"),
    ]
    assert chains_of(result) == [(*ALPHA, *BETA)]
    assert_conserved(result, 4)


def test_other_loci_are_rejected_beside_t_cell_chains(tmp_path):
    rows = [("c", "TRB", *BETA, 1), ("c", "IGH", "IGHV3-23", "IGHJ4", "CAKDYW", 9), ("d", "TRG", *ALPHA, 2)]
    result = normalised_text(tmp_path / "x.csv", text(TENX_COLUMNS, rows, ","))
    reason = "not an α or β chain of a T-cell receptor"
    assert rejected(result) == [(2, "locus", "IGH", reason), (3, "locus", "TRG", reason)]
    assert result.cells.select(["cell_id", "chain_pairing"]).to_pylist() == [
        {"cell_id": "c", "chain_pairing": "orphan VDJ"}
    ]
    assert_conserved(result, 3)


def test_an_input_error_names_file_row_and_column():
    error = InputError("it is wrong", file="/a/b.tsv", row=3, column="c", fix="Mend it")
    assert str(error) == "b.tsv, row 3, column 'c': it is wrong. Mend it."
    assert re.fullmatch(r"it is wrong\.", str(InputError("it is wrong")))
