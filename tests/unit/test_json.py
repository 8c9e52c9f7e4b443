"""Input in JSON."""

import gzip
import json

from airrvec.core.errors import InputError
from airrvec.input.files import json_table

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
    chains_of,
    needs_shared,
    normalised,
    normalised_text,
    rejected,
)
from outcomes import BMMNC, chains_in, same


def test_10x_contigs_of_json_are_those_of_csv():
    same(normalised(DATA / "10x_contigs.json"), normalised(DATA / "10x.csv"))


@needs_shared
def test_real_10x_contigs_of_json_are_those_of_csv():
    from_json, from_csv = (chains_in(SHARED / f"{BMMNC}.{kind}") for kind in ("json", "csv"))
    assert from_json.equals(from_csv)
    assert len(from_json) == 5
    assert normalised(SHARED / f"{BMMNC}.json").counts["pairing"] == {"single pair": 1, "orphan VJ": 1}


@needs_shared
def test_real_10x_contigs_of_an_old_version():
    path = SHARED / "formats/10x_all_contig_annotations.json"
    contigs = json.loads(path.read_text())
    chains = chains_in(path)
    assert chains["cell_id"].to_pylist() == [contig["barcode"] for contig in contigs]
    assert chains["duplicate_count"].to_pylist() == [contig["read_count"] for contig in contigs]
    assert chains["junction_aa"].to_pylist() == [contig["cdr3"] for contig in contigs]
    assert chains["v_call"].to_pylist()[:3] == ["TRBV18", "TRBV18", "TRAV14DV4"]
    assert chains["locus"].to_pylist() == ["TRB"] * 2 + ["TRA"] * 3 + ["IGK", "IGH", "IGH", "IGK"]
    assert_conserved(normalised(path), 9)


def test_airr_data_file_is_read_as_the_table():
    """Chains of cellB name no cell: the cell lists them. The clone beside them is not read."""
    one, other = normalised(DATA / "airr.json"), normalised(DATA / "airr_single_cell.tsv")
    same(one, other)
    assert one.counts["format"] == "airr"


def test_airr_data_file_with_clones_alone():
    result = normalised(DATA / "airr_clones.json")
    assert chains_of(result) == [(*NO_CHAIN, *BETA), (*ALPHA, *NO_CHAIN)]
    assert result.cells.select(["cell_id", "duplicate_count"]).to_pylist() == [
        {"cell_id": "c1", "duplicate_count": 5},
        {"cell_id": "c2", "duplicate_count": 1},
    ]
    assert rejected(result) == [(3, "junction_aa", None, "junction_aa is missing")]


@pytest.mark.parametrize("chunk", [1, 7, 100, 5_000])
def test_json_is_read_piece_by_piece(chunk, monkeypatch, tmp_path):
    monkeypatch.setattr(json_table, "CHUNK", chunk)
    monkeypatch.setattr(json_table, "_RECORDS", 2)
    same(normalised(DATA / "10x_contigs.json"), normalised(DATA / "10x.csv"))
    records = [{"a": number, "b": None if number % 3 else 1.5e3, "c": [1, {"d": 2}]} for number in range(50)]
    (tmp_path / "x").write_text(json.dumps(records))
    table = json_table.read_json(tmp_path / "x").table.to_pydict()
    assert table["a"] == [str(number) for number in range(50)]
    assert table["b"] == [None if number % 3 else "1500.0" for number in range(50)]
    assert table["c"] == [None] * 50
    assert table["row"] == list(range(1, 51))


@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf", b"\n\t  "])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_json_may_be_packed_and_have_a_mark(before, pack, tmp_path):
    content = pack(before + (DATA / "airr.json").read_bytes())
    same(normalised_text(tmp_path / "x.json", content), normalised(DATA / "airr.json"))


NO_JSON = r"the file is not valid JSON \(.*\)\. It may be truncated: copy or download it again\.$"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[{"barcode": "x"', NO_JSON),
        ('[{"barcode": "x"}', NO_JSON),
        ('[{"barcode": "x"}] and more', NO_JSON),
        ('[{"barcode": "x"},]', NO_JSON),
        ("{barcode: 1}", NO_JSON),
        ('{"Rearrangement": [', NO_JSON),
        (
            "[" * 100_000,
            r"^x: its lists or objects are nested too deeply\. Give a",
        ),
        (
            '[{"v_call": "TRBV19"}, {"v_call": "\\ud800"}]',
            r"^x, row 2, column 'v_call': contains half of a surrogate pair \(such as \\ud800\), which is",
        ),
        ('[{"\\udfff": "TRBV19"}]', r"^x, row 1, column '\?': contains half of a surrogate pair"),
        (b'[{"v_call": "\xe9"}]', "^x: holds bytes that are not UTF-8 text. Convert the file"),
        ("[]", "the file holds no records"),
        ("[1, 2]", "^x, row 1: the record is not a JSON object"),
        ('{"Info": {}, "Clone": []}', "the JSON object has no records in 'Rearrangement' or 'Clone'"),
        ('[{"a": 1, "b": 2}]', r"its columns \(a, b\) match no known format"),
        ('[{"annotations": 1}]', "junction_aa is missing|locus, v_call and j_call"),
        (gzip.compress((DATA / "airr.json").read_bytes())[:-20], "the compressed file is truncated"),
    ],
)
def test_bad_json_is_refused(content, message, tmp_path):
    with pytest.raises(InputError, match=message):
        normalised_text(tmp_path / "x", content)


# --- 10x clonotypes, and IEDB's other headers


def test_10x_clonotypes_hold_junctions_of_several_chains():
    result = normalised(DATA / "10x_clonotypes.csv")
    assert chains_of(result) == [
        (None, None, ALPHA[2], None, None, BETA[2]),
        (*NO_CHAIN, None, None, BETA[2]),
        (None, None, ALPHA_2[2], *NO_CHAIN),
    ]
    columns = ["cell_id", "duplicate_count", "chain_pairing"]
    assert [tuple(cell.values()) for cell in result.cells.select(columns).to_pylist()] == [
        ("clonotype1", 12, "single pair"),
        ("clonotype2", 4, "orphan VDJ"),
        ("clonotype3", 2, "orphan VJ"),
    ]
    assert [reject[:3] for reject in rejected(result)] == [
        (2, "junction_aa", BETA_2[2]),
        (4, "locus", "IGH"),
        (4, "locus", "IGK"),
        (5, None, None),
    ]
    assert_conserved(result, 5)


@pytest.mark.parametrize("name", ["iedb_search.csv", "iedb_old.csv"])
def test_iedb_tables_with_one_header_row(name):
    one, two = chains_in(DATA / name), chains_in(DATA / "iedb.csv")
    known = ["HomoSapiens", "MusMusculus"]
    assert sum(species in known for species in one["species"].to_pylist()) == 5
    assert one.drop_columns("species").equals(two.drop_columns("species"))
