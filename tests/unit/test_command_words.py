"""Words that the command ``airrvec`` is given: numbers, names, suffixes, options that it does not pass on."""

from airrvec.app import cli
from airrvec.app.verbs import work
from airrvec.core import tables

import pandas as pd
import pytest
from inputs import ROOT

DONOR = str(ROOT / "assets/demo/donors/flu_1.csv")
LABELLED = ROOT / "assets/demo/dash_human.csv"


@pytest.mark.parametrize("number", ["0", "-1", "-9999999999", "half"])
def test_a_number_of_threads_is_refused_by_every_verb(number, capsys):
    for verb in cli.VERBS:
        words = ["x", *(("--out", "y.parquet") if verb in ("embed", "nearest") else ())]
        words += {"annotate": ["--reference", "y"], "nearest": ["--references", "y"]}.get(verb, [])
        if verb in ("verify", "columns"):
            continue
        with pytest.raises(SystemExit) as ended:
            cli.main([verb, *words, "--threads", number])
        assert ended.value.code == 2
        said = capsys.readouterr().err
        assert f"airrvec {verb}: error: argument --threads: " in said
        assert "is less than 1" in said or "invalid number value: 'half'" in said


def test_a_number_of_threads_is_refused_by_every_script(capsys):
    """Before the script misses its other options."""
    refused = []
    for path in sorted((ROOT / "bin").glob("*.py")):
        parse = work.script(path.stem).parse_args
        with pytest.raises(SystemExit):
            parse(["--help"])
        if "--threads " not in capsys.readouterr().out:
            continue
        for number in ("0", "-1"):
            with pytest.raises(SystemExit) as ended:
                parse([f"--threads={number}"])
            assert ended.value.code == 2
            assert f"argument --threads: {number} is less than 1" in capsys.readouterr().err
        refused.append(path.stem)
    assert len(refused) > 12, refused


@pytest.mark.parametrize("words", [("--missing", "x.json"), ("--versions=x.yml",), ("--outd", "x")])
def test_options_that_name_files_for_the_pipeline_are_not_passed_on(words, tmp_path, monkeypatch, capsys):
    """Nothing is written where no verb has said that it writes; nor by an option in short."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        cli.main(["cluster", DONOR, "--threads", "1", *words])
    assert ended.value.code == 2
    assert "unrecognized arguments" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["../escaped", "/dev/x", ".hidden", "a b", ""])
def test_a_model_cannot_be_written_elsewhere(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        cli.main(["finetune", str(LABELLED), "--name", name])
    assert ended.value.code == 1
    assert "ERROR: --name: " in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_two_encoders_of_one_name_are_refused(tmp_path, capsys):
    """The results of the second would replace those of the first."""
    (tmp_path / "a").mkdir()
    encoders = f"sceptr,{tmp_path / 'a/x.py'},{tmp_path / 'x.py'}"
    for path in ("a/x.py", "x.py"):
        (tmp_path / path).write_text("")
    with pytest.raises(SystemExit):
        cli.main(["benchmark", str(LABELLED), "--encoders", encoders, "--outdir", str(tmp_path / "out")])
    assert "two --encoders have the same name" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_an_encoder_that_does_not_exist_is_named_before_the_first_is_measured(tmp_path, capsys):
    with pytest.raises(SystemExit):
        cli.main(
            ["benchmark", "no such table", "--encoders", "sceptr,levenshtein", "--outdir", str(tmp_path)]
        )
    assert "ERROR: there is no encoder 'levenshtein'. Known: sceptr, " in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--model", "--reference", "--encoders"])
def test_a_word_that_is_too_long_for_a_path(option, tmp_path, capsys):
    verb = {"--reference": "annotate", "--encoders": "benchmark"}.get(option, "embed")
    more = ("--out", tmp_path / "v.parquet") if verb == "embed" else ("--outdir", tmp_path / "out")
    with pytest.raises(SystemExit) as ended:
        cli.main([verb, str(LABELLED), option, "x" * 300, *map(str, more)])
    assert ended.value.code == 1
    error = capsys.readouterr().err
    assert f"'{'x' * 300}" in error or f"{'x' * 300}: there is no such file" in error
    assert "Traceback" not in error
    assert list(tmp_path.iterdir()) == []


def test_a_path_of_a_samplesheet_that_is_too_long(tmp_path, capsys):
    (tmp_path / "s.csv").write_text(f"sample,path\na,{'x' * 300}\n")
    with pytest.raises(SystemExit):
        cli.main(["normalise", str(tmp_path / "s.csv"), "--outdir", str(tmp_path / "out")])
    assert "s.csv, row 1, column 'path': there is no file 'xxx" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", ["tsv", "csv"])
def test_vectors_as_text_name_their_model(suffix, tmp_path):
    stem = str(tmp_path / "vectors")
    cli.main(["embed", DONOR, "--out", f"{stem}.{suffix}", "--threads", "1"])
    cli.main(["embed", DONOR, "--out", f"{stem}.parquet", "--threads", "1"])
    text = pd.read_csv(f"{stem}.{suffix}", sep="\t" if suffix == "tsv" else ",", dtype={"model": str})
    expected = pd.read_parquet(f"{stem}.parquet")
    metadata = tables.metadata(f"{stem}.parquet")
    for name in ("model", "weights_sha256"):
        assert set(text.pop(name)) == {metadata[name]}
    assert text["receptor_id"].tolist() == expected["receptor_id"].tolist()
    dimensions = expected.columns[1:]
    assert (text[dimensions].astype("float32") == expected[dimensions]).all(axis=None)  # to the last digit
    receptors = pd.read_csv(f"{stem}.receptors.{suffix}", sep="\t" if suffix == "tsv" else ",")
    assert receptors["receptor_id"].tolist() == expected["receptor_id"].tolist()


@pytest.mark.parametrize("name", ["v.xlsx", "v", "v.parquet.gz"])
def test_an_unknown_suffix_of_vectors_is_refused(name, tmp_path, capsys):
    with pytest.raises(SystemExit):
        cli.main(["embed", DONOR, "--out", str(tmp_path / name)])
    assert "ends in none of .parquet, .tsv, .csv" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ("normalise", DONOR, "--outdir", ""),
        ("embed", DONOR, "--out", ""),
        ("index", "--index", ""),
        ("find", "TRBV19 CASSIRSSYEQYF", "--index", ""),
        ("find", "TRBV19 CASSIRSSYEQYF", "--out="),
        ("finetune", DONOR, "--checkpoints", ""),
    ],
)
def test_an_empty_path_is_not_the_working_folder(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        cli.main([*words])
    assert ended.value.code == 2
    assert "the path is empty" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
