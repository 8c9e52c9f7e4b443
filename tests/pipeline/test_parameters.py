"""Mistakes end a run within seconds, with one sentence that says where and what."""

import time

import pytest
from conftest import ROOT, run_pipeline

PBMC = ROOT / "assets/test/pbmc_b.csv"
DASH = ROOT / "assets/demo/dash_human.csv"


def sheet(folder, text: str) -> str:
    path = folder / "samples.csv"
    path.write_text(text)
    return str(path)


def refusal(run) -> str:
    """The one sentence of a run that was refused before anything started."""
    assert run.status == 1, run.output
    assert "Submitted process" not in run.output
    sentences = run.output.partition("revision: ")[2].splitlines()[1:]
    assert len([sentence for sentence in sentences if sentence]) == 1, run.output
    return "".join(sentences)


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--labeled", DASH], "there is no parameter --labeled; did you mean --labelled?"),
        (
            ["--benchmark_split", "5"],
            "there is no parameter --benchmark_split; did you mean --benchmark_splits?",
        ),
        (
            ["--labelled", DASH, "--benchmark_splits", "many"],
            "--benchmark_splits: 'many' is not a whole number",
        ),
        (
            ["--labelled", DASH, "--shard_tokens", "0"],
            "--shard_tokens: 0 is below the least allowed value, 1",
        ),
        (
            ["--labelled", DASH, "--partitions", "513"],
            "--partitions: 513 is above the largest allowed value, 512",
        ),
        (["--labelled", DASH, "--max_rejected", "x"], "--max_rejected: 'x' is not a number"),
        (
            ["--labelled", DASH, "--max_rejected", "101"],
            "--max_rejected: 101 is above the largest allowed value",
        ),
        (
            ["--labelled", DASH, "--encoders", "sceptr,sceptr"],
            "--encoders: 'sceptr,sceptr' names one of them twice",
        ),
        (
            ["--labelled", DASH, "--model", "scepter"],
            "--model: 'scepter' is neither the folder of a model nor one of sceptr, ",
        ),
        (["--labelled", DASH, "--encoders", "sceptr,esm3"], "--encoders: 'esm3' is not one of sceptr, "),
        (["--labelled", DASH, "--benchmark_k", "1;2"], "--benchmark_k: '1;2' is not a list of whole numbers"),
        (
            ["--labelled", DASH, "--report_title", "a'; rm -rf ~"],
            "--report_title: 'a'; rm -rf ~' may hold letters",
        ),
        (["--labelled", "nowhere.csv"], "--labelled: there is no file 'nowhere.csv'"),
        (["--input", "nowhere.csv"], "--input: there is no file 'nowhere.csv'"),
        (["--input"], "--input: needs a value"),
        (["--labelled", DASH, "--columns", "nowhere.json"], "--columns: there is no file 'nowhere.json'"),
        (
            ["--labelled", DASH, "--labelled_columns", DASH, "--labelled_format", "tcrdist"],
            "--labelled_columns: a table with a column map has no format; leave out --labelled_format",
        ),
        (["--labelled", DASH, "--failed_samples", "no"], "--failed_samples: 'no' is not one of stop, skip"),
        ([], "there is nothing to do: give a samplesheet with --input"),
    ],
)
def test_parameter_is_refused(tmp_path, args, sentence):
    start = time.monotonic()
    assert sentence in refusal(run_pipeline(tmp_path, *map(str, args)))
    assert time.monotonic() - start < 60


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", ["samples.csv: the samplesheet is empty"]),
        ("name,path\na,b\n", ["samples.csv: the column 'sample' is missing"]),
        (
            f"sample,path,epitope,x,X\na,{PBMC},x,,\n",
            ["the column 'epitope' is one of airrvec's own", "the column 'X' occurs twice, once as 'x'"],
        ),
        (
            f"sample,path,format,columns\na,{PBMC},,nowhere.json\nA,{PBMC},10x,{PBMC}\n_b,nowhere.csv,11x,\n",
            [
                "samples.csv, row 1, column 'columns': there is no file 'nowhere.json'",
                "samples.csv, row 2, column 'sample': 'A' is also the name of row 1 ('a'); case is",
                "samples.csv, row 2, column 'columns': a table with a column map has no format",
                "samples.csv, row 3, column 'sample': '_b' may hold letters, digits",
                "samples.csv, row 3, column 'format': '11x' is not one of airr, 10x",
            ],
        ),
    ],
)
def test_samplesheet_is_refused(tmp_path, text, sentences):
    """By the rules of tests/unit/test_samplesheet.py, all broken ones in one message, before another task."""
    run = run_pipeline(tmp_path, "--input", sheet(tmp_path, text))
    assert run.status == 1
    assert run.output.count("Submitted process") == 1
    assert "Submitted process > CHECK:CHECK_SAMPLES" in run.output
    if len(sentences) > 1:
        assert f"{len(sentences)} problems in the input:" in run.output
    assert all(sentence in run.output for sentence in sentences), run.output
    assert "Command error" not in run.output


def test_samplesheet_from_a_spreadsheet_is_read(tmp_path):
    """Byte order mark, Windows line ends, quoted cells, blank last line; paths beside the sheet."""
    (tmp_path / "with blank.csv").write_text(PBMC.read_text())
    path = tmp_path / "samples.csv"
    path.write_bytes('\ufeffsample,path,note\r\na,"with blank.csv","x, y"\r\n\r\n'.encode())
    run = run_pipeline(tmp_path, "--input", str(path), "-stub")
    assert run.status == 0, run.output
    assert [t["name"] for t in run.tasks if "NORMALISE" in t["name"]] == ["NORMALISE:NORMALISE_RECEPTORS (a)"]


def test_help_names_every_parameter_by_group(tmp_path):
    run = run_pipeline(tmp_path, "--help")
    assert run.status == 0
    for text in (
        "Input and output\n",
        "Embedding\n",
        "Few-shot benchmark\n",
        "--labelled ",
        "--benchmark_k ",
        "[420]",
    ):
        assert text in run.output
    assert "Submitted process" not in run.output


def test_version(tmp_path):
    run = run_pipeline(tmp_path, "--version")
    assert run.status == 0
    assert "airrvec 0.1.0" in run.output
