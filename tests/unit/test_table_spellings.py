"""How a table may be written, with the same outcome."""

import gzip
import re

from airrvec.core import schema
from airrvec.core.errors import InputError
from airrvec.input import reading

import pytest
from inputs import (
    ALPHA,
    ALPHA_2,
    BETA,
    BETA_2,
    DATA,
    NO_CHAIN,
    PAIR,
    SCEPTR_COLUMNS,
    assert_conserved,
    chains_of,
    normalised_text,
    rejected,
    sceptr_row,
    text,
)

ROWS = [sceptr_row(ALPHA, BETA, "a"), sceptr_row(ALPHA_2, BETA_2, "b, c")]
PLAIN = text(SCEPTR_COLUMNS, ROWS)

SPELLINGS = {
    "plain": PLAIN.encode(),
    "byte-order mark": b"\xef\xbb\xbf" + PLAIN.encode(),
    "CRLF": text(SCEPTR_COLUMNS, ROWS, newline="\r\n").encode(),
    "CR": text(SCEPTR_COLUMNS, ROWS, newline="\r").encode(),
    "no newline at the end": PLAIN.rstrip("\n").encode(),
    "comma-separated": text(SCEPTR_COLUMNS, ROWS, ",").encode(),
    "every cell quoted": re.sub(r"[^\t\n]+", r'"\g<0>"', PLAIN).encode(),
    "blank lines": PLAIN.replace("\n", "\n\n").encode(),
    "blanks around": PLAIN.replace("\t", " \t ").encode(),
    "gzip": gzip.compress(PLAIN.encode()),
    "gzip in two members": gzip.compress(PLAIN[:50].encode()) + gzip.compress(PLAIN[50:].encode()),
    "extra columns": text((*SCEPTR_COLUMNS, "n", ""), [[*row, "1", "é"] for row in ROWS]).encode(),
    "permuted columns": text(SCEPTR_COLUMNS[::-1], [row[::-1] for row in ROWS]).encode(),
    "column twice": text((*SCEPTR_COLUMNS, "CDR3B"), [[*row, "CASSF"] for row in ROWS]).encode(),
}


@pytest.mark.parametrize("content", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_spelling_of_the_table_does_not_matter(content, tmp_path):
    result = normalised_text(tmp_path / "table.csv", content)
    assert chains_of(result) == [PAIR, (*ALPHA_2, *BETA_2)]
    assert result.cells["epitope"].to_pylist() == ["a", "b, c"]
    assert result.counts["format"] == "sceptr"
    assert len(result.rejects) == 0


@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz", "table"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_gzip_is_found_by_content_not_by_name(name, pack, tmp_path):
    result = normalised_text(tmp_path / name, pack(PLAIN.encode()))
    assert chains_of(result) == [PAIR, (*ALPHA_2, *BETA_2)]


@pytest.mark.parametrize("null", ["", "None", "NA", "NaN", "null", " ", "\u00a0"])
def test_words_for_nothing_are_null(null, tmp_path):
    rows = [[null, null, null, BETA[0], BETA[2], null, null]]
    result = normalised_text(tmp_path / "x.tsv", text(SCEPTR_COLUMNS, rows))
    assert chains_of(result) == [(*NO_CHAIN, BETA[0], None, BETA[2])]
    assert result.cells["epitope"].to_pylist() == [None]


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("airr_bulk.tsv", "airr"),
        ("airr_single_cell.tsv", "airr"),
        ("10x.csv", "10x"),
        ("10x_dextramer.csv", "10x_dextramer"),
        ("vdjdb_full.tsv", "vdjdb"),
        ("vdjdb_export.tsv", "vdjdb"),
        ("sceptr.tsv", "sceptr"),
        ("merged.tsv", "reference"),
        ("tcrdist.csv", "tcrdist"),
        ("tcrdist_beta.csv", "tcrdist"),
        ("vdjdb_release.tsv", "vdjdb"),
        ("scirpy_obs.csv", "scirpy"),
        ("conga.tsv", "conga"),
        ("immunarch.tsv", "immunarch"),
        ("immrep.csv", "immrep"),
        ("clustcr.csv", "clustcr"),
    ],
)
def test_format_is_found_from_the_header_and_by_name(name, format):
    found, named = reading.open_chains(DATA / name), reading.open_chains(DATA / name, format)
    assert found.format == named.format == format
    ((found_batch,), (named_batch,)) = (list(source.batches) for source in (found, named))
    assert found_batch.chains.equals(named_batch.chains)
    assert found_batch.chains.schema == schema.CHAIN_RECORDS


def test_every_format_has_a_table_here():
    inputs = [path for path in DATA.iterdir() if path.name not in ("README.md", "reference_vectors.parquet")]
    assert {reading.open_chains(path).format for path in inputs} == set(reading.FORMATS)


def test_unknown_format_is_named():
    with pytest.raises(InputError, match=r"^10x.csv: there is no format 'excel'. Known formats: airr, 10x,"):
        reading.open_chains(DATA / "10x.csv", "excel")


def test_malformed_rows_keep_their_numbers_in_a_large_file(tmp_path):
    rows = [sceptr_row(ALPHA, BETA, f"epitope {number}") for number in range(1, 30_001)]
    rows[24_999] = ["one field"]
    rows[29_999] = [*rows[29_999], "one more"]
    result = normalised_text(tmp_path / "x.tsv", text(SCEPTR_COLUMNS, rows))
    assert rejected(result) == [
        (25_000, None, None, "holds 1 field, the header 7"),
        (30_000, None, None, "holds 8 fields, the header 7"),
    ]
    assert result.cells["epitope"][24_998:25_001].to_pylist() == [
        "epitope 24999",
        "epitope 25001",
        "epitope 25002",
    ]
    assert_conserved(result, 30_000)
