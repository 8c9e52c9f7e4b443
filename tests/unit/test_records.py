"""Records of files: what a task notes of the tables that it writes and reads."""

import hashlib
import json

from airrvec.core import records, tables
from airrvec.core import script as options
from airrvec.core.errors import InputError
from airrvec.core.missing import optional_part

import pyarrow as pa
import pytest
from inputs import DATA


@pytest.mark.parametrize(
    ("text", "n_rows"),
    [("a\tb\n", 0), ("a\tb\n1\t2\n", 1), ('a\n"x\ny"\nz\n', 2), ('a\n"x""\n""y"\n', 1), ("", 0)],
)
def test_rows_of_a_tsv_are_counted_across_quoted_breaks(tmp_path, monkeypatch, text, n_rows):
    (tmp_path / "x.tsv").write_text(text)
    for chunk in (1, 2, 1 << 20):
        monkeypatch.setattr(records, "CHUNK", chunk)
        record = records.measure(tmp_path / "x.tsv")
        assert record.rows == n_rows
        assert record.sha256 == hashlib.sha256(text.encode()).hexdigest()
        assert record.size == len(text)
        assert (
            record.schema == hashlib.sha256(text.split("\n")[0].replace("\t", "\n").encode()).hexdigest()[:16]
        )


def test_records_are_of_what_the_last_script_wrote(tmp_path, script):
    script("normalise_receptors", DATA / "10x.csv", "--sample", "before")
    options = ("--sample", "a", "--process", "NORMALISE:NORMALISE_RECEPTORS", "--versions", "versions.yml")
    script("normalise_receptors", DATA / "10x.csv", *options)
    text = (tmp_path / "versions.yml").read_text()
    found = [json.loads(line[2:]) for line in text.splitlines() if line.startswith("# ")]
    assert {record["name"] for record in found if record["kind"] == "result"} == {
        path.name for path in tmp_path.glob("a.*")
    }
    for record in found:
        path = DATA / "10x.csv" if record["kind"] == "input" else tmp_path / record["name"]
        assert record["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        assert record["process"] == "NORMALISE_RECEPTORS"
    (given,) = [record for record in found if record["kind"] == "input"]
    assert (given["sample"], given["rows"], given["name"]) == ("a", 9, "10x.csv")
    assert "# " not in records.without_records(text)
    assert '"NORMALISE:NORMALISE_RECEPTORS":\n    python: "' in records.without_records(text)


@pytest.mark.parametrize("written", [["a"], []])
def test_a_part_that_fails_records_what_it_has_written(tmp_path, written):
    """Results of other samples of the same task are published: the end of the run has to know them."""

    @optional_part("annotation")
    def main(argv):
        parser = options.parser("")
        options.add_options(parser, "missing")
        parser.parse_args(argv)
        for name in written:
            tables.write(pa.table({"x": [1, 2]}), tmp_path / f"{name}.parquet")
        raise InputError("the second is damaged")

    given = ["--missing", str(tmp_path / "b.missing.json"), "--versions", str(tmp_path / "versions.yml")]
    main([*given, "--process", "ANNOTATE:ANNOTATE_RECEPTORS"])
    assert (tmp_path / "b.missing.json").exists()
    assert (tmp_path / "versions.yml").exists() == bool(written)
    if written:
        (line,) = [
            line for line in (tmp_path / "versions.yml").read_text().splitlines() if line.startswith("# ")
        ]
        record = json.loads(line[2:])
        assert (record["process"], record["rows"]) == ("ANNOTATE_RECEPTORS", 2)
        assert record["name"].endswith("a.parquet")
